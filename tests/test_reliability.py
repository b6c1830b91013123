"""Sources of unknown reliability: equal to enumeration of worlds, and of how often each is right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln

from bayes.exact import fit_exact
from bayes.request import EditRequest
from bayes.sources import (
    Reliability,
    Saying,
    hear_sources,
    learn_reliability,
    likelihood_of_sayings,
    mix_distributions,
)
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.text.language import Atom
from tests.enumeration import Enumeration
from tests.examples import holds_for
from tests.test_exact_agent import assert_same, expected, facts_of, own_fact, tiny_world, worlds

TOLERANCE = 1e-10
PRIORS = {0: Reliability(1.0, 1.0), 1: Reliability(8.0, 2.0), 2: Reliability(0.7, 3.5)}
# Random worlds: 120 in all, and 500 in the slow tests.
SAID = {"few": 60, "many": 250}


def random_sayings(rng, agent, count, subjects=None):
    """What sources say of random facts with a truth of their own, settled ones too."""
    graph = agent.graph
    facts = [
        f for f in facts_of(graph, graph.subjects if subjects is None else subjects) if own_fact(agent, f)
    ]
    return [
        Saying(
            int(rng.integers(len(PRIORS))),
            Atom(
                int(graph.subject[f]),
                int(graph.relation[f]),
                int(rng.choice(graph.candidates_of(graph.relation[f]))),
            ),
        )
        for f in rng.choice(facts, count).tolist()
    ]


def after_sayings(every, graph, sayings):
    """float[worlds]: probabilities after what was said: right and wrong counted world by world."""
    right = {source: np.zeros(len(every.p)) for source in PRIORS}
    wrong, log_p = {source: np.zeros(len(every.p)) for source in PRIORS}, np.log(every.p)
    for source, (s, r, o) in sayings:
        is_it = every.z[every.fact[s, r]] == o
        right[source] += is_it
        wrong[source] += ~is_it
        log_p = log_p - ~is_it * np.log(len(graph.candidates_of(r)) - 1)
    for source, (a, b) in PRIORS.items():
        log_p = log_p + betaln(a + right[source], b + wrong[source])
    p = np.exp(log_p - log_p.max())
    return p / p.sum()


def world_of(world):
    seed, config, upstream = world
    graph, _, sentences = tiny_world(seed, config, [0, 1], upstream)
    agent = fit_exact(graph, config, sentences).with_focus([0, 1])
    return agent, Enumeration(graph, config, sentences), np.random.default_rng(seed)


def dense(agent, distributions):
    """What is believed of each fact, its candidates alone."""
    graph = agent.graph
    return [
        row[graph.among_objects[r]] for row, r in zip(distributions, graph.relation.tolist(), strict=True)
    ]


@holds_for(worlds, st.integers(0, 5), **SAID)
def test_what_sources_say_equals_enumeration(world, count):
    """Of settled and open facts, several by one source and several sources about one fact."""
    agent, every, rng = world_of(world)
    sayings = random_sayings(rng, agent, count) + random_sayings(rng, agent, count, [0, 1])[:3]
    every.p = after_sayings(every, agent.graph, sayings)
    mixture = hear_sources(agent, sayings, PRIORS)
    ours = mix_distributions(mixture, agent.graph.subject, agent.graph.relation)
    assert_same(dense(agent, ours), expected(every))


@holds_for(worlds, st.integers(0, 6), **SAID)
def test_one_open_fact_is_beta_binomial(world, count):
    """The closed form: a likelihood of the fact, after what settled facts say of the source."""
    agent, every, rng = world_of(world)
    settled = random_sayings(rng, agent, 4)
    settled = [x for x in settled if agent.known.is_settled(int(agent.graph.find(*x.atom[:2])))]
    fact = int(rng.choice([f for f in facts_of(agent.graph, [0]) if own_fact(agent, f)]))
    s, r = int(agent.graph.subject[fact]), int(agent.graph.relation[fact])
    candidates = agent.graph.candidates_of(r)
    said = rng.integers(len(candidates), size=count)
    sayings = [*settled, *(Saying(0, Atom(s, r, int(candidates[k]))) for k in said)]
    reliability = learn_reliability(agent, settled, PRIORS)[0]
    counts = np.bincount(said, minlength=len(candidates))
    likelihood = np.exp(likelihood_of_sayings(reliability, counts))
    own = agent.distributions(np.array([s]), np.array([r]))[0][agent.graph.among_objects[r]] * likelihood
    every.p = after_sayings(every, agent.graph, sayings)
    assert_same([own / own.sum()], [expected(every)[fact]])


@given(st.integers(0, 30), st.integers(0, 30), st.sampled_from(list(PRIORS)))
def test_reliability_is_what_settled_facts_show(right, wrong, source):
    graph, _, sentences = tiny_world(4, ExactConfig(noise=0.3, label_noise=0.0, logical=0.0), [])
    agent = fit_exact(graph, ExactConfig(noise=0.3, label_noise=0.0, logical=0.0), sentences)
    fact = next(f for f in range(len(graph)) if agent.known.is_settled(f))
    s, r = int(graph.subject[fact]), int(graph.relation[fact])
    truth = agent.predict(s, r).mode()
    other = next(o for o in graph.candidates_of(r).tolist() if o != truth)
    sayings = [Saying(source, Atom(s, r, o)) for o in [truth] * right + [other] * wrong]
    a, b = PRIORS[source]
    learned = learn_reliability(agent, sayings, PRIORS)[source]
    assert learned == (a + right, b + wrong)
    assert learned.mean == pytest.approx((a + right) / (a + b + right + wrong))


@holds_for(worlds, few=25, many=100)
def test_one_statement_counts_as_by_a_source_that_is_right_as_often_as_the_mean(world):
    agent, _, rng = world_of(world)
    (saying,) = random_sayings(rng, agent, 1, [0])
    if agent.known.is_settled(int(agent.graph.find(*saying.atom[:2]))):
        return
    told = agent.with_edit(EditRequest(*saying.atom, form="source", probability=PRIORS[saying.source].mean))
    pairs = agent.graph.subject, agent.graph.relation
    ours = mix_distributions(hear_sources(agent, [saying], PRIORS), *pairs)
    assert_same([ours], [told.distributions(*pairs)])


def test_a_source_without_a_prior_is_refused():
    agent, _, rng = world_of((0, ExactConfig(noise=0.3, logical=0.0), (-1, 0, -1)))
    with pytest.raises(InputError, match="source 9 has no prior"):
        hear_sources(agent, [random_sayings(rng, agent, 1)[0]._replace(source=9)], PRIORS)
