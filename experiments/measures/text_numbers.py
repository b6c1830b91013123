"""What edited models make of text: likelihood, drift, sharpness, entropy; and kinship of facts before."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from corpus.text.tokenizer import BOS, PAD
from lm.attention import left_padded_layout, packed_layout
from lm.delta import Delta, add_changes, fold_delta
from lm.editors.fitting import request_loss
from lm.editors.interface import Request
from lm.language_model import LanguageModel
from lm.model import Params
from testbed.evaluations.leme.statements import gram_entropy

NOISE, DRAWS = 0.05, 4
"""Of each array's root mean square, and how often it is drawn."""


class Readings(NamedTuple):
    """What G edited models make of R rows of text and of one row with what each is asked.

    Attributes:
        kl: float32[G], nats of KL(unedited || edited) for the next token of text.
        nats: float32[G], of a token of text.
        moved: float32[G], 1 - cosine of the state behind the last layer, before and after the edit.
        log_p: float32[G, T], of the token behind each one that is asked.
        is_top: bool[G, T], whether it is the most probable one.
        rise: float32[G], nats by which noise on all weights raises the loss of the tokens that count.
    """

    kl: jax.Array
    nats: jax.Array
    moved: jax.Array
    log_p: jax.Array
    is_top: jax.Array
    rise: jax.Array


def as_weights(delta: Delta, params: Params) -> Delta:
    """The edit with all weights that it adds as arrays like parameters, so that editors share a program."""
    folded = fold_delta(delta, params["embedding"].shape[0])
    if "weights" not in folded:
        return folded
    nothing = jax.tree.map(jnp.zeros_like, params)
    return folded | {"weights": add_changes(nothing, folded["weights"])}


@partial(jax.jit, static_argnames="abreast")
def read_edited(
    model: LanguageModel,
    deltas: Delta,
    rows: jax.Array,
    asked: jax.Array,
    counts: jax.Array,
    key: jax.Array,
    abreast: int,
) -> Readings:
    """Read text, and what each edited model is asked.

    Args:
        deltas: leaves lead with G.
        rows: int32[R, T], packed documents.
        asked: int32[G, T], likewise, one row for each edited model.
        counts: bool[G, T], the tokens of these rows whose next one the request is.
        abreast: how many are read side by side; G is a multiple of it.
    """
    noise = draw_noise(model.params, key)

    def read(edited: LanguageModel, tokens: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """States, log-probabilities, those of the next token, and whether it is there."""
        target = jnp.pad(tokens[:, 1:], ((0, 0), (0, 1)), constant_values=PAD)
        states, _ = edited.hidden_states(tokens, packed_layout(tokens, BOS))
        logs = jax.nn.log_softmax(edited.unembed(states))
        there = (target != PAD) & (target != BOS)
        return states, logs, jnp.take_along_axis(logs, target[..., None], axis=-1)[..., 0], there

    old_states, old, _, is_text = read(model, rows)
    mean = partial(jnp.mean, where=is_text)

    def read_one(each: tuple[Delta, jax.Array, jax.Array]) -> Readings:
        delta, row, is_request = each
        edited = model.with_delta(delta)
        states, logs, nexts, _ = read(edited, jnp.concatenate([rows, row[None]]))
        now, log_p = logs[:-1], nexts[-1]

        def shake(one: Params) -> jax.Array:
            shaken = replace(edited, params=add_changes(edited.params, one))
            return -jnp.mean(read(shaken, row[None])[2][0], where=is_request)

        return Readings(
            kl=mean(jnp.sum(jnp.exp(old) * (old - now), axis=-1)),
            nats=-mean(nexts[:-1]),
            moved=mean(1 - cosine(states[:-1], old_states)),
            log_p=log_p,
            is_top=logs[-1].max(-1) <= log_p,
            rise=jax.lax.map(shake, noise).mean() + jnp.mean(log_p, where=is_request),
        )

    return jax.lax.map(read_one, (deltas, asked, counts), batch_size=abreast)


def draw_noise(params: Params, key: jax.Array) -> Params:
    """DRAWS times normal noise of NOISE of each array's root mean square; leaves lead with draws."""
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(key, len(leaves))
    scaled = [
        NOISE * jnp.sqrt(jnp.mean(x**2)) * jax.random.normal(k, (DRAWS, *x.shape))
        for x, k in zip(leaves, keys, strict=True)
    ]
    return jax.tree.unflatten(tree, scaled)


def cosine(a: jax.Array, b: jax.Array) -> jax.Array:
    """Over the last axis."""
    lengths = jnp.linalg.norm(a, axis=-1) * jnp.linalg.norm(b, axis=-1)
    return jnp.sum(a * b, axis=-1) / jnp.maximum(lengths, jnp.finfo(a.dtype).tiny)


@jax.jit
def measure_kinship(model: LanguageModel, request: Request, others: Request) -> jax.Array:
    """How alike a request and other facts are to an unedited model, float32[2].

    First the cosine of the gradients of both losses by all parameters (GradSim); then, as CLaRE measures
    overlap by a forward pass, that of states at the end of both prompts, mean over layers and facts.

    Args:
        request: one fact.
        others: M facts, each with the object that is asked about.
    """

    def gradient(facts: Request) -> jax.Array:
        loss = lambda params: request_loss(replace(model, params=params), facts)  # noqa: E731
        return ravel_pytree(jax.grad(loss)(model.params))[0]

    def states(facts: Request) -> jax.Array:
        return model.activations(facts.prompt, left_padded_layout(facts.prompt)).states[:, :, -1]

    overlap = cosine(states(request), states(others)).mean()
    return jnp.stack([cosine(gradient(request), gradient(others)), overlap])


def generation_entropy(texts: np.ndarray) -> float:
    """ROME's: a third of the entropy of pairs of tokens and two of that of triples, in bits, mean over texts.

    Args:
        texts: int[texts, T], PAD behind the end of each.
    """
    tokens = [[token for token in text if token != PAD] for text in texts.tolist()]
    return float(np.mean([ngram_entropy(one, 2) / 3 + ngram_entropy(one, 3) * 2 / 3 for one in tokens]))


def ngram_entropy(tokens: list[int], n: int) -> float:
    """In bits, of the runs of n tokens; 0 where there is none."""
    return gram_entropy(list(zip(*(tokens[i:] for i in range(n)), strict=False)))
