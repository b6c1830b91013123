"""Results of Hase's examination laid out by role: every case has one place for each choice and each claim."""

from typing import NamedTuple

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.hase.roles import CELLS, LOGIC
from testbed.protocol import ABSENT
from testbed.scores.readers import Reader


class Exam(NamedTuple):
    """Results as arrays: E cases, Q = len(CELLS) choices, C options (padded), S = len(LOGIC) claims.

    Attributes:
        scalars: the columns of cases, each [E].
        objects: int64[E, Q, C], the options; ABSENT as padding.
        agent, frequency, lm: float64[E, Q, 2, C], before and after; 0 as padding.
        lm_open: as lm, without the probability that the object ends there (Hase's definition).
        agent_answer, lm_answer: int64[E, Q, 2], the most probable or generated object; ABSENT if none.
        logic: float64[E, S, 2, 2], claim, before/after, true/false.
    """

    scalars: dict[str, np.ndarray]
    objects: np.ndarray
    agent: np.ndarray
    frequency: np.ndarray
    lm: np.ndarray
    lm_open: np.ndarray
    agent_answer: np.ndarray
    lm_answer: np.ndarray
    logic: np.ndarray


class Seen(NamedTuple):
    """A reader's answers laid out by role.

    Attributes:
        objects: float64[E, Q, C], its distribution over each choice's options.
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


def exam_of(results: Results) -> Exam:
    """Results laid out by role."""
    c = results.choices
    return Exam(
        results.cases,
        objects=_choices(results, c.options, ABSENT),
        agent=_choices(results, c.agent),
        frequency=_choices(results, c.frequency),
        lm=_choices(results, c.lm),
        lm_open=_choices(results, c.lm_open),
        agent_answer=_choices(results, c.agent_answer, ABSENT),
        lm_answer=_choices(results, c.lm_answer, ABSENT),
        logic=_claims(results, results.claims.lm),
    )


def seen_by(reader: Reader, results: Results) -> Seen:
    """A reader's answers laid out by role."""
    return Seen(
        _choices(results, reader.probability),
        _choices(results, reader.answer, ABSENT),
        None if reader.claims is None else _claims(results, reader.claims),
        _choices(results, reader.start),
        _choices(results, reader.start_answer, ABSENT),
        reader.time,
    )


def _choices(results: Results, values: np.ndarray, absent: float = 0) -> np.ndarray:
    c = results.choices
    return _placed(values, c.case, c.role, CELLS, len(results), absent)


def _claims(results: Results, values: np.ndarray) -> np.ndarray:
    c = results.claims
    return _placed(values, c.case, c.role, LOGIC, len(results), np.nan)


def _placed(
    values: np.ndarray, case: np.ndarray, role: np.ndarray, roles: tuple[str, ...], cases: int, absent: float
) -> np.ndarray:
    """Values of questions, [N, ...], at [case, role, ...]."""
    found = np.full((cases, len(roles), *values.shape[1:]), absent, values.dtype)
    order = np.argsort(roles)
    found[case, order[np.searchsorted(np.array(roles)[order], role)]] = values
    return found
