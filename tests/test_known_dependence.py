"""Who knows every fact of a world: what that one finds, and the experiment from nothing to its record."""

import json
from dataclasses import replace

import numpy as np
import pytest

from experiments import record
from experiments.analyses import found_dependence
from experiments.analyses.found_dependence import Settings, search_facts, sure_beliefs
from experiments.command import run_module
from experiments.figures import FIGURES, read_figures
from experiments.measures.dependence_search import compare_forests
from experiments.measures.revision_worlds import RevisionWorld, build_run
from testbed.run.world import load_world


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    world = RevisionWorld("star", "fact", 1, subjects=120, uppers=12, dependence=0.9)
    return load_world(build_run(world, tmp_path_factory.mktemp("runs"))).graph


def test_the_sure_hold_every_fact_and_nothing_else(graph):
    beliefs = sure_beliefs(graph)
    assert (beliefs.top[graph.relation, graph.subject, 0] == graph.object).all()
    assert beliefs.mention_probability.sum() == len(graph.object)
    assert (beliefs.p[..., 0] == beliefs.mention_probability).all()


def test_who_knows_all_facts_finds_what_hangs_together(graph):
    for found in search_facts(graph).values():
        assert found.auc == 1.0
        assert found.found == found.pairs[0] == (graph.upstream >= 0).sum()


def test_nothing_is_found_in_facts_of_nobody_in_particular(graph):
    rng = np.random.default_rng(0)
    shuffled = graph.object.copy()
    for r in range(len(graph.relations)):
        mine = graph.relation == r
        shuffled[mine] = rng.permutation(shuffled[mine])
    for found in search_facts(replace(graph, object=shuffled)).values():
        assert found.found + found.false <= 1
        assert found.persists is None or found.found


def test_a_dependence_turned_round_is_found_but_not_right():
    linked = np.array([[0, 0.9, 0.1], [0.9, 0, 0.2], [0.1, 0.2, 0]])
    one = compare_forests(np.array([-1, 0, -1]), linked, np.array([1, -1, -1]))
    assert (one.found, one.false, one.right, one.auc, one.persists) == (1, 0, 0, 1.0, None)
    assert one.brier == pytest.approx((0.1**2 + 0.1**2 + 0.2**2) / 3)


def test_the_experiment_keeps_a_record(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")
    worlds = {"star": [RevisionWorld("star", "fact", 1, subjects=40, uppers=6, dependence=0.9)]}
    monkeypatch.setattr(Settings, "known_worlds", property(lambda _: worlds))
    assert run_module(found_dependence, ["--known", "--draws", "1", "--runs", str(tmp_path / "runs")]) == 0
    (folder,) = (tmp_path / "records").iterdir()
    kept = json.loads((folder / "record.json").read_text())
    assert kept["commands"][-1] == "python -m experiments.found_dependence --draws 1 --known"
    figures = [one for one in read_figures(folder / FIGURES) if one.labels[:1] == ("star",)]
    assert {one.labels[1] for one in figures} == {"mass 2", "mass 0.2", "each its own"}
    assert "cause right" in {one.figure for one in figures}
