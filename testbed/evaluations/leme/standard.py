"""What a case's passages are judged by: what the agent believes of every fact that was asked about.

All facts together are believed along trees of facts, each given the one that it depends on. A draw of all of
them is what the Bayesian writer writes about.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from corpus.text.consistency import Fact
from testbed.engine.results import Results
from testbed.evaluations.leme import COUPLED, EDIT, RELATED, SUBJECT, TWIN
from testbed.evaluations.leme.statements import Statement
from testbed.protocol import ABSENT, is_equally_good
from testbed.scores.distances import has_moved

LEAST = 1e-6
"""What is counted for a statement that is impossible, or as good as that."""
SURE = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of one fact, before the request and after it.

    Attributes:
        options: int[C].
        before, after: float64[C].
        above: the fact of the case that it depends on, None where it depends on none.
        conditional: float64[A, C], p(object | object above) after the request.
    """

    options: np.ndarray
    before: np.ndarray
    after: np.ndarray
    above: Fact | None = None
    conditional: np.ndarray | None = None
    stratum: str = ""

    @cached_property
    def _places(self) -> dict[int, int]:
        return {obj: place for place, obj in enumerate(self.options.tolist())}

    @cached_property
    def has_moved(self) -> bool:
        """Whether the belief changed."""
        return bool(has_moved(self.before, self.after))

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
        at = self._places.get(obj)
        return 0.0 if at is None else float((self.before if before else self.after)[at])

    def is_most_probable(self, obj: int, before: bool = False) -> bool:
        """Whether nothing is likelier than this object."""
        at = self._places.get(obj)
        return at is not None and bool(self._is_best[0 if before else 1][at])

    def place_of(self, obj: int) -> int:
        """Where an object stands among the options, ABSENT where it is none."""
        return self._places.get(obj, ABSENT)


class Standard(NamedTuple):
    """What one case's passages are judged by.

    Attributes:
        request: subject, relation and the new object.
        old: the object before it, ABSENT where nobody stated one.
        beliefs: by fact.
        coupled, twin: the facts of related entity and twin that the link is about, None where there is none.
        entities: by role of a passage, whom it is about.
        link: what the link implies of the coupled fact, by object of the edited one, where it implies any.
        request_text, names, texts: what simple measures compare passages with: the request as a sentence; by
            role of a passage, its entity's name; by fact, the sentence that says what is believed before.
    """

    request: tuple[int, int, int]
    old: int
    beliefs: Mapping[Fact, Belief]
    coupled: Fact | None
    twin: Fact | None
    entities: Mapping[str, int]
    link: Mapping[int, int]
    request_text: str = ""
    names: Mapping[str, str] = {}
    texts: Mapping[Fact, str] = {}

    @property
    def edited_fact(self) -> Fact:
        """The fact that is edited."""
        return self.request[:2]

    def should_move(self, fact: Fact) -> bool:
        """Whether the belief in a fact that was asked about moved, the edited one apart."""
        return fact != self.edited_fact and fact in self.beliefs and self.beliefs[fact].has_moved

    def should_stay(self, fact: Fact) -> bool:
        """Whether the belief in a fact that was asked about did not move, the edited one apart."""
        return fact != self.edited_fact and fact in self.beliefs and not self.beliefs[fact].has_moved

    def implied_object(self, obj: int) -> int:
        """What the link implies of the coupled fact if the edited one has an object; ABSENT if nothing."""
        return self.link.get(obj, ABSENT)

    @property
    def implied_after_edit(self) -> int:
        """What the link implies of the coupled fact after the edit."""
        return self.implied_object(self.request[2])


def standards_of_cases(results: Results, time: int) -> list[Standard]:
    """Of every case, what the agent believes at a time of `results.times`, and before."""
    c, cases = results.choices, results.cases
    of: list[dict[str, list[int]]] = [{} for _ in range(len(results))]
    for row in range(len(c.case)):
        of[c.case[row]].setdefault(str(c.role[row]), []).append(row)
    standards = []
    for i, rows in enumerate(of):
        facts = {(int(c.subject[row]), int(c.relation[row])): row for same in rows.values() for row in same}
        beliefs = {fact: _belief_of_row(results, row, facts, time) for fact, row in facts.items()}
        by_role = {role: _fact_of_row(results, rows[role][0]) if role in rows else None
                 for role in (EDIT, COUPLED, TWIN)}  # fmt: skip
        request = tuple(int(cases[name][i]) for name in ("subject", "relation", "object"))
        entities = {SUBJECT: request[0], RELATED: int(cases["related"][i]), TWIN: int(cases["twin"][i])}
        standards.append(
            Standard(
                (request[0], request[1], request[2]),
                beliefs[request[0], request[1]].object_before if cases["stated"][i] else ABSENT,
                beliefs,
                by_role[COUPLED],
                by_role[TWIN],
                entities,
                _link_of_case(results, rows[EDIT][0], rows[COUPLED][0]) if COUPLED in rows else {},
                str(cases["request"][i]),
                {role: str(cases[f"{role}_name"][i]) for role in (SUBJECT, RELATED)},
                {fact: str(c.facets["true"][row]) for fact, row in facts.items()},
            )
        )
    return standards


def _link_of_case(results: Results, edited: int, coupled: int) -> dict[int, int]:
    implied = results.choices.facets["implied"][coupled].astype(int).tolist()
    above = results.choices.options[edited, : len(implied)].tolist()
    return {obj: below for obj, below in zip(above, implied, strict=True) if below != ABSENT}


def _fact_of_row(results: Results, row: int) -> Fact:
    return int(results.choices.subject[row]), int(results.choices.relation[row])


def _belief_of_row(results: Results, row: int, facts: Mapping[Fact, int], time: int) -> Belief:
    c = results.choices
    size = int((c.options[row] != ABSENT).sum())
    above = int(c.facets["above"][row]), int(c.facets["above_relation"][row])
    conditional = None
    if above in facts:
        table = np.asarray(c.facets["given"][row])
        conditional = table.reshape(len(results.times), -1, size)[time]
    return Belief(
        c.options[row, :size],
        c.agent[row, 0, :size],
        c.agent[row, time, :size],
        above if above in facts else None,
        conditional,
        str(c.facets["stratum"][row]),
    )


def draw_objects(standard: Standard, rng: np.random.Generator) -> dict[Fact, int]:
    """One object for every fact, drawn together from what is believed after the request."""
    objects: dict[Fact, int] = {}
    for fact in _parents_first(standard.beliefs):
        belief = standard.beliefs[fact]
        p = belief.after
        if belief.above is not None and belief.conditional is not None:
            above = standard.beliefs[belief.above]
            p = belief.conditional[above.place_of(objects[belief.above])]
        total = np.cumsum(p)
        drawn = min(int(np.searchsorted(total, rng.random() * total[-1], side="right")), len(p) - 1)
        objects[fact] = int(belief.options[drawn])
    return objects


def mean_log_probability(statements: Sequence[Statement], standard: Standard) -> float:
    """Log-probability a statement of all that is said together, after the request.

    Statements are taken the most probable first, each given those before it; what they make impossible counts
    as LEAST. NaN where nothing is said of the facts that were asked about.
    """
    about = [one for one in statements if one.fact in standard.beliefs]
    if not about:
        return math.nan
    possible = {fact: np.ones(len(belief.options), bool) for fact, belief in standard.beliefs.items()}
    ordered = sorted(about, key=lambda one: (-statement_probability(one, standard), one[:3]))
    upwards = _parents_first(standard.beliefs)[::-1]
    log_z, total = 0.0, 0.0
    for one in ordered:
        belief, before = standard.beliefs[one.fact], possible[one.fact]
        is_object = belief.options == one.object
        possible_objects = before & (is_object if one.holds else ~is_object)
        if (possible_objects == before).all():
            continue
        if belief.largest_probability > SURE:
            # What is sure depends on nothing, and nothing on it that is not sure of it already.
            p = float(belief.after[possible_objects].sum() / max(belief.after[before].sum(), LEAST))
        else:
            log_then = _log_mass(standard.beliefs, upwards, possible | {one.fact: possible_objects})
            p = math.exp(min(log_then - log_z, 0.0))
            log_z = log_then if p > LEAST else log_z
        total += math.log(max(p, LEAST))
        if p > LEAST:
            possible[one.fact] = possible_objects
    return total / len(about)


def statement_probability(one: Statement, standard: Standard) -> float:
    """The belief in one statement after the request."""
    p = standard.beliefs[one.fact].probability(one.object)
    return p if one.holds else 1 - p


def _log_mass(
    beliefs: Mapping[Fact, Belief], upwards: Sequence[Fact], possible: Mapping[Fact, np.ndarray]
) -> float:
    """Log-probability that every fact that is not sure has one of its possible objects.

    Args:
        upwards: all facts, each before the one that it depends on.
    """
    inside = {fact: possible[fact].astype(float) for fact in beliefs}
    log_p = 0.0
    for fact in upwards:
        belief = beliefs[fact]
        if belief.largest_probability > SURE:
            continue
        above = belief.above
        if above is None or belief.conditional is None or beliefs[above].largest_probability > SURE:
            p = float(belief.after @ inside[fact]) / float(belief.after.sum())
            log_p += math.log(max(p, LEAST**2))
        else:
            inside[above] = inside[above] * (belief.conditional @ inside[fact])
    return log_p


def _parents_first(beliefs: Mapping[Fact, Belief]) -> list[Fact]:
    """Facts, each after the one that it depends on."""

    def count_steps(fact: Fact) -> int:
        steps, above = 0, beliefs[fact].above
        while above is not None:
            steps, above = steps + 1, beliefs[above].above
        return steps

    return sorted(beliefs, key=count_steps)
