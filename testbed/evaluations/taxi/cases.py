"""TAXI's edits as cases, with the agent's answers to all that is asked."""

from collections.abc import Iterator

import numpy as np

from bayes.interface import Agent
from corpus.errors import InputError
from corpus.seeds import generator
from corpus.text.language import Atom
from testbed.evaluations.beliefs import Pair
from testbed.evaluations.dutch_book import logical_claims
from testbed.evaluations.held_out import held_out_facets
from testbed.evaluations.taxi.edits import Edit, build_edits, draw_stratified
from testbed.evaluations.taxi.gold import Asker, Gold
from testbed.evaluations.taxi.kinds import Taxonomy
from testbed.evaluations.taxi.roles import EDIT, GONE, OTHER, PROPERTY, REVERSE
from testbed.evaluations.taxi.settings import TaxiConfig
from testbed.evaluations.taxi.tables import QUERIES, read_edits
from testbed.protocol import ABSENT, Case, Choice, Claim, ControlRequest, Facet, credence_of_request
from testbed.run.strata import STRATA
from testbed.run.world import World

CONTROLS = (
    "something true of the subject",
    "that somebody else is one, which is true",
    "the same of somebody else, which is not true",
)
"""What editors are told that says nothing about the request: a property that old and new category share, or
that only the old one has; the new category of one of its members; the request about another subject."""


def build_cases(
    world: World, agent: Agent, count: int, credence: float, config: TaxiConfig, seed: int
) -> Iterator[Case]:
    """TAXI's own edits where the world's folder has them, else those built as TAXI builds its own.

    Raises:
        InputError: the world is not a taxonomy, the agent not exact, or the tables do not fit the world.
    """
    kinds, rng, control_rng = Taxonomy(world.graph), generator(seed, "taxi"), generator(seed, "taxi controls")
    all_edits = _all_edits(world, kinds, seed)
    if not all_edits:
        raise InputError("no category of this world has another beside it, so nothing can be edited")
    gold = Gold(world, agent, kinds)
    for edit in draw_stratified(all_edits, kinds, count, rng):
        control_requests = _draw_controls(edit, kinds, control_rng) if config.controls else ()
        yield _build_case(edit, kinds, gold, config, credence, rng)._replace(controls=control_requests)


def _all_edits(world: World, kinds: Taxonomy, seed: int) -> list[Edit]:
    folder = world.path
    if folder is not None and not folder.is_dir():
        raise InputError(f"{folder}, from which this world was built, is gone; put it back, or build again")
    if folder is not None and (folder / QUERIES).exists():
        return read_edits(kinds, folder)
    return [*build_edits(kinds, generator(seed, "options"))]


def _build_case(
    edit: Edit, kinds: Taxonomy, gold: Gold, config: TaxiConfig, credence: float, rng: np.random.Generator
) -> Case:
    s, old, new, queries = edit
    asker = gold.ask_about(s, old, new)
    absent = _draw_absent_properties(edit, kinds, rng)[: config.absent]
    others = _draw_other_subjects(edit, gold, rng)[: config.others]
    other_pairs = [pair for of_one in others for pair in of_one]
    pairs = [(s, q.relation) for q in queries] + [(s, r) for r in absent] + other_pairs
    inverse_pairs = [(other, q.relation) for q in queries for other in q.subjects]
    asker.learn_beliefs([*pairs, *(p for p in inverse_pairs if gold.graph.find(*p) >= 0)])

    def make_facets(pair: Pair, label: int, before: int, changed: bool) -> dict[str, Facet]:
        return {"label": label, "old": before, "changed": changed, "stratum": gold.stratum_of(pair)}

    choices: list[Choice] = []
    for q in queries:
        pair = (s, q.relation)
        role = EDIT if q.relation == kinds.root else PROPERTY
        facet_values = make_facets(pair, q.label, q.old, q.changed)
        choices.append(asker.forward_choice(role, pair, q.options, role == PROPERTY, facet_values))
        if len(q.subjects) > 1 and kinds.inverse_phrasing(q.relation):
            choices.append(
                asker.inverse_choice(
                    REVERSE, q.label, q.relation, q.subjects, facet_values | {"label": s, "old": ABSENT}
                )
            )
    for r in absent:
        facet_values = make_facets((s, r), kinds.value_of(new, r), kinds.value_of(old, r), True)
        choices.append(
            asker.forward_choice(GONE, (s, r), kinds.graph.candidates_of(r).tolist(), True, facet_values)
        )
    for pair in other_pairs:
        truth = int(gold.graph.object[gold.graph.find(*pair)])
        among = (
            kinds.sibling_categories(truth)
            if pair[1] == kinds.root
            else kinds.graph.candidates_of(pair[1]).tolist()
        )
        choices.append(
            asker.forward_choice(OTHER, pair, among, False, make_facets(pair, truth, truth, False))
        )
    return Case(
        request=asker.requests[0],
        credence=credence_of_request(asker.requests[0].kind, credence),
        truth=old,
        facets={
            "superordinate": kinds.superordinate_of(s),
            "typical": kinds.is_typical(s),
            "members": len(kinds.members_by_category[new]),
            **held_out_facets(gold.world, s, new),
        },
        choices=tuple(choices),
        claims=_draw_claims(edit, other_pairs, asker, rng),
    )


def _draw_claims(edit: Edit, others: list[Pair], asker: Asker, rng: np.random.Generator) -> tuple[Claim, ...]:
    """Sentences about what should follow, and about a fact of somebody else; none where nobody is asked."""
    if not others:
        return ()
    graph = asker.gold.graph
    query = edit.queries[int(rng.integers(len(edit.queries)))]
    a = Atom(edit.subject, query.relation, query.label)
    b = Atom(*others[-1], int(graph.object[graph.find(*others[-1])]))
    return logical_claims(a, b, asker.belief(a), asker.belief(b))


def _draw_absent_properties(edit: Edit, kinds: Taxonomy, rng: np.random.Generator) -> list[int]:
    """Properties that one of the two categories lacks, lost and gained ones in turn."""
    presence = [(kinds.value_of(edit.old, r) != ABSENT, kinds.value_of(edit.new, r) != ABSENT, r)
             for r in kinds.property_relations(edit.subject)]  # fmt: skip
    lost, gained = (
        [r for old, new, r in presence if (old, new) == which] for which in ((True, False), (False, True))
    )
    return _interleave(rng.permutation(lost).tolist(), rng.permutation(gained).tolist())


def _draw_other_subjects(edit: Edit, gold: Gold, rng: np.random.Generator) -> list[list[Pair]]:
    """Other subjects, of the old and of the new category in turn: category and one stated property."""
    kinds = gold.kinds
    near, far = ([m for m in kinds.members_by_category[c] if m != edit.subject] for c in (edit.old, edit.new))
    others = []
    for other in _interleave(rng.permutation(near).tolist(), rng.permutation(far).tolist()):
        stated_relations = [
            r for r in kinds.property_relations(other) if gold.stratum_of((other, r)) != STRATA[0]
        ]
        others.append(
            [(other, kinds.root), *([(other, int(rng.choice(stated_relations)))] if stated_relations else [])]
        )
    return others


def _interleave(first: list[int], second: list[int]) -> list[int]:
    """Of two lists now one and now the other, until both are used up."""
    order = sorted([*((i, 0, x) for i, x in enumerate(first)), *((i, 1, x) for i, x in enumerate(second))])
    return [x for _, _, x in order]


def _draw_controls(edit: Edit, kinds: Taxonomy, rng: np.random.Generator) -> tuple[ControlRequest, ...]:
    """CONTROLS for one edit; where no category shares a property, any of the subject's own is told."""
    s, old, new, _ = edit
    own_relations = [r for r in kinds.property_relations(s) if kinds.value_of(old, r) != ABSENT]
    shared_relations = [
        r for r in own_relations if kinds.value_of(new, r) in (kinds.value_of(old, r), ABSENT)
    ]
    relation = int(rng.choice(shared_relations or own_relations)) if own_relations else kinds.root
    value = kinds.value_of(old, relation) if own_relations else old
    member = int(rng.choice(kinds.members_by_category[new]))
    somebody = [x for x in kinds.category_by_member if kinds.category_by_member[x] != new and x != s]
    same_kind = [x for x in somebody if kinds.graph.group[x] == kinds.graph.group[s]]
    other = int(rng.choice(same_kind or somebody))
    facts = ((s, relation, value), (member, kinds.root, new), (other, kinds.root, new))
    return tuple(ControlRequest(name, fact) for name, fact in zip(CONTROLS, facts, strict=True))
