"""The metrics of Hase's examination: their names, and what they say (design.md 6)."""

from testbed.evaluations.hase.roles import CHILD, GRANDCHILD, KIN, OTHER_CHILD, OTHERS, PARENT, ROLES, SIBLING
from testbed.scores.metric import Better, MetricDefinition, Shown

PLACES: dict[str, tuple[str, ...]] = {role: (role,) for role in ROLES} | {"s2": OTHERS}
"""Where metrics look: the questions of each role, and all of other subjects together."""
MOVED = 0.02
"""The agent moved where its probabilities changed by more, in sum."""
COHERENT = 0.1

SUCCESS, RATIO, SKILL = "edit success", "propagation ratio", "coherence skill"
SKILL_MOVED, SKILL_STILL = f"{SKILL}, moved", f"{SKILL}, still"
DAMAGE, SPILL = "damage", "spill"
MUST_CHANGE = {role: f"answer {role}, must change" for role in KIN}
MUST_STAY = {role: f"answer {role}, must stay" for role in KIN}
FOLLOWS, STAYS = MUST_CHANGE[CHILD], MUST_STAY[CHILD]
FOLLOWS_RIGHT = f"{FOLLOWS}, right before"
FALSE_CHANGE_PLACES = (CHILD, "s1rx", "s2")
"""Where answers are counted that changed though the agent's did not."""
_IN_TABLES = ("s1r1", "s1r2", "s1rx", "s2")
_ANSWER = "Share of generated answers {} that are the agent's most probable object, or one as probable."
_TV = "Total variation between the distributions of model and agent {}; 0 is equal, 1 is disjoint."
_ABOUT = {
    "s1r1": "about the edited fact",
    "s1r2": "about what depends on it",
    "s1rx": "about an independent fact of the same subject",
    "s2": "about other subjects",
    PARENT: "about what the edited fact depends on",
    OTHER_CHILD: "about what else depends on the edited fact",
    GRANDCHILD: "about what depends on it through other facts",
    SIBLING: "about what depends on the same fact as it does",
}


def _define_at_places(kind: str, says: str, better: Better) -> list[MetricDefinition]:
    """One metric at each of PLACES."""
    meanings = []
    for place in PLACES:
        shown: Shown = "file"
        if place in _IN_TABLES and kind in ("answer", "TV"):
            shown = "compared" if kind == "answer" and place in ("s1rx", "s2") else "table"
        where = _ABOUT.get(place, f"of {place}")
        kept = (kind, place) == ("answer", "s2")
        meanings.append(MetricDefinition(f"{kind} {place}", says.format(where), better, shown, kept))
    return meanings


def _define_for_kin() -> list[MetricDefinition]:
    """Answers that must change and those that must stay, of each kind of kin but s1r2."""
    change = "Share of answers {} that follow the agent, where its own answer is none of its best any more."
    stay = "Share of answers {} that are the agent's, where its answer before is still among its best."
    return [
        MetricDefinition(names[role], says.format(_ABOUT[role]), "high")
        for role in KIN[1:]
        for names, says in ((MUST_CHANGE, change), (MUST_STAY, stay))
    ]


METRICS: tuple[MetricDefinition, ...] = (
    MetricDefinition(
        SUCCESS, "Share of requests that the edited model states when asked.", "high", "headline", True
    ),
    MetricDefinition(
        FOLLOWS,
        "Where the agent's answer to what depends on the edit is none of its best any more: share of answers "
        "that follow the agent. This is propagation.",
        "high",
        "headline",
        True,
    ),
    MetricDefinition(
        FOLLOWS_RIGHT,
        "The same, among those where the unedited model's answer was the agent's before the edit. Where that "
        "fact was never stated (stratum S0), such a model has inferred it.",
        "high",
    ),
    MetricDefinition(
        STAYS,
        "Where that answer is still among the best: share that is kept. This is restraint.",
        "high",
        "compared",
    ),
    *_define_for_kin(),
    MetricDefinition(
        "selective propagation",
        "F1 of \u201cthe answer changed to the agent's new one\u201d against \u201cthe agent's answer "
        "changed\u201d: changing what should stay costs as much as keeping what should change.",
        "high",
        "compared",
    ),
    MetricDefinition(
        RATIO,
        "How much of the agent's movement the model makes, away from the edited fact itself; 1 is Bayes, "
        "0 is none.",
        "one",
        "headline",
        True,
    ),
    MetricDefinition(
        DAMAGE,
        "Distance to the agent's new belief (total variation) that the edit added, a question at a time, 0 "
        "where it took some away; the mean over all questions but the edited fact itself.",
        "low",
        "compared",
    ),
    MetricDefinition(SPILL, "The damage where the agent did not move.", "low"),
    MetricDefinition(
        "orthogonal movement",
        "What moved at right angles to the agent's movement, where the agent moved, in the unit of the "
        "propagation ratio. From other beliefs than the agent's this takes some to become the agent: "
        "see perfect revision.",
        "low",
    ),
    MetricDefinition(
        "stray movement",
        "Total variation between the movements of model and agent where the agent did not move; perfect "
        "revision has some too.",
        "low",
    ),
    MetricDefinition(
        SKILL_MOVED,
        "Where the agent moved: share of the unedited model's distance to its new belief that the edit "
        "removes; below 0 is harm.",
        "high",
        "headline",
    ),
    MetricDefinition(SKILL_STILL, "The same where the agent did not move.", "high", "headline"),
    MetricDefinition(
        SKILL,
        "Share of the unedited model's distance to the agent that the edit removes; below 0 is harm.",
        "high",
        "headline",
    ),
    *(
        MetricDefinition(
            f"false change {place}",
            f"Share of answers {_ABOUT[place]} that changed though the agent's did not.",
            "low",
        )
        for place in FALSE_CHANGE_PLACES
    ),
    *_define_at_places("answer", _ANSWER, "high"),
    *_define_at_places("TV", _TV, "low"),
    *(
        MetricDefinition(
            f"logic {law}", f"Mean absolute violation by the model's own truth values: {says}.", "low"
        )
        for law, says in {
            "TF": "p(\u201cA\u201d is true) against p(A)",
            "not": "p(not A) against 1 - p(A)",
            "and": "p(A and B) against p(A) p(B), A and B being independent",
            "or": "p(A or B) against p(A) + p(B) - p(A) p(B)",
            "commute": "p(A and B) against p(B and A)",
            "sum": "p(true) + p(false) against 1",
            "not B": "p(not B) against 1 - p(B), B being a statement about somebody else",
            "B or A": "as \u201cor\u201d, said the other way round",
        }.items()
    ),
    MetricDefinition(
        "Dutch book loss",
        "What the model surely loses, for a unit stake, to somebody who bets against its own prices.",
        "low",
        "compared",
    ),
    *(
        MetricDefinition(f"error of {of}", f"|p - q| of {says}, q being the agent's.", "low", "file")
        for of, says in {
            "request": "the requested object",
            "old truth": "the truth that the request may contradict",
            "new s1r2": "the agent's new answer to what depends on the edit",
            "old s1r2": "the agent's old answer to it",
            "s2": "the agent's old answers about other subjects",
        }.items()
    ),
    *_define_at_places("JS", "Jensen-Shannon divergence of model and agent {}, in nats.", "low"),
    *_define_at_places("KL", "Divergence of the agent from the model {}, in nats.", "low"),
)
"""Every metric, in the order of tables; `testbed.tune` aims at the first and the last headline. A is the
request, B a statement about somebody else."""
