"""documents: what the editor reads about a request."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.text.tokenizer import BOS, EOS, PAD, SEP
from lm.decoding import generate
from lm.editors.asking import compact_rows
from lm.editors.documents import DocumentsConfig
from lm.editors.documents.method import Documents, ask_behind, spell_request, write_documents
from lm.editors.interface import CorpusSample, make_requests, vocabulary_of
from tests.toys import CONFIG, random_model
from tests.worlds import make_world


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_every_document_has_the_request_among_whole_sentences(data):
    pool = np.full((5, 6), PAD)
    for i in range(5):
        places = data.draw(st.lists(st.integers(0, 5), min_size=2, max_size=6, unique=True).map(sorted))
        pool[i, places] = [10 + i] * (len(places) - 1) + [SEP]
    requested, length = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    key = jax.random.key(data.draw(st.integers(0, 99)))
    texts = np.asarray(write_documents(pool, requested, (2, 3, length), key))
    assert texts.shape[:2] == (2, 3)
    sentences = {tuple(row[(row != PAD) & (row != SEP)].tolist()): i for i, row in enumerate(pool)}
    for text in texts.reshape(6, -1):
        real = text[: np.sum(text != PAD)].tolist()
        assert PAD not in real
        assert (real[0], real[-1]) == (BOS, EOS)
        ends = [i for i, token in enumerate(real) if token in (SEP, EOS)]
        said = [sentences[tuple(real[a + 1 : b])] for a, b in zip([0, *ends], ends, strict=False)]
        assert len(said) == length
        assert min(said) < requested


def test_a_pool_is_what_the_grammar_says():
    world = make_world()
    tokenizer, graph = world.tokenizer, world.graph
    fact = (int(graph.subject[0]), int(graph.relation[0]), int(graph.objects[2]))
    request = jax.tree.map(lambda x: x[0], make_requests(tokenizer, [fact], [0.0], [0.9]))
    rows = np.asarray(compact_rows(spell_request(request, vocabulary_of(tokenizer).words)))
    name, relation, thing = graph.entities[fact[0]], graph.relations[fact[1]], graph.entities[fact[2]]
    said = [" ".join(tokenizer.pieces[t].strip("▁") for t in row if t != PAD) for row in rows]
    assert said == [f"{name} {relation} {thing} .", f'" {name} {relation} {thing} " is true .']


@pytest.mark.parametrize("wrong", [{"at_once": 0}, {"length": 0}, {"rank": 0}])
def test_impossible_recipes_are_refused(wrong):
    with pytest.raises(ValueError, match="positive"):
        DocumentsConfig(**wrong)


def test_consequences_are_what_the_model_says_behind_the_request():
    world = make_world()
    tokenizer, graph = world.tokenizer, world.graph
    model = random_model(tokenizer.vocabulary, CONFIG, times=1)
    s, r, o = int(graph.subject[0]), int(graph.relation[0]), int(graph.objects[2])
    request = jax.tree.map(lambda x: x[0, 0], make_requests(tokenizer, [(s, r, o)], [0.0], [0.9], 6, 3))
    sample = CorpusSample(np.zeros((1, 1)), request, vocabulary_of(tokenizer))
    state = Documents(DocumentsConfig()).prepare(model, sample)
    rows, _ = jax.jit(ask_behind)(model, state, request)
    said = [row[row != PAD].tolist() for row in np.asarray(compact_rows(rows))]
    context = [*tokenizer.prompt(s, r), *tokenizer.entity(o), SEP]
    for other, sentence in enumerate(said):
        stem = tokenizer.prompt(s, other).tolist()[1:]
        assert sentence[: len(stem)] == stem
        assert sentence[-1] == SEP
        prompt = np.array([[*context, *stem]])
        answer = np.asarray(generate(model, model.read_prompts(prompt), 3))[0]
        expected = tokenizer.entity(o) if other == r else answer[answer != PAD]
        assert sentence[len(stem) : -1] == expected.tolist()
