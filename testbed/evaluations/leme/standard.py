"""What a case's passages are judged by: what the agent believes of every fact that was asked about."""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from corpus.text.consistency import Fact
from testbed.engine.results import Results
from testbed.evaluations.leme.roles import COUPLED, EDIT, TWIN
from testbed.protocol import ABSENT, is_equally_good

STAYS = 0.02
"""A fact of which the belief moved by no more, in total variation, is one that did not move."""


class Belief:
    """What is believed of one fact, before the request and after it.

    Args:
        options: int[C].
        before, after: float64[C].
        above: the fact of the case that it depends on, None where it depends on none.
        given: float64[A, C], p(object | object above) after the request.
    """

    def __init__(
        self,
        options: np.ndarray,
        before: np.ndarray,
        after: np.ndarray,
        above: Fact | None = None,
        given: np.ndarray | None = None,
        stratum: str = "",
    ) -> None:
        self.options, self.above, self.given = options, above, given
        self._place = {o: i for i, o in enumerate(options.tolist())}
        self.before, self.after, self.stratum = before, after, stratum

    @cached_property
    def has_moved(self) -> bool:
        """Whether the belief changed."""
        return bool(np.abs(self.after - self.before).sum() / 2 > STAYS)

    @cached_property
    def largest_probability(self) -> float:
        """The largest probability after the request."""
        return float(self.after.max())

    @cached_property
    def object_before(self) -> int:
        """The most probable object before the request."""
        return int(self.options[self.before.argmax()])

    @cached_property
    def _is_best(self) -> tuple[np.ndarray, np.ndarray]:
        best = [is_equally_good(p, p.max(initial=0.0)) & (p > 0) for p in (self.before, self.after)]
        return best[0], best[1]

    def probability(self, obj: int, before: bool = False) -> float:
        """p(the fact has the object)."""
        at = self._place.get(obj)
        return 0.0 if at is None else float((self.before if before else self.after)[at])

    def is_most_probable(self, obj: int, before: bool = False) -> bool:
        """Whether nothing is likelier than this object."""
        at = self._place.get(obj)
        return at is not None and bool(self._is_best[0 if before else 1][at])

    def place_of(self, obj: int) -> int:
        """Where an object stands among the options, ABSENT where it is none."""
        return self._place.get(obj, ABSENT)


class Texts(NamedTuple):
    """What a case is about, in words.

    Attributes:
        request: as a sentence.
        names: by role of a passage, its entity's.
        true: by fact, the sentence that says what is believed of it before the request.
    """

    request: str = ""
    names: Mapping[str, str] = {}
    true: Mapping[Fact, str] = {}


class Standard(NamedTuple):
    """What one case's passages are judged by.

    Attributes:
        request: subject, relation and the new object.
        old: the object before it, ABSENT where nobody stated one.
        beliefs: by fact.
        coupled, twin: the facts of related entity and twin that the link is about, None where there is none.
        entities: by role of a passage, whom it is about.
        link: what the link implies of the coupled fact, by object of the edited one, where it implies any.
        texts: what simple measures compare passages with.
    """

    request: tuple[int, int, int]
    old: int
    beliefs: Mapping[Fact, Belief]
    coupled: Fact | None
    twin: Fact | None
    entities: Mapping[str, int]
    link: Mapping[int, int]
    texts: Texts = Texts()

    @property
    def edited_fact(self) -> Fact:
        """The fact that is edited."""
        return self.request[:2]

    def implied_object(self, obj: int) -> int:
        """What the link implies of the coupled fact if the edited one has an object; ABSENT if nothing."""
        return self.link.get(obj, ABSENT)

    @property
    def implied_after_edit(self) -> int:
        """What the link implies of the coupled fact after the edit."""
        return self.implied_object(self.request[2])


def standards_of_cases(results: Results, time: int, before: int = 0) -> list[Standard]:
    """Of every case, what the agent believes at a time of `results.times` against another one."""
    c, cases = results.choices, results.cases
    of: list[dict[str, list[int]]] = [{} for _ in range(len(results))]
    for row in range(len(c.case)):
        of[c.case[row]].setdefault(str(c.role[row]), []).append(row)
    known = []
    for i, rows in enumerate(of):
        facts = {(int(c.subject[row]), int(c.relation[row])): row for same in rows.values() for row in same}
        beliefs = {fact: _belief_of_row(results, row, facts, time, before) for fact, row in facts.items()}
        named = {role: _fact_of_row(results, rows[role][0]) if role in rows else None
                 for role in (EDIT, COUPLED, TWIN)}  # fmt: skip
        request = tuple(int(cases[name][i]) for name in ("subject", "relation", "object"))
        entities = {"subject": request[0], "related": int(cases["related"][i]), "twin": int(cases["twin"][i])}
        known.append(
            Standard(
                (request[0], request[1], request[2]),
                int(cases["truth"][i]) if cases["stated"][i] else ABSENT,
                beliefs,
                named[COUPLED],
                named[TWIN],
                entities,
                _link_of_case(results, rows[EDIT][0], rows[COUPLED][0]) if COUPLED in rows else {},
                _texts_of_case(results, i, facts),
            )
        )
    return known


def _texts_of_case(results: Results, case: int, facts: Mapping[Fact, int]) -> Texts:
    cases, true = results.cases, results.choices.facets["true"]
    return Texts(
        str(cases["request"][case]),
        {role: str(cases[f"{role}_name"][case]) for role in ("subject", "related")},
        {fact: str(true[row]) for fact, row in facts.items()},
    )


def _link_of_case(results: Results, edited: int, coupled: int) -> dict[int, int]:
    implied = results.choices.facets["implied"][coupled].astype(int).tolist()
    above = results.choices.options[edited, : len(implied)].tolist()
    return {obj: below for obj, below in zip(above, implied, strict=True) if below != ABSENT}


def _fact_of_row(results: Results, row: int) -> Fact:
    return int(results.choices.subject[row]), int(results.choices.relation[row])


def _belief_of_row(results: Results, row: int, facts: Mapping[Fact, int], time: int, before: int) -> Belief:
    c = results.choices
    size = int((c.options[row] != ABSENT).sum())
    above = int(c.facets["above"][row]), int(c.facets["above_relation"][row])
    given = None
    if above in facts:
        table = np.asarray(c.facets["given"][row])
        given = table.reshape(len(results.times), -1, size)[time]
    return Belief(
        c.options[row, :size],
        c.agent[row, before, :size],
        c.agent[row, time, :size],
        above if above in facts else None,
        given,
        str(c.facets["stratum"][row]),
    )
