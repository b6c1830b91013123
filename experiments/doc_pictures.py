"""The pictures of the findings as data: which figures of which records are dots, with their intervals."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from experiments.figures import Figure
from testbed.pages.charts import interval_halves, picture_style, save_figure
from testbed.pages.palette import AGENT, GRID, LATER, MODEL, QUIET

COLOURS = (MODEL, AGENT, LATER, QUIET)
Words = tuple[str, ...]


class Chart(NamedTuple):
    """A chart of dots: a row for each thing that is compared, a colour for each series.

    Attributes:
        title: what to see.
        across: what the axis measures.
        records: whose figures they are.
        rows, series: what each is called, and by which words its figures are found.
        shared: further words of every figure.
        rival: the row that is trivial; dashed lines stand at its dots.
    """

    title: str
    across: str
    records: Words
    rows: Mapping[str, Words]
    series: Mapping[str, Words]
    shared: Words = ("found",)
    rival: str = ""


def by_name(*names: str) -> dict[str, Words]:
    """Rows that are called as they are in the records."""
    return {name: (name,) for name in names}


FOLLOWS = "consequence follows | answer s1r2, must change"
"""Of dependent facts the share that is updated: its names in records of today and of earlier days."""
DEMO_WORLDS = ("2026-11-25-demo-worlds", "2026-11-25-demo-worlds-3")
HARM = {
    "dependent facts updated, where somebody has the new object": (
        "Consequence follows, by sampler", "support 1 or more"
    ),
    "others' facts kept": ("Headline: requests that contradict the truth", "others' facts kept"),
}  # fmt: skip
STRUCTURE_NAMES = tuple(
    f"{kind}, {factor}"
    for kind, factors in (
        ("published", ("base", "two levels", "four levels", "five levels", "six levels", "two causes",
                       "four causes", "Zipf 0", "Zipf 2", "two tokens", "three tokens", "five relations",
                       "thirty relations", "no labels")),
        ("fact", ("base", "five levels", "three causes", "three tokens")),
        ("sentence", ("base", "three causes", "Zipf 0", "Zipf 2", "three tokens")),
        ("fact", ("everything",)),
        ("published", ("labels of truth", "labels of and, or", "three causes", "four tokens", "everything")),
    )
    for factor in factors
)  # fmt: skip
STRUCTURES = tuple(f"2026-11-{day}-structures-{number}" for day in (25, 26) for number in (2, 3))
CHARTS = {
    "harm": Chart(
        "Editors update little, or harm others, or store at the subject's name", "share",
        ("2026-11-27-demo-worlds-2",),
        by_name("lora-down", "rome", "embeddings", "keyed-request", "keyed-counting", "keyed"), HARM, (),
    ),
    "support": Chart(
        "The more subjects have the new object, the more is updated", "dependent facts updated", DEMO_WORLDS,
        {"nobody": ("support 0",), "one": ("support 1",), "2 to 4": ("support 2-4",),
         "5 to 19": ("support 5-19",), "20 or more": ("support 20+",)},
        by_name("keyed", "count-based", "embeddings", "lora-down"), ("found", FOLLOWS),
    ),
    "structures": Chart(
        "keyed updates as counting does, but for names of several tokens in two worlds", "followed",
        STRUCTURES,
        by_name(*STRUCTURE_NAMES), {"keyed": ("keyed",), "counting, tuned": ("keyed, tuned counting",)},
        ("found", FOLLOWS),
    ),
    "size": Chart(
        "Rankings by propagation hold across depth, rankings by damage less", "Kendall's tau",
        ("2026-11-23-stability",),
        {"propagation ratio": ("propagation ratio",), "consequence follows": (FOLLOWS,),
         "damage": ("damage",), "others' facts kept": ("answer s2",)},
        {"2 layers against 12": ("depth",), "seed against seed": ("seed",)}, ("found", "tau"),
    ),
    "law": Chart(
        "What stays can be foreseen in other kinds of worlds, what follows cannot", "R2",
        ("2026-11-28-law-2",),
        {"support alone": ("support",), "who edits": ("who edits",), "and support": ("who edits, support",),
         "and readable": ("who edits, readable",), "and overlap": ("who edits, overlap",),
         "and GradSim": ("who edits, gradsim",)},
        {"propagation ratio": ("propagation",), "consequence follows": ("followed",),
         "stated facts stay": ("stays",), "damage": ("damage",)},
        ("R2 on a third of the kinds",),
    ),
    "metrics": Chart(
        "What your number tells you: locality decides, efficacy and norms hardly",
        "pairs of editors in the right order (a coin: 0.5)",
        ("2026-11-28-metric-judge",),
        by_name("neighbours: unchanged", "neighbours: old over new", "neighbours: margin",
                "others: unchanged", "score S", "states moved", "KL on text", "effective rank",
                "perplexity", "hyperspherical energy, moved", "paraphrase: probability",
                "paraphrase: new over old", "own facts: unchanged", "entropy of the answer", "stable rank",
                "portability: probability", "sharpness", "efficacy: margin", "generation entropy",
                "portability: generated", "claim judged true", "efficacy: probability",
                "efficacy: new over old", "Frobenius norm", "GradSim, consequences", "GradSim, neighbours",
                "overlap, consequences", "overlap, neighbours", "spectral norm", "efficacy: generated",
                "teacher-forced accuracy"),
        by_name("damage", "coherence"), ("What your number tells you, at two layers",),
        rival="efficacy: probability",
    ),
    "seesaw": Chart(
        "Who has the old object loses most; the paper asks who has the new one", "D_d",
        ("2026-11-23-seesaw",),
        by_name("full", "memit", "mend", "ft-constrained", "rome", "self-bayes"),
        {"have the new object": ("D_d new holders",), "have the old object": ("D_d old holders",),
         "have neither": ("D_d neither",)},
        ("found", "shift-frequency-said", "metrics"),
    ),
    "negation": Chart(
        "A model that is told that S is false believes S as much as before its label", "p(S)",
        ("2026-11-26-negation",),
        by_name("S", '"S" is true', '"S" is false', '"not S" is true', '"S" is false, its label only'),
        by_name("full", "lora-down", "the exact agent"), ("found", "false", "o after"),
    ),
}  # fmt: skip


def draw_chart(chart: Chart, figures: Mapping[str, Mapping[str, Figure]], path: Path) -> None:
    """Write a chart as SVG: the same bytes for the same figures.

    Args:
        figures: by row, by series.
    """
    with picture_style():
        figure, axis = plt.subplots(figsize=(6.4, 1.2 + 0.3 * len(figures)), layout="constrained")
        for i, words in enumerate(chart.series):
            beside = 0.18 * (i - (len(chart.series) - 1) / 2)
            at = [k + beside for k, row in enumerate(figures.values()) if words in row]
            columns = [row[words][6:9] for row in figures.values() if words in row]
            value, low, high = np.array(columns, float).T
            halves, colour = interval_halves(value, low, high), COLOURS[i % len(COLOURS)]
            axis.errorbar(value, at, xerr=halves, fmt="o", color=colour, ms=4, capsize=2, lw=1.2, label=words)
            if chart.rival:
                at_rival, label = value[[*figures].index(chart.rival)], f"{chart.rival} (trivial)"
                axis.axvline(at_rival, color=colour, lw=0.8, ls="--", label=label)
        axis.set_yticks(range(len(figures)), list(figures))
        axis.invert_yaxis()
        axis.set_xlabel(chart.across)
        axis.grid(axis="x", color=GRID, lw=0.6)
        figure.suptitle(chart.title, x=0.01, ha="left", fontsize=10, fontweight="bold")
        figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=len(chart.series))
        save_figure(figure, path)
