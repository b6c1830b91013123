"""Pictures of a record, all of them drawn from its figures."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from experiments.recorded import find_claims
from experiments.tidy import ESTIMATE, Figure, nest_figures
from testbed.evaluations.hase.metrics import FOLLOWS, RATIO
from testbed.pages.charts import (
    draw_lines,
    draw_training,
    interval_halves,
    picture_style,
    save_figure,
    wrap_title,
)
from testbed.pages.inks import GRID, MODEL
from testbed.scores.statistics import Estimate

TRAINING, REPORT, COSTS = "training", "summary.md", "What an edit costs"
SECTIONS = re.compile(
    "^By (race|region|gender),|^The three kinds|^Scope of the edit|^Errors by class|^Coupled entity"
    "|^Consistency by members|^The unedited model|^Each simple measure|^Simple measures and all"
)
"""Tables of a report that are drawn."""
NO_ESTIMATES = ("cases (", "smallest detectable")
"""Rows of a report's tables that are about the others."""
SUPPORT = "support "
BY_SUPPORT = {FOLLOWS: "support", "answer s1r2, must change": "support", RATIO: "propagation"}
"""Metrics that are drawn by how many subjects share the new object, and the pictures' names; older records
call the first otherwise."""
SPREAD = ("median", "least", "most")
"""Figures of one thing that was measured several times."""
COLUMNS, ROWS = 12, 40
"""The most panels and rows of a picture of a table."""
OWN = {"agents-disagree": "all", "strength": "points", "taxi-finetuning": "points"}
"""Studies that draw a picture of their own, by `draw_figures`, and the table that it shows."""
Estimates = dict[str, dict[str, Estimate]]
"""By figure, by row."""


def draw_pictures(figures: Sequence[Figure], title: str, folder: Path) -> Iterator[Path]:
    """Draw what the figures of a record of the study `title` show, in `folder`: yields the pictures.

    These are the training; each table of the study's own figures, of large ones what is over all cases;
    metrics by support; some tables of the report; and what an edit costs beside what it buys.
    """
    for table, rows in group_by_table(figures).items():
        if table == OWN.get(title):
            study = import_module(f"experiments.{title.replace('-', '_')}")
            yield _draw(study.draw_figures, restore_estimates(nest_figures(rows)), folder / f"{title}.png")
            continue
        if table == TRAINING:
            lines = [{"step": int(step), **line} for step, line in nest_figures(rows).items()]
            yield _draw(draw_training, lines, folder / "training.png")
        elif table == REPORT:
            yield from _draw_report([one for one in rows if one.row >= 0], folder)
        elif not is_page(table):
            estimates = estimates_by_figure(_main_rows(rows))
            if sum(map(len, estimates.values())) > 1:
                yield _draw(draw_estimates, estimates, folder / f"{table}.png")
            for metric, name in BY_SUPPORT.items():
                if curves := support_curves(rows, metric):
                    path = folder / f"{table}-{name}.png"
                    bins = list(
                        dict.fromkeys(one.labels[-2].removeprefix(SUPPORT) for one in _by_support(rows))
                    )
                    draw_lines(curves, bins, "subjects that share the new object", metric, path)
                    yield path


def restore_estimates(node: Any) -> Any:
    """Nested data with each estimate in place of its plain data."""
    if isinstance(node, list):
        return [restore_estimates(value) for value in node]
    if not isinstance(node, dict):
        return node
    if node.keys() == set(ESTIMATE):
        values: list[Any] = [math.nan if node[name] is None else node[name] for name in ESTIMATE]
        return Estimate(*values)
    return {name: restore_estimates(value) for name, value in node.items()}


def group_by_table(figures: Iterable[Figure]) -> dict[str, list[Figure]]:
    """Figures of each table, in the order of the record."""
    tables: dict[str, list[Figure]] = {}
    for one in figures:
        tables.setdefault(one.table, []).append(one)
    return tables


def is_page(table: str) -> bool:
    """Whether figures are as a page of tables printed them."""
    return table.endswith(".md")


def estimates_by_figure(rows: Iterable[Figure]) -> Estimates:
    """Every number with its interval, or with the range over several runs; by figure and label of its row."""
    estimates: Estimates = {}
    spreads: dict[tuple[str, ...], dict[str, float]] = {}
    for one in rows:
        if one.over or one.value is None:
            continue
        if one.figure in SPREAD and one.labels:
            spreads.setdefault(one.labels, {})[one.figure] = one.value
            continue
        estimates.setdefault(one.figure, {})[", ".join(one.labels)] = estimate_of(one)
    for (*labels, figure), spread in spreads.items():
        value, low, high = (spread.get(name, math.nan) for name in SPREAD)
        estimates.setdefault(figure, {})[", ".join(labels)] = Estimate(value, low, high, 0)
    return estimates


def estimate_of(figure: Figure) -> Estimate:
    """A figure with its interval, of a printed one value and half; nan where there is none."""
    value, low, high = (math.nan if x is None else x for x in (figure.value, figure.low, figure.high))
    for claim in find_claims(figure.text or "")[:1]:
        low, high = claim.bounds()
    return Estimate(value, low, high, figure.cases or 0)


def support_curves(rows: Iterable[Figure], metric: str) -> dict[str, dict[str, list[Estimate]]]:
    """By editor, one metric of it in the order of the bins of support."""
    curves: dict[str, dict[str, list[Estimate]]] = {}
    for one in _by_support(rows):
        *group, _, reader = one.labels
        if one.figure == metric and group[-1].startswith(reader):
            curve = curves.setdefault(", ".join(group), {}).setdefault("this editor", [])
            curve.append(estimate_of(one))
    return curves


def draw_estimates(estimates: Estimates, path: Path) -> None:
    """A panel a figure, with intervals; no more rows and figures than fit, and how many those are."""
    estimates, cut = _cut_estimates(estimates)
    names = list(dict.fromkeys(row for by_row in estimates.values() for row in by_row))
    with picture_style():
        size = (1.9 * len(estimates) + 2, 0.24 * len(names) + 1.2)
        figure, axes = plt.subplots(1, len(estimates), figsize=size, sharey=True, squeeze=False)
        for axis, (title, by_row) in zip(axes[0], estimates.items(), strict=True):
            value, low, high = (np.array([estimate[i] for estimate in by_row.values()]) for i in range(3))
            at = [names.index(row) for row in by_row]
            halves = interval_halves(value, low, high)
            axis.errorbar(value, at, xerr=halves, fmt="o", color=MODEL, ms=3.5, lw=1, capsize=1.5)
            axis.set_title(wrap_title(title or "value", 20), fontsize=8)
            axis.grid(axis="x", color=GRID, lw=0.6)
            axis.tick_params(labelsize=7)
        axes[0, 0].set_yticks(range(len(names)), [wrap_title(name, 60) for name in names], fontsize=7)
        axes[0, 0].invert_yaxis()
        figure.supxlabel(cut, fontsize=8)
        save_figure(figure, path)


def draw_costs(rows: Sequence[Figure], path: Path) -> None:
    """The metric in the last column of a table of costs, against seconds of an edit."""
    metric = rows[-1].figure
    values = {(one.labels[0], one.figure): one.value for one in rows}
    with picture_style():
        figure, axis = plt.subplots(figsize=(8.4, 4.8))
        for name in dict.fromkeys(one.labels[0] for one in rows):
            seconds, score = values.get((name, "seconds")), values[name, metric]
            if seconds and score is not None:
                axis.semilogx(seconds, score, "o", color=MODEL)
                axis.annotate(name, (seconds, score), (4, 4), textcoords="offset points", fontsize=7)
        axis.set(xlabel="seconds of an edit", ylabel=metric)
        axis.grid(color=GRID, lw=0.6)
        save_figure(figure, path)


def _draw_report(rows: Sequence[Figure], folder: Path) -> Iterator[Path]:
    for section in dict.fromkeys(one.section for one in rows):
        cells = [one for one in rows if one.section == section and not one.labels[0].startswith(NO_ESTIMATES)]
        path = folder / f"{re.sub(r'[^a-z0-9]+', '-', section.lower()).strip('-')}.png"
        if section == COSTS:
            yield _draw(draw_costs, cells, folder / "costs.png")
        elif section.endswith("by support"):
            lines: dict[str, dict[str, list[Estimate]]] = {}
            for one in cells:
                of_row = lines.setdefault(one.labels[0], {})
                of_row.setdefault(section, []).append(estimate_of(one))
            draw_lines(lines, list(dict.fromkeys(one.figure for one in cells)), "", "", path)
            yield path
        elif SECTIONS.search(section):
            yield _draw(draw_estimates, estimates_by_figure(cells), path)


def _draw(picture: Callable[[Any, Path], object], content: Any, path: Path) -> Path:
    picture(content, path)
    return path


def _by_support(rows: Iterable[Figure]) -> list[Figure]:
    return [
        one for one in rows if one.names[-2:] == ("subset", "reader") and one.labels[-2].startswith(SUPPORT)
    ]


def _main_rows(rows: Sequence[Figure]) -> Sequence[Figure]:
    """Of figures by subset and reader, those of all cases and of each editor itself."""
    own = [
        one for one in rows if one.names[-2:] == ("subset", "reader") and one.labels[-2] == "all"
        and one.labels[-3].startswith(one.labels[-1])
    ]  # fmt: skip
    return own or [one for one in rows if "all" in one.labels] or rows


def _cut_estimates(estimates: Estimates) -> tuple[Estimates, str]:
    """What fits on one picture, and what is then to be said."""
    names = list(dict.fromkeys(row for by_row in estimates.values() for row in by_row))
    among = set(names[:ROWS])
    part = {
        figure: {row: one for row, one in by_row.items() if row in among}
        for figure, by_row in [*estimates.items()][:COLUMNS]
    }
    counts = ((len(part), len(estimates), "figures"), (len(among), len(names), "rows"))
    cuts = [f"{few} of {all:,} {what}" for few, all, what in counts if few < all]
    return {figure: by_row for figure, by_row in part.items() if by_row}, ", ".join(cuts)
