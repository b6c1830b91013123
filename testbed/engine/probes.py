"""The questions of many cases as arrays, and one vectorised pass of an edited model over them."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from corpus.text.tokenizer import Tokenizer, Word
from lm.attention import Array
from lm.cache import Cache
from lm.decoding import generate
from lm.delta import Delta
from lm.language_model import Context, LanguageModel
from lm.scoring import path_log_probabilities
from lm.token_tree import TokenTree, build_token_tree
from testbed.engine.packing import PackedCase
from testbed.protocol import Case

LOGITS_AT_ONCE = 2**22
"""More are not held, but for those of one case: processors read them faster from their caches, and what is
held of probes is no reason to make fewer edits side by side."""


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
    facts = [fact for case in cases for fact in (case.requested_fact, *(c.fact for c in case.controls))]
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
    asked = np.zeros((cases, shape.places), np.int32)
    path = np.full((cases, shape.choices, shape.options, 1 + shape.longest), -1, np.int32)
    prompts = np.full((cases, shape.choices, shape.prompt), -1, np.int32)
    claims = np.zeros((cases, shape.claims), np.int32)
    for e, one in enumerate(packed):
        padded = np.flatnonzero([node < len(tree.tokens) for tree in one.trees for node in range(nodes)])
        asked[e, : len(one.node)] = padded[one.node]
        for q, (options, prompt) in enumerate(zip(one.options, one.prompts, strict=True)):
            prompts[e, q, shape.prompt - len(prompt) :] = padded[prompt]
            for o, places in enumerate(options):
                path[e, q, o, : len(places)] = places
        claims[e, : len(one.claims)] = one.claims
    return Probes(_stack_trees([_stack_trees(some) for some in trees]), asked, path, prompts, claims)


def _stack_trees(trees: Sequence[TokenTree]) -> TokenTree:
    return TokenTree(*map(np.stack, zip(*trees, strict=True)))


@partial(jax.jit, static_argnames=("words", "longest"))
def answer_probes(
    model: LanguageModel, deltas: Delta, probes: Probes, words: tuple[int, int], longest: int
) -> ModelAnswers:
    """One pass over the questions of G edits of B cases each, some edits at once.

    Args:
        deltas: leaves lead with G, as `lm.editors.interface.edit_batch` returns them.
        probes: arrays lead with G, then B.
        words: token ids of "true" and "false".
        longest: tokens of the longest object.

    Returns:
        Readings that lead with G and B.
    """

    def answer_edit(asked: tuple[Delta, Probes]) -> ModelAnswers:
        delta, probe = asked
        edited = model.with_delta(delta)
        logits, context = _read_texts(edited, probe)
        ended, begun = _option_log_probabilities(probe, logits)
        truth = jnp.take_along_axis(logits, probe.claims[..., None], axis=1)
        return ModelAnswers(
            jnp.exp(ended),
            jnp.exp(begun),
            generate(edited, context, longest + 1).reshape(*probe.path.shape[:2], -1),
            jax.nn.softmax(truth)[..., jnp.array(words)],
        )

    _, cases, places = probes.node.shape
    at_once = max(1, LOGITS_AT_ONCE // (cases * places * model.vocabulary))
    return jax.lax.map(answer_edit, (deltas, probes), batch_size=min(at_once, len(probes.node)))


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
    taken = cache.take_tokens(
        row,
        jnp.concatenate([prefix, before + slot], axis=1),
        jnp.pad(there, ((0, 0), (before, 0)), constant_values=True),
    )
    return Context(taken, hidden[row, slot[:, -1]], taken.positions[:, -1] + 1)


def truth_words(tokenizer: Tokenizer) -> tuple[int, int]:
    """Token ids of "true" and "false"."""
    return tokenizer.word(Word.TRUE), tokenizer.word(Word.FALSE)
