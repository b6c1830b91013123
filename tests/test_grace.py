"""grace: a lookup that changes the answer inside its balls and not one bit outside."""

import jax
import numpy as np
import pytest

from corpus.text.tokenizer import PAD
from lm.editors.grace import GraceConfig
from lm.editors.grace.method import Grace
from lm.editors.interface import CorpusSample, vocabulary_of
from tests.toys import (
    at,
    probability,
    random_model,
    read_inside,
    read_left_padded,
    requests_of,
    some_requests,
    some_text,
    spelt_world,
)

TINY_BALLS = Grace(GraceConfig(depth=0.5, radius=1e-3, rate=0.3, steps=25))


@pytest.fixture(scope="module")
def spelt(world):
    words = spelt_world(world)
    model = random_model(words.tokenizer.vocabulary)
    sample = CorpusSample(
        some_text(words, 8), some_requests(words, 1, seed=7), vocabulary_of(words.tokenizer)
    )
    state = TINY_BALLS.prepare(model, sample)
    return words, model, state, jax.jit(TINY_BALLS.edit)


def test_answers_of_several_tokens_change_and_nothing_else_does(spelt):
    words, model, state, edit = spelt
    graph = words.graph
    long = max(graph.objects, key=lambda o: len(words.tokenizer.entity(int(o))))
    assert len(words.tokenizer.entity(int(long))) > 1
    request = at(requests_of(words, np.array([0, 1]), np.array([long, graph.objects[0]]), per_request=2), 0)
    delta, _ = edit(model, state, request, jax.random.key(0))
    edited = model.with_delta(delta)
    before, after = probability(model, request), probability(edited, request)
    assert (after > 10 * before).all()
    # Every token of every answer has its entry, in one layer.
    radius = np.asarray(delta["codebook"].radius)
    assert (radius >= 0).sum(1).tolist() == [0, int((request.answer != PAD).sum()), 0]
    # Of prompts that were not edited not one bit changes.
    asked, others = {tuple(p[p != PAD]) for p in np.asarray(request.prompt)}, 0
    for seed in (3, 4, 5):
        for prompt in np.asarray(at(some_requests(words, 2, seed), 0).prompt):
            if tuple(prompt[prompt != PAD]) not in asked:
                np.testing.assert_array_equal(
                    read_left_padded(edited, prompt[None]), read_left_padded(model, prompt[None])
                )
                others += 1
    assert others > 3


@pytest.mark.slow
def test_inside_a_ball_an_mlp_returns_the_value_that_was_stored(spelt):
    words, model, state, edit = spelt
    request = at(requests_of(words, np.array([3]), words.graph.objects[2:3]), 0)
    delta, _ = edit(model, state, request, jax.random.key(0))
    written = read_inside(model.with_delta(delta), request.prompt).mlp_outputs
    np.testing.assert_array_equal(written[1, 0, -1], delta["codebook"].values[1, 0])
    unedited = read_inside(model, request.prompt).mlp_outputs
    assert (np.asarray(written[1, 0, :-1]) == unedited[1, 0, :-1]).all()


@pytest.mark.slow
def test_the_same_question_can_be_answered_anew(spelt):
    """Both entries have one key; the later edit counts, and begins where the first one ended."""
    words, model, state, edit = spelt
    fact = np.array([5])
    first, second = (at(requests_of(words, fact, words.graph.objects[i : i + 1]), 0) for i in (0, 3))
    once = model.with_delta(edit(model, state, first, jax.random.key(0))[0])
    delta, info = edit(once, state, second, jax.random.key(0))
    twice = once.with_delta(delta)
    assert probability(twice, second) > 10 * probability(once, second)
    assert probability(twice, first) < probability(once, first)
    said = np.count_nonzero(second.answer)
    assert float(info.loss[0]) == pytest.approx(-np.log(probability(once, second)[0]) / said, rel=1e-3)


def test_the_radius_is_a_share_of_how_far_prompts_are_apart(spelt):
    words, model, state, _ = spelt
    prompts = np.unique(np.asarray(some_requests(words, 1, seed=7).prompt)[:, 0], axis=0)
    read = np.asarray(read_inside(model, prompts).mlp_inputs)[1, :, -1]
    apart = np.linalg.norm(read[:, None] - read[None], axis=-1) + np.diag([np.inf] * len(read))
    assert float(state["radius"]) == pytest.approx(1e-3 * np.median(apart.min(1)), rel=1e-3)
