"""What cases ask of a model, its answers as arrays, and what it answers before any edit.

All questions are texts: "<s> subject relation object" for every option of a choice, and sentences up to "is".
In trees of tokens a model reads them in one pass, and once what several of them begin with. Those of many
cases are padded to arrays, and one vectorised pass of an edited model reads them.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from corpus.seeds import integer
from corpus.text.reading import Reader
from corpus.text.tokenizer import BOS, Tokenizer, Word
from lm.attention import Array
from lm.cache import Cache
from lm.config import MeshConfig
from lm.decoding import generate
from lm.delta import Delta
from lm.keeping import Arrays, cache_folder, hash_causes, keep_in
from lm.language_model import Context, LanguageModel
from lm.mesh import make_mesh, over_data, replicate
from lm.scoring import path_log_probabilities
from lm.token_tree import TokenTree, build_token_tree, list_beginnings
from testbed.engine import passages
from testbed.engine.passages import Openings, Texts, build_openings, text_shape, write_texts
from testbed.protocol import Case
from testbed.run.object_names import ObjectNames
from testbed.run.runtime import describe_device, numeric_flags
from testbed.run.world import World

NODES = 128
"""Of a tree, unless one question needs more: in larger ones attention computes more that nobody sees."""
LOGITS_AT_ONCE = 2**22
"""More are not held, but for those of one case: processors read them faster from their caches, and what is
held of probes is no reason to make fewer edits side by side, or fewer requests in one."""
TIMES_ON_GPU = 32
"""So many times as many elsewhere: a GPU waits for its next program while it works on little."""


class PackedCase(NamedTuple):
    """What one case asks; nodes are counted through all its trees.

    Attributes:
        trees: of all texts.
        node: the nodes whose next token is asked for.
        options: for each choice and option the place where the prompt ends, and those of the option's tokens.
        prompts: for each choice the nodes of the prompt.
        claims: the place where each sentence ends.
    """

    trees: list[TokenTree]
    node: np.ndarray
    options: list[list[np.ndarray]]
    prompts: list[np.ndarray]
    claims: list[int]


class Question(NamedTuple):
    """A choice or a claim: the texts that are read for it, and how many tokens of each are its prompt."""

    texts: list[np.ndarray]
    prompt: int


def pack_case(tokenizer: Tokenizer, case: Case) -> PackedCase:
    """The texts of a case in as many trees as they need, each question in the first with room for it."""
    questions = case_questions(tokenizer, case)
    trees: list[TokenTree] = []
    nodes: dict[int, list[np.ndarray]] = {}
    size = 0
    for numbers in _share_trees(questions):
        tree, paths = build_token_tree([text for q in numbers for text in questions[q].texts])
        paths_left = iter(paths)
        nodes |= {q: [size + next(paths_left) for _ in questions[q].texts] for q in numbers}
        trees.append(tree)
        size += len(tree.tokens)
    answer_paths = [[path[one.prompt - 1 :] for path in nodes[q]] for q, one in enumerate(questions)]
    is_read = np.zeros(size, bool)
    for path in (path for paths in answer_paths for path in paths):
        is_read[path] = True
    number = np.cumsum(is_read) - 1
    places, choices = [[number[path] for path in paths] for paths in answer_paths], len(case.choices)
    prompts = [nodes[q][0][: questions[q].prompt] for q in range(choices)]
    claims = [int(paths[0][0]) for paths in places[choices:]]
    return PackedCase(trees, np.flatnonzero(is_read), places[:choices], prompts, claims)


def _share_trees(questions: Sequence[Question]) -> list[list[int]]:
    """Which questions, by their numbers, share a tree."""
    trees: list[tuple[list[int], set]] = []
    for number, question in enumerate(questions):
        beginnings = list_beginnings(question.texts)
        tree = next((tree for tree in trees if len(tree[1] | beginnings) <= NODES), None)
        if tree is None:
            trees.append(tree := ([], set()))
        tree[0].append(number)
        tree[1].update(beginnings)
    return [numbers for numbers, _ in trees]


def case_questions(tokenizer: Tokenizer, case: Case) -> list[Question]:
    """All choices, then all claims."""
    questions = []
    for choice in case.choices:
        prompt = tokenizer.prompt(choice.subject, choice.relation, choice.phrasing)
        texts = [np.concatenate([prompt, tokenizer.entity(int(o))]) for o in choice.options]
        questions.append(Question(texts or [prompt], len(prompt)))
    for claim in case.claims:
        sentence = np.concatenate([[BOS], tokenizer.sentence(claim.sentence)[:-1]])
        questions.append(Question([sentence], len(sentence)))
    return questions


class Probes(NamedTuple):
    """What E cases ask; a leading axis E on every array.

    Attributes:
        trees: all texts, int32[E, trees, N].
        node: int32[E, places], the nodes whose next token is asked for, counted through a case's trees.
        path: int32[E, choices, options, 1 + longest], at which places a prompt ends and the tokens of each
            option stand; -1 as padding.
        prompts: int32[E, choices, P], the nodes of each prompt, -1 as padding before them.
        claims: int32[E, claims], the place where each sentence ends.
    """

    trees: TokenTree
    node: Array
    path: Array
    prompts: Array
    claims: Array


class ModelAnswers(NamedTuple):
    """What a model answers to the questions of E cases.

    Attributes:
        ended: float32[E, choices, options], p(o | s r), ending included.
        begun: as `ended`, whatever follows the object.
        tokens: int32[E, choices, longest + 1], what it generates after "s r".
        claims: float32[E, claims, 2], next-token probabilities of "true" and "false".
    """

    ended: Array
    begun: Array
    tokens: Array
    claims: Array


class ProbeShape(NamedTuple):
    """Sizes that hold every case of a sweep, so that one program serves all its batches.

    Attributes:
        choices, claims: of the case with most of them, at least one.
        prompt: tokens of the longest prompt, of choices and of what editors are told.
        trees, nodes: how many trees the texts of a case need, and nodes of the largest.
        places: of the case that asks for the next token at most of its nodes.
        options, longest: of the choice with most of them, and tokens of the longest.
    """

    choices: int
    claims: int
    prompt: int
    trees: int
    nodes: int
    places: int
    options: int
    longest: int


def probe_shape(tokenizer: Tokenizer, cases: Sequence[Case], packed: Sequence[PackedCase]) -> ProbeShape:
    """The shape that the given cases need."""
    facts = [fact for case in cases for fact in (case.request[:3], *(c.fact for c in case.controls))]
    prompts = [tokenizer.prompt(*pair) for pair in {fact[:2] for fact in facts}]
    prompts += [prompt for one in packed for prompt in one.prompts]
    options = [some for one in packed for some in one.options]
    return ProbeShape(
        choices=max(1, *(len(one.options) for one in packed)),
        claims=max(1, *(len(one.claims) for one in packed)),
        prompt=max(map(len, prompts)),
        trees=max(1, *(len(one.trees) for one in packed)),
        nodes=max((len(tree.tokens) for one in packed for tree in one.trees), default=1),
        places=max(1, *(len(one.node) for one in packed)),
        options=max(map(len, options), default=1),
        longest=max((len(places) - 1 for some in options for places in some), default=1),
    )


def build_probes(packed: Sequence[PackedCase], shape: ProbeShape) -> Probes:
    """Arrays for the given cases, padded to `shape`."""
    cases, nodes = len(packed), shape.nodes
    nothing = build_token_tree([])[0].pad_to(nodes)
    trees = [
        [*(tree.pad_to(nodes) for tree in one.trees), *[nothing] * (shape.trees - len(one.trees))]
        for one in packed
    ]
    answer_nodes = np.zeros((cases, shape.places), np.int32)
    path = np.full((cases, shape.choices, shape.options, 1 + shape.longest), -1, np.int32)
    prompts = np.full((cases, shape.choices, shape.prompt), -1, np.int32)
    claims = np.zeros((cases, shape.claims), np.int32)
    for e, one in enumerate(packed):
        padded = np.flatnonzero([node < len(tree.tokens) for tree in one.trees for node in range(nodes)])
        answer_nodes[e, : len(one.node)] = padded[one.node]
        for q, (options, prompt) in enumerate(zip(one.options, one.prompts, strict=True)):
            prompts[e, q, shape.prompt - len(prompt) :] = padded[prompt]
            for o, places in enumerate(options):
                path[e, q, o, : len(places)] = places
        claims[e, : len(one.claims)] = one.claims
    return Probes(_stack_trees([_stack_trees(some) for some in trees]), answer_nodes, path, prompts, claims)


def _stack_trees(trees: Sequence[TokenTree]) -> TokenTree:
    return TokenTree(*map(np.stack, zip(*trees, strict=True)))


@partial(jax.jit, static_argnames=("words", "longest"))
def answer_probes(
    model: LanguageModel, deltas: Delta, probes: Probes, words: tuple[int, int], longest: int
) -> ModelAnswers:
    """One pass over the questions of G edits of B cases each, some edits or cases at once.

    Args:
        deltas: leaves lead with G, as `lm.editors.interface.edit_batch` returns them.
        probes: arrays lead with G, then B.
        words: token ids of "true" and "false".
        longest: tokens of the longest object.

    Returns:
        Readings that lead with G and B.
    """
    edits, cases, places = probes.node.shape
    logits_at_once = LOGITS_AT_ONCE * (1 if jax.default_backend() == "cpu" else TIMES_ON_GPU)
    at_once = max(1, logits_at_once // (places * model.vocabulary))

    def answer_edit(pair: tuple[Delta, Probes]) -> ModelAnswers:
        delta, probe = pair
        answer = partial(_answer_cases, model.with_delta(delta), words=words, longest=longest)
        if cases <= at_once:
            return answer(probe)

        def answer_one(case: Probes) -> ModelAnswers:
            return jax.tree.map(lambda x: x[0], answer(jax.tree.map(lambda x: x[None], case)))

        return jax.lax.map(answer_one, probe, batch_size=share_evenly(cases, at_once))

    return jax.lax.map(answer_edit, (deltas, probes), batch_size=share_evenly(edits, at_once // cases))


def share_evenly(count: int, most: int) -> int:
    """How many at once leave no rest, which would be compiled apart; `most`, where these are under half."""
    most = max(1, min(most, count))
    even = max(n for n in range(1, most + 1) if count % n == 0)
    return even if 2 * even > most else most


def _answer_cases(
    edited: LanguageModel, probes: Probes, words: tuple[int, int], longest: int
) -> ModelAnswers:
    """Readings of B cases, which lead with B."""
    logits, context = _read_texts(edited, probes)
    ended, begun = _option_log_probabilities(probes, logits)
    truth = jnp.take_along_axis(logits, probes.claims[..., None], axis=1)
    return ModelAnswers(
        jnp.exp(ended),
        jnp.exp(begun),
        generate(edited, context, longest + 1).reshape(*probes.path.shape[:2], -1),
        jax.nn.softmax(truth)[..., jnp.array(words)],
    )


def option_log_probabilities(model: LanguageModel, probes: Probes) -> jax.Array:
    """Log p(o | s r), endings included, of all options of B cases: float32[B, choices, options]."""
    return _option_log_probabilities(probes, _read_texts(model, probes)[0])[0]


def _option_log_probabilities(probes: Probes, logits: jax.Array) -> tuple[jax.Array, jax.Array]:
    tokens = jnp.take_along_axis(probes.trees.tokens.reshape(len(logits), -1), probes.node, axis=1)
    return jax.vmap(path_log_probabilities)(logits, tokens, jnp.asarray(probes.path))


def _read_texts(model: LanguageModel, probes: Probes) -> tuple[jax.Array, Context]:
    """Read the texts of B cases: logits float32[B, places, V], and prompts to go on from, B x choices."""
    cases, trees, nodes = probes.trees.tokens.shape
    rows = jax.tree.map(lambda x: x.reshape(-1, nodes), probes.trees)
    hidden, cache = model.hidden_states(rows.tokens, rows.layout())
    states = hidden.reshape(cases, trees * nodes, -1)
    logits = model.unembed(jnp.take_along_axis(states, probes.node[..., None], axis=1))
    return logits, _prompt_contexts(hidden, cache, probes.prompts)


def _prompt_contexts(hidden: jax.Array, cache: Cache, prompts: Array) -> Context:
    """Prompts that stand in trees, as if each had been read alone."""
    cases, nodes = len(prompts), hidden.shape[1]
    first = jnp.arange(cases)[:, None, None] * (len(hidden) // cases * nodes)
    every = jnp.asarray(prompts).reshape(-1, prompts.shape[-1])
    there, node = every >= 0, (first + jnp.maximum(prompts, 0)).reshape(every.shape)
    row, slot = node[:, -1] // nodes, node % nodes
    # A prefix of the edit, if there is one, stands before every tree.
    before = cache.real.shape[1] - nodes
    prefix = jnp.broadcast_to(jnp.arange(before), (len(row), before))
    prompt_cache = cache.take_tokens(
        row,
        jnp.concatenate([prefix, before + slot], axis=1),
        jnp.pad(there, ((0, 0), (before, 0)), constant_values=True),
    )
    return Context(prompt_cache, hidden[row, slot[:, -1]], prompt_cache.positions[:, -1] + 1)


def truth_words(tokenizer: Tokenizer) -> tuple[int, int]:
    """Token ids of "true" and "false"."""
    return tokenizer.word(Word.TRUE), tokenizer.word(Word.FALSE)


def over_cores(function: jax.stages.Wrapped, cores: int, **static: Any) -> Callable:
    """The function with its edits shared out among threads, which give what it gives.

    Each thread takes as many edits as the others, so that one program serves all: of five edits, five
    threads take one each, and four cores are left to one thread.

    Args:
        function: jitted, of a model and of trees whose leaves lead with edits.
        cores: at most so many threads.
        static: arguments by name that the function is compiled for.
    """

    def share_edits(model: Any, *split: Any) -> Any:
        edits = len(jax.tree.leaves(split)[0])
        threads = max(n for n in range(1, cores + 1) if edits % n == 0)
        if threads == 1:
            return function(model, *split, **static)
        each = edits // threads
        on_host = jax.tree.map(np.asarray, split)
        parts = [jax.tree.map(lambda x, at=at: x[at : at + each], on_host) for at in range(0, edits, each)]
        # Compiled before, since each thread would do it for itself.
        program = function.lower(model, *parts[0], **static).compile()
        with ThreadPoolExecutor(threads) as pool:
            returned = list(pool.map(lambda part: jax.device_get(program(model, *part)), parts))
        return jax.tree.map(lambda *x: np.concatenate(x), *returned)

    return share_edits


class Questions:
    """The questions of some cases to one model; all editors of a command share them.

    Args:
        model: as it is before any edit; None where others ask one that is elsewhere.
        seed: root seed of what it writes.
        mesh: whose axis "data" edited models are laid over; without it, one device.
    """

    def __init__(
        self,
        world: World,
        model: LanguageModel | None,
        cases: Sequence[Case],
        seed: int = 0,
        mesh: Mesh | None = None,
    ) -> None:
        self.mesh = mesh or make_mesh(MeshConfig())
        self.tokenizer, self.cases = world.tokenizer, cases
        self.model = replicate(self.mesh, model)
        packed = [pack_case(world.tokenizer, case) for case in cases]
        self.shape = probe_shape(world.tokenizer, cases, packed)
        self._probes = build_probes(packed, self.shape)
        self.words = truth_words(world.tokenizer)
        self.text_shape, self._seed = text_shape(cases), integer(seed, "passages")
        inverse = {i for i, way in enumerate(world.graph.phrasings, start=1) if way.inverse}
        inversely = [c.options for case in cases for c in case.choices if c.phrasing in inverse]
        answerable = np.unique(np.concatenate([world.graph.objects, *inversely]))
        self.names = ObjectNames(world.tokenizer, answerable)
        self.reader = Reader(world.graph, world.tokenizer.language)
        self._before: dict[tuple[str, bytes], Arrays] = {}

    def answers_after(self, deltas: Delta, which: np.ndarray) -> ModelAnswers:
        """Answers of edited models, one line for each case in their order.

        Args:
            deltas: leaves lead with edits G.
            which: int[G, B], the cases that are asked under each edit.
        """
        probes = self.probes_of(which)
        answers = self._answer_probes(self.model, deltas, probes)
        return ModelAnswers(*(np.asarray(x).reshape(-1, *x.shape[2:]) for x in answers))

    @cached_property
    def _answer_probes(self) -> Callable[..., ModelAnswers]:
        return self._over_mesh(partial(answer_probes, words=self.words, longest=self.names.longest))

    @cached_property
    def _write_texts(self) -> Callable[..., Texts]:
        longest, most_k = self.text_shape.longest, self.text_shape.most_k
        if self.mesh.size == 1 and jax.default_backend() == "cpu":
            return over_cores(write_texts, os.cpu_count() or 1, longest=longest, most_k=most_k)
        return self._over_mesh(partial(write_texts, longest=longest, most_k=most_k))

    def _over_mesh(self, function: Callable) -> Callable:
        """What takes the model, deltas and what is asked, laid over devices."""
        return function if self.mesh.size == 1 else over_data(self.mesh, function, (False, True, True))

    def answers_before(self, which: np.ndarray) -> ModelAnswers:
        """Answers of the unedited model; kept, since every editor is compared with them."""
        return ModelAnswers(*self._keep("answers", which, self.probes_of, self.answers_after))

    def _keep(
        self,
        kind: str,
        which: np.ndarray,
        ask: Callable[[np.ndarray], Any],
        answer: Callable[[Delta, np.ndarray], Iterable[Array]],
    ) -> Arrays:
        """What the unedited model answers: as it did to an earlier editor of this command, or of another."""
        key = kind, which.tobytes()
        if key not in self._before:
            keep, name = keep_in(cache_folder("before")), hash_causes(ask(which), self._causes)
            self._before[key] = keep(name, lambda: tuple(map(np.asarray, answer({}, which))))
        return self._before[key]

    @cached_property
    def _causes(self) -> str:
        """A hash of what all answers before an edit depend on, besides what is asked."""
        fixed = self.words, self.names.longest, self.text_shape, self.mesh.size, self.model.config
        sources = [Path(name).read_bytes() for name in (__file__, passages.__file__)]
        return hash_causes(self.model, *fixed, sources, describe_device(), numeric_flags())

    def texts_after(self, deltas: Delta, which: np.ndarray) -> Texts:
        """What edited models write, one line for each case in their order; arguments as for `after`."""
        rows, size = which.size, which.shape[1]
        if not self.text_shape.texts:
            return Texts(np.zeros((rows, 0, 0), np.int32), np.zeros((rows, 0), np.float32))
        openings = self._openings_of(which)
        grouped = jax.tree.map(lambda x: x.reshape(-1, size * x.shape[1], *x.shape[2:]), openings)
        texts = self._write_texts(self.model, deltas, grouped)
        return Texts(*(np.asarray(x).reshape(rows, self.text_shape.texts, *x.shape[2:]) for x in texts))

    def texts_before(self, which: np.ndarray) -> Texts:
        """What the unedited model writes; kept, as its answers are."""
        return Texts(
            *self._keep("texts", which, lambda some: (self._openings_of(some), some), self.texts_after)
        )

    def _openings_of(self, which: np.ndarray) -> Openings:
        picked = [self.cases[k] for k in which.ravel()]
        return build_openings(picked, which.ravel().tolist(), self._seed, self.text_shape)

    def probes_of(self, which: np.ndarray) -> Probes:
        """Those of int[G, B] cases."""
        return jax.tree.map(lambda x: x[which], self._probes)
