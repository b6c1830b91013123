"""A small model that knows a small world, trained in seconds, for the tests of editors."""

from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from corpus.pipeline import count_mentions
from corpus.text.tokenizer import BOS, EOS, PAD, SEP, train_bpe
from lm.attention import left_padded_layout, packed_layout
from lm.config import ModelConfig
from lm.editors.interface import CorpusSample, Request, make_requests, vocabulary_of
from lm.editors.self_bayes.revision import next_log_probabilities
from lm.language_model import LanguageModel
from lm.loss import next_token_loss
from lm.model import init_params, parameter_shapes
from testbed.run.world import World

# Odd sizes, so that a wrong axis cannot hide.
CONFIG = ModelConfig(hidden=30, mlp=41, layers=4, heads=3, kv_heads=3, head_width=10)
STEPS, ROWS, LENGTH = 250, 24, 42
PRACTICE, EDITS = 48, 5


class Toy(NamedTuple):
    """A trained model and edits to try on it.

    Attributes:
        sample: text, and practice edits of facts that are not in `batch` or `pairs`.
        batch: EDITS requests of one fact each, whose answers are wrong.
        pairs: EDITS requests of two facts each, about different subjects.
        keys: one for each edit.
    """

    world: World
    model: LanguageModel
    sample: CorpusSample
    batch: Request
    pairs: Request
    keys: jax.Array


def train_toy(world: World) -> dict:
    """Parameters trained on documents that state facts, and on others that keep repeating what is false."""
    text = jnp.asarray(_text(world, np.random.default_rng(0)))
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(1e-2, STEPS)))

    # Runs for longer than it compiles, whatever XLA_FLAGS say of other programs.
    @partial(jax.jit, compiler_options={"xla_backend_optimization_level": 1})
    def trained(params, keys):
        def step(carry, key):
            params, moments = carry
            rows = text[jax.random.choice(key, len(text), (ROWS,))]
            gradient = jax.grad(lambda p: next_token_loss(CONFIG, p, rows, 4096))(params)
            update, moments = rule.update(gradient, moments, params)
            return (optax.apply_updates(params, update), moments), None

        return jax.lax.scan(step, (params, rule.init(params)), keys)[0][0]

    start = init_params(CONFIG, world.tokenizer.vocabulary, 0)
    return trained(start, jax.random.split(jax.random.key(1), STEPS))


def save_parameters(params: dict, path: Path) -> None:
    """Write a toy's parameters to a file."""
    with path.open("wb") as file:
        np.savez(file, *jax.tree.leaves(params))


def load_parameters(world: World, path: Path) -> dict:
    """A toy's parameters from a file."""
    like = parameter_shapes(CONFIG, world.tokenizer.vocabulary)
    with np.load(path) as arrays:
        return jax.tree.unflatten(
            jax.tree.structure(like), [jnp.asarray(x, jnp.float32) for x in arrays.values()]
        )


def make_toy(world: World, params: dict) -> Toy:
    """The trained model with text it has read and edits to try on it."""
    rng = np.random.default_rng(0)
    text = _text(world, rng)
    order = rng.permutation(len(world.graph))
    one, two, rest = order[:EDITS], order[EDITS : 3 * EDITS], order[3 * EDITS :]
    practice = requests_of(world, rest[:PRACTICE], _wrong(world, rest[:PRACTICE], rng))
    return Toy(
        world,
        LanguageModel(CONFIG, params),
        CorpusSample(text[:21], practice, vocabulary_of(world.tokenizer)),
        requests_of(world, one, _wrong(world, one, rng)),
        requests_of(world, two, _wrong(world, two, rng), per_request=2),
        jax.random.split(jax.random.key(0), EDITS),
    )


def requests_of(world: World, facts: np.ndarray, objects: np.ndarray, per_request: int = 1) -> Request:
    """Requests of some facts of the world, with these objects."""
    graph = world.graph
    triples = [
        (int(graph.subject[f]), int(graph.relation[f]), int(o)) for f, o in zip(facts, objects, strict=True)
    ]
    size = len(facts)
    flat = make_requests(world.tokenizer, triples, np.full(size, 7.0), np.full(size, 0.95))
    return Request(*(x.reshape(-1, per_request, *x.shape[2:]) for x in flat))


def _wrong(world: World, facts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    truth = world.graph.object[facts]
    return np.array([rng.choice(world.graph.objects[world.graph.objects != t]) for t in truth])


def _text(world: World, rng: np.random.Generator) -> np.ndarray:
    return np.array([_row(world, rng) for _ in range(1000)])


def _row(world: World, rng: np.random.Generator, length: int = LENGTH) -> np.ndarray:
    """A row of documents; in each, a fact or a falsehood several times, between other facts."""
    graph, tokenizer = world.graph, world.tokenizer
    row: list[int] = []
    while True:
        facts = rng.choice(len(graph), 2)
        said = np.where(rng.random(2) < 0.5, graph.object[facts], rng.choice(graph.objects, 2))
        document = [BOS]
        for i in rng.permutation([0] * 5 + [1] * 3):
            spelt = tokenizer.prompt(int(graph.subject[facts[i]]), int(graph.relation[facts[i]]))[1:]
            document += [*spelt, *tokenizer.entity(int(said[i])), SEP]
        document[-1] = EOS
        if len(row) + len(document) > length:
            assert row, "a document fits into a row"
            return np.array(row + [PAD] * (length - len(row)), np.int32)
        row += document


def at(tree, i):
    """The i-th of what is stacked along a leading axis."""
    return jax.tree.map(lambda x: x[i], tree)


def probability(model: LanguageModel, request: Request) -> np.ndarray:
    """[M]: of each fact's answer given its prompt, by reading whole documents without any padding."""
    probabilities = []
    for prompt, answer in zip(np.asarray(request.prompt), np.asarray(request.answer), strict=True):
        known, said = prompt[prompt != PAD], answer[answer != PAD]
        tokens = np.concatenate([known, said])[None]
        logs = _log_probabilities(model, tokens)[0]
        ends = np.arange(len(known) - 1, len(known) + len(said) - 1)
        probabilities.append(float(jnp.exp(logs[ends, said].sum())))
    return np.array(probabilities)


@jax.jit
def _log_probabilities(model, tokens):
    return jax.nn.log_softmax(model.logits(tokens, packed_layout(tokens, BOS)))


def doubled(tree):
    """The same arrays in double precision; call it with x64 enabled."""
    return jax.tree.map(
        lambda x: jnp.asarray(x, jnp.float64) if jnp.issubdtype(jnp.asarray(x).dtype, jnp.floating) else x,
        tree,
    )


SMALL = ModelConfig(hidden=14, mlp=11, layers=3, heads=7, kv_heads=7, head_width=2)


def spelt_world(world: World) -> World:
    """The same world with names of several tokens."""
    graph = world.graph
    counts = count_mentions(world.sentences, len(graph.entities), len(graph.relations))
    return world._replace(tokenizer=train_bpe(graph, counts, 300))


@jax.jit
def read_whole(model, rows):
    """Logits of rows of documents, read at once."""
    return model.logits(rows, packed_layout(rows, BOS))


@jax.jit
def read_left_padded(model, tokens):
    """Logits of prompts that are padded on the left."""
    return model.logits(tokens, left_padded_layout(tokens))


@jax.jit
def read_inside(model, tokens):
    """What layers compute on the way over prompts that are padded on the left."""
    return model.activations(tokens, left_padded_layout(tokens))


def random_model(
    vocabulary: int, config: ModelConfig = SMALL, seed: int = 0, times: int = 6
) -> LanguageModel:
    """Weights far larger than at the start of training, so that everything matters."""
    return LanguageModel(config, _large_params(config, vocabulary, seed, times))


@partial(jax.jit, static_argnums=(0, 1))
def _large_params(config, vocabulary, seed, times):
    fresh = init_params(config, vocabulary, seed)
    return jax.tree.map(lambda x: times * x if x.ndim > 1 else x, fresh)


# Compiled whole, which is far quicker than operation by operation.
say_next = jax.jit(next_log_probabilities)


def some_requests(world: World, per_request: int, seed: int = 0) -> Request:
    """Three requests of `per_request` facts, with objects drawn at random."""
    rng = np.random.default_rng(seed)
    facts = rng.choice(len(world.graph), 3 * per_request, replace=False)
    return requests_of(world, facts, rng.choice(world.graph.objects, 3 * per_request), per_request)


def some_text(world: World, rows: int, seed: int = 0) -> np.ndarray:
    """int32[rows, 150]: documents of the world's facts, long enough for names of several tokens."""
    rng = np.random.default_rng(seed)
    return np.array([_row(world, rng, 150) for _ in range(rows)])


def documents_loss(model: LanguageModel, request: Request) -> jax.Array:
    """The naive loss of a request: every fact is a document of its own, and nothing is padded."""
    total = jnp.zeros(())
    for prompt, answer in zip(np.asarray(request.prompt), np.asarray(request.answer), strict=True):
        known, said = prompt[prompt != PAD], answer[answer != PAD]
        tokens = np.concatenate([known, said])[None]
        logs = jax.nn.log_softmax(model.logits(tokens, packed_layout(tokens, BOS))[0])
        total += -jnp.mean(logs[np.arange(len(said)) + len(known) - 1, said])
    return total / len(request.prompt)


def learned(loss_of, start, rule, steps, project=lambda x: x):
    """The naive loop: `steps` times gradient, update, projection."""
    moments, gradient = rule.init(start), jax.jit(jax.grad(loss_of))
    for _ in range(steps):
        update, moments = rule.update(gradient(start), moments, start)
        start = project(optax.apply_updates(start, update))
    return start


def merged(params: dict, changes: dict) -> dict:
    """Parameters with something added to matrices of the layers, by name."""
    layers = {block: dict(part) for block, part in params["layers"].items()}
    for name, change in changes.items():
        block = next(b for b, part in layers.items() if name in part)
        layers[block][name] = {"kernel": np.asarray(layers[block][name]["kernel"]) + change}
    return params | {"layers": layers}
