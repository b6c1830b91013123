"""The picture of one edit in Hase's chapter, with the panels of Hase's Fig. 4."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.dutch_book import LOGIC
from testbed.evaluations.hase import CHILD, REQUEST
from testbed.evaluations.hase.metrics import claims_by_case, rows_of_role
from testbed.pages.belief_pictures import CONSEQUENCE, EDITED_FACT, BeliefPanel
from testbed.pages.chapter import ShownEdit
from testbed.pages.edit_pictures import middle_of, name_edit, show_question
from testbed.protocol import ABSENT
from testbed.run.world import World

SEVERAL = 5
SOMEBODY_ELSE = ("random.r1", "random.r2")
"""Questions about another subject that the picture of an edit shows."""
CLAIMS_SHOWN = ("A", "not A", "A and B", "A or B")
CLAIMS_LABEL = "called true (A: the new fact; B: about somebody else)"


def panel_case(results: Results, among: np.ndarray) -> int:
    """The edit to show, of some: a typical one among those that have most to show.

    Most to show: the request contradicts, the agent's dependent answer changes, the model takes the request
    up, and several subjects share the new object. Typical: the median of the model's probability for the
    agent's new dependent answer.
    """
    s, c = results.cases, results.choices
    takes_up = c.lm_answer[rows_of_role(results, REQUEST), 1] == s["object"]
    value = (8 * ~s["reinforces"] + 4 * s["changes"] + 2 * takes_up + (s["support_new"] >= SEVERAL))[among]
    best = among[value == value.max()]
    child = rows_of_role(results, CHILD)[best]
    follows = c.lm[child, 1].sum(1, where=c.options[child] == c.agent_answer[child, 1, None])
    return middle_of(best, np.where(child == ABSENT, 0.0, follows))


def show_edit(results: Results, world: World, case: int) -> ShownEdit:
    """The request, what depends on it, both of somebody else, and the claims."""
    graph, c = world.graph, results.choices
    subject, relation = (int(results.cases[name][case]) for name in ("subject", "relation"))
    below = [d for d in graph.downstream(relation) if d in graph.relation[graph.subject == subject]]
    row = {role: int(rows_of_role(results, role)[case]) for role in (REQUEST, CHILD, *SOMEBODY_ELSE)}
    labels = {role: f"{graph.entities[c.subject[at]]} {graph.relations[c.relation[at]]}"
              for role, at in row.items() if at != ABSENT}  # fmt: skip
    labels |= {REQUEST: EDITED_FACT + graph.relations[relation],
               CHILD: CONSEQUENCE + (graph.relations[below[0]] if below else "another fact")}  # fmt: skip
    panels = [show_question(results, world, at, labels[role]) for role, at in row.items() if role in labels]
    claims = [claims_by_case(results, values)[case, [LOGIC.index(name) for name in CLAIMS_SHOWN]].T
              for values in (results.claims.lm[:, :, 0], results.claims.agent[:, :2])]  # fmt: skip
    if not np.isnan(claims[0]).any():
        panels.append(BeliefPanel(CLAIMS_LABEL, CLAIMS_SHOWN, claims[0], claims[1], has_one_answer=False))
    states = c.lm_answer[row[REQUEST], 1] == results.cases["object"][case]
    said = f"the new fact is {'stated' if states else 'not stated'}"
    if row[CHILD] != ABSENT:
        names = [*graph.entities, "nothing that is an object"]
        (before, after), agent = c.lm_answer[row[CHILD], :2], c.agent_answer[row[CHILD], 1]
        does = "stays" if before == after else "becomes"
        ends = "as the agent believes" if after == agent else f"where the agent believes {names[agent]}"
        said += f"; what depends on it {does} {names[after]}, {ends}"
    return ShownEdit(name_edit(results, world, case), panels, said)
