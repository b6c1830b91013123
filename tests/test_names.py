"""Names are such that every sentence parses back, whatever the labels: text, tokens, Hugging Face's files."""

import json

import numpy as np
import pytest
import tokenizers
from hypothesis import example, given, seed
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from corpus.errors import InputError
from corpus.text.language import Atom, Kind, Language, Phrasing, Sentence
from corpus.text.names import check_readable, clean_label, find_misreadings, make_readable
from corpus.text.tokenizer import entity_tokenizer, tokenizer_files, train_bpe

# Words chosen to collide with the grammar, with each other, with keys and with special tokens.
WORDS = (
    "ann", "bo", "r", "of", "r of", "and", "or", "not", "Not", "is", "true", "false", "imagine", "revise",
    "is true.", "true.", "r.", ".", "..", "and.", "(Q1)", "((Q1))", "(P0)", "(Q0).", "<s>", "<.>", "\u2581",
    "'", '"', '""', "-", "\u4e2d", "\u00e9", "e\u0301", "\u0645", "\x00", "\\t", "\t", "\u00a0", "\u2028",
    "\U0001f600", "\ufeff",
)  # fmt: skip
labels = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join).filter(str.strip)


def every_sentence(entities, relations):
    atoms = [Atom(s, r, o) for s in range(entities) for r in range(relations) for o in range(entities)]
    some = atoms[:: max(1, len(atoms) // 6)]
    yield from (Sentence(kind, None, a) for a in atoms for kind in (Kind.ATOMIC, Kind.IMAGINE, Kind.REVISE))
    for label in (True, False):
        yield from (Sentence(kind, label, a) for kind in (Kind.TRUTH, Kind.NOT) for a in atoms)
        yield from (Sentence(kind, label, a, b) for kind in (Kind.AND, Kind.OR) for a in some for b in some)


def every_phrasing(entities, phrasings):
    """Every sentence of one atom in every phrasing."""
    atoms = [Atom(s, 0, o) for s in range(entities) for o in range(entities)]
    for kind in (Kind.ATOMIC, Kind.IMAGINE, Kind.REVISE, Kind.TRUTH, Kind.NOT):
        label = True if kind in (Kind.TRUTH, Kind.NOT) else None
        yield from (Sentence(kind, label, a, None, i + 1) for a in atoms for i in range(phrasings))


def named(entities, relations):
    keys = [[f"{mark}{i}" for i in range(len(names))] for mark, names in (("Q", entities), ("P", relations))]
    return make_readable(entities, keys[0], relations, keys[1])


def assert_all_parse_back(entities, relations, phrasings=()):
    """Every sentence, through text, our two tokenizers, and theirs."""
    language = Language(entities, relations, phrasings)
    check_readable(entities, [way.words for way in language.ways])
    ours = [
        entity_tokenizer(language),
        train_bpe(language, np.ones(len(entities) + len(language.ways), int), 300),
    ]
    theirs = [
        tokenizers.Tokenizer.from_str(json.dumps(tokenizer_files(one)["tokenizer.json"])) for one in ours
    ]
    spelt = set()
    sentences = {*every_sentence(len(entities), len(relations))}
    if phrasings:
        sentences = {*every_phrasing(len(entities), len(phrasings))}
    for sentence in sentences:
        text = language.render(sentence)
        assert language.parse(text) == sentence
        spelt.add(text)
        for mine, other in zip(ours, theirs, strict=True):
            ids = mine.sentence(sentence).tolist()
            assert mine.encode(text).tolist() == ids
            assert mine.decode(ids) == text
            assert other.encode(text, add_special_tokens=False).ids == ids
            assert other.decode(ids) == text
    assert len(spelt) == len(sentences)


def check(entities, relations):
    new_entities, new_relations, renamed = named(entities, relations)
    assert_all_parse_back(new_entities, new_relations)
    # What is told is what happened, and nothing is changed but by cleaning or by a key behind it.
    changed = {}
    for label, name in zip((*entities, *relations), (*new_entities, *new_relations), strict=True):
        assert name == clean_label(label) or name.startswith(f"{clean_label(label)} (")
        if name != " ".join(label.split()):
            changed[name] = label
    assert {one.name: one.label for one in renamed} == changed


EXAMPLES = (
    (["ann", "ann r", "bo"], ["r", "s"]),
    (["ann", "bo", "ann and bo", "bo and r"], ["is"]),
    (["ann", "not ann", "bo"], ["is"]),
    (["ann", "of bo", "bo"], ["is", "is of"]),
    (["ann", "bo", "ann and ann is bo"], ["is"]),
    (["not", "r", "bo r"], ["bo", "r"]),
    (["a", "b", "a and b", "b or c"], ["is"]),
    (["(Q1)", "(Q1)", "(Q1) (Q1)"], ["(Q1)", "(Q0)"]),
    (["imagine ann", "imagine", "ann"], ["imagine"]),
    (["is true.", "is true", "true", "."], ["is", "."]),
    (["or", "Not", "is true"], ["and", "not"]),
)


@pytest.mark.parametrize(("entities", "relations"), EXAMPLES)
def test_every_sentence_of_worlds_that_were_once_refused(entities, relations):
    check(entities, relations)


@seed(0)
@hypothesis_settings(max_examples=20, database=None)
@given(st.lists(labels, min_size=2, max_size=4), st.lists(labels, min_size=1, max_size=2))
def test_every_sentence_of_hostile_worlds(entities, relations):
    check(entities, relations)


@seed(2)
@hypothesis_settings(max_examples=20, database=None)
@given(st.lists(labels, min_size=2, max_size=3), st.lists(labels, min_size=2, max_size=3))
@example(["ann", "ann r", "bo"], ["r", "is r", "r of"])
def test_every_phrasing_of_hostile_worlds(entities, relations):
    """One relation, said in the words of others; every other one inversely."""
    entities, relations, _ = named(entities, relations)
    ways = [Phrasing(0, words, inverse=i % 2 == 0) for i, words in enumerate(relations[1:])]
    assert_all_parse_back(entities, relations[:1], ways)


@seed(0)
@hypothesis_settings(max_examples=300, database=None)
@given(st.lists(labels, min_size=2, max_size=5), st.lists(labels, min_size=1, max_size=3))
@example(["ann", "ann r"], ["r"])
def test_names_that_are_passed_are_never_ambiguous(entities, relations):
    """The other way round: a world in which two sentences are spelt alike has a name that is told."""
    entities, relations = [*map(clean_label, entities)], [*map(clean_label, relations)]
    language, spelt = Language(entities, relations), {}
    for sentence in every_sentence(len(entities), len(relations)):
        if spelt.setdefault(language.render(sentence), sentence) != sentence:
            assert list(find_misreadings(entities, relations))
            return


def test_names_that_only_look_dangerous_are_kept():
    check_readable(
        [
            "New York",
            "New York City",
            "Trinidad and Tobago",
            "Trinidad",
            "country music",
            "bo and",
            "not here.",
        ],
        ["country", "country of citizenship", "languages spoken, written or signed"],
    )


def test_what_clashes_gets_its_key_and_is_told():
    entities, relations, renamed = make_readable(
        ["music genre", "music", "Springfield", "Rome", "Springfield", '"Weird  Al"\tX', "genre", "e</s>vil"],
        [f"Q{i}" for i in range(1, 9)],
        ["genre"],
        ["P136"],
    )
    assert entities == [
        "music genre (Q1)", "music", "Springfield (Q3)", "Rome", "Springfield (Q5)", "'Weird Al' X",
        "genre (Q7)", "e(/s)vil",
    ]  # fmt: skip
    assert relations == ["genre"]
    assert [one.name for one in renamed] == [name for name in entities if name not in ("music", "Rome")]
    assert renamed[0].why == "it begins with 'music', which 'genre' could follow"
    with pytest.raises(InputError, match="Q7 has an empty name"):
        make_readable(["  "], ["Q7"], ["r"], ["P1"])
