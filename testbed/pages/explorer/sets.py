"""Editors of the same cases together: what was asked is written once, what each answered beside it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from testbed.engine.results import Results
from testbed.pages.explorer.packing import count_parts_of_probability
from testbed.protocol import ABSENT
from testbed.scores.gather import case_keys
from testbed.scores.parts import split_cases
from testbed.scores.summary import ScoredEditor

SHOWN = 0.01
"""An option is shown where the agent or a model ever gives it as much, or it is an answer."""
ALIKE = 2e-3
"""By so much may the unedited model's answers differ between editors, which answered in other batches."""

FindNames = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From runs and entities, int[N] each, to numbers of names; ABSENT is name 0, which is empty."""


class CaseSet(NamedTuple):
    """Editors that made the same edits and were asked the same.

    Attributes:
        editors: their numbers.
        results: of each of them.
    """

    editors: Sequence[int]
    results: Sequence[Results]


def group_editors(editors: Sequence[ScoredEditor]) -> list[CaseSet]:
    """Sets of editors whose cases, questions and agent are equal, and the unedited model but for rounding."""
    sets: list[tuple[list[int], list[Results]]] = []
    for number, editor in enumerate(editors):
        results = editor.edits.results
        for numbers, members in sets:
            if _are_of_same_cases(members[0], results):
                numbers.append(number)
                members.append(results)
                break
        else:
            sets.append(([number], [results]))
    return [CaseSet(*one) for one in sets]


def _are_of_same_cases(first: Results, second: Results) -> bool:
    if len(first) != len(second) or first.times != second.times:
        return False
    pairs = [(first.cases[k], second.cases[k]) for k in ("run", "subject", "relation", "object", "position")]
    names = ("case", "role", "subject", "relation", "options", "agent", "agent_answer")
    pairs += [(getattr(first.choices, k), getattr(second.choices, k)) for k in names]
    pairs += [(getattr(first.claims, k), getattr(second.claims, k)) for k in ("case", "role", "agent")]
    pairs += [(getattr(first.passages, k), getattr(second.passages, k)) for k in ("case", "role", "sample")]
    if not all(np.array_equal(a, b) for a, b in pairs):
        return False
    pairs = [(getattr(first, k).lm[:, 0], getattr(second, k).lm[:, 0]) for k in ("choices", "claims")]
    return all(np.abs(a - b).max(initial=0) < ALIKE for a, b in pairs)


def number_cases(editors: Sequence[ScoredEditor]) -> list[np.ndarray]:
    """For each editor uint32[E], equal for the same case: of equal requests the n-th is the n-th's."""
    numbers: dict[tuple[int, ...], int] = {}
    columns = []
    for editor in editors:
        seen: dict[tuple[int, ...], int] = {}
        column = []
        for key in case_keys(editor.edits.results):
            seen[key] = seen.get(key, -1) + 1
            column.append(numbers.setdefault((*key, seen[key]), len(numbers)))
        columns.append(np.array(column, np.uint32))
    return columns


def split_set(one: CaseSet, size: int) -> Iterator[CaseSet]:
    """The set in parts of at most `size` cases, whose questions stand case by case."""
    for parts in zip(*(split_cases(results, size) for results in one.results), strict=True):
        yield CaseSet(one.editors, [part.results for part in parts])


def pack_cases(
    one: CaseSet, roles: Sequence[str], find_names: FindNames, find_relations: FindNames
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The cases of a set: everything that was asked, believed and answered.

    Returns:
        A header with the texts that were written, and arrays: Q questions in the order of cases, with O
        options in all; M claims; E editors.

        questions, claims: uint16[cases], how many each case has.
        role, claim_role: uint16[Q], [M], index into `roles`.
        subject, relation: uint32[Q], names.
        stated: int32[Q].
        options: uint16[Q], how many are shown.
        option: uint32[O], names.
        agent: uint16[T, O]; model_before: uint16[O]; model: uint16[E, O], in parts of 1.
        agent_answer: uint32[T, Q]; answer_before: uint32[Q]; answer: uint32[E, Q], names.
        claim_agent: uint16[T, M]; claim_before: uint16[M, 2]; claim: uint16[E, M, 2], in parts of 1.
    """
    base, place = one.results[0], {role: i for i, role in enumerate(roles)}
    c = base.choices
    world = base.cases["run"][c.case]
    models = np.stack([results.choices.lm[:, 1] for results in one.results])
    answers = np.stack([results.choices.lm_answer[:, 1] for results in one.results])
    given = np.concatenate([c.agent_answer.T, c.lm_answer[:, :1].T, answers])
    tallest = np.maximum(np.maximum(c.agent.max(1), c.lm[:, 0]), models.max(0))
    is_shown = tallest >= SHOWN
    for answer in given:
        is_shown |= c.options == answer[:, None]
    is_shown &= c.options != ABSENT
    times = len(base.times)

    def names(values: np.ndarray) -> np.ndarray:
        return find_names(np.broadcast_to(world, values.shape), values)

    arrays = {
        "questions": np.bincount(c.case, minlength=len(base)).astype(np.uint16),
        "role": np.array([place[role] for role in c.role.tolist()], np.uint16),
        "subject": names(c.subject),
        "relation": find_relations(world, c.relation),
        "stated": c.stated.astype(np.int32),
        "options": is_shown.sum(1).astype(np.uint16),
        "option": find_names(np.broadcast_to(world[:, None], c.options.shape)[is_shown], c.options[is_shown]),
        "agent": count_parts_of_probability(np.moveaxis(c.agent, 1, 0)[:, is_shown]),
        "model_before": count_parts_of_probability(c.lm[:, 0][is_shown]),
        "model": count_parts_of_probability(models[:, is_shown]),
        "agent_answer": names(given[:times]),
        "answer_before": names(given[times]),
        "answer": names(given[times + 1 :]),
    }
    return _collect_texts(one), arrays | _pack_claims(one, place)


def _pack_claims(one: CaseSet, place: dict[str, int]) -> dict[str, np.ndarray]:
    base = one.results[0]
    after = np.stack([results.claims.lm[:, 1] for results in one.results])
    return {
        "claims": np.bincount(base.claims.case, minlength=len(base)).astype(np.uint16),
        "claim_role": np.array([place[role] for role in base.claims.role.tolist()], np.uint16),
        "claim_agent": count_parts_of_probability(base.claims.agent.T),
        "claim_before": count_parts_of_probability(base.claims.lm[:, 0]),
        "claim": count_parts_of_probability(after),
    }


def _collect_texts(one: CaseSet) -> dict[str, Any]:
    """What was written: for each text its case, role, sample, and its sentences before and by every editor.

    A sentence is the number of a text, and of what is wrong with it ("" is nothing) among the same.
    """
    numbers: dict[str, int] = {}

    def number_lines(lines: Sequence[Any]) -> list[list[int]]:
        return [[numbers.setdefault(x, len(numbers)) for x in (line.text, line.flaw)] for line in lines]

    passages, written = one.results[0].passages, []
    for row in range(len(passages.case)):
        after = [number_lines(results.passages.lines[row, 1]) for results in one.results]
        before = number_lines(passages.lines[row, 0])
        case, role = int(passages.case[row]), str(passages.role[row])
        written.append([case, role, int(passages.sample[row]), before, after])
    return {"texts": list(numbers), "written": written}
