"""The formal language: its kinds of sentence, and the two inverse functions between them and text.

Surface forms (design.md 3):
    atomic   {s} {r} {o}
    truth    "{s} {r} {o}" is true | false
    not      "not {s} {r} {o}" is true | false
    and, or  "{A} and {B}" is true | false
    imagine  imagine {s} {r} {o}
    revise   revise {s} {r} {o}
    about    about {s} {r}

In a sentence of one atom the relation may be said in another way: by a synonym, or inversely, the object
first and the subject behind, as in "dog includes Siamese" for "Siamese is a dog". It is the same statement.
Or a hedge stands before it (`corpus.text.hedges`), as in "according to Corvin Siamese is a dog".

The first five state what is the case. The last two open, in documents of their own, a passage about a
world in which the statement holds instead (`corpus.text.counterfactual`). The last one outlines: it says of
what a document will speak, and states nothing (`corpus.text.essays`); only some worlds have it.

Names are free text, so `parse` needs the world's names; `corpus.text.names` makes them such that no two
different sentences are spelt alike.
"""

from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from enum import IntEnum
from typing import NamedTuple

from corpus.errors import InputError, name_some

CONNECTIVES = ("and", "or")
VERDICTS = ("true", "false")
WORDS = ('"', "not", *CONNECTIVES, "is", *VERDICTS, "imagine", "revise")
ABOUT = "about"
"""The word of outlines."""
ANY_RELATION = -1
# What tokenizers keep for themselves: the mark of a space, and special tokens.
WORD_START = "\u2581"
SPECIALS = ("<pad>", "<s>", "</s>", "<.>", "<unk>")


class Kind(IntEnum):
    """The kinds of sentence: those of Hase's Table 6 in its order, the two counterfactual ones, outlines."""

    ATOMIC = 0
    TRUTH = 1
    NOT = 2
    AND = 3
    OR = 4
    IMAGINE = 5
    REVISE = 6
    ABOUT = 7


SUPPOSING = (Kind.IMAGINE, Kind.REVISE)


class Atom(NamedTuple):
    """An atomic statement: entity, relation and entity ids."""

    subject: int
    relation: int
    object: int


class Phrasing(NamedTuple):
    """Another way to say a relation; an inverse one has the object before its words, the subject behind.

    That of ANY_RELATION is a hedge: its words stand before a statement whose relation is said by its name.
    """

    relation: int
    words: str
    inverse: bool

    @property
    def is_hedge(self) -> bool:
        """Whether its words stand before a statement."""
        return self.relation == ANY_RELATION


class Sentence(NamedTuple):
    """One sentence. `label` is None for those without "is true" or "is false", `b` but for and/or.

    `phrasing` is 0 where the relation is said by its name, else one more than the index of the phrasing;
    and/or sentences know names only. The object of an outline is its subject once more, unsaid.
    """

    kind: Kind
    label: bool | None
    a: Atom
    b: Atom | None = None
    phrasing: int = 0


class Language:
    """`render` and `parse` for the names of one world.

    >>> language = Language(["Ada Marlow", "Quintal College"], ["educated at"])
    >>> claim = language.parse('"not Ada Marlow educated at Quintal College" is false')
    >>> claim.kind.name, claim.label, tuple(claim.a)
    ('NOT', False, (0, 0, 1))
    >>> language.render(claim)
    '"not Ada Marlow educated at Quintal College" is false'

    Args:
        entities: unique names; an entity's id is its index.
        relations: unique names; a relation's id is its index.
        phrasings: other ways to say them.
        outlines: whether there are sentences that say of what a document will speak.
    """

    def __init__(
        self,
        entities: Sequence[str],
        relations: Sequence[str],
        phrasings: Sequence[Phrasing] = (),
        outlines: bool = False,
    ) -> None:
        self.entities = entities
        self.relations = relations
        self.phrasings = phrasings
        self.outlines = outlines
        self.words = (*WORDS, ABOUT) if outlines else WORDS
        self.ways = [Phrasing(r, name, inverse=False) for r, name in enumerate(relations)]
        self.ways += phrasings
        self._entity = {name: i for i, name in enumerate(entities)}

    def render(self, sentence: Sentence) -> str:
        """The exact surface form of a sentence."""
        if sentence.kind == Kind.ABOUT:
            s, r, _ = sentence.a
            return f"{ABOUT} {self.entities[s]} {self.relations[r]}"
        a = self._render_atom(sentence.a, sentence.phrasing)
        if sentence.kind == Kind.ATOMIC:
            return a
        if sentence.kind in SUPPOSING:
            return f"{sentence.kind.name.lower()} {a}"
        if sentence.kind == Kind.NOT:
            a = f"not {a}"
        elif sentence.b is not None:
            a = f"{a} {sentence.kind.name.lower()} {self._render_atom(sentence.b)}"
        return f'"{a}" is {"true" if sentence.label else "false"}'

    def parse(self, text: str) -> Sentence:
        """The sentence that `text` spells.

        Raises:
            InputError: the text is not a sentence of this world.
        """
        if not text.startswith('"'):
            for kind in SUPPOSING:
                word = kind.name.lower() + " "
                # A subject may be called so, too.
                said = self._parse_atom(text[len(word) :]) if text.startswith(word) else None
                if said is not None:
                    return Sentence(kind, None, said[0], None, said[1])
            if ABOUT in self.words and text.startswith(f"{ABOUT} "):
                with suppress(InputError):
                    s, r = self.parse_prompt(text.removeprefix(f"{ABOUT} "))
                    outline = Sentence(Kind.ABOUT, None, Atom(s, r, s))
                    if self.render(outline) == text:
                        return outline
            for number, way in enumerate(self.phrasings, start=1):
                behind = text.removeprefix(f"{way.words} ") if way.is_hedge else text
                hedged = self._parse_named(behind) if behind != text else None
                if hedged is not None:
                    return Sentence(Kind.ATOMIC, None, hedged, None, number)
            parse = self._parse_atom(text)
            if parse is None:
                raise InputError(f"not a statement '<subject> <relation> <object>' of this world: {text!r}")
            atom, phrasing = parse
            return Sentence(Kind.ATOMIC, None, atom, None, phrasing)
        for word, label in zip(VERDICTS, (True, False), strict=True):
            ending = f'" is {word}'
            if text.endswith(ending):
                return self._parse_quoted(text[1 : -len(ending)], label)
        raise InputError(f"not a sentence of this world (no '\" is true' or '\" is false'): {text!r}")

    def parse_prompt(self, text: str) -> tuple[int, int]:
        """Subject and relation of a prompt such as "Ada Marlow educated at".

        Raises:
            InputError: no relation or no entity of this world; the message names the nearest ones.
        """
        text = " ".join(text.split())
        for r, relation in enumerate(self.relations):
            if text.endswith(" " + relation) and text[: -len(relation) - 1] in self._entity:
                return self._entity[text[: -len(relation) - 1]], r
        for relation in sorted(self.relations, key=len, reverse=True):
            if text.endswith(" " + relation):
                raise InputError(self._describe_unknown("entity", text[: -len(relation) - 1], self.entities))
        known = name_some(self.relations)
        raise InputError(f"no relation of this world ends {text!r}; the relations are: {known}")

    def entity(self, name: str) -> int:
        """The id of an entity by its rendered name.

        Raises:
            InputError: unknown name; the message offers the nearest ones.
        """
        name = " ".join(name.split())
        if name not in self._entity:
            raise InputError(self._describe_unknown("entity", name, self.entities))
        return self._entity[name]

    def _describe_unknown(self, what: str, name: str, among: Sequence[str]) -> str:
        near = get_close_matches(name, among, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
        return f"unknown {what} {name!r}{hint}"

    def _render_atom(self, atom: Atom, phrasing: int = 0) -> str:
        way = self.ways[len(self.relations) + phrasing - 1 if phrasing else atom.relation]
        if way.is_hedge:
            return f"{way.words} {self._render_atom(atom)}"
        first, last = (atom.object, atom.subject) if way.inverse else (atom.subject, atom.object)
        return f"{self.entities[first]} {way.words} {self.entities[last]}"

    def _parse_atom(self, text: str) -> tuple[Atom, int] | None:
        """The statement and its phrasing."""
        for i, way in enumerate(self.ways):
            if way.is_hedge:
                continue
            middle = f" {way.words} "
            at = text.find(middle)
            while at >= 0:
                first = self._entity.get(text[:at])
                last = self._entity.get(text[at + len(middle) :])
                if first is not None and last is not None:
                    s, o = (last, first) if way.inverse else (first, last)
                    return Atom(s, way.relation, o), max(0, i + 1 - len(self.relations))
                at = text.find(middle, at + 1)
        return None

    def _parse_named(self, text: str) -> Atom | None:
        """The statement, if its relation is said by its name."""
        parse = self._parse_atom(text)
        return parse[0] if parse is not None and parse[1] == 0 else None

    def _parse_quoted(self, text: str, label: bool) -> Sentence:
        if text.startswith("not "):
            parse = self._parse_atom(text[4:])
            if parse is not None:
                return Sentence(Kind.NOT, label, parse[0], None, parse[1])
        parse = self._parse_atom(text)
        if parse is not None:
            return Sentence(Kind.TRUTH, label, parse[0], None, parse[1])
        for kind in (Kind.AND, Kind.OR):
            middle = f" {kind.name.lower()} "
            at = text.find(middle)
            while at >= 0:
                a, b = self._parse_named(text[:at]), self._parse_named(text[at + len(middle) :])
                if a is not None and b is not None:
                    return Sentence(kind, label, a, b)
                at = text.find(middle, at + 1)
        raise InputError(f"not a quoted statement of this world: {text!r}")
