"""Who believes what a corpus says: what is worked out from it, and the record."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.seeds import generator
from experiments import record
from experiments.analyses import structure_reasoning
from experiments.analyses.structure_reasoning import SELF
from experiments.command import run_module
from experiments.figures import FIGURES, read_nested
from experiments.measures.corpus_reader import GRID, Tally, count_steps, generalise


@given(st.integers(0, 10**6))
def test_a_reader_believes_what_was_stated_more_the_more_often(seed):
    rng = np.random.default_rng(seed)
    count = rng.integers(0, 12, (3, 8, 5)).astype(float)
    count[0, 0] = 0
    belief = generalise(count, np.array([-1, 0, -1]), generator(seed, "reader"))
    assert np.isfinite(belief).all()
    np.testing.assert_allclose(belief.sum(axis=2), 1)
    sure = np.zeros((1, 4, 5))
    sure[0, :, 2] = 12
    assert (generalise(sure, np.array([-1]), generator(seed, "reader")).argmax(axis=2) == 2).all()


def test_steps_are_counted_down_the_graph():
    chain_and_fork = np.array([-1, 0, 1, 0, -1])
    assert [count_steps(chain_and_fork, 0, r) for r in range(5)] == [0, 1, 2, 1, 0]
    assert [count_steps(chain_and_fork, 1, r) for r in range(5)] == [0, 0, 1, 0, 0]


def test_tallies_add_up_and_say_shares():
    both = Tally(3, 4, 1, 10, 2.0, 1.0).plus(Tally(1, 4, 1, 10, 2.0, 2.0))
    assert both.row == ["0.50", 8, "0.10", 20, "0.25"]
    assert Tally().row == ["", 0, "0.00", 0, ""]


@pytest.mark.slow
def test_structures_are_written_down(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")
    args = ["--runs", str(tmp_path / "runs"), "--cases", "12", "--structures", "sentence, three tokens"]
    assert run_module(structure_reasoning, args) == 0
    (folder,) = (tmp_path / "records").iterdir()
    (found,) = read_nested(folder / FIGURES, "found").values()
    assert set(found) == {SELF, *(one.name for one in GRID)}
    # Who asks for more of a majority never changes more, rightly or falsely.
    for fewest in (1, 2, 3, 5):
        for unread in (False, True):
            changed = [found[one.name][2] for one in GRID if (one.fewest, one.unread) == (fewest, unread)]
            assert changed == sorted(changed, reverse=True)
    jax.clear_caches()
