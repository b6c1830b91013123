"""Texts read sentence by sentence: what they say, and what is wrong with them."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.errors import InputError
from corpus.text.language import Language
from corpus.text.reading import Reader
from corpus.text.tokenizer import BOS, EOS, PAD
from testbed.engine.records import split_sentences
from tests.toys import spelt_world
from tests.worlds import make_world


@pytest.fixture(scope="module")
def reader(world):
    return Reader(world.graph, world.tokenizer.language)


@pytest.fixture(scope="module")
def spelt(world):
    return spelt_world(world)


def test_what_the_world_says_has_no_flaw(world, reader):
    language = world.tokenizer.language
    for i in range(0, len(world.sentences), 7):
        sentence = world.sentences[i]
        # What is false may name an object of another relation in these worlds.
        flaw = "" if of_its_kind(world.graph, sentence) else "wrong kind of object"
        assert reader.line(language.render(sentence))[1:] == (sentence, flaw)


def of_its_kind(graph, sentence):
    return all(x.object in graph.candidates_of(x.relation) for x in (sentence.a, sentence.b) if x)


def test_flaws_have_names(world, reader):
    graph = world.graph
    s, r, o = (int(x[0]) for x in (graph.subject, graph.relation, graph.object))
    wrong = next(int(x) for x in graph.objects if x not in graph.candidates_of(r))
    name, words = graph.entities, graph.relations
    whole, second = f"{name[s]} {words[r]} {name[o]}", f"{name[s]} {words[r]} {name[wrong]}"
    expected = {
        "": "empty",
        name[s]: "mid-sentence",
        name[s][:-1]: "mid-sentence",
        f"{name[s]} {words[r]}": "mid-sentence",
        f"{name[s]} {words[r]} {name[o][:2]}": "mid-sentence",
        '"': "mid-sentence",
        f'"{whole}': "mid-sentence",
        f'"not {whole}': "mid-sentence",
        f'"{whole} and': "mid-sentence",
        f'"{whole} or {name[s]} {words[r]}': "mid-sentence",
        f'"{whole}" is': "mid-sentence",
        f'"{whole}" is tru': "mid-sentence",
        f"imagine {name[s]}": "mid-sentence",
        f"{name[s]} zzz": "unknown words",
        f"{whole} \ufffd": "unknown words",
        f"{words[r]} {name[s]}": "no sentence",
        f"{whole} {name[o]}": "no sentence",
        f'"{whole}" is not': "no sentence",
        f"{name[o]} {words[r]} {name[o]}": "wrong kind of subject",
        second: "wrong kind of object",
        f'"{whole} and {second}" is true': "wrong kind of object",
        whole: "",
        f'"not {whole}" is false': "",
    }
    assert {text: reader.line(text).flaw for text in expected} == expected
    for text, flaw in expected.items():
        assert (reader.line(text).sentence is None) == (flaw not in ("", second, *_OF_A_KIND))


_OF_A_KIND = ("wrong kind of subject", "wrong kind of object")


@settings(max_examples=150)
@given(st.integers(0, 2**31 - 1), st.booleans(), st.sampled_from([0.0, 0.3, 1.0]))
def test_any_stream_of_tokens_is_read(seed, whole_names, noise):
    """Random tokens, or documents in which some are random; the parser alone raises what it declares."""
    world, reader = _random_world(whole_names)
    rng, tokenizer = np.random.default_rng(seed), world.tokenizer
    said = [tokenizer.sentence(world.sentences[int(i)]) for i in rng.integers(0, len(world.sentences), 5)]
    stream = np.concatenate([np.append(row, 3) for row in said])
    random = rng.random(len(stream)) < noise
    stream[random] = rng.integers(0, tokenizer.vocabulary, random.sum())
    stream = stream[(stream != PAD) & (stream != EOS)]
    text = split_sentences(tokenizer, np.append(BOS, stream[: rng.integers(0, len(stream) + 1)]))
    lines = reader.read(text)
    assert [line.text for line in lines] == text
    for line in lines:
        if line.sentence is None:
            assert line.flaw
            with pytest.raises(InputError):
                tokenizer.language.parse(line.text)
        else:
            assert tokenizer.language.render(line.sentence) == line.text
    if noise == 0 and text:
        assert all(line.flaw in ("", "wrong kind of object") for line in lines[:-1])
        assert lines[-1].sentence or lines[-1].flaw in ("empty", "mid-sentence")


_worlds = {}


def _random_world(whole_names):
    if whole_names not in _worlds:
        world = make_world() if whole_names else spelt_world(make_world())
        _worlds[whole_names] = world, Reader(world.graph, world.tokenizer.language)
    return _worlds[whole_names]


def test_three_thousand_sentences_a_second_even_of_sixty_relations(world):
    """As the parser tries one relation after another; each sentence is read anew."""
    graph = world.graph
    more = [f"relation {n} to" for n in range(60 - len(graph.relations))]
    language = Language(graph.entities, [*more, *graph.relations])
    shifted = replace(graph, relation=graph.relation + len(more), relations=(*more, *graph.relations))
    empty = np.repeat(graph.candidate_offsets[:1], len(more))
    shifted = replace(shifted, candidate_offsets=np.append(empty, graph.candidate_offsets))
    texts = [world.tokenizer.language.render(world.sentences[i]) for i in range(0, len(world.sentences), 3)]
    texts += [text[: len(text) // 2] for text in texts]
    reader, began = Reader(shifted, language), time.process_time()
    lines = reader.read(texts)
    assert len({*texts}) / (time.process_time() - began) > 3000
    assert sum(line.sentence is not None for line in lines) >= len(texts) // 2
