"""TAXI's edits as cases, with the agent's answers to all that is asked."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bayes.interface import Agent
from bayes.request import EditRequest
from corpus.errors import InputError
from corpus.seeds import generator
from corpus.text.language import Atom
from testbed.evaluations.dutch_book import logical_claims
from testbed.evaluations.gold import SURE, Asker, Gold, Pair, ask_beliefs
from testbed.evaluations.held_out import held_out_facets
from testbed.evaluations.taxi import EDIT, INTERPRETATIONS, OTHER_FACT, PROPERTY, REVERSE, UNSHARED, Taxi
from testbed.evaluations.taxi.edits import QUERIES, Edit, Taxonomy, build_edits, read_edits
from testbed.protocol import (
    ABSENT,
    Case,
    Choice,
    Claim,
    ControlRequest,
    Facet,
    credence_of_request,
    is_equally_good,
)
from testbed.run.strata import STRATA, stratum
from testbed.run.world import World

CONTROLS = (
    "something true of the subject",
    "that somebody else is one, which is true",
    "the same of somebody else, which is not true",
)
"""What editors are told that says nothing about the request: a property that old and new category share, or
that only the old one has; the new category of one of its members; the request about another subject."""


def make_cases(
    world: World, agent: Agent, count: int, credence: float, evaluation: Taxi, seed: int
) -> Iterator[Case]:
    """TAXI's own edits where the world's folder has them, else those built as TAXI builds its own.

    Raises:
        InputError: the world is not a taxonomy, the agent not exact, or the tables do not fit the world.
    """
    taxonomy, rng, control_rng = (
        Taxonomy(world.graph), generator(seed, "taxi"), generator(seed, "taxi controls"),
    )  # fmt: skip
    all_edits = _list_edits(world, taxonomy, seed)
    if not all_edits:
        raise InputError("no category of this world has another beside it, so nothing can be edited")
    gold = TaxiGold(world, agent, taxonomy)
    # As equally as may be of all superordinates and of typical and rare subjects.
    parts: dict[tuple[str, bool], list[Edit]] = {}
    for i in rng.permutation(len(all_edits)):
        subject = all_edits[i].subject
        part = taxonomy.superordinate_of(subject), taxonomy.is_typical(subject)
        parts.setdefault(part, []).append(all_edits[i])
    # The n-th of every part before the n+1-th of any.
    turns = [(turn, part) for part in sorted(parts) for turn in range(len(parts[part]))]
    for edit in [parts[part][turn] for turn, part in sorted(turns)[:count]]:
        controls = _draw_controls(edit, taxonomy, control_rng) if evaluation.controls else ()
        yield _build_case(edit, TaxiAsker(gold, edit), evaluation, credence, rng)._replace(controls=controls)


def _list_edits(world: World, taxonomy: Taxonomy, seed: int) -> list[Edit]:
    folder = world.path
    if folder is not None and not folder.is_dir():
        raise InputError(f"{folder}, from which this world was built, is gone; put it back, or build again")
    if folder is not None and (folder / QUERIES).exists():
        return read_edits(taxonomy, folder)
    return [*build_edits(taxonomy, generator(seed, "options"))]


class TaxiGold(Gold):
    """What is believed of a taxonomy before any edit, and of a category once a subject has left it."""

    def __init__(self, world: World, agent: Agent, taxonomy: Taxonomy) -> None:
        super().__init__(world, agent)
        self.taxonomy = taxonomy
        self._without_subject: dict[tuple[int, Pair], np.ndarray] = {}

    def beliefs_without(self, subject: int, agent: Agent, pairs: Sequence[Pair]) -> dict[Pair, np.ndarray]:
        """Beliefs about members of a category that a subject has left, by a correction that `agent` knows.

        They are the same whatever the subject becomes, so each is asked once.
        """
        missing = [pair for pair in pairs if (subject, pair) not in self._without_subject]
        for pair, belief in ask_beliefs(self.graph, agent, missing).items():
            self._without_subject[subject, pair] = belief
        return {pair: self._without_subject[subject, pair] for pair in pairs}

    def stratum_of(self, pair: Pair) -> str:
        """How often a fact was stated."""
        return stratum(len(self.objects_stated(pair)))


class TaxiAsker(Asker):
    """Choices about one edit.

    Raises:
        InputError: the agent knows no such request, or the evidence rules it out.
    """

    def __init__(self, gold: TaxiGold, edit: Edit) -> None:
        self.taxi_gold, self.taxonomy, self.edit = gold, gold.taxonomy, edit
        s, r, o = fact = (edit.subject, gold.taxonomy.root, edit.new)
        requests = [EditRequest(*fact, math.inf, kind) for kind in INTERPRETATIONS]
        for request in requests:
            if not gold.agent.accepts(s, r, request.kind) or (
                request.kind == "correction" and gold.agent.rules_out(s, r, np.array([o]))[0]
            ):
                graph = gold.graph
                named = f"{graph.entities[s]} {graph.relations[r]} {graph.entities[o]}"
                raise InputError(
                    f"the agent takes no {request.kind} to {named!r}; this evaluation "
                    "needs --agent exact and a taxonomy of --kind exact, in which categories are open to "
                    "correction"
                )
        super().__init__(gold, requests)

    def ask_again(
        self, agent: Agent, request: EditRequest, before: Mapping[Pair, np.ndarray]
    ) -> dict[Pair, np.ndarray]:
        """The beliefs that may have moved.

        A correction takes the subject out of the rows of its old category and into those of the new one; so
        the members of these two are asked again, where their facts are not known anyway.
        """
        s, category = request.subject, self.taxonomy.category_by_member
        is_observation = request.kind != "do"
        unsure = [p for p, belief in before.items() if is_observation and p[0] != s and belief.max() < SURE]
        remaining = [pair for pair in unsure if category.get(pair[0]) == self.edit.old]
        joined = [pair for pair in unsure if category.get(pair[0]) == self.edit.new]
        own = [pair for pair in before if pair[0] == s]
        return self.taxi_gold.beliefs_without(s, agent, remaining) | ask_beliefs(
            self.graph, agent, own + joined
        )

    def ask_forward(
        self, role: str, pair: Pair, objects: Sequence[int], label: int, old: int, changed: bool
    ) -> Choice:
        """Which of some objects a subject has; of a property, all that it might have are recorded."""
        offered, candidates = np.unique(objects), self.graph.candidates_of(pair[1])
        options = np.union1d(offered, candidates) if role in (PROPERTY, UNSHARED) else offered
        facets = self._make_facets(pair, label, old, changed)
        return self.make_choice(role, pair, options, facets, offered=np.isin(options, offered))

    def ask_inversely(self, relation: int, obj: int, subjects: Sequence[int], changed: bool) -> Choice:
        """Which of some subjects has an object: by the belief in each, and how often each is spoken of.

        The agent has no answer where the corpus leaves more doubt than the beliefs tell apart.
        """
        options, request = np.unique(subjects), self.requests[0]
        often = self.graph.frequency[options].astype(float)
        place = int(np.searchsorted(self.graph.candidates_of(relation), obj))
        beliefs, counts = np.zeros((len(self.agents), len(options))), np.zeros(len(options))
        doubt = self.gold.agent.exactness.bound or 0.0
        for at, subject in enumerate(options.tolist()):
            if self.graph.find(subject, relation) >= 0:
                beliefs[:, at] = self.beliefs_in((subject, relation))[:, place]
                counts[at] = (self.gold.objects_stated((subject, relation)) == obj).sum()
        agent = np.stack([_normalise_weights(belief * often) for belief in beliefs])
        before = _normalise_weights(counts * often)
        is_request = (relation, obj) == request[1:3]
        after = (options == request.subject).astype(float) if is_request else before
        return Choice(
            role=REVERSE,
            subject=obj,
            relation=relation,
            options=options,
            agent=agent,
            answer=np.array([find_answer(options, belief, often, doubt) for belief in beliefs]),
            frequency=np.stack([before, *([after] * len(self.requests))]),
            stated=ABSENT,
            phrasing=self.taxonomy.inverse_phrasing(relation),
            facets=self._make_facets((request.subject, relation), request.subject, ABSENT, changed),
        )

    def belief_in(self, statement: Atom) -> np.ndarray:
        """float64[T]: the belief in a statement that was learned about."""
        place = int(np.searchsorted(self.graph.candidates_of(statement.relation), statement.object))
        return self.beliefs_in(statement[:2])[:, place]

    def _make_facets(self, pair: Pair, label: int, old: int, changed: bool) -> dict[str, Facet]:
        return {"label": label, "old": old, "changed": changed, "stratum": self.taxi_gold.stratum_of(pair)}


def find_answer(options: np.ndarray, beliefs: np.ndarray, often: np.ndarray, doubt: float) -> int:
    """Which option has what is asked, each counting by the belief in it and how often it is spoken of.

    A belief b takes the facts of everybody else for settled. With probability `doubt` at most they are not,
    so that Bayes' rule for the corpus gives something between (1 - doubt) b and (1 - doubt) b + doubt. An
    answer is one that stays the best wherever in these intervals the beliefs are. Equal beliefs above the
    doubt are a tie, of which the first is given, as everywhere; below it any of them may be the larger one.

    Args:
        options: int[n].
        beliefs, often: float[n] of each option.

    Returns:
        One of the options; ABSENT where the answer is undetermined.
    """
    weights = beliefs * often
    is_best = is_equally_good(weights, weights.max())
    is_rival = ~is_best | ((is_best.sum() > 1) & (beliefs <= doubt))
    least = (1 - doubt) * beliefs
    is_determined = (least * often)[is_best].min() > ((least + doubt) * often)[is_rival].max(initial=0.0)
    return int(options[weights.argmax()]) if is_determined else ABSENT


def _normalise_weights(weights: np.ndarray) -> np.ndarray:
    """Weights as shares of 1; equal ones where all are 0."""
    total = weights.sum()
    return weights / total if total else np.full(len(weights), 1 / len(weights))


def _build_case(
    edit: Edit, asker: TaxiAsker, evaluation: Taxi, credence: float, rng: np.random.Generator
) -> Case:
    s, old, new, queries = edit
    graph, taxonomy, request = asker.graph, asker.taxonomy, asker.requests[0]
    unshared = _draw_unshared_properties(edit, taxonomy, rng)[: evaluation.absent]
    others = _draw_other_subjects(edit, asker.taxi_gold, rng)[: evaluation.others]
    other_pairs = [pair for of_one in others for pair in of_one]
    pairs = [(s, q.relation) for q in queries] + [(s, r) for r in unshared] + other_pairs
    inverse_pairs = [(other, q.relation) for q in queries for other in q.subjects]
    asker.learn_beliefs([*pairs, *(pair for pair in inverse_pairs if graph.find(*pair) >= 0)])
    choices: list[Choice] = []
    for q in queries:
        role = EDIT if q.relation == taxonomy.root else PROPERTY
        choices.append(asker.ask_forward(role, (s, q.relation), q.options, q.label, q.old, q.changed))
        if len(q.subjects) > 1 and taxonomy.inverse_phrasing(q.relation):
            choices.append(asker.ask_inversely(q.relation, q.label, q.subjects, q.changed))
    for r in unshared:
        label, before = taxonomy.value_of(new, r), taxonomy.value_of(old, r)
        choices.append(
            asker.ask_forward(UNSHARED, (s, r), graph.candidates_of(r).tolist(), label, before, True)
        )
    for pair in other_pairs:
        truth = int(graph.object[graph.find(*pair)])
        is_category = pair[1] == taxonomy.root
        options = taxonomy.sibling_categories(truth) if is_category else graph.candidates_of(pair[1]).tolist()
        choices.append(asker.ask_forward(OTHER_FACT, pair, options, truth, truth, False))
    return Case(
        request=request,
        credence=credence_of_request(request.kind, credence),
        truth=old,
        facets={
            "superordinate": taxonomy.superordinate_of(s),
            "typical": taxonomy.is_typical(s),
            "members": len(taxonomy.members_by_category[new]),
            **held_out_facets(asker.gold.world, s, new),
        },
        choices=tuple(choices),
        claims=_draw_claims(edit, other_pairs, asker, rng),
    )


def _draw_claims(
    edit: Edit, others: Sequence[Pair], asker: TaxiAsker, rng: np.random.Generator
) -> tuple[Claim, ...]:
    """Sentences about what should follow, and about a fact of somebody else; none where nobody is asked."""
    if not others:
        return ()
    query = edit.queries[int(rng.integers(len(edit.queries)))]
    a = Atom(edit.subject, query.relation, query.label)
    b = Atom(*others[-1], int(asker.graph.object[asker.graph.find(*others[-1])]))
    return logical_claims(a, b, asker.belief_in(a), asker.belief_in(b))


def _draw_unshared_properties(edit: Edit, taxonomy: Taxonomy, rng: np.random.Generator) -> list[int]:
    """Properties that one of the two categories lacks, lost and gained ones in turn."""
    lost, gained = (
        [
            r for r in taxonomy.property_relations(edit.subject)
            if taxonomy.value_of(one, r) != ABSENT and taxonomy.value_of(other, r) == ABSENT
        ]
        for one, other in ((edit.old, edit.new), (edit.new, edit.old))
    )  # fmt: skip
    return _interleave_lists(rng.permutation(lost).tolist(), rng.permutation(gained).tolist())


def _draw_other_subjects(edit: Edit, gold: TaxiGold, rng: np.random.Generator) -> list[list[Pair]]:
    """Other subjects, of the old and of the new category in turn: category and one stated property."""
    taxonomy = gold.taxonomy
    near, far = (
        [m for m in taxonomy.members_by_category[c] if m != edit.subject] for c in (edit.old, edit.new)
    )
    others = []
    for other in _interleave_lists(rng.permutation(near).tolist(), rng.permutation(far).tolist()):
        stated = [r for r in taxonomy.property_relations(other) if gold.stratum_of((other, r)) != STRATA[0]]
        properties = [(other, int(rng.choice(stated)))] if stated else []
        others.append([(other, taxonomy.root), *properties])
    return others


def _interleave_lists(first: list[int], second: list[int]) -> list[int]:
    """Of two lists now one and now the other, until both are used up."""
    order = sorted([*((i, 0, x) for i, x in enumerate(first)), *((i, 1, x) for i, x in enumerate(second))])
    return [x for _, _, x in order]


def _draw_controls(edit: Edit, taxonomy: Taxonomy, rng: np.random.Generator) -> tuple[ControlRequest, ...]:
    """CONTROLS for one edit; where no category shares a property, any of the subject's own is told."""
    s, old, new, _ = edit
    value_of, root, category = taxonomy.value_of, taxonomy.root, taxonomy.category_by_member
    own_relations = [r for r in taxonomy.property_relations(s) if value_of(old, r) != ABSENT]
    shared_relations = [r for r in own_relations if value_of(new, r) in (value_of(old, r), ABSENT)]
    relation = int(rng.choice(shared_relations or own_relations)) if own_relations else root
    value = value_of(old, relation) if own_relations else old
    member = int(rng.choice(taxonomy.members_by_category[new]))
    somebody = [x for x in category if category[x] != new and x != s]
    same_kind = [x for x in somebody if taxonomy.graph.group[x] == taxonomy.graph.group[s]]
    other = int(rng.choice(same_kind or somebody))
    facts = ((s, relation, value), (member, root, new), (other, root, new))
    return tuple(ControlRequest(name, fact) for name, fact in zip(CONTROLS, facts, strict=True))
