"""Questions that benchmarks of edits ask without an agent, and what an edited model's answers come to.

As benchmarks draw theirs from a knowledge base, these are of the facts that the corpus states: neighbours
have the old object (COUNTERFACT), others are anybody (zsRE's locality), own are the subject's other facts,
and a consequence is what most of those who have the new object have besides, where it is not what most of
those with the old one have (RippleEdits, MQuAKE). Beside them stand the exact outcomes, by the agent's
posterior.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.stats import hmean

from corpus.text.language import Atom, Kind, Sentence
from corpus.text.tokenizer import BOS
from testbed.engine.methods import Triple
from testbed.engine.questions import ModelAnswers
from testbed.evaluations.kinds import FOLLOWS, OTHERS_FOLLOW, OTHERS_STAY, REQUEST, SILENT, SPOT, STATED
from testbed.protocol import ABSENT, Case, Choice, Claim, Passage, is_equally_good
from testbed.run.object_names import ObjectNames
from testbed.run.world import World
from testbed.scores.distances import total_variation, with_remainder

TARGET, NEIGHBOUR, OTHER, OWN, CONSEQUENCE = "target", "neighbour", "other", "own", "consequence"
MOST = 4
"""Questions of a role."""
WRITTEN = (4, 48, 1.0, 5)
"""Texts about the subject, most tokens of each, temperature, and top k, as ROME writes them."""
OUTCOMES = ("damage", "false changes", "followed", "coherence")


def find_facts(world: World, case: Case, rng: np.random.Generator) -> dict[str, list[Triple]]:
    """Facts by role: each with the object that a benchmark takes for right."""
    (subject, relation, new), old = case.requested_fact, case.truth
    stated = world.stated_facts
    s, r, o = world.graph.subject[stated], world.graph.relation[stated], world.generative.truth[stated]

    def find_consequence(q: int) -> int:
        common = []
        for cause in (new, old):
            holders = s[(r == relation) & (o == cause) & (s != subject)]
            among = Counter(o[np.isin(s, holders) & (r == q)].tolist()).most_common(1)
            common.append(among[0][0] if among else ABSENT)
        return common[0] if ABSENT not in common and common[0] != common[1] else ABSENT

    masks = {
        NEIGHBOUR: (r == relation) & (o == old) & (s != subject),
        OTHER: s != subject,
        OWN: (s == subject) & (r != relation),
    }
    found = {
        role: [(int(s[i]), int(r[i]), int(o[i])) for i in rng.permutation(np.flatnonzero(mask))[:MOST]]
        for role, mask in masks.items()
    }
    relations = np.setdiff1d(world.graph.relation[world.graph.facts_of(subject)], relation).tolist()
    moved = [(subject, q, answer) for q in relations if (answer := find_consequence(q)) != ABSENT]
    return found | {TARGET: [(subject, relation, new)], CONSEQUENCE: moved[:MOST]}


def add_questions(world: World, case: Case, facts: dict[str, list[Triple]]) -> Case:
    """The case with the questions of a benchmark behind its own, which tell no editor anything."""
    choices = []
    for role, some in facts.items():
        for s, r, o in some:
            pair = [case.truth, case.request.object] if role in (TARGET, NEIGHBOUR) else [o]
            nothing = np.zeros((2, len(pair)))
            answers = np.full(2, ABSENT)
            choices.append(Choice(role, s, r, np.unique(pair), nothing, answers, nothing, ABSENT))
    sentence = Sentence(Kind.TRUTH, True, Atom(*case.requested_fact))
    opening = np.array([BOS, *world.tokenizer.entity(case.request.subject)], np.int32)
    return case._replace(
        choices=(*case.choices, *(c._replace(is_spot_check=True) for c in choices)),
        claims=(Claim(TARGET, sentence, np.zeros(2)),),
        passages=(Passage(TARGET, opening, *WRITTEN),),
    )


def mean_or_nan(values: Sequence[float] | np.ndarray) -> float:
    """The mean; nan of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")


def answer_numbers(
    case: Case, before: ModelAnswers, after: ModelAnswers, names: ObjectNames, facts: dict[str, list[Triple]]
) -> dict[str, float]:
    """What a benchmark makes of one edited model's answers to `add_questions`.

    Args:
        before, after: readings of this case, without a leading axis.
    """
    new, old, wanted = case.request.object, case.truth, [o for some in facts.values() for *_, o in some]
    says = [names.objects_of(np.asarray(answers.tokens)) for answers in (before, after)]
    places = {role: [i for i, c in enumerate(case.choices) if c.role == role] for role in facts}
    first = len(case.choices) - len(wanted)

    def probability(i: int, obj: int) -> float:
        return float(after.ended[i][: len(case.choices[i].options)][case.choices[i].options == obj].sum())

    def share_unchanged(role: str) -> float:
        return mean_or_nan([says[0][i] == says[1][i] for i in places[role]])

    def list_gaps(role: str) -> list[float]:
        return [probability(i, new) - probability(i, old) for i in places[role]]

    request = next(i for i, c in enumerate(case.choices) if c.role == REQUEST)
    belief = with_remainder(np.array(after.ended[request][: len(case.choices[request].options)], float))
    (asked,), (margin,) = places[TARGET], list_gaps(TARGET)
    true, false = after.claims[0]
    return {
        "efficacy: probability": probability(asked, new),
        "efficacy: new over old": float(margin > 0),
        "efficacy: margin": margin,
        "efficacy: generated": float(says[1][asked] == new),
        "claim judged true": float(true / (true + false)),
        "neighbours: old over new": mean_or_nan([x < 0 for x in list_gaps(NEIGHBOUR)]),
        "neighbours: margin": -mean_or_nan(list_gaps(NEIGHBOUR)),
        "neighbours: unchanged": share_unchanged(NEIGHBOUR),
        "others: unchanged": share_unchanged(OTHER),
        "own facts: unchanged": share_unchanged(OWN),
        "portability: probability": mean_or_nan(
            [probability(i, wanted[i - first]) for i in places[CONSEQUENCE]]
        ),
        "portability: generated": mean_or_nan([says[1][i] == wanted[i - first] for i in places[CONSEQUENCE]]),
        "entropy of the answer": float(-np.sum(belief * np.log(np.maximum(belief, 1e-12)))),
    }


def score_of(efficacy: float, paraphrase: float, neighbours: float) -> float:
    """COUNTERFACT's S: the harmonic mean of three shares, 0 where one of them is."""
    return float(hmean([efficacy, paraphrase, neighbours]))


def exact_outcomes(
    case: Case, before: ModelAnswers, after: ModelAnswers, names: ObjectNames
) -> dict[str, float]:
    """OUTCOMES of one edited model; nan where nothing was there to be damaged, changed or followed.

    Damage: distance to the agent that random facts of others gain, 0 where they come nearer. False changes:
    of right answers that the agent keeps, the share that are wrong now. Followed: of answers that it changes,
    those that are right now. Coherence: the distance to it that these and kept answers lose.
    """
    far, right = [], []
    for answers in (before, after):
        said = names.objects_of(np.asarray(answers.tokens))
        far.append(
            [
                float(total_variation(p[: len(c.options)].astype(float), c.agent[1]))
                for c, p in zip(case.choices, answers.ended, strict=False)
            ]
        )
        right.append(
            [
                bool(is_equally_good(c.agent[1][c.options == answer].sum(), c.agent[1].max()))
                for c, answer in zip(case.choices, said.tolist(), strict=False)
            ]
        )
    gain, role = np.array(far[0]) - np.array(far[1]), np.array([c.role for c in case.choices])
    was, is_now = map(np.array, right)
    stays, follows = np.isin(role, (STATED, SILENT, OTHERS_STAY)), np.isin(role, (FOLLOWS, OTHERS_FOLLOW))
    values = (
        np.maximum(-gain[role == SPOT], 0), ~is_now[stays & was], is_now[follows], gain[stays | follows]
    )  # fmt: skip
    return dict(zip(OUTCOMES, map(mean_or_nan, values), strict=True))
