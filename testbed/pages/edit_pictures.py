"""The picture of one edit for every editor: which case is shown, and its questions as panels of beliefs."""

from collections.abc import Sequence

import numpy as np

from testbed.engine.results import Results
from testbed.pages.belief_pictures import BeliefPanel, draw_beliefs, find_tallest
from testbed.pages.chapter import CaseChooser, EditShower, Material, Picture
from testbed.protocol import ABSENT
from testbed.run.world import World
from testbed.scores.gather import match_cases
from testbed.scores.summary import ScoredEditor


def draw_edits(material: Material, choose_case: CaseChooser, show_edit: EditShower) -> dict[str, Picture]:
    """A picture by editor, of cases that `choose_case` picks among some, int[n]."""
    pictures = {}
    for editor, case in choose_cases(material.editors, choose_case):
        shown = show_edit(editor.edits.results, material.world, case)
        name = f"edit-{editor.edits.slug}.svg"
        says = draw_beliefs(shown.title, shown.panels, material.folder / name)
        pictures[editor.name] = Picture(name, says, f"{editor.name}: {shown.message}")
    return pictures


def choose_cases(editors: Sequence[ScoredEditor], choose_case: CaseChooser) -> list[tuple[ScoredEditor, int]]:
    """One case of the first run for every editor: the same one where all have some case in common."""
    first = editors[0].edits.results
    shared = {i for i, run in enumerate(first.cases["run"]) if run == 0}
    for other in editors[1:]:
        mine, _ = match_cases(first, other.edits.results)
        shared &= set(mine.tolist())
    case = choose_case(first, np.array(sorted(shared))) if shared else None
    cases = []
    for editor in editors:
        results = editor.edits.results
        first_run = np.flatnonzero(results.cases["run"] == 0)
        if case is not None:
            mine, theirs = match_cases(first, results)
            cases.append((editor, int(theirs[mine == case][0])))
        elif len(first_run):
            cases.append((editor, choose_case(results, first_run)))
    return cases


def name_edit(results: Results, world: World, case: int) -> str:
    """The requested fact, as the title of its picture."""
    s, r, o = (int(results.cases[k][case]) for k in ("subject", "relation", "object"))
    return f"Edit: {world.graph.entities[s]} {world.graph.relations[r]} = {world.graph.entities[o]}"


def middle_of(cases: np.ndarray, values: np.ndarray) -> int:
    """Of some cases the one with the middling value; float[cases]."""
    return int(cases[np.argsort(values, kind="stable")[len(cases) // 2]])


def show_question(results: Results, world: World, row: int, label: str) -> BeliefPanel:
    """A choice: its tallest options, before the edit and after it; without any where there is no choice.

    Args:
        row: of the choice, or ABSENT.
    """
    if row == ABSENT:
        return BeliefPanel(label, [], np.empty((2, 0)), np.empty((2, 0)))
    c, names = results.choices, world.graph.entities
    lm, agent = c.lm[row, :2], c.agent[row, :2]
    height = np.concatenate([c.lm[row], c.agent[row]]).max(axis=0)
    places = find_tallest(np.where(c.options[row] == ABSENT, -1.0, height))
    return BeliefPanel(label, [names[o] for o in c.options[row, places]], lm[:, places], agent[:, places])
