"""The tables of `experiments.revision`: what is asked of which cases, by kind of world and world by world."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.hase import CHILD, GRANDCHILD, OTHER_CHILD
from testbed.evaluations.hase.metrics import (
    DAMAGE,
    FOLLOWS,
    KEPT,
    MUST_CHANGE,
    SKILL,
    SKILL_MOVED,
    SKILL_STILL,
    SPILL,
    SUCCESS,
    name_at,
)
from testbed.run.strata import STRATA
from testbed.scores.gather import EditorResults
from testbed.scores.readers import BAYESIAN, BEFORE_EDIT, PERFECT
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.summary import measure_readers
from testbed.scores.tables import Cell, Table

Estimates = dict[str, dict[str, dict[str, Estimate]]]
"""Reader -> subset -> metric -> estimate."""
KINDS = {"published": "published", "fact": "facts persist", "sentence": "fresh draws"}
FALSE = name_at("falsely_changed", CHILD)
BOTH = "support 2 and more"
FEW = "S0, three to five members"
PARTS: dict[str, str] = {
    "support 1": FOLLOWS, BOTH: FOLLOWS, "S0": FOLLOWS, FEW: FOLLOWS, "S1": FALSE,
    "S2": FALSE,
}  # fmt: skip
"""Part of the cases -> what is asked of it."""
OVERALL = (
    SUCCESS, FOLLOWS, MUST_CHANGE[GRANDCHILD], FALSE, KEPT, DAMAGE, SPILL,
    SKILL_MOVED, SKILL_STILL, SKILL, "dutch_book", "logic.tf", "logic.not", "logic.and", "logic.or",
    "logic.not_b", "logic.b_or_a",
)  # fmt: skip
"""Of the laws of logic `self-bayes` trains all but the last two."""
REFERENCES = (BEFORE_EDIT, PERFECT, BAYESIAN)


def case_parts(results: Results) -> dict[str, np.ndarray]:
    """bool[E]: all cases, by support of the new object, and by how often the consequence was stated."""
    child, support = results.cases["child"], results.cases["support_new"]
    masks = {"all": np.ones(len(results), bool), "support 1": support == 1, BOTH: support >= 2}
    masks |= {name: child & (results.cases["stratum"] == name) for name in STRATA}
    return masks | {FEW: masks["S0"] & (support >= 3) & (support <= 5)}


def estimate_editors(editors: Sequence[EditorResults]) -> Estimates:
    """Every editor, and the references on the cases of the first, on each part."""

    def metrics_of_part(part: str) -> tuple[str, ...]:
        return {"all": OVERALL, FEW: (FOLLOWS, MUST_CHANGE[OTHER_CHILD])}.get(part) or (PARTS[part], SKILL)

    return estimate_parts(editors, case_parts, metrics_of_part, REFERENCES)


def kind_tables(kind: str, by_reader: Estimates, sizes: dict[str, int]) -> Iterator[Table]:
    """One kind of worlds: everything about all edits, and what is asked of parts of them."""
    rows: list[list[Cell]] = [
        [reader, sizes.get(reader), row["all"][FOLLOWS].cases, *(row["all"].get(m) for m in OVERALL)]
        for reader, row in by_reader.items()
    ]
    columns = ["editor", "edits", "must change", *OVERALL]
    yield Table(f"{kind}-all", f"{KINDS[kind]}: all edits", columns, rows)
    rows = [[reader, *(row.get(p, {}).get(m) for p, m in PARTS.items())] for reader, row in by_reader.items()]
    names = [f"{'follows' if m == FOLLOWS else 'changes falsely'}, {p}" for p, m in PARTS.items()]
    yield Table(f"{kind}-parts", f"{KINDS[kind]}: what depends on the edit", ["editor", *names], rows)


def world_tables(worlds: dict[str, Estimates]) -> Iterator[Table]:
    """Each world by itself, an editor a column."""
    names = list(next(iter(worlds.values())))
    of_few = ((FEW, FOLLOWS), (FEW, MUST_CHANGE[OTHER_CHILD]))
    for part, metric in ((BOTH, FOLLOWS), *of_few, ("all", SKILL), ("all", DAMAGE)):
        rows: list[list[Cell]] = [
            [
                world,
                *(by_reader[name].get(part, {}).get(metric) if name in by_reader else None for name in names),
            ]
            for world, by_reader in worlds.items()
        ]
        yield Table(f"worlds-{part}-{metric}", f"{metric}, {part}, by world", ["world", *names], rows)


def estimate_parts(
    editors: Sequence[EditorResults],
    parts: Callable[[Results], dict[str, np.ndarray]],
    metrics: Callable[[str], Sequence[str]],
    references: Sequence[str],
) -> Estimates:
    """Estimates for every editor, then for the references on the cases of the first who has them.

    Args:
        parts: the masks of some parts of the cases, by name.
        metrics: what is asked of a part, by its name.
    """
    by_reader: Estimates = {}
    for one in editors:
        values, levels = measure_readers(one.evaluation, one.results, one.name), cluster_levels(one.results)
        readers = [one.name, *(name for name in references if name not in by_reader)]
        by_reader |= {reader: {} for reader in readers}
        for part, among in parts(one.results).items():
            flat = {(r, m): values[r][m] for r in readers for m in metrics(part) if m in values[r]}
            for (reader, metric), e in estimate_metrics(flat, levels, among).items():
                by_reader[reader].setdefault(part, {})[metric] = e
    return {name: by_reader[name] for name in (*(e.name for e in editors), *references)}
