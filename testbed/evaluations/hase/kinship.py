"""What follows, beside what the model could infer before the edit, and by how a fact is related to it."""

from collections.abc import Sequence

from testbed.evaluations.hase.meanings import FOLLOWS, FOLLOWS_RIGHT, MUST_CHANGE, MUST_STAY
from testbed.evaluations.hase.roles import CHILD, GRANDCHILD, KIN, OTHER_CHILD, PARENT, SIBLING
from testbed.run.strata import STRATA
from testbed.scores.comparison import ScoredEditor
from testbed.scores.readers import BEFORE_EDIT
from testbed.scores.tables import Cell, Table, better_of

ROLE_LABELS = {
    CHILD: "child",
    OTHER_CHILD: "other child",
    GRANDCHILD: "grandchild",
    PARENT: "parent",
    SIBLING: "sibling",
}


def inference_table(editors: Sequence[ScoredEditor]) -> Table:
    """Consequences that follow: of all, and of those that the unedited model had right; by stratum."""
    rows: list[list[Cell]] = []
    first = editors[0]
    strata = [f"stated {name}" for name in STRATA]
    filled = [s for s in strata if first.summary[s][first.name][FOLLOWS].cases]
    for subset in (["all"] if len(filled) > 1 else []) + filled:
        for e in editors:
            before, after = (e.summary[subset][reader] for reader in (BEFORE_EDIT, e.name))
            if after[FOLLOWS].cases:
                known = after[FOLLOWS_RIGHT]
                cells: list[Cell] = [after[FOLLOWS].cases, before[FOLLOWS], after[FOLLOWS]]
                rows.append([subset, e.name, *cells, known.cases, known])
    note = (
        "Dependent answers that the agent changes: how many the unedited model had right before the edit, "
        "how many follow, and how many of those that it had right. Of facts never stated (S0) it can have "
        "inferred them only; of others it may have read them."
    )
    header = ["consequence", "editor", "cases", "right before", "followed", "of these", "of these, followed"]
    return Table("inferred", "Followed, beside what was right before", header, rows, note, words=2)


def kinship_table(editors: Sequence[ScoredEditor]) -> Table:
    """Answers that must change and those that must stay, by the kin that the cases have."""
    first = editors[0]
    readers = [(e, e.name) for e in editors] + [(first, floor) for floor in first.reference_names]
    metrics = {
        f"{ROLE_LABELS[role]}, must {what}": names[role]
        for role in KIN
        for what, names in (("change", MUST_CHANGE), ("stay", MUST_STAY))
        if first.summary["all"][first.name][names[role]].cases
    }
    rows: list[list[Cell]] = [
        [reader, *(e.summary["all"][reader].get(m) for m in metrics.values())] for e, reader in readers
    ]
    counts = ", ".join(
        f"{head}: {first.summary['all'][first.name][m].cases:,}" for head, m in metrics.items()
    )
    note = (
        "Share of answers that are the agent's, where its own answer must change and where it stays. A "
        f"sibling depends on the same fact as the edited one. Cases ({first.name}): {counts}."
    )
    better = better_of(first.evaluation.metrics)
    return Table(
        "kinship",
        "By what the fact is to the edited one",
        ["editor", *metrics],
        rows,
        note,
        better={head: better[m] for head, m in metrics.items()},
        contest=len(editors),
    )
