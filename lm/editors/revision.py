"""What editors that revise beliefs share: answers a model should give, and an adapter fitted to them.

A *cell* is a prompt and a target for what follows: with probability `share` one of C named objects,
distributed as `target`; else whatever the model would have said. A share of 0 is an anchor, of 1 an order.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from corpus.tokenizer import PAD
from lm.attention import left_padded
from lm.delta import Delta, LowRank
from lm.editors.config import FitConfig
from lm.editors.interface import Info
from lm.editors.lora import start_low_rank
from lm.language_model import LanguageModel

_TINY = 1e-9


class Cells(NamedTuple):
    """Q prompts and what should follow them.

    Attributes:
        prompts: int32[Q, P], padded on the left; padding inside a prompt is skipped too.
        share: float32[Q], probability that it is one of the named objects.
        objects: int32[Q, C, A], names with their endings, padded on the right.
        target: float32[Q, C], a distribution over them.
        weight: float32[Q], of this cell in the loss.
    """

    prompts: jax.Array
    share: jax.Array
    objects: jax.Array
    target: jax.Array
    weight: jax.Array


def anchors(prompts: jax.Array, weight: jax.Array | float) -> Cells:
    """Cells that are to stay as they are."""
    n = len(prompts)
    nothing = jnp.full((n, 1, 1), PAD, jnp.int32)
    return Cells(
        prompts, jnp.zeros(n), nothing, jnp.zeros((n, 1)), jnp.broadcast_to(jnp.float32(weight), (n,))
    )


def side_by_side(*parts: jax.Array) -> jax.Array:
    """Token rows one after another; parts of one row are repeated. What is padded stays padded."""
    rows = max(len(part) for part in parts)
    return jnp.concatenate([jnp.broadcast_to(part, (rows, part.shape[1])) for part in parts], axis=1)


def revise(
    model: LanguageModel, groups: list[tuple[Cells, int]], config: FitConfig, key: jax.Array
) -> tuple[Delta, Info]:
    """A low-rank adapter with which the model gives the answers of all cells.

    Fitted by Adam until no cell with a share is further from its target than `tolerance`, in nats, or for
    `steps` steps. Groups of cells may have different shapes.

    Args:
        groups: cells, and how many of them every step draws; 0 takes all.

    Returns:
        The delta; the report, whose losses are 0 for steps that were not needed.
    """
    start_key, step_key = jax.random.split(key)
    asked = [Asked(cells, _next(model, cells.prompts)) for cells, _ in groups]
    scale = config.alpha / config.rank

    def delta_of(adapters: Delta) -> Delta:
        return {name: LowRank(a, b * scale) for name, (a, b) in adapters.items()}

    def loss_of(adapters: Delta, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        edited, total, farthest = model.edited(delta_of(adapters)), jnp.zeros(()), jnp.zeros(())
        keys = jax.random.split(key, len(groups))
        for one, (_, drawn), own in zip(asked, groups, keys, strict=True):
            now = one.some(own, drawn) if 0 < drawn < len(one.before) else one
            far = _divergence(edited, now)
            total += jnp.vdot(far, now.cells.weight)
            told = now.cells.share * now.cells.weight > 0
            farthest = jnp.maximum(farthest, jnp.max(jnp.where(told, far, 0.0)))
        return total, farthest

    rule = optax.chain(optax.clip_by_global_norm(config.clip), optax.adam(config.learning_rate))

    def unfinished(carry: tuple) -> jax.Array:
        step, farthest = carry[0], carry[1]
        return (step < config.steps) & (farthest > config.tolerance)

    def step_of(carry: tuple) -> tuple:
        step, _, adapters, moments, losses = carry
        (loss, farthest), gradient = jax.value_and_grad(loss_of, has_aux=True)(
            adapters, jax.random.fold_in(step_key, step)
        )
        update, moments = rule.update(gradient, moments, adapters)
        moved = optax.apply_updates(adapters, update)
        # What is near enough already is not moved.
        kept = jax.tree.map(
            lambda new, old: jnp.where(farthest > config.tolerance, new, old), moved, adapters
        )
        return step + 1, farthest, kept, moments, losses.at[step].set(loss)

    start = start_low_rank(model.config, config.matrices, config.rank, start_key)
    first = (jnp.int32(0), jnp.float32(jnp.inf), start, rule.init(start), jnp.zeros(config.steps))
    steps, _, adapters, _, losses = jax.lax.while_loop(unfinished, step_of, first)
    tokens = jnp.stack([(cells.prompts != PAD).sum() for cells, _ in groups])
    drawn = jnp.array([min(n, len(cells.weight)) / len(cells.weight) if n else 1.0 for cells, n in groups])
    seen = (steps * (tokens * drawn).sum()).astype(jnp.int32)
    return delta_of(adapters), Info(losses, steps, seen + tokens.sum(dtype=jnp.int32), seen)


class Asked(NamedTuple):
    """Cells and log-probabilities float32[Q, V] of what the model says next before the edit."""

    cells: Cells
    before: jax.Array

    def some(self, key: jax.Array, count: int) -> "Asked":
        """`count` of them, drawn at random, that weigh as much as all."""
        size = len(self.before)
        cells, before = jax.tree.map(lambda x: x[jax.random.randint(key, (count,), 0, size)], self)
        return Asked(cells._replace(weight=cells.weight * (size / count)), before)


def _next(model: LanguageModel, prompts: jax.Array) -> jax.Array:
    hidden, _ = model.hidden_states(prompts, left_padded(prompts))
    return jax.nn.log_softmax(model.unembed(hidden[:, -1]))


def _divergence(model: LanguageModel, asked: Asked) -> jax.Array:
    """float32[Q]: nats from the target to what the model says; see `Cells`.

    The first token of what follows is compared with the mixture; the rest of the most probable object's name,
    ending included, is asked for by the object's own part.
    """
    cells, before = asked
    named = cells.target * (cells.objects[..., 0] != PAD)
    wanted = (1 - cells.share[:, None]) * jnp.exp(before)
    rows = jnp.arange(len(wanted))[:, None]
    wanted = wanted.at[rows, cells.objects[..., 0]].add(cells.share[:, None] * named)
    wanted /= jnp.maximum(wanted.sum(axis=1, keepdims=True), _TINY)
    if cells.objects.shape[2] == 1:
        said = _next(model, cells.prompts)
        return _relative_entropy(wanted, said)
    width = cells.prompts.shape[1]
    best = jnp.take_along_axis(cells.objects, cells.target.argmax(axis=1)[:, None, None], axis=1)[:, 0]
    tokens = jnp.concatenate([cells.prompts, best[:, :-1]], axis=1)
    hidden, _ = model.hidden_states(tokens, left_padded(tokens))
    said = jax.nn.log_softmax(model.unembed(hidden[:, width - 1 :]))
    rest = jnp.take_along_axis(said[:, 1:], best[:, 1:, None], axis=2)[..., 0]
    missing = -jnp.sum(rest, axis=1, where=best[:, 1:] != PAD)
    return _relative_entropy(wanted, said[:, 0]) + cells.share * cells.target.max(axis=1) * missing


def _relative_entropy(wanted: jax.Array, said: jax.Array) -> jax.Array:
    return jnp.sum(wanted * (jnp.log(jnp.maximum(wanted, _TINY)) - said), axis=1)
