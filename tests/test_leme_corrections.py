"""Facts that a corpus states wrongly: who reads it believes them, exactly, and LEME corrects them."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from bayes.exact import fit_exact
from bayes.request import EditRequest
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.exact import draw_world, sample_exact
from corpus.resolution import TOLERANCE
from corpus.text.language import Kind
from testbed.evaluations.leme import COUPLED, EDIT, Leme
from testbed.evaluations.leme import metrics as m
from testbed.evaluations.leme.standard import standards_of_cases
from tests.enumeration import Enumeration
from tests.examples import holds_for
from tests.test_exact import tiny_graph
from tests.test_exact_agent import assert_same, beliefs, expected, seeds
from tests.test_leme import written
from tests.test_links import SHAPES, linked_graph
from tests.worlds import make_coupled

SHARE = 0.2
THIRDS = {"samples": 2, "longest": 40, "injections": 1 / 3, "corrections": 1 / 3}


def planted_facts(world):
    return np.flatnonzero(world.generative.truth != world.graph.object)


def heads(graph):
    """Facts on which a fact of another subject depends."""
    above = graph.upstream_fact
    return {
        int(above[f])
        for f in range(len(graph))
        if above[f] >= 0 and graph.subject[f] != graph.subject[above[f]]
    }


@pytest.fixture(scope="module")
def place():
    return make_coupled(pairs=30, planted=SHARE)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_a_share_of_the_facts_from_which_couplings_start_is_planted(seed, share):
    world, _ = make_coupled(pairs=20, seed=seed, planted=share)
    plain, _ = make_coupled(pairs=20, seed=seed)
    stated = [f for f in heads(world.graph) if not world.graph.silent[f]]
    planted = planted_facts(world)
    assert len(planted) == round(share * len(stated))
    assert {*planted.tolist()} <= {*stated}
    # The world is the same; only what is told of it differs.
    np.testing.assert_array_equal(world.graph.object, plain.graph.object)
    for f in planted:
        assert world.generative.truth[f] in world.graph.candidates_of(int(world.graph.relation[f]))


def test_the_corpus_states_the_false_object_and_what_depends_on_it_as_it_is(place):
    world, _ = place
    graph, sentences = world.graph, world.sentences
    said = {}
    for i in np.flatnonzero(sentences.kind == Kind.ATOMIC):
        s, r, o = sentences.a[i].tolist()
        said.setdefault(int(graph.find(s, r)), Counter())[o] += 1
    planted = planted_facts(world).tolist()
    for f, counts in said.items():
        wanted = world.generative.truth[f] if f in planted else graph.object[f]
        assert sum(counts.values()) < 8 or counts.most_common(1)[0][0] == wanted
    of_planted = sum((said[f] for f in planted), Counter())
    others = [f for f in heads(graph) if f in said and f not in planted]
    mean = [np.mean([sum(said[f].values()) for f in facts]) for facts in (planted, others)]
    assert mean[0] == pytest.approx(mean[1], rel=0.15)
    true = sum(said[f][int(graph.object[f])] for f in planted)
    assert true / sum(of_planted.values()) < 0.1


def test_who_reads_it_believes_the_false_object_and_after_a_correction_the_truth(place):
    world, agent = place
    graph = world.graph
    for f in planted_facts(world).tolist():
        s, r, true, told = (
            int(graph.subject[f]),
            int(graph.relation[f]),
            graph.object[f],
            world.generative.truth[f],
        )
        assert agent.predict(s, r).of(told) > 1 - TOLERANCE
        for kind in ("correction", "do"):
            assert agent.accepts(s, r, kind)
            edited = agent.with_edit(EditRequest(s, r, int(true), np.inf, kind))
            assert edited.predict(s, r).of(true) == pytest.approx(1)


@holds_for(seeds, st.sampled_from([*SHAPES]), few=20, many=100)
def test_beliefs_before_and_after_a_correction_equal_enumeration(seed, shape):
    rng = np.random.default_rng(seed)
    config = ExactConfig(planted=1.0, statements=8, logical=0.0, label_noise=0.1)
    linked = linked_graph(rng, shape, size=3)
    # A graph may lack every fact on which one of another subject depends; there is nothing to plant then.
    assume(heads(linked))
    graph, model = draw_world(linked, config, rng, redraw=True)
    sentences, _ = sample_exact(graph, model, config, rng)
    agent = fit_exact(graph, config, sentences).with_focus(graph.subjects.tolist())
    assert_same(beliefs(agent), expected(Enumeration(graph, config, sentences)))
    assume((model.truth != graph.object).any())
    f = int(rng.choice(np.flatnonzero(model.truth != graph.object)))
    s, r, true = int(graph.subject[f]), int(graph.relation[f]), int(graph.object[f])
    corrected = agent.with_edit(EditRequest(s, r, true, np.inf, "correction"))
    assert_same(beliefs(corrected), expected(Enumeration(graph, config, sentences, [(f, true, np.inf)])))
    changed = agent.with_edit(EditRequest(s, r, true, np.inf, "do"))
    after = Enumeration(graph, config, sentences).after_do(f, true, 1.0)
    for fact, belief in after.items():
        assert_same([beliefs(changed)[fact]], [list(belief.values())])


def test_a_third_of_the_edits_are_corrections_to_the_truth(place, tmp_path):
    world, agent = place
    evaluation = Leme(**THIRDS)
    cases = list(evaluation.make_cases(world, agent, 24, 0.95, 0))
    facts = [int(world.graph.find(*case.requested_fact[:2])) for case in cases]
    planted = planted_facts(world).tolist()
    corrected = [f for f, case in zip(facts, cases, strict=True) if case.requested_fact[2] == case.truth]
    assert len(cases) == 24
    assert len(corrected) == len({*corrected}) == 8
    # What is planted is corrected, and nothing else is done to it.
    assert {*corrected} == {*facts} & {*planted}
    for f, case in zip(facts, cases, strict=True):
        assert case.truth == world.graph.object[f]
        assert case.requested_fact[2] != world.generative.truth[f]
    results = written(place, cases, tmp_path, evaluation)
    kind = m.kinds_of_edits(results)
    says_new = kind == m.TRUE
    assert Counter(kind[~says_new].tolist()).keys() == {m.CORRECTION, m.INJECTION, m.UPDATE}
    for i, (f, standard) in enumerate(zip(facts, standards_of_cases(results, 2), strict=True)):
        if f in planted:
            assert kind[i] in (m.CORRECTION, m.TRUE)
            assert standard.old == world.generative.truth[f]
            assert standard.request[2] == world.graph.object[f]
    writer = evaluation.readers(results, "somebody")[m.readers.BAYESIAN]
    assert evaluation.measure(results, writer)[m.EDIT_SUBJECT].value() == 1


def test_a_correction_makes_what_the_corpus_says_of_a_couple_agree(place):
    world, agent = place
    cases = list(
        Leme(**THIRDS | {"injections": 0.0, "corrections": 1.0}).make_cases(world, agent, 10, 0.95, 0)
    )
    assert len(cases) == 10
    for case in cases:
        (edit,), (coupled,) = ([c for c in case.choices if c.role == role] for role in (EDIT, COUPLED))
        assert edit.answer.tolist()[1:] == [case.truth, case.truth]
        assert edit.answer[0] != case.truth
        # In this world coupled entities always have the same object; where it was stated, it was all along.
        if coupled.stated:
            assert coupled.answer.tolist() == [case.truth] * 3


def test_where_nothing_is_planted_nothing_is_corrected(place):
    with pytest.raises(InputError, match="build one that does with --exact.planted"):
        next(iter(Leme(**THIRDS).make_cases(*make_coupled(), 6, 0.95, 0)))
    cases = list(Leme().make_cases(*place, 60, 0.95, 0))
    assert all(case.requested_fact[2] != case.truth for case in cases)
    for wrong in ({"corrections": -0.1}, {"corrections": 0.8}):
        with pytest.raises(ValueError, match="sum to 1"):
            Leme(**wrong)


def test_worlds_without_couplings_have_nothing_to_plant():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="--world.source coupled"):
        draw_world(tiny_graph(rng, 4, 3), ExactConfig(planted=0.1), rng, redraw=True)
    with pytest.raises(InputError, match="--exact.correctable"):
        draw_world(make_coupled()[0].graph, ExactConfig(planted=0.1, correctable=False), rng, redraw=False)
