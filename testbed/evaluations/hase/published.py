"""The published columns: accuracy and coherence as Hase et al. 2024 define them (Tables 4, 5, 7, 8; A.5).

Never to be mixed with `testbed.evaluations.hase.metrics`, from which they differ on purpose:

- Before an edit everything is scored on the agent's answer before; after it, s1r1 on the requested object
  and the other questions on the agent's answer after. So the two rows of a table ask about different objects.
- p(o | s, r) does not ask whether the object ends there (`Choices.lm_open`).
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
  `published_metrics` and its weights n' make a number comparable with the paper's.

Cannot be computed from stored cases: columns under a weight of 1000 (another request), and errors
against the generator's probabilities or data frequencies of objects that are not candidates.
"""

from typing import NamedTuple

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.hase import CHILD, REQUEST
from testbed.evaluations.hase.metrics import claims_by_case, rows_of_role
from testbed.scores.metric import Metric, mean_of, sum_by_case
from testbed.scores.parts import measure_parts

COHERENT = 0.1
"""Largest residual of "TF" and of "not" before an edit of what is called initially coherent. The paper gives
no threshold; the means it prints of such requests are .02 and .03."""
WAS_COHERENT = "initially coherent"
COLUMNS = {"s1r1": REQUEST, "s1r2": CHILD, "s2r1": "random.r1", "s2r2": "random.r2"}
"""The roles of the published tables: request, downstream, and two of a subject drawn at random."""


class PublishedTable(NamedTuple):
    """A published table: its columns before and after the edit, by name."""

    before: dict[str, Metric]
    after: dict[str, Metric]


def published_metrics(results: Results) -> PublishedTable:
    """Every published column, as (numerator, denominator) of each case.

    "accuracy" of a role is the share of generated answers that are the scored object; "probability" of
    the request is its mean; "coherence" is the mean absolute error of the scored object's probability
    against the agent's, so lower is better; "logic" is the mean absolute residual.
    """
    return PublishedTable(
        measure_parts(results, lambda part: _published_columns(part.results, 0)),
        measure_parts(results, lambda part: _published_columns(part.results, 1)),
    )


def request_groups(results: Results) -> dict[str, np.ndarray]:
    """bool[E] masks of the cases that the published tables are about.

    "new request": the model did not already answer the request. "downstream": the agent's answer to s1r2
    changes. "fixing": it was wrong, and the request is the truth. "breaking": it was right, and the request
    contradicts the truth. "initially coherent": the model's truth values of the request and of its negation
    fitted its probability, to COHERENT (Table 8).
    """
    cases, residuals = results.cases, _law_residuals(results, 0)
    before = results.choices.lm_answer[rows_of_role(results, REQUEST), 0]
    right, new = before == cases["truth"], before != cases["object"]
    return {
        "new request": new,
        "downstream": cases["changes"],
        "fixing": new & ~right & cases["reinforces"],
        "breaking": new & right & ~cases["reinforces"],
        WAS_COHERENT: (residuals["logic TF"] < COHERENT) & (residuals["logic not"] < COHERENT),
    }


def _published_columns(results: Results, when: int) -> dict[str, Metric]:
    c, requested = results.choices, results.cases["object"][results.choices.case]
    scored = c.agent_answer[:, when]
    if when == 1:
        scored = np.where(c.role == REQUEST, requested, scored)
    at = c.options == scored[:, None]
    model, agent = (who[:, when].sum(-1, where=at) for who in (c.lm_open, c.agent))
    columns = {"probability of request": mean_of(_request_probability(results, when))}
    for name, values in (
        ("accuracy", c.lm_answer[:, when] == scored),
        ("coherence", np.abs(model - agent)),
    ):
        for column, role in COLUMNS.items():
            among = (c.role == role) & at.any(-1)
            columns[f"{name} {column}"] = sum_by_case(values, c.case, len(results), among)
    return columns | {name: mean_of(residual) for name, residual in _law_residuals(results, when).items()}


def _request_probability(results: Results, when: int) -> np.ndarray:
    """float64[E]: p(o | s, r) of the requested object, before (0) or after (1)."""
    c, requested = results.choices, results.cases["object"][results.choices.case]
    return c.lm_open[:, when].sum(-1, where=c.options == requested[:, None])[rows_of_role(results, REQUEST)]


def _law_residuals(results: Results, when: int) -> dict[str, np.ndarray]:
    """float64[E] by law: how far the model's own truth values violate it (A.5); nan without the claims."""
    a, not_a, a_and_b, _, a_or_b, b, *_ = claims_by_case(results, results.claims.lm[:, when, 0]).T
    return {
        "logic TF": np.abs(_request_probability(results, when) - a),
        "logic not": np.abs(a - (1 - not_a)),
        "logic and": np.abs(a_and_b - a * b),
        "logic or": np.abs(a_or_b - (a + b - a * b)),
    }
