"""render and parse are inverses on every sentence of every world that is not refused."""

import pytest
from hypothesis import event, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from corpus.errors import InputError
from corpus.language import Atom, Kind, Language, Sentence, check_unambiguous

# Words chosen to collide with the grammar and with each other.
WORDS = ("ann", "bo", "cy", "dee", "eve", "r", "of", "and", "or", "not", "is", "true", "r s")
names = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
entity_sets = st.lists(names, min_size=2, max_size=5, unique=True)
relation_sets = st.lists(names, min_size=1, max_size=3, unique=True)


def every_sentence(entities, relations):
    atoms = [Atom(s, r, o) for s in range(entities) for r in range(relations) for o in range(entities)]
    yield from (Sentence(Kind.ATOMIC, None, a) for a in atoms)
    for label in (True, False):
        yield from (Sentence(kind, label, a) for kind in (Kind.TRUTH, Kind.NOT) for a in atoms)
        some = atoms[:: max(1, len(atoms) // 12)]
        yield from (Sentence(kind, label, a, b) for kind in (Kind.AND, Kind.OR) for a in some for b in some)


@hypothesis_settings(max_examples=400)
@given(entity_sets, relation_sets)
@example(["ann", "ann r", "bo"], ["r", "s"])
@example(["ann", "bo", "ann and bo", "bo and r"], ["is"])
@example(["ann", "not ann", "bo"], ["is"])
@example(["ann", "of bo", "bo"], ["is", "is of"])
@example(["ann", "bo", "ann and ann is bo"], ["is"])
@example(["not", "r", "bo r"], ["bo", "r"])
def test_worlds_are_refused_or_readable(entities, relations):
    try:
        check_unambiguous(entities, relations)
    except InputError:
        event("refused")
        return
    event("readable")
    language = Language(entities, relations)
    spelt = {}
    for sentence in every_sentence(len(entities), len(relations)):
        text = language.render(sentence)
        assert language.parse(text) == sentence
        assert spelt.setdefault(text, sentence) == sentence


@pytest.mark.parametrize(
    ("entities", "relations"),
    [
        (["ann", "ann born", "bo"], ["born in"]),
        (["ann", "not ann"], ["is"]),
        (["ann", "of bo"], ["is", "is of"]),
        (["ann", "bo", "ann and bo is ann"], ["is"]),
        (["a", "b", "a and b", "b or c"], ["is"]),
        (["ann", "b\u2581o"], ["is"]),
        (["ann", "bo and"], ["is"]),
        (["ann", "bo"], ["or is"]),
    ],
)
def test_ambiguous_worlds_are_refused(entities, relations):
    with pytest.raises(InputError):
        check_unambiguous(entities, relations)


def test_names_that_only_look_dangerous_are_kept():
    check_unambiguous(
        ["New York", "New York City", "Trinidad and Tobago", "Trinidad", "country music"],
        ["country", "country of citizenship", "languages spoken, written or signed"],
    )


def test_surface_forms():
    language = Language(["Ada", "York", "Rome"], ["born in"])
    ada, rome = Atom(0, 0, 1), Atom(1, 0, 2)
    expected = {
        Sentence(Kind.ATOMIC, None, ada): "Ada born in York",
        Sentence(Kind.TRUTH, True, ada): '"Ada born in York" is true',
        Sentence(Kind.NOT, False, ada): '"not Ada born in York" is false',
        Sentence(Kind.AND, True, ada, rome): '"Ada born in York and York born in Rome" is true',
        Sentence(Kind.OR, False, rome, ada): '"York born in Rome or Ada born in York" is false',
    }
    assert {s: language.render(s) for s in expected} == expected


@pytest.mark.parametrize(
    "text", ["", "Ada", "Ada born in", '"Ada born in York" is maybe', '"Ada" is true', "x y z"]
)
def test_other_text_is_refused(text):
    with pytest.raises(InputError):
        Language(["Ada", "York"], ["born in"]).parse(text)


def test_prompts_and_near_misses():
    language = Language(["Ada Marlow", "York"], ["born in", "in"])
    assert language.parse_prompt(" Ada  Marlow born in ") == (0, 0)
    with pytest.raises(InputError, match="did you mean 'Ada Marlow'"):
        language.parse_prompt("Ada Marlo born in")
    with pytest.raises(InputError, match="the relations are: born in, in"):
        language.parse_prompt("Ada Marlow likes")
