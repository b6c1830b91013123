"""What is kept comes back as it was where all that it depends on is the same, and nothing damaged does."""

from functools import partial

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

from lm.keeping import hash_causes, keep_in
from lm.language_model import LanguageModel
from testbed.engine import questions
from testbed.engine.questions import Questions
from testbed.run.agents import agent_named
from tests.edited import hase_cases

DTYPES = st.sampled_from([np.float32, np.int32, np.uint8])
ARRAYS = some.arrays(DTYPES, some.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))


class Worker:
    """Works out arrays, and counts how often."""

    def __init__(self, arrays):
        self.arrays, self.times = tuple(arrays), 0

    def __call__(self):
        self.times += 1
        return self.arrays


def assert_same(some, others):
    for one, other in zip(some, others, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


@given(st.lists(ARRAYS, max_size=3), st.data())
def test_whatever_is_damaged_is_worked_out_again(tmp_path_factory, arrays, data):
    folder, work = tmp_path_factory.mktemp("kept"), Worker(arrays)
    keep = keep_in(folder, 0.0)
    for _ in range(2):
        assert_same(keep("x", work), arrays)
    assert work.times == 1
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    at, bit = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(1, 255))
    for damaged in (whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :], whole[:at]):
        path.write_bytes(damaged)
        assert_same(keep("x", work), arrays)
        assert path.read_bytes() == whole
    assert work.times == 3


def test_what_is_quick_or_has_no_place_is_only_returned(tmp_path):
    work = Worker([np.arange(3)])
    (tmp_path / "file").write_text("no folder")
    for folder, least in ((tmp_path / "quick", 60.0), (tmp_path / "file" / "inside", 0.0)):
        for _ in range(2):
            assert_same(keep_in(folder, least)("x", work), work.arrays)
        assert not folder.exists()
    assert work.times == 4


@given(st.lists(ARRAYS, max_size=2), st.lists(ARRAYS, max_size=2), st.text(max_size=3), st.text(max_size=3))
def test_causes_are_told_apart(some, others, setting, another):
    def written(arrays, text):
        return [(x.dtype, x.shape, x.tobytes()) for x in arrays], text

    is_same = written(some, setting) == written(others, another)
    assert (hash_causes(some, setting) == hash_causes(others, another)) == is_same


def test_the_next_editor_reads_what_was_answered_before(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(questions, "keep_in", partial(keep_in, least=0.0))
    cases = hase_cases(toy.world, agent_named("paper", toy.world), 4)
    which = np.arange(2)[:, None]

    def ask(model, cases=cases, which=which, asks=True):
        asked = Questions(toy.world, model, cases)
        if not asks:
            monkeypatch.setattr(asked, "answers_after", None)
        return asked.answers_before(which)

    first = ask(toy.model)
    assert_same(ask(toy.model, asks=False), first)
    louder = LanguageModel(toy.model.config, jax.tree.map(lambda x: 1.001 * x, toy.model.params))
    for other in ({"model": louder}, {"cases": cases[2:]}, {"which": which + 1}):
        with pytest.raises(TypeError):
            ask(**({"model": toy.model} | other), asks=False)
