"""What editors that revise beliefs share: answers a model should give, and an adapter fitted to them.

A *target* says what should follow a prompt: with probability `share` one of C named objects, each as probable
as `probability` says; else whatever the model would have said. A share of 0 is an anchor, of 1 an order.
"""

from collections.abc import Callable
from itertools import cycle
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from corpus.text.tokenizer import PAD
from lm.attention import Array, left_padded_layout
from lm.delta import Delta, LowRank
from lm.editors.fitting import request_loss
from lm.editors.interface import Info, Request
from lm.editors.lora.method import start_low_rank
from lm.editors.self_bayes import FitConfig
from lm.language_model import LanguageModel

_TINY = 1e-9


class Targets(NamedTuple):
    """Q prompts and what should follow them.

    Attributes:
        prompts: int32[Q, P], padded on the left; padding inside a prompt is skipped too.
        share: float32[Q], probability that it is one of the named objects.
        objects: int32[Q, C, A], names with their endings, padded on the right.
        probability: float32[Q, C], of each object if it is one of them.
        weight: float32[Q], of this target in the loss.
    """

    prompts: jax.Array
    share: jax.Array
    objects: jax.Array
    probability: jax.Array
    weight: jax.Array


def make_anchors(prompts: jax.Array, weight: jax.Array | float) -> Targets:
    """Targets that are to stay as they are."""
    n = len(prompts)
    nothing = jnp.full((n, 1, 1), PAD, jnp.int32)
    return Targets(
        prompts, jnp.zeros(n), nothing, jnp.zeros((n, 1)), jnp.broadcast_to(jnp.float32(weight), (n,))
    )


class Goal(NamedTuple):
    """What the model should say to Q prompts.

    Attributes:
        targets: the prompts, and what is asked for with a share of the probability.
        otherwise: float32[Q, V], log-probabilities of the next token with the rest of it.
        changes: bool[Q], whether this is an answer that should change; what should not may drift a little.
    """

    targets: Targets
    otherwise: jax.Array
    changes: jax.Array

    def draw_targets(self, key: jax.Array, count: int) -> "Goal":
        """`count` of them, drawn at random, that weigh as much as all."""
        size = len(self.changes)
        which = jax.random.randint(key, (count,), 0, size)
        sample = jax.tree.map(lambda x: x[which], self)
        return sample._replace(targets=sample.targets._replace(weight=sample.targets.weight * (size / count)))


def count_tokens(*prompts: Array) -> jax.Array:
    """int32[]: how many tokens some prompts have."""
    return jnp.stack([(jnp.asarray(x) != PAD).sum(dtype=jnp.int32) for x in prompts]).sum(dtype=jnp.int32)


class RequestBelief(NamedTuple):
    """What a model should believe of one fact of a request.

    Attributes:
        belief: float32[], the request's credence, or what the model believes already if that is more.
        request_share: float32[], the share of the request in it, the rest being what the model says now. By
        Jeffrey's     rule the same share of what the request implies is added to what depends on it.
    """

    belief: jax.Array
    request_share: jax.Array


def request_belief(model: LanguageModel, request: Request) -> RequestBelief:
    """What should be believed of one fact of a request, which is without leading axis."""
    tokens = jnp.sum(jnp.asarray(request.answer) != PAD)
    model_belief = jnp.exp(-tokens * request_loss(model, Request(*(jnp.asarray(x)[None] for x in request))))
    belief = jnp.maximum(request.credence, model_belief)
    return RequestBelief(belief, (belief - model_belief) / jnp.maximum(1 - model_belief, _TINY))


def make_goal(model: LanguageModel, targets: Targets) -> Goal:
    """Targets whose rest is what the model says now."""
    return Goal(targets, next_log_probabilities(model, targets.prompts), targets.share * targets.weight > 0)


def revise_facts(
    model: LanguageModel,
    request: Request,
    targets_of: Callable[[Request, jax.Array], list[Targets]],
    at_once: int,
    config: FitConfig,
    key: jax.Array,
    tokens_read: jax.Array,
) -> tuple[Delta, Info]:
    """`fit_goals` for a request of one or several facts.

    Args:
        targets_of: what the model should say after one fact, given a key, in groups of one shape.
        at_once: of every second group so many targets are drawn for every step; of the others all are taken.
        tokens_read: tokens that were read before those of the targets.
    """
    start, *keys = jax.random.split(key, 1 + len(request.prompt))
    facts = [Request(*(x[i] for x in request)) for i in range(len(request.prompt))]
    fact_targets = [targets_of(fact, own) for fact, own in zip(facts, keys, strict=True)]
    groups = [jax.tree.map(lambda *x: jnp.concatenate(x), *same) for same in zip(*fact_targets, strict=True)]
    goals = [
        (make_goal(model, targets), few) for targets, few in zip(groups, cycle((0, at_once)), strict=False)
    ]
    return fit_goals(
        model, goals, config, start, tokens_read + count_tokens(*(targets.prompts for targets in groups))
    )


def fit_goals(
    model: LanguageModel,
    goals: list[tuple[Goal, int]],
    config: FitConfig,
    key: jax.Array,
    tokens_read: int | jax.Array = 0,
) -> tuple[Delta, Info]:
    """A low-rank adapter with which the model says what it should.

    Fitted by Adam until no answer that should change is further from its target than `tolerance`, in nats, or
    for `steps` steps. Goals may have different shapes.

    Args:
        goals: each with how many of its targets every step draws; 0 takes all.
        tokens_read: tokens that were read to find them.

    Returns:
        The delta; the report, whose losses are 0 for steps that were not needed.
    """
    start_key, step_key = jax.random.split(key)
    scale = config.alpha / config.rank

    def delta_of(adapters: Delta) -> Delta:
        return {name: LowRank(a, b * scale) for name, (a, b) in adapters.items()}

    def loss_of(adapters: Delta, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        edited, total, farthest = model.with_delta(delta_of(adapters)), jnp.zeros(()), jnp.zeros(())
        keys = jax.random.split(key, len(goals))
        for (whole, few), own in zip(goals, keys, strict=True):
            now = whole.draw_targets(own, few) if 0 < few < len(whole.changes) else whole
            far = _target_divergence(edited, now)
            total += jnp.vdot(far, now.targets.weight)
            farthest = jnp.maximum(farthest, jnp.max(jnp.where(now.changes, far, 0.0)))
        return total, farthest

    rule = optax.chain(optax.clip_by_global_norm(config.clip), optax.adam(config.learning_rate))

    def is_unfinished(carry: tuple) -> jax.Array:
        step, farthest = carry[0], carry[1]
        return (step < config.steps) & (farthest > config.tolerance)

    def step_of(carry: tuple) -> tuple:
        step, _, adapters, moments, losses = carry
        (loss, farthest), gradient = jax.value_and_grad(loss_of, has_aux=True)(
            adapters, jax.random.fold_in(step_key, step)
        )
        update, moments = rule.update(gradient, moments, adapters)
        stepped_adapters = optax.apply_updates(adapters, update)
        # What is near enough already is not moved.
        new_adapters = jax.tree.map(
            lambda new, old: jnp.where(farthest > config.tolerance, new, old), stepped_adapters, adapters
        )
        return step + 1, farthest, new_adapters, moments, losses.at[step].set(loss)

    start = start_low_rank(model.config, config.matrices, config.rank, start_key)
    start_carry = (jnp.int32(0), jnp.asarray(jnp.inf), start, rule.init(start), jnp.zeros(config.steps))
    steps, _, adapters, _, losses = jax.lax.while_loop(is_unfinished, step_of, start_carry)
    # Of goals that are drawn from, the average counts.
    a_step = sum(_target_lengths(whole.targets).mean() * (few or len(whole.changes)) for whole, few in goals)
    tokens_seen = (steps * jnp.round(a_step)).astype(jnp.int32)
    return delta_of(adapters), Info(
        losses, steps, tokens_seen + jnp.asarray(tokens_read, jnp.int32), tokens_seen
    )


def next_log_probabilities(model: LanguageModel, prompts: jax.Array) -> jax.Array:
    """Log-probabilities float32[B, V] of the next token after prompts padded on the left."""
    hidden, _ = model.hidden_states(prompts, left_padded_layout(prompts))
    return jax.nn.log_softmax(model.unembed(hidden[:, -1]))


def _target_lengths(targets: Targets) -> jax.Array:
    """float[Q]: tokens that go through the model for each target."""
    return (targets.prompts != PAD).sum(axis=1) + (_best_objects(targets)[:, :-1] != PAD).sum(axis=1)


def _best_objects(targets: Targets) -> jax.Array:
    """int32[Q, A]: the most probable object of each target."""
    return jnp.take_along_axis(targets.objects, targets.probability.argmax(axis=1)[:, None, None], axis=1)[
        :, 0
    ]


def _target_divergence(model: LanguageModel, goal: Goal) -> jax.Array:
    """float32[Q]: nats from the target to what the model says; see `Targets`.

    The first token of what follows is compared with the mixture; the rest of the most probable object's name,
    ending included, is asked for by the object's own part.
    """
    targets = goal.targets
    object_probability = targets.probability * (targets.objects[..., 0] != PAD)
    target_probability = (1 - targets.share[:, None]) * jnp.exp(goal.otherwise)
    rows = jnp.arange(len(target_probability))[:, None]
    target_probability = target_probability.at[rows, targets.objects[..., 0]].add(
        targets.share[:, None] * object_probability
    )
    target_probability /= jnp.maximum(target_probability.sum(axis=1, keepdims=True), _TINY)
    if targets.objects.shape[2] == 1:
        return _relative_entropy(target_probability, next_log_probabilities(model, targets.prompts))
    width = targets.prompts.shape[1]
    best_object = _best_objects(targets)
    tokens = jnp.concatenate([targets.prompts, best_object[:, :-1]], axis=1)
    hidden, _ = model.hidden_states(tokens, left_padded_layout(tokens))
    log_probability = jax.nn.log_softmax(model.unembed(hidden[:, width - 1 :]))
    name_log_probability = jnp.take_along_axis(log_probability[:, 1:], best_object[:, 1:, None], axis=2)[
        ..., 0
    ]
    name_nats = -jnp.sum(name_log_probability, axis=1, where=best_object[:, 1:] != PAD)
    return (
        _relative_entropy(target_probability, log_probability[:, 0])
        + targets.share * targets.probability.max(axis=1) * name_nats
    )


def _relative_entropy(target: jax.Array, log_probability: jax.Array) -> jax.Array:
    return jnp.sum(target * (jnp.log(jnp.maximum(target, _TINY)) - log_probability), axis=1)
