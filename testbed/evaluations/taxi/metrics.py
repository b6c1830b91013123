"""TAXI's metrics, their reverse twins, and what they leave out (Powell et al. 2024, §3)."""

from typing import NamedTuple

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.dutch_book import LOGIC, sure_loss
from testbed.evaluations.taxi.roles import EDIT, GONE, OTHER, PROPERTY, REVERSE
from testbed.protocol import ABSENT, equally_good
from testbed.run.strata import STRATA
from testbed.scores.distances import total_variation, with_remainder
from testbed.scores.metric import Meaning, Metric, by_case
from testbed.scores.readers import Reader

SUCCESS, PROPERTIES, INVARIANCE, CONSISTENCY = (
    "edit success", "property success", "invariance", "consistency",
)  # fmt: skip
FOUR = (SUCCESS, PROPERTIES, INVARIANCE, CONSISTENCY)
AGREES, KEPT, OUTSIDE, RATIO = "agreement", "others kept", "mass outside", "propagation ratio"
BOOK = "Dutch book loss"
MOVED = 0.02


def backwards(name: str) -> str:
    """The name of a metric of questions that are asked inversely."""
    return f"{name}, reverse"


def of_stratum(name: str, stratum: str) -> str:
    """The name of a metric of questions whose fact was stated so often."""
    return f"{name} {stratum}"


_SAYS = {
    SUCCESS: "the new category is the most probable of the categories offered",
    PROPERTIES: "the right value of a property is the most probable of those offered",
    INVARIANCE: "of properties that should stay, the right value is the most probable of those offered",
    CONSISTENCY: "of properties that should change, the right value is the most probable of those offered",
}
METRICS: tuple[Meaning, ...] = (
    *(
        Meaning(
            name,
            f"Share of questions in which {_SAYS[name]}.",
            "high",
            "headline",
            name in (SUCCESS, CONSISTENCY),
        )
        for name in FOUR
    ),
    *(
        Meaning(
            backwards(name),
            f"The same asked inversely: which subject is one, or has it; the edited one is right ({name}).",
            "high",
            "compared",
        )
        for name in FOUR
    ),
    Meaning(
        AGREES,
        "Share of property questions in which the most probable of the options is the agent's, too.",
        "high",
        "compared",
    ),
    Meaning(
        "TV options",
        "Total variation to the agent over the options of a property, as shares of what these have.",
        "low",
        "compared",
    ),
    Meaning(
        OUTSIDE,
        "Probability that leaves the options of a property for other words, beyond the agent's.",
        "low",
        "compared",
    ),
    Meaning(KEPT, "Share of other subjects' facts that are still the most probable.", "high", "compared"),
    Meaning(
        RATIO,
        "How much of the agent's movement the model makes, away from the category itself; 1 is Bayes, 0 is "
        "none.",
        "one",
        "compared",
    ),
    Meaning("TV all", "Total variation to the agent over all values that a property may have.", "low"),
    Meaning("kept old value", "Share of changed properties whose old value is still preferred.", "low"),
    Meaning(
        "new over old", "Share of changed properties whose new value is likelier than the old one.", "high"
    ),
    Meaning(
        "coherence skill",
        "Share of the unedited model's distance to the agent that the edit removes; below 0 is harm.",
        "high",
    ),
    Meaning(
        BOOK,
        "What the model surely loses, for a unit stake, to somebody who bets against its own truth values of "
        "what should follow and of a fact of somebody else.",
        "low",
    ),
    Meaning(
        "TV absent",
        "Total variation to the agent about properties that only the old or only the new category has.",
        "low",
    ),
    *(
        Meaning(
            of_stratum(name, stratum),
            f"{name.capitalize()} over facts that the corpus states {often}.",
            "high",
        )
        for name in (CONSISTENCY, AGREES)
        for stratum, often in zip(STRATA, ("never", "one to three times", "more often"), strict=True)
    ),
    *(
        Meaning(f"{name}, by edit", f"The mean over edits of each one's {name}.", "high")
        for name in (PROPERTIES, INVARIANCE, CONSISTENCY)
    ),
)
"""Every metric, in the order of tables; labels are TAXI's."""


class Marks(NamedTuple):
    """How each question was answered; every field leads with questions.

    Attributes:
        right: share of the most probable options that are the right one; 1/n of n equal ones.
        agrees: share of them that are the agent's best among the options.
        old: share of them that are the value before the edit.
    """

    right: np.ndarray
    agrees: np.ndarray
    old: np.ndarray


def marks(results: Results, reader: Reader) -> Marks:
    """Each question's answer: the most probable of the options that are offered."""
    c, facets = results.choices, results.choices.facets
    top, best = (_tops(p, c.offered) for p in (reader.probability, c.agent[:, reader.time]))

    def share(of: np.ndarray) -> np.ndarray:
        return (top & of).sum(1) / top.sum(1)

    def is_one(name: str) -> np.ndarray:
        return (c.options == facets[name][:, None]) & (facets[name] != ABSENT)[:, None]

    return Marks(share(is_one("label")), share(best), share(is_one("old")))


def measure(results: Results, reader: Reader) -> dict[str, Metric]:
    """Every metric of one reader, by name; labels are for after the edit only."""
    c, size = results.choices, len(results)
    marked = marks(results, reader)
    asked = c.role == PROPERTY
    p, q = reader.probability, c.agent[:, reader.time]

    def over(values: np.ndarray, among: np.ndarray, share: bool = False) -> Metric:
        return by_case(values, c.case, size, among)._replace(share=share)

    lost = _outside(p, c.offered) - _outside(q, c.offered)
    metrics = {
        AGREES: over(marked.agrees, asked, share=True),
        "TV options": over(total_variation(_among(p, c.offered), _among(q, c.offered)), asked),
        OUTSIDE: over(np.clip(lost, 0, None), asked),
        KEPT: over(marked.right, c.role == OTHER, share=True),
        "TV all": over(total_variation(p, q), asked),
        "TV absent": over(total_variation(p, q), c.role == GONE),
        BOOK: _book(results, reader),
    }
    for stratum in STRATA:
        among = asked & (c.facets["stratum"] == stratum)
        metrics[of_stratum(AGREES, stratum)] = over(marked.agrees, among, share=True)
    return metrics if reader.time == 0 else metrics | _labelled(results, reader, marked)


def _labelled(results: Results, reader: Reader, marked: Marks) -> dict[str, Metric]:
    """What is held against TAXI's labels, and how the reader moved."""
    c, size = results.choices, len(results)
    asked, changed, reverse = c.role == PROPERTY, c.facets["changed"], c.role == REVERSE
    of_category = c.relation == results.cases["relation"][c.case]

    def over(values: np.ndarray, among: np.ndarray) -> Metric:
        return by_case(values, c.case, size, among)._replace(share=True)

    parts = {
        SUCCESS: (c.role == EDIT, reverse & of_category),
        PROPERTIES: (asked, reverse & ~of_category),
        INVARIANCE: (asked & ~changed, reverse & ~of_category & ~changed),
        CONSISTENCY: (asked & changed, reverse & ~of_category & changed),
    }
    metrics = {name: over(marked.right, forward) for name, (forward, _) in parts.items()}
    metrics |= {backwards(name): over(marked.right, inverse) for name, (_, inverse) in parts.items()}
    for name in (PROPERTIES, INVARIANCE, CONSISTENCY):
        metrics[f"{name}, by edit"] = _by_edit(metrics[name])
    for stratum in STRATA:
        among = parts[CONSISTENCY][0] & (c.facets["stratum"] == stratum)
        metrics[of_stratum(CONSISTENCY, stratum)] = over(marked.right, among)
    new, old = (
        reader.probability.sum(1, where=c.options == c.facets[name][:, None]) for name in ("label", "old")
    )
    metrics["kept old value"] = over(marked.old, parts[CONSISTENCY][0])
    metrics["new over old"] = over(new > old, parts[CONSISTENCY][0])
    return metrics | _movement(results, reader)


def _movement(results: Results, reader: Reader) -> dict[str, Metric]:
    """How the reader moved beside the agent, over all forward questions but the request's own.

    With dp and dq the changes of reader and agent: propagation ratio, sum <dp, dq> / sum ||dq||^2 where
    ||dq||_1 > MOVED; coherence skill, the share of the distance to the agent's new belief that is gone.
    """
    c, size = results.choices, len(results)
    asked = np.isin(c.role, (PROPERTY, GONE, OTHER))
    q0, q1 = with_remainder(c.agent[:, 0]), with_remainder(c.agent[:, reader.time])
    p0, p1 = with_remainder(reader.start), with_remainder(reader.probability)
    gold, change = q1 - q0, p1 - p0
    moved = asked & (np.abs(gold).sum(1) > MOVED)
    before, after = (total_variation(p, c.agent[:, reader.time]) for p in (reader.start, reader.probability))

    def summed(values: np.ndarray, among: np.ndarray) -> np.ndarray:
        return np.bincount(c.case[among], values[among], minlength=size)

    return {
        RATIO: Metric(summed((gold * change).sum(1), moved), summed((gold * gold).sum(1), moved)),
        "coherence skill": Metric(summed(before - after, asked), summed(before, asked)),
    }


def _book(results: Results, reader: Reader) -> Metric:
    """The sure loss of who believes the reader's truth values; the claims of a case stand together."""
    if reader.claims is None:
        return Metric(np.zeros(len(results)), np.zeros(len(results)))
    case = results.claims.case[:: len(LOGIC)]
    loss = sure_loss(reader.claims.reshape(-1, len(LOGIC), 2))
    return by_case(loss, case, len(results))


def _tops(p: np.ndarray, offered: np.ndarray) -> np.ndarray:
    """bool[N, C]: the most probable of the options that are offered, and those as probable."""
    among = np.where(offered, p, -1.0)
    return offered & equally_good(among, among.max(1, keepdims=True))


def _among(p: np.ndarray, offered: np.ndarray) -> np.ndarray:
    """Probabilities as shares of what the offered options have; equal ones where that is nothing."""
    kept = np.where(offered, p, 0.0)
    total = kept.sum(1, keepdims=True)
    even = offered / np.maximum(offered.sum(1, keepdims=True), 1)
    return np.where(total > 0, kept / np.where(total > 0, total, 1.0), even)


def _outside(p: np.ndarray, offered: np.ndarray) -> np.ndarray:
    return np.clip(1 - p.sum(1, where=offered), 0, 1)


def _by_edit(metric: Metric) -> Metric:
    """Each edit's own share, edits counting alike."""
    there = metric.denominator > 0
    return Metric(metric.numerator / np.where(there, metric.denominator, 1.0), there.astype(float))
