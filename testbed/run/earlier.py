"""What a pretrained model said before it read a world, and how far it says so still (gold-free).

Plain prompts (`plain_prompts.txt`) are continued greedily before anything is read. Whoever reads or edits
afterwards is asked what it would say at each of these tokens: how many are its likeliest still, and how far
its distribution is from the earlier one. A model that is asked before it reads also shows whether it knows
names of the world: then its answers would be nearer the truth than those of somebody who knows nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from corpus.arrays import load_arrays, save_arrays
from corpus.files import read_json, staged_file, write_json
from corpus.seeds import generator, integer
from corpus.text.tokenizer import BOS, PAD, Tokenizer
from lm.attention import Array, left_padded_layout
from lm.decoding import Sampling, write
from lm.language_model import LanguageModel
from lm.prompts import left_pad
from lm.scoring import candidate_tree, object_log_probabilities, tree_size
from testbed.run.runs import Run
from testbed.run.world import World

PROMPTS = Path(__file__).with_name("plain_prompts.txt")
ROOM, LIKELY, AT_ONCE = 12, 64, 24
"""Tokens of a continuation; how many of each distribution are kept; prompts that are read at once."""
FACTS = 80
TEXTS, LENGTH, MOST_K = 96, 64, 1000
"""Texts that a model writes itself, tokens of each, and of how many likeliest tokens each is drawn."""


@dataclass(frozen=True)
class Written:
    """Texts that a model wrote itself, int32[TEXTS, LENGTH]."""

    texts: np.ndarray


@dataclass(frozen=True)
class Earlier:
    """Continuations of n prompts by a model before it read.

    Attributes:
        prompts: int32[n, P], padded on the left.
        texts: int32[n, ROOM], PAD from the end of the document on.
        top: int32[n, ROOM, LIKELY], the likeliest tokens at each place.
        log_p: float32[n, ROOM, LIKELY], their log-probabilities.
    """

    prompts: np.ndarray
    texts: np.ndarray
    top: np.ndarray
    log_p: np.ndarray


class Agreement(NamedTuple):
    """How far a model says what an earlier one said.

    Attributes:
        same: share of the earlier tokens that are its likeliest.
        nats: Kullback-Leibler divergence from the earlier distribution, a token: of its likeliest tokens, and
            of all others together. So it is at most that of the whole distributions.
    """

    same: float
    nats: float


class NameCheck(NamedTuple):
    """Nats that the true objects of some facts cost, of those that any subject has in the relation.

    Attributes:
        model: by the model before it reads.
        uniform: where all are equally likely.
        marginal: by how many other subjects have each.
        right, chance: share of facts of which the truth is the likeliest, and of a blind guess.
        facts: how many.
    """

    model: float
    uniform: float
    marginal: float
    right: float
    chance: float
    facts: int


def ask_before_reading(run: Run, world: World, model: LanguageModel) -> NameCheck:
    """Write beside the checkpoints what a model said before it read, and whether it knew the names.

    What is there already stays.
    """
    answers, findings = _answers_of(run), run.earlier_file
    if not answers.exists():
        with staged_file(answers) as aside, aside.open("wb") as file:
            save_arrays(continue_plainly(model, read_prompts(world.tokenizer)), file)
    if not findings.exists():
        write_json(findings, {"names": check_names(model, world)._asdict()})
    return NameCheck(**read_json(findings)["names"])


def ask_after_reading(run: Run, model: LanguageModel) -> Agreement:
    """How far a model that has read says what it said before; written down, too."""
    agreement = compare_to_earlier(model, load_arrays(Earlier, _answers_of(run)))
    write_json(run.earlier_file, read_json(run.earlier_file) | {"read": agreement._asdict()})
    return agreement


def write_own_texts(run: Run, model: LanguageModel, seed: int) -> np.ndarray:
    """int32[TEXTS, LENGTH]: what a model that has not read says after nothing at all; what is there stays.

    Raises:
        InputError: what is there is damaged.
    """
    path = run.checkpoints.parent / "own_texts.npz"
    if not path.exists():
        keys = jax.random.split(jax.random.key(integer(seed, "own texts")), TEXTS)
        begin = np.full((TEXTS, 1), BOS, np.int32)
        texts = np.concatenate([begin, _write_freely(model, begin, keys)], axis=1)
        with staged_file(path) as aside, aside.open("wb") as file:
            save_arrays(Written(texts), file)
    return load_arrays(Written, path).texts


def read_earlier(run: Run) -> Earlier | None:
    """So many of the earlier answers that every edit can be asked; None of a model from scratch."""
    answers = _answers_of(run)
    if not answers.exists():
        return None
    earlier = load_arrays(Earlier, answers)
    return Earlier(*(getattr(earlier, f.name)[:AT_ONCE] for f in fields(earlier)))


def _answers_of(run: Run) -> Path:
    return run.checkpoints.parent / "earlier.npz"


def read_prompts(tokenizer: Tokenizer) -> np.ndarray:
    """int32[n, P]: the plain prompts, padded on the left."""
    rows = [np.array([BOS, *tokenizer.encode(line)]) for line in PROMPTS.read_text("utf-8").splitlines()]
    return left_pad(rows, max(map(len, rows)))


def continue_plainly(model: LanguageModel, prompts: np.ndarray) -> Earlier:
    """Greedy continuations of prompts, int32[n, P], and the distributions at their tokens."""
    parts = [(some, *map(np.asarray, _continue(model, some))) for some in _pieces(prompts)]
    return Earlier(*(np.concatenate(x)[: len(prompts)] for x in zip(*parts, strict=True)))


def compare_to_earlier(model: LanguageModel, earlier: Earlier) -> Agreement:
    """How far a model says what it said before it read, or before it was edited."""
    sums = np.zeros(3)
    arrays = [getattr(earlier, f.name) for f in fields(earlier)]
    for piece in zip(*map(_pieces, arrays), strict=True):
        sums += np.asarray(_compare(model, *piece), float)
    return Agreement(float(sums[0] / sums[2]), float(sums[1] / sums[2]))


def check_names(model: LanguageModel, world: World, seed: int = 0) -> NameCheck:
    """Whether a model that has not read a world yet knows it by its names."""
    graph, truth, tokenizer = world.graph, world.generative.truth, world.tokenizer
    facts = generator(seed, "names").permutation(len(graph))[:FACTS]
    options = [np.unique(truth[graph.relation == r]) for r in range(len(graph.relations))]
    rows = [[tokenizer.entity(int(o)) for o in some] for some in options]
    size = max(map(tree_size, rows)), max(map(len, rows)), max(len(row) for some in rows for row in some)
    trees = [candidate_tree(some, *size) for some in rows]
    prompts = [tokenizer.prompt(graph.subject[f], graph.relation[f]) for f in facts]
    padded, costs = left_pad(prompts, max(map(len, prompts))), []
    for f, prompt in zip(facts.tolist(), padded, strict=True):
        r = int(graph.relation[f])
        log_p = np.asarray(_score_options(model, prompt[None], trees[r]))[: len(options[r])]
        log_p = log_p - np.logaddexp.reduce(log_p)
        at = int(np.searchsorted(options[r], truth[f]))
        same = graph.relation == r
        others = int(np.sum(truth[same] == truth[f])) - 1
        marginal = (others + 1) / (np.sum(same) - 1 + len(options[r]))
        costs.append(
            (-log_p[at], np.log(len(log_p)), -np.log(marginal), log_p.argmax() == at, 1 / len(log_p))
        )
    model_nats, uniform, marginal, right, chance = np.mean(costs, axis=0).tolist()
    return NameCheck(model_nats, uniform, marginal, right, chance, len(facts))


def _pieces(rows: np.ndarray) -> Iterator[np.ndarray]:
    """So many rows at once; the last piece is filled up with empty ones."""
    for low in range(0, len(rows), AT_ONCE):
        some = rows[low : low + AT_ONCE]
        yield np.pad(some, ((0, AT_ONCE - len(some)), *((0, 0),) * (rows.ndim - 1)))


@jax.jit
def _continue(model: LanguageModel, prompts: Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    ones = jnp.ones(AT_ONCE)
    greedy = Sampling(0 * ones, ones.astype(int), ones, jnp.full(AT_ONCE, ROOM))
    keys = jax.random.split(jax.random.key(0), AT_ONCE)
    texts = write(model, model.read_prompts(prompts), keys, greedy, ROOM, 1)
    log_p, top = jax.lax.top_k(_log_probabilities(model, prompts, texts), LIKELY)
    return texts, top, log_p


@jax.jit
def _write_freely(model: LanguageModel, begin: Array, keys: jax.Array) -> jax.Array:
    ones = jnp.ones(TEXTS)
    sampling = Sampling(ones, jnp.full(TEXTS, MOST_K), ones, jnp.full(TEXTS, LENGTH - 1))
    return write(model, model.read_prompts(begin), keys, sampling, LENGTH - 1, MOST_K)


@jax.jit
def _compare(model: LanguageModel, prompts: Array, texts: Array, top: Array, log_p: Array) -> jax.Array:
    """Tokens that are the likeliest still, the sum of their divergences in nats, and how many there are."""
    now = _log_probabilities(model, prompts, texts)
    real = jnp.asarray(texts) != PAD
    later = jnp.take_along_axis(now, jnp.asarray(top), axis=2)
    rest, later_rest = (jnp.maximum(1 - jnp.exp(x).sum(-1), 1e-9) for x in (jnp.asarray(log_p), later))
    nats = jnp.sum(jnp.exp(log_p) * (log_p - later), -1) + rest * jnp.log(rest / later_rest)
    same = now.argmax(-1) == texts
    return jnp.stack([jnp.sum(x, where=real) for x in (same, nats, jnp.ones_like(nats))])


def _log_probabilities(model: LanguageModel, prompts: Array, texts: Array) -> jax.Array:
    """float32[B, ROOM, V], before each token of the texts."""
    tokens = jnp.concatenate([jnp.asarray(prompts), texts], axis=1)
    real = jnp.concatenate([jnp.asarray(prompts) != PAD, jnp.ones_like(texts, bool)], axis=1)
    hidden, _ = model.hidden_states(tokens, left_padded_layout(jnp.where(real, 1, PAD)))
    before = prompts.shape[1] - 1
    return jax.nn.log_softmax(model.unembed(hidden[:, before:-1]), axis=-1)


@jax.jit
def _score_options(model: LanguageModel, prompt: Array, tree: tuple) -> jax.Array:
    lead = jax.tree.map(lambda x: jnp.asarray(x)[None], tree)
    return object_log_probabilities(model, model.read_prompts(prompt), lead)[0][0]
