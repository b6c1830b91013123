"""TAXI's metrics, their reverse twins, and what they leave out (Powell et al. 2024, §3).

Labels are TAXI's. Right is the most probable of the options offered; of several as probable, each in part. An
inverse question to which the corpus leaves the agent no answer counts neither as right nor as wrong, whoever
is held against that agent.
"""

from functools import partial

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.dutch_book import LOGIC, sure_loss
from testbed.evaluations.held_out import held_out_subsets
from testbed.evaluations.taxi import EDIT, INTERPRETATIONS, OTHER_FACT, PROPERTY, REVERSE, UNSHARED
from testbed.protocol import ABSENT, is_equally_good
from testbed.run.strata import STRATA
from testbed.scores import readers
from testbed.scores.cores import lazy_property
from testbed.scores.distances import total_variation
from testbed.scores.metric import DISTANCE, Metric, MetricDefinition, sum_by_case
from testbed.scores.movement import Movement
from testbed.scores.readers import BAYESIAN, CHANCE, Reader, is_undetermined, reference_readers

SUCCESS, PROPERTIES, INVARIANCE, CONSISTENCY = (
    "success", "properties", "invariance", "consistency",
)  # fmt: skip
FOUR = (SUCCESS, PROPERTIES, INVARIANCE, CONSISTENCY)
AGREEMENT, OTHERS_RIGHT, MASS_OUTSIDE = "agreement", "others_kept", "mass_outside"
CORRECTION_READER = f"{BAYESIAN}, {INTERPRETATIONS[1]}"
TYPICAL, RARE = "typical subject", "rare subject"
MEMBER_BINS = ("1", "2-3", "4-7", "8-15", "16-31", "32+")
_BIN_STARTS = (2, 4, 8, 16, 32)


def reverse_name(name: str) -> str:
    """The metric of questions that are asked inversely."""
    return f"{name}.reverse"


def stratum_name(name: str, stratum: str) -> str:
    """The metric of questions whose fact was stated so often."""
    return f"{name}.{stratum.lower()}"


def member_bin_name(name: str) -> str:
    """What the subset of a bin of members is called."""
    return f"members {name}"


def make_readers(results: Results, editor: str) -> dict[str, Reader]:
    """The edited model and the references as interpreted first; the agent as interpreted second; chance."""
    by_name = reference_readers(results, editor)
    correction = reference_readers(results, editor, interpretation=2)[BAYESIAN]
    offered = results.choices.offered
    even = offered / offered.sum(1, keepdims=True)
    first = results.choices.options[np.arange(len(even)), offered.argmax(1)]
    return by_name | {CORRECTION_READER: correction, CHANCE: Reader(even, first, None, even, first, 1)}


def make_subsets(results: Results) -> dict[str, np.ndarray]:
    """bool[E] of each part.

    By frequency of the subject, by superordinate, by members of the new category, by what was held out.
    """
    cases = results.cases
    typical, superordinate = cases["typical"].astype(bool), cases["superordinate"].astype(str)
    masks = {"all": np.ones(len(results), bool), TYPICAL: typical, RARE: ~typical}
    masks |= {str(name): superordinate == name for name in np.unique(superordinate)}
    bins = np.searchsorted(_BIN_STARTS, cases["members"], side="right")
    masks |= {member_bin_name(MEMBER_BINS[i]): bins == i for i in np.unique(bins)}
    return masks | held_out_subsets(cases)


class Answers(readers.Answers):
    """One reader's answers: the most probable of the options that are offered."""

    @lazy_property
    def best_options(self) -> np.ndarray:
        """bool[N, C]: the reader's most probable options."""
        return _best_options(self.reader.probability, self.choices.offered)

    @lazy_property
    def right_share(self) -> np.ndarray:
        """float64[N]: share of the best options that are the right one; 1/n of n equal ones."""
        return self._share_of_best(self._is_value("label"))

    @property
    def agreement_share(self) -> np.ndarray:
        """float64[N]: share of the best options that are among the agent's."""
        return self._share_of_best(_best_options(self.belief, self.choices.offered))

    @property
    def old_share(self) -> np.ndarray:
        """float64[N]: share of the best options that are the value before the edit."""
        return self._share_of_best(self._is_value("old"))

    @lazy_property
    def movement(self) -> Movement:
        """Of all forward questions but the request's own."""
        return Movement(self, self.has_role(PROPERTY, UNSHARED, OTHER_FACT))

    def share_over(self, values: np.ndarray, questions: np.ndarray) -> Metric:
        """The share of questions in which something is so, each as far as it is so."""
        return self.mean_over(values, questions)._replace(share=True)

    def questions_of(self, metric: str, inverse: bool = False, stratum: str = "") -> np.ndarray:
        """bool[N]: what one of FOUR asks, forward or inversely; of one stratum, where it is named."""
        c = self.choices
        if inverse:
            of_category = c.relation == self.cases["relation"][c.case]
            questions = self.has_role(REVERSE) & (of_category == (metric == SUCCESS))
            questions = questions & ~is_undetermined(c, self.reader.time)
        else:
            questions = self.has_role(EDIT if metric == SUCCESS else PROPERTY)
        if metric in (INVARIANCE, CONSISTENCY):
            questions = questions & (c.facets["changed"] == (metric == CONSISTENCY))
        return questions & (c.facets["stratum"] == stratum) if stratum else questions

    def value_probability(self, name: str) -> np.ndarray:
        """float64[N]: the reader's probability of the old value or the label, a facet of choices."""
        return self.reader.probability.sum(1, where=self._is_value(name))

    def _share_of_best(self, options: np.ndarray) -> np.ndarray:
        return (self.best_options & options).sum(1) / self.best_options.sum(1)

    def _is_value(self, name: str) -> np.ndarray:
        value = self.choices.facets[name][:, None]
        return (self.choices.options == value) & (value != ABSENT)


def _best_options(p: np.ndarray, offered: np.ndarray) -> np.ndarray:
    """bool[N, C]: the most probable of the options that are offered, and those as probable."""
    among = np.where(offered, p, -1.0)
    return offered & is_equally_good(among, among.max(1, keepdims=True))


def _renormalise_over_options(p: np.ndarray, offered: np.ndarray) -> np.ndarray:
    """Probabilities as shares of what the offered options have; equal ones where that is nothing."""
    option_mass = np.where(offered, p, 0.0)
    total = option_mass.sum(1, keepdims=True)
    even = offered / np.maximum(offered.sum(1, keepdims=True), 1)
    return np.where(total > 0, option_mass / np.where(total > 0, total, 1.0), even)


def _share_right(a: Answers, metric: str, inverse: bool = False, stratum: str = "") -> Metric:
    return a.share_over(a.right_share, a.questions_of(metric, inverse, stratum))


def _share_right_by_edit(a: Answers, metric: str) -> Metric:
    """Each edit's own share, edits counting alike."""
    shares = _share_right(a, metric)
    there = shares.denominator > 0
    return Metric(shares.numerator / np.where(there, shares.denominator, 1.0), there.astype(float))


def _share_agreeing(a: Answers, stratum: str = "") -> Metric:
    return a.share_over(a.agreement_share, a.questions_of(PROPERTIES, stratum=stratum))


def _distance_over_options(a: Answers) -> Metric:
    p, q = (_renormalise_over_options(x, a.choices.offered) for x in (a.reader.probability, a.belief))
    return a.mean_over(total_variation(p, q), a.has_role(PROPERTY))._replace(limits=DISTANCE)


def _distance_over_candidates(a: Answers, role: str) -> Metric:
    distance = a.mean_over(total_variation(a.reader.probability, a.belief), a.has_role(role))
    return distance._replace(limits=DISTANCE)


def _excess_mass_outside(a: Answers) -> Metric:
    each = (a.reader.probability, a.belief)
    p, q = (np.clip(1 - x.sum(1, where=a.choices.offered), 0, 1) for x in each)
    return a.mean_over(np.clip(p - q, 0, None), a.has_role(PROPERTY))._replace(limits=DISTANCE)


def _share_of_new_over_old(a: Answers) -> Metric:
    return a.share_over(
        a.value_probability("label") > a.value_probability("old"), a.questions_of(CONSISTENCY)
    )


def _dutch_book_loss(a: Answers) -> Metric:
    """The sure loss of who believes the reader's truth values; the claims of a case stand together."""
    size = len(a.results)
    if a.reader.claims is None:
        return Metric(np.zeros(size), np.zeros(size))
    loss = sure_loss(a.reader.claims.reshape(-1, len(LOGIC), 2))
    return sum_by_case(loss, a.results.claims.case[:: len(LOGIC)], size)._replace(limits=(0.0, np.inf))


_LABELS = {name: name for name in FOUR} | {SUCCESS: "edit success", PROPERTIES: "property success"}
_RIGHT_WHERE = {
    SUCCESS: "Share of edits after which the new category is the most probable option",
    PROPERTIES: "Share of property questions whose right value is the most probable option",
    INVARIANCE: "Of properties that should stay, the share whose right value is the most probable option",
    CONSISTENCY: "Of properties that should change, the share whose right value is the most probable option",
}
METRICS: tuple[MetricDefinition, ...] = (
    *(MetricDefinition(name, f"{_RIGHT_WHERE[name]}.", "high", "headline",
                       name in (SUCCESS, CONSISTENCY), partial(_share_right, metric=name), needs_edit=True,
                       label=_LABELS[name])
      for name in FOUR),
    *(MetricDefinition(
          reverse_name(name),
          f"As {_LABELS[name]}, by inverse questions: which subject is one, or has it? The edited subject "
          "is right. Questions that the corpus leaves undecided are left out.",
          "high", "compared", compute=partial(_share_right, metric=name, inverse=True), needs_edit=True,
          label=f"{_LABELS[name]}, reverse")
      for name in FOUR),
    MetricDefinition(
        AGREEMENT,
        "Share of property questions in which the most probable of the options is the agent's, too.",
        "high", "compared", compute=_share_agreeing),
    MetricDefinition(
        "tv.options",
        "Total variation to the agent over the options of a property, renormalised over the options.",
        "low", "compared", compute=_distance_over_options, label="TV options"),
    MetricDefinition(
        MASS_OUTSIDE,
        "Probability of words that are no option of a property, in excess of the agent's.",
        "low", "compared", compute=_excess_mass_outside, label="mass outside"),
    MetricDefinition(
        OTHERS_RIGHT, "Share of other subjects' facts whose right object is still the most probable.",
        "high", "compared", compute=lambda a: a.share_over(a.right_share, a.has_role(OTHER_FACT)),
        label="others kept"),
    MetricDefinition(
        "propagation_ratio",
        "Part of the agent's change of belief that the model makes, the category apart: 1 as the agent, 0 "
        "none.",
        "one", "compared", compute=lambda a: a.movement.propagation_ratio, needs_edit=True,
        label="propagation ratio"),
    MetricDefinition(
        "tv", "Total variation to the agent over all values that a property may have.",
        "low", compute=partial(_distance_over_candidates, role=PROPERTY), label="TV all"),
    MetricDefinition(
        "old_kept", "Share of changed properties whose old value is still preferred.",
        "low", compute=lambda a: a.share_over(a.old_share, a.questions_of(CONSISTENCY)), needs_edit=True,
        label="kept old value"),
    MetricDefinition(
        "new_over_old", "Share of changed properties whose new value is likelier than the old one.",
        "high", compute=_share_of_new_over_old, needs_edit=True, label="new over old"),
    MetricDefinition(
        "skill",
        "Share of the unedited model's distance to the agent that the edit removes; below 0 is harm.",
        "high", compute=lambda a: a.movement.skill, needs_edit=True, label="coherence gained"),
    MetricDefinition(
        "dutch_book",
        "Sure loss of the model, for a unit stake, to somebody who bets at its own truth values, over a "
        "property that should change and a fact of another subject.",
        "low", compute=_dutch_book_loss, of_claims=True, label="Dutch book loss"),
    MetricDefinition(
        "tv.absent",
        "Total variation to the agent about properties that only the old or only the new category has.",
        "low", compute=partial(_distance_over_candidates, role=UNSHARED), label="TV absent"),
    *(MetricDefinition(
          stratum_name(name, stratum), f"{name.capitalize()} over facts that the corpus states {often}.",
          "high", compute=partial(compute, stratum=stratum), needs_edit=name == CONSISTENCY,
          label=f"{name} {stratum}")
      for name, compute in ((CONSISTENCY, partial(_share_right, metric=CONSISTENCY)),
                            (AGREEMENT, _share_agreeing))
      for stratum, often in zip(STRATA, ("never", "one to three times", "more often"), strict=True)),
    *(MetricDefinition(f"{name}.by_edit", f"The mean over edits of each one's {_LABELS[name]}.", "high",
                       compute=partial(_share_right_by_edit, metric=name), needs_edit=True,
                       label=f"{_LABELS[name]}, by edit")
      for name in (PROPERTIES, INVARIANCE, CONSISTENCY)),
)  # fmt: skip
"""Every metric, in the order of tables."""
