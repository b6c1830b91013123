"""What a model believes is read out of the model alone: people it speaks of, and its own probabilities."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from corpus.errors import InputError
from corpus.text.tokenizer import BOS, PAD, SEP
from lm.decoding import generate
from lm.editors.interface import vocabulary_of
from lm.editors.self_bayes import BeliefConfig, beliefs, recall
from lm.editors.self_bayes.beliefs import read_beliefs
from lm.editors.self_bayes.recall import recall_beliefs
from lm.editors.self_bayes.subjects import FAINT, search_beginnings, usual_probability
from tests.toys import random_model, say_next

FEW = BeliefConfig(samples=1024, top=16)


@pytest.fixture(scope="module")
def read(toy):
    return read_beliefs(toy.model, vocabulary_of(toy.world.tokenizer), FEW)


def named(tokenizer, rows):
    return {tokenizer.decode(row[(row != PAD) & (row != BOS) & (row != SEP)]) for row in np.asarray(rows)}


def test_whom_it_speaks_of(toy, read):
    """Nearly all subjects of the world and hardly anybody else, though nobody told who they are."""
    graph, tokenizer = toy.world.graph, toy.world.tokenizer
    truly = {graph.entities[s] for s in graph.subjects}
    names = named(tokenizer, read.subjects)
    assert len(names & truly) > 0.9 * len(truly)
    assert len(names - truly) < 0.1 * len(truly)


@given(st.integers(2, 300), st.integers(0, 300), st.integers(0, 10**6))
def test_slips_are_told_from_names_however_often_these_are_said(names, slips, seed):
    rng = np.random.default_rng(seed)
    said = rng.uniform(0.1, 1, names)
    probability = np.append(said, rng.uniform(0, 1e-3 * np.median(said), slips) / max(slips, 1))
    order = rng.permutation(len(probability))
    is_name = probability[order] >= FAINT * usual_probability(probability[order])
    assert (is_name == (order < names)).all()


def test_beliefs_are_the_models_probabilities(toy, read):
    relations = vocabulary_of(toy.world.tokenizer).relations
    for r in (0, 3):
        prompts = np.concatenate(
            [read.subjects[:5], np.repeat(relations[r][None], len(read.subjects[:5]), axis=0)], axis=1
        )
        p = np.exp(say_next(toy.model, prompts))
        for s in range(5):
            first = read.objects[read.top[r, s], 0]
            believed = read.p[r, s] > 0
            np.testing.assert_allclose(p[s, first][believed], read.p[r, s][believed], rtol=1e-3, atol=1e-6)
            assert (np.diff(read.p[r, s]) <= 0).all()
    # p(r, o | s): of all relations and objects together no more than 1.
    assert (read.mention_probability.sum(axis=0) <= 1.001).all()
    assert (read.mention_probability > 0).all()


def test_a_relation_of_which_nothing_is_named_has_no_beliefs(toy, monkeypatch):
    """Of a group that the corpus never names the model may say something else each time."""
    name_objects = beliefs.name_objects

    def name_none_of_one(*args):
        names = name_objects(*args)
        return [names[0], [], *names[2:]]

    monkeypatch.setattr(beliefs, "name_objects", name_none_of_one)
    mind = read_beliefs(toy.model, vocabulary_of(toy.world.tokenizer), FEW)
    assert not mind.p[1].any()
    assert not mind.mention_probability[1].any()
    assert mind.p[0].any()
    assert mind.p[2].any()


def test_what_was_read_is_said_more_readily(toy, read):
    graph, tokenizer = toy.world.graph, toy.world.tokenizer
    number = {name: i for i, name in enumerate(graph.entities)}
    subjects = [tokenizer.decode(row[(row != PAD) & (row != BOS)]) for row in read.subjects]
    has, lacks = [], []
    for s, name in enumerate(subjects):
        if name in number:
            known = (
                graph.find(np.full(len(graph.relations), number[name]), np.arange(len(graph.relations))) >= 0
            )
            has += read.mention_probability[known, s].tolist()
            lacks += read.mention_probability[~known, s].tolist()
    assert np.median(has) > 3 * np.median(lacks)


def test_a_model_that_knows_nothing_is_refused(world):
    model = random_model(world.tokenizer.vocabulary)
    with pytest.raises(InputError, match="states no fact twice.* train it longer"):
        read_beliefs(model, vocabulary_of(world.tokenizer), BeliefConfig(samples=64, longest=6))


def test_a_document_begins_as_often_as_is_found(toy):
    """Against the model's own next tokens, one after another; what goes on as a relation is no name."""
    vocabulary = vocabulary_of(toy.world.tokenizer)
    relations = [tuple(row[row != PAD].tolist()) for row in vocabulary.relations]
    found = search_beginnings(toy.model, relations, set(vocabulary.words.tolist()), 3, 1e-3)
    assert len(found.p) > 10
    assert (found.p >= 1e-3).all()
    first = {name[0] for name in relations}
    for tokens, p in zip(found.tokens[:20], found.p, strict=False):
        row, expected = tokens[tokens != PAD], 1.0
        for at, token in enumerate(row):
            prompt = np.append(BOS, row[:at]).astype(np.int32)[None]
            expected *= np.exp(say_next(toy.model, prompt))[0, token]
        assert first & set(row.tolist()) or np.isclose(p, expected, rtol=1e-3)


def test_of_relations_that_begin_alike_the_longer_one_is_meant(world, monkeypatch):
    """As "country" begins "country of citizenship": what is said of one is not said of the other."""
    model = random_model(world.tokenizer.vocabulary)
    relations = [(20,), (20, 21), (20, 21, 22), (23,)]
    found = search_beginnings(model, relations, set(), 1, 1e-3)

    def p(prompt, token):
        return np.exp(say_next(model, np.array([[BOS, *prompt]], np.int32)))[0, token]

    for tokens, got in zip(found.tokens[:5], found.relation_probability, strict=False):
        name = tokens[tokens != PAD].tolist()
        one = p(name, 20)
        two = one * p([*name, 20], 21)
        three = two * p([*name, 20, 21], 22)
        np.testing.assert_allclose(got, [one - two, two - three, three, p(name, 23)], rtol=1e-2, atol=1e-6)

    sentences = [(50, 20, 60), (50, 20, 21, 61), (50, 20, 21, 22, 62), (50, 23, 63)]
    monkeypatch.setattr(beliefs, "_name_each", lambda *_: sentences)
    named = beliefs.sample_objects(model, relations, set(), FEW)
    assert [list(of_one) for of_one in named] == [[(60,)], [(61,)], [(62,)], [(63,)]]

    likeliest = [[60], [21, 61], [21, 22, 62]]
    monkeypatch.setattr(beliefs, "find_subjects", lambda *_: (np.array([[BOS, 50]]), np.ones((1, 4))))
    monkeypatch.setattr(beliefs, "name_objects", lambda *_: [[*map(tuple, likeliest)]] * 4)
    language = vocabulary_of(world.tokenizer)
    table = np.array([[*name, *[PAD] * (3 - len(name))] for name in relations], np.int32)
    read = read_beliefs(model, language._replace(relations=table), replace(FEW, top=3))
    said = [
        {tuple(read.objects[i]) for i in top[p > 0]}
        for top, p in zip(read.top[:, 0], read.p[:, 0], strict=True)
    ]
    ends = {n: (*n, SEP, *[PAD] * (3 - len(n))) for n in map(tuple, likeliest)}
    assert said[0] == {ends[60,]}
    assert said[1] == {ends[60,], ends[21, 61], ends[21, 22, 62]}
    assert said[3] == said[1]


def test_beliefs_are_read_once(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(recall, "LONG", 0.0)
    vocabulary = vocabulary_of(toy.world.tokenizer)
    first = recall_beliefs(toy.model, vocabulary, FEW)
    monkeypatch.setattr(recall, "read_beliefs", None)
    again = recall_beliefs(toy.model, vocabulary, FEW)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(TypeError):
        recall_beliefs(toy.model, vocabulary, replace(FEW, top=8))


def test_a_killed_reading_goes_on(toy, read, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(recall, "PART", 0.0)
    vocabulary, rank, calls = vocabulary_of(toy.world.tokenizer), beliefs._best_names, []

    def die(*prompts, **tree):
        calls.append(tree)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return rank(*prompts, **tree)

    monkeypatch.setattr(beliefs, "_best_names", die)
    with pytest.raises(KeyboardInterrupt):
        recall_beliefs(toy.model, vocabulary, FEW)
    (parts,) = recall.cache_folder("beliefs").iterdir()
    assert {path.stem for path in parts.iterdir()} >= {"subjects", "objects of 0", "beliefs of 0"}
    monkeypatch.setattr(beliefs, "find_subjects", None)
    monkeypatch.setattr(beliefs, "_name_each", lambda *_: [])
    for one, other in zip(recall_beliefs(toy.model, vocabulary, FEW), read, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not parts.exists()


def test_samples_follow_the_models_probabilities(toy):
    prompts = np.full((3000, 1), BOS, np.int32)
    generated = jax.jit(lambda model, key: generate(model, model.read_prompts(prompts), 1, key))
    first = np.asarray(generated(toy.model, jax.random.key(0)))[:, 0]
    p = np.exp(say_next(toy.model, prompts[:1]))[0].astype(float)
    p[PAD] += p[[SEP, 2]].sum()
    p[[SEP, 2]] = 0
    often = p * len(prompts) > 8
    counts = np.bincount(first, minlength=len(p))
    observed = np.append(counts[often], counts[~often].sum())
    expected = np.append(p[often], p[~often].sum()) * len(prompts)
    assert chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-6
