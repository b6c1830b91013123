"""Essays: two linked subjects in turn, and outlines of what a document will say."""

import numpy as np
import pytest

from corpus.config import CoupledWorld, DocumentConfig, ExactConfig
from corpus.errors import InputError
from corpus.exact import draw_world, sample_exact
from corpus.text.documents import MIXED, DocumentKind, append_documents, cut_documents
from corpus.text.essays import OUTLINED, join_essays, outline_essays
from corpus.text.language import Atom, Kind, Sentence
from corpus.text.reading import Reader
from corpus.text.sentences import concatenate_sentences
from corpus.text.store import document_lengths, join_documents, spell_sentences
from corpus.text.tokenizer import BOS, EOS, SEP, entity_tokenizer, train_bpe
from corpus.worlds.couples.generated import build_coupled_world
from testbed.engine.records import split_sentences as split

CONFIG = DocumentConfig(length=12, together=0.25, outlined=0.5)


@pytest.fixture(scope="module")
def coupled():
    rng = np.random.default_rng(0)
    graph = build_coupled_world(60, CoupledWorld(), rng)
    graph, model = draw_world(graph, ExactConfig(), rng, redraw=False)
    return graph, sample_exact(graph, model, ExactConfig(), rng)[0]


@pytest.fixture(scope="module")
def written(coupled):
    graph, said = coupled
    rng = np.random.default_rng(1)
    ordinary = cut_documents(said, CONFIG, rng)
    documents = append_documents(ordinary, join_essays(graph, said, len(ordinary), CONFIG, rng))
    outlines, documents = outline_essays(graph, said, documents, CONFIG, rng)
    return ordinary, concatenate_sentences(said, outlines), documents


def lines(documents, d):
    return documents.order[documents.offsets[d] : documents.offsets[d + 1]]


def test_documents_about_two_speak_of_both_in_turn(coupled, written):
    graph, said = coupled
    _, spoken, documents = written
    links = {(int(graph.subject[f]), int(graph.object[f])) for f in np.flatnonzero(graph.is_link)}
    about_two = np.flatnonzero(documents.kind == DocumentKind.TOGETHER)
    assert abs(len(about_two) / len(documents) - CONFIG.together) < 0.01
    openings = set()
    for d in about_two:
        rows = lines(documents, d)
        assert len(rows) == CONFIG.length
        assert rows.max() < len(said)
        assert (spoken.kind[rows] == Kind.ATOMIC).all()
        who = spoken.about[rows]
        assert {*map(tuple, [who[[0, 3]].tolist(), who[[3, 0]].tolist()])} & links
        np.testing.assert_array_equal(who, np.tile(np.repeat(who[[0, 3]], 3), 2))
        openings.add((int(who[0]), int(who[3])) in links)
    assert openings == {True, False}
    assert (documents.about[about_two] == MIXED).all()


def test_outlines_say_of_which_stated_facts_a_document_speaks(written):
    ordinary, spoken, documents = written
    opened = 0
    for d in range(len(documents)):
        rows = lines(documents, d)
        outline = rows[spoken.kind[rows] == Kind.ABOUT]
        rest = rows[len(outline) :]
        assert (spoken.kind[rest] != Kind.ABOUT).all()
        assert len(outline) <= OUTLINED
        opened += len(outline) > 0
        if d < len(ordinary):
            np.testing.assert_array_equal(rest, lines(ordinary, d))
        if len(outline):
            assert documents.kind[d] == DocumentKind.ORDINARY
            stated = {tuple(x) for x in spoken.a[rest[spoken.kind[rest] == Kind.ATOMIC], :2].tolist()}
            named = [tuple(x) for x in spoken.a[outline, :2].tolist()]
            assert {*named} <= stated
            assert len({*named}) == len(named)
            assert len(named) == min(OUTLINED, len({x for x in stated if x[0] == documents.about[d]}))
    assert 0.3 < opened / len(ordinary) < 0.55


@pytest.mark.parametrize("kind", ["entity", "bpe"])
def test_documents_are_spelt_and_read_back(coupled, written, kind):
    graph, _ = coupled
    _, spoken, documents = written
    counts = np.ones(len(graph.entities) + len(graph.relations) + len(graph.phrasings), int)
    tokenizer = entity_tokenizer(graph) if kind == "entity" else train_bpe(graph, counts, 600)
    reader = Reader(graph, tokenizer.language)
    spelled = spell_sentences(spoken, tokenizer)
    for i in (*range(0, len(spoken), 40), len(spoken) - 1):
        row = spelled.tokens[spelled.place[i] : spelled.place[i + 1]]
        np.testing.assert_array_equal(row, tokenizer.sentence(spoken[i]))
        np.testing.assert_array_equal(row, tokenizer.encode(tokenizer.language.render(spoken[i])))
        assert reader.line(tokenizer.decode(row)) == (tokenizer.language.render(spoken[i]), spoken[i], "")
    offsets = np.append(0, np.cumsum(document_lengths(documents, spelled)))
    ((_, tokens),) = join_documents(documents, spelled, offsets)
    opened = next(d for d in range(len(documents)) if spoken.kind[lines(documents, d)[0]] == Kind.ABOUT)
    document = tokens[offsets[opened] : offsets[opened + 1]]
    assert (document[0], document[-1]) == (BOS, EOS)
    assert (document == SEP).sum() == len(lines(documents, opened)) - 1
    read = reader.read(split(tokenizer, document[:-1]))
    assert [line.sentence for line in read] == [spoken[i] for i in lines(documents, opened)]


def test_outlines_are_sentences_of_linked_worlds_alone(coupled, world):
    graph, _ = coupled
    language = entity_tokenizer(graph).language
    s, r = int(graph.subject[0]), int(graph.relation[0])
    text = f"about {graph.entities[s]} {graph.relations[r]}"
    assert language.parse(text) == Sentence(Kind.ABOUT, None, Atom(s, r, s))
    assert Reader(graph, language).line(text[:-2]).flaw == "mid-sentence"
    assert Reader(graph, language).line("abou").flaw == "mid-sentence"
    plain = world.tokenizer.language
    with pytest.raises(InputError):
        plain.parse(f"about {plain.entities[0]} {plain.relations[0]}")
    rng = np.random.default_rng(0)
    ordinary = cut_documents(world.sentences, CONFIG, rng)
    with pytest.raises(InputError, match="need links"):
        join_essays(world.graph, world.sentences, len(ordinary), CONFIG, rng)
    with pytest.raises(InputError, match="outlines need"):
        outline_essays(world.graph, world.sentences, ordinary, CONFIG, rng)
