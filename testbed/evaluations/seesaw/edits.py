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

FAR_SHARE = 0.75
"""Share of edits whose object is drawn from another category on purpose, as cross-property edits are."""
Item = TypeVar("Item")


class Edit(NamedTuple):
    """A person who is to have another object of a relation; `to_other_category` is of another category."""

    person: int
    relation: int
    old: int
    new: int
    to_other_category: bool


def draw_edits(population: Population, agent: Agent, count: int, rng: np.random.Generator) -> Iterator[Edit]:
    """At most `count` edits, as equally as may be of all properties and of people of all groups.

    Facts that the corpus states are edited, to an object that somebody has. Gender becomes another one; other
    objects are drawn, in three of four edits from those of another category where there are some.

    Raises:
        InputError: no fact takes a correction by this agent.
    """
    count_drawn = 0
    for person, relation in _interleave_facts(population, rng):
        if count_drawn == count:
            return
        edit = _draw_edit(population, agent, person, relation, rng)
        if edit is not None:
            count_drawn += 1
            yield edit
    if not count_drawn:
        raise InputError(
            "no stated fact of this world takes a correction by this agent; this examination needs --agent "
            "exact and a world of --kind exact whose facts stay correctable (--exact.correctable True)"
        )


def draw_others(
    population: Population, edit: Edit, most: int, rng: np.random.Generator
) -> dict[str, list[int]]:
    """Other people whose fact is stated, of each kind at most so many, drawn from all groups in turn."""
    r, people = edit.relation, population.people
    others = people[population.is_stated[r, people] & (people != edit.person)]
    value = population.object_of[r, others]
    kinds = {
        NEW_HOLDERS: others[value == edit.new],
        OLD_HOLDERS: others[value == edit.old],
        NEITHER: others[(value != edit.new) & (value != edit.old)],
    }
    return {kind: _draw_balanced(population, who, most, rng) for kind, who in kinds.items()}


def draw_control_person(
    population: Population, edit: Edit, asked_people: set[int], rng: np.random.Generator
) -> int:
    """Somebody of whom the request is not true either, and who is not asked about if that may be."""
    r, people = edit.relation, population.people
    eligible_people = people[
        (population.object_of[r, people] != edit.new)
        & (people != edit.person)
        & population.is_stated[r, people]
    ]
    unasked_people = [p for p in eligible_people.tolist() if p not in asked_people]
    if not len(eligible_people):
        raise InputError(
            f"everybody has {population.name_of(edit.new)!r}, so nobody else can be told to have it; leave "
            f"out "
            "--seesaw.controls"
        )
    return int(rng.choice(unasked_people or eligible_people))


def interleave(lists: Iterable[Sequence[Item]]) -> list[Item]:
    """The first of every list, then the second of every list, and so on."""
    cells = ([(x,) for x in one] for one in lists)
    return [x for turn in zip_longest(*cells, fillvalue=()) for cell in turn for x in cell]


def _interleave_facts(population: Population, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Every stated fact that may be edited: properties in turn, within each the groups in turn."""
    by_property = []
    for r in population.edited_relations:
        mine = population.people[population.is_stated[r, population.people]]
        by_property.append([(p, r) for p in _draw_balanced(population, mine, len(mine), rng)])
    return interleave(by_property)


def _draw_balanced(
    population: Population, people: np.ndarray, most: int, rng: np.random.Generator
) -> list[int]:
    """At most so many of some people, at random from every combination of race and gender in turn."""
    by: list[int] = [population.grouping_relations[0], population.grouping_relations[-1]]
    cells: dict[tuple[int, ...], list[int]] = {}
    for person in rng.permutation(people).tolist():
        cells.setdefault(tuple(population.object_of[by, person].tolist()), []).append(person)
    every = sorted(cells)
    return interleave(cells[every[i]] for i in rng.permutation(len(every)))[:most]


def _draw_edit(
    population: Population, agent: Agent, person: int, relation: int, rng: np.random.Generator
) -> Edit | None:
    """An edit of one fact; None where nothing else can be said of it."""
    old = int(population.object_of[relation, person])
    had = np.unique(population.object_of[relation, population.people])
    allowed_objects = had[(had != old) & (had != ABSENT)]
    if not len(allowed_objects) or not agent.accepts(person, relation, "correction"):
        return None
    allowed_objects = allowed_objects[~agent.rules_out(person, relation, allowed_objects)]
    before = population.category_of(old)
    far_objects = [o for o in allowed_objects.tolist() if before and population.category_of(o) != before]
    pool = far_objects if far_objects and rng.random() < FAR_SHARE else allowed_objects.tolist()
    if not pool:
        return None
    new = int(rng.choice(pool))
    return Edit(person, relation, old, new, not before or population.category_of(new) != before)
