"""Edits on top of each other in the study: who is spared, what the agent does, what counts, half-lives."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bayes.request import EditRequest
from experiments.studies import edit_sequences
from experiments.studies.batch_tuning import BatchTuning, follow_training
from experiments.studies.edit_sequences import (
    CREDENCE,
    ModelAnswers,
    Stream,
    draw_stream,
    follow_agent,
    follow_editor,
    make_single_requests,
    train_facts,
)
from experiments.studies.many_edits import (
    AT_ONCE,
    CHANGED,
    EDITORS,
    FOLLOWS,
    LATER,
    LATEST,
    OTHERS,
    Settings,
    WorldAnswers,
    fit_half_life,
    method_of,
    metrics_at,
    training_of,
    weights_of,
)
from lm.editors.interface import CorpusSample, Request, make_requests, vocabulary_of
from testbed.engine.checks import prepare_editor
from testbed.run.agents import paper_agent
from testbed.run.model import load_model
from testbed.run.runs import Run
from testbed.run.strata import support_of
from testbed.run.world import load_world

EDITS, MARKS = 9, [1, 9]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.data())
def test_the_latest_requests_are_those_that_no_later_one_replaces(facts, data):
    count = data.draw(st.integers(1, len(facts)))
    stream = Stream(np.array(facts), np.zeros(len(facts), int), np.zeros(5, bool))
    expected = [i for i in range(count) if facts[i] not in facts[i + 1 : count]]
    assert stream.latest(count).tolist() == expected


@pytest.fixture(scope="module")
def stream_case(built):
    """World, agent, requests and what the agent makes of them."""
    world = load_world(Run(built, "x"))
    stream = draw_stream(world, EDITS, 3)
    return world, stream, follow_agent(paper_agent(world), world, stream, MARKS)


def test_a_cause_is_of_the_same_subject_and_of_the_relation_upstream(stream_case):
    graph = stream_case[0].graph
    for fact, cause in enumerate(graph.upstream_fact.tolist()):
        if cause >= 0:
            assert graph.subject[cause] == graph.subject[fact]
            assert graph.relation[cause] == graph.upstream[graph.relation[fact]]
        else:
            known_relations = graph.relation[graph.subject == graph.subject[fact]]
            assert graph.upstream[graph.relation[fact]] not in known_relations


def test_requests_contradict_and_spare_whole_subjects(stream_case):
    world, stream, _ = stream_case
    assert (stream.objects != world.generative.truth[stream.facts]).all()
    assert not stream.spared[stream.facts].any()
    assert stream.spared.any()
    for s in np.unique(world.graph.subject):
        assert len(set(stream.spared[world.graph.subject == s].tolist())) == 1
    again = draw_stream(world, EDITS, 3)
    np.testing.assert_array_equal(again.facts, stream.facts)
    np.testing.assert_array_equal(again.objects, stream.objects)


def test_the_agent_makes_every_edit_in_its_order(stream_case):
    """Against one edit after another and one question after another; of all subjects, and of each alone."""
    world, stream, followed = stream_case
    graph, fresh = world.graph, paper_agent(world)

    def answers_of(agent, facts):
        pairs = zip(graph.subject[facts].tolist(), graph.relation[facts].tolist(), strict=True)
        return [agent.predict(s, r).mode() for s, r in pairs]

    def make_edits(agent, which):
        for fact, obj in zip(stream.facts[which].tolist(), stream.objects[which].tolist(), strict=True):
            s, r = int(graph.subject[fact]), int(graph.relation[fact])
            agent = agent.with_edit(EditRequest(s, r, obj, agent.weight_for(s, r, obj, CREDENCE)))
            assert agent.predict(s, r, "direct").mode() == obj
        return agent

    every = np.arange(len(graph))
    assert followed.before.tolist() == answers_of(fresh, every)
    assert followed.answers_of_all[-1].tolist() == answers_of(make_edits(fresh, np.arange(EDITS)), every)
    subjects = graph.subject[stream.facts]
    for subject in np.unique(graph.subject).tolist():
        own, facts = np.flatnonzero(subjects == subject), np.flatnonzero(graph.subject == subject)
        assert followed.answers[-1][facts].tolist() == answers_of(make_edits(fresh, own), facts)
    assert followed.moved[-1].any()
    assert not (followed.moved[-1] & (followed.answers[-1] == followed.before)).any()
    assert not followed.moved[-1][~np.isin(graph.subject, subjects)].any()


def pretend(stream_case, answers, **changes):
    """An editor after which the model answers so, and which knew what the agent knew."""
    world, _, agent = stream_case
    facts = len(world.graph)
    model = ModelAnswers(
        np.ones(EDITS, bool), agent.before, np.array([agent.before, answers]), np.zeros(facts),
        np.zeros((2, facts)), np.ones(2), np.ones(2, int), answers, np.array(1.0), np.array(1.0),
    )  # fmt: skip
    return WorldAnswers(*stream_case, replace(model, **changes))


def test_who_answers_as_the_agent_is_perfect_and_who_changes_nothing_is_not(stream_case):
    _, stream, agent = stream_case
    perfect = metrics_at(pretend(stream_case, agent.answers[-1]), EDITS, 1)
    values = {name: metric.value() for name, metric in perfect.items()}
    for name in (AT_ONCE, LATEST, LATER, OTHERS):
        assert values[name] == 1, name
    assert values[CHANGED] == 0
    nothing = metrics_at(pretend(stream_case, agent.before), EDITS, 1)
    assert nothing[LATEST].value() == 0
    assert nothing[OTHERS].value() == 1
    if nothing[FOLLOWS].denominator.any():
        assert nothing[FOLLOWS].value() == 0
        assert perfect[FOLLOWS].value() == 1
    assert nothing[LATEST].denominator.sum() <= len(np.unique(stream.facts))


def test_what_follows_is_supported_and_was_not_requested(stream_case):
    world, stream, agent = stream_case
    metrics = metrics_at(pretend(stream_case, agent.answers[-1]), EDITS, 1)
    cause, latest = world.graph.upstream_fact, stream.latest(EDITS)
    wanted = dict(zip(stream.facts[latest].tolist(), stream.objects[latest].tolist(), strict=True))
    support = support_of(world)
    for fact in np.flatnonzero(metrics[FOLLOWS].denominator):
        assert agent.moved[-1][fact]
        assert support[world.graph.relation[cause[fact]], wanted[cause[fact]]] >= 2
        assert fact not in stream.facts
    assert not (metrics[CHANGED].denominator.astype(bool) & agent.moved[-1]).any()


@hypothesis_settings(deadline=None, max_examples=10)
@given(st.floats(3, 3000), st.integers(0, 99))
def test_a_half_life_is_found_again(truth, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(1, int(4 * truth) + 2, 500)
    found = fit_half_life(age, rng.random(500) < np.exp2(-age / truth))
    assert found.low <= found.edits <= found.high
    assert found.low / 1.3 < truth < found.high * 1.3


def test_a_half_life_of_what_is_never_lost_has_a_least():
    found = fit_half_life(np.arange(1, 101), np.ones(100, bool))
    assert np.isinf(found.edits)
    assert np.isinf(found.high)
    assert found.low > 100
    assert fit_half_life(np.zeros(3), np.ones(3, bool)).requests == 0


def test_who_edits_is_an_editor_or_is_refused():
    with pytest.raises(ValueError, match="not among"):
        Settings(editors=("memitt",))
    assert Settings(edits=1000).marks == [1, 10, 100, 1000]
    assert Settings(edits=30).marks == [1, 10, 30]
    assert [run.name for run in Settings(worlds=2).world_runs] == ["demo-worlds-1", "demo-worlds-2"]


def test_facts_are_asked_in_batches_as_all_at_once(stream_case, monkeypatch):
    world, facts = stream_case[0], np.arange(len(stream_case[0].graph))
    agent, before = paper_agent(world), np.zeros(len(facts), int)
    whole = edit_sequences.best_answers(agent, world, facts, before)
    monkeypatch.setattr(edit_sequences, "FACTS_AT_ONCE", 7)
    for together, batch_by_batch in zip(
        whole, edit_sequences.best_answers(agent, world, facts, before), strict=True
    ):
        np.testing.assert_array_equal(batch_by_batch, together)


def test_one_world_of_many_facts_takes_no_choice_among_worlds():
    assert [run.name for run in Settings(scale="laptop").world_runs] == ["pretrain-paper-laptop"]
    with pytest.raises(ValueError, match="there is one world"):
        Settings(scale="laptop", worlds=2)
    assert [run.name for run in Settings(development=True).world_runs] == ["demo-worlds-0"]
    with pytest.raises(ValueError, match="there is one world"):
        Settings(development=True, first=2)
    assert [run.name for run in Settings(on=("x", "y")).world_runs] == ["x", "y"]
    with pytest.raises(ValueError, match="on names runs"):
        Settings(on=("x",), worlds=2)


@pytest.mark.slow
def test_surprise_is_asked_in_batches_as_all_at_once(trained, monkeypatch):
    run = Run(trained, "x")
    world = load_world(run)
    model, _ = load_model(run, world)
    graph, truth = world.graph, world.generative.truth
    triples = [*zip(graph.subject.tolist(), graph.relation.tolist(), truth.tolist(), strict=True)]
    facts = make_requests(world.tokenizer, triples, np.zeros(len(triples)), np.ones(len(triples)))
    facts = Request(*(x[:, 0] for x in facts))
    every = np.arange(len(triples))
    whole = edit_sequences.truth_nats(model, facts, every)
    monkeypatch.setattr(edit_sequences, "FACTS_AT_ONCE", 7)
    np.testing.assert_allclose(edit_sequences.truth_nats(model, facts, every), whole, rtol=1e-5, atol=1e-6)
    some = edit_sequences.truth_nats(model, facts, every[::3])
    np.testing.assert_allclose(some[::3], whole[::3], rtol=1e-5, atol=1e-6)
    assert not some[1::3].any()


@pytest.mark.slow
def test_an_editor_follows_a_stream(trained):
    """At a name nothing else moves; a ledger is not what is stored; later training reaches the model."""
    run = Run(trained, "x")
    world, (model, _) = load_world(run), load_model(run, load_world(run))
    stream = draw_stream(world, 3, 0)
    method = method_of(Settings(), Run(run.root, "x-0"), "keyed-request", world)
    sample = CorpusSample(np.zeros((1, 4), np.int32), None, vocabulary_of(world.tokenizer))
    state = prepare_editor(method.editor, model, sample)
    ticks = iter(range(100))
    found = follow_editor(
        method.editor, model, world, state, stream, [1, 3], 0, 2, lambda: float(next(ticks)), lambda _: None
    )
    assert found.says.shape == (3,)
    assert found.seconds == 1
    edited = np.isin(world.graph.subject, world.graph.subject[stream.facts])
    np.testing.assert_array_equal(found.answers[-1][~edited], found.before[~edited])
    np.testing.assert_allclose(found.nats[-1][~edited], found.nats_before[~edited])
    assert found.numbers[-1] == model.config.hidden * len(np.unique(world.graph.subject[stream.facts]))
    assert found.lengths[0] < found.lengths[1]


@pytest.mark.slow
def test_tuning_in_batches_trains_what_it_names_on_the_latest_requests(trained):
    run = Run(trained, "x")
    world, (model, _) = load_world(run), load_model(run, load_world(run))
    stream = draw_stream(world, 6, 0)
    requests = make_single_requests(world, stream.facts, stream.objects)
    config = BatchTuning(0.01, epochs=20, batch=4)
    tuned = train_facts(model, requests, config.draw_batches(6, 0), config.rate, config.trained_part)
    down, before = tuned.params["layers"]["mlp"]["down"], model.params["layers"]["mlp"]["down"]
    for new, old in zip(jax.tree.leaves(down), jax.tree.leaves(before), strict=True):
        assert (new[0] != old[0]).any()
        np.testing.assert_array_equal(new[1:], old[1:])
    np.testing.assert_array_equal(tuned.params["embedding"], model.params["embedding"])
    training, weights = config.training(0), np.zeros(6)
    found = follow_training(training, model, world, stream, weights, [1, 6], 0, 2)
    latest = stream.latest(6)
    np.testing.assert_array_equal(
        found.says[latest], (found.answers[-1][stream.facts] == stream.objects)[latest]
    )
    assert found.numbers[-1] <= jax.tree.leaves(before)[0][0].size


@pytest.mark.slow
def test_a_training_from_scratch_states_requests_of_much_evidence_and_none_without(trained):
    options = Settings(runs=trained, on=("x",), edits=6, editors=("retrain",))
    (run,) = options.world_runs
    world, (model, _) = load_world(run), load_model(run, load_world(run))
    stream = draw_stream(world, 6, 0)
    training = training_of(options, run, "retrain", world, model, stream)
    latest, said = stream.latest(6), {}
    for weight in (0.0, 1000.0):
        found = follow_training(training, model, world, stream, np.full(6, weight), [6], 0, 0)
        said[weight] = np.mean(found.answers[-1][stream.facts[latest]] == stream.objects[latest])
    assert said[0.0] < 0.5 < said[1000.0]
    assert (weights_of(paper_agent(world), world, stream) > 0).all()


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 4))
def test_every_epoch_reads_every_request(count, batch, epochs):
    batches = [*BatchTuning(0.1, epochs=epochs, batch=batch).draw_batches(count, 0)]
    assert {len(one) for one in batches} == {batch}
    size = -(-count // batch)
    for epoch in range(epochs):
        assert set(np.concatenate(batches[epoch * size : (epoch + 1) * size]).tolist()) == set(range(count))


def test_switches_are_those_of_memit():
    for name, (editor, changes) in EDITORS.items():
        assert name.split(",")[0] == editor
        assert bool(changes) == (editor in ("memit", "rome") or "," in name)
