"""The picture of one edit: ten other people's confidence, before and after."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.seesaw import OLD_HOLDERS, OTHERS
from testbed.evaluations.seesaw.metrics import confidence_change
from testbed.pages.belief_pictures import BeliefPanel
from testbed.pages.chapter import ShownEdit
from testbed.pages.edit_pictures import middle_of, name_edit
from testbed.pages.messages import format_number
from testbed.run.world import World
from testbed.scores.readers import reference_readers

SHOWN_PEOPLE = dict(zip(OTHERS, (4, 4, 2), strict=True))
"""How many people of each kind are shown."""


def choose_case(results: Results, among: np.ndarray) -> int:
    """The edit to show, of some: with people of all kinds, one that moves old holders middlingly."""
    c, size = results.choices, len(results)
    count = np.stack([np.bincount(c.case[c.role == kind], minlength=size) for kind in OTHERS])[:, among]
    change = confidence_change(c, reference_readers(results, "")[""]).change
    mine = c.role == OLD_HOLDERS
    mean = np.bincount(c.case[mine], change[mine], minlength=size)[among] / np.maximum(count[1], 1)
    enough = np.minimum(count, np.array([*SHOWN_PEOPLE.values()])[:, None]).sum(0)
    best = enough == enough.max()
    return middle_of(among[best], mean[best])


def show_edit(results: Results, world: World, case: int) -> ShownEdit:
    """p(right) of ten others before and after the edit, beside the agent's; real people have no names."""
    c, panels, means = results.choices, [], []
    for kind, most in SHOWN_PEOPLE.items():
        rows = np.flatnonzero((c.case == case) & (c.role == kind))
        rows = rows[np.sort(np.unique(c.subject[rows], return_index=True)[1])][:most]
        is_truth = c.options[rows] == c.facets["truth"][rows][:, None]
        model, agent = (p[rows, :2].sum(axis=-1, where=is_truth[:, None]).T for p in (c.lm, c.agent))
        label = f"{kind}: the person's own object"
        people = [_name_person(results, world, row) for row in rows.tolist()]
        panels.append(BeliefPanel(label, people, model, agent, has_one_answer=False))
        means.append(np.stack([model[0], model[1], agent[1]]))
    before, after, gold = map(format_number, np.concatenate(means, axis=1).mean(axis=1))
    message = f"others' own facts go from {before} to {after} on average, where the agent says {gold}"
    title = name_edit(results, world, case)
    if world.path is not None:
        title = title.replace(world.graph.entities[int(results.cases["subject"][case])], "Somebody", 1)
    return ShownEdit(title, panels, message)


def _name_person(results: Results, world: World, row: int) -> str:
    c, names = results.choices, world.graph.entities
    truth = names[int(c.facets["truth"][row])]
    return truth if world.path is not None else f"{names[int(c.subject[row])]}, {truth}"
