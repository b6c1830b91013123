"""Rows, encoding and decoding agree on every sentence; token files hold what the sentences say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from corpus.config import DocumentConfig
from corpus.errors import InputError
from corpus.generative import generative_model
from corpus.graph import build_graph
from corpus.pipeline import count_mentions
from corpus.text.documents import cut_documents
from corpus.text.language import Language
from corpus.text.sentences import sample_sentences
from corpus.text.store import open_documents, read_counts, write_documents
from corpus.text.tokenizer import BOS, EOS, entity_tokenizer, load_tokenizer, save_tokenizer, train_bpe
from testbed.run.world import World


def bpe_of(world, size):
    graph = world.graph
    return train_bpe(graph, count_mentions(world.sentences, len(graph.entities), len(graph.relations)), size)


def tokenizers_of(world):
    return [entity_tokenizer(world.graph), bpe_of(world, 400), bpe_of(world, 32_000)]


@pytest.fixture(scope="module")
def tokenizers(world):
    return tokenizers_of(world)


def assert_rows_encode_and_decode(world, tokenizer):
    language = tokenizer.language
    for i in range(len(world.sentences)):
        text, rows = language.render(world.sentences[i]), tokenizer.sentence(world.sentences[i])
        np.testing.assert_array_equal(tokenizer.encode(text), rows)
        assert tokenizer.decode(rows) == text


@pytest.mark.parametrize("which", [0, 1, 2])
def test_every_sentence(world, tokenizers, which):
    assert_rows_encode_and_decode(world, tokenizers[which])


# Names with the punctuation of real labels: stops, quotes, hyphens, brackets, accents, other scripts.
words = st.text("abzAZ.-'()\u00e9\u0142\u4e2d,!", min_size=1, max_size=5)
labels = st.lists(st.lists(words, min_size=1, max_size=3).map(" ".join), min_size=6, max_size=9, unique=True)


@hypothesis_settings(max_examples=25)
@given(labels, st.integers(0, 99))
def test_every_sentence_of_odd_names(names, seed):
    rng = np.random.default_rng(seed)
    triples = np.array([(s, r, 3 + (s + r) % 3) for s in range(3) for r in range(2)])
    try:
        graph = build_graph(triples, names, ["born in", "likes"], np.array([-1, 0]))
    except InputError:
        return
    model = generative_model(graph, rng)
    world = World(graph, model, sample_sentences(graph, model, rng), None)
    for tokenizer in tokenizers_of(world):
        assert_rows_encode_and_decode(world, tokenizer)


def test_saved_and_loaded(world, tokenizers, tmp_path):
    for tokenizer in tokenizers:
        save_tokenizer(tokenizer, tmp_path / "t.json")
        again = load_tokenizer(tmp_path / "t.json", world.graph)
        assert again.pieces == tokenizer.pieces
        np.testing.assert_array_equal(again.tokens, tokenizer.tokens)


def test_a_vocabulary_too_small_is_refused(world):
    with pytest.raises(InputError, match="vocabulary"):
        bpe_of(world, 40)


def test_names_that_spell_a_special_token_are_refused():
    language = Language(["e</s>vil", "b", "c", "d", "e", "f"], ["born in", "likes"])
    with pytest.raises(InputError, match="special token '</s>'"):
        train_bpe(language, np.ones(8, int), 300)


def test_documents_on_disk(world, tokenizers, tmp_path):
    documents = cut_documents(world.sentences, DocumentConfig(), np.random.default_rng(0))
    order, offsets = documents.order, documents.offsets
    for i, tokenizer in enumerate(tokenizers):
        folder = tmp_path / str(i)
        folder.mkdir()
        write_documents(folder, world.sentences, documents, tokenizer)
        tokens, bounds = open_documents(folder)
        assert read_counts(folder)["documents"] == len(bounds) - 1 == len(offsets) - 1
        for d in range(0, len(offsets) - 1, 9):
            document = tokens[bounds[d] : bounds[d + 1]]
            assert document[0] == BOS
            assert document[-1] == EOS
            said = [tokenizer.language.render(world.sentences[k]) for k in order[offsets[d] : offsets[d + 1]]]
            assert tokenizer.decode(document) == ". ".join(said)
        assert not isinstance(tokens, np.ndarray) or isinstance(tokens, np.memmap)


def test_documents_do_not_depend_on_the_block(world, tmp_path, monkeypatch):
    documents = cut_documents(world.sentences, DocumentConfig(), np.random.default_rng(0))
    written = []
    for size in (7, 20_000):
        monkeypatch.setattr("corpus.text.store.DOCUMENTS_PER_BLOCK", size)
        folder = tmp_path / str(size)
        folder.mkdir()
        write_documents(folder, world.sentences, documents, entity_tokenizer(world.graph))
        written.append((folder / "tokens.bin").read_bytes() + (folder / "offsets.npy").read_bytes())
    assert written[0] == written[1]
