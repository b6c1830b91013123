"""The tables of Hase's chapter: what follows, coherence, and the paper's, in our definitions.

What the paper's Tables 4 and 5 show was taken from the authors' analysis code: accuracy, probabilistic and
logical coherence before and after editing, and the same on subsets of requests. Those in its own definitions
are in `published`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from corpus.seeds import generator
from testbed.engine.results import cluster_levels
from testbed.evaluations.hase import CHILD, CONTROL, INDEPENDENT, KIN, REQUEST
from testbed.evaluations.hase import metrics as m
from testbed.run.strata import STRATA, SUPPORT_BINS
from testbed.scores.frame import ALL, EDITOR, EDITS, REFERENCE, Frame
from testbed.scores.readers import BAYESIAN, BEFORE_EDIT, NO_EDIT, ONE_HALF
from testbed.scores.statistics import compare_metrics
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.scores.views import Column, View, choose_readers, make_table

FOUR_LAWS = tuple(map(m.law_name, ("TF", "not", "and", "or")))
LAWS = (*FOUR_LAWS, m.law_name("commute"), m.law_name("sum"), m.DUTCH_BOOK, m.TRUTH_VALUES)
SUBSETS = (ALL, m.CHANGES, m.FIXES, m.WAS_NEAR)
_PLACES = (REQUEST, CHILD, INDEPENDENT, m.NEIGHBOURS)
MAIN = (*(m.name_at(kind, place) for kind in ("right", "tv") for place in _PLACES), *FOUR_LAWS)
COHERENCE = View(
    "logic", "Logical coherence", LAWS, who=(EDITOR, BEFORE_EDIT, BAYESIAN, ONE_HALF), ranked=True,
    note="Mean absolute violation of each axiom by the model's own truth values; 0 is coherent. Truth "
    f"values: their distance to the agent's beliefs. Where {ONE_HALF} is as good, nobody stands out.",
)  # fmt: skip
INFERENCE = View(
    "inferred", "Followed, beside what was right before",
    [Column(m.FOLLOWS, "cases", show="count"), Column(m.FOLLOWS, "right before", {"reader": BEFORE_EDIT}),
     Column(m.FOLLOWS, "followed"), Column(m.FOLLOWS_RIGHT, "of these", show="count"),
     Column(m.FOLLOWS_RIGHT, "of these, followed")],
    {"subset": "consequence", "reader": "editor"},
    note="Dependent answers that the agent changes: how many the unedited model had right before the edit, "
    "how many follow, and how many of those that it had right. Of facts never stated (S0) it can have "
    "inferred them only; of others it may have read them.",
)  # fmt: skip
_BLOCKS = View(
    "hase-5", "By subset of requests", [Column(EDITS, "edits", show="count"), *MAIN],
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


def inference_table(frame: Frame) -> Table:
    """Consequences that follow: of all, and of those that the unedited model had right; by stratum."""
    first = frame.values("editor")[0]
    filled = [s for s in (f"stated {x}" for x in STRATA) if frame.cell(m.FOLLOWS, first, s).cases]
    return make_table(INFERENCE._replace(where={"subset": [ALL] * (len(filled) > 1) + filled}), frame)


def kinship_table(frame: Frame) -> Table:
    """Answers that must change and those that must stay, by the kin that the cases have."""
    first = frame.values("editor")[0]
    metrics = [name for role in KIN for name in (m.MUST_CHANGE[role], m.MUST_STAY[role])]
    counts = {name: cases for name in metrics if (cases := frame.cell(name, first).cases)}
    each = ", ".join(f"{frame.label_of(name)}: {cases:,}" for name, cases in counts.items())
    note = (
        "Share of answers that are the agent's, where its own answer must change and where it stays. A "
        f"sibling depends on the same fact as the edited one. Cases ({first}): {each}."
    )
    title, who = "By what the fact is to the edited one", (EDITOR, REFERENCE)
    return make_table(View("kinship", title, [*counts], who=who, note=note, ranked=True), frame)


def control_table(editors: Sequence[ScoredEditor], frame: Frame) -> Table | None:
    """What follows a request beyond what follows when the same object is said of somebody else.

    None where no editor was told a control.
    """
    metrics, rows = (m.FOLLOWS, m.GAINED, m.RATIO), list[list[Cell]]()
    for e in editors:
        levels, everywhere = cluster_levels(e.edits.results), np.ones(len(e.edits.results), bool)
        for control in e.control_readers:
            row: list[Cell] = [e.name]
            for name in metrics:
                rng = generator(e.edits.seed, f"{control} {frame.label_of(name)}")
                pair = e.values[e.name][name], e.values[control][name]
                row += [frame.cell(name, e.name), compare_metrics(*pair, levels, everywhere, rng)]
            rows.append(row)
    heads = [head for label in map(frame.label_of, metrics) for head in (label, f"{label}, beyond")]
    note = (
        f"Beyond: less what the same editor reaches when it is told {CONTROL} in place of the request. Who "
        "moves everything, whatever it is told, has nothing beyond."
    )
    title = "What follows because of the request"
    return Table("beyond", title, ["editor", *heads], rows, note, words=2) if rows else None


def support_table(frame: Frame, metric: str, key: str) -> Table:
    """One metric of contradicting edits, a column a bin of the new object's support."""
    heads = {name: "0 (noise)" if name == "0" else f"{name} subjects" for name in SUPPORT_BINS}
    columns = [Column(metric, head, {"subset": f"support {name}"}) for name, head in heads.items()]
    who = [name for name in choose_readers(frame, (EDITOR, REFERENCE)) if name != NO_EDIT]
    note = "Contradicting edits, by how many subjects have the new object as their true one."
    title = f"{frame.label_of(metric)}, by support"
    return make_table(View(key, title, columns, who=who, note=note, ranked=True), frame)


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
