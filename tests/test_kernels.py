"""Every kernel equals its naive twin exactly, compiled or not, whatever the number of threads."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import corpus.compiled
from corpus import kernels
from corpus.compiled import compile_kernel, map_in_order
from corpus.config import DocumentConfig, ExactConfig
from corpus.exact import draw_world, sample_exact
from corpus.generative import generative_model
from corpus.graph import NO_UPSTREAM, build_graph
from corpus.text.documents import cut_documents
from corpus.text.language import Kind
from corpus.text.phrasings import phrasings_of, rephrase_sentences
from corpus.text.sentences import Sentences, sample_sentences
from corpus.text.store import document_lengths, spell_sentences, write_documents
from corpus.text.tokenizer import BOS, EOS, SEP, Word, entity_tokenizer, train_bpe
from tests import naive
from tests.naive import published_sentences, shuffle_by_keys
from tests.worlds import make_world, random_graph

seeds = st.integers(0, 9999)


@pytest.fixture(params=["as it stands", "compiled"])
def way(request, monkeypatch):
    """Both ways a kernel can run."""
    monkeypatch.setattr(corpus.compiled, "LEAST_WORK", 0 if request.param == "compiled" else 10**12)


def as_tuples(sentences):
    return [
        (kind, bool(label), tuple(map(int, a)), tuple(map(int, b)) if b[0] >= 0 else None)
        for kind, label, a, b in zip(sentences.kind, sentences.label, sentences.a, sentences.b, strict=True)
    ]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("labels", ["coin", "proportion"])
@pytest.mark.parametrize("seed", range(4))
def test_published_sentences(seed, labels, monkeypatch):
    monkeypatch.setattr("corpus.text.sentences.FACTS_PER_BLOCK", 7)
    graph = random_graph(np.random.default_rng(seed))
    model = generative_model(graph, np.random.default_rng(seed))
    sentences = sample_sentences(graph, model, np.random.default_rng(seed), 2, labels)
    streams = np.random.default_rng(seed).spawn(-(-len(graph) // 7))
    assert as_tuples(sentences) == published_sentences(graph, model, streams, 7, labels)
    assert (sentences.about == np.repeat(graph.subject, 24)).all()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("persistence", ["fact", "sentence"])
@pytest.mark.parametrize("seed", range(4))
def test_exact_sentences(seed, persistence, monkeypatch):
    monkeypatch.setattr("corpus.exact.FACTS_PER_BLOCK", 7)
    # All facts resolved by decree, so that no certificate joins the sentences.
    monkeypatch.setattr("corpus.resolution.TOLERANCE", 1e9)
    config = ExactConfig(persistence=persistence, noise=0.3, mention=("coin", "uniform")[seed % 2])
    graph = random_graph(np.random.default_rng(seed))
    graph, model = draw_world(graph, config, np.random.default_rng(seed), redraw=True)
    sentences, _ = sample_exact(graph, model, config, np.random.default_rng(seed), threads=2)
    streams = np.random.default_rng(seed).spawn(-(-len(graph) // 7))
    assert as_tuples(sentences) == naive.exact_sentences(graph, model, config, streams, 7)


@pytest.mark.parametrize("kernel", [kernels.shuffle_sentences, compile_kernel(kernels.shuffle_sentences)])
@hypothesis_settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3)), min_size=1, max_size=6), seeds)
def test_shuffle(kernel, piles, seed):
    sizes, times = np.array(piles).T
    starts, ends = np.cumsum([0, *sizes]), np.cumsum(sizes * times)
    order = np.empty(ends[-1], np.int32)
    kernel(np.random.default_rng(seed), 0, len(sizes), starts, times, ends - sizes * times, order)
    groups = [range(a, b) for a, b in itertools.pairwise(starts)]
    assert order.tolist() == shuffle_by_keys(groups, times, np.random.default_rng(seed))


@pytest.mark.parametrize("kernel", [kernels.next_fit, compile_kernel(kernels.next_fit)])
@hypothesis_settings(max_examples=50)
@given(st.lists(st.integers(1, 17), min_size=1, max_size=40))
def test_next_fit(kernel, lengths):
    starts = np.empty(len(lengths) + 1, np.int64)
    bounds = kernel(np.array(lengths), 17, starts)
    rows = naive.next_fit(lengths, 17)
    assert starts[:bounds].tolist() == [*(row[0] for row in rows), len(lengths)]


@pytest.mark.parametrize("kernel", [kernels.draw_from_urns, compile_kernel(kernels.draw_from_urns)])
@hypothesis_settings(max_examples=50)
@given(
    st.lists(st.lists(st.sampled_from([-1, -1, 7, 9]), max_size=8), min_size=1, max_size=5),
    st.floats(0.01, 50),
    seeds,
)
def test_urn(kernel, tables, mass, seed):
    starts = np.cumsum([0, *map(len, tables)])
    masses = mass * np.arange(1, len(tables) + 1)
    flat = np.array(list(itertools.chain(*tables)), np.int32)
    objects, out = np.array([5, 7, 9], np.int32), np.empty(starts[-1], np.int32)
    kernel(np.random.default_rng(seed), starts, masses, objects, flat, out)
    assert out.tolist() == naive.urn(np.random.default_rng(seed), masses, objects.tolist(), tables)


@pytest.mark.usefixtures("way")
def test_spelling_and_joining(world, tmp_path, monkeypatch):
    monkeypatch.setattr("corpus.text.store.SENTENCES_PER_BLOCK", 101)
    monkeypatch.setattr("corpus.text.store.DOCUMENTS_PER_BLOCK", 53)
    ways = [way for r, name in enumerate(world.graph.relations) for way in phrasings_of(r, name)]
    graph = replace(world.graph, phrasings=tuple(ways))
    shares = DocumentConfig(synonyms=0.3, inverse=0.3)
    s = rephrase_sentences(world.sentences, ways, shares, np.random.default_rng(1))
    assert np.unique(s.phrasing).tolist() == [*range(len(ways) + 1)]
    documents = cut_documents(s, DocumentConfig(), np.random.default_rng(0))
    n = np.ones(len(graph.entities) + len(graph.relations) + len(ways), int)
    for tokenizer in (entity_tokenizer(graph), train_bpe(graph, n, 300)):
        expected = [tokenizer.sentence(s[i]).tolist() for i in range(len(s))]
        spelled = spell_sentences(s, tokenizer, threads=2)
        assert spelled.tokens.tolist() == list(itertools.chain(*expected))
        assert np.diff(spelled.place).tolist() == [len(x) for x in expected]
        text, lengths = [], []
        for d in range(len(documents)):
            inside = documents.order[documents.offsets[d] : documents.offsets[d + 1]]
            joined = [BOS, *itertools.chain(*([*expected[i], SEP] for i in inside))]
            joined[-1] = EOS
            text += joined
            lengths.append(len(joined))
        assert document_lengths(documents, spelled, threads=2).tolist() == lengths
        write_documents(tmp_path, s, documents, tokenizer, threads=2)
        assert np.fromfile(tmp_path / "tokens.bin", tokenizer.dtype).tolist() == text


@pytest.mark.usefixtures("way")
def test_worlds_of_more_names_than_fit_a_small_integer_are_spelt():
    """A row of tokens is numbered behind all entities; phrasings are kept as int16."""
    names = [f"e{i}" for i in range(2**15 + 1)]
    triples = np.array([(0, 0, 1), (2, 0, 3), (2, 0, len(names) - 1)])
    graph = build_graph(triples[:2], names, ["r"], np.array([NO_UPSTREAM]), None, [np.arange(len(names))])
    graph = replace(graph, phrasings=tuple(phrasings_of(0, "r")))
    tokenizer = entity_tokenizer(graph)
    s = Sentences(
        kind=np.zeros(3, np.int8),
        label=np.zeros(3, bool),
        about=triples[:, 0].astype(np.int32),
        a=triples.astype(np.int32),
        b=np.full((3, 3), -1, np.int32),
        phrasing=np.arange(3, dtype=np.int16),
    )
    expected = itertools.chain(*(tokenizer.sentence(s[i]).tolist() for i in range(3)))
    assert spell_sentences(s, tokenizer).tokens.tolist() == list(expected)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    monkeypatch.setattr(corpus.compiled, "LEAST_WORK", 0)
    monkeypatch.setattr("corpus.text.sentences.FACTS_PER_BLOCK", 11)
    monkeypatch.setattr("corpus.text.documents.SUBJECTS_PER_BLOCK", 3)
    world = make_world(subjects=40)
    for threads in (1, 2, 5):
        again = sample_sentences(world.graph, world.generative, np.random.default_rng(3), threads)
        documents = cut_documents(again, DocumentConfig(), np.random.default_rng(4), threads)
        if threads == 1:
            first, order = again, documents.order
        assert as_tuples(again) == as_tuples(first)
        np.testing.assert_array_equal(documents.order, order)


def test_tasks_finish_in_order_and_an_error_arrives():
    assert list(map_in_order(lambda x: x * x, range(50), 3)) == [x * x for x in range(50)]
    with pytest.raises(ZeroDivisionError):
        list(map_in_order(lambda x: 1 // (x - 20), range(50), 3))


def test_numbers_of_kinds_and_words_are_those_of_the_enums():
    assert [getattr(kernels, kind.name) for kind in Kind] == list(Kind)
    assert [getattr(kernels, f"WORD_{word.name}") for word in Word] == list(Word)


def test_a_folder_that_cannot_hold_compiled_code_is_no_obstacle(monkeypatch):
    calls = []

    def njit(kernel, cache=False, nogil=False):
        calls.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return kernel

    monkeypatch.setattr("numba.njit", njit)
    assert compile_kernel.__wrapped__(kernels.draw_from_urns) is kernels.draw_from_urns
    assert calls == [True, False]


def test_all_orders_are_equally_likely():
    runs, order = 24_000, np.empty(24_000 * 4, np.int32)
    starts = np.arange(0, 4 * runs + 1, 4)
    kernels.shuffle_sentences(
        np.random.default_rng(0), 0, runs, starts, np.ones(runs, int), starts[:-1], order
    )
    place = (order.reshape(runs, 4) - 4 * np.arange(runs)[:, None]) @ 4 ** np.arange(4)
    counts = np.unique(place, return_counts=True)[1]
    assert len(counts) == 24
    # A fair shuffle fails once in a million seeds.
    assert chisquare(counts).pvalue > 1e-6
