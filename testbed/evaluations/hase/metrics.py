"""How close an edited model comes to the agent, and to the axioms of probability (DESIGN 6)."""

from collections.abc import Sequence

import numpy as np

from testbed.evaluations.hase.dutch_book import sure_loss
from testbed.evaluations.hase.exam import Exam, Seen
from testbed.evaluations.hase.roles import CELLS, CHILD, LOGIC, OTHERS, REQUEST
from testbed.protocol import ABSENT, equally_good
from testbed.scores.distances import jensen_shannon, kullback_leibler, total_variation, with_remainder
from testbed.scores.metric import Better, Meaning, Metric, Shown

PLACES: dict[str, list[int]] = {name: [i] for i, name in enumerate(CELLS)} | {"s2": OTHERS}
"""Where metrics look: each choice, and all of other subjects together."""
MOVED = 0.02
COHERENT = 0.1

SUCCESS, RATIO, SKILL = "edit success", "propagation ratio", "coherence skill"
FOLLOWS, STAYS = "answer s1r2, must change", "answer s1r2, must stay"
_IN_TABLES = ("s1r1", "s1r2", "s1rx", "s2")
_ANSWER = "Share of generated answers {} that are the agent's most probable object, or one as probable."
_TV = "Total variation between the distributions of model and agent {}; 0 is equal, 1 is disjoint."
_AT = {
    "s1r1": "about the edited fact",
    "s1r2": "about what depends on it",
    "s1rx": "about an independent fact of the same subject",
    "s2": "about other subjects",
}


def _at_places(kind: str, says: str, better: Better) -> list[Meaning]:
    """One metric at each of PLACES."""
    found = []
    for place in PLACES:
        shown: Shown = "file"
        if place in _IN_TABLES and kind in ("answer", "TV"):
            shown = "compared" if kind == "answer" and place in ("s1rx", "s2") else "table"
        where = _AT.get(place, f"of {place}")
        kept = (kind, place) == ("answer", "s2")
        found.append(Meaning(f"{kind} {place}", says.format(where), better, shown, kept))
    return found


METRICS: tuple[Meaning, ...] = (
    Meaning(SUCCESS, "Share of requests that the edited model states when asked.", "high", "headline", True),
    Meaning(
        FOLLOWS,
        "Where the agent's answer to what depends on the edit is none of its best any more: share of answers "
        "that follow the agent. This is propagation.",
        "high",
        "headline",
        True,
    ),
    Meaning(
        STAYS,
        "Where that answer is still among the best: share that is kept. This is restraint.",
        "high",
        "compared",
    ),
    Meaning(
        "selective propagation",
        "F1 of \u201cthe answer changed to the agent's new one\u201d against \u201cthe agent's answer "
        "changed\u201d: changing what should stay costs as much as keeping what should change.",
        "high",
        "compared",
    ),
    Meaning(
        RATIO,
        "How much of the agent's movement the model makes, away from the edited fact itself; 1 is Bayes, "
        "0 is none.",
        "one",
        "headline",
        True,
    ),
    Meaning("orthogonal damage", "What moved besides, where the agent moved.", "low", "compared"),
    Meaning("spill", "What moved where the agent did not.", "low"),
    Meaning(
        SKILL,
        "Share of the unedited model's distance to the agent that the edit removes; below 0 is harm.",
        "high",
        "headline",
    ),
    *(
        Meaning(
            f"false change {place}",
            f"Share of answers {_AT[place]} that changed though the agent's did not.",
            "low",
        )
        for place in ("s1r2", "s1rx", "s2")
    ),
    *_at_places("answer", _ANSWER, "high"),
    *_at_places("TV", _TV, "low"),
    *(
        Meaning(f"logic {law}", f"Mean absolute violation by the model's own truth values: {says}.", "low")
        for law, says in {
            "TF": "p(\u201cA\u201d is true) against p(A)",
            "not": "p(not A) against 1 - p(A)",
            "and": "p(A and B) against p(A) p(B), A and B being independent",
            "or": "p(A or B) against p(A) + p(B) - p(A) p(B)",
            "commute": "p(A and B) against p(B and A)",
            "sum": "p(true) + p(false) against 1",
        }.items()
    ),
    Meaning(
        "Dutch book loss",
        "What the model surely loses, for a unit stake, to who bets against its own prices.",
        "low",
        "compared",
    ),
    *(
        Meaning(f"error of {of}", f"|p - q| of {says}, q being the agent's.", "low", "file")
        for of, says in {
            "request": "the requested object",
            "old truth": "the truth that the request may contradict",
            "new s1r2": "the agent's new answer to what depends on the edit",
            "old s1r2": "the agent's old answer to it",
            "s2": "the agent's old answers about other subjects",
        }.items()
    ),
    *_at_places("JS", "Jensen-Shannon divergence of model and agent {}, in nats.", "low"),
    *_at_places("KL", "Divergence of the agent from the model {}, in nats.", "low"),
)
"""Every metric, in the order of tables. A is the request, B a statement about somebody else."""


def measure(exam: Exam, reader: Seen) -> dict[str, Metric]:
    """Every metric of one reader, by name.

    At each of PLACES: "answer", whether the answer is as good as the agent's (`as_good`); "TV", "JS" and
    "KL", how far the distribution is from the agent's. s1r2 counts where it depends on s1r1. "error" is
    |p - q| of one object, the same before and after: the request, the truth that it may contradict, the
    agent's new and old answer to s1r2, its old answers about other subjects. Movement is in `_changes` and
    `_movement`, logic in `_logic`.
    """
    o, when = exam, reader.when
    present = o.agent_answer[..., 0] != ABSENT
    gold = o.agent[:, :, when]
    asked = present.copy()
    asked[:, CHILD] &= o.scalars["child"]
    changes = must_change(o)[:, CHILD]
    right = as_good(o, reader.answer, when)

    def over(values: np.ndarray, which: Sequence[int], among: np.ndarray | bool = True) -> Metric:
        """Values summed over the probes that a case has."""
        there = asked[:, which] & np.expand_dims(among, -1)
        total = values[:, which].sum(1, where=there).astype(float)
        return Metric(total, there.sum(1).astype(float), share=values.dtype == bool)

    def error(obj: np.ndarray, which: Sequence[int]) -> Metric:
        """|p - q| of one object of each of some cells, int[E, cells]."""
        at = o.objects[:, which] == obj[..., None]
        known = asked[:, which] & at.any(-1)
        gap = np.abs(reader.objects[:, which] - gold[:, which]).sum(-1, where=at)
        return Metric(gap.sum(1, where=known), known.sum(1).astype(float))

    found: dict[str, Metric] = {}
    if when == 1:
        hit = reader.answer[:, REQUEST] == o.scalars["object"]
        found[SUCCESS] = Metric(hit.astype(float), np.ones(len(hit)), share=True)
    found |= {
        FOLLOWS: over(right, [CHILD], changes),
        STAYS: over(right, [CHILD], ~changes),
        "error of request": error(o.scalars["object"][:, None], [REQUEST]),
        "error of old truth": error(o.scalars["truth"][:, None], [REQUEST]),
        "error of new s1r2": error(o.agent_answer[:, [CHILD], 1], [CHILD]),
        "error of old s1r2": error(o.agent_answer[:, [CHILD], 0], [CHILD]),
        "error of s2": error(o.agent_answer[:, OTHERS, 0], OTHERS),
    }
    for name, values in (
        ("answer", right),
        ("TV", total_variation(reader.objects, gold)),
        ("JS", jensen_shannon(reader.objects, gold)),
        ("KL", kullback_leibler(gold, reader.objects)),
    ):
        for place, which in PLACES.items():
            found[f"{name} {place}"] = over(values, which)
    if when == 1:
        found |= _changes(o, reader, asked)
        found |= _movement(o, reader, present)
    return found | _logic(o, reader)


def as_good(exam: Exam, answer: np.ndarray, when: int) -> np.ndarray:
    """bool[E, Q]: whether an answer, int[E, Q], is as probable to the agent as its own.

    Where several objects are most probable, the agent's answer is the first of them, and any other is right.
    """

    def believed(obj: np.ndarray) -> np.ndarray:
        return exam.agent[:, :, when].sum(-1, where=exam.objects == obj[..., None])

    own = exam.agent_answer[..., when]
    return (answer == own) | equally_good(believed(answer), believed(own))


def must_change(exam: Exam) -> np.ndarray:
    """bool[E, Q]: whether the agent's answer before the edit is none of its best after it."""
    before = exam.agent_answer[..., 0]
    return (before != ABSENT) & ~as_good(exam, before, 1)


def _changes(o: Exam, reader: Seen, asked: np.ndarray) -> dict[str, Metric]:
    """Which answers changed, beside which of the agent's did.

    Selective propagation is the F1 score 2 TP / (2 TP + FP + FN) over dependent answers s1r2. TP: both
    changed, to the same answer. FN: the agent's changed and the reader's did not follow. FP: the reader's
    changed, to whatever, though the agent's did not. An edit that moves everything thus gains little over
    one that moves nothing. "false change" is the share of FP among the answers that must stay. From one
    to another answer that the agent finds the best is no change.
    """
    right = as_good(o, reader.answer, 1)
    changed = (reader.answer != reader.start_answer) & ~(right & as_good(o, reader.start_answer, 1))
    must = asked & must_change(o)
    stays = asked & ~must
    true = (must & changed & right)[:, CHILD]
    false = stays & changed
    wrong = false[:, CHILD].astype(float) + (must[:, CHILD] & ~true)
    found = {"selective propagation": Metric(2.0 * true, 2.0 * true + wrong, share=True)}
    for place in ("s1r2", "s1rx", "s2"):
        some, those = (x[:, PLACES[place]].sum(1).astype(float) for x in (false, stays))
        found[f"false change {place}"] = Metric(some, those, share=True)
    return found


def _movement(o: Exam, reader: Seen, present: np.ndarray) -> dict[str, Metric]:
    """How the reader's distributions moved beside the agent's, over all probes but the request's own.

    With dp and dq the changes of reader and agent, and sums over the probes where ||dq||_1 > MOVED:
    propagation ratio, sum <dp, dq> / sum ||dq||^2, the part of the agent's movement that was made;
    orthogonal damage, sum ||dp - (<dp, dq> / ||dq||^2) dq|| ||dq|| / sum ||dq||^2, the movement at right
    angles to it, in the same unit and with the same weights. A reader that moves along dq only has none,
    and one whose dp makes an angle x with dq everywhere has damage / ratio = tan x. Spill is
    TV of the movements where the agent stayed; coherence skill, the share of the distance to the agent's
    new belief that was gone.
    """
    asked = present.copy()
    asked[:, REQUEST] = False
    gold = np.diff(with_remainder(np.moveaxis(o.agent, 2, 0)), axis=0)[0]
    moved = np.diff(with_remainder(np.stack([reader.start, reader.objects])), axis=0)[0]
    where = asked & (np.abs(gold).sum(-1) > MOVED)
    still = asked & ~where
    before = total_variation(reader.start, o.agent[:, :, 1])
    after = total_variation(reader.objects, o.agent[:, :, 1])
    spill = 0.5 * np.abs(moved - gold).sum(-1)
    along, size = (moved * gold).sum(-1), (gold * gold).sum(-1)
    aside = moved - (along / np.where(where, size, 1.0))[..., None] * gold
    damage = np.linalg.norm(aside, axis=-1) * np.sqrt(size)
    whole = size.sum(1, where=where)
    return {
        RATIO: Metric(along.sum(1, where=where), whole),
        "orthogonal damage": Metric(damage.sum(1, where=where), whole),
        "spill": Metric(spill.sum(1, where=still), still.sum(1).astype(float)),
        SKILL: Metric((before - after).sum(1, where=asked), before.sum(1, where=asked)),
    }


def _logic(o: Exam, reader: Seen) -> dict[str, Metric]:
    """Residuals of the axioms of probability in the reader's own truth values (Hase A.5), and their price.

    "logic and" and "logic or" take A and B to be independent, as the corpus makes them; the Dutch-book loss
    asks for the laws of probability only, and of all six statements together.
    """
    cases = len(o.objects)
    names = ("TF", "not", "and", "or", "commute", "sum")
    if reader.logic is None:
        nothing = Metric(np.zeros(cases), np.zeros(cases))
        return dict.fromkeys([*(f"logic {name}" for name in names), "Dutch book loss"], nothing)
    a, not_a, a_and_b, b_and_a, a_or_b, b = (reader.logic[:, LOGIC.index(x), 0] for x in LOGIC)
    at = o.objects[:, REQUEST] == o.scalars["object"][:, None]
    stated = reader.objects[:, REQUEST].sum(1, where=at)
    residuals = (
        a - stated,
        not_a - (1 - a),
        a_and_b - a * b,
        a_or_b - (a + b - a * b),
        a_and_b - b_and_a,
        reader.logic.sum(-1).mean(1) - 1,
    )
    found = {f"logic {n}": np.abs(r) for n, r in zip(names, residuals, strict=True)}
    found["Dutch book loss"] = sure_loss(reader.logic)
    return {name: Metric(values, np.ones(cases)) for name, values in found.items()}
