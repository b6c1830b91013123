"""The picture of one edit: a subject, and what it has before and after, to model and agent."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.taxi import EDIT, PROPERTY
from testbed.pages.charts import STYLE, save_figure
from testbed.pages.inks import AGENT, MODEL, QUIET
from testbed.pages.messages import format_number
from testbed.protocol import ABSENT
from testbed.run.world import World

MOST_QUESTIONS = 8
LONGEST_NAME = 18


def choose_case(results: Results, among: np.ndarray) -> int:
    """The edit to show, of some: with most questions of either kind, and a middling model among those."""
    c = results.choices
    is_property = (c.role == PROPERTY) & np.isin(c.case, among)
    kinds = [
        np.bincount(c.case[is_property & which], minlength=len(results))
        for which in (c.facets["changed"], ~c.facets["changed"])
    ]
    richness = np.minimum(kinds[0], 4) + 2 * np.minimum(kinds[1], 2)
    best = among[richness[among] == richness[among].max()]
    new = _value_probability(results, "label", 1)
    follows = [
        new[is_property & (c.case == case)].mean() if (is_property & (c.case == case)).any() else 0
        for case in best
    ]
    return int(best[np.argsort(follows, kind="stable")[len(best) // 2]])


def draw_edit(results: Results, world: World, case: int, path: Path) -> str:
    """Probability of the old and the new value of the category and of each property, before and after.

    Returns:
        What is to be seen.
    """
    c, names = results.choices, world.graph.entities
    rows = np.flatnonzero((c.case == case) & np.isin(c.role, (EDIT, PROPERTY)))[:MOST_QUESTIONS]
    s, r, o = (int(results.cases[k][case]) for k in ("subject", "relation", "object"))
    at = np.arange(len(rows))[::-1]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(8.6, 1.2 + 0.42 * len(rows)), sharey=True)
        for axis, which, title in zip(
            axes, ("old", "label"), ("the old value", "the new value"), strict=True
        ):
            for height, t, who in ((0.2, 0, "before"), (-0.2, 1, "after")):
                model = _value_probability(results, which, t)[rows]
                agent = _value_probability(results, which, t, agent=True)[rows]
                color = QUIET if t == 0 else MODEL
                axis.barh(at + height, model, 0.34, color=color, label=f"language model {who}")
                axis.plot(agent, at + height, "|", color=AGENT, ms=9, mew=2.4,
                          label="rational agent" if t else None)  # fmt: skip
            axis.set_xlim(0, 1.02)
            axis.set_title(title)
            axis.set_xlabel("probability")
        labels = [_question_label(results, world, row) for row in rows]
        axes[0].set_yticks(at, labels)
        figure.suptitle(f"Edit: {names[s]} {world.graph.relations[r]} {names[o]}", fontweight="bold")
        figure.tight_layout()
        handles, words = axes[0].get_legend_handles_labels()
        figure.legend(handles, words, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3, frameon=False)
        save_figure(figure, path)
    before, after = (_value_probability(results, "label", t)[rows].mean() for t in range(2))
    return f"the new values go from {format_number(before)} to {format_number(after)} on average"


def _question_label(results: Results, world: World, row: int) -> str:
    c, names = results.choices, world.graph.entities
    old, new = (_shorten_name(names[int(c.facets[k][row])]) for k in ("old", "label"))
    return f"{world.graph.relations[int(c.relation[row])]}\n{old if old == new else f'{old} → {new}'}"


def _shorten_name(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _value_probability(results: Results, which: str, time: int, agent: bool = False) -> np.ndarray:
    """float64[N]: the probability of the old or new value of each question, to model or agent."""
    c = results.choices
    p = c.agent[:, time] if agent else c.lm[:, time]
    value = c.facets[which][:, None]
    return p.sum(1, where=(c.options == value) & (value != ABSENT))
