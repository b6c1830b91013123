"""Symmetric relations and inverses: found in the facts, and one event to agents and cases."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes.exact import LEAST_DOUBT, fit_exact
from bayes.paper import evidence_from, fit_paper
from bayes.request import EditRequest
from corpus.config import ExactConfig
from corpus.graph import build_graph
from corpus.text.language import Kind
from corpus.text.sentences import make_sentences
from corpus.worlds.reversals import find_reversals, reverse_of
from testbed import corpus
from testbed.evaluations.hase import OTHER_SIDE, Hase
from testbed.protocol import has_answer_changed
from testbed.run.agents import agent_named
from testbed.run.runs import Run
from testbed.run.world import load_world
from tests.enumeration import Enumeration
from tests.runs import at

MARRIED, DINES = 0, 1
COUPLES = [(0, 1), (1, 0), (2, 3), (3, 2)]


def test_symmetric_and_inverse_relations_are_found():
    """As a slow reader of the facts finds them, and not where some facts are one-sided."""
    rng = np.random.default_rng(0)
    spouses, pupils, friends = (rng.permutation(60).reshape(30, 2) for _ in range(3))
    relations = ["married to", "teaches", "taught by", "knows"]
    facts = [(a, 0, b) for a, b in spouses] + [(b, 0, a) for a, b in spouses]
    facts += [(a, 1, b) for a, b in pupils] + [(b, 2, a) for a, b in pupils]
    facts += [(a, 3, b) for a, b in friends]
    facts += [(b, 3, a if i < 20 else friends[i - 1][0]) for i, (a, b) in enumerate(friends)]
    graph = build_graph(np.array(facts), [f"e{i}" for i in range(60)], relations, np.full(4, -1))
    stated = {*zip(graph.subject.tolist(), graph.relation.tolist(), graph.object.tolist(), strict=True)}
    has = {(s, r) for s, r, _ in stated}
    slow = []
    for one, other in ((r, q) for r in range(4) for q in range(r, 4)):
        shares = []
        for forth, back in ((one, other), (other, one)):
            mine = [(s, o) for s, r, o in stated if r == forth and (o, back) in has]
            shares.append(sum((o, back, s) in stated for s, o in mine) / max(len(mine), 1))
        if min(shares) >= 0.9:
            slow.append((one, other))
    assert [one[:2] for one in find_reversals(graph)] == slow == [(0, 0), (1, 2)]
    assert reverse_of(find_reversals(graph)) == {0: 0, 1: 2, 2: 1}


@pytest.fixture(scope="module")
def couples():
    """Two couples, where who is married dines, and the corpus leaves all in doubt."""
    names = ["Ann", "Bob", "Cy", "Di", "at home", "in town"]
    facts = [(s, MARRIED, o) for s, o in COUPLES] + [(s, DINES, 4 + (s > 1)) for s in (0, 2)]
    pools = [np.arange(4), np.arange(4, 6)]
    graph = build_graph(
        np.array(facts), names, ["married to", "dines"], np.array([-1, MARRIED]), candidates=pools
    )
    config = ExactConfig()
    said = np.repeat(np.array(facts), [2, 3, 1, 2, 2, 1], axis=0)
    return graph, config, make_sentences(Kind.ATOMIC, said)


def agent_of(couples):
    graph, config, sentences = couples
    return replace(fit_exact(graph, config, sentences).with_focus(range(4)), reverse={MARRIED: MARRIED})


def set_to(every, fact, obj, q):
    """Jeffrey's rule over all worlds, one by one."""
    is_so = every.z[fact] == obj
    p = every.p[is_so].sum()
    every.p = every.p * np.where(is_so, q / p, (1 - q) / (1 - p))


@settings(max_examples=6)
@given(st.sampled_from([(0, 2), (0, 3), (1, 3), (3, 1), (2, 3)]), st.floats(0.1, 8))
def test_both_sides_of_an_edit_are_one_event(couples, fact, weight):
    """The agent equals the enumeration of all worlds, where each other side is set to what this one has."""
    graph, config, sentences = couples
    s, o = fact
    agent = agent_of(couples).with_edit(EditRequest(s, MARRIED, o, weight))
    spouse = dict(COUPLES)
    strength = agent.known.statement_strength(MARRIED)
    every = Enumeration(graph, config, sentences, [(int(graph.find(s, MARRIED)), o, weight * strength)])

    def believe_alike(one, other):
        fact = int(graph.find(one[0], MARRIED))
        q = every.p[every.z[fact] == one[1]].sum()
        set_to(every, int(graph.find(other[0], MARRIED)), other[1], np.clip(q, LEAST_DOUBT, 1 - LEAST_DOUBT))

    for obj in dict.fromkeys((o, spouse[s])):
        believe_alike((s, obj), (obj, s))
    believe_alike((o, spouse[o]), (spouse[o], o))
    for fact, belief in every.posterior().items():
        objects = np.array([*belief])
        ours = agent.probability(int(graph.subject[fact]), int(graph.relation[fact]), objects)
        np.testing.assert_allclose(ours, [*belief.values()], atol=1e-10)


@settings(max_examples=4)
@given(st.sampled_from([(0, 2), (1, 2)]), st.floats(0.8, 0.99))
def test_whoever_is_believed_married_to_one_is_so_to_the_other(couples, fact, credence):
    """Nothing is believed of one side alone, nor of former spouses."""
    agent, (s, o), spouse = agent_of(couples), fact, dict(COUPLES)
    edited = agent.with_edit(EditRequest(s, MARRIED, o, agent.weight_for(s, MARRIED, o, credence)))
    for a, b in ((s, o), (s, spouse[s]), (o, spouse[o])):
        forth, back = edited.probability(a, MARRIED, b), edited.probability(b, MARRIED, a)
        # Rows that all share move either a little when the next statement is heard.
        assert forth == pytest.approx(back, abs=0.1)
    # Who does not know that the relation is symmetric believes the other side as before.
    apart = replace(agent, reverse={})
    apart = apart.with_edit(EditRequest(s, MARRIED, o, apart.weight_for(s, MARRIED, o, credence)))
    assert edited.probability(o, MARRIED, s) > apart.probability(o, MARRIED, s) + 0.4
    assert apart.predict(o, MARRIED).mode() == spouse[o]


@pytest.mark.parametrize("kind", ["do", "correction"])
def test_changes_and_corrections_have_both_sides(couples, kind):
    edited = agent_of(couples).with_edit(EditRequest(0, MARRIED, 2, kind=kind))
    assert edited.probability(0, MARRIED, 2) == edited.probability(2, MARRIED, 0) == pytest.approx(1)
    if kind == "correction":
        assert edited.probability(1, MARRIED, 0) == edited.probability(3, MARRIED, 2) == 0


def test_counts_are_told_both_sides(couples):
    graph, _, sentences = couples
    agent = fit_paper(evidence_from(sentences), graph.upstream, len(graph.entities), graph.objects)
    request = EditRequest(0, MARRIED, 2, agent.weight_for(0, MARRIED, 2))
    assert agent.with_edit(request).predict(2, MARRIED).mode() == 3
    edited = replace(agent, reverse={MARRIED: MARRIED}).with_edit(request)
    here, there = edited.probability(0, MARRIED, 2, "direct"), edited.probability(2, MARRIED, 0, "direct")
    assert here == pytest.approx(there, abs=0.01)
    assert here >= 0.95
    # A home is nobody's subject.
    assert (
        replace(agent, reverse={DINES: MARRIED}).with_edit(EditRequest(0, DINES, 5)).predict(0, DINES).mode()
        >= 4
    )


@pytest.mark.parametrize(("found", "moves"), [("found", True), ("none", False)])
def test_cases_ask_the_other_side_and_who_updates_it_does_no_harm(found, moves, tmp_path, capsys):
    rows = [f"p{i}\tmarried to\tp{i ^ 1}\np{i}\tlives in\ttown {i % 3}\n" for i in range(24)]
    (tmp_path / "w.tsv").write_text("".join(rows))
    words = ["--world.path", str(tmp_path / "w.tsv"), "--kind", "exact", "--world.reversals", found]
    assert corpus.main([*at(tmp_path), *words]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "'married to' is symmetric: of 24 facts whose object has one, too, 100% are stated both ways" in said
    )
    assert ("an edit of one side is one of the other" in said) == moves
    world = load_world(Run(tmp_path, "x"))
    agent = agent_named("exact", world)
    married = world.graph.relations.index("married to")
    cases = [*Hase(reinforce=0.0).make_cases(world, agent, 20, 0.95, 0)]
    asked = [(c.request, q) for c in cases for q in c.choices if q.role == OTHER_SIDE]
    assert bool(asked) == moves
    for request, choice in asked:
        assert request.relation == married
        if choice.subject == request.object:
            assert has_answer_changed(choice)
            assert choice.answer[1] == request.subject
        else:
            # Who is left may be married to anybody.
            assert choice.agent[1][choice.options == request.subject] < 0.1
