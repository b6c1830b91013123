"""Edits of one model on top of each other, all its facts asked after some; the agent makes the edits, too.

Every request contradicts the truth. Some subjects are never edited, so that facts of others can be told from
facts that changed with their own subject. The agent makes the same edits in the same order: what it gives up
is no forgetting, and what it takes along is what should follow. It does so twice: of each subject's facts it
is asked after that subject's edits alone, and after all. All together rule its shared tables, as each weighs
as much as brings it to the credence; so the first is the standard, and the second is shown.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from bayes.interface import Agent
from bayes.request import EditRequest
from corpus.seeds import generator, integer
from lm.delta import Delta, add_to_carry, empty_carry
from lm.editors.fitting import answer_nats, request_loss, request_states
from lm.editors.interface import Editor, Request, State, edit_once, make_requests
from lm.flops import count_flops
from lm.language_model import LanguageModel
from testbed.protocol import TIE_TOLERANCE
from testbed.run.accuracy import generated_objects
from testbed.run.world import World

CREDENCE = 0.95
SPARED = 5
"""One subject of so many is never edited."""
LATER_BATCH, LATER_RATE = 64, 1e-3
"""Facts in a step of the training that follows the edits, and the step of its Adam."""
FACTS_AT_ONCE = 512
"""Facts that are asked together."""


class Stream(NamedTuple):
    """Requests in their order.

    Attributes:
        facts: int[N], the fact (index into the graph) that each is about.
        objects: int[N], what it says instead of the truth.
        spared: bool[F], facts of subjects that no request is about.
    """

    facts: np.ndarray
    objects: np.ndarray
    spared: np.ndarray

    def latest(self, count: int) -> np.ndarray:
        """int: of the first `count` requests, those whose fact no later one of them is about, ascending."""
        reversed_facts = self.facts[:count][::-1]
        return np.sort(count - 1 - np.unique(reversed_facts, return_index=True)[1])


def draw_stream(world: World, count: int, seed: int) -> Stream:
    """Requests of a world: subjects in random order, again and again, and each time one of their facts.

    What is requested is the truth of another subject, so that common objects are requested often.
    """
    graph, rng = world.graph, generator(seed, "many edits")
    subjects = rng.permutation(graph.subjects)
    edited = subjects[: len(subjects) - len(subjects) // SPARED]
    truth, is_stated = world.generative.truth, np.zeros(len(graph), bool)
    is_stated[world.stated_facts] = True
    facts_of = {s: [f for f in sorted(graph.facts_of(s)) if is_stated[f]] for s in edited.tolist()}
    orders = [rng.permutation([s for s, facts in facts_of.items() if len(facts)])]
    while sum(map(len, orders)) < count:
        orders.append(rng.permutation(orders[0]))
    facts = np.array([rng.choice(facts_of[s]) for s in np.concatenate(orders)[:count].tolist()])
    truths = [truth[graph.relation == r] for r in range(len(graph.relations))]
    objects = []
    for fact in facts.tolist():
        others = truths[graph.relation[fact]]
        objects.append(rng.choice(others[others != truth[fact]]))
    return Stream(facts, np.array(objects), ~np.isin(graph.subject, edited))


@dataclass(frozen=True)
class AgentAnswers:
    """What the agent says of all F facts, after each of K numbers of edits.

    Attributes:
        before: int[F], its answers before any.
        answers: int[K, F], after the edits of each fact's own subject.
        moved: bool[K, F], whether its answer before is none of its best any more.
        answers_of_all, moved_by_all: the same after the edits of all subjects.
    """

    before: np.ndarray
    answers: np.ndarray
    moved: np.ndarray
    answers_of_all: np.ndarray
    moved_by_all: np.ndarray


def follow_agent(agent: Agent, world: World, stream: Stream, marks: Sequence[int]) -> AgentAnswers:
    """The agent makes the edits of a stream, each of the weight that brings it to the credence then."""
    graph = world.graph
    every = np.arange(len(graph))
    before, _ = best_answers(agent, world, every, np.zeros(len(graph), int))
    answers = np.tile(before, (len(marks), 1))
    moved = np.zeros(answers.shape, bool)
    subjects = graph.subject[stream.facts]
    for subject in np.unique(subjects).tolist():
        own, facts = np.flatnonzero(subjects == subject), np.array(graph.facts_of(subject))
        known, done = agent, 0
        for k, mark in enumerate(marks):
            count = int(np.searchsorted(own, mark))
            if count > done:
                known, done = make_agent_edits(known, world, stream, own[done:count]), count
                answers[k:, facts], moved[k:, facts] = best_answers(known, world, facts, before[facts])
    by_all, known, done = [], agent, 0
    for mark in marks:
        known, done = make_agent_edits(known, world, stream, np.arange(done, mark)), mark
        by_all.append(best_answers(known, world, every, before))
    answers_of_all, moved_by_all = map(np.array, zip(*by_all, strict=True))
    return AgentAnswers(before, answers, moved, answers_of_all, moved_by_all)


def make_agent_edits(agent: Agent, world: World, stream: Stream, which: np.ndarray) -> Agent:
    """The agent after some requests of a stream, in their order."""
    for n in which.tolist():
        agent = agent.with_edit(weigh_request(agent, world, stream, n))
    return agent


def weigh_request(agent: Agent, world: World, stream: Stream, n: int) -> EditRequest:
    """The `n`-th request of a stream, with the weight that brings the agent to the credence."""
    fact, obj = int(stream.facts[n]), int(stream.objects[n])
    s, r = int(world.graph.subject[fact]), int(world.graph.relation[fact])
    return EditRequest(s, r, obj, agent.weight_for(s, r, obj, CREDENCE))


def cluster_by_world(subjects: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Clusters of the rows of several worlds, given the subject of each row; no two worlds share one."""
    world = np.repeat(np.arange(len(subjects)), [len(of_world) for of_world in subjects])
    pairs = np.stack([world, np.concatenate(subjects)])
    return {"subject": np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1), "world": world}


def best_answers(
    agent: Agent, world: World, facts: np.ndarray, before: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The agent's answers int[n] about facts, and whether what it answered before is none of its best."""
    graph, answers, moved = world.graph, [np.zeros(0, int)], [np.zeros(0, bool)]
    for start in range(0, len(facts), FACTS_AT_ONCE):
        some = slice(start, start + FACTS_AT_ONCE)
        beliefs = agent.distributions(graph.subject[facts[some]], graph.relation[facts[some]])
        earlier = np.minimum(np.searchsorted(agent.objects, before[some]), len(agent.objects) - 1)
        answers.append(agent.objects[beliefs.argmax(axis=1)])
        moved.append(find_moved(beliefs, earlier))
    return np.concatenate(answers), np.concatenate(moved)


def find_moved(beliefs: np.ndarray, earlier: np.ndarray) -> np.ndarray:
    """bool[n]: whether earlier answers, int[n] columns, are none of the best of float64[n, K] any more."""
    return beliefs[np.arange(len(beliefs)), earlier] < beliefs.max(axis=1) * (1 - TIE_TOLERANCE)


@dataclass(frozen=True)
class ModelAnswers:
    """What an editor made of a stream of N requests; F facts are asked after each of K numbers of edits.

    Attributes:
        says: bool[N], whether a request was answered as soon as it was made.
        before: int[F], answers of the unedited model; -1 where it names no object.
        answers: int[K, F].
        nats_before, nats: float[F] and float[K, F], surprise at the truth; 0 but for spared subjects.
        lengths: float[K], root of the sum of squares of what is carried.
        numbers: int[K], how many numbers that are not 0 are carried.
        later: int[F], answers after later training on facts of the spared subjects.
        seconds, flops: of an edit.
    """

    says: np.ndarray
    before: np.ndarray
    answers: np.ndarray
    nats_before: np.ndarray
    nats: np.ndarray
    lengths: np.ndarray
    numbers: np.ndarray
    later: np.ndarray
    seconds: np.ndarray
    flops: np.ndarray


@partial(jax.jit, static_argnames="editor")
def edit_on_top(
    editor: Editor,
    model: LanguageModel,
    carried: Delta,
    state: State,
    request: Request,
    key: jax.Array,
    index: jax.Array,
) -> tuple[Delta, jax.Array]:
    """What is carried after one more edit, and whether the model then says what was requested."""
    delta, _ = editor.edit(model.with_delta(carried), state, request, key)
    carried = add_to_carry(carried, delta, model.vocabulary, index)
    edited = model.with_delta(carried)
    states = request_states(edited, request)[:, request.prompt.shape[1] - 1 :]
    is_said = (edited.unembed(states).argmax(axis=-1) == request.answer) | (jnp.asarray(request.answer) == 0)
    return carried, is_said.all()


def make_single_requests(world: World, facts: np.ndarray, objects: np.ndarray) -> Request:
    """int[n] facts (indices) and what is said of each, as one request of n facts."""
    graph, size = world.graph, len(facts)
    triples = [
        *zip(graph.subject[facts].tolist(), graph.relation[facts].tolist(), objects.tolist(), strict=True)
    ]
    stacked = make_requests(world.tokenizer, triples, np.zeros(size), np.full(size, CREDENCE))
    return Request(*(x[:, 0] for x in stacked))


def split_evenly(items: np.ndarray, size: int) -> np.ndarray:
    """int[k, size]: int[n] items in batches of one size; the last has some of the first ones again."""
    return np.resize(items, -(-len(items) // size) * size).reshape(-1, size)


def truth_nats(model: LanguageModel, facts: Request, among: np.ndarray) -> np.ndarray:
    """float32[F]: -log p(object and ending | prompt) of F facts, given as one request; 0 but for some.

    Args:
        among: int, which of them are asked.
    """
    nats = np.zeros(len(facts.prompt), np.float32)
    for some in split_evenly(among, FACTS_AT_ONCE):
        nats[some] = _batch_nats(model, Request(*(x[some] for x in facts)))
    return nats


@jax.jit
def _batch_nats(model: LanguageModel, facts: Request) -> jax.Array:
    return answer_nats(model, facts, request_states(model, facts))


def follow_editor(
    editor: Editor,
    model: LanguageModel,
    world: World,
    state: State,
    stream: Stream,
    marks: Sequence[int],
    seed: int,
    later_steps: int,
    clock: Callable[[], float],
    advance: Callable[[int], None] = lambda _: None,
) -> ModelAnswers:
    """An editor makes the edits of a stream, each on top of all before.

    Args:
        state: what it prepared.
        seed: of its randomness, and of later training.
        later_steps: of training afterwards, on facts of the spared subjects as they are.
        clock: seconds.
        advance: told of every edit.
    """
    size, root = len(stream.facts), jax.random.key(integer(seed, "many edits"))
    requests = make_single_requests(world, stream.facts, stream.objects)

    def request_at(n: int) -> Request:
        return Request(*(x[n : n + 1] for x in requests))

    shapes = edit_once.eval_shape(editor, model, state, request_at(0), root)[0]
    flops = count_flops(
        lambda *arguments: edit_once(editor, *arguments)[0],
        model, state, request_at(0), root, turns=getattr(editor, "most_steps", 1),
    )  # fmt: skip
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    carried = empty_carry(nothing, model.vocabulary, size)
    says, seconds, examination = [], [], Examination(world, stream)
    for n in range(size):
        began = clock()
        key = jax.random.fold_in(root, n)
        carried, is_said = edit_on_top(editor, model, carried, state, request_at(n), key, np.int32(n))
        says.append(bool(is_said))
        seconds.append(clock() - began)
        advance(1)
        if n + 1 in marks:
            examination.ask(model.with_delta(carried), numbers_stored(carried))
    trained = train_later(model, carried, examination.truths, examination.spared, seed, later_steps)
    # Compiling is no part of an edit.
    usual = float(np.median(seconds[1:] or seconds))
    return examination.finish(model, trained.with_delta(carried), says, usual, flops)


class Examination:
    """All facts of a world, asked of a model after each of some numbers of edits of a stream."""

    def __init__(self, world: World, stream: Stream) -> None:
        self.world, self.every = world, np.arange(len(world.graph))
        self.spared = np.flatnonzero(stream.spared)
        self.truths = make_single_requests(world, self.every, world.generative.truth)
        self.answers: list[np.ndarray] = []
        self.nats: list[np.ndarray] = []
        self.lengths: list[float] = []
        self.numbers: list[int] = []

    def ask(self, edited: LanguageModel, stored: Iterable[Any]) -> np.ndarray:
        """The answers int[F] of a model after so many edits, which are kept.

        Args:
            stored: the arrays of its edits.
        """
        arrays = [np.asarray(x) for x in stored]
        self.answers.append(generated_objects(edited, self.world, self.every))
        self.nats.append(truth_nats(edited, self.truths, self.spared))
        self.lengths.append(float(np.sqrt(sum(float(np.square(x, dtype=np.float64).sum()) for x in arrays))))
        self.numbers.append(sum(int(np.count_nonzero(x)) for x in arrays))
        return self.answers[-1]

    def finish(
        self,
        model: LanguageModel,
        trained: LanguageModel,
        says: Sequence[bool] | np.ndarray,
        seconds: float,
        flops: float,
    ) -> ModelAnswers:
        """All that was asked, the answers of the unedited model, and those of one trained afterwards."""
        return ModelAnswers(
            np.array(says),
            generated_objects(model, self.world, self.every),
            np.array(self.answers),
            truth_nats(model, self.truths, self.spared),
            np.array(self.nats),
            np.array(self.lengths),
            np.array(self.numbers),
            generated_objects(trained, self.world, self.every),
            np.array(seconds),
            np.array(flops),
        )


def numbers_stored(carried: Delta) -> list[Any]:
    """The arrays of an edit that a model computes with, keys apart."""
    parts = {name: part for name, part in carried.items() if name != "ledger"}
    if "memory" in parts:
        parts["memory"] = parts["memory"].values
    return [x for x in jax.tree.leaves(parts) if jnp.issubdtype(x.dtype, jnp.floating)]


def train_later(
    model: LanguageModel,
    carried: Delta | None,
    truths: Request,
    among: np.ndarray,
    seed: int,
    steps: int,
) -> LanguageModel:
    """The model after some steps on facts, with what is carried in place but not learned.

    Args:
        truths: all facts as one request.
        among: int, which of them are learned.
    """
    rng = generator(seed, "later training")
    batches = (rng.choice(among, LATER_BATCH) for _ in range(steps))
    return train_facts(model, truths, batches, LATER_RATE, carried=carried)


def train_facts(
    model: LanguageModel,
    facts: Request,
    batches: Iterable[np.ndarray],
    rate: float,
    trained_part: Callable[[Any], Any] = lambda gradient: gradient,
    carried: Delta | None = None,
) -> LanguageModel:
    """The model after a step of Adam on each batch of facts.

    Args:
        facts: all of them as one request.
        batches: int[B] each, which of them.
        trained_part: of gradients like the model's parameters, those of what is to be trained, others 0.
        carried: an edit that is in place and is not learned.
    """
    rule = optax.adam(rate)

    @jax.jit
    def step(params: Any, moments: Any, batch: Request) -> tuple[Any, Any]:
        def loss(params: Any) -> jax.Array:
            return request_loss(LanguageModel(model.config, params).with_delta(carried), batch)

        update, moments = rule.update(trained_part(jax.grad(loss)(params)), moments, params)
        return optax.apply_updates(params, update), moments

    params, moments = model.params, rule.init(model.params)
    for batch in batches:
        params, moments = step(params, moments, Request(*(x[batch] for x in facts)))
    return LanguageModel(model.config, params)
