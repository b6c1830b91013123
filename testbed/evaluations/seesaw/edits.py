"""Seesaw-CF's edits for any world of people, and the other people who are asked about each."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple, TypeVar

import numpy as np

from bayes.interface import Agent
from corpus.errors import InputError
from testbed.evaluations.seesaw.population import Population
from testbed.evaluations.seesaw.roles import NEITHER, NEW_HOLDERS, OLD_HOLDERS
from testbed.protocol import ABSENT

FAR = 0.75
"""Share of edits whose object is drawn from another category on purpose, as cross-property edits are."""
Of = TypeVar("Of")


class Edit(NamedTuple):
    """A person who is to have another object of a relation; `elsewhere` is of another category."""

    person: int
    relation: int
    old: int
    new: int
    elsewhere: bool


def edits_of(population: Population, agent: Agent, count: int, rng: np.random.Generator) -> Iterator[Edit]:
    """At most `count` edits, as equally as may be of all properties and of people of all groups.

    Facts that the corpus states are edited, to an object that somebody has. Gender becomes another one; other
    objects are drawn, in three of four edits from those of another category where there are some.

    Raises:
        InputError: no fact takes a correction by this agent.
    """
    drawn = 0
    for person, relation in _in_turn_of_groups(population, rng):
        if drawn == count:
            return
        edit = _edit(population, agent, person, relation, rng)
        if edit is not None:
            drawn += 1
            yield edit
    if not drawn:
        raise InputError(
            "no stated fact of this world takes a correction by this agent; this examination needs --agent "
            "exact and a world of --kind exact whose facts stay correctable (--exact.correctable True)"
        )


def others_of(
    population: Population, edit: Edit, most: int, rng: np.random.Generator
) -> dict[str, list[int]]:
    """Other people whose fact is stated, of each kind at most so many, drawn from all groups in turn."""
    r, people = edit.relation, population.people
    others = people[population.said[r, people] & (people != edit.person)]
    value = population.value[r, others]
    kinds = {
        NEW_HOLDERS: others[value == edit.new],
        OLD_HOLDERS: others[value == edit.old],
        NEITHER: others[(value != edit.new) & (value != edit.old)],
    }
    return {kind: _balanced(population, who, most, rng) for kind, who in kinds.items()}


def somebody_else(population: Population, edit: Edit, asked: set[int], rng: np.random.Generator) -> int:
    """Somebody of whom the request is not true either, and who is not asked about if that may be."""
    r, people = edit.relation, population.people
    able = people[
        (population.value[r, people] != edit.new) & (people != edit.person) & population.said[r, people]
    ]
    free = [p for p in able.tolist() if p not in asked]
    if not len(able):
        raise InputError(
            f"everybody has {population.name(edit.new)!r}, so nobody else can be told to have it; leave out "
            "--seesaw.controls"
        )
    return int(rng.choice(free or able))


def in_turn(lists: Iterable[Sequence[Of]]) -> list[Of]:
    """The first of every list, then the second of every list, and so on."""
    cells = ([(x,) for x in one] for one in lists)
    return [x for turn in zip_longest(*cells, fillvalue=()) for cell in turn for x in cell]


def _in_turn_of_groups(population: Population, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Every stated fact that may be edited: properties in turn, within each the groups in turn."""
    by_property = []
    for r in population.edited:
        mine = population.people[population.said[r, population.people]]
        by_property.append([(p, r) for p in _balanced(population, mine, len(mine), rng)])
    return in_turn(by_property)


def _balanced(population: Population, people: np.ndarray, most: int, rng: np.random.Generator) -> list[int]:
    """At most so many of some people, at random from every combination of race and gender in turn."""
    by: list[int] = [population.groupings[0], population.groupings[-1]]
    cells: dict[tuple[int, ...], list[int]] = {}
    for person in rng.permutation(people).tolist():
        cells.setdefault(tuple(population.value[by, person].tolist()), []).append(person)
    every = sorted(cells)
    return in_turn(cells[every[i]] for i in rng.permutation(len(every)))[:most]


def _edit(
    population: Population, agent: Agent, person: int, relation: int, rng: np.random.Generator
) -> Edit | None:
    """An edit of one fact; None where nothing else can be said of it."""
    old = int(population.value[relation, person])
    had = np.unique(population.value[relation, population.people])
    able = had[(had != old) & (had != ABSENT)]
    if not len(able) or not agent.accepts(person, relation, "correction"):
        return None
    able = able[~agent.rules_out(person, relation, able)]
    before = population.category(old)
    far = [o for o in able.tolist() if before and population.category(o) != before]
    pool = far if far and rng.random() < FAR else able.tolist()
    if not pool:
        return None
    new = int(rng.choice(pool))
    return Edit(person, relation, old, new, not before or population.category(new) != before)
