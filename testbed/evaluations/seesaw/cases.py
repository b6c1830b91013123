"""Seesaw-CF's edits as cases, with the agent's answers to all that is asked."""

from collections.abc import Iterator

import numpy as np

from bayes.interface import Agent
from corpus.language import Phrasing
from corpus.people import RACE
from corpus.seeds import generator
from corpus.tokenizer import BOS, Tokenizer
from testbed.evaluations.seesaw.edits import Edit, edits_of, others_of, somebody_else
from testbed.evaluations.seesaw.gold import Asker, Gold
from testbed.evaluations.seesaw.population import Population
from testbed.evaluations.seesaw.roles import ALONE, EDIT, NEITHER, NEW_HOLDERS, OLD_HOLDERS, OWN
from testbed.evaluations.seesaw.settings import SeesawConfig
from testbed.protocol import ABSENT, Case, Choice, ControlRequest, Facet, Passage, credence_told
from testbed.run.world import World

CONTROL = "the same of somebody else"


def cases_of(
    world: World, agent: Agent, count: int, credence: float, config: SeesawConfig, seed: int
) -> Iterator[Case]:
    """Edits of people's work, language, citizenship, birthplace and gender, with their questions.

    Raises:
        InputError: the world is none of people in groups, or the agent takes no corrections.
    """
    population = Population(world)
    gold = Gold(population, agent)
    # Streams of their own, so that whoever is asked changes no edit.
    asking, telling = generator(seed, "seesaw others"), generator(seed, "seesaw controls")
    wording = generator(seed, "seesaw phrasings")
    for edit in edits_of(population, agent, count, generator(seed, "seesaw edits")):
        others = others_of(population, edit, config.others, asking)
        everybody = [person for kind in others.values() for person in kind]
        asker = gold.about(edit, population.relations_of(edit.person), everybody)
        controls: tuple[ControlRequest, ...] = ()
        if config.controls:
            other = somebody_else(population, edit, {*everybody}, telling)
            controls = (ControlRequest(CONTROL, (other, edit.relation, edit.new)),)
        yield Case(
            request=asker.requests[0],
            credence=credence_told(asker.requests[0].kind, credence),
            truth=edit.old,
            facets=_facets(population, edit),
            choices=(
                *_own(population, edit, asker),
                *_others(population, edit, asker, others, config.phrasings, wording),
            ),
            passages=passages_of(population, world.tokenizer, edit, config) if config.samples else (),
            controls=controls,
        )


def passages_of(
    population: Population, tokenizer: Tokenizer, edit: Edit, config: SeesawConfig
) -> tuple[Passage, ...]:
    """Texts that open with the person's name alone, and with the name and each relation."""
    s, relations = edit.person, population.relations_of(edit.person)
    alone = np.concatenate([[BOS], tokenizer.entity(s)]).astype(np.int32)
    openings = {ALONE: alone} | {population.graph.relations[r]: tokenizer.prompt(s, r) for r in relations}
    return tuple(Passage(role, opening, config.samples, config.longest) for role, opening in openings.items())


def ways_of(phrasings: tuple[Phrasing, ...], relation: int) -> list[int]:
    """The ways to ask a relation: its name, 0, and its synonyms by their number."""
    synonyms = [i for i, way in enumerate(phrasings, start=1) if way.relation == relation and not way.inverse]
    return [0, *synonyms]


def _own(population: Population, edit: Edit, asker: Asker) -> Iterator[Choice]:
    graph, s = population.graph, edit.person
    for r in population.relations_of(s):
        requested, truth = r == edit.relation, int(population.value[r, s])
        facets = _about(population, s, r, (edit.new, edit.old) if requested else (ABSENT, ABSENT))
        if not requested:
            for name, obj in (("typical_new", edit.new), ("typical_old", edit.old)):
                typical = population.typical(edit.relation, obj, r)
                facets[name] = " ".join(map(str, typical[typical != truth].tolist()))
        options = graph.candidates_of(r).astype(np.int64)
        yield asker.choice(EDIT if requested else OWN, (s, r), options, facets)


def _others(
    population: Population,
    edit: Edit,
    asker: Asker,
    others: dict[str, list[int]],
    most: int,
    rng: np.random.Generator,
) -> Iterator[Choice]:
    """Each of the others asked in at most so many ways."""
    r = edit.relation
    compared = {
        NEW_HOLDERS: (edit.new, edit.old),
        OLD_HOLDERS: (edit.old, edit.new),
        NEITHER: (edit.old, edit.new),
    }
    ways = ways_of(population.graph.phrasings, r)
    for kind, people in others.items():
        for person in people:
            facets = _about(population, person, r, compared[kind])
            options = np.unique([edit.old, edit.new, int(population.value[r, person])])
            for way in sorted(rng.permutation(ways)[:most].tolist()):
                yield asker.choice(kind, (person, r), options, facets | {"phrasing": way}, way)


def _facets(population: Population, edit: Edit) -> dict[str, Facet]:
    return {
        "property": population.graph.relations[edit.relation],
        "category": population.category(edit.new),
        "elsewhere": edit.elsewhere,
        "race": population.groups(edit.person)[RACE][0],
        "support_new": len(population.holders(edit.relation, edit.new)),
        "support_old": len(population.holders(edit.relation, edit.old)),
    }


def _about(population: Population, person: int, relation: int, compared: tuple[int, int]) -> dict[str, Facet]:
    right, wrong = compared
    facets: dict[str, Facet] = {
        "right": right,
        "wrong": wrong,
        "truth": int(population.value[relation, person]),
        "property": population.graph.relations[relation],
        "stratum": population.stratum(person, relation),
        "phrasing": 0,
        "frequency": int(population.graph.frequency[person]),
        "typical_new": "",
        "typical_old": "",
    }
    for grouping, (name, size) in population.groups(person).items():
        facets |= {grouping: name, f"{grouping}_size": size}
    return facets
