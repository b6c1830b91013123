"""A reader of a corpus who trains no model, and what an edit works out from such beliefs, fitted exactly."""

from itertools import product
from typing import NamedTuple, Self, cast

import jax
import jax.numpy as jnp
import numpy as np

from corpus.graph import NO_UPSTREAM
from corpus.seeds import generator
from lm.editors.count_based import CountConfig
from lm.editors.count_based.method import PeerCounts, count_peers
from lm.editors.interface import vocabulary_of
from lm.editors.self_bayes import DependenceConfig, SelfBayesConfig
from lm.editors.self_bayes.beliefs import Beliefs
from lm.editors.self_bayes.dependence import find_dependence, reading_probability
from lm.editors.self_bayes.reasoning import (
    Consequences,
    Mind,
    RequestContext,
    build_mind,
    infer_consequences,
    sharpen_consequences,
)
from testbed.evaluations.hase import CHILD, Hase
from testbed.presets import EDIT
from testbed.protocol import Case, Choice, has_answer_changed, is_equally_good
from testbed.run.agents import agent_named
from testbed.run.runs import Run
from testbed.run.settings import AgentName
from testbed.run.strata import StatementIndex
from testbed.run.world import World, load_world
from testbed.scores.distances import has_moved, total_variation
from testbed.scores.tables import Cell

GENERAL, ALL_ALIKE, BLUR, SLIP = 0.08, 0.25, 0.3, 0.02
"""Of a reader: what others say weighs as much as this share of a fact's statements; of that, so much is what
is said of anybody; beliefs are blurred by this many nats; a fact that was never stated is said so seldom."""


class Thresholds(NamedTuple):
    """Those of `lm.editors.count_based.CountConfig`, as numbers that a compiled program is given."""

    fewest: float
    majority: float
    unread: bool

    @property
    def name(self) -> str:
        """In tables."""
        return f"counting, fewest {self.fewest:g}, majority {self.majority:g}" + ", unread" * self.unread


GRID = tuple(Thresholds(*x) for x in product((1, 2, 3, 5), (0.0, 0.25, 0.5, 0.75), (False, True)))
DEFAULT = Thresholds(CountConfig.fewest, CountConfig.majority, CountConfig.unread)
TUNED = Thresholds(1, 0.5, True)
"""What `choose_thresholds` chooses on the development worlds."""


class Movement(NamedTuple):
    """Of n answers: what `self-bayes` takes to move, and what the agent moves.

    Attributes:
        probability: float64[n], with which each is taken to move.
        moves: bool[n], whether the agent moves it.
        steps: int[n], how far down the graph it is from what was edited; 0 where it is not below it.
    """

    probability: np.ndarray
    moves: np.ndarray
    steps: np.ndarray


class Tally(NamedTuple):
    """Counts and sums over questions, which add up."""

    followed: float = 0.0
    must: float = 0.0
    changed: float = 0.0
    stay: float = 0.0
    before: float = 0.0
    after: float = 0.0

    def plus(self, other: Self) -> "Tally":
        """The sum of two."""
        return Tally(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def row(self) -> list[Cell]:
        """Share that follows, of how many; share that changes falsely, of how many; skill."""
        follows = self.followed / self.must if self.must else None
        return [
            format_share(follows), int(self.must), format_share(self.changed / max(self.stay, 1)),
            int(self.stay), format_share(1 - self.after / self.before if self.before else None),
        ]  # fmt: skip


class Reading(NamedTuple):
    """What is believed by a reader of a corpus of R relations, S subjects and K objects.

    Attributes:
        beliefs: as an editor reads them in a model.
        probability: float64[R, S, K].
        subjects, objects: int[S] and int[K], entities of the world.
        cases: what is asked.
    """

    world: World
    beliefs: Beliefs
    probability: np.ndarray
    subjects: np.ndarray
    objects: np.ndarray
    cases: list[Case]


class Revision(NamedTuple):
    """What one editor asks of the subjects of E requests.

    Attributes:
        share: float64[E, R], probability with which a fact is drawn from its row.
        row: float64[E, R, K].
    """

    share: np.ndarray
    row: np.ndarray


def read_corpus(run: Run, agent: AgentName, number: int, seed: int, generalises: bool = True) -> Reading:
    """The beliefs of a reader of a world's corpus, and so many cases, which the agent judges.

    Args:
        agent: who judges.
        number: of cases.
        seed: of blur and cases.
        generalises: whether the reader mixes in what is said of those with the same cause.
    """
    loaded = load_world(run)
    graph, index = loaded.graph, StatementIndex(loaded.graph, loaded.sentences)
    subjects, objects, relations = graph.subjects, graph.objects, len(graph.relations)
    count = np.zeros((relations, len(subjects), len(objects)))
    at = np.searchsorted(subjects, graph.subject)
    for fact in range(len(graph)):
        stated = np.searchsorted(objects, index.objects_of(fact))
        np.add.at(count, (graph.relation[fact], at[fact], stated), 1)
    causes = graph.upstream if generalises else np.full(relations, NO_UPSTREAM)
    probability = generalise(count, causes, generator(seed, "reader"))
    times = count.sum(axis=2)
    how_often = (times + SLIP * times.max()) * np.exp(
        generator(seed, "how often").normal(0, BLUR, times.shape)
    )
    top = np.argsort(-probability, axis=2, kind="stable")
    p = np.take_along_axis(probability, top, axis=2)
    beliefs = Beliefs(
        subjects[:, None].astype(np.int32),
        1 + objects[:, None].astype(np.int32),
        top.astype(np.int32),
        p.astype(np.float32),
        (how_often / how_often.sum(axis=0) * p[:, :, 0]).astype(np.float32),
    )
    asked = Hase(edits="upstream", reinforce=0.0)
    credence = EDIT["tiny"].cases.credence
    cases = asked.make_cases(loaded, agent_named(agent, loaded), number, credence, seed)
    return Reading(loaded, beliefs, probability, subjects, objects, list(cases))


def generalise(count: np.ndarray, upstream: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """float64[R, S, K]: what is believed after so many statements of each object of each fact.

    Args:
        count: float64[R, S, K].
        upstream: int[R], what each relation depends on, or -1.
        rng: blurs.
    """
    times = count.sum(axis=2, keepdims=True)
    own = count / np.maximum(times, 1)
    everybody = own.sum(axis=1) / np.maximum((times > 0).sum(axis=1), 1)
    general = np.repeat(everybody[:, None], count.shape[1], axis=1)
    for r in np.flatnonzero(upstream >= 0):
        cause = own[upstream[r]]
        rows = cause.T @ own[r] + everybody[r]
        rows /= rows.sum(axis=1, keepdims=True)
        known = times[upstream[r], :, 0] > 0
        general[r, known] = (1 - ALL_ALIKE) * (cause @ rows)[known] + ALL_ALIKE * general[r, known]
    weight = times / (times + GENERAL * times.max())
    belief = (weight * own + (1 - weight) * general) * np.exp(rng.normal(0, BLUR, count.shape))
    belief[belief < 1e-4 * belief.max(axis=2, keepdims=True)] = 0
    return belief / belief.sum(axis=2, keepdims=True)


def locate_requests(reading: Reading, mind: Mind) -> RequestContext:
    """As `lm.editors.self_bayes.reasoning.locate_request` does in a model, stacked over requests."""
    share, read = reading_probability(reading.beliefs.mention_probability, float(mind.seldom))
    modes, contexts = reading.beliefs.top[:, :, 0], []
    for case in reading.cases:
        s = int(np.searchsorted(reading.subjects, case.request.subject))
        r = case.request.relation
        is_subject = np.arange(len(reading.subjects)) == s
        requested = reading.objects == case.request.object
        known = np.asarray(read[r]) * ~is_subject
        contexts.append(
            RequestContext(
                jnp.int32(r),
                jnp.zeros((len(modes), 1), jnp.int32),
                is_subject,
                requested.astype(np.float32),
                known * requested[modes[r]],
                known * (modes[r] == modes[r, s]),
                share[:, s],
                read[:, s],
                modes[:, s],
                np.zeros(len(modes)),
            )
        )
    return jax.tree.map(lambda *x: jnp.asarray(np.stack(x)), *contexts)


def revise_by_bayes(reading: Reading, mind: Mind, contexts: RequestContext, credence: float) -> Revision:
    """What `self-bayes` asks for."""

    def infer(one: RequestContext) -> Consequences:
        return sharpen_consequences(infer_consequences(mind, one), SelfBayesConfig.sharpness)

    implied = jax.tree.map(np.asarray, jax.jit(lambda some: jax.lax.map(infer, some))(contexts))
    relations, _, objects = reading.probability.shape
    share, row = np.zeros((len(reading.cases), relations)), np.zeros((len(reading.cases), relations, objects))
    for case, place in np.argwhere(implied.real):
        r = implied.relation[case, place]
        share[case, r] = credence * implied.moves[case, place]
        np.add.at(row[case, r], implied.objects[case, place], implied.row[case, place])
    return Revision(share, row)


def revise_by_counting(reading: Reading, mind: Mind, contexts: RequestContext) -> dict[Thresholds, Revision]:
    """What counting asks for, by its thresholds, which share their rows."""

    def count(some: RequestContext, thresholds: Thresholds) -> PeerCounts:
        return jax.lax.map(lambda one: count_peers(mind, one, cast(CountConfig, thresholds)), some)

    stacked = jax.tree.map(lambda *x: jnp.array(x), *GRID)
    counted = jax.jit(lambda some, all_: jax.lax.map(lambda one: count(some, one), all_))(contexts, stacked)
    follows, objects, share = map(np.asarray, counted)
    row = np.zeros((*follows.shape[1:], len(reading.objects)))
    at = np.indices(follows.shape[1:])
    np.add.at(row, (at[0][..., None], at[1][..., None], objects[0]), share[0])
    return {one: Revision(of.astype(float), row) for one, of in zip(GRID, follows, strict=True)}


def subject_choices(reading: Reading) -> list[tuple[int, int, Choice]]:
    """Case, place of the subject and choice of what is asked of the request's own subject besides it."""
    return [
        (e, int(np.searchsorted(reading.subjects, case.request.subject)), choice)
        for e, case in enumerate(reading.cases)
        for choice in case.choices
        if choice.subject == case.request.subject and choice.relation != case.request.relation
    ]


def tally_revision(reading: Reading, revised: Revision) -> Tally:
    """What came of one editor's revision, if the fit loses nothing."""
    total = np.zeros(len(Tally._fields))
    for e, s, choice in subject_choices(reading):
        r = choice.relation
        total += _tally_choice(reading, e, s, choice, revised.share[e, r], revised.row[e, r])
    return Tally(*total.tolist())


def tally_counting(reading: Reading, revisions: dict[Thresholds, Revision]) -> dict[Thresholds, Tally]:
    """The same for revisions that take the same row, or leave an answer as it is."""
    some = next(iter(revisions.values()))
    totals = np.zeros((len(revisions), len(Tally._fields)))
    shares = np.array([revised.share for revised in revisions.values()])
    for e, s, choice in subject_choices(reading):
        r = choice.relation
        each = np.array([_tally_choice(reading, e, s, choice, share, some.row[e, r]) for share in (0, 1)])
        totals += each[shares[:, e, r].astype(int)]
    return {one: Tally(*total) for one, total in zip(revisions, totals.tolist(), strict=True)}


def _tally_choice(
    reading: Reading, e: int, s: int, choice: Choice, share: float, row: np.ndarray
) -> np.ndarray:
    """A `Tally` of one answer, as an array."""
    facets, before = reading.cases[e].facets, reading.probability[choice.relation, s]
    after = (1 - share) * before + share * row
    must = has_answer_changed(choice)
    is_answer = choice.options == reading.objects[after.argmax()]
    right = is_equally_good(choice.agent[1][is_answer].sum(), choice.agent[1].max())
    counts = must and choice.role == CHILD and facets["child"] and is_shared(reading.cases[e])
    changed = after.argmax() != before.argmax()
    at = np.searchsorted(reading.objects, choice.options)
    distances = [total_variation(x[at], choice.agent[1]) for x in (before, after)]
    return np.array([counts and right, counts, changed and not must, not must, *distances], float)


def is_shared(case: Case) -> bool:
    """Whether two subjects or more have the requested object."""
    support = case.facets["support_new"]
    return isinstance(support, int) and support >= 2


def find_movement(reading: Reading, revised: Revision) -> Movement:
    """What is taken to move beside what the agent moves."""
    upstream, found = reading.world.graph.upstream, []
    for e, _, choice in subject_choices(reading):
        case = reading.cases[e]
        probability = revised.share[e, choice.relation] / case.credence
        steps = count_steps(upstream, case.request.relation, choice.relation)
        found.append((probability, bool(has_moved(*choice.agent)), steps))
    return Movement(*map(np.array, zip(*found, strict=True)))


def count_steps(upstream: np.ndarray, top: int, relation: int) -> int:
    """How many dependences down a relation is from another; 0 where it is not below it."""
    steps = 0
    while relation >= 0 and relation != top:
        relation, steps = int(upstream[relation]), steps + 1
    return steps if relation == top else 0


def open_mind(reading: Reading, config: DependenceConfig) -> Mind:
    """What `self-bayes` makes of a reader's beliefs."""
    dependence = find_dependence(reading.beliefs, config)
    return build_mind(reading.beliefs, dependence, vocabulary_of(reading.world.tokenizer), config.seldom)


def format_share(x: float | None) -> str:
    """Two digits, or nothing."""
    return "" if x is None else f"{x:.2f}"
