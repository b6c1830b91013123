"""An adapter fitted to answers: the model gives them, stops when it does, and the rest stays."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from corpus.text.tokenizer import PAD
from lm.editors.asking import side_by_side, stem_of, strip_ending
from lm.editors.self_bayes import FitConfig
from lm.editors.self_bayes.revision import (
    Goal,
    Targets,
    Task,
    fit_goals,
    make_anchors,
    make_goal,
)
from tests.toys import at, probability, random_model, say_next, some_requests, spelt_world

FIT = FitConfig(matrices=("query", "down"), learning_rate=0.01, steps=300, tolerance=0.05)


@pytest.fixture(scope="module")
def asked(toy):
    """Targets: one told an object with a share of a half, one with a share of 1, one that is to stay."""
    request = at(toy.batch, slice(3))
    prompts, answers = request.prompt[:, 0], request.answer[:, 0]
    share, weight = np.float32([0.5, 1.0, 0.0]), np.float32([1.0, 1.0, 8.0])
    targets = Targets(prompts, share, answers[:, None], np.ones((3, 1), np.float32), weight)
    return toy.model, request, jax.tree.map(jnp.asarray, targets)


@pytest.fixture(scope="module")
def spelt(world):
    """A model of names of several tokens, and requests."""
    words = spelt_world(world)
    return words, random_model(words.tokenizer.vocabulary), some_requests(words, 2)


def test_the_model_gives_the_answers(asked):
    model, request, targets = asked
    delta, _ = jax.jit(lambda: fit_goals(model, [Task(make_goal(model, targets))], FIT, jax.random.key(0)))()
    edited = model.with_delta(delta)
    before, after = (np.exp(say_next(m, targets.prompts)) for m in (model, edited))
    first = targets.objects[:, 0, 0]
    # Told with a half: the other half of what is said is what was said before.
    wanted = 0.5 * before[0] + 0.5 * np.eye(before.shape[1])[first[0]]
    assert 0.5 * np.abs(after[0] - wanted).sum() < 0.2 < 0.5 * np.abs(before[0] - wanted).sum()
    assert 0.4 < after[0, first[0]] < 0.6
    assert probability(edited, at(request, 1))[0] > 0.8
    assert 0.5 * np.abs(after[2] - before[2]).sum() < 0.1


def test_what_goes_through_the_model_is_counted(asked):
    """By hand: prompts of three tokens, and the object of the one token that is predicted behind them."""
    model, _, targets = asked
    short = FitConfig(matrices=("down",), steps=2, tolerance=1e-6)
    _, info = jax.jit(
        lambda: fit_goals(model, [Task(make_goal(model, targets))], short, jax.random.key(0), 5)
    )()
    assert (int(info.steps), int(info.backward), int(info.forward)) == (2, 2 * 3 * 4, 2 * 3 * 4 + 5)
    _, info = jax.jit(
        lambda: fit_goals(model, [Task(make_goal(model, targets), 2)], short, jax.random.key(0))
    )()
    assert int(info.backward) == 2 * 2 * 4


@pytest.mark.slow
def test_it_stops_once_it_is_near_enough(asked):
    """And says how many steps that took; a lower tolerance takes more of them."""
    model, _, targets = asked
    taken = []
    for tolerance in (2.0, 1.0):
        near = replace(FIT, tolerance=tolerance)
        _, info = jax.jit(
            lambda c=near: fit_goals(model, [Task(make_goal(model, targets))], c, jax.random.key(0))
        )()
        taken.append(int(info.steps))
        assert (np.asarray(info.loss[: taken[-1]]) > 0).all()
        assert not np.asarray(info.loss[taken[-1] :]).any()
    assert 1 < taken[0] < taken[1] < FIT.steps


def test_what_is_near_enough_is_left_alone(asked):
    model, _, targets = asked
    stays = make_anchors(targets.prompts, 1.0)
    delta, info = jax.jit(
        lambda: fit_goals(model, [Task(make_goal(model, stays), 2)], FIT, jax.random.key(0))
    )()
    assert info.steps == 1
    assert not any(np.asarray(factors.b).any() for factors in delta.values())


@pytest.mark.slow
def test_a_teacher_may_say_the_rest(asked):
    """The rest of the probability is whatever a goal says it is."""
    model, _, targets = asked
    teacher = jnp.roll(say_next(model, targets.prompts), 1, axis=0)
    told = Goal(make_anchors(targets.prompts, 1.0), teacher, jnp.ones(3, bool))
    delta, _ = jax.jit(lambda: fit_goals(model, [Task(told)], FIT, jax.random.key(0)))()
    after = say_next(model.with_delta(delta), targets.prompts)
    assert 0.5 * np.abs(np.exp(after) - np.exp(teacher)).sum(axis=1).max() < 0.15


def test_padding_inside_a_prompt_is_skipped(spelt):
    _, model, request = spelt
    one = at(at(request, 0), 0)
    apart = side_by_side(
        stem_of(one), np.zeros((1, 3), np.int32), strip_ending(one.answer[None]), stem_of(one)
    )
    packed = np.asarray(apart)[apart != PAD][None]
    np.testing.assert_allclose(say_next(model, apart), say_next(model, packed), atol=1e-4)


def test_a_stem_is_the_subject(spelt):
    words, _, request = spelt
    for i in range(3):
        one = at(at(request, i), 0)
        stem = np.asarray(stem_of(one))[0]
        said = words.tokenizer.decode(stem[stem != PAD])
        whole = words.tokenizer.decode(one.prompt[one.prompt != PAD])
        assert said in words.graph.entities
        assert whole.startswith(said)
