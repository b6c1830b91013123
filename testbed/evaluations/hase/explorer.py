"""What the explorer shows of Hase's cases."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.hase import (
    CHILD,
    GRANDCHILD,
    INDEPENDENT,
    OF_SUBJECT,
    OTHER_CHILD,
    PARENT,
    REQUEST,
    SIBLING,
)
from testbed.evaluations.hase.metrics import (
    DAMAGE,
    FALSE_CHANGE_PLACES,
    FOLLOWS,
    KEPT,
    SKILL,
    SKILL_MOVED,
    SKILL_RECALIBRATED,
    SKILL_STILL,
    STAYS,
    SUCCESS,
    name_at,
    rows_of_role,
)
from testbed.pages.explorer.view import (
    COUNTS,
    NO,
    Column,
    Preset,
    View,
    say_whether,
    show_metric,
)
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

ROLE_NAMES = {
    REQUEST: "the edited fact",
    CHILD: "what depends on it, or else another fact",
    PARENT: "what it depends on",
    INDEPENDENT: "an independent fact",
    OTHER_CHILD: "what else depends on it",
    GRANDCHILD: "what depends on it through other facts",
    SIBLING: "what depends on the same fact as it does",
    "old.r1": "the edited relation, of somebody with the old object",
    "old.r2": "what depends on it, of somebody with the old object",
    "new.r1": "the edited relation, of somebody with the new object",
    "new.r2": "what depends on it, of somebody with the new object",
    "random.r1": "the edited relation, of somebody",
    "random.r2": "what depends on it, of somebody",
    "spot.r1": "spot check: the edited relation, of somebody",
    "spot.effect": "spot check: what depends on it, of somebody",
    "spot.any": "spot check: any fact of somebody",
    OF_SUBJECT: "spot check: another fact of the subject",
}

SUBSETS = {
    f"support {name}": {"support": [name.rstrip("+").partition("-")[0]], "request": ["contradicts"]}
    for name in SUPPORT_BINS
}
"""Groups of support are called by their least."""


def make_view(editor: ScoredEditor) -> View:
    """The edits as the explorer shows them."""
    results, values = editor.edits.results, editor.values[editor.name]
    cases = results.cases
    new = p_of_object(results, REQUEST, cases["object"], 1)
    false_changes = np.sum(
        [values[name_at("falsely changed", place)].numerator for place in FALSE_CHANGE_PLACES], axis=0
    )
    columns = [
        Column("states", SUCCESS, _description(editor, SUCCESS), say_whether(values[SUCCESS].by_case),
               metric=SUCCESS),
        Column("follows", FOLLOWS, _description(editor, FOLLOWS),
               say_whether(values[FOLLOWS].by_case), metric=FOLLOWS),
        Column("stays", STAYS, _description(editor, STAYS),
               say_whether(values[STAYS].by_case), metric=STAYS),
        Column("p-new", "p(new)", "The edited model's probability of the new object.", new),
        Column("p-consequence", "p(consequence)", "The edited model's probability of the agent's new answer "
               "to what depends on the edited fact.", p_of_consequence(results)),
        Column("false", "falsely changed", "How many answers changed though the agent's did not, about what "
               "depends on the edited fact, about an independent fact, and about other subjects.",
               false_changes, COUNTS),
        show_metric(editor, DAMAGE)._replace(key="damage"),
        show_metric(editor, KEPT)._replace(key="kept"),
        show_metric(editor, SKILL)._replace(key="skill"),
        show_metric(editor, SKILL_MOVED)._replace(key="skill-moved"),
        show_metric(editor, SKILL_STILL)._replace(key="skill-still"),
        show_metric(editor, SKILL_RECALIBRATED)._replace(key="skill-recalibrated"),
        Column("request", "the new fact", "Whether the request repeats what is true or contradicts it.",
               np.where(cases["reinforces"], "repeats", "contradicts")),
        Column("support", "support", "How many subjects have the new object as the truth of this relation.",
               cases["support_new"], COUNTS),
        Column("stratum", "stated", "How often the corpus states the fact that depends on the edited one: "
               "S0 never, S1 one to three times, S2 more often.", cases["stratum"]),
    ]  # fmt: skip
    return View(columns, PRESETS, ROLE_NAMES, SUBSETS)


def p_of_object(results: Results, role: str, objects: np.ndarray, time: int) -> np.ndarray:
    """float64[E]: what the model gives to one object, int[E], in the choice of a role; NaN without one."""
    rows, c = rows_of_role(results, role), results.choices
    there = (rows != ABSENT) & (objects != ABSENT)
    p = np.full(len(rows), np.nan)
    row = rows[there]
    p[there] = c.lm[row, time].sum(1, where=c.options[row] == objects[there, None])
    return p


def p_of_consequence(results: Results) -> np.ndarray:
    """float64[E]: what the edited model gives to the agent's new answer to what depends on the request."""
    rows = rows_of_role(results, CHILD)
    there = (rows != ABSENT) & results.cases["child"]
    answers = np.where(there, results.choices.agent_answer[rows, 1], ABSENT)
    return p_of_object(results, CHILD, answers, 1)


def _description(editor: ScoredEditor, name: str) -> str:
    return next(m.description for m in editor.evaluation.metrics if m.name == name)
