"""What editors that learn by gradient share: the loss of a request, and the loop."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
import optax

from corpus.text.tokenizer import PAD
from lm.attention import left_padded_layout
from lm.delta import Delta
from lm.editors.entry import Layers
from lm.editors.interface import Info, Request
from lm.language_model import LanguageModel
from lm.model import Activations

Parameters = TypeVar("Parameters")
CLIP = 1.0
"""Largest global norm of an edit's gradient."""


def request_inputs(request: Request) -> jax.Array:
    """int32[M, P + A - 1]: what the model reads; the last token of the answer is only predicted."""
    return jnp.concatenate([request.prompt, request.answer[:, :-1]], axis=1)


def as_float32(x: jax.Array) -> jax.Array:
    """What layers compute as float32, or as it is where it is wider."""
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


def request_states(model: LanguageModel, request: Request) -> jax.Array:
    """States [M, P + A - 1, D] after the final norm while the model reads prompts and answers."""
    tokens = request_inputs(request)
    return model.hidden_states(tokens, left_padded_layout(tokens))[0]


def request_activations(model: LanguageModel, request: Request) -> Activations:
    """What the layers compute while the model reads a request."""
    tokens = request_inputs(request)
    return model.activations(tokens, left_padded_layout(tokens))


def layer_at(depth: float, layers: int) -> int:
    """The layer at a share of the way from the first to the last."""
    return int(depth * (layers - 1) + 0.5)


def layer_mask(layers: Layers, count: int) -> jax.Array:
    """float32[count]: 1 for the layers that are meant."""
    third = -(-count // 3)
    index = jnp.arange(count)
    inside = {"all": index >= 0, "early": index < third, "late": index >= count - third}
    return inside[layers].astype(jnp.float32)


def answer_loss(model: LanguageModel, request: Request, states: jax.Array) -> jax.Array:
    """Nats of each fact's object and ending given its prompt: mean over their tokens, then over facts.

    Args:
        states: as `request_states` returns them.
    """
    return jnp.mean(answer_nats(model, request, states) / (request.answer != PAD).sum(axis=1))


def answer_nats(model: LanguageModel, request: Request, states: jax.Array) -> jax.Array:
    """float32[M]: -log p(object and ending | prompt) of each fact.

    Args:
        states: as `request_states` returns them.
    """
    # Only where the answer is predicted; a vocabulary is wide.
    logits = model.unembed(states[:, request.prompt.shape[1] - 1 :])
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, request.answer)
    return jnp.sum(losses, axis=1, where=request.answer != PAD)


def request_loss(model: LanguageModel, request: Request) -> jax.Array:
    """`answer_loss` of a request that the model has not read yet."""
    return answer_loss(model, request, request_states(model, request))


def fit(
    loss_of: Callable[..., jax.Array],
    start: Parameters,
    optimizer: optax.GradientTransformation,
    steps: int,
    project: Callable[[Parameters], Parameters] = lambda x: x,
    read: tuple[jax.Array, ...] = (),
) -> tuple[Parameters, jax.Array]:
    """`steps` steps of an optimiser, each followed by a projection; also the losses before each step.

    The optimiser lives inside the edit, so that clipping never couples edits under vmap.

    Args:
        loss_of: of what is learned, and of what the step reads.
        read: what steps read, each array with one entry a step.
    """

    def step(
        carry: tuple[Parameters, optax.OptState], now: tuple[jax.Array, ...]
    ) -> tuple[tuple[Parameters, optax.OptState], jax.Array]:
        learned, state = carry
        loss, gradient = jax.value_and_grad(loss_of)(learned, *now)
        update, state = optimizer.update(gradient, state, learned)
        return (project(optax.apply_updates(learned, update)), state), loss

    (learned, _), losses = jax.lax.scan(step, (start, optimizer.init(start)), read, steps)
    return learned, losses


def gradient_info(losses: jax.Array, request: Request, more: int | jax.Array = 0) -> Info:
    """The report of an edit that read and learned from its request in every step.

    Args:
        more: further tokens that were only read.
    """
    steps = jnp.int32(losses.shape[0])
    seen = steps * (request_inputs(request) != PAD).sum().astype(jnp.int32)
    return Info(losses, steps, seen + jnp.asarray(more, jnp.int32), seen)


def clip_gradient(rule: optax.GradientTransformation) -> optax.GradientTransformation:
    """An optimiser whose gradients have a global norm of CLIP at most."""
    return optax.chain(optax.clip_by_global_norm(CLIP), rule)


def learn_request(
    model: LanguageModel,
    request: Request,
    delta_of: Callable[[Parameters], Delta],
    start: Parameters,
    optimizer: optax.GradientTransformation,
    steps: int,
    project: Callable[[Parameters], Parameters] = lambda x: x,
    more: int | jax.Array = 0,
) -> tuple[Delta, Info]:
    """The edit that something learned is, after some steps on the request's negative log-likelihood.

    Args:
        delta_of: the edit that arrays such as `start` are.
        project: is done after each step.
        more: tokens that were read beside those of the steps.
    """

    def loss_of(learned: Parameters) -> jax.Array:
        return request_loss(model.with_delta(delta_of(learned)), request)

    learned, losses = fit(loss_of, start, optimizer, steps, project)
    return delta_of(learned), gradient_info(losses, request, more)
