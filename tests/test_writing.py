"""Texts that a model writes: greedy as the limit of sampling, top-k and top-p against a twin, keys."""

from collections import Counter
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

from corpus.text.tokenizer import BOS, EOS, PAD, SEP
from lm.decoding import Sampling, _draw_token, generate, write
from lm.prompts import left_pad
from lm.scoring import text_log_probability
from tests import naive
from tests.toys import SMALL, random_model

VOCABULARY, LONGEST = 11, 12
OPENINGS = [np.array([BOS]), np.array([BOS, 5, 6]), np.array([BOS, 7, 8, 9, 10])]


@pytest.fixture(scope="module")
def model():
    return random_model(VOCABULARY, replace(SMALL, layers=1))


def sampling(rows, temperature, top_k=VOCABULARY, top_p=1.0):
    columns = ((temperature, "f4"), (top_k, "i4"), (top_p, "f4"), (LONGEST, "i4"))
    return Sampling(*(np.full(rows, x, t) for x, t in columns))


def written(model, openings, keys, how, width=5):
    return np.asarray(_written(model, left_pad(openings, width), keys, how))


@jax.jit
def _written(model, prompts, keys, how):
    return write(model, model.read_prompts(prompts), keys, how, LONGEST, VOCABULARY)


def greedy(model, opening):
    """The most probable text, each token by reading all before it anew."""
    said, text = list(opening), []
    while len(text) < LONGEST:
        best = int(np.argmax(naive.forward(model.config, model.params, np.array(said))[-1]))
        if best in (EOS, PAD):
            break
        said.append(best)
        text.append(best)
    return text + [PAD] * (LONGEST - len(text))


@pytest.mark.parametrize("temperature", [0.0, 1e-5])
def test_cold_texts_are_the_greedy_ones(model, temperature):
    keys = jax.random.split(jax.random.key(3), len(OPENINGS))
    texts = written(model, OPENINGS, keys, sampling(len(OPENINGS), temperature))
    np.testing.assert_array_equal(texts, [greedy(model, opening) for opening in OPENINGS])


def test_texts_go_on_behind_stops_and_end_with_the_document(model):
    """Nothing stands behind the end, and a text that is cut off has no end."""
    rows = 400
    texts = written(
        model, OPENINGS[:1] * rows, jax.random.split(jax.random.key(0), rows), sampling(rows, 1.0)
    )
    ended = texts == PAD
    np.testing.assert_array_equal(ended, np.maximum.accumulate(ended, axis=1))
    assert not (texts == EOS).any()
    assert any(SEP in row[:-1] and row[list(row).index(SEP) + 1] != PAD for row in texts)
    assert 0 < (~ended.any(axis=1)).sum() < rows


@settings(max_examples=30)
@given(
    st.integers(0, 2**31 - 1),
    st.sampled_from([0.0, 0.3, 0.9, 1.0, 2.5]),
    st.integers(1, VOCABULARY),
    st.sampled_from([1e-3, 0.3, 0.8, 0.95, 1.0]),
)
def test_tokens_are_drawn_as_their_twin_says(seed, temperature, top_k, top_p):
    """The support exactly, and frequencies of two thousand draws."""
    rng = np.random.default_rng(seed)
    logits, draws = (rng.normal(size=VOCABULARY) * 2).astype("f4"), 2000
    p = naive.sampling_distribution(logits, temperature, top_k, top_p)
    how = Sampling(jnp.float32(temperature), jnp.int32(top_k), jnp.float32(top_p), jnp.int32(LONGEST))
    keys = jax.random.split(jax.random.key(seed), draws)
    counts = np.bincount(_many(jnp.asarray(logits), keys, how), minlength=VOCABULARY)
    assert not counts[p == 0].any()
    often = p * draws > 5
    observed, expected = np.append(counts[often], counts[~often].sum()), np.append(p[often], p[~often].sum())
    if expected[-1] == 0:
        observed, expected = observed[:-1], expected[:-1]
    assert len(observed) == 1 or chisquare(observed, expected * draws).pvalue > 1e-6


@jax.jit
def _many(logits, keys, how):
    return jax.vmap(_draw_token, in_axes=(None, 0, None, None, None))(logits, keys, how, 4, VOCABULARY)


def test_the_same_key_writes_the_same_text_whatever_stands_beside_it(model):
    """Alone, among others in any order, in a wider room, and under other rules beside it."""
    keys = jax.random.split(jax.random.key(1), 8)
    openings = [OPENINGS[i % 3] for i in range(8)]
    together = written(model, openings, keys, sampling(8, 0.9, 6, 0.95))
    assert len({tuple(row) for row in together}) > 4
    order = np.random.default_rng(0).permutation(8)
    shuffled = written(model, [openings[i] for i in order], keys[order], sampling(8, 0.9, 6, 0.95), width=9)
    np.testing.assert_array_equal(shuffled, together[order])
    for i in range(8):
        alone = written(model, [openings[i]], keys[i : i + 1], sampling(1, 0.9, 6, 0.95))
        np.testing.assert_array_equal(alone[0], together[i])
    columns = ((0.9, 0.0, "f4"), (6, 3, "i4"), (0.95, 1.0, "f4"), (LONGEST, 4, "i4"))
    how = Sampling(*(np.array([mine, other] * 4, kind) for mine, other, kind in columns))
    mixed = written(model, openings, keys, how)
    np.testing.assert_array_equal(mixed[::2], together[::2])
    assert (mixed[1::2, :4] != PAD).any(axis=0).all()
    assert (mixed[1::2, 4:] == PAD).all()


def test_the_probability_of_a_text_is_that_of_its_tokens(model):
    """Token by token, its end included; and whatever it was written by."""
    keys = jax.random.split(jax.random.key(5), 6)
    texts = written(model, OPENINGS * 2, keys, sampling(6, 1.0))
    log_probabilities = jax.jit(text_log_probability)(
        model, left_pad(OPENINGS * 2, 6), texts, np.full(6, LONGEST)
    )
    assert len({(row != PAD).sum() for row in texts}) > 2
    for log_p, opening, text in zip(np.asarray(log_probabilities), OPENINGS * 2, texts.tolist(), strict=True):
        said = [*text[: text.index(PAD)], EOS] if PAD in text else text
        p = naive.probabilities(naive.forward(model.config, model.params, np.append(opening, said)))
        wanted = np.log(p[np.arange(len(said)) + len(opening) - 1, said]).sum()
        np.testing.assert_allclose(log_p, wanted, rtol=1e-4)


def test_the_first_sentence_is_distributed_as_generated_ones(model):
    rows, longest = 3000, 3

    @jax.jit
    def both(model, prompts, keys, how):
        context = model.read_prompts(prompts)
        texts = write(model, context, keys, how, longest, VOCABULARY)
        return texts, generate(model, context, longest, jax.random.key(7))

    keys = jax.random.split(jax.random.key(2), rows)
    texts, sentences = both(model, np.tile(OPENINGS[1], (rows, 1)), keys, sampling(rows, 1.0))
    mine, other = (Counter(map(_first, np.asarray(x).tolist())) for x in (texts, sentences))
    common = [text for text in mine | other if min(mine[text], other[text]) > 5]
    table = np.array([[x[text] for text in common] for x in (mine, other)])
    table = np.column_stack([table, rows - table.sum(axis=1)])
    assert len(common) > 10
    assert chi2_contingency(table).pvalue > 1e-6


def _first(row):
    """What stands before the first ending, a padding token that was drawn included."""
    ends = [i for i, token in enumerate(row) if token in (SEP, PAD)]
    return tuple(row[: ends[0]]) if ends else tuple(row)


LAST = (6, 7)


@jax.jit
def _begun_and_whole(model, prompts, key):
    context = model.read_prompts(prompts)
    return [
        [generate(model, context, longest, key, last) for longest in (1, 2, LONGEST)] for last in (LAST, ())
    ]


@settings(max_examples=30)
@given(st.integers(0, 2**31 - 1))
def test_answers_begin_alike_however_long_and_wherever_nobody_reads_on(model, seed):
    """One or two tokens are said without a loop; behind the last tokens nothing stands."""
    prompts = left_pad(OPENINGS * 20, 5)
    cut, whole = jax.device_get(_begun_and_whole(model, prompts, jax.random.key(seed)))
    for tokens in whole:
        np.testing.assert_array_equal(tokens, whole[-1][:, : tokens.shape[1]])
    is_behind = np.cumsum(np.isin(whole[-1], LAST), axis=1) > np.isin(whole[-1], LAST)
    for tokens in cut:
        expected = np.where(is_behind, PAD, whole[-1])[:, : tokens.shape[1]]
        np.testing.assert_array_equal(tokens, expected)
    assert is_behind.any()
