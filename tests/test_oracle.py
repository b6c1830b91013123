"""The oracles: told beliefs, an adapter comes to hold them, and half of the questions are scored."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from lm.editors.interface import Request, edit_batch, make_requests
from lm.editors.self_bayes import FitConfig
from testbed.engine.controls import OracleConfig, OracleWorldConfig
from testbed.engine.controls.oracle import Oracle, beliefs_of, half_of_questions, oracle_world
from testbed.engine.results import halves_of
from testbed.engine.tuning import method_named
from testbed.evaluations.hase import ROLES, SPOT_CHECKS
from testbed.protocol import hide_spot_checks
from testbed.run.agents import paper_agent
from testbed.scores.gather import pool_results
from testbed.scores.summary import measure_reader
from testbed.settings import EditSettings
from tests.edited import HASE, hase_cases
from tests.forks import fork_world, write_random_answers
from tests.random_answers import draw_answers, flat

seeds = st.integers(0, 2**32 - 1)


def told(world, beliefs):
    """One request of facts with their probabilities."""
    facts = [fact for fact, _ in beliefs]
    one = make_requests(world.tokenizer, facts, np.ones(len(facts)), [p for _, p in beliefs])
    return Request(*(jnp.asarray(x)[:, 0] for x in one))


def test_facts_of_one_prompt_are_one_belief(world):
    graph = world.graph
    (s, t), r, (a, b) = graph.subject[[0, -1]].tolist(), int(graph.relation[0]), graph.objects[:2].tolist()
    nothing = [((s, r, a), 0.0)] * 2
    asked = [((s, r, a), 0.6), ((s, r, b), 0.2), ((t, r, b), 0.5), ((t, r, b), 0.0), *nothing]
    targets = beliefs_of(told(world, asked), 2)
    np.testing.assert_allclose(targets.share, [0.8, 0.5, 0.0])
    np.testing.assert_allclose(targets.probability, [[0.75, 0.25], [1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(targets.weight, [1, 1, 0], "what only fills up weighs nothing")
    np.testing.assert_array_equal(targets.prompts[0], targets.prompts[2])
    assert (np.asarray(targets.prompts[0]) != np.asarray(targets.prompts[1])).any()
    np.testing.assert_array_equal(targets.objects[0, :, 0], [world.tokenizer.entity(o)[0] for o in (a, b)])


@pytest.mark.slow
def test_an_edit_comes_near_what_it_was_told(toy, monkeypatch):
    """Soft answers about three subjects; one adapter of this size does not hold all of them to the end."""
    world, graph = toy.world, toy.world.graph
    subjects = np.unique(graph.subject)[:3].tolist()
    (r,), objects = np.unique(graph.relation)[:1].tolist(), graph.objects.tolist()
    pairs = ((0, 0.6), (1, 0.3))
    request = told(world, [((s, r, objects[i + k]), p) for i, s in enumerate(subjects) for k, p in pairs])
    monkeypatch.setattr(Oracle, "named", 2)
    editor = Oracle(OracleConfig(FitConfig(steps=80, tolerance=0.01, learning_rate=0.01)))
    batch = jax.tree.map(lambda x: x[None], request)
    state = editor.prepare(toy.model, toy.sample)
    deltas, _ = edit_batch(editor, toy.model, state, batch, toy.keys[:1])
    edited = toy.model.with_delta(jax.tree.map(lambda x: x[0], deltas))
    targets = beliefs_of(request, 2)

    def far(model):
        said = jax.nn.softmax(model.unembed(model.read_prompts(targets.prompts).hidden))
        p = np.take_along_axis(np.asarray(said), np.asarray(targets.objects[..., 0]), axis=1)
        return np.abs(p - [0.6, 0.3]).sum(axis=1)

    assert far(edited).mean() < 0.5 * far(toy.model).mean()
    assert far(edited).min() < 0.1


@pytest.fixture(scope="module")
def fork():
    world = fork_world()
    return world, hase_cases(world, paper_agent(world), 40)


def pairs_of(case):
    return {(c.subject, c.relation) for c in case.choices}


def test_documents_told_are_of_the_request_and_the_likeliest_of_half_of_the_questions(fork):
    world, cases = fork
    method = method_named("documents-told", replace(EditSettings(), agent="paper"), world)
    first, *more = method.tell_facts(cases[0])
    assert first.fact == cases[0].requested_fact
    assert method.editor.first == 1
    assert [fact[:2] for fact, _, _ in more] == [*half_of_questions(hide_spot_checks(cases[0]), 0)]


def test_half_of_the_questions_is_drawn_by_subject(fork):
    """Of the subject's facts half, of the others half with all that is asked of them; a seed, a half."""
    halves, sizes = {}, []
    for case in map(hide_spot_checks, fork[1]):
        s = case.request.subject
        half = half_of_questions(case, 0)
        assert half == half_of_questions(case, 0)
        assert len(set(half)) == len(half)
        assert set(half) < pairs_of(case) - {case.request[:2]}
        others = {pair for pair in pairs_of(case) if pair[0] != s}
        subjects = {t for t, _ in half if t != s}
        assert {pair for pair in half if pair[0] != s} == {pair for pair in others if pair[0] in subjects}
        own = pairs_of(case) - others - {case.request[:2]}
        for drawn, whole in (
            (len(half_own := set(half) & own), len(own)),
            (len(subjects), len({t for t, _ in others})),
        ):
            assert drawn in (whole // 2, (whole + 1) // 2)
        sizes.append((len(half_own), len(own)))
        halves[case.requested_fact] = half != half_of_questions(case, 1)
    assert np.mean([*halves.values()]) > 0.5
    drawn, whole = np.sum(sizes, axis=0)
    assert 0.4 < drawn / whole < 0.6


def test_what_was_told_is_written_and_read(fork, tmp_path):
    world, cases = fork
    method = method_named("oracle", EditSettings(), world)
    told = [method.facts_besides_request(case) for case in cases]
    results = write_random_answers(world, cases, tmp_path, told=told)
    c = results.choices
    for row, case in enumerate(c.case):
        assert c.is_told[row] == ((c.subject[row], c.relation[row]) in told[case])
    assert not c.is_told[np.isin(c.role, (*SPOT_CHECKS, "s1r1"))].any()
    assert 0.3 < c.is_told[~np.isin(c.role, (*SPOT_CHECKS, "s1r1"))].mean() < 0.7
    assert not write_random_answers(world, cases, tmp_path).choices.is_told.any(), (
        "whoever is told the request alone"
    )


@given(seeds)
def test_every_question_is_in_one_half_and_the_request_in_both(seed):
    results = told_some(seed)
    other, fitted = halves_of(results)
    assert (other.choices.role == "s1r1").sum() == (fitted.choices.role == "s1r1").sum() == len(results)
    assert len(other.choices.case) + len(fitted.choices.case) == len(results.choices.case) + len(results)
    assert not other.choices.is_told.any()
    for half in (other, fitted):
        assert len(half) == len(results)
        assert len(half.recalibrated) == len(half.choices.lm)
    assert not np.isin(fitted.choices.role, SPOT_CHECKS).any()


def told_some(seed, share=0.5):
    """Random answers, some of whose questions were told: neither the request nor a spot check."""
    results = flat(draw_answers(seed))
    c, rng = results.choices, np.random.default_rng(seed)
    is_request = c.role == "s1r1"
    is_told = ~is_request & ~np.isin(c.role, SPOT_CHECKS) & (rng.random(len(c.case)) < share)
    is_told[np.flatnonzero(c.role == "s1rx")[:1]] = True
    cases = results.cases | {"subject": np.zeros(len(results), int), "relation": np.zeros(len(results), int)}
    relation = np.where(is_request, 0, 1)
    return replace(results, cases=cases, choices=c._replace(is_told=is_told, relation=relation))


@given(seeds)
def test_whoever_only_fits_what_it_was_told_has_nothing_in_the_other_half(seed):
    """The gold on what was told, elsewhere no edit: skill 1 in one half and 0 in the other."""
    results = told_some(seed)
    c = results.choices
    lm, answer = c.lm.copy(), c.lm_answer.copy()
    lm[:, 1] = np.where(c.is_told[:, None], c.agent[:, 1], lm[:, 0])
    answer[:, 1] = np.where(c.is_told, c.agent_answer[:, 1], answer[:, 0])
    other, fitted = halves_of(replace(results, choices=c._replace(lm=lm, lm_answer=answer)))
    skills = []
    for half in (other, fitted):
        measured = measure_reader(HASE, half, HASE.readers(half, "x")["x"])
        skills.append(measured["skill"].value())
        assert measured["damage"].value() == 0 or not measured["damage"].denominator.sum()
    assert skills == [pytest.approx(0), pytest.approx(1)]


@given(seeds)
def test_halves_of_pools_are_pools_of_halves(seed):
    results = told_some(seed)
    results = replace(results, cases=results.cases | {"cluster": np.arange(len(results))})
    whole = halves_of(pool_results([results, results], [0, 1]))
    for half, part in zip(whole, halves_of(results), strict=True):
        np.testing.assert_array_equal(half.choices.lm, np.concatenate([part.choices.lm] * 2))


def test_who_was_told_nothing_or_everything_has_one_half():
    results = told_some(0)
    for is_told in (np.zeros_like(results.choices.is_told), results.choices.role != "s1r1"):
        same = replace(results, choices=results.choices._replace(is_told=is_told))
        assert halves_of(same) == (same, None)
    assert len(ROLES) > 10


@pytest.mark.parametrize("evaluation", ["taxi", "seesaw", "leme"])
def test_other_evaluations_refuse_to_be_halved(evaluation, fork):
    with pytest.raises(InputError, match="can_be_halved"):
        method_named("oracle", EditSettings(evaluation=evaluation), fork[0])


def test_the_oracle_of_a_world_is_told_all_the_agent_believes(fork):
    world, cases = fork
    agent, graph = paper_agent(world), world.graph
    method = method_named("oracle-world", EditSettings(), world)
    named = method.editor.named
    for case in cases[:2]:
        told = method.tell_facts(case)
        pairs = [belief.fact[:2] for belief in told[::named]]
        assert pairs[0] == case.request[:2]
        assert len(pairs) == len(set(pairs)) == len(graph)
        own = {(case.request.subject, int(graph.relation[i])) for i in range(len(graph))
               if graph.subject[i] == case.request.subject}  # fmt: skip
        assert own <= set(pairs[: method.editor.first])
        after = agent.with_edit(case.request)
        for pair in (pairs[1], pairs[-1]):
            for belief in told:
                if belief.fact[:2] == pair and belief.credence:
                    assert belief.credence == pytest.approx(
                        after.predict(*pair).of(np.array([belief.fact[2]]))[0]
                    )
    with pytest.raises(InputError, match="use oracle"):
        oracle_world(OracleWorldConfig(most=10), EditSettings(), world)
