"""LEME's metrics: the nine questions, their further forms, claims, errors, simple measures, short questions.

What is asked of passages has an answer for every pair of them, NaN where it does not apply, and a metric is
the mean of the others. What is held against the agent is so under the interpretation of the row. Efficacy,
generalisation, locality and portability are those of Yao et al. 2023.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.leme import BELOW, CHILD, COUPLED, EDIT, OTHER, RELATED, SUBJECT, SYNONYM, TWIN
from testbed.evaluations.leme import questions as q
from testbed.evaluations.leme.passages import ERROR_CLASSES, PassagePair, passage_pairs
from testbed.evaluations.leme.questions import CLAIMS, is_right, share_of_true
from testbed.evaluations.leme.standard import mean_log_probability
from testbed.evaluations.leme.statements import (
    count_words,
    mean_of_known,
    ngram_entropy,
    rouge_1,
    sentence_similarity,
)
from testbed.protocol import ABSENT, is_equally_good
from testbed.run.strata import STRATA
from testbed.scores import readers
from testbed.scores.cores import lazy_property
from testbed.scores.distances import total_variation
from testbed.scores.metric import Better, Metric, MetricDefinition, Place, make_id, sum_by_case
from testbed.scores.movement import Movement

EDIT_SUBJECT, EDIT_RELATED = "edit.subject", "edit.related"
FACTUAL_SUBJECT, FACTUAL_RELATED = "factual.subject", "factual.related"
INTERNAL_SUBJECT, INTERNAL_RELATED = "internal.subject", "internal.related"
CROSS, TOPICALITY, NATURALNESS = "cross", "topicality", "naturalness"
NINE = (EDIT_SUBJECT, EDIT_RELATED, FACTUAL_SUBJECT, FACTUAL_RELATED, INTERNAL_SUBJECT, INTERNAL_RELATED,
        CROSS, TOPICALITY, NATURALNESS)  # fmt: skip
NINE_LABELS = {name: name.replace(".", ", ") for name in NINE} | {CROSS: "cross-passage"}
BELIEVED_SUBJECT, BELIEVED_RELATED = "belief.subject", "belief.related"
SATISFIABLE, MOST_TRUE = "satisfiable", "true_together"
JOINT = "log_probability"
DRIFT_NEW, DRIFT_OLD, DRIFT_THIRD = "drift.new", "drift.old", "drift.third"
COUPLED_NEW, TWIN_NEW, COUPLING = "coupled_new", "twin_new", "coupling"
ON_COUPLE = "on_couple"
FIRST_DRIFT, DISTINCT, SENTENCES = "first_drift", "distinct", "sentences"
ENTROPY, PERPLEXITY = "entropy", "perplexity"
EFFICACY, GENERALISATION, LOCALITY, PORTABILITY = "efficacy", "generalisation", "locality", "portability"
FOUR = (EFFICACY, GENERALISATION, LOCALITY, PORTABILITY)
TV, RATIO = "tv", "propagation_ratio"

INJECTION, UPDATE, CORRECTION, TRUE = "injection", "update", "correction", "already true"
KINDS = (INJECTION, UPDATE, CORRECTION, TRUE)
KNOWN = 0.5
"""What the unedited model gives more than this, it says."""

over_everything, as_surveyed = "{}.everything".format, "{}.surveyed".format
"""A question where nothing is left out, and one as in the paper's survey."""
neutral_share = "{}.neutral".format
"""The share of passages that say nothing that a question is about."""
rouge_metric = "rouge.{}".format
"""The simple measure of words that is held against a question."""


def coupled_right(stratum: str) -> str:
    """How far a coupled fact of a stratum is said right."""
    return f"coupled_right.{stratum.lower()}"


def coupled_answers(stratum: str) -> str:
    """How far a coupled fact of a stratum is answered right."""
    return f"coupled_answered.{stratum.lower()}"


def support_of(claim: str) -> str:
    """The share of passages that support a claim."""
    return f"supported.{make_id(claim)}"


def contradiction_of(claim: str) -> str:
    """The share of passages that contradict a claim."""
    return f"contradicted.{make_id(claim)}"


def error_share(name: str) -> str:
    """The share of pairs of passages that have an error of a class."""
    return f"error.{make_id(name)}"


SIMPLE = {rouge_metric(question): question for question in NINE if question != NATURALNESS}
SIMPLE |= dict.fromkeys((ENTROPY, PERPLEXITY, DISTINCT), NATURALNESS)
"""Simple measures of texts, and the question that each is held against."""


class Answers(readers.Answers):
    """What one reader writes, in pairs of passages, and answers."""

    @lazy_property
    def pairs(self) -> list[PassagePair] | None:
        """Every pair of passages; None of a reader that writes nothing."""
        texts = self.reader.texts
        return (
            texts
            if texts is None
            else passage_pairs(self.results, texts, self.reader.time, self.reader.losses)
        )

    def mean_over_pairs(self, answer: "PairAnswer", is_share: bool) -> Metric | None:
        """The mean of a question's answers where it applies."""
        if self.pairs is None:
            return None
        values = np.array([answer(pair) for pair in self.pairs], float)
        case, is_known = np.array([pair.case for pair in self.pairs], int), ~np.isnan(values)
        metric = sum_by_case(np.nan_to_num(values), case, len(self.results), is_known)
        return metric._replace(share=is_share)

    @lazy_property
    def best_place(self) -> np.ndarray:
        """int[N]: the place among the options of what is most probable to the reader."""
        return self.reader.probability.argmax(axis=1)

    @lazy_property
    def has_best(self) -> np.ndarray:
        """bool[N]: whether one option is likelier than every other; else the reader answers nothing."""
        probability = self.reader.probability
        return (probability == probability.max(axis=1, keepdims=True)).sum(axis=1) == 1

    @lazy_property
    def says_new(self) -> np.ndarray:
        """bool[N]: whether that is the requested object."""
        return self.has_best & (self._take_best(self.choices.options) == self.requested)

    @lazy_property
    def is_right(self) -> np.ndarray:
        """bool[N]: whether nothing is likelier to the agent, at the reader's time."""
        return self.has_best & self._take_best(
            is_equally_good(self.belief, self.belief.max(1, keepdims=True))
        )

    @lazy_property
    def was_right(self) -> np.ndarray:
        """bool[N]: whether nothing was likelier to the agent before the edit."""
        return self.has_best & self._take_best(
            is_equally_good(self.old_belief, self.old_belief.max(1, keepdims=True))
        )

    @lazy_property
    def movement(self) -> Movement:
        """Away from the edited fact."""
        return Movement(self, ~self.has_role(EDIT, SYNONYM))

    def mean_new(self, role: str) -> Metric:
        """The share of choices of a role that are answered with the requested object."""
        return self.mean_over(self.says_new, self.has_role(role))

    def mean_coupled(self, stratum: str) -> Metric:
        """The share of right answers to coupled facts of a stratum."""
        is_of_stratum = self.choices.facets["stratum"] == stratum
        return self.mean_over(self.is_right, self.has_role(COUPLED) & is_of_stratum)

    def portability(self, *roles: str) -> Metric:
        """The share of right answers to choices of some roles of which the agent's belief moved."""
        return self.mean_over(self.is_right, self.movement.where_moved & self.has_role(*roles))

    def _take_best(self, values: np.ndarray) -> np.ndarray:
        return np.take_along_axis(values, self.best_place[:, None], axis=1)[:, 0]


PairAnswer = Callable[[PassagePair], float]


def _of_pairs(
    name: str,
    description: str,
    answer: PairAnswer,
    better: Better = "high",
    place: Place = "table",
    *,
    needs_edit: bool = False,
    is_share: bool = True,
    label: str = "",
) -> MetricDefinition:
    """A metric of passages: the mean of what every pair answers."""
    compute = partial(Answers.mean_over_pairs, answer=answer, is_share=is_share)
    return MetricDefinition(name, description, better, place, name in _HEAD, compute, needs_edit, label=label)


def _rouge_with_truth(pair: PassagePair, role: str) -> float:
    texts = [pair.standard.texts[claim.fact] for claim in pair.claims[f"ground truth, {role}"]]
    return rouge_1(pair.words[role], count_words(" ".join(texts)))


def _rouge_with_request(pair: PassagePair, role: str) -> float:
    return rouge_1(pair.words[role], count_words(pair.standard.request_text))


def _rouge_with_names(pair: PassagePair) -> float:
    names = pair.standard.names
    return mean_of_known(
        [rouge_1(words, count_words(names.get(role, ""))) for role, words in pair.words.items()]
    )


def _coupled_new(pair: PassagePair) -> float:
    return q.follow_share(pair.of_related, pair.standard, pair.standard.coupled)


def _twin_new(pair: PassagePair) -> float:
    return q.follow_share(pair.statements.get(TWIN, ()), pair.standard, pair.standard.twin)


def _coupled_right(pair: PassagePair, stratum: str) -> float:
    fact = pair.standard.coupled
    if fact is None or pair.standard.beliefs[fact].stratum != stratum:
        return math.nan
    return share_of_true(is_right(one, pair.standard) for one in pair.of_related if one.fact == fact)


def _is_neutral(pair: PassagePair, answer: PairAnswer) -> float:
    return float(math.isnan(answer(pair)))


def _verdict_share(pair: PassagePair, claim: str, sign: int) -> float:
    return share_of_true(verdict == sign for verdict in pair.verdicts[claim])


def _has_error(pair: PassagePair, name: str) -> float:
    return float(bool(pair.errors[name])) if pair.lines else math.nan


def _possible_verdicts(claim: str) -> Iterator[tuple[Callable[[str], str], str, Better, int]]:
    """What a passage may make of a claim, and what is better: an old fact had better not be supported."""
    is_outdated = claim.startswith("old") or claim.endswith("moves")
    yield support_of, "supported", "low" if is_outdated else "high", 1
    yield contradiction_of, "contradicted", "high" if is_outdated else "low", -1


_LEFT = "statements about the edited fact are left out, as in the survey"
_HEAD = (EDIT_SUBJECT, FACTUAL_SUBJECT, CROSS)
_NEED_EDIT = (EDIT_SUBJECT, EDIT_RELATED)
"""Questions about the request."""
# fmt: off
QUESTIONS: dict[str, tuple[str, PairAnswer]] = {
    EDIT_SUBJECT: ("Of the subject's passage's statements of the edited fact, the share of the new object.",
                   lambda pair: q.edit_said_share(pair.of_subject, pair.standard)),
    EDIT_RELATED: ("1 minus the share of the related passage's statements that the request makes impossible.",
                   lambda pair: q.still_possible_share(pair.of_related, pair.standard)),
    FACTUAL_SUBJECT: ("Of statements of facts that stay in the subject's passage, the share that are true.",
                      lambda pair: q.factual_share(pair.of_subject, pair.standard)),
    FACTUAL_RELATED: ("The same of the related passage.",
                      lambda pair: q.factual_share(pair.of_related, pair.standard)),
    INTERNAL_SUBJECT: ("Of pairs of statements of one fact in the subject's passage, the share that agree; "
                       f"{_LEFT}.",
                       lambda pair: q.internal_consistency(pair.of_subject, pair.standard.edited_fact)),
    INTERNAL_RELATED: ("The same of the related passage.",
                       lambda pair: q.internal_consistency(pair.of_related, pair.standard.edited_fact)),
    CROSS: ("Of pairs of statements, one of each passage, about one fact or about the two coupled facts, the "
            "share that agree.",
            lambda pair: q.cross_consistency(pair.of_subject, pair.of_related, pair.standard)),
    TOPICALITY: ("Share of sentences about the passage's entity, in both passages.",
                 lambda pair: q.topical_share(pair.by_entity)),
    NATURALNESS: ("Share of sentences that are whole and name the right kinds of things, in both passages.",
                  lambda pair: q.natural_share(pair.lines)),
}
ROUGE: dict[str, tuple[str, PairAnswer]] = {
    EDIT_SUBJECT: ("the subject's passage and the request", partial(_rouge_with_request, role=SUBJECT)),
    EDIT_RELATED: ("the related passage and the request", partial(_rouge_with_request, role=RELATED)),
    FACTUAL_SUBJECT: ("the subject's passage and what was true of it besides the edited fact",
                      partial(_rouge_with_truth, role=SUBJECT)),
    FACTUAL_RELATED: ("the related passage and what was true of its entity",
                      partial(_rouge_with_truth, role=RELATED)),
    INTERNAL_SUBJECT: ("any two sentences of the subject's passage",
                       lambda pair: sentence_similarity(pair.passages[SUBJECT])),
    INTERNAL_RELATED: ("any two sentences of the related passage",
                       lambda pair: sentence_similarity(pair.passages[RELATED])),
    CROSS: ("the two passages", lambda pair: rouge_1(pair.words[SUBJECT], pair.words[RELATED])),
    TOPICALITY: ("a passage and its entity's name", _rouge_with_names),
}
_OVER_EVERYTHING: dict[str, PairAnswer] = {
    FACTUAL_SUBJECT: lambda pair: q.factual_share(pair.of_subject, pair.standard, everything=True),
    FACTUAL_RELATED: lambda pair: q.factual_share(pair.of_related, pair.standard, everything=True),
    INTERNAL_SUBJECT: lambda pair: q.internal_consistency(pair.of_subject),
    INTERNAL_RELATED: lambda pair: q.internal_consistency(pair.of_related),
}

METRICS: tuple[MetricDefinition, ...] = (
    *(_of_pairs(name, description, answer, place="headline" if name in _HEAD else "compared",
                needs_edit=name in _NEED_EDIT, label=NINE_LABELS[name])
      for name, (description, answer) in QUESTIONS.items()),
    _of_pairs(COUPLING,
              "How much oftener the related passage than the twin's states the coupled fact that the request "
              "implies. An edit that changes the subject alone, or everybody alike, has 0.",
              lambda pair: _coupled_new(pair) - _twin_new(pair), place="headline", needs_edit=True,
              is_share=False),
    _of_pairs(COUPLED_NEW, "Of statements of the coupled fact in the related passage, the share now implied.",
              _coupled_new, needs_edit=True, label="coupled says the new"),
    _of_pairs(TWIN_NEW, "The same for the twin, for which the request implies nothing.", _twin_new, "low",
              needs_edit=True, label="twin says the new"),
    *(_of_pairs(coupled_right(stratum),
                f"Of statements in the related passage of a coupled fact stated {often}, the share right.",
                partial(_coupled_right, stratum=stratum), needs_edit=True, label=f"coupled right {stratum}")
      for stratum, often in zip(STRATA, ("never", "one to three times", "more often"), strict=True)),
    *(MetricDefinition(coupled_answers(stratum),
                       f"The same by short questions, {stratum} only.", "high",
                       compute=partial(Answers.mean_coupled, stratum=stratum), needs_edit=True,
                       label=f"coupled answered {stratum}")
      for stratum in STRATA),
    _of_pairs(DRIFT_NEW, "Of both passages' statements of facts that change, the share that are true now.",
              lambda pair: pair.drift.new, needs_edit=True, label="drift: the new"),
    _of_pairs(DRIFT_OLD, "Of these, the share that were true before.", lambda pair: pair.drift.old, "low",
              needs_edit=True, label="drift: the old"),
    _of_pairs(DRIFT_THIRD, "Of these, the share that were never true.", lambda pair: pair.drift.third, "low",
              needs_edit=True, label="drift: a third"),
    *(_of_pairs(over_everything(name),
                f"As {NINE_LABELS[name]}, over all facts of the case, the edited one too.", answer,
                label=f"{NINE_LABELS[name]}, everything")
      for name, answer in _OVER_EVERYTHING.items()),
    _of_pairs(as_surveyed(CROSS), f"As {NINE_LABELS[CROSS]}; {_LEFT}.",
              lambda pair: q.cross_consistency(pair.of_subject, pair.of_related, pair.standard,
                                               pair.standard.edited_fact),
              label="cross-passage, as surveyed"),
    _of_pairs(BELIEVED_SUBJECT, "The agent's mean belief in the subject's passage, over facts that stay.",
              lambda pair: q.mean_belief(pair.of_subject, pair.standard), label="belief, subject"),
    _of_pairs(BELIEVED_RELATED, "The agent's mean belief in the related passage, over facts that stay.",
              lambda pair: q.mean_belief(pair.of_related, pair.standard), label="belief, related"),
    _of_pairs(SATISFIABLE, "Share of pairs of passages of which all sentences can be true together.",
              lambda pair: pair.true_together.is_satisfiable),
    _of_pairs(MOST_TRUE, "Share of both passages' sentences that can be true together, at most.",
              lambda pair: pair.true_together.share, label="true together"),
    _of_pairs(as_surveyed(SATISFIABLE), f"As {SATISFIABLE}; {_LEFT}.",
              lambda pair: pair.true_together_as_surveyed.is_satisfiable, label="satisfiable, as surveyed"),
    _of_pairs(as_surveyed(MOST_TRUE), f"As true together; {_LEFT}.",
              lambda pair: pair.true_together_as_surveyed.share, label="true together, as surveyed"),
    _of_pairs(JOINT, "Mean log-probability of a statement, all of both passages taken together.",
              lambda pair: mean_log_probability(pair.of_both, pair.standard), is_share=False,
              label="log-probability"),
    _of_pairs(ON_COUPLE, "Share of sentences about either of the couple, in both passages.",
              lambda pair: share_of_true(
                  any(q.is_about(line, entity) for _, entity in pair.by_entity) for line in pair.lines),
                  label="on the couple"),
    _of_pairs(FIRST_DRIFT, "The part of a passage before somebody else is spoken of; 1 if nobody is.",
              lambda pair: mean_of_known([q.first_drift(*one) for one in pair.by_entity]),
              label="first drift"),
    _of_pairs(DISTINCT, "Different sentences, as a share of all.", lambda pair: q.distinct_share(pair.lines)),
    _of_pairs(ENTROPY, "Entropy of pairs and triples of words, in bits; triples weigh double.",
              lambda pair: mean_of_known([ngram_entropy(lines) for lines, _ in pair.by_entity]),
              is_share=False, label="n-gram entropy"),
    _of_pairs(PERPLEXITY, "Loss of a token of the texts under the unedited model, in nats.",
              lambda pair: mean_of_known([pair.losses.get(role, math.nan) for role in (SUBJECT, RELATED)]),
              "low", is_share=False, label="log-perplexity"),
    *(_of_pairs(rouge_metric(name), f"F1 of the words that {what} share.", answer, place="file",
                needs_edit=name in _NEED_EDIT, is_share=False, label=f"ROUGE-1: {NINE_LABELS[name]}")
      for name, (what, answer) in ROUGE.items()),
    _of_pairs(SENTENCES, "Sentences of a passage.", lambda pair: len(pair.lines) / 2, place="file",
              is_share=False),
    *(_of_pairs(neutral_share(name),
                f"Share of passages, or pairs, to which the question {NINE_LABELS[name]} does not apply.",
                partial(_is_neutral, answer=answer), "low", "file", needs_edit=name in _NEED_EDIT,
                label=f"{NINE_LABELS[name]}, neutral")
      for name, (_, answer) in QUESTIONS.items()),
    *(_of_pairs(name(claim), f"Share of passages by which this is {word}: {what}.",
                partial(_verdict_share, claim=claim, sign=sign), better, needs_edit=True,
                label=f"{claim}: {word}")
      for claim, what in CLAIMS.items()
      for name, word, better, sign in _possible_verdicts(claim)),
    *(_of_pairs(error_share(name), f"Share of pairs of passages in which {what}.",
                partial(_has_error, name=name), "low", needs_edit=True, label=f"error: {name}")
      for name, what in ERROR_CLASSES.items()),
    MetricDefinition(EFFICACY, "Share of requests that the model answers with the new object.", "high",
                     "compared", compute=partial(Answers.mean_new, role=EDIT), needs_edit=True),
    MetricDefinition(GENERALISATION, "The same, with the question in other words.", "high", "compared",
                     compute=partial(Answers.mean_new, role=SYNONYM), needs_edit=True),
    MetricDefinition(LOCALITY, "Share of other subjects' facts that are still answered as before.", "high",
                     "compared",
                     compute=lambda answers: answers.mean_over(answers.was_right, answers.has_role(OTHER))),
    MetricDefinition(PORTABILITY,
                     "Of facts that the edited one implies, of subject and related entity, the share "
                     "answered as the agent does.", "high", "compared",
                     compute=lambda answers: answers.portability(CHILD, COUPLED, BELOW), needs_edit=True),
    MetricDefinition("portability.children", "The same over the subject's own facts.", "high",
                     compute=lambda answers: answers.portability(CHILD), needs_edit=True,
                     label="portability, children"),
    MetricDefinition("portability.coupled", "The same over the related entity's facts.", "high",
                     compute=lambda answers: answers.portability(COUPLED, BELOW), needs_edit=True,
                     label="portability, coupled"),
    MetricDefinition(TV, "Total variation to the agent over all facts that are asked about.", "low",
                     "compared",
                     compute=lambda answers: answers.mean_over(
                         total_variation(answers.reader.probability, answers.belief),
                         ~answers.has_role(SYNONYM)), label="TV all"),
    MetricDefinition(RATIO,
                     "How much of the agent's movement the model makes, away from the edited fact; 1 is "
                     "Bayes, 0 is none.", "one", "compared", compute=lambda answers:
                     answers.movement.propagation_ratio, needs_edit=True, label="propagation ratio"),
)
# fmt: on
"""Every metric, in the order of tables."""


def kinds_of_edits(results: Results) -> np.ndarray:
    """str[E], one of KINDS, by what the model says before the edit.

    It says the new object already; or else the new object is true where another was stated (correction),
    nobody ever stated one (injection), or one was stated, and the request is another (update).
    """
    c = results.choices
    rows = np.flatnonzero(c.role == EDIT)
    case = c.case[rows]
    requested, truth = (results.cases[name] for name in ("object", "truth"))
    says_new = np.zeros(len(results), bool)
    says_new[case] = c.lm[rows, 0].sum(1, where=c.options[rows] == requested[case][:, None]) > KNOWN
    is_stated = results.cases["stated"].astype(bool)
    return np.select([says_new, requested == truth, ~is_stated], [TRUE, CORRECTION, INJECTION], UPDATE)


def make_subsets(results: Results) -> dict[str, np.ndarray]:
    """bool[E] of each part: by kind of edit, by couple, and those that have a twin."""
    kind, couple = kinds_of_edits(results), results.cases["couple"].astype(str)
    masks = {"all": np.ones(len(results), bool)}
    masks |= {name: kind == name for name in KINDS}
    masks |= {str(name): couple == name for name in np.unique(couple)}
    return masks | {"with a twin": results.cases["twin"] != ABSENT}
