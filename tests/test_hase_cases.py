"""What every test case promises, under both samplers."""

import numpy as np
import pytest

from bayes.request import EditRequest
from corpus.config import DocumentConfig
from corpus.generative import generative_model
from corpus.graph import build_graph
from corpus.pipeline import choose_documents
from corpus.text.sentences import sample_sentences
from corpus.text.tokenizer import entity_tokenizer
from testbed.evaluations.dutch_book import LOGIC
from testbed.evaluations.hase import CONTROL, ROLES, SPOT_CHECKS
from testbed.protocol import hide_spot_checks
from testbed.run.agents import paper_agent
from testbed.run.settings import PaperAgentConfig
from testbed.run.strata import SUPPORT_BINS
from testbed.run.world import World
from tests.edited import hase_cases
from tests.worlds import make_world


@pytest.fixture(scope="module")
def big_world():
    return make_world(subjects=150, upstream_objects=12, downstream_objects=6)


@pytest.fixture(scope="module")
def agent(big_world):
    return paper_agent(big_world)


@pytest.fixture(scope="module", params=["stratified", "published"])
def cases(request, big_world, agent):
    return hase_cases(big_world, agent, 200, sampler=request.param)


@pytest.mark.parametrize("reshuffles", [1, 3])
def test_the_papers_agent_counts_a_sentence_once_for_each_document(big_world, agent, reshuffles):
    counts = paper_agent(big_world._replace(reshuffles=reshuffles))
    fact = big_world.graph.subject[0], big_world.graph.relation[0]
    told = paper_agent(big_world, PaperAgentConfig(evidence_multiplicity=float(reshuffles)))
    assert counts.predict(*fact).remainder == told.predict(*fact).remainder
    assert counts.predict(*fact).remainder != agent.predict(*fact).remainder, "five, as published"
    assert agent.evidence_multiplicity == 5


def by_role(case):
    """What is asked in a case but for spot checks; None where a role has no question."""
    shown = hide_spot_checks(case).choices
    choices = {choice.role: choice for choice in shown}
    assert len(choices) == len(shown)
    assert choices.keys() <= set(ROLES)
    return {role: choices.get(role) for role in ROLES if role not in SPOT_CHECKS}


def test_compiled_kernels_make_the_same_cases(big_world, agent, monkeypatch):
    made = []
    for work in (10**12, 0):
        monkeypatch.setattr("corpus.compiled.LEAST_WORK", work)
        made.append(repr(hase_cases(big_world, agent, 5)))
    assert made[0] == made[1]


def test_requests_and_beliefs(cases, big_world, agent):
    graph, truth = big_world.graph, big_world.generative.truth
    for case in cases:
        s, r, o = case.requested_fact
        assert case.truth == truth[graph.find(s, r)]
        assert case.facets["reinforces"] == (o == case.truth)
        edited = agent.with_edit(EditRequest(s, r, o, case.request.weight))
        for role, choice in by_role(case).items():
            if choice is None:
                continue
            belief = "direct" if role == "s1r1" else "best"
            for t, holder in enumerate((agent, edited)):
                p = holder.predict(choice.subject, choice.relation, belief)
                np.testing.assert_allclose(choice.agent[t], p.of(choice.options))
                assert choice.answer[t] == p.mode()
            assert np.isin(choice.answer, choice.options).all()
            assert (np.diff(choice.options) > 0).all()
            np.testing.assert_allclose(choice.frequency.sum(1), 1)
        asked = by_role(case)["s1r1"]
        assert asked.answer[1] == o
        assert asked.agent[1][asked.options == o] >= 0.95 - 1e-9


def test_choices_are_the_promised_ones(cases, big_world):
    graph, truth = big_world.graph, big_world.generative.truth
    for case in cases:
        asked = by_role(case)
        s, r1, o = case.requested_fact
        if asked["s1r2"] is None:
            continue
        r2, up = asked["s1r2"].relation, asked["s1r0"]
        assert up is None or r2 != up.relation
        assert case.facets["child"] == (graph.upstream[r2] == r1)
        child = asked["s1r2"]
        kept = child.agent[1][child.options == child.answer[0]].sum()
        assert case.facets["changes"] == (kept < child.agent[1].max() * (1 - 1e-9))
        assert {c.subject for role, c in asked.items() if c and role.startswith("s1")} == {s}
        assert r2 != r1
        if up:
            assert up.relation == graph.upstream[r1]
        for who, holds in (("old", case.truth), ("new", o), ("random", None)):
            first, second = asked[f"{who}.r1"], asked[f"{who}.r2"]
            assert (first is None) == (second is None)
            if first:
                assert first.subject == second.subject != s
                assert (first.relation, second.relation) == (r1, r2)
                assert holds is None or truth[graph.find(first.subject, first.relation)] == holds


def test_claims_are_about_the_request_and_somebody_else(cases, agent):
    """A joint distribution of the two, taken for independent, has the beliefs in all six."""
    for case in cases:
        assert [claim.role for claim in case.claims] == list(LOGIC)
        said = {claim.role: claim for claim in case.claims}
        a, b = (said[role].sentence.a for role in ("A", "B"))
        assert tuple(a) == case.requested_fact
        assert b.subject != case.request.subject
        edited = agent.with_edit(case.request)
        for t, holder in enumerate((agent, edited)):
            p = holder.predict(*a[:2], "direct").of(np.array([a.object]))[0]
            q = holder.predict(*b[:2]).of(np.array([b.object]))[0]
            joint = {(True, True): p * q, (True, False): p * (1 - q), (False, True): (1 - p) * q}
            joint[False, False] = (1 - p) * (1 - q)
            holds = {"A": lambda a, _: a, "not A": lambda a, _: not a}
            holds |= {"B": lambda _, b: b, "not B": lambda _, b: not b, "B or A": lambda a, b: b or a}
            holds |= dict.fromkeys(("A and B", "B and A"), lambda a, b: a and b) | {
                "A or B": lambda a, b: a or b
            }
            for role, claim in said.items():
                expected = sum(mass for world, mass in joint.items() if holds[role](*world))
                assert claim.agent[t] == pytest.approx(expected, abs=1e-12), role
        assert case.credence == 0.95, "what was set, whatever the agent believes"


def test_support_and_strata(cases, big_world):
    graph, truth = big_world.graph, big_world.generative.truth
    for case in cases:
        mine = graph.relation == case.request.relation
        assert case.facets["support_new"] == (truth[mine] == case.request.object).sum()
        assert case.facets["support_old"] == (truth[mine] == case.truth).sum()
        assert case.facets["stratum"] == ("S2" if by_role(case)["s1r2"] else "S0")


def test_cases_know_what_was_held_out(big_world, agent):
    """By no document that imagines or revises, once there are such documents."""
    chosen = choose_documents(big_world.graph, DocumentConfig(imagine=0.2), np.random.default_rng(0))
    plain, supposing = (
        hase_cases(world, agent, 60, reinforce=0.0)
        for world in (big_world, big_world._replace(chosen=chosen))
    )
    assert not any(case.facets["seen_subject"] or case.facets["seen_object"] for case in plain)
    for before, case in zip(plain, supposing, strict=True):
        assert case.requested_fact == before.requested_fact
        assert case.facets["seen_subject"] == (case.request.subject in chosen.subjects)
        assert case.facets["seen_object"] == (case.request.object in chosen.objects)
    assert len({(case.facets["seen_subject"], case.facets["seen_object"]) for case in supposing}) == 4


def test_half_the_requests_contradict(cases):
    assert 0.3 < np.mean([c.facets["reinforces"] for c in cases]) < 0.7


def test_every_subject_before_any_again(cases, big_world):
    first = [c.request.subject for c in cases[: len(big_world.graph.subjects)]]
    assert len(set(first)) == len(big_world.graph.subjects)


def test_stratified_requests_fill_the_bins_evenly(big_world, agent):
    support = [case.facets["support_new"] for case in hase_cases(big_world, agent, 300, reinforce=0.0)]
    bins = np.bincount([sum(n >= k for k in (1, 2, 5, 20)) for n in support], minlength=len(SUPPORT_BINS))
    assert bins[bins > 0].min() >= 0.8 * bins.max()
    assert bins[0] > 0


def test_published_requests_mostly_change_the_agents_answer(big_world, agent):
    drawn = hase_cases(big_world, agent, 200, reinforce=0.0, sampler="published")
    changes = [case.facets["changes"] for case in drawn if case.facets["child"]]
    assert len(changes) > 30
    assert np.mean(changes) > 0.7


def test_a_relation_with_a_single_object_is_still_contradicted():
    names = [f"s{i}" for i in range(20)] + ["Rome", "Oslo", "human"]
    triples = [(s, r, [20 + s % 2, 22][r]) for s in range(20) for r in (0, 1)]
    graph = build_graph(np.array(triples), names, ["born in", "kind"], np.array([-1, 0]))
    rng = np.random.default_rng(0)
    model = generative_model(graph, rng)
    world = World(graph, model, sample_sentences(graph, model, rng), entity_tokenizer(graph))
    for sampler in ("published", "stratified"):
        for case in hase_cases(world, paper_agent(world), 60, sampler=sampler, reinforce=0.0):
            assert case.request.object in graph.objects
            assert case.request.object != case.truth
            # With two relations there is none left for s1r2 when the edit is on the dependent one.
            assert case.facets["child"] == (by_role(case)["s1r2"] is not None)


def test_few_options_still_hold_what_matters(big_world, agent):
    for case in hase_cases(big_world, agent, 40, candidates=8):
        for choice in case.choices:
            assert len(choice.options) <= 8
            assert np.isin(choice.answer, choice.options).all()
            if choice.relation == case.request.relation:
                assert case.request.object in choice.options


def test_a_control_says_the_requested_object_of_somebody_else(big_world, agent):
    usual, others = (hase_cases(big_world, agent, 40, controls=controls) for controls in (False, True))
    graph, truth = big_world.graph, big_world.generative.truth
    assert all(not case.controls for case in usual)
    for case, other in zip(usual, others, strict=True):
        assert other.requested_fact == case.requested_fact, "controls change no request"
        assert [c[:3] for c in other.choices] == [c[:3] for c in case.choices], "nor any question"
        ((name, (s, r, o)),) = other.controls
        assert (name, r, o) == (CONTROL, *case.requested_fact[1:])
        assert s != case.requested_fact[0]
        assert truth[graph.find(s, r)] != o
