"""What rome and memit share: an MLP's down-projection as a memory of (key, value) pairs.

The key of a subject is what goes into the down-projection at the subject's last token, averaged over the
contexts it is read in; the same averaged key is used wherever the update needs one. The value is found by
gradient: what must be added to the state there for the request to become probable.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from corpus.text.tokenizer import BOS, PAD, SEP
from lm.attention import packed_layout
from lm.editors.fitting import answer_loss, as_float32, fit, request_inputs, request_states
from lm.editors.interface import CorpusSample, Request
from lm.editors.rome import RomeConfig
from lm.language_model import LanguageModel
from lm.prompts import left_pad

ROWS_AT_ONCE = 8


class Memory(NamedTuple):
    """What the corpus says about some layers' down-projections.

    Attributes:
        contexts: int32[C, W], openings of documents, padded on the left; the first is none.
        moment: float32[n, F, F], the keys' second moment in each layer that may be edited, shrunk.
        inverse: float32[n, F, F], of the same.
        typical: float32[], root mean square of the entries of the states behind the last such layer.
    """

    contexts: jax.Array
    moment: jax.Array
    inverse: jax.Array
    typical: jax.Array


def measure_memory(
    model: LanguageModel, sample: CorpusSample, layers: range, contexts: int, shrink: float
) -> Memory:
    """Second moments of the keys of some layers, and openings of documents, from corpus text.

    Args:
        contexts: openings besides none.
        shrink: share of the mean that is added to the second moment's diagonal.
    """

    @jax.jit
    def batch_moments(model: LanguageModel, rows: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        activations = model.activations(rows, packed_layout(rows, BOS))
        real = (rows != PAD).astype(jnp.float32)
        keys = as_float32(activations.inner[jnp.array(layers)])
        states = as_float32(activations.states[layers[-1]])
        second = jnp.einsum("lbtf,lbtg,bt->lfg", keys, keys, real)
        return second, jnp.einsum("btd,btd,bt->", states, states, real), real.sum()

    # Rows of padding alone count for nothing, and let the last part have the shape of the others.
    lacking = -len(sample.rows) % ROWS_AT_ONCE
    rows = np.pad(sample.rows, ((0, lacking), (0, 0)), constant_values=PAD)
    parts = [
        jax.tree.map(np.float64, batch_moments(model, rows[i : i + ROWS_AT_ONCE]))
        for i in range(0, len(rows), ROWS_AT_ONCE)
    ]
    second, squares, tokens = (sum(part) for part in zip(*parts, strict=True))
    second = second / tokens
    diagonal = np.trace(second, axis1=1, axis2=2)[:, None, None] / second.shape[1]
    moment = second + shrink * diagonal * np.eye(second.shape[1])
    typical = np.sqrt(squares / tokens / model.config.hidden)
    openings = [row[: int(np.argmax(row == SEP)) + 1] for row in sample.rows[:contexts]]
    openings = [np.array([BOS], np.int32), *openings]
    return Memory(
        jnp.asarray(left_pad(openings, max(map(len, openings)))),
        jnp.asarray(moment),
        jnp.asarray(np.linalg.inv(moment)),
        jnp.asarray(typical),
    )


def repeat_in_contexts(config: RomeConfig, request: Request, contexts: jax.Array) -> Request:
    """Every fact of a request behind every opening: M * C facts, those of one fact together.

    `subject_end` becomes the position of the token whose key is meant.
    """
    count, width = contexts.shape
    facts = request.prompt.shape[0]
    repeated = Request(*(jnp.repeat(jnp.asarray(x), count, axis=0) for x in request))
    bare = jnp.where(repeated.prompt == BOS, PAD, repeated.prompt)
    prompt = jnp.concatenate([jnp.tile(contexts, (facts, 1)), bare], axis=1)
    last = jnp.full_like(repeated.subject_end, request.prompt.shape[1] - 1)
    place = repeated.subject_end if config.token == "subject" else last
    return repeated._replace(prompt=prompt, subject_end=place + width)


def average_at_key(values: jax.Array, request: Request, contexts: int) -> jax.Array:
    """[M, W]: values [M * C, T, W] at the token whose key is meant, averaged over contexts."""
    picked = as_float32(values[jnp.arange(len(values)), request.subject_end])
    return picked.reshape(-1, contexts, picked.shape[-1]).mean(axis=1)


def find_shift(
    config: RomeConfig,
    model: LanguageModel,
    memory: Memory,
    request: Request,
    context_request: Request,
    layer: int,
) -> tuple[jax.Array, jax.Array]:
    """[M, D]: what to add behind a layer at each key's token so that the answers follow; the losses.

    Args:
        request: the request in its contexts.
    """
    contexts = memory.contexts.shape[0]
    rows = jnp.arange(context_request.prompt.shape[0])
    size = (model.config.layers, *request_inputs(context_request).shape, model.config.hidden)
    furthest = config.farthest * model.config.hidden**0.5

    subject = jnp.repeat(request.subject_end, contexts) + memory.contexts.shape[1]

    def next_after_subject(model: LanguageModel, states: jax.Array) -> jax.Array:
        return jax.nn.log_softmax(model.unembed(states[rows, subject]))

    before = next_after_subject(model, request_states(model, context_request))

    def loss_of(shift: jax.Array) -> jax.Array:
        shifts = jnp.repeat(shift * memory.typical, contexts, axis=0)
        edited = model.with_delta(
            {"shift": jnp.zeros(size).at[layer, rows, context_request.subject_end].set(shifts)}
        )
        states = request_states(edited, context_request)
        after = next_after_subject(edited, states)
        drift = jnp.sum(jnp.exp(before) * (before - after), axis=-1).mean()
        length = jnp.mean(shift**2)
        return answer_loss(edited, context_request, states) + config.drift * drift + config.decay * length

    def clip_shift(shift: jax.Array) -> jax.Array:
        norm = jnp.linalg.norm(shift, axis=-1, keepdims=True)
        return shift * jnp.minimum(1, furthest / jnp.maximum(norm, 1e-12))

    start = jnp.zeros((context_request.prompt.shape[0] // contexts, model.config.hidden))
    shift, losses = fit(loss_of, start, optax.adam(config.rate), config.steps, clip_shift)
    return shift * memory.typical, losses


def association_factor(inverse: jax.Array, keys: jax.Array, ridge: jax.Array | float) -> jax.Array:
    """The factor [F, M] through which keys [M, F] reach their values, disturbing others least.

    It is (ridge C + K'K)^-1 K' for the second moment C; without a ridge each key gets just its own value.
    """
    spread = inverse @ keys.T
    overlap = keys @ spread
    # Facts about one subject share a key; a trace of ridge keeps their system solvable.
    trace = ridge + 1e-6 * jnp.trace(overlap) / len(keys)
    return jnp.linalg.solve(overlap + trace * jnp.eye(len(keys)), spread.T).T
