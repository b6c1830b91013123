"""What counts as a right answer, and how much work a step is."""

import jax
import numpy as np
import pytest

from corpus.text.language import Kind
from corpus.text.tokenizer import BOS, Word
from lm.config import ModelConfig
from lm.flops import attainable_flops, flops_per_token
from lm.language_model import LanguageModel
from lm.loss import next_token_loss
from lm.model import parameter_shapes
from testbed.run.trainer import label_accuracy, sample_labelled
from tests.toys import random_model, read_whole

SHAPE = ModelConfig(hidden=12, mlp=10, layers=2, heads=3, kv_heads=3, head_width=4)


def test_labels_are_right_as_one_by_one(world):
    """With the head turned towards "true" and "false", so that both are said."""
    tokenizer = world.tokenizer
    params = random_model(tokenizer.vocabulary, SHAPE, 3, times=9).params
    words = np.array([tokenizer.word(Word.TRUE), tokenizer.word(Word.FALSE)])
    params["head"]["kernel"] = params["head"]["kernel"].at[:, words].multiply(20)
    model = LanguageModel(SHAPE, params)
    sample = sample_labelled(world, 40, np.random.default_rng(0))
    accuracy = label_accuracy(model, world, sample)
    assert set(accuracy) == {Kind.TRUTH, Kind.NOT, Kind.AND, Kind.OR}
    for kind, which in sample.items():
        assert len(set(which.tolist())) == len(which) <= 40
        right = 0
        for i in which:
            sentence = world.sentences[int(i)]
            assert sentence.kind == kind
            prompt = np.concatenate([[BOS], tokenizer.sentence(sentence)[:-1]])[None]
            said = int(np.argmax(read_whole(model, prompt)[0, -1]))
            truth = sentence.label
            if kind == Kind.TRUTH:
                fact = int(world.graph.find(*sentence.a[:2]))
                truth = world.generative.truth[fact] == sentence.a.object
            right += said == words[0 if truth else 1]
        assert accuracy[kind] == pytest.approx(right / len(which))
    assert 0 < np.mean(list(accuracy.values())) < 1


def test_work_is_what_the_compiler_counts():
    """XLA's own count of a step without attention's causal half, within what small operations add."""
    model = ModelConfig(hidden=64, mlp=128, layers=2, heads=2, kv_heads=1, head_width=32, unroll=2)
    vocabulary, rows = 320, np.full((3, 48), 7, np.int32)
    params = parameter_shapes(model, vocabulary)
    step = jax.jit(jax.grad(next_token_loss, argnums=1), static_argnums=(0, 3))
    counted = step.lower(model, params, rows, 10_000).cost_analysis()["flops"]
    assert flops_per_token(model, vocabulary, 48) * rows.size == pytest.approx(counted, rel=0.15)


def test_the_device_can_do_something():
    assert 1e8 < attainable_flops(SHAPE) < 1e17
