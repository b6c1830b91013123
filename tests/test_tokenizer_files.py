"""The exported tokenizer encodes and decodes as ours does; what could be misread is refused."""

import json

import numpy as np
import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from corpus.config import DocumentConfig
from corpus.errors import InputError
from corpus.generative import generative_model
from corpus.graph import build_graph
from corpus.pipeline import count_mentions
from corpus.text.documents import cut_documents
from corpus.text.language import Atom, Kind, Language, Sentence
from corpus.text.sentences import sample_sentences
from corpus.text.tokenizer import (
    BOS,
    SEP,
    entity_tokenizer,
    find_unsure_stops,
    pretrained_tokenizer,
    tokenizer_files,
    train_bpe,
)
from testbed.run.world import World
from tests.pretrained_folders import borrow_tokenizer
from tests.worlds import make_world


def tokenizer_of(world, which):
    """A token a name; pieces of names out of a small or a large vocabulary; those of a pretrained model."""
    graph = world.graph
    if which == 0:
        return entity_tokenizer(graph)
    if which == 3:
        return pretrained_tokenizer(graph, borrow_tokenizer(graph))
    said = count_mentions(world.sentences, len(graph.entities), len(graph.relations))
    return train_bpe(graph, said, (400, 32_000)[which - 1])


def exported(tokenizer):
    return tokenizers.Tokenizer.from_str(json.dumps(tokenizer_files(tokenizer)["tokenizer.json"]))


def assert_round_trip(theirs, text, ids):
    got = theirs.encode(text, add_special_tokens=False).ids
    assert got == list(ids), (text, theirs.encode(text).tokens)
    assert theirs.decode(ids) == text


def assert_sentences_round_trip(world, tokenizer):
    theirs = exported(tokenizer)
    for i in range(len(world.sentences)):
        sentence = world.sentences[i]
        assert_round_trip(theirs, tokenizer.language.render(sentence), tokenizer.sentence(sentence))


def assert_documents_round_trip(world, tokenizer):
    theirs = exported(tokenizer)
    documents = cut_documents(world.sentences, DocumentConfig(mix="mixed"), np.random.default_rng(0))
    for begin, end in zip(documents.offsets, documents.offsets[1:], strict=False):
        said = [world.sentences[k] for k in documents.order[begin:end]]
        ids = [token for s in said for token in (SEP, *tokenizer.sentence(s))][1:]
        assert_round_trip(theirs, ". ".join(map(tokenizer.language.render, said)), ids)


@pytest.mark.parametrize("which", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_every_sentence_document_and_prompt(which, seed):
    world = make_world(seed=seed)
    tokenizer = tokenizer_of(world, which)
    assert_sentences_round_trip(world, tokenizer)
    assert_documents_round_trip(world, tokenizer)
    assert not find_unsure_stops(tokenizer)
    theirs = exported(tokenizer)
    assert theirs.get_vocab_size() == tokenizer.vocabulary
    for s, r in {tuple(row) for row in world.sentences.a[:, :2].tolist()}:
        text = f"{tokenizer.language.entities[s]} {tokenizer.language.relations[r]}"
        assert theirs.encode(text).ids == tokenizer.prompt(s, r).tolist()


# Names in which words repeat, so that one is often the beginning of another, with stops and connectives.
plain = st.sampled_from(["A", "B", "C", "D", "E", "F", "G", "H", "St.", "Jr.", "-x", "\u4e2d"])
words = plain | plain | st.sampled_from(["A.", "B.", "and", "or", "likes", "is", "true"])
labels = st.lists(st.lists(words, min_size=1, max_size=3).map(" ".join), min_size=6, max_size=9, unique=True)
RELATIONS = st.sampled_from([("born in", "likes"), ("likes", "likes B"), ("X", "is"), ("true to", "B. to")])


@pytest.mark.hypothesis
@pytest.mark.parametrize("which", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_odd_names_round_trip_or_are_refused(which):
    seen = {"exact": 0, "refused": 0, "unsure": 0}

    # Names whose stops are sure, and names whose stops are not, come up whatever is drawn.
    @example(["A", "B", "C", "D", "E", "F"], ("born in", "likes"), 0)
    @example(["A Jr.", "A Jr", "B", "D", "E Jr.", "F"], ("born in", "likes"), 0)
    @hypothesis_settings(max_examples=100)
    @given(labels, RELATIONS, st.integers(0, 99))
    def check(names, relations, seed):
        rng = np.random.default_rng(seed)
        triples = np.array([(s, r, 3 + (s + r) % 3) for s in range(3) for r in range(2)])
        try:
            graph = build_graph(triples, names, list(relations), np.array([-1, 0]))
            model = generative_model(graph, rng)
            world = World(graph, model, sample_sentences(graph, model, rng), None)
            tokenizer = tokenizer_of(world, which)
        except InputError:
            return
        try:
            assert_sentences_round_trip(world, tokenizer)
        except InputError:
            seen["refused"] += 1
            return
        if find_unsure_stops(tokenizer):
            seen["unsure"] += 1
        else:
            assert_documents_round_trip(world, tokenizer)
            seen["exact"] += 1

    check()
    assert seen["exact"] > 3
    assert seen["unsure"] > 0


@pytest.mark.parametrize(
    ("names", "relations", "message"),
    [
        (["likes fish", "fish"], ["likes"], "'likes fish' makes sentences ambiguous (it begins with 'likes'"),
        (["A", "A and B", "B"], ["likes"], "'A and B' makes sentences ambiguous (it begins with 'A'"),
        (["A", "B", "is"], ["likes"], "'is' makes sentences ambiguous (it is a word of the grammar"),
        (["A", "likes"], ["likes"], "'likes' makes sentences ambiguous (a relation is called so"),
        (["A", "is true"], ["likes"], "'is true' makes sentences ambiguous (it begins with 'is'"),
        (["A", "B<s>"], ["likes"], "contains '<s>'"),
        (["A", "B"], ['"likes"'], "contains '\"'"),
    ],
)
def test_names_that_are_refused(names, relations, message):
    with pytest.raises(InputError) as refused:
        tokenizer_files(entity_tokenizer(Language(names, relations)))
    assert message in str(refused.value)


def test_stops_of_names():
    language = Language(["St. Louis", "Ann", "Sammy Jr.", "Sammy Jr"], ["lives in"])
    tokenizer = entity_tokenizer(language)
    assert find_unsure_stops(tokenizer) == ["Sammy Jr."]
    theirs = exported(tokenizer)
    text = "Ann lives in St. Louis. St. Louis lives in Sammy Jr.. Ann lives in Ann"
    assert theirs.encode(text).tokens[3:6] == ["▁St.▁Louis", ".", "▁St.▁Louis"]
    assert theirs.decode(theirs.encode(text).ids) == text
    bpe = train_bpe(language, np.ones(5, int), 300)
    assert find_unsure_stops(bpe) == ["Jr."]
    said = [Sentence(Kind.TRUTH, True, Atom(1, 0, 2)), Sentence(Kind.ATOMIC, None, Atom(0, 0, 0))]
    ids = [*bpe.sentence(said[0]), SEP, *bpe.sentence(said[1])]
    assert_round_trip(exported(bpe), ". ".join(map(language.render, said)), ids)


def test_transformers_opens_it(tmp_path):
    transformers = pytest.importorskip("transformers")
    world = make_world()
    for which in (0, 1, 2, 3):
        ours = tokenizer_of(world, which)
        folder = tmp_path / str(which)
        folder.mkdir()
        # As in an export: the kind of model decides which class opens a tokenizer.
        files = tokenizer_files(ours) | {"config.json": {"model_type": "mistral"}}
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content), encoding="utf-8")
        theirs = transformers.AutoTokenizer.from_pretrained(folder)
        assert len(theirs) == ours.vocabulary
        for i in range(len(world.sentences)):
            text, ids = ours.language.render(world.sentences[i]), ours.sentence(world.sentences[i]).tolist()
            assert theirs(text)["input_ids"] == [BOS, *ids]
            assert theirs.decode([BOS, *ids], skip_special_tokens=True) == text
        batch = theirs([text, f"{text}. {text}"], padding=True)
        assert set(batch) == {"input_ids", "attention_mask"}
        assert batch["input_ids"][0][0] == theirs.pad_token_id == 0
        assert batch["input_ids"][1] == [BOS, *ids, SEP, *ids]
        assert theirs.decode(batch["input_ids"][1], skip_special_tokens=True) == f"{text}. {text}"
