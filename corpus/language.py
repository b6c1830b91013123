"""The formal language: its kinds of sentence, and the two inverse functions between them and text.

Surface forms (DESIGN 3):
    atomic   {s} {r} {o}
    truth    "{s} {r} {o}" is true | false
    not      "not {s} {r} {o}" is true | false
    and, or  "{A} and {B}" is true | false
    imagine  imagine {s} {r} {o}
    revise   revise {s} {r} {o}

The first five state what is the case. The last two open, in documents of their own, a passage about a
world in which the statement holds instead (`corpus.counterfactual`).

Names are free text, so `parse` needs the world's names; `check_unambiguous` refuses a world in which
two different sentences could be spelt alike.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from enum import IntEnum
from typing import NamedTuple

from corpus.errors import InputError

CONNECTIVES = ("and", "or")
RESERVED = ("not", *CONNECTIVES, "imagine", "revise")


class Kind(IntEnum):
    """The kinds of sentence: those of Hase's Table 6 in its order, then the two counterfactual ones."""

    ATOMIC = 0
    TRUTH = 1
    NOT = 2
    AND = 3
    OR = 4
    IMAGINE = 5
    REVISE = 6


SUPPOSING = (Kind.IMAGINE, Kind.REVISE)


class Atom(NamedTuple):
    """An atomic statement: entity, relation and entity ids."""

    subject: int
    relation: int
    object: int


class Sentence(NamedTuple):
    """One sentence. `label` is None for those without "is true" or "is false", `b` but for and/or."""

    kind: Kind
    label: bool | None
    a: Atom
    b: Atom | None = None


class Language:
    """`render` and `parse` for the names of one world.

    Args:
        entities: unique names; an entity's id is its index.
        relations: unique names; a relation's id is its index.
    """

    def __init__(self, entities: Sequence[str], relations: Sequence[str]) -> None:
        self.entities = entities
        self.relations = relations
        self._entity = {name: i for i, name in enumerate(entities)}

    def render(self, sentence: Sentence) -> str:
        """The exact surface form of a sentence."""
        a = self._render_atom(sentence.a)
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
            InputError: the text is no sentence of this world.
        """
        if not text.startswith('"'):
            for kind in SUPPOSING:
                word = kind.name.lower() + " "
                if text.startswith(word):
                    return Sentence(kind, None, self._need_atom(text[len(word) :]))
            return Sentence(Kind.ATOMIC, None, self._need_atom(text))
        for word, label in (("true", True), ("false", False)):
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
                raise InputError(self._unknown("entity", text[: -len(relation) - 1], self.entities))
        known = ", ".join(self.relations)
        raise InputError(f"no relation of this world ends {text!r}; the relations are: {known}")

    def entity(self, name: str) -> int:
        """The id of an entity by its rendered name.

        Raises:
            InputError: unknown name; the message offers the nearest ones.
        """
        name = " ".join(name.split())
        if name not in self._entity:
            raise InputError(self._unknown("entity", name, self.entities))
        return self._entity[name]

    def _unknown(self, what: str, name: str, among: Sequence[str]) -> str:
        near = get_close_matches(name, among, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
        return f"unknown {what} {name!r}{hint}"

    def _render_atom(self, atom: Atom) -> str:
        return f"{self.entities[atom.subject]} {self.relations[atom.relation]} {self.entities[atom.object]}"

    def _parse_atom(self, text: str) -> Atom | None:
        for r, relation in enumerate(self.relations):
            middle = f" {relation} "
            at = text.find(middle)
            while at >= 0:
                s = self._entity.get(text[:at])
                o = self._entity.get(text[at + len(middle) :])
                if s is not None and o is not None:
                    return Atom(s, r, o)
                at = text.find(middle, at + 1)
        return None

    def _need_atom(self, text: str) -> Atom:
        atom = self._parse_atom(text)
        if atom is None:
            raise InputError(f"not a statement '<subject> <relation> <object>' of this world: {text!r}")
        return atom

    def _parse_quoted(self, text: str, label: bool) -> Sentence:
        if text.startswith("not "):
            atom = self._parse_atom(text[4:])
            if atom is not None:
                return Sentence(Kind.NOT, label, atom)
        atom = self._parse_atom(text)
        if atom is not None:
            return Sentence(Kind.TRUTH, label, atom)
        for kind in (Kind.AND, Kind.OR):
            middle = f" {kind.name.lower()} "
            at = text.find(middle)
            while at >= 0:
                a, b = self._parse_atom(text[:at]), self._parse_atom(text[at + len(middle) :])
                if a is not None and b is not None:
                    return Sentence(kind, label, a, b)
                at = text.find(middle, at + 1)
        raise InputError(f"not a quoted statement of this world: {text!r}")


def check_unambiguous(entities: Sequence[str], relations: Sequence[str]) -> None:
    """Refuse names under which two different sentences could be spelt alike.

    Two atoms can share a spelling only where one subject is another with words behind it and those
    words meet a relation, or where one relation is another with words behind it and an entity begins
    with them. A connective can be misread only where an entity contains it and both sides make sense.
    The test is conservative: it may refuse a world that happens to be readable, never the reverse.

    Raises:
        InputError: names the clash.
    """
    known = set(entities)

    def clash(one: str, other: str, why: str) -> InputError:
        return InputError(f"name clash: {one!r} and {other!r} make sentences ambiguous ({why}); rename one")

    def begins(text: str, words: str) -> bool:
        return text == words or text.startswith(words + " ")

    tails = {
        (one, other): other[len(one) + 1 :]
        for one in relations
        for other in relations
        if other.startswith(one + " ")
    }
    for relation in relations:
        for word in CONNECTIVES:
            inside = _splits(f" {relation} ", f" {word} ")
            if inside and (not inside[0][0] or any(other == relation for _, other in tails)):
                raise InputError(f"the relation {relation!r} can be misread at its {word!r}; rename it")
    for name in (*entities, *relations):
        if not {name.split(" ")[0], name.split(" ")[-1]}.isdisjoint(RESERVED):
            raise InputError(f"the name {name!r} begins or ends with one of {RESERVED}; rename it")
    heads = {head for name in entities for head in _before_connective(name)}
    for name in entities:
        if '"' in name or "\u2581" in name:
            raise InputError(f'the name {name!r} contains a reserved character (" or \u2581); rename it')
        for at in (i for i, c in enumerate(name) if c == " "):
            if name[:at] in known:
                rest = name[at + 1 :]
                for relation in relations:
                    if begins(rest, relation) or begins(relation, rest):
                        raise clash(name, name[:at], f"what follows meets the relation {relation!r}")
        for (_, other), tail in tails.items():
            if begins(name, tail):
                raise clash(name, other, "the relation ends with the entity's first words")
        for word in CONNECTIVES:
            for p, q in _splits(name, f" {word} "):
                opens = any(f"{q} {other}" in heads for other in CONNECTIVES)
                if p in known and (opens or _opens_atom(q, known, relations)):
                    raise clash(name, p, f"what follows reads as a second statement after '{word}'")


def _splits(name: str, middle: str) -> list[tuple[str, str]]:
    found, at = [], name.find(middle)
    while at >= 0:
        found.append((name[:at], name[at + len(middle) :]))
        at = name.find(middle, at + 1)
    return found


def _before_connective(name: str) -> list[str]:
    return [f"{p} {word}" for word in CONNECTIVES for p, _ in _splits(name, f" {word} ")]


def _opens_atom(text: str, entities: set[str], relations: Sequence[str]) -> bool:
    return any(p in entities for relation in relations for p, _ in _splits(text + " ", f" {relation} "))
