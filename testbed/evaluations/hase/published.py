"""The paper's tables: in our definitions, and accuracy and coherence as Hase et al. 2024 define them.

The published columns (Tables 4, 5, 7, 8; A.5) are never to be mixed with `testbed.evaluations.hase.metrics`,
from which they differ on purpose:

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

Cannot be computed from stored cases: columns under a weight of 1000, which is another request
(--paper-agent.edit-weight 1000, experiments.readings), and errors
against the generator's probabilities or data frequencies of objects that are not candidates.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.hase import CHILD, INDEPENDENT, REQUEST, Hase
from testbed.evaluations.hase import metrics as m
from testbed.evaluations.hase.metrics import claims_by_case, rows_of_role
from testbed.evaluations.paper_tables import read_paper_figures
from testbed.pages.chapter import SectionPlan
from testbed.run.strata import STRATA
from testbed.scores.frame import ALL, EDITOR, EDITS, Frame
from testbed.scores.metric import Metric, mean_of, sum_by_case
from testbed.scores.parts import measure_parts
from testbed.scores.readers import BEFORE_EDIT
from testbed.scores.summary import ScoredEditor, frame_of_measures
from testbed.scores.tables import Cell, Table
from testbed.scores.views import Column, View, make_table

COHERENT = 0.1
"""Largest residual of "TF" and of "not" before an edit of what is called initially coherent. The paper gives
no threshold; the means it prints of such requests are .02 and .03."""
WAS_COHERENT = "initially coherent"
COLUMNS = {"s1r1": REQUEST, "s1r2": CHILD, "s2r1": "random.r1", "s2r2": "random.r2"}
"""The roles of the published tables: request, downstream, and two of a subject drawn at random."""


LAWS = ("logic TF", "logic not", "logic and", "logic or")
PRINTED = (*(f"{kind} {place}" for kind in ("accuracy", "coherence") for place in COLUMNS), *LAWS)
TABLE_8 = ("accuracy s1r1", "logic TF", "logic not")
COUNT = Column(EDITS, "edits", show="count")
BLOCKS = {"subset": "requests", "reader": "editor"}
IN_PUBLISHED_TERMS = View(
    "published", "In the paper's own definitions", [COUNT, "probability of request", *PRINTED],
    BLOCKS, (BEFORE_EDIT, EDITOR),
    note="For comparison with the paper's Tables 4, 5, 7 and 8 only. Before an edit everything is scored on "
    "other objects than after it, so the rows of one group ask different questions.",
)  # fmt: skip
BY_COHERENCE = View(
    "hase-8", "All requests, and those that were coherent",
    [COUNT, *(Column(name, f"{name} {when}", where) for name in TABLE_8
              for when, where in (("before", {"reader": BEFORE_EDIT}), ("after", {})))],
    BLOCKS, where={"subset": (ALL, WAS_COHERENT)},
    note="As Hase's Table 8, in its definitions. Coherent: before the edit p(request), p(it is true) and "
    "1 - p(its negation is true) lay less than a tenth apart.",
)  # fmt: skip


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
    for name, values in (("accuracy", c.lm_answer[:, when] == scored), ("coherence", np.abs(model - agent))):
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


def published_tables(editors: Sequence[ScoredEditor]) -> list[Table]:
    """This run in the paper's definitions, and beside what the paper prints where an editor of it was run."""

    def measure(e: ScoredEditor) -> dict[str, dict[str, Metric]]:
        return dict(zip((BEFORE_EDIT, e.name), published_metrics(e.edits.results), strict=True))

    def groups(e: ScoredEditor) -> dict[str, np.ndarray]:
        return {ALL: np.ones(len(e.edits.results), bool)} | request_groups(e.edits.results)

    frame = frame_of_measures(editors, measure, groups)
    beside = beside_printed(frame)
    return [
        *(make_table(view, frame) for view in (IN_PUBLISHED_TERMS, BY_COHERENCE)),
        *([beside] if beside else []),
    ]


def beside_printed(frame: Frame) -> Table | None:
    """What the paper prints of an editor, and this run's figures of the same requests under it."""
    names, rows = frame.values("editor"), []
    for (table, name, group, when), printed in read_paper_figures(Hase.package, "printed").items():
        if name in names:
            reader = name if when == "after" else BEFORE_EDIT
            ours = [frame.cell(column, reader, group, editor=name) for column in PRINTED]
            edits = max(cell.cases for cell in ours)
            rows += [
                [table, group, name, when, "as printed", None, *map(printed.get, PRINTED)],
                [table, group, name, when, "this run", edits, *(c if c.cases else None for c in ours)],
            ]
    note = (
        "Printed: an 83M model with 100,000 facts. It is asked the same only where cases were drawn by the "
        "paper's sampler and agent (--hase.sampler published). Coherence and logic are errors."
    )
    header = ["table", "requests", "editor", "when", "source", "edits", *PRINTED]
    return Table("printed", "Beside the paper's own figures", header, rows, note, words=5) if rows else None


FOUR_LAWS = tuple(map(m.law_name, ("TF", "not", "and", "or")))
SUBSETS = (ALL, m.CHANGES, m.FIXES, m.WAS_NEAR)
_PLACES = (REQUEST, CHILD, INDEPENDENT, m.NEIGHBOURS)
MAIN = (*(m.name_at(kind, place) for kind in ("right", "tv") for place in _PLACES), *FOUR_LAWS)
_BLOCKS = View(
    "hase-5", "By subset of requests", [COUNT, *MAIN],
    {"subset": "subset", "reader": "editor"}, (BEFORE_EDIT, EDITOR),
    {"subset": SUBSETS},
    "As Hase's Table 5, in our definitions; after the edit, and before it for comparison.",
)  # fmt: skip
_KINDS = {m.REPEATS: m.REPEATS, m.CONTRADICTS: m.CONTRADICTS}
_KINDS |= {f"stated {name}": f"consequence {name}" for name in STRATA}
PAPER = (
    _BLOCKS,
    View("hase-7", "By editing method", [Column("steps", "gradient steps"), *MAIN], who=(BEFORE_EDIT, EDITOR),
         note="After the edit."),
    _BLOCKS._replace(
        key="kinds", title="By what the edit is", rows={"subset": "kind of edit", "reader": "editor"},
        where={"subset": _KINDS},
        note="Consequence S0: the dependent fact was never stated; S1: one to three times; S2: more often."),
)  # fmt: skip


def main_results(frame: Frame) -> Table:
    """Every editor before and after, and the change: accuracy, then both kinds of coherence (Table 4)."""
    note = "As Hase's Table 4, in our definitions: each time against the agent of that time."
    after = make_table(View("hase-4", "Before and after editing", MAIN, note=note), frame)
    at_first = [Column(name, where={"reader": BEFORE_EDIT}) for name in MAIN]
    before, rows = make_table(View("", "", at_first), frame), list[list[Cell]]()
    pairs: Iterable[tuple[Any, Any]] = zip(before.rows, after.rows, strict=True)
    for (name, *old), (_, *new) in pairs:
        change = [b.value - a.value for a, b in zip(old, new, strict=True)]
        rows += [[name, "before", *old], [name, "after", *new], [name, "change", *change]]
    return after._replace(header=["editor", "when", *after.header[1:]], rows=rows, words=2)


SECTION = SectionPlan(
    "paper", "Beside Hase et al. 2024",
    "The paper's tables in its order, in our definitions. Those at the end use the paper's own "
    "definitions, and the last one has the printed figures beside ours.",
    more_tables=[lambda of: main_results(of.frame), *PAPER, lambda of: published_tables(of.editors)],
)  # fmt: skip
