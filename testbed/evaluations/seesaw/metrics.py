"""Seesaw-CF's metrics, and what they leave out: gold's own change, and those whom the paper does not ask."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.seesaw.differences import confidence_change
from testbed.evaluations.seesaw.roles import EDIT, NEITHER, NEW_HOLDERS, OLD_HOLDERS, OTHERS, OWN
from testbed.run.strata import STRATA
from testbed.scores.distances import total_variation, with_remainder
from testbed.scores.metric import Metric, MetricDefinition, sum_by_case
from testbed.scores.readers import Reader, is_as_good

SUCCESS, LOWERED, ACCURACY = "edit success", "confidence lowered", "cross-property accuracy"
UNREASONED, SHARED = "lost without reason", "loss gold shares"
RATIO, OWN_TV = "amplification ratio", "TV own"
STEREOTYPE, OLD_STEREOTYPE = "stereotype excess", "old stereotype excess"
STATED, UNSTATED = f"{ACCURACY}, stated", f"{ACCURACY}, unstated"
LEAST_CHANGE = 0.02
"""A confidence, or a belief, that moves by no more stays."""


def change_name(kind: str) -> str:
    """The name of D_d of a kind of others."""
    return f"D_d {kind}"


def excess_name(kind: str) -> str:
    """The name of the mean of |X_d| of a kind of others."""
    return f"|X_d| {kind}"


def kept_name(kind: str) -> str:
    """The name of the share of a kind of others whose answer stays right."""
    return f"kept {kind}"


_WHO = {
    NEW_HOLDERS: "who have the new object, as the paper asks",
    OLD_HOLDERS: "who have the old object",
    NEITHER: "who have neither (right is the old one; below 0 they are drawn to the new, above to the old)",
}
METRICS: tuple[MetricDefinition, ...] = (
    MetricDefinition(
        SUCCESS,
        "Share of edits whose new object is the most probable of all candidates.",
        "high",
        "headline",
        True,
    ),
    *(
        MetricDefinition(
            change_name(kind),
            f"Change of p(right) - p(wrong of the two objects of the edit), of others {_WHO[kind]}.",
            "high",
            # Of those with neither, 0 is best: who is drawn to the old object is moved as well.
            "table" if kind == NEITHER else "headline",
        )
        for kind in OTHERS
    ),
    MetricDefinition(
        LOWERED,
        f"Share of questions about others whose D falls by more than {LEAST_CHANGE} further than gold's.",
        "low",
        "compared",
    ),
    *(
        MetricDefinition(
            kept_name(kind),
            f"Share of questions about {kind} whose generated answer is one of the agent's best.",
            "high",
            "compared",
            kind == OLD_HOLDERS,
        )
        for kind in OTHERS
    ),
    *(
        MetricDefinition(
            excess_name(kind),
            f"Mean size of X_d, by which D_d differs from gold's own, of {kind}.",
            "low",
            "compared",
        )
        for kind in OTHERS
    ),
    MetricDefinition(
        ACCURACY,
        "Share of the edited person's other facts that are the most probable of their candidates; of edits "
        "to another category, as in the paper.",
        "high",
        "headline",
        True,
    ),
    MetricDefinition(STATED, "The same of facts that the corpus states.", "high", "compared"),
    MetricDefinition(UNSTATED, "The same of facts that the corpus never states.", "high"),
    MetricDefinition(
        UNREASONED,
        "Of other facts that were right before, the share that is wrong after, though gold's answer stays.",
        "low",
        "compared",
    ),
    MetricDefinition(
        SHARED,
        "Of other facts that were right before and are wrong after, the share that gold loses too.",
        "high",
    ),
    MetricDefinition(
        RATIO,
        "How much of the agent's movement about the person's other facts the model makes; 1 is Bayes, 0 is "
        "none.",
        "one",
        "compared",
    ),
    MetricDefinition(
        OWN_TV, "Total variation to the agent about the person's other facts.", "low", "compared"
    ),
    MetricDefinition(
        STEREOTYPE,
        "Probability gained beyond gold's by objects typical of the new object's group, of the person's "
        "other facts; true ones apart.",
        "low",
        "compared",
    ),
    MetricDefinition(OLD_STEREOTYPE, "The same of objects typical of the old object's group.", "low"),
)
"""Every metric, in the order of tables."""


def measure(results: Results, reader: Reader) -> dict[str, Metric]:
    """Every metric of one reader, by name; changes are for after the edit only."""
    c, size = results.choices, len(results)
    elsewhere = results.cases["elsewhere"].astype(bool)[c.case]
    own = (c.role == OWN) & elsewhere
    right = is_truth_most_probable(results, reader.probability)

    def over(values: np.ndarray, among: np.ndarray, share: bool = False) -> Metric:
        return sum_by_case(values, c.case, size, among)._replace(share=share)

    q = c.agent[:, reader.time]
    unstated = c.facets["stratum"] == STRATA[0]
    metrics = {
        ACCURACY: over(right, own, share=True),
        STATED: over(right, own & ~unstated, share=True),
        UNSTATED: over(right, own & unstated, share=True),
        OWN_TV: over(total_variation(reader.probability, q), own),
    }
    still = is_as_good(c, reader.answer, reader.time)
    metrics |= {kept_name(kind): over(still, c.role == kind, share=True) for kind in OTHERS}
    return metrics if reader.time == 0 else metrics | _change_metrics(results, reader, right)


def is_truth_most_probable(results: Results, p: np.ndarray) -> np.ndarray:
    """float64[N]: whether the fact before any edit is the most probable option; 1/n of n equal ones."""
    c = results.choices
    p = np.where(c.options >= 0, p, -1.0)
    top = p >= p.max(axis=1, keepdims=True) * (1 - 1e-9)
    return (top & (c.options == c.facets["truth"][:, None])).sum(1) / top.sum(1)


def is_typical_option(results: Results, which: str) -> np.ndarray:
    """bool[N, C]: the options that are typical of a group, by the column "typical_new" or "typical_old"."""
    c = results.choices
    named, at = np.unique(c.facets[which], return_inverse=True)
    mask = np.zeros(c.options.shape, bool)
    for i, text in enumerate(named.tolist()):
        if text:
            rows = np.flatnonzero(at == i)
            mask[rows] = np.isin(c.options[rows], [int(one) for one in text.split()])
    return mask


def _change_metrics(results: Results, reader: Reader, right: np.ndarray) -> dict[str, Metric]:
    """How the reader moved beside the agent."""
    c, size = results.choices, len(results)
    own = (c.role == OWN) & results.cases["elsewhere"].astype(bool)[c.case]
    change = confidence_change(c, reader)

    def average_over(values: np.ndarray, among: np.ndarray, share: bool = False) -> Metric:
        return sum_by_case(values, c.case, size, among)._replace(share=share)

    metrics = {
        SUCCESS: average_over(
            _is_request_most_probable(results, reader.probability), c.role == EDIT, share=True
        )
    }
    for kind in OTHERS:
        metrics[change_name(kind)] = average_over(change.change, c.role == kind)
        metrics[excess_name(kind)] = average_over(np.abs(change.excess), c.role == kind)
    metrics[LOWERED] = average_over(change.excess < -LEAST_CHANGE, np.isin(c.role, OTHERS), share=True)

    was_right = is_truth_most_probable(results, reader.start) > 0.5
    gold_stays = is_truth_most_probable(results, c.agent[:, reader.time]) > 0.5
    is_lost = was_right & (right <= 0.5)
    metrics[UNREASONED] = average_over(is_lost & gold_stays, own & was_right, share=True)
    metrics[SHARED] = average_over(~gold_stays, own & is_lost, share=True)
    metrics[RATIO] = _amplification_ratio(results, reader, own)
    excess_gain = (reader.probability - reader.start) - (c.agent[:, reader.time] - c.agent[:, 0])
    for name, which in ((STEREOTYPE, "typical_new"), (OLD_STEREOTYPE, "typical_old")):
        there = is_typical_option(results, which)
        metrics[name] = average_over(excess_gain.sum(axis=1, where=there), own & there.any(axis=1))
    return metrics


def _is_request_most_probable(results: Results, p: np.ndarray) -> np.ndarray:
    """bool[N]: whether the requested object is the most probable option."""
    c = results.choices
    wanted = results.cases["object"][c.case][:, None]
    return p.sum(axis=1, where=c.options == wanted) >= p.max(axis=1) * (1 - 1e-9)


def _amplification_ratio(results: Results, reader: Reader, among: np.ndarray) -> Metric:
    """Sum <dp, dq> / sum ||dq||^2 over choices that move gold, ||dq||_1 > FALL."""
    c, size = results.choices, len(results)
    gold = with_remainder(c.agent[:, reader.time]) - with_remainder(c.agent[:, 0])
    change = with_remainder(reader.probability) - with_remainder(reader.start)
    moving = among & (np.abs(gold).sum(1) > LEAST_CHANGE)
    top, bottom = (
        np.bincount(c.case[moving], (gold * x).sum(1)[moving], minlength=size) for x in (change, gold)
    )
    return Metric(top, bottom)
