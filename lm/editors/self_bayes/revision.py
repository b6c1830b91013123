"""What editors that revise beliefs share: answers a model should give, and an edit fitted to them.

A *target* says what should follow a prompt: with probability `share` one of C named objects, each as probable
as `probability` says; else whatever the model would have said. A share of 0 is an anchor, of 1 an order.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from corpus.text.tokenizer import PAD
from lm.attention import Array, left_padded_layout
from lm.delta import Delta
from lm.editors.asking import pad_left_to
from lm.editors.fitting import clip_gradient, request_loss
from lm.editors.interface import Editor, Info, Request
from lm.editors.self_bayes import FitConfig
from lm.editors.self_bayes.storage import Subjects, open_storage, subjects_of
from lm.language_model import Context, LanguageModel

LAST_RATE = 0.1
"""Share of the learning rate that is left after a cosine."""
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


def truth_targets(sentences: Sequence[tuple[jax.Array, jax.Array, jax.Array]], truths: jax.Array) -> Targets:
    """Targets of sentences up to "is": (prompts, p(true), weight) each."""
    width = max(prompts.shape[1] for prompts, _, _ in sentences)
    prompts = jnp.concatenate([pad_left_to(prompts, width) for prompts, _, _ in sentences])
    true = jnp.concatenate([p for _, p, _ in sentences])
    return Targets(
        prompts,
        jnp.ones(len(true)),
        jnp.broadcast_to(truths[None, :, None], (len(true), 2, 1)),
        jnp.stack([true, 1 - true], axis=1),
        jnp.concatenate([weight for _, _, weight in sentences]),
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


class Group(NamedTuple):
    """Targets of one shape, and how they are read.

    Attributes:
        drawn: so many of them are drawn for every step; 0 takes all.
        of_subject: whether prompts go on from "<s> s" of the fact's subject, which is read once for all of
            them. None of these is drawn.
    """

    targets: Targets
    drawn: int = 0
    of_subject: bool = False


class Task(NamedTuple):
    """A goal, and how it is read, as its group says."""

    goal: Goal
    drawn: int = 0
    of_subject: bool = False


def make_goal(model: LanguageModel, targets: Targets, stems: Context | None = None) -> Goal:
    """Targets whose rest is what the model says now.

    Args:
        stems: what the prompts go on from, those of the first subject first, each of as many prompts.
    """
    now = _log_probabilities(model, targets.prompts, targets.prompts[:, :0], stems)[:, 0]
    return Goal(targets, now, targets.share * targets.weight > 0)


class FittedEditor(Editor):
    """An editor whose edit is a fit of answers, which may end early."""

    config: Any
    """Its hyper-parameters, those of the fit under `fit`."""

    @property
    def most_steps(self) -> int:
        """Turns that the loop of an edit takes at most."""
        return int(self.config.fit.steps)


def revise_facts(
    model: LanguageModel,
    request: Request,
    words: Array,
    groups_of: Callable[[Request, jax.Array], list[Group]],
    config: FitConfig,
    key: jax.Array,
    tokens_read: jax.Array,
) -> tuple[Delta, Info]:
    """`fit_goals` for a request of one or several facts.

    Args:
        words: int32[len(Word)], the words of the grammar.
        groups_of: what the model should say after one fact, given a key; the same groups for every fact.
        tokens_read: tokens that were read before those of the targets.
    """
    count = len(request.prompt)
    start, *keys = jax.random.split(key, 1 + count)
    facts = [Request(*(x[i] for x in request)) for i in range(count)]
    subjects = subjects_of(request, words)
    tasks, stems = [], None
    for same in zip(*(groups_of(fact, own) for fact, own in zip(facts, keys, strict=True)), strict=True):
        targets = jax.tree.map(lambda *x: jnp.concatenate(x), *(group.targets for group in same))
        _, drawn, of_subject = same[0]
        if of_subject and stems is None:
            stems = model.read_prompts(subjects.stems)
            tokens_read += count_tokens(subjects.stems)
        tasks.append(Task(make_goal(model, targets, stems if of_subject else None), drawn, of_subject))
    tokens_read += count_tokens(*(task.goal.targets.prompts for task in tasks))
    return fit_goals(model, tasks, config, start, tokens_read, subjects)


def fit_goals(
    model: LanguageModel,
    tasks: Sequence[Task],
    config: FitConfig,
    key: jax.Array,
    tokens_read: int | jax.Array = 0,
    subjects: Subjects | None = None,
) -> tuple[Delta, Info]:
    """An edit with which the model says what it should, stored as the configuration says.

    Fitted by Adam until no answer that should change is further from its target than `tolerance`, in nats, or
    for `steps` steps. Goals may have different shapes.

    Args:
        tokens_read: tokens that were read to find the goals.
        subjects: of the request, where the edit is stored there or prompts go on from their names.

    Returns:
        The delta; the report, whose losses are 0 for steps that were not needed.
    """
    start_key, step_key = jax.random.split(key)
    storage = open_storage(model.config, subjects, config, start_key)
    reads_stems = any(task.of_subject for task in tasks)

    def loss_of(stored: Any, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        edited, total, farthest = model.with_delta(storage.delta_of(stored)), jnp.zeros(()), jnp.zeros(())
        keys = jax.random.split(key, len(tasks))
        stems = edited.read_prompts(subjects.stems) if subjects and reads_stems else None
        for (whole, few, of_subject), own in zip(tasks, keys, strict=True):
            now = whole.draw_targets(own, few) if 0 < few < len(whole.changes) else whole
            far = _target_divergence(edited, now, stems if of_subject else None)
            total += jnp.vdot(far, now.targets.weight)
            farthest = jnp.maximum(farthest, jnp.max(jnp.where(now.changes, far, 0.0)))
        if config.decay:
            total += config.decay * sum(jnp.vdot(x, x) for x in jax.tree.leaves(stored))
        return total, farthest

    rate = config.learning_rate
    schedule = optax.cosine_decay_schedule(rate, config.steps, LAST_RATE) if config.cosine else rate
    rule = clip_gradient(optax.adam(schedule))

    def is_unfinished(carry: tuple) -> jax.Array:
        step, farthest = carry[0], carry[1]
        return (step < config.steps) & (farthest > config.tolerance)

    def step_of(carry: tuple) -> tuple:
        step, _, stored, moments, losses = carry
        (loss, farthest), gradient = jax.value_and_grad(loss_of, has_aux=True)(
            stored, jax.random.fold_in(step_key, step)
        )
        update, moments = rule.update(gradient, moments, stored)
        stepped = optax.apply_updates(stored, update)
        # What is near enough already is not moved.
        stored = jax.tree.map(
            lambda new, old: jnp.where(farthest > config.tolerance, new, old), stepped, stored
        )
        return step + 1, farthest, stored, moments, losses.at[step].set(loss)

    first = storage.start
    start_carry = (jnp.int32(0), jnp.asarray(jnp.inf), first, rule.init(first), jnp.zeros(config.steps))
    steps, _, stored, _, losses = jax.lax.while_loop(is_unfinished, step_of, start_carry)
    a_step = sum(map(_tokens_a_step, tasks)) + (
        count_tokens(subjects.stems) if subjects and reads_stems else 0
    )
    tokens_seen = (steps * jnp.round(a_step)).astype(jnp.int32)
    return storage.delta_of(stored), Info(
        losses, steps, tokens_seen + jnp.asarray(tokens_read, jnp.int32), tokens_seen
    )


def next_log_probabilities(model: LanguageModel, prompts: jax.Array) -> jax.Array:
    """Log-probabilities float32[B, V] of the next token after prompts padded on the left."""
    return _log_probabilities(model, prompts, prompts[:, :0])[:, 0]


def _log_probabilities(
    model: LanguageModel, prompts: jax.Array, behind: jax.Array, stems: Context | None = None
) -> jax.Array:
    """float32[Q, 1 + A, V]: of the next token after prompts, and after each of int32[Q, A] tokens behind.

    Args:
        stems: what was read before, each stem with as many of the prompts.
    """
    tokens = jnp.concatenate([prompts, behind], axis=1)
    layout, past = left_padded_layout(tokens), []
    if stems is not None:
        each = len(prompts) // len(stems.position)
        past = [stems.cache.repeat_rows(each)]
        begin = jnp.repeat(stems.position, each)[:, None]
        layout = layout._replace(positions=begin + layout.positions)
    hidden, _ = model.hidden_states(tokens, layout, past)
    return jax.nn.log_softmax(model.unembed(hidden[:, prompts.shape[1] - 1 :]))


def _tokens_a_step(task: Task) -> jax.Array:
    """float32[]: tokens of prompts and names that one step reads; of what is drawn, the average."""
    targets, size = task.goal.targets, len(task.goal.changes)
    every = count_tokens(targets.prompts, _best_objects(targets)[:, :-1])
    return every * ((task.drawn or size) / size)


def _best_objects(targets: Targets) -> jax.Array:
    """int32[Q, A]: the most probable object of each target."""
    return jnp.take_along_axis(targets.objects, targets.probability.argmax(axis=1)[:, None, None], axis=1)[
        :, 0
    ]


def _target_divergence(model: LanguageModel, goal: Goal, stems: Context | None = None) -> jax.Array:
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
    best_object = _best_objects(targets)
    log_probability = _log_probabilities(model, targets.prompts, best_object[:, :-1], stems)
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
