"""Several judges of the same edits: all hear the same requests, and votes are as wrong as said."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.studies import readings
from experiments.studies.readings import PRIORS, READINGS, count_votes, distance_table, draw_requests
from testbed.evaluations.hase import CHILD, REQUEST
from testbed.presets import EDIT
from testbed.run.agents import agent_named, paper_agent
from testbed.run.runs import Run
from testbed.run.settings import PaperAgentConfig, change_settings
from testbed.run.world import load_world
from testbed.scores.metric import Metric, mean_of
from testbed.scores.statistics import Estimate
from tests.edited import hase_cases
from tests.worlds import make_world

SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def world():
    return make_world(subjects=60, upstream_objects=8, downstream_objects=5)


def beliefs_of(world, prior):
    agent = paper_agent(world, PaperAgentConfig(prior=prior))
    return [agent.distributions(world.graph.subject, world.graph.relation, b) for b in ("best", "direct")]


def test_a_mass_of_one_and_one_for_each_object_have_names(world):
    for name, mass in (("one", 1.0), ("ones", float(len(world.graph.objects)))):
        np.testing.assert_array_equal(beliefs_of(world, name), beliefs_of(world, mass))


@given(mass=st.floats(0.01, 1000))
def test_a_mass_is_so_many_statements_of_no_object_in_particular(world, mass):
    """What the direct belief in each object exceeds chance by, times all that was counted, stays."""
    one, other = (beliefs_of(world, prior)[1] - 1 / len(world.graph.objects) for prior in ("one", mass))
    agent, about = paper_agent(world), (world.graph.subject, world.graph.relation)
    counted = agent.observed.total[agent._row_key(*about)][:, None]
    np.testing.assert_allclose(other * (counted + mass), one * (counted + 1), atol=1e-9)


@pytest.mark.parametrize("mass", [0.0, -1.0, float("inf"), float("nan")])
def test_a_prior_has_a_positive_mass(mass):
    with pytest.raises(ValueError, match="prior must be"):
        PaperAgentConfig(prior=mass)


def test_all_judges_hear_the_same_requests_and_are_asked_the_same(built):
    run = Run(built, "x")
    world, requests = load_world(run), draw_requests(run, 12, 0)
    heard = []
    for changes in READINGS.values():
        settings = change_settings(EDIT["tiny"], changes)
        agent = agent_named(settings.agent, world, settings.paper_agent)
        cases = hase_cases(world, agent, 12, sampler="published", requests=requests)
        heard.append([(case.requested_fact, [choice[:3] for choice in case.choices]) for case in cases])
    assert len(heard[0]) == 12
    assert all(one == heard[0] for one in heard)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1), SEEDS)
def test_voters_answer_what_is_asked_and_nothing_else(answers, seed):
    so, asked = np.array(answers).T
    metric = mean_of(so, asked)
    votes = count_votes(metric, np.random.default_rng(seed))
    np.testing.assert_array_equal(votes.denominator, metric.denominator)
    assert ((votes.numerator == 0) | (votes.numerator == votes.denominator)).all()


def test_a_majority_of_three_is_wrong_in_28_of_1000():
    metric = mean_of(np.arange(100_000) % 3 == 0)
    votes = count_votes(metric, np.random.default_rng(0))
    wrong = votes.numerator != metric.numerator
    assert wrong.mean() == pytest.approx(3 * 0.1**2 * 0.9 + 0.1**3, abs=0.002)
    assert wrong[metric.numerator == 1].mean() == pytest.approx(
        wrong[metric.numerator == 0].mean(), abs=0.005
    )


class Made(SimpleNamespace):
    """Results of so many cases."""

    def __len__(self):
        return len(self.cases["child"])


def editor_judged(by, model):
    """An editor's one edit, with a consequence, as an agent judges it that gives each answer so much."""
    choices = SimpleNamespace(
        case=np.zeros(2, int), role=np.array([REQUEST, CHILD]),
        agent=np.array([[[by, 1 - by]] * 2] * 2), lm=np.array([[[0.5, 0.5], [model, 1 - model]]] * 2),
    )  # fmt: skip
    results = Made(cases={"child": np.ones(1, bool), "reinforces": np.zeros(1, bool)}, choices=choices)

    def estimate(metric: Metric, among):
        return Estimate(metric.take(np.flatnonzero(among)).value(), 0, 1, 1)

    return SimpleNamespace(name="x", edits=SimpleNamespace(results=results), estimate=estimate)


@given(st.integers(0, len(PRIORS) - 1))
def test_the_nearest_prior_is_the_one_that_the_model_agrees_with(which):
    believed = {prior: 0.9 - 0.1 * i for i, prior in enumerate(PRIORS)}
    by = {prior: [editor_judged(p, believed[PRIORS[which]])] for prior, p in believed.items()}
    before, after = distance_table(by, "consequence").rows
    assert after[1] == PRIORS[which]
    assert after[2 + which].value == 0
    assert before[1] == PRIORS[-1], "the unedited model says even odds"
    assert [cell.value for cell in before[2:]] == pytest.approx([0.4, 0.3, 0.2, 0.1])


def test_every_judge_that_a_table_names_is_one():
    assert {*PRIORS, *readings.PRINTED, readings.EXACT} == READINGS.keys()
