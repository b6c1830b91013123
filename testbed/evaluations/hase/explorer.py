"""What the explorer shows of Hase's cases."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations import hase
from testbed.evaluations.hase import metrics as m
from testbed.pages.explorer.view import COUNTS, NO, Column, Preset, View, say_whether, show_metric
from testbed.protocol import ABSENT
from testbed.run.strata import SUPPORT_BINS
from testbed.scores.summary import ScoredEditor

PRESETS = (
    Preset("the agent changed and the model did not",
           "Consequences that the agent draws from the new fact and the edited model does not.",
           {"follows": [NO]}, "-support"),
    Preset("moved where nothing should", "Edits by which answers changed that the agent keeps.",
           {"false": [str(n) for n in COUNTS[1:]]}, "-false"),
    Preset("editors disagree most",
           "Cases in which the editors shown differ most in how probable they find the consequence.",
           spread="p-consequence"),
    Preset("worst damage", "Edits that harmed most what is said of random other facts.", sort="-damage"),
)  # fmt: skip
ROLE_NAMES = m.PLACE_NAMES | {
    hase.CHILD: "what depends on it, or else another fact",
    hase.GRANDCHILD: "what depends on it through other facts",
    hase.SIBLING: "what depends on the same fact as it does",
    hase.OTHER_SIDE: "the same from the object's side",
    hase.SAME_SET: "another object of the set",
    hase.REPLACED: "the object that it replaces",
}
SUBSETS = {hase.CONTRADICTS: {"request": ["contradicts"]}} | {
    f"support {name}": {"support": [name.rstrip("+").partition("-")[0]], "request": ["contradicts"]}
    for name in SUPPORT_BINS
}
"""Groups of support are called by their least."""


def make_view(editor: ScoredEditor) -> View:
    """The edits as the explorer shows them."""
    results, values, cases = editor.edits.results, editor.values[editor.name], editor.edits.results.cases
    answer = results.choices.agent_answer[m.rows_of_role(results, hase.CHILD), 1]
    false = sum(values[m.name_at("falsely_changed", place)].numerator for place in m.FALSE_CHANGE_PLACES)
    columns = [
        *(show_metric(editor, metric)._replace(key=key, values=say_whether(values[metric].by_case))
          for key, metric in (("states", m.SUCCESS), ("follows", m.FOLLOWS), ("stays", m.STAYS))),
        Column("p-new", "p(new)", "The edited model's probability of the new object.",
               p_of_object(results, hase.REQUEST, cases["object"])),
        Column("p-consequence", "p(consequence)", "The edited model's probability of the agent's new answer "
               "to what depends on the edited fact.",
               p_of_object(results, hase.CHILD, np.where(cases["child"], answer, ABSENT))),
        Column("false", "falsely changed", "How many answers changed though the agent's did not, about what "
               "depends on the edited fact, about an independent fact, and about other subjects.",
               np.asarray(false), COUNTS),
        *(show_metric(editor, metric)._replace(key=key) for key, metric in (
            ("damage", m.DAMAGE), ("kept", m.KEPT), ("skill", m.SKILL), ("skill-moved", m.SKILL_MOVED),
            ("skill-still", m.SKILL_STILL), ("skill-recalibrated", m.SKILL_RECALIBRATED))),
        Column("request", "the new fact", "Whether the request repeats what is true or contradicts it.",
               np.where(cases["reinforces"], "repeats", "contradicts")),
        Column("support", "support", "How many subjects have the new object as the truth of this relation.",
               cases["support_new"], COUNTS),
        Column("stratum", "stated", "How often the corpus states the fact that depends on the edited one: "
               "S0 never, S1 one to three times, S2 more often.", cases["stratum"]),
    ]  # fmt: skip
    return View(columns, PRESETS, ROLE_NAMES, SUBSETS)


def p_of_object(results: Results, role: str, objects: np.ndarray) -> np.ndarray:
    """float64[E]: what the edited model gives to an object, int[E], in the choice of a role; NaN without."""
    rows, c = m.rows_of_role(results, role), results.choices
    p = c.lm[rows, 1].sum(1, where=c.options[rows] == objects[:, None])
    return np.where((rows != ABSENT) & (objects != ABSENT), p, np.nan)
