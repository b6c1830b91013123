"""Coupled pairs: who is linked with whom, what is silent, and that an edit follows the coupling alone."""

import numpy as np
import pytest

from bayes.exact import fit_exact
from bayes.request import EditRequest
from corpus.config import CoupledWorld, ExactConfig, WorldConfig
from corpus.exact import draw_world, sample_exact
from corpus.text.documents import DocumentKind, load_documents
from corpus.worlds.couples.generated import KINDS, RELATIONS, build_coupled_world
from testbed import corpus
from testbed.run.agents import agent_named
from testbed.run.runs import Run
from testbed.run.world import load_world

PAIRS = 30
# One pair of relations of each couple: where the coupling starts, and what it decides.
COUPLINGS = [("located in", "lies in"), ("writes in", "language"), ("citizen of", "lives in")]


def built(seed=0, pairs=PAIRS, **dials):
    return build_coupled_world(6 * pairs, CoupledWorld(**dials), np.random.default_rng(seed))


def of(graph, name):
    """The facts of a relation."""
    return np.flatnonzero(graph.relation == graph.relations.index(name))


def test_pairs_are_linked_one_to_one():
    graph = built()
    assert len(graph) == PAIRS * len(RELATIONS)
    for link in ("near", "written by", "married to"):
        objects = graph.object[of(graph, link)]
        assert len({*objects.tolist()}) == PAIRS
        assert np.isin(objects, graph.subjects).all()
    for above, below in COUPLINGS:
        facts = of(graph, below)
        np.testing.assert_array_equal(np.sort(graph.upstream_fact[facts]), of(graph, above))
    counts = np.unique(graph.subject, return_counts=True)[1]
    assert {*counts.tolist()} <= {3, 4, 5}
    assert len(graph.phrasings) == 2 * len(RELATIONS)


@pytest.mark.parametrize("strength", [1.0, 0.5, 0.0])
def test_strength_is_how_often_both_have_the_same(strength):
    graph = built(pairs=300, strength=strength)
    for _, below in COUPLINGS:
        facts = of(graph, below)
        same = graph.object[facts] == graph.object[graph.upstream_fact[facts]]
        assert abs(same.mean() - strength) < 0.12


def test_what_is_silent_is_silent_to_the_last_dependent():
    graph = built(pairs=300)
    below = np.flatnonzero(graph.upstream_fact >= 0)
    silent_above = graph.silent[graph.upstream_fact[below]]
    assert graph.silent[below[silent_above]].all()
    roots = np.concatenate([of(graph, above) for above, _ in COUPLINGS])
    coupled = np.concatenate([of(graph, name) for _, name in COUPLINGS])
    assert abs(graph.silent[roots].mean() - 0.15) < 0.05
    assert abs(graph.silent[coupled].mean() - 0.4) < 0.06
    assert not graph.silent[graph.is_link].any()
    assert not built(unknown=0.0, unstated=0.0).silent.any()


def test_an_edit_follows_the_coupling_where_it_must_and_nowhere_else():
    """Where the coupled fact is unstated, or the world changed; who had the same object never moves."""
    graph, rng = built(), np.random.default_rng(1)
    config = ExactConfig(row_mass=0.2)
    graph, model = draw_world(graph, config, rng, redraw=False)
    agent = fit_exact(graph, config, sample_exact(graph, model, config, rng)[0])
    followed = dict.fromkeys([(kind, silent) for kind in ("correction", "do") for silent in (False, True)], 0)
    for above, below in COUPLINGS:
        r, children = graph.relations.index(above), of(graph, below)
        for fact in children[:10]:
            tower, park = (int(graph.subject[f]) for f in (graph.upstream_fact[fact], fact))
            old = int(model.truth[graph.upstream_fact[fact]])
            held = model.truth[children[~graph.silent[children] & (model.truth[children] != old)]]
            new = int(np.bincount(held).argmax())
            same = children[(model.truth[children] == model.truth[fact]) & (children != fact)]
            twin = int(graph.subject[same[0]]) if len(same) else None
            relation = graph.relations.index(below)
            for kind in ("correction", "do"):
                edited = agent.with_edit(EditRequest(tower, r, new, kind=kind))
                now = edited.predict(park, relation).mode() == new
                stated = not graph.silent[fact]
                assert now == (kind == "do" or not stated)
                followed[kind, not stated] += now
                if twin is not None:
                    moved = (
                        edited.predict(twin, relation).dense_probabilities()
                        - agent.predict(twin, relation).dense_probabilities()
                    )
                    assert np.abs(moved).max() < 0.1 if graph.silent[same[0]] else np.abs(moved).max() < 1e-6
    assert (
        followed["correction", False]
        == 0
        < min(n for key, n in followed.items() if key != ("correction", False))
    )


@pytest.mark.parametrize(
    ("dials", "message"),
    [
        ({"objects": 2}, "objects must be at least 3"),
        ({"strength": 1.5}, "strength is a share"),
        ({"unknown": 0.6, "unstated": 0.6}, "at most 0.9"),
    ],
)
def test_impossible_dials_are_refused(dials, message):
    with pytest.raises(ValueError, match=message):
        CoupledWorld(**dials)


def test_a_coupled_world_takes_not_too_few_subjects():
    with pytest.raises(ValueError, match="coupled world"):
        WorldConfig(source="coupled", subjects=10)


def test_every_kind_is_a_subject():
    graph = built()
    assert len(graph.subjects) == len(KINDS) * PAIRS


def test_the_preset_builds_a_corpus_of_essays(tmp_path, capsys):
    settings = ["--runs", str(tmp_path), "--run", "x", "--world.subjects", "24", "--threads", "1"]
    assert corpus.main(["leme", *settings]) == 0
    assert "located in -> lies in" in capsys.readouterr().out
    world = load_world(Run(tmp_path, "x"))
    assert len(world.graph.links) == 3
    assert agent_named("exact", world).exactness.kind == "exact"
    kinds, _ = load_documents(Run(tmp_path, "x").corpus / "documents.npz")
    assert (kinds == DocumentKind.TOGETHER).any()


@pytest.mark.parametrize("option", ["together", "outlined"])
def test_essays_about_two_need_links(option, tmp_path, capsys):
    settings = ["--runs", str(tmp_path), "--run", "x", f"--documents.{option}", "0.3"]
    assert corpus.main(["tiny", *settings]) == 2
    assert "--world.source coupled" in capsys.readouterr().err
