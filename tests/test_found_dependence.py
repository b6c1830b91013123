"""What a search found, counted by hand, and the experiment from nothing to its record."""

import numpy as np
import pytest

from experiments import record
from experiments.analyses import found_dependence
from experiments.analyses.found_dependence import sample_subjects
from experiments.command import run_module
from experiments.figures import FIGURES, read_figures
from experiments.measures.dependence_search import Search, search_dependence, search_estimates
from lm.editors.self_bayes.beliefs import Beliefs
from tests.test_revision_worlds import TINY


def beliefs(effects: int, subjects: int, rng: np.random.Generator) -> Beliefs:
    """Of one cause and some effects that follow it, and one relation that follows nothing; all often said."""
    relations, objects = effects + 2, 6
    best = np.empty((relations, subjects), np.int32)
    best[0] = rng.integers(0, objects, subjects)
    for r in range(1, effects + 1):
        best[r] = rng.permutation(objects)[best[0]]
    best[-1] = rng.integers(0, objects, subjects)
    top = (best[:, :, None] + np.arange(objects)) % objects
    p = np.broadcast_to(np.array([0.95] + [0.01] * 5, np.float32), top.shape)
    return Beliefs(np.arange(subjects)[:, None], np.arange(objects)[:, None], top, p, p[:, :, 0])


def test_a_world_that_is_clear_is_found():
    world = beliefs(1, 200, np.random.default_rng(0))
    found = search_dependence(world, np.array([-1, 0, -1]))
    assert found.pairs == (1, 2)
    # Each of the two tells the other, so either may be taken for the cause.
    assert (found.auc, found.found) == (1.0, 1)
    assert found.brier < 1 / 3 * 2 / 3, "better than a constant"
    other = search_dependence(world, np.array([-1, -1, 0]))
    assert (other.auc, other.right) == (0.5, 0)


def test_some_subjects_keep_their_beliefs():
    world = beliefs(2, 50, np.random.default_rng(1))
    few = sample_subjects(world, 9, np.random.default_rng(2))
    (kept,) = few.subjects.T
    assert len(set(kept.tolist())) == 9
    assert (few.top == world.top[:, kept]).all()
    assert few.p.shape == (4, 9, 6)
    assert few.mention_probability.shape == (4, 9)


def test_shares_weigh_what_they_are_of():
    found = [
        (0, Search((2, 8), 1.0, 2, 0, 1, 0.5, 0.1)),
        (0, Search((2, 8), 0.5, 0, 2, 0, None, 0.3)),
        (1, Search((0, 3), None, 0, 0, 0, None, 0.0)),
    ]
    row = {name: one.value for name, one in search_estimates(found).items()}
    assert row["AUC"] == pytest.approx(0.75)
    assert row["found"] == pytest.approx(2 / 4)
    assert row["false"] == pytest.approx(2 / 4)
    assert row["cause right"] == pytest.approx(1 / 2)
    assert row["p(persists)"] == pytest.approx(0.5)
    assert row["Brier"] == pytest.approx(0.4 / 3)
    assert row["Brier, constant"] == pytest.approx(0.32 / 3)


@pytest.mark.slow
def test_every_world_is_searched_and_written_down(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(found_dependence, "LISTS", {"report": TINY})
    assert (
        run_module(found_dependence, ["--runs", str(tmp_path / "runs"), "--subjects", "8", "--draws", "2"])
        == 0
    )
    (folder,) = (tmp_path / "records").iterdir()
    cases = {
        (one.section, *one.labels): one.cases for one in read_figures(folder / FIGURES) if one.figure == "AUC"
    }
    by_kind = {labels: n for labels, n in cases.items() if labels[0].startswith("What is found")}
    assert by_kind["What is found, fresh draws", "all"] == 2
    assert by_kind["What is found, fresh draws", "8"] == 4
