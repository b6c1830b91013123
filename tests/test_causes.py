"""Four interpretations of one text (`experiments.causes`)."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from experiments.analyses.causes import (
    ONCE,
    Settings,
    agents_by_count,
    load_or_build_world,
    measure_world,
    shares_by_agent,
)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A small world of few statements."""
    runs: Path = tmp_path_factory.mktemp("runs")
    return Settings(subjects=60, statements=(8,), times=16, edits=30, seeds=(0,), runs=runs)


def test_many_statements_of_causes_make_causes_surer_and_leave_effects_alone(settings: Settings) -> None:
    world = load_or_build_world(settings, 8, 0)
    agents, upstream = agents_by_count(world, settings.times), world.graph.upstream
    relation = world.graph.relation
    for fact in np.flatnonzero(upstream[relation] < 0)[:20].tolist():
        s, r = int(world.graph.subject[fact]), int(relation[fact])
        surely = {name: agent.predict(s, r) for name, agent in agents.items()}
        best = surely[ONCE].mode()
        p = {name: float(d.of(np.array(best))) for name, d in surely.items()}
        assert p["causes"] >= p[ONCE] - 1e-12
        assert p["effects"] == pytest.approx(p[ONCE], abs=1e-3)


def test_a_reading_agrees_with_itself_and_times_one_with_all(settings: Settings) -> None:
    world = load_or_build_world(settings, 8, 0)
    agents = agents_by_count(world, 1)
    for fact in range(0, len(world.graph), 7):
        s, r = int(world.graph.subject[fact]), int(world.graph.relation[fact])
        once = agents[ONCE].predict(s, r)
        for agent in agents.values():
            np.testing.assert_allclose(agent.predict(s, r).probability, once.probability, rtol=0, atol=1e-12)


def test_shares_count_what_the_first_reader_changes() -> None:
    ids = np.arange(4)
    columns = {"subject": ids, "object": ids, "world": np.zeros(4, int)}
    columns |= {"once changes": np.array([True, True, False, False]), ONCE: np.array([1, 1, 0, 0])}
    columns |= {"causes changes": np.array([True, True, True, False]), "causes": np.array([1, 2, 3, 0])}
    found = shares_by_agent(columns)
    assert [found["causes"][c].value for c in ("changes", "follows", "falsely changed")] == [0.75, 0.5, 0.5]
    assert [found[ONCE][c].value for c in ("changes", "follows", "falsely changed")] == [0.5, 1.0, 0.0]


def test_all_edits_are_of_effects_and_seeds_repeat(settings: Settings) -> None:
    first, again = (measure_world(settings, 8, 0) for _ in range(2))
    assert len(first["subject"]) == settings.edits
    for name, column in first.items():
        assert_array_equal(column, again[name])
