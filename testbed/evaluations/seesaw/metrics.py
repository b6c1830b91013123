"""Seesaw-CF's metrics, and what they leave out: gold's own change, and those whom the paper does not ask.

    D(t)  = p(right | t) - p(wrong | t)     at time t, before or after the edit (Halevy et al. 2024, 4.1)
    D_d   = D(after) - D(before)
    D_d^q   the same of the agent
    X_d   = D_d - D_d^q                     what is not rational of it: the excess

Of those who have the new object right is the new and wrong the old one, as in the paper; of those who have
the old one the other way round; of those with neither `right` is the old and `wrong` the new one, so that
below 0 they are drawn towards the new one.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from testbed.engine.results import Choices, Results, cluster_levels
from testbed.evaluations.seesaw import EDIT, INTERPRETATIONS, NEITHER, NEW_HOLDERS, OLD_HOLDERS, OTHERS, OWN
from testbed.run.strata import STRATA
from testbed.scores import readers
from testbed.scores.cores import lazy_property
from testbed.scores.distances import total_variation
from testbed.scores.metric import Metric, MetricDefinition, make_id, sum_by_case
from testbed.scores.movement import Movement
from testbed.scores.readers import BAYESIAN, Reader, reference_readers
from testbed.scores.statistics import Estimate, estimate_metrics

SUCCESS, LOWERED, ACCURACY = "success", "lowered", "accuracy"
UNREASONED, SHARED = "lost.unreasoned", "lost.shared"
RATIO, OWN_TV = "amplification_ratio", "tv.own"
STEREOTYPE, OLD_STEREOTYPE = "stereotype_excess", "old_stereotype_excess"
STATED, UNSTATED = "accuracy.stated", "accuracy.unstated"
CHANGE = {kind: f"change.{make_id(kind)}" for kind in OTHERS}
EXCESS = {kind: f"excess.{make_id(kind)}" for kind in OTHERS}
STILL_RIGHT = {kind: f"kept.{make_id(kind)}" for kind in OTHERS}
LEAST_FALL = 0.02
"""A confidence that falls by no more stays."""
WORLD_CHANGED = f"{BAYESIAN}, {INTERPRETATIONS[1]}"
"""The agent to which the request is a change of the world."""
Key = TypeVar("Key")


def make_readers(results: Results, editor: str) -> dict[str, Reader]:
    """The edited model and the references under a correction; the agent under a change of the world."""
    changed = reference_readers(results, editor, interpretation=2)[BAYESIAN]
    return reference_readers(results, editor) | {WORLD_CHANGED: changed}


def make_subsets(results: Results) -> dict[str, np.ndarray]:
    """bool[E] of each part of the edits: by the property that is edited."""
    of = results.cases["property"].astype(str)
    parts = {f"edits of {name}": of == name for name in np.unique(of).tolist()}
    return {"all": np.ones(len(results), bool)} | parts


class ConfidenceChange(NamedTuple):
    """Every field is float64[N], 0 where two objects are not compared.

    Attributes:
        change: D_d.
        gold_change: D_d^q.
        excess: X_d.
    """

    change: np.ndarray
    gold_change: np.ndarray
    excess: np.ndarray


def confidence(p: np.ndarray, options: np.ndarray, right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """float64[N]: D, p(right) - p(wrong), of float64[N, C] over options int[N, C]."""
    p_right, p_wrong = (p.sum(axis=1, where=options == obj[:, None]) for obj in (right, wrong))
    return p_right - p_wrong


def confidence_change(choices: Choices, reader: Reader) -> ConfidenceChange:
    """D_d, D_d^q and X_d of every choice about others."""
    has_two_objects = np.isin(choices.role, OTHERS)
    right, wrong = choices.facets["right"], choices.facets["wrong"]

    def change_of_d(before: np.ndarray, after: np.ndarray) -> np.ndarray:
        d = [confidence(p, choices.options, right, wrong) for p in (before, after)]
        return np.where(has_two_objects, d[1] - d[0], 0.0)

    own = change_of_d(reader.start, reader.probability)
    rational = change_of_d(choices.agent[:, 0], choices.agent[:, reader.time])
    return ConfidenceChange(own, rational, own - rational)


def is_truth_most_probable(results: Results, p: np.ndarray) -> np.ndarray:
    """float64[N]: whether the fact before any edit is the most probable option; 1/n of n equal ones."""
    c = results.choices
    p = np.where(c.options >= 0, p, -1.0)
    top = p >= p.max(axis=1, keepdims=True) * (1 - 1e-9)
    return (top & (c.options == c.facets["truth"][:, None])).sum(1) / top.sum(1)


def is_typical_option(results: Results, which: str) -> np.ndarray:
    """bool[N, C]: the options that are typical of a group, by the column "typical_new" or "typical_old"."""
    c = results.choices
    texts, at = np.unique(c.facets[which], return_inverse=True)
    mask = np.zeros(c.options.shape, bool)
    for i, text in enumerate(texts.tolist()):
        if text:
            rows = np.flatnonzero(at == i)
            mask[rows] = np.isin(c.options[rows], [int(one) for one in text.split()])
    return mask


def is_crossing(results: Results) -> np.ndarray:
    """bool[N]: questions about another fact of the edited person, after an edit to another category."""
    c = results.choices
    return (c.role == OWN) & results.cases["elsewhere"].astype(bool)[c.case]


def is_stated(results: Results) -> np.ndarray:
    """bool[N]: questions about facts that the corpus states."""
    return results.choices.facets["stratum"] != STRATA[0]


def estimate_all_cases(results: Results, metrics: Mapping[Key, Metric]) -> dict[Key, Estimate]:
    """Metrics over all cases, with intervals over edited people, objects and worlds."""
    return estimate_metrics(metrics, cluster_levels(results), np.ones(len(results), bool))


def estimate_means(
    results: Results, parts: Mapping[Key, tuple[np.ndarray, np.ndarray]], share: bool = False
) -> dict[Key, Estimate]:
    """Means of values of choices, as `estimate_all_cases`.

    Args:
        parts: float64[N] of every choice, and bool[N] of those that count.
        share: whether a mean counts how many of some things are so, see `Metric`.
    """
    case, size = results.choices.case, len(results)
    return estimate_all_cases(
        results,
        {
            key: sum_by_case(values, case, size, among)._replace(share=share)
            for key, (values, among) in parts.items()
        },
    )


class Answers(readers.Answers):
    """A reader's answers, with what Seesaw-CF's metrics are made of.

    Attributes:
        crossing: bool[N], see `is_crossing`.
    """

    def __init__(self, results: Results, reader: Reader) -> None:
        super().__init__(results, reader)
        self.crossing = is_crossing(results)

    @lazy_property
    def changes(self) -> ConfidenceChange:
        """D_d, D_d^q and X_d of every choice."""
        return confidence_change(self.choices, self.reader)

    @lazy_property
    def is_true(self) -> np.ndarray:
        """float64[N]: whether the fact before any edit is the most probable option."""
        return is_truth_most_probable(self.results, self.reader.probability)

    @lazy_property
    def was_true(self) -> np.ndarray:
        """bool[N]: whether it was so before the edit."""
        return is_truth_most_probable(self.results, self.reader.start) > 0.5

    @lazy_property
    def is_gold_true(self) -> np.ndarray:
        """bool[N]: whether it is so for the agent."""
        return is_truth_most_probable(self.results, self.belief) > 0.5

    @lazy_property
    def is_lost(self) -> np.ndarray:
        """bool[N]: whether a fact was right before and is wrong after."""
        return self.was_true & (self.is_true <= 0.5)

    @lazy_property
    def movement(self) -> Movement:
        """How the reader moved beside the agent, of the person's other facts."""
        return Movement(self, self.crossing)

    def accuracy(self, among: np.ndarray) -> Metric:
        """The share of the person's other facts that are the most probable of their candidates, of some."""
        return self.mean_over(self.is_true, self.crossing & among)._replace(share=True)

    def edit_success(self) -> Metric:
        """Whether the requested object is more probable than every other option; a tie is no answer."""
        p, is_requested = self.reader.probability, self.choices.options == self.requested[:, None]
        others = np.where(is_requested, 0.0, p).max(axis=1)
        is_best = p.sum(axis=1, where=is_requested) > others * (1 + 1e-9)
        return self.mean_over(is_best, self.has_role(EDIT))

    def typical_gain(self, which: str) -> Metric:
        """Probability gained beyond the agent's by options typical of a group, see `is_typical_option`."""
        excess = (self.reader.probability - self.reader.start) - (self.belief - self.old_belief)
        typical = is_typical_option(self.results, which)
        return self.mean_over(excess.sum(axis=1, where=typical), self.crossing & typical.any(axis=1))


def _define_change(kind: str) -> MetricDefinition:
    """D_d of a kind of others."""
    people = {
        NEW_HOLDERS: "with the new object, as in the paper",
        OLD_HOLDERS: "with the old object",
        NEITHER: "with neither (the old object counts as right: below 0 the model draws them to the new one, "
        "above 0 to the old one)",
    }
    return MetricDefinition(
        CHANGE[kind],
        f"Change of p(right) - p(wrong) over old and new object, for other people {people[kind]}.",
        "high",
        # Of those with neither, 0 is best: who is drawn to the old object is moved as well.
        "table" if kind == NEITHER else "headline",
        compute=lambda a: a.mean_over(a.changes.change, a.has_role(kind)),
        needs_edit=True,
        label=f"D_d {kind}",
    )


def _define_excess(kind: str) -> MetricDefinition:
    """The mean of |X_d| of a kind of others."""
    return MetricDefinition(
        EXCESS[kind], f"Mean size of X_d, the difference of D_d from the agent's own: {kind}.", "low",
        "compared", compute=lambda a: a.mean_over(np.abs(a.changes.excess), a.has_role(kind)),
        needs_edit=True, label=f"|X_d| {kind}",
    )  # fmt: skip


def _define_still_right(kind: str) -> MetricDefinition:
    """The share of a kind of others whose answer stays right."""
    return MetricDefinition(
        STILL_RIGHT[kind],
        f"Share of questions about {kind} whose generated answer is one of the agent's best.",
        "high", "compared", follows_sequences=kind == OLD_HOLDERS,
        compute=lambda a: a.mean_over(a.is_right, a.has_role(kind)), label=f"kept {kind}",
    )  # fmt: skip


METRICS: tuple[MetricDefinition, ...] = (
    MetricDefinition(
        SUCCESS, "Share of edits whose new object is the most probable of all candidates.", "high",
        "headline", True, Answers.edit_success, needs_edit=True, version=2, label="edit success",
    ),
    *map(_define_change, OTHERS),
    MetricDefinition(
        LOWERED, f"Share of questions about others whose D falls by {LEAST_FALL} more than the agent's.",
        "low", "compared", compute=lambda a: a.mean_over(a.changes.excess < -LEAST_FALL, a.has_role(*OTHERS)),
        needs_edit=True, label="confidence lowered",
    ),
    *map(_define_still_right, OTHERS),
    *map(_define_excess, OTHERS),
    MetricDefinition(
        ACCURACY,
        "Share of the edited person's other facts that are still the most probable, over edits to another "
        "category, as in the paper.",
        "high", "headline", True, lambda a: a.accuracy(np.True_), label="cross-property accuracy",
    ),
    MetricDefinition(
        STATED, "The same of facts that the corpus states.", "high", "compared",
        compute=lambda a: a.accuracy(is_stated(a.results)), label="cross-property accuracy, stated",
    ),
    MetricDefinition(
        UNSTATED, "The same of facts that the corpus never states.", "high",
        compute=lambda a: a.accuracy(~is_stated(a.results)), label="cross-property accuracy, unstated",
    ),
    MetricDefinition(
        UNREASONED,
        "Of the person's other facts that were right before, the share lost though the agent's answer stays.",
        "low", "compared", compute=lambda a: a.mean_over(a.is_lost & a.is_gold_true, a.crossing & a.was_true),
        needs_edit=True, label="lost without reason",
    ),
    MetricDefinition(
        SHARED, "Of the person's other facts that are lost, the share that the agent loses too.", "high",
        compute=lambda a: a.mean_over(~a.is_gold_true, a.crossing & a.is_lost), needs_edit=True,
        label="loss gold shares",
    ),
    MetricDefinition(
        RATIO,
        "Part of the agent's change of belief about the person's other facts that the model makes: 1 as the "
        "agent, 0 none.",
        "one", "compared", compute=lambda a: a.movement.propagation_ratio, needs_edit=True,
        label="amplification ratio",
    ),
    MetricDefinition(
        OWN_TV, "Total variation to the agent about the person's other facts.", "low", "compared",
        compute=lambda a: a.mean_over(total_variation(a.reader.probability, a.belief), a.crossing),
        label="TV own",
    ),
    MetricDefinition(
        STEREOTYPE,
        "Probability that objects typical of the new object's group gain in the person's other facts, beyond "
        "the agent's; true objects apart.",
        "low", "compared", compute=lambda a: a.typical_gain("typical_new"), needs_edit=True, version=2,
        label="stereotype excess",
    ),
    MetricDefinition(
        OLD_STEREOTYPE, "The same of objects typical of the old object's group.", "low", needs_edit=True,
        compute=lambda a: a.typical_gain("typical_old"), version=2, label="old stereotype excess",
    ),
)  # fmt: skip
"""Every metric, in the order of tables."""
