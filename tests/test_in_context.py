"""in-context: exactly the model that has read the sentence."""

import jax
import numpy as np
import pytest

from corpus.text.tokenizer import BOS, EOS, PAD
from lm.attention import left_padded_layout
from lm.editors.in_context import InContextConfig
from lm.editors.in_context.method import InContext
from lm.editors.interface import edit_once
from tests.toys import at, random_model, read_whole, some_requests, spelt_world

IMAGINE = np.int32(17)


@pytest.fixture(scope="module")
def spelt(world):
    words = spelt_world(world)
    return words, random_model(words.tokenizer.vocabulary)


def bare(row):
    row = np.asarray(row)
    return row[(row != PAD) & (row != BOS)]


def sentences(request):
    return np.concatenate(
        [bare(x) for pair in zip(request.prompt, request.answer, strict=True) for x in pair]
    )


@jax.jit
def read_prompts(model, prompts):
    return model.logits(prompts, left_padded_layout(prompts))[:, -1]


def edited(model, request, **config):
    editor = InContext(InContextConfig(**config))
    return model.with_delta(edit_once(editor, model, {"imagine": IMAGINE}, request, jax.random.key(0))[0])


@pytest.mark.parametrize(
    "config",
    [
        {"copies": 3},
        *(pytest.param(x, marks=pytest.mark.slow) for x in [{"copies": 1}, {"imagine": True, "copies": 3}]),
    ],
)
def test_logits_are_those_of_the_text_as_a_whole(config, spelt):
    """As in "<s> s r o . s r o . s' r'" and "<s> imagine s r o . s' r'"; two facts one after the other."""
    words, model = spelt
    request = at(some_requests(words, 2), 0)
    text = sentences(request)
    text = np.append(IMAGINE, text) if "imagine" in config else np.tile(text, config["copies"])
    prompts = np.concatenate([np.asarray(at(some_requests(words, 2, seed=3), i).prompt) for i in range(3)])
    assert len({len(bare(p)) for p in prompts}) > 1, "prompts of different lengths"
    got = read_prompts(edited(model, request, **config), prompts)
    for row, prompt in zip(got, prompts, strict=True):
        whole = np.concatenate([[BOS], text, bare(prompt)])[None]
        np.testing.assert_allclose(row, read_whole(model, whole)[0, -1], rtol=1e-3, atol=1e-4)


def test_a_second_edit_is_read_behind_the_first(spelt):
    words, model = spelt
    first, second = (at(some_requests(words, 1, seed=s), 0) for s in (1, 2))
    twice = edited(edited(model, first, copies=2), second, copies=1)
    text = [BOS], sentences(first), sentences(first), sentences(second)
    prompt = np.asarray(at(some_requests(words, 1, seed=3), 0).prompt)
    whole = np.concatenate([*text, bare(prompt[0])])[None]
    got = read_prompts(twice, prompt)[0]
    np.testing.assert_allclose(got, read_whole(model, whole)[0, -1], rtol=1e-3, atol=1e-4)


def test_a_closed_document_is_the_one_before(spelt):
    """As in "<s> s r o . s r o </s> <s> s' r'"."""
    words, model = spelt
    request = at(some_requests(words, 2), 0)
    text = np.tile(sentences(request), 2)
    text[-1] = EOS
    prompt = np.asarray(at(some_requests(words, 1, seed=3), 0).prompt)
    whole = np.concatenate([[BOS], text, [BOS], bare(prompt[0])])[None]
    got = read_prompts(edited(model, request, copies=2, closed=True), prompt)[0]
    # Read as one text: documents that are packed do not see each other.
    np.testing.assert_allclose(got, read_prompts(model, whole)[0], rtol=1e-3, atol=1e-4)
