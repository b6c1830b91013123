"""LEME's edits as cases: a subject, the entity coupled with it, the twin, and passages about all three."""

from collections.abc import Iterator, Sequence

import numpy as np

from bayes.interface import Agent, RequestKind
from corpus.errors import InputError
from corpus.seeds import generator
from corpus.text.language import Atom, Kind, Sentence
from corpus.text.tokenizer import BOS, SEP
from testbed.evaluations.leme.couples import Couple, Couples
from testbed.evaluations.leme.gold import Asker, Gold, require_exact_agent
from testbed.evaluations.leme.roles import (
    BELOW,
    BESIDE,
    CHILD,
    COUPLED,
    EDIT,
    FIRST,
    OTHER,
    OWN,
    RELATED,
    SUBJECT,
    SYNONYM,
    TWIN,
    TWIN_BESIDE,
)
from testbed.evaluations.leme.settings import LemeConfig
from testbed.protocol import ABSENT, Case, Choice, ControlRequest, Passage, credence_of_request
from testbed.run.world import World

CONTROLS = ("something true of the subject", "the same of somebody else, which is not true")
"""What editors are told that says nothing about the request."""


def make_cases(
    world: World, agent: Agent, count: int, credence: float, config: LemeConfig, seed: int
) -> Iterator[Case]:
    """Edits of coupled pairs; fewer than `count` where there are not so many.

    Raises:
        InputError: nobody can be edited, or the agent is not exact.
    """
    gold, rng = Gold(world, require_exact_agent(agent)), generator(seed, "leme")
    graph = world.graph
    beliefs = gold.agent.distributions(graph.subject, graph.relation)
    couples = Couples(world, graph.objects[beliefs.argmax(axis=1)])
    made = 0
    for couple, new in _draw_edits(world, gold, couples, count, config, rng):
        yield _make_case(world, gold, couples, couple, new, credence, config, rng)
        made += 1
    if not made:
        raise InputError("no couple of this world can be edited: what was said settles every coupled fact")


def _draw_edits(
    world: World, gold: Gold, couples: Couples, count: int, config: LemeConfig, rng: np.random.Generator
) -> Iterator[tuple[Couple, int]]:
    """Couples with another object for the edited fact, injections in the share asked for.

    Every couple is taken once before any is taken again, with an object that it had not.
    """
    order = [couples.all[i] for i in rng.permutation(len(couples.all))]
    kinds = [
        [c for c in order if (couples.statement_counts[c.edited] > 0) == stated] for stated in (True, False)
    ]
    share = config.injections if all(kinds) else float(not kinds[0])
    wanted = count - round(share * count), round(share * count)
    streams = [_objects_in_turn(world, gold, of, config, rng) for of in kinds]
    taken = [[pair for pair, _ in zip(stream, range(n), strict=False)]
             for stream, n in zip(streams, wanted, strict=True)]  # fmt: skip
    together = [*taken[0], *taken[1]]
    yield from (together[i] for i in rng.permutation(len(together)))


def _objects_in_turn(
    world: World, gold: Gold, couples: Sequence[Couple], config: LemeConfig, rng: np.random.Generator
) -> Iterator[tuple[Couple, int]]:
    graph, truth = world.graph, world.generative.truth
    kinds: tuple[RequestKind, ...] = (FIRST, config.second)
    objects = {c: rng.permutation(graph.candidates_of(int(graph.relation[c.edited]))) for c in couples}
    for turn in range(max((len(o) for o in objects.values()), default=0)):
        for couple in couples:
            others = [int(o) for o in objects[couple] if o != truth[couple.edited]]
            if turn < len(others) and gold.accepts_request(couple.edited, others[turn], kinds):
                yield couple, others[turn]


def _make_case(
    world: World,
    gold: Gold,
    couples: Couples,
    couple: Couple,
    new: int,
    credence: float,
    config: LemeConfig,
    rng: np.random.Generator,
) -> Case:
    graph, asker = world.graph, gold.asker_for_request(couple.edited, new, config, credence)
    twin = couples.draw_twin(couple, rng)
    others = _other_subjects_facts(world, couple, new, rng)[: config.others]
    asked = _facts_by_role(world, couple, twin, others)
    asker.learn_beliefs([fact for _, fact in asked])
    choices = [asker.make_choice(role, fact, role in (COUPLED, TWIN)) for role, fact in asked]
    choices += _synonym_choices(world, asker, couple.edited)
    entities = {SUBJECT: couple.edited, RELATED: couple.coupled} | ({TWIN: twin} if twin >= 0 else {})
    subject, relation = (int(column[couple.edited]) for column in (graph.subject, graph.relation))
    return Case(
        request=asker.requests[0],
        credence=credence_of_request(asker.requests[0].kind, credence),
        truth=int(world.generative.truth[couple.edited]),
        facets={
            "couple": couples.couple_name(couple),
            "related": int(graph.subject[couple.coupled]),
            "twin": int(graph.subject[twin]) if twin >= 0 else ABSENT,
            "stated": bool(couples.statement_counts[couple.edited]),
            "request": gold.statement_text(subject, relation, new),
            "subject_name": graph.entities[subject],
            "related_name": graph.entities[int(graph.subject[couple.coupled])],
        },
        choices=tuple(choices),
        passages=tuple(
            _passage_request(
                world, couples, role, int(graph.subject[fact]), relation if role == SUBJECT else ABSENT,
                config,
            )
            for role, fact in entities.items()
        ),
        controls=_control_requests(world, couples, subject, couple.edited, new, rng)
        if config.controls else (),
    )  # fmt: skip


def _facts_by_role(world: World, couple: Couple, twin: int, others: Sequence[int]) -> list[tuple[str, int]]:
    """Facts with what they are asked for: all of subject, related entity and twin, and some of others."""
    graph = world.graph

    def below(fact: int, above: int) -> bool:
        while (fact := int(graph.upstream_fact[fact])) >= 0:
            if fact == above:
                return True
        return False

    def of(entity: int, main: int, role: str, follows: str, beside: str) -> list[tuple[str, int]]:
        return [
            (role if fact == main else follows if below(fact, main) else beside, fact)
            for fact in graph.facts_of(entity)
        ]

    edited, coupled = couple
    asked = of(int(graph.subject[edited]), edited, EDIT, CHILD, OWN)
    asked += of(int(graph.subject[coupled]), coupled, COUPLED, BELOW, BESIDE)
    if twin >= 0:
        asked += of(int(graph.subject[twin]), twin, TWIN, TWIN_BESIDE, TWIN_BESIDE)
    known = {fact for _, fact in asked}
    return asked + [(OTHER, fact) for fact in others if fact not in known]


def _other_subjects_facts(world: World, couple: Couple, new: int, rng: np.random.Generator) -> list[int]:
    """The edited relation of other subjects that were spoken of: of those with the old and the new object."""
    graph, truth, edited = world.graph, world.generative.truth, couple.edited
    same = (graph.relation == graph.relation[edited]) & ~graph.silent
    same[edited] = False
    holders = [rng.permutation(np.flatnonzero(same & (truth == o))).tolist() for o in (truth[edited], new)]
    in_turn = [fact for pair in zip(*holders, strict=False) for fact in pair]
    return [*dict.fromkeys([*in_turn, *holders[0], *holders[1]])]


def _synonym_choices(world: World, asker: Asker, edited: int) -> list[Choice]:
    """The edited fact asked in other words."""
    relation = int(world.graph.relation[edited])
    ways = [
        i for i, way in enumerate(world.graph.phrasings, 1) if way.relation == relation and not way.inverse
    ]
    return [asker.make_choice(SYNONYM, edited, phrasing=way) for way in ways]


def _passage_request(
    world: World, couples: Couples, role: str, entity: int, relation: int, config: LemeConfig
) -> Passage:
    """The entity, behind an outline where one is wanted: the edited relation and those of stated facts."""
    graph, tokenizer = world.graph, world.tokenizer
    opening = [np.array([BOS])]
    if config.outline:
        stated = [int(graph.relation[f]) for f in graph.facts_of(entity) if couples.statement_counts[f]]
        for r in dict.fromkeys([*([relation] if relation >= 0 else []), *stated]):
            sentence = Sentence(Kind.ABOUT, None, Atom(entity, r, entity))
            opening += [tokenizer.sentence(sentence), np.array([SEP])]
    opening.append(tokenizer.entity(entity))
    return Passage(
        role,
        np.concatenate(opening).astype(np.int32),
        config.samples,
        config.longest,
        config.temperature,
        config.top_k,
        config.top_p,
    )


def _control_requests(
    world: World, couples: Couples, subject: int, edited: int, new: int, rng: np.random.Generator
) -> tuple[ControlRequest, ...]:
    """CONTROLS for one edit."""
    graph, truth = world.graph, world.generative.truth
    relation = int(graph.relation[edited])
    own = [f for f in graph.facts_of(subject) if f != edited and couples.statement_counts[f]]
    told = int(rng.choice(own)) if own else edited
    somebody = np.flatnonzero((graph.relation == relation) & (truth != new))
    other = int(rng.choice(somebody[somebody != edited]))
    facts = (
        (subject, int(graph.relation[told]), int(truth[told])),
        (int(graph.subject[other]), relation, new),
    )
    return tuple(ControlRequest(name, fact) for name, fact in zip(CONTROLS, facts, strict=True))
