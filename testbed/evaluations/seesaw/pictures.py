"""The picture of one edit: ten other people's confidence, before and after."""

from pathlib import Path

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.seesaw import OLD_HOLDERS, OTHERS
from testbed.pages.charts import make_panels, picture_style, save_figure
from testbed.pages.inks import AGENT, MODEL, QUIET
from testbed.pages.messages import format_number
from testbed.run.world import World

SHOWN_PEOPLE = dict(zip(OTHERS, (4, 4, 2), strict=True))
"""How many people of each kind are shown."""


def choose_case(results: Results, change: np.ndarray) -> int:
    """The edit to show: of those with people of all kinds, one that moves old holders middlingly."""
    c, size = results.choices, len(results)
    count = np.stack([np.bincount(c.case[c.role == kind], minlength=size) for kind in OTHERS])
    mine = c.role == OLD_HOLDERS
    mean = np.bincount(c.case[mine], change[mine], minlength=size) / np.maximum(count[1], 1)
    first = results.cases["run"] == results.cases["run"].min()
    enough = np.minimum(count, np.array([*SHOWN_PEOPLE.values()])[:, None]).sum(0) * first
    best = np.flatnonzero(enough == enough.max())
    return int(best[np.argsort(mean[best], kind="stable")[len(best) // 2]])


def draw_edit(results: Results, world: World, case: int, path: Path) -> str:
    """p(right) of ten others before and after the edit, beside the agent's; real people have no names.

    Returns:
        What is to be seen.
    """
    c, names = results.choices, world.graph.entities
    rows = _shown_rows(results, case)
    at = np.arange(len(rows))[::-1]
    before, after, gold = (
        _truth_probability(results, rows, p) for p in (c.lm[:, 0], c.lm[:, 1], c.agent[:, 1])
    )
    labels = [_person_label(results, world, row, i) for i, row in enumerate(rows.tolist())]
    with picture_style():
        figure, (axis,) = make_panels(1)
        figure.set_size_inches(7.4, 1.2 + 0.34 * len(rows))
        axis.hlines(at, before, after, color=QUIET, lw=1.5, zorder=1)
        axis.plot(before, at, "o", color=QUIET, label="language model before")
        axis.plot(after, at, "o", color=MODEL, label="language model after")
        axis.plot(gold, at, "|", color=AGENT, ms=12, mew=2.4, label="rational agent after")
        axis.set_yticks(at, labels)
        axis.set_xlim(-0.02, 1.02)
        axis.set_xlabel("probability of the person's own object")
        s, r, o = (int(results.cases[k][case]) for k in ("subject", "relation", "object"))
        who = names[s] if world.path is None else "Somebody"
        axis.set_title(f"Edit: {who} {world.graph.relations[r]} {names[o]}")
        figure.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3, frameon=False)
        save_figure(figure, path)
    means = [format_number(p.mean()) for p in (before, after, gold)]
    return "others' own facts go from {} to {} on average, where the agent says {}".format(*means)


def _shown_rows(results: Results, case: int) -> np.ndarray:
    """The choices that are shown: one of each person, some of each kind."""
    c, rows = results.choices, []
    for kind, most in SHOWN_PEOPLE.items():
        mine = np.flatnonzero((c.case == case) & (c.role == kind))
        _, first = np.unique(c.subject[mine], return_index=True)
        rows.append(mine[np.sort(first)][:most])
    return np.concatenate(rows)


def _truth_probability(results: Results, rows: np.ndarray, p: np.ndarray) -> np.ndarray:
    c = results.choices
    return p[rows].sum(axis=1, where=c.options[rows] == c.facets["truth"][rows][:, None])


def _person_label(results: Results, world: World, row: int, number: int) -> str:
    c, names = results.choices, world.graph.entities
    who = names[int(c.subject[row])] if world.path is None else f"Person {number + 1}"
    return f"{who}, {names[int(c.facets['truth'][row])]} ({c.role[row]})"
