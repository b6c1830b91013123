"""The pictures of Hase's chapter: one edit, as model and agent see it, and consequences by support."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from testbed.engine.results import Choices, Results
from testbed.evaluations.dutch_book import LOGIC
from testbed.evaluations.hase import CHILD, REQUEST
from testbed.evaluations.hase.metrics import claims_by_case, rows_of_role
from testbed.pages.belief_pictures import (
    CONSEQUENCE,
    EDITED_FACT,
    BeliefPanel,
    draw_beliefs,
    find_tallest,
)
from testbed.pages.charts import (
    finish_figure,
    interval_halves,
    make_panels,
    picture_style,
    save_figure,
    wrap_title,
)
from testbed.pages.inks import AGENT, GRID, PAPER, QUIET
from testbed.pages.palette import assign_slots, colour_of, has_ring
from testbed.protocol import ABSENT
from testbed.run.strata import SUPPORT_BINS
from testbed.run.world import World
from testbed.scores.readers import BAYESIAN
from testbed.scores.summary import ScoredEditor

SEVERAL = 5
SOMEBODY_ELSE = ("random.r1", "random.r2")
"""Questions about another subject that the picture of an edit shows."""
CLAIMS_SHOWN = ("A", "not A", "A and B", "A or B")
CLAIMS_LABEL = "called true (A: the new fact; B: about somebody else)"


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


def draw_edit(results: Results, world: World, case: int, path: Path) -> str:
    """One edit as model and agent see it, before and after; what it shows, in words.

    Panels as in Hase's Fig. 4: the request, what depends on it, both of somebody else, and the claims.
    """
    names, relations = world.graph.entities, world.graph.relations
    s, r, o = (int(results.cases[k][case]) for k in ("subject", "relation", "object"))
    facts = np.flatnonzero(world.graph.subject == s)
    children = [d for d in world.graph.downstream(r) if d in world.graph.relation[facts]]
    below = relations[children[0]] if children else "another fact"
    c, title = results.choices, f"Edit: {names[s]} {relations[r]} = {names[o]}"
    labels = {REQUEST: EDITED_FACT + relations[r], CHILD: CONSEQUENCE + below}
    panels = []
    for role in (REQUEST, CHILD, *SOMEBODY_ELSE):
        question = int(rows_of_role(results, role)[case])
        if role in labels:
            label = labels[role]
        elif question != ABSENT:
            label = f"{names[c.subject[question]]} {relations[c.relation[question]]}"
        else:
            continue
        places = _tallest_options(c, question)
        objects = [names[o] for o in c.options[question, places]]
        lm, agent = (v[question, :2][:, places] for v in (c.lm, c.agent))
        panels.append(BeliefPanel(label, objects, lm, agent))
    if (claims := _claims_panel(results, case)) is not None:
        panels.append(claims)
    return draw_beliefs(title, panels, path)


def _claims_panel(results: Results, case: int) -> BeliefPanel | None:
    """p("true") of the claims about one edit; None where they are not asked."""
    lm, agent = (
        claims_by_case(results, values)[case, [LOGIC.index(name) for name in CLAIMS_SHOWN]].T
        for values in (results.claims.lm[:, :, 0], results.claims.agent[:, :2])
    )
    if np.isnan(lm).any():
        return None
    return BeliefPanel(CLAIMS_LABEL, CLAIMS_SHOWN, lm, agent, has_one_answer=False)


def describe_edit(results: Results, world: World, case: int) -> str:
    """What became of one edit: whether the model states it, and what it answers to what depends on it."""
    names, c = [*world.graph.entities, "nothing that is an object"], results.choices
    rows = [int(rows_of_role(results, role)[case]) for role in (REQUEST, CHILD)]
    states = c.lm_answer[rows[0], 1] == results.cases["object"][case]
    said = f"the new fact is {'stated' if states else 'not stated'}"
    if rows[1] == ABSENT:
        return said
    (before, after), agent = c.lm_answer[rows[1], :2], c.agent_answer[rows[1], 1]
    does = "stays" if before == after else "becomes"
    ends = "as the agent says" if after == agent else f"where the agent says {names[agent]}"
    return f"{said}; what depends on it {does} {names[after]}, {ends}"


def _tallest_options(choices: Choices, row: int) -> np.ndarray:
    """Options of a choice with the largest probability for model or agent; none where there is no choice."""
    if row == ABSENT:
        return np.empty(0, int)
    both = np.concatenate([choices.lm[row], choices.agent[row]])
    return find_tallest(np.where(choices.options[row] == ABSENT, -1.0, both.max(axis=0)))


def draw_support(editors: Sequence[ScoredEditor], metric: str, path: Path) -> None:
    """A panel an editor: one metric by support, with intervals; the agent, and all others in grey."""
    slots = assign_slots(e.name for e in editors)
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
            slot = slots[editor.name]
            colour = colour_of(slot).light
            axis.errorbar(
                at, curve[0], curve[1:], fmt="o-", color=colour, mfc=PAPER if has_ring(slot) else colour,
                ms=4, lw=1.2, capsize=2, label="this editor",
            )  # fmt: skip
            axis.set_title(wrap_title(editor.name), fontsize=9)
            axis.set_xticks(at, SUPPORT_BINS)
            axis.grid(axis="y", color=GRID, lw=0.6)
        if len(editors) > 1:
            axes[0].plot([], [], color=QUIET, lw=0.9, label="the other editors")
        finish_figure(figure, axes, "subjects that share the new object (support)", metric)
        save_figure(figure, path)


def _support_curve(editor: ScoredEditor, reader: str, metric: str) -> np.ndarray:
    """float64[3, bins]: value, and how far its interval reaches below and above."""
    estimates = [editor.summary[f"support {name}"][reader][metric] for name in SUPPORT_BINS]
    value, low, high = (np.array([e[i] for e in estimates]) for i in range(3))
    return np.stack([value, *interval_halves(value, low, high)])
