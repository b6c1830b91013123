"""Every metric of LEME's examination for one reader: what it writes, then what it answers."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.leme import meanings as m
from testbed.evaluations.leme import questions as q
from testbed.evaluations.leme.claims import claims_of_case, verdict_on_claim
from testbed.evaluations.leme.flaws import CLASSES, find_errors
from testbed.evaluations.leme.joint import mean_log_probability
from testbed.evaluations.leme.roles import RELATED, SUBJECT, TWIN
from testbed.evaluations.leme.short import measure_answers
from testbed.evaluations.leme.simple import mean_of_known, simple_measures
from testbed.evaluations.leme.standard import Standard, standards_of_cases
from testbed.evaluations.leme.statements import Lines, Statement, sentences_of, statements_of
from testbed.protocol import ABSENT
from testbed.run.strata import STRATA
from testbed.scores.metric import Metric, sum_by_case
from testbed.scores.readers import Reader

Passages = Mapping[str, Lines]
"""By role, a passage about subject, related entity and twin; of one sample."""
Answers = dict[str, float]
"""Metric -> value; NaN where a question does not apply."""


def measure(results: Results, reader: Reader) -> dict[str, Metric]:
    """Every metric of one reader, by name; what is about the request is left out before it."""
    return measure_passages(results, reader) | measure_answers(results, reader)


def measure_passages(results: Results, reader: Reader) -> dict[str, Metric]:
    """The metrics of passages: of every pair of them an answer, NaN where it is neutral."""
    if reader.texts is None:
        return {}
    known, edited = standards_of_cases(results, reader.time), reader.time > 0
    losses = np.full(len(reader.texts), np.nan) if reader.losses is None else reader.losses
    written = [*zip(iterate_samples(results, reader.texts), iterate_samples(results, losses), strict=True)]
    case = [i for (i, _, _), _ in written]
    of_pairs = [
        answer_questions(passages, known[i], edited) | simple_measures(passages, lost, known[i], edited)
        for (i, _, passages), (_, _, lost) in written
    ]
    nothing: Passages = {SUBJECT: (), RELATED: ()}
    names = answer_questions(nothing, _NOBODY, edited) | simple_measures(nothing, {}, _NOBODY, edited)
    which = np.array(case, int)
    metrics = {}
    for name in names:
        values = np.array([one[name] for one in of_pairs], float)
        metric = sum_by_case(np.nan_to_num(values), which, len(results), ~np.isnan(values))
        metrics[name] = metric._replace(share=name not in _NO_SHARES)
        if name in m.NINE:
            metrics[m.neutral_share(name)] = sum_by_case(np.isnan(values), which, len(results))
    return metrics


_NO_SHARES = {m.SENTENCES, m.JOINT, m.COUPLING, *m.SIMPLE} - {m.DISTINCT}
_NOBODY = Standard((0, 0, 0), 0, {}, None, None, {SUBJECT: 0, RELATED: 0, TWIN: 0}, {})


def iterate_samples(results: Results, column: np.ndarray) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """Every case and sample, with what a column of passages has by role, such as their texts."""
    p = results.passages
    of: dict[tuple[int, int], dict[str, Any]] = {}
    for row in range(len(p.case)):
        of.setdefault((int(p.case[row]), int(p.sample[row])), {})[str(p.role[row])] = column[row]
    for (case, sample), by_role in of.items():
        yield case, sample, by_role


def answer_questions(passages: Passages, standard: Standard, edited: bool) -> Answers:
    """Everything that is asked about the passages of one sample.

    Args:
        edited: whether there was a request; else nothing about it is asked.
    """
    said = {role: statements_of(lines) for role, lines in passages.items()}
    values = _answer_consistency(passages, said, standard) | _answer_style(passages, standard)
    return values | (_answer_request(passages, said, standard) if edited else {})


def _answer_consistency(
    passages: Passages, said: Mapping[str, list[Statement]], standard: Standard
) -> Answers:
    subject, related, edited = said[SUBJECT], said[RELATED], standard.edited_fact
    values: Answers = {}
    for (factual, believed, internal), statements in zip(
        ((m.FACTUAL_SUBJECT, m.BELIEVED_SUBJECT, m.INTERNAL_SUBJECT),
         (m.FACTUAL_RELATED, m.BELIEVED_RELATED, m.INTERNAL_RELATED)),
        (subject, related), strict=True,
    ):  # fmt: skip
        values[factual] = q.factual_share(statements, standard)
        values[m.over_everything(factual)] = q.factual_share(statements, standard, everything=True)
        values[believed] = q.mean_belief(statements, standard)
        values[internal] = q.internal_consistency(statements, edited)
        values[m.over_everything(internal)] = q.internal_consistency(statements)
    values[m.CROSS] = q.cross_consistency(subject, related, standard)
    values[f"{m.CROSS}, {m.SURVEY}"] = q.cross_consistency(subject, related, standard, edited)
    both = q.join_passages(passages[SUBJECT], passages[RELATED], standard)
    plain = [*sentences_of(passages[SUBJECT]), *sentences_of(passages[RELATED])]
    for ending, one in (
        ("", q.count_true_together(both, standard)),
        (f", {m.SURVEY}", q.count_true_together(plain, standard, edited)),
    ):
        values[f"{m.SATISFIABLE}{ending}"] = one.is_satisfiable
        values[f"{m.MOST_TRUE}{ending}"] = one.share
    values[m.JOINT] = mean_log_probability([*subject, *related], standard)
    return values


def _answer_style(passages: Passages, standard: Standard) -> Answers:
    both = [(passages[role], standard.entities[role]) for role in (SUBJECT, RELATED)]
    lines = [line for text, _ in both for line in text]
    about = [q.is_about(line, entity) for text, entity in both for line in text]
    return {
        m.TOPICALITY: q.share_of_true(about),
        m.ON_COUPLE: q.share_of_true(any(q.is_about(line, entity) for _, entity in both) for line in lines),
        m.NATURALNESS: q.naturalness(lines),
        m.FIRST_DRIFT: mean_of_known([q.first_drift(text, entity) for text, entity in both]),
        m.DISTINCT: q.distinct_share(lines),
        m.SENTENCES: len(lines) / len(both),
    }


def _answer_request(passages: Passages, said: Mapping[str, list[Statement]], standard: Standard) -> Answers:
    subject, related = said[SUBJECT], said[RELATED]
    drift = q.drift_shares([*subject, *related], standard)
    coupled = _share_that_follows(related, standard, standard.coupled)
    twin = _share_that_follows(said.get(TWIN, ()), standard, standard.twin)
    belief = standard.beliefs.get(standard.coupled) if standard.coupled else None
    right = q.share_of_true(
        q.is_right(one, standard) for one in related if belief is not None and one.fact == standard.coupled
    )
    values: Answers = {
        m.EDIT_SUBJECT: q.edit_said_share(subject, standard),
        m.EDIT_RELATED: q.still_possible_share(related, standard),
        m.DRIFT_NEW: drift.new,
        m.DRIFT_OLD: drift.old,
        m.DRIFT_THIRD: drift.third,
        m.COUPLED_NEW: coupled,
        m.TWIN_NEW: twin,
        m.COUPLING: coupled - twin,
    }
    values |= {
        m.coupled_right(s): right if belief is not None and belief.stratum == s else math.nan for s in STRATA
    }
    for name, claims in claims_of_case(standard).items():
        of_entity = {standard.entities[SUBJECT]: subject, standard.entities[RELATED]: related}
        verdicts = [verdict_on_claim(of_entity[claim.fact[0]], claim) for claim in claims]
        values[m.support_of(name)] = q.share_of_true(one > 0 for one in verdicts)
        values[m.contradiction_of(name)] = q.share_of_true(one < 0 for one in verdicts)
    marks = find_errors(passages, standard)
    written = any(passages[role] for role in (SUBJECT, RELATED))
    return values | {
        m.error_share(name): float(bool(marks[name])) if written else math.nan for name in CLASSES
    }


def _share_that_follows(
    said: "list[Statement] | tuple[()]", standard: Standard, fact: tuple[int, int] | None
) -> float:
    """Of what is said of a fact, the share that is what the link implies of the coupled one."""
    if fact is None or standard.implied_after_edit == ABSENT:
        return math.nan
    return q.share_of_true(
        one.object == standard.implied_after_edit for one in said if one.fact == fact and one.holds
    )
