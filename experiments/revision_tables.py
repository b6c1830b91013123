"""The tables of `experiments.revision`: what is asked of which cases, by kind of world and world by world."""

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.record import short
from testbed.engine.results import Results, clusters
from testbed.evaluations.hase.meanings import (
    DAMAGE,
    FOLLOWS,
    MUST_CHANGE,
    SKILL,
    SKILL_MOVED,
    SKILL_STILL,
    SPILL,
    SUCCESS,
)
from testbed.evaluations.hase.roles import GRANDCHILD
from testbed.run.strata import STRATA
from testbed.scores.gather import Edited
from testbed.scores.readers import BAYESIAN, BEFORE_EDIT, PERFECT
from testbed.scores.statistics import Estimate, estimates
from testbed.scores.summary import measured
from testbed.scores.tables import Cell, Table

KINDS = {"published": "published", "fact": "facts persist", "sentence": "fresh draws"}
BOTH = "support 2 and more"
PARTS: dict[str, str] = {
    "support 1": FOLLOWS, BOTH: FOLLOWS, "S0": FOLLOWS, "S1": "false change s1r2", "S2": "false change s1r2",
}  # fmt: skip
"""Part of the cases -> what is asked of it."""
OVERALL = (
    SUCCESS, FOLLOWS, MUST_CHANGE[GRANDCHILD], "false change s1r2", "answer s2", DAMAGE, SPILL, SKILL_MOVED,
    SKILL_STILL, SKILL, "logic TF", "logic not", "logic or", "logic and", "Dutch book loss",
)  # fmt: skip
REFERENCES = (BEFORE_EDIT, PERFECT, BAYESIAN)
By = dict[str, dict[str, dict[str, Estimate]]]
"""Editor or reference -> part of the cases -> metric -> estimate."""


def parts(results: Results) -> dict[str, np.ndarray]:
    """bool[E]: all cases, by support of the new object, and by how often the consequence was stated."""
    child, support = results.cases["child"], results.cases["support_new"]
    masks = {"all": np.ones(len(results), bool), "support 1": support == 1, BOTH: support >= 2}
    return masks | {name: child & (results.cases["stratum"] == name) for name in STRATA}


def estimated(editors: Sequence[Edited]) -> By:
    """Every editor, and the references on the cases of the first, on each part."""
    by_reader: By = {}
    for one in editors:
        values, levels = measured(one.evaluation, one.results, one.name), clusters(one.results)
        readers = [one.name, *(r for r in REFERENCES if r in values and r not in by_reader)]
        by_reader |= {reader: {} for reader in readers}
        for part, among in parts(one.results).items():
            metrics = OVERALL if part == "all" else (PARTS[part], SKILL)
            flat = {(r, m): values[r][m] for r in readers for m in metrics if m in values[r]}
            for (reader, metric), e in estimates(flat, levels, among).items():
                by_reader[reader].setdefault(part, {})[metric] = e
    return by_reader


def tables(kind: str, by_reader: By, sizes: dict[str, int]) -> Iterator[Table]:
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


def by_world(worlds: dict[str, By]) -> Iterator[Table]:
    """Each world by itself, an editor a column."""
    names = list(next(iter(worlds.values())))
    for part, metric in ((BOTH, FOLLOWS), ("all", SKILL), ("all", DAMAGE)):
        rows: list[list[Cell]] = [
            [
                world,
                *(by_reader[name].get(part, {}).get(metric) if name in by_reader else None for name in names),
            ]
            for world, by_reader in worlds.items()
        ]
        yield Table(f"worlds-{metric}", f"{metric}, {part}, by world", ["world", *names], rows)


def shortened(by_reader: By) -> dict[str, dict[str, dict[str, list[float | None]]]]:
    """What record.json keeps of each estimate."""
    return {
        reader: {part: {m: short(e) for m, e in row.items() if e.cases} for part, row in rows.items()}
        for reader, rows in by_reader.items()
    }
