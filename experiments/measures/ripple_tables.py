"""The tables and the figure of `experiments.ripples`: by hops, and by support and frequency."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from experiments.measures.ripple_cases import (
    COMMON,
    HOPS,
    INDEPENDENT,
    OTHERS,
    REQUEST,
    SUPPORTS,
    support_index,
)
from testbed.engine.results import Results, cluster_levels
from testbed.scores.gather import EditorResults
from testbed.scores.metric import Better, Metric
from testbed.scores.movement import Movement
from testbed.scores.readers import NO_EDIT, Answers, Reader, has_to_change, is_as_good, reference_readers
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import Cell, Table

FOLLOWED, FALSE, DAMAGE, SKILL = "followed", "falsely changed", "damage", "skill"
SUCCESS, ELSEWHERE = "edit success", "elsewhere"
"""Elsewhere: the independent fact, and random facts of others."""
FREQUENCIES = ("rare", "common")
CELL_HOPS = (1, 2)
STATED = ", stated"
"""Marks readings of edits of subjects whose facts below were stated."""
Rows = dict[str, dict[str, Estimate]]
"""Row -> column -> estimate."""


class Ripple(NamedTuple):
    """One reader's answers under one reading, hop by hop.

    Attributes:
        followed, false: where the agent's answer must change, whether the reader's is the agent's; where it
            must stay, whether the reader's changed.
        movement: distances to the agent.
    """

    followed: Metric
    false: Metric
    movement: Movement


def follow_ripple(results: Results, reader: Reader, among: np.ndarray) -> Ripple:
    """What a reader makes of some choices, bool[N]."""
    answers = Answers(results, reader)
    must = has_to_change(answers.choices, reader.time)
    as_good_before = is_as_good(answers.choices, reader.start_answer, reader.time)
    changed = (reader.answer != reader.start_answer) & ~(answers.is_right & as_good_before)
    return Ripple(
        answers.mean_over(answers.is_right, among & must),
        answers.mean_over(changed, among & ~must),
        Movement(answers, among),
    )


def read_edits(editors: Sequence[EditorResults]) -> Iterator[tuple[str, str, Reader, Results]]:
    """Name, reading of the request, answers and results of every editor; and of the unedited model, first."""
    for one in (editors[0]._replace(name=NO_EDIT), *editors):
        for time, reading in enumerate(one.evaluation.interpretations, start=1):
            edited = one.name if one.name != NO_EDIT else ""
            yield one.name, reading, reference_readers(one.results, edited, time)[one.name], one.results


def estimate_hops(editors: Sequence[EditorResults]) -> dict[str, Rows]:
    """By reading, by editor (and the unedited model): columns of `hop_table`, over all edits."""
    by_reading: dict[str, Rows] = {}
    for name, reading, reader, results in read_edits(editors):
        hops, answers = results.choices.facets["hops"], Answers(results, reader)
        places = {f"{h}": hops == h for h in HOPS}
        places[ELSEWHERE] = np.isin(results.choices.role, (INDEPENDENT, OTHERS))
        taken_up = reader.answer == answers.requested
        metrics = {SUCCESS: answers.mean_over(taken_up, answers.has_role(REQUEST))}
        for place, among in places.items():
            ripple = follow_ripple(results, reader, among)
            metrics[f"{FOLLOWED} {place}"] = ripple.followed
            metrics[f"{FALSE} {place}"] = ripple.false
            metrics[f"{DAMAGE} {place}"] = ripple.movement.damage
            metrics[f"{SKILL} {place}"] = ripple.movement.skill_recalibrated
        everything = np.ones(len(results), bool)
        rows = by_reading.setdefault(reading, {})
        rows[name] = estimate_metrics(metrics, cluster_levels(results), everything)
    return by_reading


def hop_table(key: str, title: str, rows: Rows) -> Table:
    """An editor a row; what followed, what changed falsely, and the damage, by hops."""
    columns = [f"{what} {h}" for what in (FOLLOWED, FALSE, DAMAGE, SKILL) for h in HOPS]
    columns = [SUCCESS, *columns, f"{FALSE} {ELSEWHERE}", f"{DAMAGE} {ELSEWHERE}"]
    counts = next(iter(rows.values()))
    case_counts = ", ".join(f"{c}: {counts[c].cases}" for c in columns if c.startswith((FOLLOWED, FALSE)))
    better: dict[str, Better] = {c: ("low" if c.startswith((FALSE, DAMAGE)) else "high") for c in columns}
    cells: list[list[Cell]] = [[name, *(row[c] for c in columns)] for name, row in rows.items()]
    note = (
        "By steps below the edited fact: of the answers that must change, the share that is the "
        "agent's; of those that must stay, the share that changed; the distance to the agent that the edit "
        f"added; skill, which no temperature buys. Cases: {case_counts}."
    )
    return Table(key, title, ["editor", *columns], cells, note, better=better)


def cell_masks(results: Results) -> dict[str, np.ndarray]:
    """bool[E] by support and frequency, for subjects of whom nobody stated what follows, and for others."""
    cases = results.cases
    support, common = support_index(cases["support"]), cases["frequency"] >= COMMON
    said = cases["said"].astype(bool)
    return {
        f"{frequency} {bin_name}{STATED if stated else ''}": (support == i)
        & (common == (frequency == "common"))
        & (said == stated)
        for stated in (False, True)
        for frequency in FREQUENCIES
        for i, bin_name in enumerate(SUPPORTS)
    }


def estimate_cells(editors: Sequence[EditorResults]) -> dict[str, Rows]:
    """By editor, by "reading, hop": what followed in each cell of support and frequency.

    Edits of subjects whose facts below were stated count under readings of their own: only a change of the
    world moves these.
    """
    by_editor: dict[str, Rows] = {}
    for name, reading, reader, results in read_edits(editors):
        rows, levels = by_editor.setdefault(name, {}), cluster_levels(results)
        for hop in CELL_HOPS:
            followed = follow_ripple(results, reader, results.choices.facets["hops"] == hop).followed
            for cell, among in cell_masks(results).items():
                estimate = estimate_metrics({"": followed}, levels, among)[""]
                if estimate.cases:
                    stated = STATED if cell.endswith(STATED) else ""
                    row = rows.setdefault(f"{reading}{stated}, {hop}", {})
                    row[cell.removesuffix(STATED)] = estimate
    return by_editor


def support_table(by_editor: Mapping[str, Rows], row: str, title: str) -> Table:
    """What followed under one reading, at one hop: a cell a column."""
    cells = [f"{frequency} {name}" for frequency in FREQUENCIES for name in SUPPORTS]
    rows: list[list[Cell]] = [
        [name, *(of.get(row, {}).get(cell) for cell in cells)] for name, of in by_editor.items()
    ]
    first = next(iter(by_editor.values())).get(row, {})
    counts = ", ".join(f"{cell}: {first[cell].cases}" for cell in cells if cell in first)
    note = f"Share of answers that must change that follow the agent; edits asked: {counts}."
    better: dict[str, Better] = dict.fromkeys(cells, "high")
    return Table(row.replace(", ", "-"), title, ["editor", *cells], rows, note, better=better)


def estimate_effects(editors: Sequence[EditorResults]) -> Rows:
    """By editor, by hop: what support adds at the same frequency, and frequency at the same support.

    Each is the mean over worlds of a difference of shares followed, both kinds of cells weighing the same,
    with a 95% t-interval over worlds; subjects of whom nothing below was stated, read as evidence.
    """
    effects: Rows = {}
    for name, reading, reader, results in read_edits(editors):
        if reading != "evidence":
            continue
        row, masks = effects.setdefault(name, {}), cell_masks(results)
        world = results.cases.get("run", np.zeros(len(results), int))
        for hop in CELL_HOPS:
            followed = follow_ripple(results, reader, results.choices.facets["hops"] == hop).followed
            share = {
                cell: np.array([_share_of(followed, among & (world == w)) for w in np.unique(world)])
                for cell, among in masks.items()
                if not cell.endswith(STATED)
            }
            by_support = [share[f"{f} {SUPPORTS[-1]}"] - share[f"{f} {SUPPORTS[0]}"] for f in FREQUENCIES]
            by_frequency = [share[f"common {bin_name}"] - share[f"rare {bin_name}"] for bin_name in SUPPORTS]
            row[f"support, hop {hop}"] = _mean_over_worlds(np.mean(by_support, axis=0))
            row[f"frequency, hop {hop}"] = _mean_over_worlds(np.mean(by_frequency, axis=0))
    return effects


def effect_table(effects: Rows) -> Table:
    """Support and frequency beside each other."""
    columns = list(next(iter(effects.values())))
    cells: list[list[Cell]] = [[name, *(row[c] for c in columns)] for name, row in effects.items()]
    note = (
        f"Differences of the share followed: support is {SUPPORTS[-1]} subjects less {SUPPORTS[0]}, at the "
        "same frequency; frequency is common less rare, at the same support. Means over worlds, with "
        "95% t-intervals."
    )
    return Table(
        "effects", "Support and frequency, each with the other held", ["editor", *columns], cells, note
    )


def _share_of(metric: Metric, among: np.ndarray) -> float:
    total = metric.denominator[among].sum()
    return float(metric.numerator[among].sum() / total) if total else np.nan


def _mean_over_worlds(values: np.ndarray) -> Estimate:
    values = values[np.isfinite(values)]
    n = len(values)
    if not n:
        return Estimate(np.nan, np.nan, np.nan, 0)
    mean = float(values.mean())
    if n < 2:
        return Estimate(mean, np.nan, np.nan, n)
    half = float(stdtrit(n - 1, 0.975) * values.std(ddof=1) / np.sqrt(n))
    return Estimate(mean, mean - half, mean + half, n, n)
