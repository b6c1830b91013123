"""Answers that no model gives: an oracle that knows a whole model, greedy generation, and broken ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.file_exchange.contradictions import find_contradiction

NAMES = [(5,), (6,), (7, 8), (7, 9), (7, 9, 5), (6, 6, 6)]
TOKENS, LONGEST = range(4, 10), 4


def answer_by(model):
    """What a table of next tokens, {path: p[token]}, the end last, answers and generates."""
    begun = [np.prod([model(name[:i])[name[i] - 4] for i in range(len(name))]) for name in NAMES]
    ended = [p * model(name)[-1] for p, name in zip(begun, NAMES, strict=True)]
    spoken = ()
    while len(spoken) < LONGEST:
        token = int(model(spoken).argmax())
        if token == len(TOKENS):
            return ended, begun, spoken
        spoken = (*spoken, TOKENS[token])
    return ended, begun, spoken


@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.5, 5.0]), st.lists(st.integers(0, 5), unique=True))
def test_no_model_contradicts_itself(seed, evenness, which):
    """Whatever a model is, and whichever of its options are asked."""

    def model(path):
        rng = np.random.default_rng([seed, *path])
        return rng.dirichlet(np.full(len(TOKENS) + 1, evenness))

    ended, begun, spoken = answer_by(model)
    ended, begun = ([p[i] for i in which] for p in (ended, begun))
    names = [NAMES[i] for i in which]
    assert not find_contradiction(names, ended, begun, spoken)
    if spoken not in names:
        assert not find_contradiction(names, ended, begun, None)


ONE = [(5,), (6,), (7,)]


@pytest.mark.parametrize(
    ("ended", "begun", "spoken", "why"),
    [
        ([0.6, 0.2, 0.1], [0.6, 0.2, 0.1], (6,), "option 0 is likelier"),
        ([0.6, 0.2, 0.1], [0.6, 0.2, 0.1], (), "option 0 is likelier"),
        ([0.6, 0.2, 0.1], [0.6, 0.2, 0.1], None, "option 0 is likelier"),
        ([0.4, 0.3, 0.1], [0.4, 0.3, 0.1], (6,), "option 0 is likelier"),
        ([0.4, 0.4, 0.1], [0.4, 0.4, 0.1], (9,), "likelier"),
        ([0.6, 0.6, 0.6], [0.6, 0.6, 0.6], (5,), "sum to 1.8"),
        ([0.0, 0.0, 0.0], [0.6, 0.6, 0.6], (5,), "sum to 1.8"),
        ([0.9, 0.0, 0.0], [0.1, 0.0, 0.0], (5,), "with the end behind it"),
    ],
)
def test_what_no_model_says_is_found(ended, begun, spoken, why):
    assert why in find_contradiction(ONE, ended, begun, spoken)


def test_of_names_of_several_tokens_the_last_decides():
    """(7, 8) was generated though (7, 9) is likelier; a likelier first token is no contradiction."""
    names, p = [(7, 8), (7, 9), (5,)], [0.1, 0.4, 0.05]
    assert "option 1" in find_contradiction(names, p, p, (7, 8))
    assert not find_contradiction(names, [0.1, 0.05, 0.4], [0.1, 0.05, 0.4], (7, 8))
