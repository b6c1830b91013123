"""The pictures of docs/findings.md, drawn from the records of the experiments that found them.

Command:
    python -m experiments.draw_findings

Writes docs/findings/*.svg in seconds. A picture is a chart of dots with 95% intervals: a row for each thing
that is compared, a colour for each series. Its title says what to see.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from experiments.command import launch_module
from experiments.record import RECORDS
from experiments.tidy import FIGURES, read_figures
from testbed.console import say
from testbed.evaluations.hase.metrics import FOLLOWS, KEPT
from testbed.pages.charts import interval_halves, picture_style, save_figure
from testbed.pages.inks import AGENT, GRID, LATER, MODEL, QUIET
from testbed.scores.statistics import Estimate

HOME = Path(__file__).parents[1]
OLD_FOLLOWS = "answer s1r2, must change"
"""What records before 2026-11-25 call the share of consequences followed."""
COLOURS = (MODEL, AGENT, LATER, QUIET)
Rows = Mapping[str, Mapping[str, Estimate]]
"""By row, by series."""


@dataclass(frozen=True)
class Settings:
    """Where pictures go."""

    into: Path = HOME / "docs" / "findings"
    """Folder of the pictures."""


class Chart(NamedTuple):
    """What one picture shows."""

    title: str
    across: str
    rows: Rows


def read_estimates(*records: str) -> dict[tuple[str, ...], Estimate]:
    """The estimates of studies' own tables, by labels and figure; worlds apart are left out."""
    return {
        (*one.labels, one.figure): Estimate(one.value, one.low, one.high, one.cases or 0)
        for record in records
        for one in read_figures(RECORDS / record / FIGURES)
        if one.table == "found" and one.over is None
        if one.value is not None and one.low is not None and one.high is not None
    }


def read_demo_worlds() -> dict[tuple[str, ...], Estimate]:
    """The estimates of ten worlds by editor, subset, reader and today's name of the figure."""
    old = {OLD_FOLLOWS: FOLLOWS, "answer others": KEPT}
    before = read_estimates("2026-11-25-demo-worlds")
    renamed = {(*labels, old.get(figure, figure)): one for (*labels, figure), one in before.items()}
    return renamed | read_estimates("2026-11-25-demo-worlds-3")


def rows_of_harm(found: Mapping[tuple[str, ...], Estimate], editors: Sequence[str], subset: str) -> Rows:
    """What each editor updates, and what is left of others' facts, over a part of its edits."""
    series = {"dependent facts updated": FOLLOWS, "others' facts kept": KEPT}
    return {
        name: {words: found[name, subset, name, figure] for words, figure in series.items()}
        for name in editors
    }


def chart_harm() -> Chart:
    """What editors update, and what is left of other subjects' facts, over ten worlds."""
    editors = ("lora-down", "rome", "full-early", "embeddings", "count-based", "keyed")
    rows = rows_of_harm(read_demo_worlds(), editors, "contradicts the truth")
    return Chart("Editors update little, or harm others, or reason first", "share", rows)


def chart_paper() -> Chart:
    """What editors update, and what is left of others' facts, in the paper's model of 83M parameters."""
    found = read_estimates(*(f"2026-11-26-table4-paper{which}" for which in ("", "-3", "-4")))
    editors = ("lora-down", "rome", "full", "embeddings", "count-based", "keyed")
    rows = rows_of_harm(found, editors, "all")
    return Chart("83 million parameters, 100,000 facts: one editor updates and harms nobody", "share", rows)


def chart_support() -> Chart:
    """Dependent facts updated, by how many subjects have the new object, over ten worlds."""
    found = read_demo_worlds()
    bins = {"nobody": "0", "one": "1", "2 to 4": "2-4", "5 to 19": "5-19", "20 or more": "20+"}
    rows = {
        words: {
            name: found[name, f"support {key}", name, FOLLOWS]
            for name in ("keyed", "count-based", "embeddings", "lora-down")
        }
        for words, key in bins.items()
    }
    return Chart(
        "The more subjects have the new object, the more is updated", "dependent facts updated", rows
    )


def chart_size() -> Chart:
    """Agreement of rankings between 2 and 12 layers, and between seeds."""
    taus: dict[tuple[str, ...], list[float]] = {}
    for one in read_figures(RECORDS / "2026-11-23-stability" / FIGURES):
        if one.table == "found" and one.labels[-1:] == ("tau",) and one.value is not None:
            taus.setdefault(one.labels[:2], []).append(one.value)
    found = {labels: Estimate(tau, low, high, 0) for labels, (tau, low, high, *_) in taus.items()}
    metrics = {
        "propagation ratio": "propagation ratio",
        "consequence follows": OLD_FOLLOWS,
        "damage": "damage",
        "others' facts kept": "answer s2",
    }
    series = {"2 layers against 12": "depth", "seed against seed": "seed"}
    rows = {
        name: {words: found[figure, key] for words, key in series.items()} for name, figure in metrics.items()
    }
    return Chart("Rankings by propagation hold across depth, rankings by damage less", "Kendall's tau", rows)


def chart_seesaw() -> Chart:
    """Change of p(right) - p(wrong) of other people, by what they have."""
    found = read_estimates("2026-11-23-seesaw")
    editors = ("full", "memit", "mend", "ft-constrained", "rome", "self-bayes")
    series = {f"have the {kind}": f"D_d {kind.split()[0]} holders" for kind in ("new object", "old object")}
    rows = {
        name: {
            words: found["shift-frequency-said", name, "metrics", name, figure]
            for words, figure in (series | {"have neither": "D_d neither"}).items()
        }
        for name in editors
    }
    return Chart("Who has the old object loses most; the paper asks who has the new one", "D_d", rows)


def chart_negation() -> Chart:
    """Belief in a false claim after an edit that says so, denies it, or labels it."""
    estimates = read_estimates("2026-11-26-negation")
    wordings = ("S", '"S" is true', '"S" is false', '"not S" is true', '"S" is false, its label only')
    rows = {
        words: {
            name: estimates["false", name, words, "o after"]
            for name in ("full", "lora-down", "the exact agent")
        }
        for words in wordings
    }
    return Chart("A model that is told that S is false believes S as much as before its label", "p(S)", rows)


def chart_structures() -> Chart:
    """Consequences followed where two subjects or more share the object, structure by structure."""
    found = read_estimates(*(f"2026-11-{day}-structures-{i}" for day in (25, 26) for i in (2, 3)))
    series = {"keyed": "keyed", "counting, tuned": "keyed, tuned counting"}
    rows = {
        name: {words: found[name, editor, FOLLOWS] for words, editor in series.items()}
        for name in dict.fromkeys(labels[0] for labels in found)
        if all((name, editor, FOLLOWS) in found for editor in series.values())
    }
    return Chart(
        "keyed updates as counting does, but for names of several tokens in two worlds", "followed", rows
    )


CHARTS: dict[str, Callable[[], Chart]] = {
    "harm": chart_harm,
    "paper": chart_paper,
    "support": chart_support,
    "structures": chart_structures,
    "size": chart_size,
    "seesaw": chart_seesaw,
    "negation": chart_negation,
}


def draw_chart(chart: Chart, path: Path) -> None:
    """Write a chart as SVG: the same bytes for the same figures."""
    series = list(dict.fromkeys(words for row in chart.rows.values() for words in row))
    with picture_style():
        figure, axis = plt.subplots(figsize=(6.4, 1.2 + 0.3 * len(chart.rows)), layout="constrained")
        for i, words in enumerate(series):
            at = [
                k + 0.18 * (i - (len(series) - 1) / 2)
                for k, row in enumerate(chart.rows.values())
                if words in row
            ]
            values = [row[words] for row in chart.rows.values() if words in row]
            value, low, high = (np.array([one[k] for one in values]) for k in range(3))
            halves = interval_halves(value, low, high)
            colour = COLOURS[i % len(COLOURS)]
            axis.errorbar(value, at, xerr=halves, fmt="o", color=colour, ms=4, capsize=2, lw=1.2, label=words)
        axis.set_yticks(range(len(chart.rows)), list(chart.rows))
        axis.invert_yaxis()
        axis.set_xlabel(chart.across)
        axis.grid(axis="x", color=GRID, lw=0.6)
        figure.suptitle(chart.title, x=0.01, ha="left", fontsize=10, fontweight="bold")
        figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=len(series))
        save_figure(figure, path)


def run_study(settings: Settings) -> None:
    """Draw them."""
    settings.into.mkdir(parents=True, exist_ok=True)
    for name, make_chart in CHARTS.items():
        path = settings.into / f"{name}.svg"
        draw_chart(make_chart(), path)
        say(str(path))


if __name__ == "__main__":
    launch_module()
