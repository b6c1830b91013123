"""Seesaw-CF's edits as cases, with the agent's answers to all that is asked."""

from collections.abc import Iterator

import numpy as np

from bayes.interface import Agent
from corpus.seeds import generator
from corpus.text.language import Phrasing
from corpus.text.tokenizer import BOS, Tokenizer
from corpus.worlds.people import RACE
from testbed.evaluations.seesaw.edits import Edit, draw_control_person, draw_edits, draw_others
from testbed.evaluations.seesaw.gold import Asker, Gold
from testbed.evaluations.seesaw.population import Population
from testbed.evaluations.seesaw.roles import ALONE, EDIT, NEITHER, NEW_HOLDERS, OLD_HOLDERS, OWN
from testbed.evaluations.seesaw.settings import SeesawConfig
from testbed.protocol import ABSENT, Case, Choice, ControlRequest, Facet, Passage, credence_of_request
from testbed.run.world import World

CONTROL = "the same of somebody else"


def build_cases(
    world: World, agent: Agent, count: int, credence: float, config: SeesawConfig, seed: int
) -> Iterator[Case]:
    """Edits of people's work, language, citizenship, birthplace and gender, with their questions.

    Raises:
        InputError: the world is none of people in groups, or the agent takes no corrections.
    """
    population = Population(world)
    gold = Gold(population, agent)
    # Streams of their own, so that whoever is asked changes no edit.
    others_rng, control_rng = generator(seed, "seesaw others"), generator(seed, "seesaw controls")
    phrasing_rng = generator(seed, "seesaw phrasings")
    for edit in draw_edits(population, agent, count, generator(seed, "seesaw edits")):
        others = draw_others(population, edit, config.others, others_rng)
        everybody = [person for kind in others.values() for person in kind]
        asker = gold.ask_about(edit, population.relations_of(edit.person), everybody)
        controls: tuple[ControlRequest, ...] = ()
        if config.controls:
            other = draw_control_person(population, edit, {*everybody}, control_rng)
            controls = (ControlRequest(CONTROL, (other, edit.relation, edit.new)),)
        yield Case(
            request=asker.requests[0],
            credence=credence_of_request(asker.requests[0].kind, credence),
            truth=edit.old,
            facets=_case_facets(population, edit),
            choices=(
                *_own_choices(population, edit, asker),
                *_other_choices(population, edit, asker, others, config.phrasings, phrasing_rng),
            ),
            passages=build_passages(population, world.tokenizer, edit, config) if config.samples else (),
            controls=controls,
        )


def build_passages(
    population: Population, tokenizer: Tokenizer, edit: Edit, config: SeesawConfig
) -> tuple[Passage, ...]:
    """Texts that open with the person's name alone, and with the name and each relation."""
    s, relations = edit.person, population.relations_of(edit.person)
    name_alone = np.concatenate([[BOS], tokenizer.entity(s)]).astype(np.int32)
    openings = {ALONE: name_alone} | {
        population.graph.relations[r]: tokenizer.prompt(s, r) for r in relations
    }
    return tuple(Passage(role, opening, config.samples, config.longest) for role, opening in openings.items())


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
