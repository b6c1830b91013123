"""What sentences look like, and what is not a sentence; that all of them parse back is for test_names."""

import pytest

from corpus.errors import InputError
from corpus.text.language import Atom, Kind, Language, Phrasing, Sentence


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


def test_other_phrasings_are_the_same_statement():
    ways = [Phrasing(1, "is a kind of", inverse=False), Phrasing(1, "includes", inverse=True)]
    language = Language(["Siamese", "cat", "fur"], ["has", "is a"], ways)
    cat = Atom(0, 1, 1)
    expected = {
        Sentence(Kind.ATOMIC, None, cat): "Siamese is a cat",
        Sentence(Kind.ATOMIC, None, cat, None, 1): "Siamese is a kind of cat",
        Sentence(Kind.ATOMIC, None, cat, None, 2): "cat includes Siamese",
        Sentence(Kind.TRUTH, False, cat, None, 2): '"cat includes Siamese" is false',
        Sentence(Kind.NOT, False, cat, None, 1): '"not Siamese is a kind of cat" is false',
        Sentence(Kind.IMAGINE, None, cat, None, 2): "imagine cat includes Siamese",
    }
    assert {s: language.render(s) for s in expected} == expected
    assert [language.parse(text) for text in expected.values()] == [*expected]
    with pytest.raises(InputError):
        language.parse('"cat includes Siamese and Siamese has fur" is true')


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
    many = Language(["Ada"], [f"has {n:03}" for n in range(700)])
    with pytest.raises(InputError, match="has 009 and 690 more$"):
        many.parse_prompt("Ada likes")
