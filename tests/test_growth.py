"""The experiment growth: exponents of known laws, and every stage from nothing to the record."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.world import build_world
from experiments.benchmarks import agents_speed, growth, harness
from experiments.command import run_module
from experiments.measures.scaled import PAPER_FACTS, scale_world
from testbed.presets import CORPUS


@given(st.floats(-2, 2), st.floats(1e-6, 1e6), st.lists(st.integers(1, 10**6), min_size=2, unique=True))
def test_the_exponent_of_a_power_law_is_found(b, scale, sizes):
    costs = [scale * size**b for size in sizes]
    assert growth.fit_exponent(sizes, costs) == pytest.approx(b, abs=1e-6)


def test_one_size_does_not_grow(capsys):
    with pytest.raises(SystemExit) as stop:
        run_module(growth, ["--sizes", "300"])
    assert stop.value.code == 2
    assert "needs two --sizes" in capsys.readouterr().err


def test_work_that_a_killed_benchmark_left_is_not_found_done(tmp_path):
    settings = agents_speed.Settings(folder=tmp_path, stages=("fit",))
    left = settings.scratch / "corpus"
    left.mkdir(parents=True)

    def measure(settings):
        assert settings.scratch.is_dir()
        assert not left.exists()
        raise ValueError("measured")

    with pytest.raises(ValueError, match="measured"):
        harness.run_benchmark(settings, {"fit": measure})
    assert not settings.scratch.exists()


def test_a_scaled_world_keeps_its_proportions():
    whole = CORPUS["paper-dense"].world
    assert scale_world(whole, PAPER_FACTS) == whole
    tenth = scale_world(whole, PAPER_FACTS // 10)
    assert whole.subjects / tenth.subjects == pytest.approx(10, rel=0.01)
    assert whole.builtin.upstream_objects == 10 * tenth.builtin.upstream_objects
    assert scale_world(whole, 1).subjects == scale_world(whole, 1).builtin.downstream_objects == 2


def test_the_papers_world_has_the_printed_proportions():
    """Hase's Table 6: 100,000 facts, a fifth with a known cause, of 47,000 subjects; here a tenth of them."""
    graph = build_world(scale_world(CORPUS["paper"].world, PAPER_FACTS // 10), 0)
    assert len(graph) == pytest.approx(10_000, rel=0.02)
    assert len(graph.subjects) == 4700
    assert (graph.upstream_fact >= 0).mean() == pytest.approx(0.2, abs=0.01)
    assert np.bincount(graph.subject)[graph.subjects].min() == 1
