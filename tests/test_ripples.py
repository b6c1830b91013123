"""Inner facts in doubt: how far beliefs ripple down a chain, and what `experiments.ripples` asks."""

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
from experiments.measures.ripple_cases import (
    BELOW,
    REQUEST,
    SUPPORTS,
    Ripples,
    Targets,
    relations_below,
    support_index,
)
from experiments.measures.ripple_tables import estimate_cells, estimate_effects, estimate_hops
from testbed.engine.results import Choices, Claims, Results
from testbed.run.strata import StatementIndex
from testbed.run.world import World
from testbed.scores.gather import EditorResults
from testbed.scores.readers import NO_EDIT
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


def test_cases_fill_every_cell_alike_and_say_how_far_below_a_question_is():
    world, agent = chain_world(1, DIALS["stated"])
    graph, truth = world.graph, world.generative.truth
    cases = list(Ripples(others=2).make_cases(world, agent, 36, 0.95, seed=0))
    cells = Counter(
        (int(support_index(np.array(c.facets["support"]))), c.facets["frequency"] >= 90, c.facets["said"])
        for c in cases
    )
    # Three supports, two frequencies; two turns out of three are of subjects of whom nothing was said.
    assert cells == {
        (i, f, said): 2 if said else 4 for i in (0, 1, 2) for f in (False, True) for said in (False, True)
    }
    stated = StatementIndex(graph, world.sentences)
    targets = Targets(graph, truth, stated, TEACHER, [INSTRUMENT, ORCHESTRA, INN])
    for case in cases:
        s, r, o = case.requested_fact
        assert r == TEACHER
        holders = graph.subject[(graph.relation == TEACHER) & (truth == o)].tolist()
        said = [h for h in holders if h != s and len(stated.objects_of(int(graph.find(h, INSTRUMENT))))]
        assert case.facets["support"] == len(said) == targets.count_support(o, s) > 0
        hops = {c.facets["hops"]: c.relation for c in case.choices if c.role == BELOW}
        assert hops == {h: rs[0] for h, rs in relations_below(graph, TEACHER).items()}
        assert [c.agent.shape[0] for c in case.choices] == [4] * len(case.choices)
        assert sum(c.subject != s for c in case.choices) == 2
    assert len(SUPPORTS) == 4


@holds_for(st.integers(0, 10**6), few=5, many=30)
def test_nothing_below_is_stated_of_whom_cases_call_unsaid(seed):
    """Also where the next fact is unstated and one further down is stated: such subjects are not edited."""
    config = replace(DIALS["in doubt"], inner=(0.5, 0.3, 0.2), strata=(0.5, 0.3, 0.2))
    world, agent = chain_world(seed, config, replace(SMALL, neighbours=30, unsaid=0))
    stated = StatementIndex(world.graph, world.sentences)
    for case in Ripples(others=2).make_cases(world, agent, 12, 0.95, seed):
        counts = [len(stated.objects_of(int(world.graph.find(case.request.subject, r)))) for r in (1, 2, 3)]
        assert counts[0] > 0 if case.facets["said"] else counts == [0, 0, 0]


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


def edits_by_hand(worlds=2):
    """An edit for each support, of a rare answer and of a common one, in each world; the rare ones follow.

    Of two objects, the agent's answer goes from 0 to 1 at every hop but the third, where it stays.
    """
    supports = np.tile(np.repeat([1, 3, 10, 30], 2), worlds)
    n, common = len(supports), np.tile([False, True], 4 * worlds)
    case, hops = np.repeat(np.arange(n), 4), np.tile([0, 1, 2, 3], n)
    old, new = [0.9, 0.1], [0.1, 0.9]
    before = np.tile(old, (len(case), 1))
    after = np.where((hops == 3)[:, None], old, new)
    says = np.where((common[case] & (hops > 0))[:, None], old, new)
    agent = np.stack([before, after, after, after], axis=1)
    lm = np.stack([before, says], axis=1)
    choices = Choices(
        case=case,
        role=np.where(hops == 0, REQUEST, BELOW),
        group=np.full(len(case), ""),
        subject=case,
        relation=hops,
        stated=np.zeros(len(case), int),
        options=np.tile([0, 1], (len(case), 1)),
        agent=agent,
        frequency=agent,
        lm=lm,
        lm_open=lm,
        agent_answer=agent.argmax(-1),
        lm_answer=lm.argmax(-1),
        offered=np.ones((len(case), 2), bool),
        is_told=np.zeros(len(case), bool),
        facets={"hops": hops},
    )
    cases = {
        "case": np.arange(n),
        "cluster": np.arange(n),
        "position": np.zeros(n, int),
        "object": np.ones(n, int),
        "run": np.repeat(np.arange(worlds), 8),
        "support": supports,
        "frequency": np.where(common, 200, 40),
        "said": np.zeros(n, bool),
    }
    nothing = np.zeros(0, int)
    claims = Claims(nothing, nothing, nothing, np.zeros((0, 4)), np.zeros((0, 2, 2)))
    results = Results(cases, choices, claims, ("before", *KINDS))
    return EditorResults("ours", "ours", {}, Ripples(), "", worlds, results, {}, {}, {}, 0)


def test_what_follows_is_counted_hop_by_hop_by_hand():
    """Half of the edits follow everywhere, the third hop included, where the answer should stay."""
    rows = estimate_hops([edits_by_hand()])
    for reading in KINDS:
        ours, floor = rows[reading]["ours"], rows[reading][NO_EDIT]
        assert [ours[f"followed {h}"].value for h in (1, 2)] == [0.5, 0.5]
        assert ours["falsely changed 3"].value == 0.5
        assert ours["followed 3"].cases == ours["falsely changed 1"].cases == 0
        assert ours["edit success"].value == 1
        assert [floor[f"followed {h}"].value for h in (1, 2)] == [0, 0]
        assert floor["damage 3"].value == 0 < ours["damage 3"].value


def test_support_and_frequency_are_told_apart_by_hand():
    """Rare answers follow and common ones do not, whatever the support: all is due to frequency."""
    edits = [edits_by_hand()]
    effects = estimate_effects(edits)["ours"]
    for hop in (1, 2):
        assert effects[f"support, hop {hop}"].value == 0
        assert effects[f"frequency, hop {hop}"].value == -1
    cells = estimate_cells(edits)["ours"]["evidence, 1"]
    names = [f"{frequency} {bin_name}" for frequency in ("rare", "common") for bin_name in SUPPORTS]
    assert {name: e.value for name, e in cells.items()} == {name: name.startswith("rare") for name in names}
    assert all(e.cases == 2 for e in cells.values())
