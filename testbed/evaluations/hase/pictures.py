"""The pictures of Hase's chapter: one edit, as model and agent see it, and consequences by support."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from testbed.engine.results import Choices, Results
from testbed.evaluations.hase import CHILD, REQUEST
from testbed.evaluations.hase.metrics import FOLLOWS, rows_of_role
from testbed.pages.charts import (
    AGENT,
    GRID,
    MODEL,
    QUIET,
    finish_figure,
    interval_halves,
    make_panels,
    picture_style,
    save_figure,
    wrap_title,
)
from testbed.protocol import ABSENT
from testbed.run.strata import SUPPORT_BINS
from testbed.run.world import World
from testbed.scores.movement import MOVED
from testbed.scores.readers import BAYESIAN
from testbed.scores.summary import ScoredEditor

BARS = 4
SEVERAL = 5
SUPPORT_LABELS = {FOLLOWS: "consequences followed"}


def panel_case(results: Results, among: np.ndarray | None = None) -> int:
    """The edit to show: a typical one among those that have most to show.

    `among` holds the indices to choose from; every case where it is None.

    Most to show: the request contradicts, the agent's dependent answer changes, the model takes the
    request up, and several subjects share the new object. Typical: the median of the model's
    probability for the agent's new dependent answer.
    """
    s, c = results.cases, results.choices
    takes_up = c.lm_answer[rows_of_role(results, REQUEST), 1] == s["object"]
    value = 8 * ~s["reinforces"] + 4 * s["changes"] + 2 * takes_up + (s["support_new"] >= SEVERAL)
    pool = np.arange(len(value)) if among is None else among
    best = pool[value[pool] == value[pool].max()]
    child = rows_of_role(results, CHILD)[best]
    follows = c.lm[child, 1].sum(1, where=c.options[child] == c.agent_answer[child, 1, None])
    follows[child == ABSENT] = 0.0
    return int(best[np.argsort(follows, kind="stable")[len(best) // 2]])


def draw_edit(results: Results, world: World, case: int, path: Path) -> None:
    """One edit as model and agent see it: the request and what depends on it, before and after."""
    names, relations = world.graph.entities, world.graph.relations
    s, r, o = (int(results.cases[k][case]) for k in ("subject", "relation", "object"))
    facts = np.flatnonzero(world.graph.subject == s)
    children = [d for d in world.graph.downstream(r) if d in world.graph.relation[facts]]
    below = relations[children[0]] if children else "another fact"
    c = results.choices
    labels = {REQUEST: f"the edited fact:\n{relations[r]}", CHILD: f"what depends on it:\n{below}"}
    # Margins wide enough for the longest names are quicker than measuring what is drawn.
    with picture_style(**{"savefig.bbox": "standard"}):
        figure, axes = plt.subplots(2, 2, figsize=(8.6, 4.6), sharex=True, sharey="row")
        for row, (role, label) in zip(axes, labels.items(), strict=True):
            question = int(rows_of_role(results, role)[case])
            option_places = _tallest_options(c, question)
            at = np.arange(len(option_places))[::-1]
            for t, axis in enumerate(row):
                lm, agent = (v[question, t, option_places] for v in (c.lm, c.agent))
                axis.barh(at + 0.19, lm, 0.36, color=MODEL, label="language model")
                axis.barh(at - 0.19, agent, 0.36, color=AGENT, label="rational agent")
                objects = [names[c.options[question, i]] for i in option_places]
                axis.set_yticks(at, [_shorten(name) for name in objects])
                axis.set_xlim(0, 1)
                axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
            row[0].set_ylabel(label, fontweight="bold")
        axes[0, 0].set_title("before the edit")
        axes[0, 1].set_title("after the edit")
        for axis in axes[1]:
            axis.set_xlabel("probability")
        figure.suptitle(f"Edit: {names[s]} {relations[r]} = {names[o]}", fontsize=12, fontweight="bold")
        figure.subplots_adjust(left=0.31, right=0.98, top=0.86, bottom=0.18, wspace=0.08, hspace=0.16)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=2, frameon=False)
        save_figure(figure, path)


def _tallest_options(choices: Choices, row: int) -> np.ndarray:
    """Options of a choice with the largest probability for model or agent; none where there is no choice."""
    if row == ABSENT:
        return np.empty(0, int)
    both = np.concatenate([choices.lm[row], choices.agent[row]])
    height = np.where(choices.options[row] == ABSENT, -1.0, both.max(axis=0))
    tallest = np.argsort(-height, kind="stable")[:BARS]
    return tallest[height[tallest] >= max(0.0, min(MOVED, height.max()))]


def _shorten(name: str, most: int = 26) -> str:
    return name if len(name) <= most else name[: most - 1] + "\u2026"


def draw_support(editors: Sequence[ScoredEditor], metric: str, path: Path) -> None:
    """A panel an editor: one metric by support, with intervals; the agent, and all others in grey."""
    with picture_style():
        figure, axes = make_panels(len(editors))
        at = np.arange(len(SUPPORT_BINS))
        curves = [_support_curve(e, e.name, metric) for e in editors]
        for axis, editor, curve in zip(axes, editors, curves, strict=True):
            for other in curves:
                if other is not curve:
                    axis.plot(at, other[0], color=QUIET, lw=0.7, alpha=0.5, zorder=1)
            agent = _support_curve(editor, BAYESIAN, metric)
            axis.plot(
                at, agent[0], "_", color=AGENT, markersize=13, markeredgewidth=2.4, label="rational agent"
            )
            axis.errorbar(
                at, curve[0], curve[1:], fmt="o-", color=MODEL, ms=4, lw=1.2, capsize=2, label="this editor"
            )
            axis.set_title(wrap_title(editor.name), fontsize=9)
            axis.set_xticks(at, SUPPORT_BINS)
            axis.grid(axis="y", color=GRID, lw=0.6)
        if len(editors) > 1:
            axes[0].plot([], [], color=QUIET, lw=0.9, label="the other editors")
        finish_figure(
            figure, axes, "subjects that share the new object (support)", SUPPORT_LABELS.get(metric, metric)
        )
        save_figure(figure, path)


def _support_curve(editor: ScoredEditor, reader: str, metric: str) -> np.ndarray:
    """float64[3, bins]: value, and how far its interval reaches below and above."""
    estimates = [editor.summary[f"support {name}"][reader][metric] for name in SUPPORT_BINS]
    value, low, high = (np.array([e[i] for e in estimates]) for i in range(3))
    return np.stack([value, *interval_halves(value, low, high)])
