"""Worlds of chains: what is said of inner facts, and how far beliefs ripple down from an edit."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from bayes.exact import fit_exact
from bayes.paper import Evidence, fit_paper
from bayes.request import EditRequest
from corpus.config import ChainWorld, ExactConfig
from corpus.exact import NEVER, draw_world, sample_exact
from corpus.seeds import generator
from corpus.text.tokenizer import entity_tokenizer
from corpus.worlds.chain import INN, INSTRUMENT, ORCHESTRA, TEACHER, build_chain_world
from testbed.run.strata import StatementIndex
from testbed.run.world import World
from tests.enumeration import Enumeration
from tests.examples import holds_for
from tests.test_exact import tiny_graph

KINDS = ("evidence", "correction", "do")
FULL = (0.0, 0.0, 1.0)
SMALL = ChainWorld(supports=(1, 3, 6), rare=1, common=1, further=95, homes=2, neighbours=4, unsaid=6)
DIALS = {
    "stated": ExactConfig(strata=FULL, logical=0.0),
    "unstated": ExactConfig(strata=FULL, logical=0.0, inner=(0.5, 0.0, 0.5)),
    "in doubt": ExactConfig(strata=FULL, logical=0.0, inner=(0.3, 0.4, 0.3), rows="given"),
}


def chain_world(seed, config, dials=SMALL):
    rng = generator(seed, "sentences")
    graph, model = draw_world(build_chain_world(dials, generator(seed, "world")), config, rng, redraw=False)
    sentences, _ = sample_exact(graph, model, config, rng)
    return World(graph, model, sentences, entity_tokenizer(graph)), fit_exact(graph, config, sentences)


def answers_below(agent, s, target, kind):
    """Beliefs about the three facts below a subject's first one, before and after a request about it."""
    weight = agent.weight_for(s, TEACHER, target) if kind == "evidence" else 1.0
    edited = agent.with_edit(EditRequest(s, TEACHER, target, weight, kind))
    relations = (INSTRUMENT, ORCHESTRA, INN)
    return [[one.predict(s, r).dense_probabilities() for r in relations] for one in (agent, edited)]


def movement_below(agent, s, target, kind):
    """Total variation of each of the three."""
    return [0.5 * np.abs(p - q).sum() for p, q in zip(*answers_below(agent, s, target, kind), strict=True)]


@holds_for(st.integers(0, 10**6), st.sampled_from(KINDS[:2]), few=10, many=60)
def test_where_inner_facts_are_fully_stated_nothing_moves_below_an_edit(seed, kind):
    """One step below nor two, whatever the request: all of it was said of the subject."""
    world, agent = chain_world(seed, DIALS["stated"], replace(SMALL, unsaid=0))
    rng = np.random.default_rng(seed)
    s = int(rng.choice(world.graph.subject[world.graph.relation == TEACHER]))
    target = int(rng.choice(world.graph.candidates_of(TEACHER)))
    assert max(movement_below(agent, s, target, kind)) < 1e-6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dial", ["unstated", "in doubt"])
def test_with_the_dial_answers_two_and_three_steps_below_change(dial, kind):
    """Where nobody stated what is below, but for evidence from further down; a change moves everybody."""
    dials = replace(SMALL, supports=(1, 3, 16), neighbours=12, unsaid=0, dependence=1.0)
    world, agent = chain_world(0, DIALS[dial], dials)
    graph, truth, stated = world.graph, world.generative.truth, StatementIndex(world.graph, world.sentences)
    homes = np.flatnonzero(
        (graph.relation == TEACHER) & np.isin(graph.object, graph.candidates_of(TEACHER)[-2:])
    )
    target = next(o for o in graph.candidates_of(TEACHER) if (truth == o).sum() == 16)
    by_said: dict[bool, list] = {False: [], True: []}
    for s in graph.subject[homes].tolist():
        said = any(len(stated.objects_of(int(graph.find(s, r)))) for r in (INSTRUMENT, ORCHESTRA, INN))
        before, after = answers_below(agent, s, int(target), kind)
        by_said[said].append([p.argmax() != q.argmax() for p, q in zip(before, after, strict=True)])
    assert by_said[False] or dial == "in doubt"
    assert np.all(by_said[False])
    if kind == "do":
        assert np.all(by_said[True])
    elif dial == "unstated":
        assert not np.any(by_said[True])


@holds_for(st.integers(0, 10**6), few=10, many=100)
def test_nothing_below_what_is_never_stated_is_stated_where_rows_are_learned(seed):
    rng = np.random.default_rng(seed)
    graph = tiny_graph(rng, 6, 3, (-1, 0, 1, 2))
    config = ExactConfig(inner=(0.5, 0.0, 0.5), strata=(0.2, 0.3, 0.5))
    _, model = draw_world(graph, config, rng, redraw=True)
    inner = (graph.upstream_fact >= 0) & np.isin(np.arange(len(graph)), graph.upstream_fact)
    below = np.flatnonzero(graph.upstream_fact >= 0)
    below = below[inner[graph.upstream_fact[below]]]
    silent_above = model.stratum[graph.upstream_fact[below]] == NEVER
    assert (model.stratum[below[silent_above]] == NEVER).all()


def test_a_doubt_about_inner_facts_needs_the_rows():
    with pytest.raises(ValueError, match="rows given"):
        ExactConfig(inner=(0.2, 0.4, 0.4))
    with pytest.raises(ValueError, match="three shares"):
        ExactConfig(inner=(0.2, 0.2, 0.2))


@holds_for(
    st.integers(0, 10**6),
    st.sampled_from(KINDS),
    st.sampled_from([(-1, 0, 1), (-1, 0, 1, 2)]),
    st.sampled_from([("learned", (0.6, 0.0, 0.4)), ("given", (0.4, 0.4, 0.2))]),
    few=25,
    many=150,
)
def test_ripples_down_a_chain_equal_enumeration(seed, kind, upstream, how):
    """Of three facts and of four: every world one by one, before an edit of the first fact and after it."""
    rows, inner = how
    rng = np.random.default_rng(seed)
    config = ExactConfig(rows=rows, inner=inner, logical=0.0, statements=8, strata=(0.3, 0.3, 0.4))
    graph = tiny_graph(rng, 2, 3, upstream)
    graph, model = draw_world(graph, config, rng, redraw=True)
    sentences, _ = sample_exact(graph, model, config, rng)
    agent = fit_exact(graph, config, sentences)
    roots = [
        f
        for f in np.flatnonzero(graph.relation == 0).tolist()
        if agent.accepts(int(graph.subject[f]), 0, kind)
    ]
    if not roots:
        return
    fact = int(rng.choice(roots))
    s, target = int(graph.subject[fact]), int(rng.choice(graph.candidates_of(0)))
    weight = agent.weight_for(s, 0, target) if kind == "evidence" else 1.0
    extra = {
        "evidence": [(fact, target, weight * agent.known.statement_strength(0))],
        "correction": [(fact, target, np.inf)],
        "do": [],
    }[kind]
    every = Enumeration(graph, config, sentences, extra)
    wanted = every.posterior()
    if kind == "do":
        wanted |= every.after_do(fact, target, 1.0)
    edited = agent.with_edit(EditRequest(s, 0, target, weight, kind))
    for f in np.flatnonzero(graph.subject == s).tolist():
        ours = edited.predict(s, int(graph.relation[f])).dense_probabilities()
        # Learned rows are exact up to the doubt about everybody else.
        np.testing.assert_allclose(
            ours, list(wanted[f].values()), rtol=0, atol=1e-5 if rows == "learned" else 1e-10
        )


def test_support_and_frequency_are_crossed_by_construction():
    """Each answer follows from a teacher of every number of pupils; common ones have more holders besides."""
    dials = ChainWorld(dependence=1.0)
    graph = build_chain_world(dials, np.random.default_rng(3))
    said = ~graph.silent
    has = {
        r: dict(zip(graph.subject[m].tolist(), graph.object[m].tolist(), strict=True))
        for r in (TEACHER, INSTRUMENT)
        for m in [(graph.relation == r) & said]
    }
    pupils: dict[int, Counter] = {}
    for s, instrument in has[INSTRUMENT].items():
        if s in has[TEACHER]:
            pupils.setdefault(instrument, Counter())[has[TEACHER][s]] += 1
    holders = Counter(has[INSTRUMENT].values())
    targets = [i for i in pupils if len(pupils[i]) > 1]
    assert len(targets) == dials.rare + dials.common
    assert all(sorted(pupils[i].values()) == sorted(dials.supports) for i in targets)
    sizes = sorted(holders[i] for i in targets)
    rare = sum(dials.supports)
    assert sizes == [rare] * dials.rare + [rare + dials.further] * dials.common
    assert graph.silent.sum() == 3 * dials.unsaid


def test_the_papers_agent_says_of_chains_that_it_misjudges_them():
    """Each fact is stated ten times; one inner fact is edited, and who shares its cause is to follow."""
    facts = [(s, r, 3 * r + int(s > 2)) for s in range(6) for r in range(3) for _ in range(10)]
    evidence = Evidence(*map(np.array, ([1.0] * len(facts), *zip(*facts, strict=True))))
    chain, pairs = (
        fit_paper(evidence, np.array(upstream), 6, np.arange(9), 1.0, 1.0)
        for upstream in ((-1, 0, 1), (-1, 0, -1))
    )
    assert "misjudges chains" in chain.exactness.why
    assert "chains" not in pairs.exactness.why
    target = 4
    edited = chain.with_edit(EditRequest(0, 1, target, chain.weight_for(0, 1, target)))
    assert chain.predict(1, 1).mode() == 3
    assert edited.predict(1, 1).mode() == target
