"""Who answers an evaluation's questions: the model, and references that bound it (design.md 6)."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from testbed.engine.records import Columns
from testbed.engine.results import Choices, Results
from testbed.protocol import ABSENT, Facet, is_equally_good
from testbed.scores.cores import lazy_property
from testbed.scores.distances import has_moved, total_variation
from testbed.scores.metric import Metric, MetricDefinition, sum_by_case

BEFORE_EDIT, NO_EDIT = "before edit", "no edit"
FREQUENCY, PERFECT, BAYESIAN = "frequency reader", "perfect revision", "Bayesian reader"
CHANCE, ONE_HALF = "chance", "constant one half"
RECALIBRATED = f"{NO_EDIT}, recalibrated"
RECALIBRATED_BY_STRATUM = f"{NO_EDIT}, recalibrated by stratum"
READERS = {
    BEFORE_EDIT: "the unedited model against the agent before the edit",
    NO_EDIT: "the unedited model against the agent after the edit",
    RECALIBRATED: "the same under one temperature, or one a stratum, fitted on facts that no case uses",
    FREQUENCY: "an ideal model that answers with corpus frequencies, the request counted with its weight",
    PERFECT: "this model, if it became the agent; its change differs, since its beliefs before differ",
    BAYESIAN: "the agent itself",
    ONE_HALF: "p(true) = p(false) = 1/2 for every claim, and no other answer",
    CHANCE: "an option at random",
}
"""What each reference row is, for people."""


Found = TypeVar("Found")


class Reader(NamedTuple):
    """Answers to all questions of some results, whose choices are N and claims M.

    Attributes:
        probability: float64[N, C], the distribution over each choice's options.
        answer: int64[N], the most probable or generated object.
        claims: float64[M, 2] of true and false, or None where it gives no truth values.
        start, start_answer: probability and answer before the edit.
        time: with which of the agent's beliefs it is compared, 0 for those before the edit.
        texts: object[P], what it writes where cases ask for passages: tuples of sentences as they were read,
            see `corpus.text.reading.Line`; None where the evaluation has not said.
        losses: float64[P], of a token of each text under the unedited model; NaN of no tokens.
        claims_only: whether it gives truth values alone, and has the metrics of claims alone.
        lost: bool[E], the cases that it has no numbers for, which count as failures; None where there are
            none.
        temperatures: float64[N, 2], before and after the edit, fitted on other cases than each choice's; None
            where the evaluation fits none, see `testbed.scores.recalibration`.
    """

    probability: np.ndarray
    answer: np.ndarray
    claims: np.ndarray | None
    start: np.ndarray
    start_answer: np.ndarray
    time: int
    texts: np.ndarray | None = None
    losses: np.ndarray | None = None
    claims_only: bool = False
    lost: np.ndarray | None = None
    temperatures: np.ndarray | None = None


def reference_readers(results: Results, editor: str, interpretation: int = 1) -> dict[str, Reader]:
    """The edited model under its name, and what to hold it against: READERS.

    Args:
        interpretation: which of the agent's beliefs after the edit is the standard, from 1.
    """
    c, logic, time = results.choices, results.claims, interpretation
    lm, frequency, agent = (np.moveaxis(x, 1, 0) for x in (c.lm, c.frequency, c.agent))
    tops = [np.take_along_axis(c.options, f.argmax(-1)[:, None], -1)[:, 0] for f in frequency]
    generated_answers = np.moveaxis(c.lm_answer, -1, 0)
    agent_answer, believed = c.agent_answer[:, time], logic.agent[:, time]
    true = np.stack([believed, 1 - believed], axis=-1)
    # One array before and after is how a reader says that nothing changed.
    before, generated, claims = lm[0], generated_answers[0], logic.lm[:, 0]
    unedited = Reader(before, generated, claims, before, generated, time)
    half = unedited._replace(claims=np.full_like(claims, 0.5), claims_only=True)
    edited = Reader(lm[1], generated_answers[1], logic.lm[:, 1], before, generated, time, lost=results.lost)
    return {
        BEFORE_EDIT: unedited._replace(time=0),
        editor: edited,
        NO_EDIT: unedited,
        **_recalibrated_readers(results, unedited),
        FREQUENCY: Reader(frequency[time], tops[time], None, frequency[0], tops[0], time),
        BAYESIAN: Reader(agent[time], agent_answer, true, agent[0], c.agent_answer[:, 0], time),
        PERFECT: Reader(agent[time], agent_answer, true, before, generated, time),
        **({ONE_HALF: half} if len(logic.case) else {}),
    }


def _recalibrated_readers(results: Results, unedited: Reader) -> dict[str, Reader]:
    """The unedited model under one temperature; also under one of each stratum, where these differ."""
    if results.recalibrated is None:
        return {}
    one, by_stratum = np.moveaxis(results.recalibrated, 1, 0)
    readers = {RECALIBRATED: unedited._replace(probability=one)}
    if not np.array_equal(one, by_stratum):
        readers[RECALIBRATED_BY_STRATUM] = unedited._replace(probability=by_stratum)
    return readers


class Answers:
    """A reader's answers to the questions of some results, as metrics are computed from them.

    Attributes:
        choices, cases: of the results.
        belief, old_belief: float64[N, C], the agent's at the reader's time, and before the edit.
        requested: int[N], the requested object of each choice's case.
    """

    def __init__(self, results: Results, reader: Reader) -> None:
        self.results, self.reader = results, reader
        self.choices, self.cases = results.choices, results.cases
        self.belief, self.old_belief = self.choices.agent[:, reader.time], self.choices.agent[:, 0]
        self.requested = self.cases["object"][self.choices.case]

    @lazy_property
    def is_right(self) -> np.ndarray:
        """bool[N]: whether each answer is as good as the agent's."""
        return is_as_good(self.choices, self.reader.answer, self.reader.time)

    @lazy_property
    def distance(self) -> np.ndarray:
        """float64[N]: total variation between reader and agent."""
        return total_variation(self.reader.probability, self.belief)

    @lazy_property
    def start_distance(self) -> np.ndarray:
        """float64[N]: the same of what the reader said before the edit."""
        return total_variation(self.reader.start, self.belief)

    @lazy_property
    def agent_moved(self) -> np.ndarray:
        """bool[N]: whether the edit moved the agent's belief."""
        return self.once(("agent moved", self.reader.time), lambda: has_moved(self.old_belief, self.belief))

    def has_role(self, *roles: str) -> np.ndarray:
        """bool[N]: the choices of some roles."""
        return self.once(("role", roles), lambda: np.isin(self.choices.role, roles))

    def once(self, key: Hashable, find: Callable[[], Found]) -> Found:
        """What `find` finds, once for all readers; `key` says what of the results it is."""
        known = self.results.memory
        if key not in known:
            known[key] = find()
        return known[key]

    def mean_over(self, values: np.ndarray, among: np.ndarray | bool = True) -> Metric:
        """The mean of values of choices over some of them; a share where they are true or false."""
        return sum_by_case(values, self.choices.case, len(self.results), among)

    def ratio_over(self, numerator: np.ndarray, denominator: np.ndarray, among: np.ndarray) -> Metric:
        """The ratio of sums of two values of choices over some of them."""
        return ratio_by_case(numerator, denominator, self.choices.case, len(self.results), among)


def ratio_by_case(
    numerator: np.ndarray, denominator: np.ndarray, case: np.ndarray, cases: int, among: np.ndarray
) -> Metric:
    """Two values of questions, each summed by case, over some of them; see `sum_by_case`."""
    there = np.flatnonzero(among)
    top, bottom = (np.bincount(case[there], x[there], cases) for x in (numerator, denominator))
    return Metric(top, bottom)


def is_as_good(choices: Choices, answer: np.ndarray, time: int) -> np.ndarray:
    """bool[N]: whether an answer, int[N], is as probable to the agent as its own at that time.

    Where several objects are most probable, the agent's answer is the first of them, and any other is right.
    """
    best_answer = choices.agent_answer[:, time]
    good = answer == best_answer
    others = np.flatnonzero(~good)
    options, agent = choices.options[others], choices.agent[others, time]

    def belief_in(obj: np.ndarray) -> np.ndarray:
        is_option = options == obj[others, None]
        place = np.arange(len(is_option)), is_option.argmax(-1)
        return np.where(is_option[place], agent[place], 0.0)

    good[others] = is_equally_good(belief_in(answer), belief_in(best_answer))
    return good


def is_undetermined(choices: Choices, time: int = 0) -> np.ndarray:
    """bool[N]: to which questions the corpus leaves the agent no answer, at 0 before the edit."""
    return choices.agent_answer[:, time] == ABSENT


def has_to_change(choices: Choices, time: int = 1) -> np.ndarray:
    """bool[N]: whether the agent's answer before the edit is none of its best at that time."""
    return ~is_as_good(choices, choices.agent_answer[:, 0], time)


class EvaluationMetrics(Protocol):
    """How an evaluation turns results into numbers."""

    @property
    def headline_subset(self) -> str:
        """The cases that headlines are over, where there are any of them."""

    @property
    def request_origin(self) -> str:
        """Who draws the requests, as titles of headlines end."""

    @property
    def interpretations(self) -> tuple[str, ...]:
        """What the request is to the agent, once for each of its beliefs after the edit."""

    @property
    def facets(self) -> Mapping[str, type[Facet]]:
        """Further columns of cases by name, and what they hold."""

    @property
    def choice_facets(self) -> Mapping[str, type[Facet]]:
        """Further columns of choices."""

    @property
    def metrics(self) -> Sequence[MetricDefinition]:
        """Every metric, in the order of tables."""

    def readers(self, results: Results, editor: str) -> dict[str, Reader]:
        """The edited model under its editor's name, and the references it is held against."""

    def measure(self, results: Results, reader: Reader) -> dict[str, Metric]:
        """The metrics of one reader, case by case; those that mean nothing for it are left out."""

    def subsets(self, results: Results) -> dict[str, np.ndarray]:
        """bool[E] of each part of the cases that is reported on; "all" comes first and holds all of them."""


def columns_of(evaluation: EvaluationMetrics) -> Columns:
    """What an evaluation's tables hold."""
    return Columns(evaluation.interpretations, evaluation.facets, evaluation.choice_facets)
