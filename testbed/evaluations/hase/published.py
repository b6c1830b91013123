"""The published columns: accuracy and coherence as Hase et al. 2024 define them (Tables 4, 5, 7, 8; A.5).

Never to be mixed with `testbed.evaluations.hase.metrics`, from which they differ on purpose:

- Before an edit everything is scored on the agent's answer before; after it, s1r1 on the requested object
  and the other cells on the agent's answer after. So the two rows of a table ask about different objects.
- p(o | s, r) does not ask whether the object ends there (`Exam.lm_open`).
- p(A is true) is the probability of the word "true", whatever "false" has.
- "not", "and" and "or" are held against the model's own p(A is true) and p(B is true), with A and B
  independent; "TF" holds p(A is true) against p(o | s, r) of A.

Computed as intended where the authors' code does something else, or where the stored data decide:

- A is the request; the code takes another sentence for A. It labels each sentence true or false, reads
  1 - p(false) where the label is false, and applies one item's labels to its whole batch; which of B,
  "A and B" and "A or B" are so is not stored, so p(true) is read everywhere.
- A generated answer is right if it is the object; the code accepts any text that contains its name.
- The agent's belief about s1r1 is direct in both rows, where the code's row before the edit is marginal.
- Beliefs are those of whichever agent the cases were drawn with. Only the paper's agent, its sampler
  `published` and its weights n' make a number comparable with the paper's.

Cannot be computed from stored cases: columns under a weight of 1000 (another request), and errors
against the generator's probabilities or data frequencies of objects that are no candidates.
"""

from typing import NamedTuple

import numpy as np

from testbed.evaluations.hase.exam import Exam
from testbed.evaluations.hase.roles import CELLS, CHILD, LOGIC, REQUEST
from testbed.protocol import ABSENT
from testbed.scores.metric import Metric, mean

COLUMNS = {
    "s1r1": REQUEST,
    "s1r2": CHILD,
    "s2r1": CELLS.index("random.r1"),
    "s2r2": CELLS.index("random.r2"),
}
"""The cells of the published tables: request, downstream, and two of a subject drawn at random."""


class Table(NamedTuple):
    """A published table: its columns before and after the edit, by name."""

    before: dict[str, Metric]
    after: dict[str, Metric]


def published(exam: Exam) -> Table:
    """Every published column, as (numerator, denominator) of each case.

    "accuracy" of a cell is the share of generated answers that are the scored object; "probability" of
    the request is its mean; "coherence" is the mean absolute error of the scored object's probability
    against the agent's, so lower is better; "logic" is the mean absolute residual.
    """
    return Table(_columns(exam, 0), _columns(exam, 1))


def groups(exam: Exam) -> dict[str, np.ndarray]:
    """bool[E] masks of the cases that the published tables are about.

    "new request": the model did not already answer the request. "downstream": the agent's answer to s1r2
    changes. "fixing": it was wrong, and the request is the truth. "breaking": it was right, and the request
    contradicts the truth.
    """
    o = exam
    before = o.lm_answer[:, REQUEST, 0]
    right, new = before == o.scalars["truth"], before != o.scalars["object"]
    return {
        "new request": new,
        "downstream": o.scalars["changes"],
        "fixing": new & ~right & o.scalars["reinforces"],
        "breaking": new & right & ~o.scalars["reinforces"],
    }


def _columns(o: Exam, when: int) -> dict[str, Metric]:
    scored = o.agent_answer[..., when].copy()
    if when == 1:
        scored[:, REQUEST] = o.scalars["object"]
    at = o.objects == scored[..., None]
    present = (o.agent_answer[..., 0] != ABSENT) & at.any(-1)
    model, agent = (who[:, :, when].sum(-1, where=at) for who in (o.lm_open, o.agent))
    requested = o.objects[:, REQUEST] == o.scalars["object"][:, None]
    stated = o.lm_open[:, REQUEST, when].sum(-1, where=requested)
    found = {"probability of request": mean(stated)}
    for name, values in (
        ("accuracy", o.lm_answer[..., when] == scored),
        ("coherence", np.abs(model - agent)),
    ):
        found |= {f"{name} {c}": mean(values[:, q], present[:, q]) for c, q in COLUMNS.items()}
    a, not_a, a_and_b, _, a_or_b, b = (o.logic[:, LOGIC.index(x), when, 0] for x in LOGIC)
    return found | {
        "logic TF": mean(np.abs(stated - a)),
        "logic not": mean(np.abs(a - (1 - not_a))),
        "logic and": mean(np.abs(a_and_b - a * b)),
        "logic or": mean(np.abs(a_or_b - (a + b - a * b))),
    }
