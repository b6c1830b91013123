"""A reviser that learned its rule: what a subject's facts tell of another, as they do among others.

It reads a table of who has what, as beliefs are one, and the known facts of one subject, and gives a
distribution over the objects of a relation. No structure is written down. A small network (Weights, some
20,000 numbers) learned on worlds drawn from a broad prior to predict what is hidden; with the logarithmic
loss the best prediction is the posterior, so that it approaches Bayes' rule under that prior (Müller et al.
2022, "Transformers Can Do Bayesian Inference"). Objects count by whether they are equal alone, subjects and
relations are sets, so that the same network does for tables of any size.

Two statistics of the table tell how each relation bears on the target: how often two who agree in it agree
in the target, and the same for pairs of relations. Subjects attend to each other, by where they agree and
differ; in the last layer those who have the target's fact vote for it.

`python -m experiments.train_reviser` trains it.
"""

import itertools
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from corpus.errors import InputError
from corpus.files import hash_file
from lm.attention import Array

Weights = Mapping[str, Array]
WEIGHTS = Path(__file__).with_name("reviser.npz")
SHA256 = "24b18c02b6789cb163e3b2d2aa84f8de05ffb3f884c31ae556ae1b69e7c22290"
"""Of the file: six thousand steps of `python -m experiments.train_reviser` at revision c99199b4."""
UNKNOWN = -1
"""A fact that is not known."""
HEADS, WIDTH, HIDDEN, LAYERS = 4, 24, 48, 2
BEARING = 16
"""Numbers that tell how a relation bears on the target."""
ALIKE, UNLIKE, BY_REQUEST = range(3)
"""What two subjects may be in a relation: of one object, of two, or of that which is requested."""
_SMALL = 1e-4


class Reading(NamedTuple):
    """What a table says about one relation, the target; S subjects, R relations, the target first.

    Attributes:
        bearing: float[R, BEARING], how each relation bears on the target.
        copies: float[R], log-odds, beside those of a stranger, that a fact's object is the target's, too.
        shared: float[], log-odds that two subjects have the same object of the target.
        read: float[], share of the subjects whose object of the target is known.
        states: float[LAYERS + 1, S, WIDTH], of each subject, before each layer and after the last.
    """

    bearing: jax.Array
    copies: jax.Array
    shared: jax.Array
    read: jax.Array
    states: jax.Array


def initialise_weights(key: jax.Array) -> Weights:
    """Random weights of a reviser that has learned nothing."""
    shapes = {
        "one": (9, HIDDEN, BEARING), "two": (8, HIDDEN, BEARING), "both": (2 * BEARING, HIDDEN, BEARING),
        "subject": (4, WIDTH), "vote": (2 * HEADS + 6 + BEARING, HIDDEN, 1),
    }  # fmt: skip
    for layer in range(LAYERS + 1):
        shapes |= {f"alike {layer}": (BEARING, 3 * HEADS), f"seeks {layer}": (WIDTH, WIDTH),
                   f"offers {layer}": (WIDTH, WIDTH)}  # fmt: skip
    for layer in range(LAYERS):
        shapes |= {f"gives {layer}": (WIDTH, WIDTH), f"takes {layer}": (WIDTH, WIDTH),
                   f"thinks {layer}": (WIDTH, HIDDEN, WIDTH)}  # fmt: skip
    weights = {"target": jnp.zeros(BEARING)}
    for name, sizes in shapes.items():
        for i, (before, after) in enumerate(itertools.pairwise(sizes)):
            key, pick = jax.random.split(key)
            weights[f"{name}.{i}"] = jax.random.normal(pick, (before + 1, after)) / np.sqrt(before)
            weights[f"{name}.{i}"] = weights[f"{name}.{i}"].at[-1].set(0.0)
    return weights


@cache
def load_weights() -> Weights:
    """The weights that are shipped.

    Raises:
        InputError: the file is missing or is not the one that was shipped.
    """
    if not WEIGHTS.exists() or hash_file(WEIGHTS) != SHA256:
        raise InputError(f"{WEIGHTS} is missing or was changed; install the package again")
    return read_weights(WEIGHTS)


def read_weights(path: Path) -> Weights:
    """The weights in a file of `python -m experiments.train_reviser`.

    Raises:
        InputError: it is not such a file.
    """
    shapes = jax.tree.map(jnp.shape, jax.eval_shape(initialise_weights, jax.random.key(0)))
    # Of a damaged file NumPy's readers may raise anything, down to errors of Python's tokens.
    with suppress(Exception), path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        # Of NumPy, as they are kept for later, and the first use may be traced.
        weights = {name: np.asarray(arrays[name]) for name in arrays.files}
        if jax.tree.map(np.shape, weights) == shapes:
            return weights
    raise InputError(f"{path} has no weights of a reviser; python -m experiments.train_reviser makes some")


def read_table(weights: Weights, facts: Array, keys: Array) -> Reading:
    """What a table says about its first relation.

    Args:
        facts: int[S, R], the object of each fact, or UNKNOWN.
        keys: int[n], subjects by which all are read; of many a sample does.
    """
    facts = jnp.asarray(facts)
    few = facts[keys]
    alone = (few < 0).all(axis=1)
    bearing, copies, shared = relate_relations(weights, few)
    read = share_known(few)[0]
    reading = Reading(bearing, copies, shared, read, jnp.zeros((LAYERS + 1, 0, WIDTH)))

    def states_of(facts: jax.Array, at: Array, key_states: list[jax.Array]) -> list[jax.Array]:
        state = begin_states(weights, facts, shared, read)
        states = [state]
        for layer, of_keys in enumerate(key_states):
            hidden = alone | (keys == at[:, None])
            state = attend(weights, layer, reading, (state, facts), (of_keys, few), hidden)
            states.append(state)
        return states

    key_states: list[jax.Array] = []
    for _ in range(LAYERS):
        key_states.append(states_of(few, keys, key_states)[-1])
    if len(keys) == len(facts):
        states = states_of(few, keys, key_states)
    else:
        one = lambda row, at: [x[0] for x in states_of(row[None], at[None], key_states)]  # noqa: E731
        states = jax.lax.map(lambda x: one(*x), (facts, jnp.arange(len(facts))), batch_size=len(keys))
    return reading._replace(states=jnp.stack(states))


def conclude(
    weights: Weights,
    reading: Reading,
    facts: Array,
    place: Array,
    own: Array,
    requested: Array,
    objects: Array,
) -> jax.Array:
    """float[Q, K]: log p(object of the first relation | the known facts), of Q subjects.

    Args:
        facts: int[S, R], as `reading` was made of; who has nothing counts for nothing.
        place: int[S], where each subject's object of the first relation stands among `objects`.
        own: int[Q, R], the subject's own facts, UNKNOWN in the first relation.
        requested: int[Q], the relation that is requested, -1 if none is.
        objects: int[K], objects of the first relation; p is 0 of those that nobody has.
    """
    facts, own = jnp.asarray(facts), jnp.asarray(own)
    state = begin_states(weights, own, reading.shared, reading.read)
    is_requested = jax.nn.one_hot(requested, own.shape[1])
    alone = (facts < 0).all(axis=1)[None]
    for layer in range(LAYERS):
        key = reading.states[layer], facts
        state = attend(weights, layer, reading, (state, own), key, alone, is_requested)
    known = facts[:, :1] >= 0
    logits = match(weights, LAYERS, reading, (state, own), (reading.states[-1], facts), is_requested)
    logits = jnp.where(known, logits, -jnp.inf)
    most = jnp.maximum(logits.max(axis=1), 0.0)
    weight = jnp.exp(logits - most[:, None])
    votes = jnp.zeros((len(own), len(objects), HEADS)).at[:, place].add(weight)
    count = jnp.zeros(len(objects)).at[place].add(known[:, 0])
    size, rest = (count > 0).sum(), jnp.exp(-most)
    share = jnp.log(votes + rest[:, None] / size) - jnp.log(weight.sum(axis=1) + rest)[:, None]
    strength = jnp.log(jnp.exp(most) * weight.sum(axis=1) + _SMALL) / 5
    copied = (own[:, 1:, None] == objects) & (own[:, 1:, None] >= 0)
    common = jnp.log(count + 0.5) - jnp.log(count.sum() + 0.5 * size)
    spread = lambda x: jnp.broadcast_to(x, (*share.shape[:2], x.shape[-1]))  # noqa: E731
    features = [
        share, spread(strength[:, None]), spread(jnp.stack([common, jnp.log1p(count) / 3], axis=-1)),
        (copied * reading.copies[1:, None]).sum(axis=1)[..., None],
        copied.sum(axis=1)[..., None], spread(jnp.stack([jnp.log(size), reading.shared])),
        spread(reading.bearing[1:].sum(axis=0) / 4),
    ]  # fmt: skip
    logit = share.mean(axis=-1) + apply(weights, "vote", jnp.concatenate(features, axis=-1))[..., 0]
    return jax.nn.log_softmax(jnp.where(count > 0, logit, -1e9))


def relate_relations(weights: Weights, facts: Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """How each relation bears on the first one, how often it has the same object, and how often two agree.

    Args:
        facts: int[n, R].

    Returns:
        float[R, BEARING], float[R] and float[]; see `Reading`.
    """
    known = (facts >= 0).astype(jnp.float32)
    both = known[:, None] * known * (1 - jnp.eye(len(facts)))[..., None]
    agree = (facts[:, None] == facts) * both
    of_target, both_target = agree[..., 0], both[..., 0]
    base = (of_target.sum() + 1) / (both_target.sum() + 4)

    def lift(right: jax.Array, all_: jax.Array) -> jax.Array:
        return log_odds((right + 4 * base) / (all_ + 4)) - log_odds(base)

    # Pairs of subjects who know the target, by whether they agree in one relation, and in two.
    pairs = lambda *x: jnp.einsum(("ijf,ij->f", "ijf,ijg,ij->fg")[len(x) - 2], *x)  # noqa: E731
    same, same_right = pairs(agree, both_target), pairs(agree, of_target)
    other, other_right = pairs(both, both_target) - same, pairs(both, of_target) - same_right
    two, two_right = pairs(agree, agree, both_target), pairs(agree, agree, of_target)
    mixed = pairs(agree, both, both_target) - two
    mixed_right = pairs(agree, both, of_target) - two_right
    spread = lambda x, like: jnp.broadcast_to(x, like.shape)  # noqa: E731
    copied = ((facts == facts[:, :1]) * known * known[:, :1]).sum(axis=0)
    copies = (copied + 0.3) / ((known * known[:, :1]).sum(axis=0) + 1)
    alone = lift(same_right, same)
    one = jnp.stack([
        alone, lift(other_right, other), spread(log_odds(base), same), jnp.log1p(same) / 5,
        jnp.log1p(other) / 5, log_odds((agree.sum((0, 1)) + 1) / (both.sum((0, 1)) + 4)),
        share_known(facts), spread(share_known(facts)[0], same), log_odds(copies),
    ], axis=-1)  # fmt: skip
    apart = lift(mixed_right, mixed)
    pair = jnp.stack([
        lift(two_right, two), apart, apart.T, spread(alone[:, None], two), spread(alone, two),
        jnp.log1p(two) / 5, jnp.log1p(mixed) / 5, spread(log_odds(base), two),
    ], axis=-1)  # fmt: skip
    real = jnp.any(known > 0, axis=0) & (jnp.arange(facts.shape[1]) > 0)
    partners = (real & ~jnp.eye(len(real), dtype=bool))[..., None]
    of_pairs = apply(weights, "two", pair)
    best = jnp.where(partners, of_pairs, -1e9).max(axis=1)
    joined = [jnp.where(partners.any(axis=1), best, 0.0), jnp.where(partners, of_pairs, 0.0).sum(axis=1) / 4]
    bearing = apply(weights, "one", one) + apply(weights, "both", jnp.concatenate(joined, axis=-1))
    bearing = jnp.where(real[:, None], bearing, 0.0).at[0].set(weights["target"])
    return bearing, log_odds(copies) - log_odds(jnp.float32(0.3 / 1.3)), log_odds(base)


def share_known(facts: Array) -> jax.Array:
    """float[R]: of how many each fact is known, as a share of those of whom anything is."""
    known = facts >= 0
    return known.sum(axis=0) / jnp.maximum(known.any(axis=1).sum(), 1)


def begin_states(weights: Weights, facts: Array, shared: jax.Array, read: jax.Array) -> jax.Array:
    """float[n, WIDTH]: subjects by how much is known of them alone."""
    known = (facts >= 0).astype(jnp.float32)
    row = jnp.stack([known[:, 0], known[:, 1:].sum(axis=1) / 4], axis=-1)
    about = jnp.broadcast_to(jnp.stack([shared, read]), (len(facts), 2))
    return apply(weights, "subject", jnp.concatenate([row, about], axis=-1))


def attend(
    weights: Weights,
    layer: int,
    reading: Reading,
    row: tuple[jax.Array, jax.Array],
    key: tuple[jax.Array, jax.Array],
    hidden: jax.Array,
    is_requested: jax.Array | None = None,
) -> jax.Array:
    """float[n, WIDTH]: the states of subjects after they attended to others.

    Args:
        row: states and facts of those who attend.
        key: states and facts of those whom they attend to.
        hidden: bool, broadcast to [n, m]: who is not seen, such as oneself.
        is_requested: float[n, R], the relation that is requested of each.
    """
    logits = match(weights, layer, reading, row, key, is_requested)
    share = jax.nn.softmax(jnp.where(hidden[..., None], -1e9, logits), axis=1)
    gives = split_heads(apply(weights, f"gives {layer}", normalise(key[0])))
    message = jnp.einsum("ijh,jhd->ihd", share, gives).reshape(len(row[0]), WIDTH)
    state = row[0] + apply(weights, f"takes {layer}", message)
    return state + apply(weights, f"thinks {layer}", normalise(state))


def match(
    weights: Weights,
    layer: int,
    reading: Reading,
    row: tuple[jax.Array, jax.Array],
    key: tuple[jax.Array, jax.Array],
    is_requested: jax.Array | None = None,
) -> jax.Array:
    """float[n, m, HEADS]: how much others bear on subjects, by where they agree and differ, and by states."""
    by_relation = apply(weights, f"alike {layer}", reading.bearing).reshape(-1, 3, HEADS)
    by_relation = jnp.where((reading.bearing != 0).any(axis=1)[:, None, None], by_relation, 0.0)
    (states, facts), (key_states, key_facts) = row, key
    both = (facts[:, None] >= 0) & (key_facts >= 0)
    agree = (facts[:, None] == key_facts) & both
    alike = jnp.einsum("ijr,rh->ijh", agree.astype(jnp.float32), by_relation[:, ALIKE])
    alike += jnp.einsum("ijr,rh->ijh", (both & ~agree).astype(jnp.float32), by_relation[:, UNLIKE])
    if is_requested is not None:
        requested = agree * is_requested[:, None]
        alike += jnp.einsum("ijr,rh->ijh", requested, by_relation[:, BY_REQUEST])
    seeks = split_heads(apply(weights, f"seeks {layer}", normalise(states)))
    offers = split_heads(apply(weights, f"offers {layer}", normalise(key_states)))
    return alike + jnp.einsum("ihd,jhd->ijh", seeks, offers) / np.sqrt(WIDTH / HEADS)


def apply(weights: Weights, name: str, x: jax.Array) -> jax.Array:
    """One layer, or two with a GELU between them; the last row of each matrix is its bias."""
    first = weights[f"{name}.0"]
    x = x @ first[:-1] + first[-1]
    second = weights.get(f"{name}.1")
    return x if second is None else jax.nn.gelu(x) @ second[:-1] + second[-1]


def split_heads(x: jax.Array) -> jax.Array:
    """float[n, HEADS, WIDTH // HEADS] of float[n, WIDTH]."""
    return x.reshape(len(x), HEADS, -1)


def normalise(x: jax.Array) -> jax.Array:
    """Rows of mean 0 and variance 1."""
    x = x - x.mean(axis=-1, keepdims=True)
    return x / jnp.sqrt(jnp.square(x).mean(axis=-1, keepdims=True) + 1e-5)


def log_odds(p: Array) -> jax.Array:
    """The log-odds of probabilities, finite at 0 and 1."""
    return jnp.log(p + _SMALL) - jnp.log(1 - p + _SMALL)
