"""The tables of belief_revision: which parts of the cases, which metrics, which rows."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np

from experiments.record import short
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.hase.meanings import (
    DAMAGE,
    FOLLOWS,
    FOLLOWS_RIGHT,
    RATIO,
    SKILL,
    SKILL_MOVED,
    SKILL_STILL,
    SPILL,
    SUCCESS,
)
from testbed.evaluations.hase.roles import PARENT
from testbed.evaluations.hase.subsets import case_subsets
from testbed.run.strata import STRATA, SUPPORT_BINS, support_bin
from testbed.scores.answers import has_to_change
from testbed.scores.comparison import ScoredEditor
from testbed.scores.gather import EditorResults
from testbed.scores.readers import BAYESIAN, BEFORE_EDIT, NO_EDIT, PERFECT
from testbed.scores.retention import retention_curve, retention_table
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.summary import measure_readers
from testbed.scores.tables import Cell, Table

Stage = Literal["train", "edits", "diagnosis", "sequences", "ablations", "imagine", "report"]
Estimates = dict[str, dict[str, dict[str, Estimate]]]
"""Reader -> subset -> metric -> estimate."""
DRAWN = ("self-bayes", "count-based", "lora-down", "full-early", "embeddings", "oracle")

REFERENCES = (BEFORE_EDIT, NO_EDIT, PERFECT, BAYESIAN)
CONSEQUENCES = (FOLLOWS, FOLLOWS_RIGHT, "answer s1r2", "false change s1r2", "TV s1r2", RATIO)
CAUSES = (SUCCESS, "answer s1r0", "TV s1r0", RATIO)
OVERALL = (
    SUCCESS, RATIO, DAMAGE, SPILL, SKILL_MOVED, SKILL_STILL, SKILL, "Dutch book loss", "logic TF",
    "logic not", "logic and", "logic or", "answer s1rx", "answer s2",
)  # fmt: skip
COSTS = {"seconds": "seconds an edit", "flops": "FLOPs an edit"}


def strata(o: Results) -> dict[str, np.ndarray]:
    """bool[E] of all cases, of those whose consequence was stated so often, and of these by support."""
    bins = support_bin(o.cases["support_new"])
    masks = {"all": np.ones(len(bins), bool)}
    for name in STRATA:
        masks[name] = o.cases["child"] & (o.cases["stratum"] == name)
        masks |= {f"{name}, {b}": masks[name] & (bins == i) for i, b in enumerate(SUPPORT_BINS)}
    return masks


def causes(o: Results) -> dict[str, np.ndarray]:
    """bool[E] of all cases, of those whose cause the agent revises, and by support of the new effect."""
    bins = support_bin(o.cases["support_new"])
    asked = o.choices
    cause = asked.case[has_to_change(asked) & (asked.role == PARENT)]
    changing = np.isin(np.arange(len(o)), cause)
    masks = {"all": np.ones(len(bins), bool), "cause must change": changing}
    return masks | {f"support {b}": bins == i for i, b in enumerate(SUPPORT_BINS)}


def held_out(o: Results) -> dict[str, np.ndarray]:
    """bool[E] by whether documents could imagine the request, of all cases and of unstated consequences."""
    masks = {"all": np.ones(len(o), bool)}
    masks |= {name: mask for name, mask in case_subsets(o).items() if name.startswith(("held", "seen"))}
    unstated = strata(o)["S0"]
    return masks | {f"S0, {name}": mask & unstated for name, mask in masks.items()}


SUBSETS: dict[Stage, tuple[Callable[[Results], dict[str, np.ndarray]], tuple[str, ...]]] = {
    "edits": (strata, CONSEQUENCES),
    "diagnosis": (causes, CAUSES),
    "sequences": (strata, ()),
    "ablations": (strata, CONSEQUENCES),
    "imagine": (held_out, CONSEQUENCES),
}
"""The subsets that each stage is reported on, and the metrics on each of them."""


def estimated(stage: Stage, editors: Sequence[EditorResults]) -> Estimates:
    """Estimates for every editor, and for the REFERENCES on the cases of the first."""
    parts, metrics = SUBSETS[stage]
    everywhere = tuple(dict.fromkeys((*OVERALL, *metrics)))
    return estimate_parts(editors, parts, lambda part: everywhere if part == "all" else metrics, REFERENCES)


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


def tables(
    stage: Stage, world: str, editors: Sequence[EditorResults], by_reader: Estimates
) -> Iterator[Table]:
    """Everything about all cases, and each of the stage's metrics by subset."""
    by = {e.name: e for e in editors}
    overall: list[list[Cell]] = []
    for r, row in by_reader.items():
        one = by.get(r)
        size = [one.sweeps, len(one.results)] if one else [None, None]
        cost = one.cost if one else {}
        overall.append([r, *size, *(row["all"].get(m) for m in OVERALL), *(cost.get(c) for c in COSTS)])
    columns = ["editor", "worlds", "edits", *OVERALL, *COSTS.values()]
    yield Table(f"{stage}-all", f"{stage}, {world}", columns, overall)
    for metric in SUBSETS[stage][1]:
        first = by_reader[editors[0].name]
        filled = [s for s in first if first[s][metric].cases]
        rows: list[list[Cell]] = [[r, *(row[s].get(metric) for s in filled)] for r, row in by_reader.items()]
        yield Table(f"{stage}-{metric}", f"{stage}, {world}: {metric}", ["editor", *filled], rows)
    scored = [
        ScoredEditor(e, measure_readers(e.evaluation, e.results, e.name), {}) for e in editors if e.retained
    ]
    curve = retention_table(scored, {e.name: retention_curve(e) for e in scored})
    if curve:
        yield curve._replace(title=f"{stage}, {world}: {curve.title}")


def unstated(by_reader: Estimates) -> dict[str, list[Estimate]]:
    """By support, the share of consequences never stated before that follow, for the editors drawn."""
    return {
        name: [by_reader[name][f"{STRATA[0]}, {b}"][FOLLOWS] for b in SUPPORT_BINS]
        for name in DRAWN
        if name in by_reader
    }


def shorten_estimates(by_reader: Estimates) -> dict[str, dict[str, dict[str, list[float | None]]]]:
    """What record.json keeps of each estimate; of stated consequences belief.md has support too."""
    return {
        reader: {
            part: {metric: short(e) for metric, e in row.items() if e.cases}
            for part, row in rows.items()
            if not part.startswith(("S1, ", "S2, "))
        }
        for reader, rows in by_reader.items()
    }
