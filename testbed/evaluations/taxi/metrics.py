"""TAXI's metrics, their reverse twins, and what they leave out (Powell et al. 2024, §3)."""

from typing import NamedTuple

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.dutch_book import LOGIC, sure_loss
from testbed.evaluations.taxi.roles import EDIT, GONE, OTHER, PROPERTY, REVERSE
from testbed.protocol import ABSENT, is_equally_good
from testbed.run.strata import STRATA
from testbed.scores.distances import total_variation, with_remainder
from testbed.scores.metric import Metric, MetricDefinition, sum_by_case
from testbed.scores.readers import Reader

SUCCESS, PROPERTIES, INVARIANCE, CONSISTENCY = (
    "edit success", "property success", "invariance", "consistency",
)  # fmt: skip
FOUR = (SUCCESS, PROPERTIES, INVARIANCE, CONSISTENCY)
AGREES, KEPT, OUTSIDE, RATIO = "agreement", "others kept", "mass outside", "propagation ratio"
DUTCH_BOOK = "Dutch book loss"
MOVED = 0.02


def reverse_name(name: str) -> str:
    """The name of a metric of questions that are asked inversely."""
    return f"{name}, reverse"


def stratum_name(name: str, stratum: str) -> str:
    """The name of a metric of questions whose fact was stated so often."""
    return f"{name} {stratum}"


_SAYS = {
    SUCCESS: "the new category is the most probable of the categories offered",
    PROPERTIES: "the right value of a property is the most probable of those offered",
    INVARIANCE: "of properties that should stay, the right value is the most probable of those offered",
    CONSISTENCY: "of properties that should change, the right value is the most probable of those offered",
}
METRICS: tuple[MetricDefinition, ...] = (
    *(
        MetricDefinition(
            name,
            f"Share of questions in which {_SAYS[name]}.",
            "high",
            "headline",
            name in (SUCCESS, CONSISTENCY),
        )
        for name in FOUR
    ),
    *(
        MetricDefinition(
            reverse_name(name),
            f"The same asked inversely: which subject is one, or has it; the edited one is right ({name}).",
            "high",
            "compared",
        )
        for name in FOUR
    ),
    MetricDefinition(
        AGREES,
        "Share of property questions in which the most probable of the options is the agent's, too.",
        "high",
        "compared",
    ),
    MetricDefinition(
        "TV options",
        "Total variation to the agent over the options of a property, as shares of what these have.",
        "low",
        "compared",
    ),
    MetricDefinition(
        OUTSIDE,
        "Probability that leaves the options of a property for other words, beyond the agent's.",
        "low",
        "compared",
    ),
    MetricDefinition(
        KEPT, "Share of other subjects' facts that are still the most probable.", "high", "compared"
    ),
    MetricDefinition(
        RATIO,
        "How much of the agent's movement the model makes, away from the category itself; 1 is Bayes, 0 is "
        "none.",
        "one",
        "compared",
    ),
    MetricDefinition(
        "TV all", "Total variation to the agent over all values that a property may have.", "low"
    ),
    MetricDefinition(
        "kept old value", "Share of changed properties whose old value is still preferred.", "low"
    ),
    MetricDefinition(
        "new over old", "Share of changed properties whose new value is likelier than the old one.", "high"
    ),
    MetricDefinition(
        "coherence skill",
        "Share of the unedited model's distance to the agent that the edit removes; below 0 is harm.",
        "high",
    ),
    MetricDefinition(
        DUTCH_BOOK,
        "What the model surely loses, for a unit stake, to somebody who bets against its own truth values of "
        "what should follow and of a fact of somebody else.",
        "low",
    ),
    MetricDefinition(
        "TV absent",
        "Total variation to the agent about properties that only the old or only the new category has.",
        "low",
    ),
    *(
        MetricDefinition(
            stratum_name(name, stratum),
            f"{name.capitalize()} over facts that the corpus states {often}.",
            "high",
        )
        for name in (CONSISTENCY, AGREES)
        for stratum, often in zip(STRATA, ("never", "one to three times", "more often"), strict=True)
    ),
    *(
        MetricDefinition(f"{name}, by edit", f"The mean over edits of each one's {name}.", "high")
        for name in (PROPERTIES, INVARIANCE, CONSISTENCY)
    ),
)
"""Every metric, in the order of tables; labels are TAXI's."""


class AnswerMarks(NamedTuple):
    """How each question was answered; every field leads with questions.

    Attributes:
        right: share of the most probable options that are the right one; 1/n of n equal ones.
        agrees: share of them that are the agent's best among the options.
        old: share of them that are the value before the edit.
    """

    right: np.ndarray
    agrees: np.ndarray
    old: np.ndarray


def mark_answers(results: Results, reader: Reader) -> AnswerMarks:
    """Each question's answer: the most probable of the options that are offered."""
    c, facets = results.choices, results.choices.facets
    top, best = (_most_probable_options(p, c.offered) for p in (reader.probability, c.agent[:, reader.time]))

    def share_of_top(of: np.ndarray) -> np.ndarray:
        return (top & of).sum(1) / top.sum(1)

    def is_value(name: str) -> np.ndarray:
        return (c.options == facets[name][:, None]) & (facets[name] != ABSENT)[:, None]

    return AnswerMarks(share_of_top(is_value("label")), share_of_top(best), share_of_top(is_value("old")))


def measure(results: Results, reader: Reader) -> dict[str, Metric]:
    """Every metric of one reader, by name; labels are for after the edit only."""
    c, size = results.choices, len(results)
    marked = mark_answers(results, reader)
    asked = c.role == PROPERTY
    p, q = reader.probability, c.agent[:, reader.time]

    def over(values: np.ndarray, among: np.ndarray, share: bool = False) -> Metric:
        return sum_by_case(values, c.case, size, among)._replace(share=share)

    lost = _mass_outside_options(p, c.offered) - _mass_outside_options(q, c.offered)
    metrics = {
        AGREES: over(marked.agrees, asked, share=True),
        "TV options": over(
            total_variation(_renormalise_over_options(p, c.offered), _renormalise_over_options(q, c.offered)),
            asked,
        ),
        OUTSIDE: over(np.clip(lost, 0, None), asked),
        KEPT: over(marked.right, c.role == OTHER, share=True),
        "TV all": over(total_variation(p, q), asked),
        "TV absent": over(total_variation(p, q), c.role == GONE),
        DUTCH_BOOK: _dutch_book_loss(results, reader),
    }
    for stratum in STRATA:
        among = asked & (c.facets["stratum"] == stratum)
        metrics[stratum_name(AGREES, stratum)] = over(marked.agrees, among, share=True)
    return metrics if reader.time == 0 else metrics | _label_metrics(results, reader, marked)


def _label_metrics(results: Results, reader: Reader, marks: AnswerMarks) -> dict[str, Metric]:
    """What is held against TAXI's labels, and how the reader moved."""
    c, size = results.choices, len(results)
    is_property, changed, reverse = c.role == PROPERTY, c.facets["changed"], c.role == REVERSE
    of_category = c.relation == results.cases["relation"][c.case]

    def average_over(values: np.ndarray, among: np.ndarray) -> Metric:
        return sum_by_case(values, c.case, size, among)._replace(share=True)

    parts = {
        SUCCESS: (c.role == EDIT, reverse & of_category),
        PROPERTIES: (is_property, reverse & ~of_category),
        INVARIANCE: (is_property & ~changed, reverse & ~of_category & ~changed),
        CONSISTENCY: (is_property & changed, reverse & ~of_category & changed),
    }
    metrics = {name: average_over(marks.right, forward) for name, (forward, _) in parts.items()}
    metrics |= {
        reverse_name(name): average_over(marks.right, inverse) for name, (_, inverse) in parts.items()
    }
    for name in (PROPERTIES, INVARIANCE, CONSISTENCY):
        metrics[f"{name}, by edit"] = _average_by_edit(metrics[name])
    for stratum in STRATA:
        among = parts[CONSISTENCY][0] & (c.facets["stratum"] == stratum)
        metrics[stratum_name(CONSISTENCY, stratum)] = average_over(marks.right, among)
    new, old = (
        reader.probability.sum(1, where=c.options == c.facets[name][:, None]) for name in ("label", "old")
    )
    metrics["kept old value"] = average_over(marks.old, parts[CONSISTENCY][0])
    metrics["new over old"] = average_over(new > old, parts[CONSISTENCY][0])
    return metrics | _movement_metrics(results, reader)


def _movement_metrics(results: Results, reader: Reader) -> dict[str, Metric]:
    """How the reader moved beside the agent, over all forward questions but the request's own.

    With dp and dq the changes of reader and agent: propagation ratio, sum <dp, dq> / sum ||dq||^2 where
    ||dq||_1 > MOVED; coherence skill, the share of the distance to the agent's new belief that is gone.
    """
    c, size = results.choices, len(results)
    is_asked = np.isin(c.role, (PROPERTY, GONE, OTHER))
    q0, q1 = with_remainder(c.agent[:, 0]), with_remainder(c.agent[:, reader.time])
    p0, p1 = with_remainder(reader.start), with_remainder(reader.probability)
    gold, change = q1 - q0, p1 - p0
    is_moved = is_asked & (np.abs(gold).sum(1) > MOVED)
    before, after = (total_variation(p, c.agent[:, reader.time]) for p in (reader.start, reader.probability))

    def sum_by_case(values: np.ndarray, among: np.ndarray) -> np.ndarray:
        return np.bincount(c.case[among], values[among], minlength=size)

    return {
        RATIO: Metric(
            sum_by_case((gold * change).sum(1), is_moved), sum_by_case((gold * gold).sum(1), is_moved)
        ),
        "coherence skill": Metric(sum_by_case(before - after, is_asked), sum_by_case(before, is_asked)),
    }


def _dutch_book_loss(results: Results, reader: Reader) -> Metric:
    """The sure loss of who believes the reader's truth values; the claims of a case stand together."""
    if reader.claims is None:
        return Metric(np.zeros(len(results)), np.zeros(len(results)))
    case = results.claims.case[:: len(LOGIC)]
    loss = sure_loss(reader.claims.reshape(-1, len(LOGIC), 2))
    return sum_by_case(loss, case, len(results))


def _most_probable_options(p: np.ndarray, offered: np.ndarray) -> np.ndarray:
    """bool[N, C]: the most probable of the options that are offered, and those as probable."""
    among = np.where(offered, p, -1.0)
    return offered & is_equally_good(among, among.max(1, keepdims=True))


def _renormalise_over_options(p: np.ndarray, offered: np.ndarray) -> np.ndarray:
    """Probabilities as shares of what the offered options have; equal ones where that is nothing."""
    option_mass = np.where(offered, p, 0.0)
    total = option_mass.sum(1, keepdims=True)
    even = offered / np.maximum(offered.sum(1, keepdims=True), 1)
    return np.where(total > 0, option_mass / np.where(total > 0, total, 1.0), even)


def _mass_outside_options(p: np.ndarray, offered: np.ndarray) -> np.ndarray:
    return np.clip(1 - p.sum(1, where=offered), 0, 1)


def _average_by_edit(metric: Metric) -> Metric:
    """Each edit's own share, edits counting alike."""
    there = metric.denominator > 0
    return Metric(metric.numerator / np.where(there, metric.denominator, 1.0), there.astype(float))
