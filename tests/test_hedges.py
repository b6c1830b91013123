"""Hedged statements: sources and stated probabilities in corpora, and what the exact agent makes of them."""

import hashlib
import json
import math
from dataclasses import replace

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from bayes.exact import fit_exact
from bayes.request import EditRequest
from corpus.config import BuiltinWorld, DocumentConfig, ExactConfig, TokenizerConfig
from corpus.errors import InputError
from corpus.exact import draw_world, sample_exact
from corpus.likelihood import hedged_reliability, log_ratios
from corpus.pipeline import compose_corpus, draw_sentences
from corpus.seeds import generator
from corpus.text.hedges import DEGREES, find_phrasing, is_hedged, list_hedges
from corpus.text.language import Kind
from corpus.text.reading import Reader
from corpus.text.sentences import concatenate_sentences, make_sentences
from corpus.text.store import document_lengths, join_documents, spell_sentences
from corpus.text.tokenizer import entity_tokenizer, tokenizer_files
from corpus.world import build_world
from corpus.worlds.builtin import build_builtin_world
from lm.editors.interface import vocabulary_of
from testbed.presets import CORPUS
from testbed.run.strata import StatementIndex

HEDGED = ExactConfig(strata=(0.3, 0.0, 0.7), sources=(0.3, 0.6, 0.9), said=4, rated=3)


def draw(config, subjects=40, seed=0):
    graph = build_builtin_world(subjects, BuiltinWorld(), generator(seed, "world"), True)
    rng = generator(seed, "x")
    graph, model = draw_world(graph, config, rng, redraw=True)
    return graph, model, sample_exact(graph, model, config, rng)[0]


@pytest.fixture(scope="module")
def hedged():
    return draw(HEDGED, 300)


@pytest.mark.parametrize(
    ("source", "tokens"),
    [("builtin", "8c1764bb0d424170"), ("coupled", "4e23da47d083bafb"), ("taxonomy", "3717ea4a841a4791")],
)
def test_a_corpus_without_hedges_is_what_it_was_before_there_were_any(source, tokens):
    """Hashes of token files that an earlier revision wrote."""
    name = {"builtin": "tiny", "coupled": "leme", "taxonomy": "taxi"}[source]
    options = CORPUS[name]
    subjects = {"builtin": 40, "coupled": 60, "taxonomy": options.world.subjects}[source]
    world = replace(options.world, subjects=subjects)
    graph = build_world(world, 3, True)
    graph, model = draw_world(graph, options.exact, generator(3, "generative"), redraw=source == "builtin")
    sentences, _ = draw_sentences(graph, model, options.exact, options.documents, 3, 1)
    corpus = compose_corpus(graph, model.truth, sentences, options.documents, options.tokenizer, 3, 1)
    spelled = spell_sentences(concatenate_sentences(corpus.sentences, corpus.further), corpus.tokenizer)
    offsets = np.concatenate([[0], np.cumsum(document_lengths(corpus.documents, spelled))])
    written = b"".join(part.tobytes() for _, part in join_documents(corpus.documents, spelled, offsets))
    assert hashlib.sha256(written).hexdigest()[:16] == tokens
    assert not is_hedged(graph).any()


def test_statements_are_right_as_often_as_their_hedges_say(hedged):
    graph, model, sentences = hedged
    mine = sentences.phrasing > 0
    said = sentences.take(mine)
    fact = graph.find(said.a[:, 0], said.a[:, 1])
    right, claimed = model.truth[fact] == said.a[:, 2], hedged_reliability(graph, HEDGED)[said.phrasing]
    assert (np.bincount(fact)[np.unique(fact)] == HEDGED.said + HEDGED.rated).all()
    for probability in np.unique(claimed):
        here = right[claimed == probability]
        assert abs(here.mean() - probability) < 4 * math.sqrt(probability * (1 - probability) / len(here))
    assert {*np.unique(claimed).tolist()} == {*HEDGED.sources, *DEGREES}


def test_what_is_said_is_said_of_facts_that_are_stated_fully_and_counts_as_no_plain_statement(hedged):
    graph, model, sentences = hedged
    said = sentences.a[sentences.phrasing > 0]
    facts = np.unique(graph.find(said[:, 0], said[:, 1]))
    assert (model.stratum[facts] == 2).all()
    index = StatementIndex(graph, sentences)
    assert [len(index.objects_of(f)) for f in facts[:20]] == model.statements[facts[:20]].tolist()


@pytest.mark.parametrize("kind", ["entity", "bpe"])
def test_hedged_statements_are_spelt_and_read_back(hedged, kind):
    graph, _, sentences = hedged
    config = TokenizerConfig(kind=kind, vocabulary=600)
    few = sentences.take(np.flatnonzero(sentences.about < sentences.about[400]))
    tokenizer = compose_corpus(graph, graph.object, few, DocumentConfig(reshuffles=1), config, 0, 1).tokenizer
    spelled = spell_sentences(few, tokenizer)
    for i in np.flatnonzero(few.phrasing)[:60].tolist():
        text = tokenizer.language.render(few[i])
        tokens = tokenizer.sentence(few[i])
        assert tokenizer.language.parse(text) == few[i]
        np.testing.assert_array_equal(spelled.tokens[spelled.place[i] : spelled.place[i + 1]], tokens)
        assert tokenizer.decode(tokens) == text


def test_a_hedge_is_a_token_before_the_statement_and_other_programs_read_it_so(hedged):
    graph, _, _ = hedged
    tokenizer = entity_tokenizer(graph)
    read = tokenizers.Tokenizer.from_str(json.dumps(tokenizer_files(tokenizer)["tokenizer.json"]))
    way, s = find_phrasing(graph.phrasings, "according to Delmar"), int(graph.subjects[0])
    for r, name in enumerate(graph.relations):
        prompt = tokenizer.prompt(s, r, way)
        np.testing.assert_array_equal(np.delete(prompt, 1), tokenizer.prompt(s, r))
        assert read.encode(f"according to Delmar {graph.entities[s]} {name}").ids == prompt.tolist()
    assert prompt[1] in vocabulary_of(tokenizer).words


def test_what_is_half_said_begins_a_sentence(hedged):
    graph, _, _ = hedged
    language = entity_tokenizer(graph).language
    reader, s = Reader(graph, language), graph.entities[graph.subject[0]]
    r, o = graph.relations[graph.relation[0]], graph.entities[graph.object[0]]
    whole = f"according to Delmar {s} {r} {o}"
    assert reader.line(whole).flaw == ""
    assert {reader.line(whole[:n]).flaw for n in range(1, len(whole))} == {"mid-sentence"}
    assert reader.line(f"{s} according to Delmar {o}").flaw == "no sentence"


@given(st.integers(0, 10_000))
def test_the_agent_weighs_what_hedged_statements_say_as_enumeration_does(seed):
    """Of one fact without a cause: the prior of its relation times what each sentence says."""
    rng = np.random.default_rng(seed)
    graph, _, sentences = _SMALL
    roots = np.flatnonzero(graph.upstream_fact < 0)
    fact = int(rng.choice(roots))
    s, r = int(graph.subject[fact]), int(graph.relation[fact])
    about = (sentences.a[:, 0] == s) & (sentences.a[:, 1] == r)
    without = sentences.take(~about)
    count = int(rng.integers(1, 5))
    hedges = rng.integers(0, len(list_hedges(HEDGED)), count)
    objects = rng.choice(graph.candidates_of(r), count)
    ways = [find_phrasing(graph.phrasings, list_hedges(HEDGED)[h][0]) for h in hedges]
    atoms = np.column_stack([np.full(count, s), np.full(count, r), objects])
    said = replace(make_sentences(Kind.ATOMIC, atoms), phrasing=np.array(ways, np.int16))
    both = concatenate_sentences(without, said)
    prior = fit_exact(graph, HEDGED, without).predict(s, r).dense_probabilities()
    candidates = graph.candidates_of(r)
    for h, o in zip(hedges.tolist(), objects.tolist(), strict=True):
        p = list_hedges(HEDGED)[h][1]
        prior = prior * np.where(candidates == o, p, (1 - p) / (len(candidates) - 1))
    expected = prior / prior.sum()
    found = fit_exact(graph, HEDGED, both).predict(s, r)
    np.testing.assert_allclose(found.of(candidates), expected, atol=1e-10)
    # A request of the form is the same evidence.
    agent = fit_exact(graph, HEDGED, without)
    for h, o in zip(hedges.tolist(), objects.tolist(), strict=True):
        p = list_hedges(HEDGED)[h][1]
        agent = agent.with_edit(EditRequest(s, r, o, form="source", probability=p))
    np.testing.assert_allclose(agent.predict(s, r).of(candidates), expected, atol=1e-10)


_SMALL = draw(replace(HEDGED, logical=0.0), 6)


def test_plain_statements_weigh_what_they_did():
    graph, _, sentences = _SMALL
    plain = sentences.take(sentences.phrasing == 0)
    bare = ExactConfig(strata=HEDGED.strata)
    np.testing.assert_array_equal(log_ratios(graph, HEDGED, plain)[2], log_ratios(graph, bare, plain)[2])


def test_bad_dials_are_refused():
    for wrong in ({"sources": (0.5,)}, {"said": 2}, {"sources": (1.0,), "said": 1}, {"rated": -1}):
        with pytest.raises(ValueError, match="sources"):
            ExactConfig(**wrong)
    with pytest.raises(InputError, match=r"--exact\.sources"):
        find_phrasing(_SMALL[0].phrasings, "according to Nobody")
