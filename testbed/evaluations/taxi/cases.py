"""TAXI's edits as cases, with the agent's answers to all that is asked."""

from collections.abc import Iterator

import numpy as np

from bayes.interface import Agent
from corpus.errors import InputError
from corpus.language import Atom
from corpus.seeds import generator
from testbed.evaluations.beliefs import Pair
from testbed.evaluations.dutch_book import logical_claims
from testbed.evaluations.held_out import seen_facets
from testbed.evaluations.taxi.edits import Edit, edits_of, stratified
from testbed.evaluations.taxi.gold import Asker, Gold
from testbed.evaluations.taxi.kinds import Kinds
from testbed.evaluations.taxi.roles import EDIT, GONE, OTHER, PROPERTY, REVERSE
from testbed.evaluations.taxi.settings import TaxiConfig
from testbed.evaluations.taxi.tables import QUERIES, edits_from
from testbed.protocol import ABSENT, Case, Choice, Claim, ControlRequest, Facet, credence_told
from testbed.run.strata import STRATA
from testbed.run.world import World

CONTROLS = (
    "something true of the subject",
    "that somebody else is one, which is true",
    "the same of somebody else, which is not true",
)
"""What editors are told that says nothing about the request: a property that old and new category share, or
that only the old one has; the new category of one of its members; the request about another subject."""


def cases_of(
    world: World, agent: Agent, count: int, credence: float, config: TaxiConfig, seed: int
) -> Iterator[Case]:
    """TAXI's own edits where the world's folder has them, else those built as TAXI builds its own.

    Raises:
        InputError: the world is not a taxonomy, the agent not exact, or the tables do not fit the world.
    """
    kinds, rng, telling = Kinds(world.graph), generator(seed, "taxi"), generator(seed, "taxi controls")
    every = _edits(world, kinds, seed)
    if not every:
        raise InputError("no category of this world has another beside it, so nothing can be edited")
    gold = Gold(world, agent, kinds)
    for edit in stratified(every, kinds, count, rng):
        told = _controls(edit, kinds, telling) if config.controls else ()
        yield _case(edit, kinds, gold, config, credence, rng)._replace(controls=told)


def _edits(world: World, kinds: Kinds, seed: int) -> list[Edit]:
    folder = world.path
    if folder is not None and not folder.is_dir():
        raise InputError(f"{folder}, from which this world was built, is gone; put it back, or build again")
    if folder is not None and (folder / QUERIES).exists():
        return edits_from(kinds, folder)
    return [*edits_of(kinds, generator(seed, "options"))]


def _case(
    edit: Edit, kinds: Kinds, gold: Gold, config: TaxiConfig, credence: float, rng: np.random.Generator
) -> Case:
    s, old, new, queries = edit
    asker = gold.about(s, old, new)
    absent = _absent(edit, kinds, rng)[: config.absent]
    others = _others(edit, gold, rng)[: config.others]
    asked_of_others = [pair for of_one in others for pair in of_one]
    pairs = [(s, q.relation) for q in queries] + [(s, r) for r in absent] + asked_of_others
    asked_inversely = [(other, q.relation) for q in queries for other in q.subjects]
    asker.learn([*pairs, *(p for p in asked_inversely if gold.graph.find(*p) >= 0)])

    def facets(pair: Pair, label: int, before: int, changed: bool) -> dict[str, Facet]:
        return {"label": label, "old": before, "changed": changed, "stratum": gold.stratum(pair)}

    choices: list[Choice] = []
    for q in queries:
        pair = (s, q.relation)
        role = EDIT if q.relation == kinds.root else PROPERTY
        about = facets(pair, q.label, q.old, q.changed)
        choices.append(asker.forward(role, pair, q.options, role == PROPERTY, about))
        if len(q.subjects) > 1 and kinds.inverse(q.relation):
            choices.append(
                asker.inverse(REVERSE, q.label, q.relation, q.subjects, about | {"label": s, "old": ABSENT})
            )
    for r in absent:
        about = facets((s, r), kinds.value(new, r), kinds.value(old, r), True)
        choices.append(asker.forward(GONE, (s, r), kinds.graph.candidates_of(r).tolist(), True, about))
    for pair in asked_of_others:
        truth = int(gold.graph.object[gold.graph.find(*pair)])
        among = (
            kinds.siblings(truth) if pair[1] == kinds.root else kinds.graph.candidates_of(pair[1]).tolist()
        )
        choices.append(asker.forward(OTHER, pair, among, False, facets(pair, truth, truth, False)))
    return Case(
        request=asker.requests[0],
        credence=credence_told(asker.requests[0].kind, credence),
        truth=old,
        facets={
            "superordinate": kinds.superordinate(s),
            "typical": kinds.typical(s),
            "members": len(kinds.members[new]),
            **seen_facets(gold.world, s, new),
        },
        choices=tuple(choices),
        claims=_claims(edit, asked_of_others, asker, rng),
    )


def _claims(edit: Edit, others: list[Pair], asker: Asker, rng: np.random.Generator) -> tuple[Claim, ...]:
    """Sentences about what should follow, and about a fact of somebody else; none where nobody is asked."""
    if not others:
        return ()
    graph = asker.gold.graph
    query = edit.queries[int(rng.integers(len(edit.queries)))]
    a = Atom(edit.subject, query.relation, query.label)
    b = Atom(*others[-1], int(graph.object[graph.find(*others[-1])]))
    return logical_claims(a, b, asker.belief(a), asker.belief(b))


def _absent(edit: Edit, kinds: Kinds, rng: np.random.Generator) -> list[int]:
    """Properties that one of the two categories lacks, lost and gained ones in turn."""
    there = [(kinds.value(edit.old, r) != ABSENT, kinds.value(edit.new, r) != ABSENT, r)
             for r in kinds.relations(edit.subject)]  # fmt: skip
    lost, gained = (
        [r for old, new, r in there if (old, new) == which] for which in ((True, False), (False, True))
    )
    return _in_turn(rng.permutation(lost).tolist(), rng.permutation(gained).tolist())


def _others(edit: Edit, gold: Gold, rng: np.random.Generator) -> list[list[Pair]]:
    """Other subjects, of the old and of the new category in turn: category and one stated property."""
    kinds = gold.kinds
    near, far = ([m for m in kinds.members[c] if m != edit.subject] for c in (edit.old, edit.new))
    others = []
    for other in _in_turn(rng.permutation(near).tolist(), rng.permutation(far).tolist()):
        said = [r for r in kinds.relations(other) if gold.stratum((other, r)) != STRATA[0]]
        others.append([(other, kinds.root), *([(other, int(rng.choice(said)))] if said else [])])
    return others


def _in_turn(first: list[int], second: list[int]) -> list[int]:
    """Of two lists now one and now the other, until both are used up."""
    order = sorted([*((i, 0, x) for i, x in enumerate(first)), *((i, 1, x) for i, x in enumerate(second))])
    return [x for _, _, x in order]


def _controls(edit: Edit, kinds: Kinds, rng: np.random.Generator) -> tuple[ControlRequest, ...]:
    """CONTROLS for one edit; where no category shares a property, any of the subject's own is told."""
    s, old, new, _ = edit
    own = [r for r in kinds.relations(s) if kinds.value(old, r) != ABSENT]
    shared = [r for r in own if kinds.value(new, r) in (kinds.value(old, r), ABSENT)]
    relation = int(rng.choice(shared or own)) if own else kinds.root
    told = kinds.value(old, relation) if own else old
    member = int(rng.choice(kinds.members[new]))
    somebody = [x for x in kinds.category if kinds.category[x] != new and x != s]
    same_kind = [x for x in somebody if kinds.graph.group[x] == kinds.graph.group[s]]
    other = int(rng.choice(same_kind or somebody))
    facts = ((s, relation, told), (member, kinds.root, new), (other, kinds.root, new))
    return tuple(ControlRequest(name, fact) for name, fact in zip(CONTROLS, facts, strict=True))
