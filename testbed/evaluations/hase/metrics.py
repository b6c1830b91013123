"""How close an edited model comes to the agent, and to the axioms of probability (DESIGN 6).

Every metric is a pair of per-case arrays, (numerator, denominator), and its value is the ratio of
their sums: for a mean the denominator is 1 where a case has the metric and 0 where it has not. That
makes means, shares and ratios such as the propagation ratio one thing to average and to bootstrap.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from testbed.engine.probes import LOGIC
from testbed.engine.records import Outcomes
from testbed.evaluations.hase.cases import ABSENT, CELLS, CHILD, REQUEST
from testbed.evaluations.hase.dutch_book import sure_loss

OTHERS = [i for i, name in enumerate(CELLS) if not name.startswith("s1")]
PLACES: dict[str, list[int]] = {name: [i] for i, name in enumerate(CELLS)} | {"s2": OTHERS}
"""Where metrics look: each probe, and all of other subjects together."""
MOVED = 0.02
TIED = 1e-9
COHERENT = 0.1
_SMALLEST = 1e-12


class Metric(NamedTuple):
    """A metric per case.

    Attributes:
        numerator, denominator: float64[E].
        share: whether it counts how many of some things are so. Then a value of 0 or 1 is what was seen, and
            what was not seen may exist; a distance of 0 is a distance of 0.
    """

    numerator: np.ndarray
    denominator: np.ndarray
    share: bool = False

    def value(self) -> float:
        """The ratio of sums; nan where no case has the metric."""
        total = float(self.denominator.sum())
        return float(self.numerator.sum()) / total if total else float("nan")


class Reader(NamedTuple):
    """Something that answers the probes: a model, or a reference that bounds what is possible.

    Attributes:
        objects: float64[E, Q, C], its distribution over each cell's candidates.
        answer: int64[E, Q], its most probable or generated object.
        logic: float64[E, S, 2] of true and false, or None where it gives no truth values.
        start, start_answer: its distribution and answer before the edit.
        when: 0 to compare with the agent before the edit, 1 with the agent after it.
    """

    objects: np.ndarray
    answer: np.ndarray
    logic: np.ndarray | None
    start: np.ndarray
    start_answer: np.ndarray
    when: int


def readers(outcomes: Outcomes, editor: str) -> dict[str, Reader]:
    """The edited model and what to hold it against (DESIGN 6, floors).

    before edit: the model before, against the agent before. no edit: the same model against the agent
    after. frequency reader: an ideal model that answers with corpus frequencies, the request copied in
    with its weight. Bayesian reader: the agent itself. perfect revision: this model, had it become the agent;
    where it starts from other beliefs than the agent, its way there is another one.
    """
    o = outcomes
    lm, frequency, agent = (np.moveaxis(x, 2, 0) for x in (o.lm, o.frequency, o.agent))
    tops = [np.take_along_axis(o.objects, f.argmax(-1)[..., None], -1)[..., 0] for f in frequency]
    answers = np.moveaxis(o.lm_answer, -1, 0)
    return {
        "before edit": Reader(lm[0], answers[0], o.logic[:, :, 0], lm[0], answers[0], 0),
        editor: Reader(lm[1], answers[1], o.logic[:, :, 1], lm[0], answers[0], 1),
        "no edit": Reader(lm[0], answers[0], o.logic[:, :, 0], lm[0], answers[0], 1),
        "frequency reader": Reader(frequency[1], tops[1], None, frequency[0], tops[0], 1),
        "Bayesian reader": Reader(
            agent[1],
            o.agent_answer[..., 1],
            _rational_logic(agent[1], o),
            agent[0],
            o.agent_answer[..., 0],
            1,
        ),
        "perfect revision": Reader(
            agent[1], o.agent_answer[..., 1], _rational_logic(agent[1], o), lm[0], answers[0], 1
        ),
    }


def measure(outcomes: Outcomes, reader: Reader) -> dict[str, Metric]:
    """Every metric of one reader, by name.

    At each of PLACES: "answer", whether the answer is as good as the agent's (`as_good`); "TV", "JS" and
    "KL", how far the distribution is from the agent's. s1r2 counts where it depends on s1r1. "error" is
    |p - q| of one object, the same before and after: the request, the truth that it may contradict, the
    agent's new and old answer to s1r2, its old answers about other subjects. Movement is in `_changes` and
    `_movement`, logic in `_logic`.
    """
    o, when = outcomes, reader.when
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
        found["edit success"] = Metric(hit.astype(float), np.ones(len(hit)), share=True)
    found |= {
        "answer s1r2, must change": over(right, [CHILD], changes),
        "answer s1r2, must stay": over(right, [CHILD], ~changes),
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


def as_good(outcomes: Outcomes, answer: np.ndarray, when: int) -> np.ndarray:
    """bool[E, Q]: whether an answer, int[E, Q], is as probable to the agent as its own.

    Where several objects are most probable, the agent's answer is the first of them, and any other is right.
    """

    def believed(obj: np.ndarray) -> np.ndarray:
        return outcomes.agent[:, :, when].sum(-1, where=outcomes.objects == obj[..., None])

    own = outcomes.agent_answer[..., when]
    return (answer == own) | (believed(answer) >= believed(own) * (1 - TIED))


def must_change(outcomes: Outcomes) -> np.ndarray:
    """bool[E, Q]: whether the agent's answer before the edit is none of its best after it."""
    before = outcomes.agent_answer[..., 0]
    return (before != ABSENT) & ~as_good(outcomes, before, 1)


def subsets(outcomes: Outcomes) -> dict[str, np.ndarray]:
    """bool[E] masks of the subsets that results are reported on (DESIGN 6)."""
    o = outcomes
    right = o.lm_answer[:, REQUEST, 0] == o.scalars["truth"]
    close = total_variation(o.lm[:, REQUEST, 0], o.agent[:, REQUEST, 0]) < COHERENT
    return {
        "all": np.ones(len(right), bool),
        "answer changes": must_change(o)[:, CHILD],
        "fixes an error": ~right & o.scalars["reinforces"],
        "initially coherent": right & close,
    }


def total_variation(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Total variation over the last axis, what is not named counting as one further outcome."""
    return 0.5 * np.abs(with_remainder(p) - with_remainder(q)).sum(-1)


def jensen_shannon(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Jensen-Shannon divergence in nats over the last axis, the rest as one further outcome."""
    mean = (with_remainder(p) + with_remainder(q)) / 2
    return (_relative_entropy(with_remainder(p), mean) + _relative_entropy(with_remainder(q), mean)) / 2


def kullback_leibler(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """KL(q || p) in nats over the last axis, the rest as one further outcome; no p is taken below 1e-12."""
    return _relative_entropy(with_remainder(q), with_remainder(p))


def with_remainder(p: np.ndarray) -> np.ndarray:
    """`p` with one further entry on the last axis: the mass that its entries leave."""
    return np.concatenate([p, np.clip(1 - p.sum(-1, keepdims=True), 0, 1)], axis=-1)


def _relative_entropy(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    return (q * (np.log(np.maximum(q, _SMALLEST)) - np.log(np.maximum(p, _SMALLEST)))).sum(-1)


def _changes(o: Outcomes, reader: Reader, asked: np.ndarray) -> dict[str, Metric]:
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


def _movement(o: Outcomes, reader: Reader, present: np.ndarray) -> dict[str, Metric]:
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
        "propagation ratio": Metric(along.sum(1, where=where), whole),
        "orthogonal damage": Metric(damage.sum(1, where=where), whole),
        "spill": Metric(spill.sum(1, where=still), still.sum(1).astype(float)),
        "coherence skill": Metric((before - after).sum(1, where=asked), before.sum(1, where=asked)),
    }


def _logic(o: Outcomes, reader: Reader) -> dict[str, Metric]:
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


def _rational_logic(agent: np.ndarray, o: Outcomes) -> np.ndarray:
    """Truth values of LOGIC for an agent that holds A with its own belief and B independently of it.

    The residuals do not depend on the belief in B, so an even one stands for it.
    """
    at = o.objects[:, REQUEST] == o.scalars["object"][:, None]
    a = agent[:, REQUEST].sum(1, where=at)
    b = np.full_like(a, 0.5)
    true = np.stack([a, 1 - a, a * b, a * b, a + b - a * b, b], axis=1)
    return np.stack([true, 1 - true], axis=-1)
