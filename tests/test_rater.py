"""A rater that learns from noisy labels: noise as wanted, features read words alone, order of editors."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.measures.corrections import WRONG
from experiments.measures.noisy_rater import (
    CLAIMS,
    PENALTIES,
    Examples,
    change_labels,
    commonest_words,
    compare_ratings,
    fit_classifier,
    noise_of_agreement,
    rate_penalties,
    read_features,
    split_examples,
)


def krippendorff(one, other):
    """Alpha of two raters by its definition: pairs of labels of one unit against pairs of any two labels."""
    values = np.concatenate([one, other])
    counts = np.bincount(values)
    n = len(values)
    expected = 1 - sum(c * (c - 1) for c in counts) / (n * (n - 1))
    return 1 - np.mean(one != other) / expected


@given(st.lists(st.integers(1, 50), min_size=3, max_size=3), st.floats(0.2, 0.95), st.integers(0, 2**32 - 1))
def test_two_raters_agree_as_wanted(counts, alpha, seed):
    labels = np.repeat(np.arange(3), np.array(counts) * 40_000 // sum(counts) + 1)
    noise = noise_of_agreement(np.bincount(labels) / len(labels), alpha)
    rng = np.random.default_rng(seed)
    one, other = change_labels(labels, noise, rng), change_labels(labels, noise, rng)
    # Rare labels make alpha vary more.
    assert krippendorff(one, other) == pytest.approx(alpha, abs=0.05 / np.sqrt(min(counts) / max(counts)))


def language(rng, size=600):
    """Passages of two sentences: one about the weather, one about where somebody lives."""
    passages, claims, labels = [], [], []
    for _ in range(size):
        subject, town, other = (
            f"ann{rng.integers(10)}",
            f"town{rng.integers(10)}",
            f"town{10 + rng.integers(10)}",
        )
        label = int(rng.integers(3))
        said = {0: f"{subject} lives in {other}", 1: f"bob lives in {town}", 2: f"{subject} lives in {town}"}[
            label
        ]
        passages.append(["the sun shines", said])
        claims.append(f"{subject} lives in {town}")
        labels.append(label)
    zeros = np.zeros(size, int)
    return Examples(passages, claims, np.array(labels), zeros, zeros, np.arange(size))


def test_a_classifier_learns_a_plain_language_and_sees_through_noise():
    rng = np.random.default_rng(0)
    known, new = language(rng), language(rng)
    words = commonest_words(known)
    noisy = change_labels(known.label, 0.2, rng)
    classify = fit_classifier(read_features(known, words), noisy, 1e-3)
    rating = classify(read_features(new, words))
    assert np.mean(rating == new.label) > np.mean(noisy == known.label)
    # Which of two words differs, it cannot tell: whose town it is, or which.
    assert np.mean(rating[new.label == 2] == 2) > 0.98


def test_an_empty_passage_has_no_features():
    one = np.zeros(1, int)
    assert not read_features(Examples([[]], ["a b c"], one, one, one, one), {}).any()


def examples_of(labels):
    """Two editors, each with as many passages of each kind of claim."""
    rows = [(e, k, label) for (e, of), k in product(enumerate(labels), range(len(CLAIMS))) for label in of]
    editor, kind, label = np.array(rows).T
    return Examples([[]] * len(rows), [""] * len(rows), label, editor, kind, np.zeros(len(rows), int))


def test_errors_of_the_order():
    examples = examples_of([[2, 2, 0, 0], [2, 0, 0, 0]])
    right = compare_ratings(examples, examples.label)
    np.testing.assert_array_equal(right.errors, [1, 0, 0, 0])
    np.testing.assert_array_equal(right.shares, [[0.5] * 5, [0.25] * 5])
    swapped = compare_ratings(examples, np.where(examples.editor == 0, 0, 2))
    np.testing.assert_array_equal(swapped.errors, [(2 + 1) / 8, 1, 1, 0.75])
    constant = compare_ratings(examples, np.zeros_like(examples.label))
    assert constant.errors[WRONG] == 0.5


def test_penalties_are_rated_on_edits_without_labels():
    examples = language(np.random.default_rng(1))
    right = rate_penalties(examples, 300, panels=2)
    assert [*right] == [*PENALTIES]
    learned, judged, seen, new = split_examples(examples, 300)
    assert learned.case.max() < 300 <= judged.case.min()
    assert (len(seen), len(new)) == (len(learned.label), len(judged.label))
    # With every label right the classifier does no worse than with a third of them wrong.
    best = max(right, key=lambda one: right[one])
    assert np.mean(fit_classifier(seen, learned.label, best)(new) == judged.label) >= right[best] - 0.02
