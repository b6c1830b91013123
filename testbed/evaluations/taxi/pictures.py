"""The picture of one edit: a subject, and what it has before and after, to model and agent."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.taxi import EDIT, PROPERTY
from testbed.pages.belief_pictures import BeliefPanel
from testbed.pages.chapter import ShownEdit
from testbed.pages.edit_pictures import middle_of, name_edit
from testbed.pages.messages import format_number
from testbed.protocol import ABSENT
from testbed.run.world import World

MOST_QUESTIONS = 8


def choose_case(results: Results, among: np.ndarray) -> int:
    """The edit to show, of some: with most questions of either kind, and a middling model among those."""
    c, size = results.choices, len(results)
    is_property, changed = c.role == PROPERTY, c.facets["changed"]
    of_kind = [
        np.bincount(c.case[is_property & which], minlength=size)[among] for which in (changed, ~changed)
    ]
    richness = np.minimum(of_kind[0], 4) + 2 * np.minimum(of_kind[1], 2)
    new = np.bincount(c.case[is_property], _probability(results, "label", c.lm)[is_property, 1], size)[among]
    mean = new / np.maximum(sum(of_kind), 1)
    best = richness == richness.max()
    return middle_of(among[best], mean[best])


def show_edit(results: Results, world: World, case: int) -> ShownEdit:
    """Probability of the old and the new value of the category and of each property, before and after."""
    c, names = results.choices, world.graph.entities
    rows = np.flatnonzero((c.case == case) & np.isin(c.role, (EDIT, PROPERTY)))[:MOST_QUESTIONS]
    p = {who: [_probability(results, which, of)[rows] for which in ("old", "label")]
         for who, of in (("model", c.lm), ("agent", c.agent))}  # fmt: skip
    panels = []
    for i, row in enumerate(rows.tolist()):
        values = [int(c.facets[which][row]) for which in ("old", "label")]
        both = range(1 if values[0] == values[1] else 2)
        model, agent = (np.stack([p[who][k][i] for k in both], axis=1) for who in ("model", "agent"))
        label = world.graph.relations[int(c.relation[row])]
        panels.append(BeliefPanel(label, [names[values[k]] for k in both], model, agent))
    before, after = p["model"][1].mean(axis=0)
    message = f"the new values go from {format_number(before)} to {format_number(after)} on average"
    return ShownEdit(name_edit(results, world, case), panels, message)


def _probability(results: Results, which: str, p: np.ndarray) -> np.ndarray:
    """float64[N, 2]: the probability of the old or new value of each question, before and after the edit."""
    c = results.choices
    value = c.facets[which][:, None]
    is_value = (c.options == value) & (value != ABSENT)
    return np.stack([p[:, time].sum(1, where=is_value) for time in range(2)], axis=1)
