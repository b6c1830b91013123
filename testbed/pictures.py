"""The pictures of one model and of one edit: how it learned, and the edit as model and agent see it."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from corpus.files import staged_file
from testbed.cases import ABSENT, CHILD, REQUEST
from testbed.metrics import MOVED
from testbed.records import Outcomes
from testbed.world import World

MODEL, AGENT, QUIET = "#2b6cb0", "#dd8a1b", "#9aa5b1"
STYLE: dict = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.dpi": 150,
    "savefig.bbox": "tight",
    # A name with two dollar signs is no formula.
    "text.parse_math": False,
}
LABEL_STYLES = {"truth": "-", "not": "--", "and": "-.", "or": ":"}
BARS = 4
SEVERAL = 5


def draw_training(metrics: Sequence[dict], path: Path) -> None:
    """Accuracy of facts and of every kind of sentence, and loss, against training steps (Hase, Fig. 3)."""
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6.4, 3.6))
        steps = [m["step"] for m in metrics]
        axis.plot(
            steps, [m["accuracy"] for m in metrics], color=MODEL, marker="o", markersize=3, label="facts"
        )
        for kind, style in LABEL_STYLES.items():
            if metrics and kind in metrics[0]:
                axis.plot(steps, [m[kind] for m in metrics], color=AGENT, linestyle=style, lw=1, label=kind)
        axis.set(xlabel="training step", ylabel="accuracy", ylim=(0, 1.02), xlim=(0, None))
        axis.legend(frameon=False, ncols=5, fontsize=8, loc="lower right")
        other = axis.twinx()
        other.plot(steps, [m["loss"] for m in metrics], color=QUIET)
        other.set_ylabel("loss (nats per token)", color=QUIET)
        other.spines["right"].set_visible(True)
        axis.set_title("The model learns the corpus")
        save(figure, path)


def panel_case(outcomes: Outcomes, among: np.ndarray | None = None) -> int:
    """The edit to show: a typical one among those that have most to show.

    `among` holds the indices to choose from; every case where it is None.

    Most to show: the request contradicts, the agent's dependent answer changes, the model takes the
    request up, and several subjects share the new object. Typical: the median of the model's
    probability for the agent's new dependent answer.
    """
    s = outcomes.scalars
    taken = outcomes.lm_answer[:, REQUEST, 1] == s["object"]
    wanted = 8 * ~s["reinforces"] + 4 * s["changes"] + 2 * taken + (s["support_new"] >= SEVERAL)
    pool = np.arange(len(wanted)) if among is None else among
    best = pool[wanted[pool] == wanted[pool].max()]
    answer = outcomes.agent_answer[best, CHILD, 1][:, None]
    follows = (outcomes.lm[best, CHILD, 1] * (outcomes.objects[best, CHILD] == answer)).sum(1)
    return int(best[np.argsort(follows, kind="stable")[len(best) // 2]])


def draw_edit(outcomes: Outcomes, world: World, case: int, path: Path) -> None:
    """One edit as model and agent see it: the request and what depends on it, before and after."""
    names, relations = world.graph.entities, world.graph.relations
    s, r, o = (int(outcomes.scalars[k][case]) for k in ("subject", "relation", "object"))
    facts = np.flatnonzero(world.graph.subject == s)
    children = [d for d in world.graph.downstream(r) if d in world.graph.relation[facts]]
    below = relations[children[0]] if children else "another fact"
    rows = [(REQUEST, f"the edited fact:\n{relations[r]}"), (CHILD, f"what depends on it:\n{below}")]
    # Margins wide enough for the longest names are quicker than measuring what is drawn.
    with plt.rc_context(STYLE | {"savefig.bbox": "standard"}):
        figure, axes = plt.subplots(2, 2, figsize=(8.6, 4.6), sharex=True, sharey="row")
        for row, (cell, label) in zip(axes, rows, strict=True):
            shown = _tallest(outcomes, case, cell)
            at = np.arange(len(shown))[::-1]
            for t, axis in enumerate(row):
                lm, agent = (v[case, cell, t, shown] for v in (outcomes.lm, outcomes.agent))
                axis.barh(at + 0.19, lm, 0.36, color=MODEL, label="language model")
                axis.barh(at - 0.19, agent, 0.36, color=AGENT, label="rational agent")
                objects = [names[outcomes.objects[case, cell, i]] for i in shown]
                axis.set_yticks(at, [_short(name) for name in objects])
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
        save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, whole or not at all, and close it."""
    with staged_file(path) as aside, warnings.catch_warnings():
        # Names may be in any script; the font draws a box for what it lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(aside, format="png")
    plt.close(figure)


def _tallest(outcomes: Outcomes, case: int, cell: int) -> np.ndarray:
    """Candidates of a cell with the largest probability for model or agent; none where it is absent."""
    both = np.concatenate([outcomes.lm[case, cell], outcomes.agent[case, cell]])
    height = np.where(outcomes.objects[case, cell] == ABSENT, -1.0, both.max(axis=0))
    shown = np.argsort(-height, kind="stable")[:BARS]
    return shown[height[shown] >= max(0.0, min(MOVED, height.max()))]


def _short(name: str, most: int = 26) -> str:
    return name if len(name) <= most else name[: most - 1] + "\u2026"
