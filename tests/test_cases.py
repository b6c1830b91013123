"""What every test case promises, under both samplers."""

import numpy as np
import pytest

from bayes.interface import EditRequest
from corpus.config import DocumentConfig
from corpus.counterfactual import choose
from corpus.generative import generative_model
from corpus.graph import build_graph
from corpus.sentences import sample_sentences
from corpus.tokenizer import entity_tokenizer
from testbed.evaluations.hase.cases import CELLS, CHILD, INDEPENDENT, PARENT, REQUEST, SUPPORT_BINS
from testbed.evaluations.hase.sampling import Sampler
from testbed.settings import CaseConfig
from testbed.run.agents import paper_agent
from testbed.run.world import World
from tests.worlds import make_world


@pytest.fixture(scope="module")
def big_world():
    return make_world(subjects=150, upstream_objects=12, downstream_objects=6)


@pytest.fixture(scope="module")
def agent(big_world):
    return paper_agent(big_world)


@pytest.fixture(scope="module", params=["stratified", "published"])
def cases(request, big_world, agent):
    return list(Sampler(big_world, agent, CaseConfig(count=200, sampler=request.param), 0))


def test_requests_and_beliefs(cases, big_world, agent):
    graph, truth = big_world.graph, big_world.generative.truth
    for case in cases:
        s, r, o = case.subject, case.relation, case.object
        assert case.truth == truth[graph.find(s, r)]
        assert case.reinforces == (o == case.truth)
        edited = agent.with_edit(EditRequest(s, r, o, case.weight))
        for i, cell in enumerate(case.cells):
            if cell is None:
                continue
            belief = "direct" if i == REQUEST else "best"
            for t, holder in enumerate((agent, edited)):
                p = holder.predict(cell.subject, cell.relation, belief)
                np.testing.assert_allclose(cell.agent[t], p.of(cell.candidates))
                assert cell.answer[t] == p.mode()
            assert np.isin(cell.answer, cell.candidates).all()
            assert (np.diff(cell.candidates) > 0).all()
            np.testing.assert_allclose(cell.frequency.sum(1), 1)
        asked = case.cells[REQUEST]
        assert asked.answer[1] == o
        assert asked.agent[1][asked.candidates == o] >= 0.95 - 1e-9


def test_cells_are_the_promised_probes(cases, big_world):
    graph, truth = big_world.graph, big_world.generative.truth
    for case in cases:
        cells = dict(zip(CELLS, case.cells, strict=True))
        if cells["s1r2"] is None:
            continue
        r2 = cells["s1r2"].relation
        assert case.cells[PARENT] is None or r2 != case.cells[PARENT].relation
        assert case.child == (graph.upstream[r2] == case.relation)
        assert case.changes == (cells["s1r2"].answer[0] != cells["s1r2"].answer[1])
        assert {c.subject for c in case.cells[: INDEPENDENT + 1] if c} == {case.subject}
        assert case.cells[CHILD].relation != case.relation
        if case.cells[PARENT]:
            assert case.cells[PARENT].relation == graph.upstream[case.relation]
        for who, holds in (("old", case.truth), ("new", case.object), ("random", None)):
            first, second = cells[f"{who}.r1"], cells[f"{who}.r2"]
            assert (first is None) == (second is None)
            if first:
                assert first.subject == second.subject != case.subject
                assert (first.relation, second.relation) == (case.relation, r2)
                assert holds is None or truth[graph.find(first.subject, first.relation)] == holds
        assert case.other.subject != case.subject


def test_support_and_strata(cases, big_world):
    graph, truth = big_world.graph, big_world.generative.truth
    for case in cases:
        mine = graph.relation == case.relation
        assert case.support_new == (truth[mine] == case.object).sum()
        assert case.support_old == (truth[mine] == case.truth).sum()
        assert case.stratum == ("S2" if case.cells[CHILD] else "S0")


def test_cases_know_what_was_held_out(big_world, agent):
    """By no document that imagines or revises, once there are such documents."""
    chosen = choose(big_world.graph, DocumentConfig(imagine=0.2), np.random.default_rng(0))
    config = CaseConfig(count=60, reinforce=0.0)
    plain, supposing = (
        list(Sampler(world, agent, config, 0)) for world in (big_world, big_world._replace(chosen=chosen))
    )
    assert not any(case.seen_subject or case.seen_object for case in plain)
    for before, case in zip(plain, supposing, strict=True):
        assert case[:4] == before[:4]
        assert case.seen_subject == (case.subject in chosen.subjects)
        assert case.seen_object == (case.object in chosen.objects)
    assert len({(case.seen_subject, case.seen_object) for case in supposing}) == 4


def test_half_the_requests_contradict(cases):
    assert 0.3 < np.mean([c.reinforces for c in cases]) < 0.7


def test_every_subject_before_any_again(cases, big_world):
    first = [c.subject for c in cases[: len(big_world.graph.subjects)]]
    assert len(set(first)) == len(big_world.graph.subjects)


def test_stratified_requests_fill_the_bins_evenly(big_world, agent):
    sampler = Sampler(big_world, agent, CaseConfig(count=300, reinforce=0.0), 0)
    support = [case.support_new for case in sampler]
    bins = np.bincount([sum(n >= k for k in (1, 2, 5, 20)) for n in support], minlength=len(SUPPORT_BINS))
    assert bins[bins > 0].min() >= 0.8 * bins.max()
    assert bins[0] > 0


def test_published_requests_mostly_change_the_agents_answer(big_world, agent):
    sampler = Sampler(big_world, agent, CaseConfig(count=200, reinforce=0.0, sampler="published"), 0)
    changes = [case.changes for case in sampler if case.child]
    assert len(changes) > 30
    assert np.mean(changes) > 0.7


def test_cases_are_a_function_of_the_seed(big_world, agent):
    def drawn(seed):
        return [c[:6] for c in Sampler(big_world, agent, CaseConfig(count=30), seed)]

    assert drawn(1) == drawn(1) != drawn(2)


def test_a_relation_with_a_single_object_is_still_contradicted():
    names = [f"s{i}" for i in range(20)] + ["Rome", "Oslo", "human"]
    triples = [(s, r, [20 + s % 2, 22][r]) for s in range(20) for r in (0, 1)]
    graph = build_graph(np.array(triples), names, ["born in", "kind"], np.array([-1, 0]))
    rng = np.random.default_rng(0)
    model = generative_model(graph, rng)
    world = World(graph, model, sample_sentences(graph, model, rng), entity_tokenizer(graph))
    for sampler in ("published", "stratified"):
        config = CaseConfig(count=60, sampler=sampler, reinforce=0.0)
        for case in Sampler(world, paper_agent(world), config, 0):
            assert case.object in graph.objects
            assert case.object != case.truth
            # With two relations there is none left for s1r2 when the edit is on the dependent one.
            assert case.child == (case.cells[CHILD] is not None)


def test_few_candidates_still_hold_what_matters(big_world, agent):
    for case in Sampler(big_world, agent, CaseConfig(count=40, candidates=8), 0):
        for cell in filter(None, case.cells):
            assert len(cell.candidates) <= 8
            assert np.isin(cell.answer, cell.candidates).all()
            if cell.relation == case.relation:
                assert case.object in cell.candidates
