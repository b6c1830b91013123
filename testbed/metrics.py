"""How close an edited model comes to the agent, and to the axioms of probability (DESIGN 6).

Every metric is a pair of per-case arrays, (numerator, denominator), and its value is the ratio of
their sums: for a mean the denominator is 1 where a case has the metric and 0 where it has not. That
makes means, shares and ratios such as the propagation ratio one thing to average and to bootstrap.
"""

from typing import NamedTuple

import numpy as np

from testbed.cases import ABSENT, CELLS, CHILD, INDEPENDENT, PARENT, REQUEST
from testbed.probes import LOGIC
from testbed.records import Outcomes

OTHERS = tuple(i for i, name in enumerate(CELLS) if not name.startswith("s1"))
MOVED = 0.02
COHERENT = 0.1
_SMALLEST = 1e-12


class Metric(NamedTuple):
    """A metric per case: float64[E] numerators and denominators."""

    numerator: np.ndarray
    denominator: np.ndarray

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
        start: float64[E, Q, C], its distribution before the edit.
        when: 0 to compare with the agent before the edit, 1 with the agent after it.
    """

    objects: np.ndarray
    answer: np.ndarray
    logic: np.ndarray | None
    start: np.ndarray
    when: int


def readers(outcomes: Outcomes, editor: str) -> dict[str, Reader]:
    """The edited model and what to hold it against (DESIGN 6, floors).

    before edit: the model before, against the agent before. no edit: the same model against the agent
    after. frequency reader: an ideal model that answers with corpus frequencies, the request copied in
    with its weight. Bayesian reader: the agent itself.
    """
    o = outcomes
    lm, frequency, agent = (np.moveaxis(x, 2, 0) for x in (o.lm, o.frequency, o.agent))
    top = np.take_along_axis(o.objects, frequency[1].argmax(-1)[..., None], -1)[..., 0]
    return {
        "before edit": Reader(lm[0], o.lm_answer[..., 0], o.logic[:, :, 0], lm[0], 0),
        editor: Reader(lm[1], o.lm_answer[..., 1], o.logic[:, :, 1], lm[0], 1),
        "no edit": Reader(lm[0], o.lm_answer[..., 0], o.logic[:, :, 0], lm[0], 1),
        "frequency reader": Reader(frequency[1], top, None, frequency[0], 1),
        "Bayesian reader": Reader(
            agent[1], o.agent_answer[..., 1], _rational_logic(agent[1], o), agent[0], 1
        ),
    }


def measure(outcomes: Outcomes, reader: Reader) -> dict[str, Metric]:
    """Every metric of one reader, by name."""
    o, when = outcomes, reader.when
    present = o.agent_answer[..., 0] != ABSENT
    gold, gold_answer = o.agent[:, :, when], o.agent_answer[..., when]
    child, changes = o.scalars["child"], o.scalars["changes"]
    right = reader.answer == gold_answer
    tv = total_variation(reader.objects, gold)

    def cell(values: np.ndarray, which: int, among: np.ndarray | bool = True) -> Metric:
        there = present[:, which] & among
        return Metric(np.where(there, values[:, which], 0.0), there.astype(float))

    def cells(values: np.ndarray, which: tuple[int, ...]) -> Metric:
        there = present[:, which]
        return Metric(np.where(there, values[:, which], 0.0).sum(1), there.sum(1).astype(float))

    def error(obj: np.ndarray, which: int) -> Metric:
        """|p - q| of one object of a cell."""
        at = o.objects[:, which] == obj[:, None]
        gap = np.abs(reader.objects[:, which] - gold[:, which]).sum(1, where=at)
        return Metric(gap * at.any(1), (present[:, which] & at.any(1)).astype(float))

    found: dict[str, Metric] = {}
    if when == 1:
        hit = reader.answer[:, REQUEST] == o.scalars["object"]
        found["edit success"] = Metric(hit.astype(float), np.ones(len(hit)))
    found |= {
        "answer s1r2": cell(right, CHILD, child),
        "answer s1r2, must change": cell(right, CHILD, child & changes),
        "answer s1r2, must stay": cell(right, CHILD, child & ~changes),
        "answer s1r0": cell(right, PARENT),
        "answer s1rx": cell(right, INDEPENDENT),
        "answer s2": cells(right, OTHERS),
        "error of request": error(o.scalars["object"], REQUEST),
        "error of old truth": error(o.scalars["truth"], REQUEST),
        "error of new s1r2": error(o.agent_answer[:, CHILD, 1], CHILD),
        "TV s1r1": cell(tv, REQUEST),
        "TV s1r2": cell(tv, CHILD, child),
        "TV s1rx": cell(tv, INDEPENDENT),
        "TV s2": cells(tv, OTHERS),
        "JS s1r2": cell(jensen_shannon(reader.objects, gold), CHILD, child),
        "KL s1r2": cell(kullback_leibler(gold, reader.objects), CHILD, child),
    }
    if when == 1:
        found |= _movement(o, reader, present)
    found |= _logic(o, reader)
    return found


def subsets(outcomes: Outcomes) -> dict[str, np.ndarray]:
    """bool[E] masks of the subsets that results are reported on (DESIGN 6)."""
    o = outcomes
    right = o.lm_answer[:, REQUEST, 0] == o.scalars["truth"]
    close = total_variation(o.lm[:, REQUEST, 0], o.agent[:, REQUEST, 0]) < COHERENT
    return {
        "all": np.ones(len(right), bool),
        "answer changes": o.scalars["changes"],
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
    """KL(q || p) in nats over the last axis, the rest as one further outcome."""
    return _relative_entropy(with_remainder(q), with_remainder(p))


def with_remainder(p: np.ndarray) -> np.ndarray:
    """`p` with one further entry on the last axis: the mass that its entries leave."""
    return np.concatenate([p, np.clip(1 - p.sum(-1, keepdims=True), 0, 1)], axis=-1)


def _relative_entropy(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    return (q * (np.log(np.maximum(q, _SMALLEST)) - np.log(np.maximum(p, _SMALLEST)))).sum(-1)


def _movement(o: Outcomes, reader: Reader, present: np.ndarray) -> dict[str, Metric]:
    """Propagation ratio, spill and coherence skill, over all cells but the request's own."""
    asked = present.copy()
    asked[:, REQUEST] = False
    gold = np.diff(with_remainder(np.moveaxis(o.agent, 2, 0)), axis=0)[0]
    moved = np.diff(with_remainder(np.stack([reader.start, reader.objects])), axis=0)[0]
    where = asked & (np.abs(gold).sum(-1) > MOVED)
    still = asked & ~where
    before = total_variation(reader.start, o.agent[:, :, 1])
    after = total_variation(reader.objects, o.agent[:, :, 1])
    spill = 0.5 * np.abs(moved - gold).sum(-1)
    return {
        "propagation ratio": Metric(
            (moved * gold).sum(-1).sum(1, where=where), (gold * gold).sum(-1).sum(1, where=where)
        ),
        "spill": Metric(spill.sum(1, where=still), still.sum(1).astype(float)),
        "coherence skill": Metric((before - after).sum(1, where=asked), before.sum(1, where=asked)),
    }


def _logic(o: Outcomes, reader: Reader) -> dict[str, Metric]:
    """Residuals of the axioms of probability in the reader's own truth values (Hase A.5)."""
    cases = len(o.objects)
    names = ("logic TF", "logic not", "logic and", "logic or", "logic commute", "logic sum")
    if reader.logic is None:
        return {name: Metric(np.zeros(cases), np.zeros(cases)) for name in names}
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
    return {n: Metric(np.abs(r), np.ones(cases)) for n, r in zip(names, residuals, strict=True)}


def _rational_logic(agent: np.ndarray, o: Outcomes) -> np.ndarray:
    """Truth values of LOGIC for an agent that holds A with its own belief and B independently of it.

    The residuals do not depend on the belief in B, so an even one stands for it.
    """
    at = o.objects[:, REQUEST] == o.scalars["object"][:, None]
    a = agent[:, REQUEST].sum(1, where=at)
    b = np.full_like(a, 0.5)
    true = np.stack([a, 1 - a, a * b, a * b, a + b - a * b, b], axis=1)
    return np.stack([true, 1 - true], axis=-1)
