"""What the unedited model believes, beside the agent: the first section of a chapter."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from testbed.pages.chapter import Material, Picture, Section
from testbed.pages.charts import interval_halves
from testbed.pages.style import GRID, LINES, MODEL, QUIET, STYLE, save_figure
from testbed.run.strata import STRATA
from testbed.scores.before import BINS, DISTANCE, EXCESS, RIGHT, Stratum, score_before_edit
from testbed.scores.tables import Cell, Table

PICTURE = "before.png"
SAYS = {"S0": "never stated", "S1": "stated one to three times", "S2": "stated more often"}
TEXT = (
    "Whatever an editor does, it starts from a model that is not the agent. What a model cannot infer before "
    "any edit, it will hardly infer after one: so first the same questions, asked of the unedited model and "
    "held against the agent's posterior before any edit, by how often the corpus states what is asked."
)


def before_section(material: Material) -> Section:
    """Distance and calibration of the unedited model, by stratum, as picture and table."""
    first = material.editors[0]
    strata = score_before_edit(first.edited.results)
    draw_before(strata, material.folder / PICTURE)
    picture = Picture(PICTURE, "The unedited model's distance to the agent, and its calibration, by stratum")
    about = f"; questions are those of {first.name}" if len(material.editors) > 1 else ""
    table = before_table(strata)
    table = table._replace(note=f"{table.note[:-1]}{about}.")
    return Section("before", "Is the unedited model the agent?", TEXT, [picture], [table])


def before_table(strata: Mapping[str, Stratum]) -> Table:
    """A row a stratum."""
    columns = (DISTANCE, RIGHT, EXCESS)
    rows: list[list[Cell]] = [
        [_stratum_label(name), of.questions, *(of.estimates[m] for m in columns), of.calibration]
        for name, of in strata.items()
    ]
    note = (
        "Overconfidence is the model's probability of its likeliest option minus the agent's belief in it; "
        f"expected calibration error, the mean absolute value of that over {BINS} bins of equal width of the "
        "model's probability. It has no interval, and is never quite 0."
    )
    header = ["the fact that is asked", "questions", *columns, "expected calibration error"]
    return Table("before", "The unedited model, held against the agent", header, rows, note)


def draw_before(strata: Mapping[str, Stratum], path: Path) -> None:
    """Total variation by stratum, and beside it the agent's belief by the model's probability."""
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.2), width_ratios=(2, 3))
        values = np.array([of.estimates[DISTANCE][:3] for of in strata.values()]).T
        at = np.arange(len(strata))
        left.bar(at, values[0], 0.55, yerr=interval_halves(*values), color=MODEL, capsize=3)
        left.set_xticks(at, list(strata))
        left.set_ylim(0, 1)
        left.set_ylabel("total variation to the agent")
        right.plot([0, 1], [0, 1], color=QUIET, lw=0.8, ls="--")
        for i, name in enumerate(s for s in STRATA if s in strata):
            bins = strata[name].bins
            belief = np.array([b.belief[:3] for b in bins]).T
            right.errorbar(
                [b.confidence.value for b in bins],
                belief[0],
                interval_halves(*belief),
                fmt="o-",
                color=LINES[i % len(LINES)],
                ms=3.5,
                lw=1.2,
                capsize=2,
                label=_stratum_label(name),
            )
        right.set_xlim(0, 1)
        right.set_ylim(0, 1)
        right.set_xlabel("model's probability of its likeliest answer")
        right.set_ylabel("agent's belief in it")
        for axis in (left, right):
            axis.grid(axis="y", color=GRID, lw=0.6)
            axis.set_axisbelow(True)
        right.legend(frameon=False)
        figure.tight_layout()
        save_figure(figure, path)


def _stratum_label(name: str) -> str:
    return f"{name}, {SAYS[name]}" if name in SAYS else name
