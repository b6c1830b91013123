"""Seesaw-CF's edits for any world of people, with all that is asked about each and the agent's answers."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

import numpy as np

from bayes.interface import Agent
from bayes.request import EditRequest
from corpus.errors import InputError
from corpus.seeds import generator
from corpus.text.language import Phrasing
from corpus.text.tokenizer import BOS, Tokenizer
from corpus.worlds.people import RACE
from testbed.evaluations.gold import Asker, Gold
from testbed.evaluations.seesaw import (
    ALONE,
    EDIT,
    INTERPRETATIONS,
    NEITHER,
    NEW_HOLDERS,
    OLD_HOLDERS,
    OWN,
    Seesaw,
)
from testbed.evaluations.seesaw.population import Edit, Population
from testbed.evaluations.seesaw.released import pose_released
from testbed.protocol import ABSENT, Case, Choice, ControlRequest, Facet, Passage, credence_of_request
from testbed.run.world import World

CONTROL = "the same of somebody else"
FAR_SHARE = 0.75
"""Share of edits whose object is drawn from another category on purpose, as cross-property edits are."""
Item = TypeVar("Item")


def draw_edits(population: Population, agent: Agent, count: int, rng: np.random.Generator) -> Iterator[Edit]:
    """At most `count` edits, as equally as may be of all properties and of people of all groups.

    Facts that the corpus states are edited, to an object that somebody has. Gender becomes another one; other
    objects are drawn, in three of four edits from those of another category where there are some.

    Raises:
        InputError: no fact takes a correction by this agent.
    """
    count_drawn = 0
    by_property = []
    for r in population.edited_relations:
        mine = population.people[population.is_stated[r, population.people]]
        by_property.append([(p, r) for p in _draw_balanced(population, mine, len(mine), rng)])
    for person, relation in interleave(by_property):
        if count_drawn == count:
            return
        edit = _draw_edit(population, agent, person, relation, rng)
        if edit is not None:
            count_drawn += 1
            yield edit
    if not count_drawn:
        raise InputError(
            "no stated fact of this world takes a correction by this agent; this evaluation needs --agent "
            "exact and a world of --kind exact whose facts stay correctable (--exact.correctable True)"
        )


def take_released_edits(
    population: Population, world: World, agent: Agent, count: int, rng: np.random.Generator
) -> Iterator[Edit]:
    """At most `count` of the authors' requests, of all properties in turn.

    Raises:
        InputError: people are generated, or none of the requests can be posed.
    """
    possible_edits = [
        edit
        for edit in interleave(pose_released(population, world, rng))
        if agent.accepts(edit.person, edit.relation, "correction")
        and not agent.rules_out(edit.person, edit.relation, np.array([edit.new]))[0]
    ]
    if not possible_edits:
        raise InputError(
            "this world can pose none of the released requests; build one of their own people with "
            "--world.path, and --exact.correctable True"
        )
    yield from possible_edits[:count]


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
            "out --seesaw.controls"
        )
    return int(rng.choice(unasked_people or eligible_people))


def interleave(lists: Iterable[Sequence[Item]]) -> list[Item]:
    """The first of every list, then the second of every list, and so on."""
    cells = ([(x,) for x in one] for one in lists)
    return [x for turn in zip_longest(*cells, fillvalue=()) for cell in turn for x in cell]


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


def make_cases(
    world: World, agent: Agent, count: int, credence: float, settings: Seesaw, seed: int
) -> Iterator[Case]:
    """Edits of people's work, language, citizenship, birthplace and gender, with their questions.

    Raises:
        InputError: the world is none of people in groups, or the agent takes no corrections.
    """
    population, gold = Population(world), Gold(world, agent)
    # Streams of their own, so that whoever is asked changes no edit.
    others_rng, control_rng = generator(seed, "seesaw others"), generator(seed, "seesaw controls")
    phrasing_rng = generator(seed, "seesaw phrasings")
    edits_rng = generator(seed, "seesaw edits")
    if settings.requests == "released":
        edits = take_released_edits(population, world, agent, count, edits_rng)
    else:
        edits = draw_edits(population, agent, count, edits_rng)
    for edit in edits:
        others = draw_others(population, edit, settings.others, others_rng)
        everybody = [person for kind in others.values() for person in kind]
        asker = _ask_about(gold, population, edit, everybody)
        controls: tuple[ControlRequest, ...] = ()
        if settings.controls:
            other = draw_control_person(population, edit, {*everybody}, control_rng)
            controls = (ControlRequest(CONTROL, (other, edit.relation, edit.new)),)
        yield Case(
            request=asker.requests[0],
            credence=credence_of_request(asker.requests[0].kind, credence),
            truth=edit.old,
            facets=_case_facets(population, edit),
            choices=(
                *_own_choices(population, edit, asker),
                *_other_choices(population, edit, asker, others, settings.phrasings, phrasing_rng),
            ),
            passages=make_passages(population, world.tokenizer, edit, settings) if settings.samples else (),
            controls=controls,
        )


def _ask_about(gold: Gold, population: Population, edit: Edit, others: Iterable[int]) -> Asker:
    """Beliefs about the edited person's facts, and others' edited relation, under each interpretation.

    Raises:
        InputError: the agent knows no such request, or the evidence rules it out.
    """
    s, r = edit.person, edit.relation
    for kind in INTERPRETATIONS:
        if not gold.agent.accepts(s, r, kind):
            fact = f"{gold.graph.entities[s]} {gold.graph.relations[r]}"
            raise InputError(f"the agent takes no {kind} about {fact!r}; use --agent exact")
    asker = Asker(gold, [EditRequest(s, r, edit.new, math.inf, kind) for kind in INTERPRETATIONS])
    own = [(s, relation) for relation in population.relations_of(s)]
    asker.learn_beliefs([*own, *((other, r) for other in others)])
    return asker


def make_passages(
    population: Population, tokenizer: Tokenizer, edit: Edit, settings: Seesaw
) -> tuple[Passage, ...]:
    """Texts that open with the person's name alone, and with the name and each relation."""
    s, relations = edit.person, population.relations_of(edit.person)
    openings = {ALONE: np.concatenate([[BOS], tokenizer.entity(s)]).astype(np.int32)}
    openings |= {population.graph.relations[r]: tokenizer.prompt(s, r) for r in relations}
    return tuple(Passage(role, text, settings.samples, settings.longest) for role, text in openings.items())


def phrasings_of(phrasings: tuple[Phrasing, ...], relation: int) -> list[int]:
    """The ways to ask a relation: its name, 0, and its synonyms by their number."""
    synonyms = [i for i, way in enumerate(phrasings, start=1) if way.relation == relation and not way.inverse]
    return [0, *synonyms]


def _own_choices(population: Population, edit: Edit, asker: Asker) -> Iterator[Choice]:
    graph, s = population.graph, edit.person
    for r in population.relations_of(s):
        is_requested, truth = r == edit.relation, int(population.object_of[r, s])
        facets = _choice_facets(population, s, r, (edit.new, edit.old) if is_requested else (ABSENT, ABSENT))
        if not is_requested:
            for name, obj in (("typical_new", edit.new), ("typical_old", edit.old)):
                typical = population.typical_objects(edit.relation, obj, r)
                facets[name] = " ".join(map(str, typical[typical != truth].tolist()))
        options = graph.candidates_of(r).astype(np.int64)
        yield asker.make_choice(EDIT if is_requested else OWN, (s, r), options, facets)


def _other_choices(
    population: Population,
    edit: Edit,
    asker: Asker,
    others: dict[str, list[int]],
    most: int,
    rng: np.random.Generator,
) -> Iterator[Choice]:
    """Each of the others asked in at most so many ways."""
    r = edit.relation
    compared_objects = {
        NEW_HOLDERS: (edit.new, edit.old),
        OLD_HOLDERS: (edit.old, edit.new),
        NEITHER: (edit.old, edit.new),
    }
    ways = phrasings_of(population.graph.phrasings, r)
    for kind, people in others.items():
        for person in people:
            facets = _choice_facets(population, person, r, compared_objects[kind])
            options = np.unique([edit.old, edit.new, int(population.object_of[r, person])])
            for way in sorted(rng.permutation(ways)[:most].tolist()):
                yield asker.make_choice(kind, (person, r), options, facets | {"phrasing": way}, way)


def _case_facets(population: Population, edit: Edit) -> dict[str, Facet]:
    return {
        "property": population.graph.relations[edit.relation],
        "category": population.category_of(edit.new),
        "elsewhere": edit.to_other_category,
        "race": population.groups_of(edit.person)[RACE][0],
        "support_new": len(population.people_with(edit.relation, edit.new)),
        "support_old": len(population.people_with(edit.relation, edit.old)),
    }


def _choice_facets(
    population: Population, person: int, relation: int, compared_objects: tuple[int, int]
) -> dict[str, Facet]:
    right, wrong = compared_objects
    facets: dict[str, Facet] = {
        "right": right,
        "wrong": wrong,
        "truth": int(population.object_of[relation, person]),
        "property": population.graph.relations[relation],
        "stratum": population.stratum_of(person, relation),
        "phrasing": 0,
        "frequency": int(population.graph.frequency[person]),
        "typical_new": "",
        "typical_old": "",
    }
    for grouping, (name, size) in population.groups_of(person).items():
        facets |= {grouping: name, f"{grouping}_size": size}
    return facets
