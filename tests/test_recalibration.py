"""The unedited model recalibrated on facts that no case asks: which these are, and what is fitted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.questions import Questions
from testbed.engine.unasked import ask_unasked_facts
from testbed.examination import write_temperatures
from testbed.protocol import hide_spot_checks
from testbed.run.agents import paper_agent
from testbed.run.strata import STRATA, strata_of
from testbed.scores.gather import pool_results
from testbed.scores.readers import NO_EDIT, RECALIBRATED, RECALIBRATED_BY_STRATUM
from testbed.scores.recalibration import FEWEST, fit_temperatures, recalibrate_results
from testbed.scores.temperature import temper
from tests.edited import hase_cases
from tests.random_answers import CASES, HASE, distributions, draw_answers, flat

SEEDS = st.integers(0, 2**32 - 1)


def asked_pairs(cases):
    """Subject and relation of all that cases ask for or claim, spot checks apart."""
    pairs = {(c.subject, c.relation) for case in cases for c in hide_spot_checks(case).choices}
    return pairs | {
        atom[:2] for case in cases for claim in case.claims for atom in claim.sentence[2:4] if atom
    }


def test_no_case_asks_for_them_and_both_answer_as_when_asked(toy):
    agent, cases = paper_agent(toy.world), hase_cases(toy.world, paper_agent(toy.world), 3)
    facts = ask_unasked_facts(toy.world, toy.model, agent, cases, 0)
    graph, asked = toy.world.graph, asked_pairs(cases)
    free = [i for i in range(len(graph)) if (graph.subject[i], graph.relation[i]) not in asked]
    assert 0 < len(facts.stated) == len(free), "the toy has fewer facts than are drawn"
    beliefs = agent.distributions(graph.subject[free], graph.relation[free])
    np.testing.assert_allclose(facts.agent.max(1), beliefs.max(1))
    assert (facts.model.sum(1) <= 1 + 1e-5).all()
    whole = hase_cases(toy.world, agent, 12)
    answers = Questions(toy.world, toy.model, whole).answers_before(np.arange(len(whole))[:, None])
    mine = [
        (float(answers.ended[i, q, int(choice.agent[0].argmax())]), float(choice.agent[0].max()))
        for i, case in enumerate(whole)
        for q, choice in enumerate(case.choices)
        if (choice.subject, choice.relation) in {(graph.subject[f], graph.relation[f]) for f in free}
    ]
    said = list(
        zip(facts.model[np.arange(len(free)), facts.agent.argmax(1)], facts.agent.max(1), strict=True)
    )
    for one in mine:
        assert min(np.abs(np.array(one) - other).max() for other in said) < 1e-4


def test_of_a_world_that_is_asked_whole_nothing_is_fitted(toy):
    agent = paper_agent(toy.world)
    cases = hase_cases(toy.world, agent, 400)
    facts = ask_unasked_facts(toy.world, toy.model, agent, cases, 0)
    assert len(facts.stated) < FEWEST
    assert fit_temperatures(*facts) is None


@given(SEEDS)
def test_the_temperature_of_each_stratum_is_found(seed):
    rng = np.random.default_rng(seed)
    stated = rng.choice([0, 2, 9], 120)
    agent = distributions(rng, 120)
    true = dict(zip(STRATA, rng.uniform(0.5, 3, 3), strict=True))
    model = temper(agent, np.array([1 / true[name] for name in strata_of(stated)]))
    fitted = fit_temperatures(stated, model, agent)
    for name, temperature in fitted.by_stratum.items():
        assert temperature == pytest.approx(true[name], rel=0.05)
    assert sum(fitted.facts.values()) == 120


def test_results_know_the_references_and_pools_keep_them(tmp_path):
    results, path = flat(draw_answers(3)), tmp_path / "recalibrated" / "x.json"
    bare = recalibrate_results(results.__class__(**vars(results) | {"recalibrated": None}), path)
    assert RECALIBRATED not in HASE.readers(bare, "x")
    rng = np.random.default_rng(0)
    stated, agent = np.repeat([0, 9], 30), distributions(rng, 60)
    write_temperatures(path, fit_temperatures(stated, temper(agent, np.where(stated > 0, 0.5, 0.8)), agent))
    known = recalibrate_results(bare, path)
    readers = HASE.readers(known, "x")
    lm = known.choices.lm[:, 0]
    expected = temper(lm, np.where(known.choices.stated > 3, 2.0, 1.25))
    surely = strata_of(known.choices.stated) != "S1"
    np.testing.assert_allclose(
        readers[RECALIBRATED_BY_STRATUM].probability[surely], expected[surely], atol=0.02
    )
    assert (readers[RECALIBRATED].answer == readers[NO_EDIT].answer).all()
    pooled = pool_results([known, known], [0, 1])
    np.testing.assert_array_equal(pooled.recalibrated, np.concatenate([known.recalibrated] * 2))
    assert pool_results([known, bare], [0, 1]).recalibrated is None
    write_temperatures(path, None)
    assert recalibrate_results(bare, path).recalibrated is None


@given(SEEDS, st.integers(0, CASES - 1))
def test_no_case_s_own_gold_moves_its_own_temperatures(seed, case):
    """What the agent believes of a case is what other cases are fitted to, and never the case itself."""
    results = flat(draw_answers(seed))
    c, rng = results.choices, np.random.default_rng(seed)
    mine = c.case == case
    gold = np.where(mine[:, None, None], distributions(rng, len(c.case), c.agent.shape[1]), c.agent)
    other = replace(results, choices=c._replace(agent=gold))
    before, after = (HASE.readers(of, "x")["x"].temperatures for of in (results, other))
    np.testing.assert_array_equal(before[mine], after[mine])
    moved = (before != after).any(1)
    assert set(c.case[moved] % 2) <= {1 - case % 2}
