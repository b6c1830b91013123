"""Counts, labels and documents of design.md 3."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from corpus.config import DocumentConfig
from corpus.text.documents import cut_documents
from corpus.text.language import Kind, Language
from corpus.text.sentences import sample_sentences
from tests.draws import FALSE_ALARM, p_values_by_draw
from tests.worlds import make_world

FALSE_ALARM_SIGMAS = 5.0
seeds = st.integers(0, 1000)


def is_true(world, atom):
    return world.generative.truth[world.graph.find(atom[0], atom[1])] == atom[2]


@hypothesis_settings(max_examples=15)
@given(seeds)
def test_what_each_kind_says(seed):
    world = make_world(subjects=9, seed=seed)
    s, facts = world.sentences, len(world.graph)
    assert np.bincount(s.kind).tolist() == [10 * facts, 10 * facts, 2 * facts, facts, facts]
    true_atomic = np.zeros(facts, int)
    for i in range(len(s)):
        kind, label, a, b, _ = s[i]
        assert world.graph.find(a.subject, a.relation) >= 0
        holds = is_true(world, a)
        if kind == Kind.ATOMIC:
            true_atomic[world.graph.find(a.subject, a.relation)] += holds
        elif kind == Kind.NOT:
            assert label == (not holds)
        elif b is not None:
            joint = holds and is_true(world, b) if kind == Kind.AND else holds or is_true(world, b)
            assert label == joint
            own, earlier = (a, b) if a.subject == s.about[i] else (b, a)
            assert own.subject == s.about[i]
            assert earlier.subject < own.subject or own.subject == world.graph.subjects[0]
    assert (true_atomic >= 6).all()
    np.testing.assert_array_equal(s.a[s.kind == Kind.ATOMIC], s.a[s.kind == Kind.TRUTH])


def test_truth_labels_are_right_as_often_as_the_mode_is_likely():
    world = make_world(subjects=400, upstream_objects=40, downstream_objects=20)
    s, model, graph = world.sentences, world.generative, world.graph
    truth = s.kind == Kind.TRUTH
    fact = graph.find(s.a[truth, 0], s.a[truth, 1])
    right = s.label[truth] == (s.a[truth, 2] == model.truth[fact])
    m = model.mode_share[fact]
    sigma = np.sqrt((m * (1 - m)).sum())
    assert abs(right.sum() - m.sum()) < FALSE_ALARM_SIGMAS * sigma


@hypothesis_settings(max_examples=15)
@given(seeds)
def test_labels_in_proportion_call_the_truth_true_as_often_as_it_is_stated(seed):
    world = make_world(subjects=9, seed=seed)
    s = sample_sentences(world.graph, world.generative, np.random.default_rng(seed), labels="proportion")
    facts, truth = len(world.graph), world.generative.truth
    stated = (s.a[s.kind == Kind.ATOMIC, 2].reshape(facts, 10) == truth[:, None]).sum(1)
    claims = s.kind == Kind.TRUTH
    assert (s.a[claims, 2].reshape(facts, 10) == truth[:, None]).all()
    np.testing.assert_array_equal(s.label[claims].reshape(facts, 10).sum(1), stated)


def test_connectives_are_fair_coins():
    world = make_world(subjects=400, upstream_objects=40, downstream_objects=20)
    s = world.sentences
    for kind, expected in ((Kind.AND, 0.25), (Kind.OR, 0.75)):
        label = s.label[s.kind == kind]
        sigma = np.sqrt(expected * (1 - expected) / len(label))
        assert abs(label.mean() - expected) < FALSE_ALARM_SIGMAS * sigma
        own_first = s.a[s.kind == kind, 0] == s.about[s.kind == kind]
        assert abs(own_first.mean() - 0.5) < FALSE_ALARM_SIGMAS * np.sqrt(0.25 / len(label))


def test_root_facts_use_their_distractor_as_false_variant(world):
    s, model, graph = world.sentences, world.generative, world.graph
    false = (s.kind == Kind.NOT) & s.label
    fact = graph.find(s.a[false, 0], s.a[false, 1])
    root = model.distractor[fact] >= 0
    np.testing.assert_array_equal(s.a[false, 2][root], model.distractor[fact][root])


@hypothesis_settings(max_examples=15)
@given(seeds)
def test_documents(seed):
    world = make_world(subjects=9, seed=seed)
    s = world.sentences
    documents = cut_documents(s, DocumentConfig(), np.random.default_rng(seed))
    order, offsets = documents.order, documents.offsets
    assert (np.bincount(order, minlength=len(s)) == 5).all()
    lengths = np.diff(offsets)
    assert offsets[0] == 0
    assert offsets[-1] == len(order)
    assert lengths.min() >= 1
    assert lengths.max() <= 10
    per_subject = np.bincount(s.about)
    assert len(lengths) == 5 * sum(-(-n // 10) for n in per_subject[per_subject > 0])
    for low, high in itertools.pairwise(offsets):
        assert len(set(s.about[order[low:high]])) == 1


def test_same_seed_same_sentences_other_seed_others(world):
    draw = [sample_sentences(world.graph, world.generative, np.random.default_rng(k)) for k in (1, 1, 2)]
    np.testing.assert_array_equal(draw[0].a, draw[1].a)
    np.testing.assert_array_equal(draw[0].label, draw[1].label)
    assert (draw[0].a != draw[2].a).any()


def test_every_sentence_reads_back(world):
    language = Language(world.graph.entities, world.graph.relations)
    for i in range(len(world.sentences)):
        assert language.parse(language.render(world.sentences[i])) == world.sentences[i]


@pytest.mark.parametrize("subjects", [2, 5])
def test_the_smallest_worlds_work(subjects):
    world = make_world(subjects=subjects)
    assert len(world.sentences) == 24 * len(world.graph)


@pytest.mark.parametrize("seed", range(3))
def test_everything_is_drawn_as_described(seed):
    """The experiment's chi-square tests, on a world small enough for every run of the tests."""
    world = make_world(subjects=2000, seed=seed, upstream_objects=60, downstream_objects=20)
    for name, p in p_values_by_draw(world).items():
        assert p > FALSE_ALARM / 30, name
