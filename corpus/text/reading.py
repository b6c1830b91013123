"""Sentences of a text: what each states, and what is wrong with those that state nothing that can be.

Nothing is guessed and nothing passed over: a sentence is one of the world's language, or its flaw is named.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal, NamedTuple

from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.text.language import ABOUT, CONNECTIVES, SUPPOSING, VERDICTS, Kind, Language, Sentence

Flaw = Literal[
    "",
    "empty",
    "mid-sentence",
    "unknown words",
    "no sentence",
    "wrong kind of subject",
    "wrong kind of object",
]


class Line(NamedTuple):
    """One sentence of a text as it was read.

    Attributes:
        sentence: what it says; None where it is not a sentence of the world's language.
        flaw: nothing; why it says nothing ("empty"; "mid-sentence": a sentence begins so; "unknown words";
            "no sentence": words of the language in no order it has); or why what it says cannot be: nobody
            of that kind has such a fact, or it is none of the relation's objects.
    """

    text: str
    sentence: Sentence | None
    flaw: Flaw


class Reader:
    """Reads sentences about one world; those it has read it knows by heart.

    Args:
        language: in which they are written, as the tokenizer's is.
    """

    def __init__(self, graph: KnowledgeGraph, language: Language) -> None:
        self.graph, self.language = graph, language
        self._names = sorted(language.entities)
        self._relations = [way.words for way in language.ways if not way.is_hedge]
        self._openings = [kind.name.lower() for kind in SUPPOSING]
        self._openings += [way.words for way in language.ways if way.is_hedge]
        self._openings += [ABOUT] if ABOUT in language.words else []
        spelt = [
            *language.words,
            *(
                word
                for name in (*self._names, *(way.words for way in language.ways))
                for word in name.split(" ")
            ),
        ]
        self._words = frozenset(spelt)
        self._read: dict[str, Line] = {}

    def read(self, sentences: Sequence[str]) -> list[Line]:
        """Every sentence of a text, as `testbed.engine.results.Passages` has them."""
        return [self.line(text) for text in sentences]

    def line(self, text: str) -> Line:
        """One sentence."""
        if text not in self._read:
            self._read[text] = self._read_line(text)
        return self._read[text]

    def _read_line(self, text: str) -> Line:
        try:
            sentence = self.language.parse(text)
        except InputError:
            return Line(text, None, self._why_none(text))
        atoms = [atom for atom in (sentence.a, sentence.b) if atom is not None]
        if any(self.graph.find(s, r) < 0 for s, r, _ in atoms):
            return Line(text, sentence, "wrong kind of subject")
        states = sentence.kind != Kind.ABOUT
        if states and any(o not in self.graph.candidates_of(r) for _, r, o in atoms):
            return Line(text, sentence, "wrong kind of object")
        return Line(text, sentence, "")

    def _why_none(self, text: str) -> Flaw:
        if not text:
            return "empty"
        if self._may_begin(text):
            return "mid-sentence"
        known = self._words.issuperset(text.replace('"', ' " ').split())
        return "no sentence" if known else "unknown words"

    def _may_begin(self, text: str) -> bool:
        """Whether some sentence begins so, be it within a word."""
        if text.startswith('"'):
            inside, closed, rest = text[1:].partition('"')
            if not closed:
                # Decoding sets an opening quote close only where it finds the closing one.
                return self._begins_inside(inside.lstrip())
            return any(
                f" is {v}".startswith(rest) and self._is_sentence(f'"{inside}" is {v}') for v in VERDICTS
            )
        openings = [f"{word} " for word in self._openings]
        behind = [text.removeprefix(word) for word in openings]
        return any(word.startswith(text) for word in openings) or any(map(self._begins_statement, behind))

    def _begins_inside(self, text: str) -> bool:
        """Whether some quotation begins so."""
        if "not ".startswith(text) or self._begins_statement(text.removeprefix("not ")):
            return True
        for word in CONNECTIVES:
            middle = f" {word} "
            # Behind a whole statement there may be a part of the word, or of the statement that follows.
            if any(
                text.endswith(middle[:n]) and self._is_statement(text[:-n]) for n in range(1, len(middle))
            ):
                return True
            at = text.find(middle)
            while at >= 0:
                if self._is_statement(text[:at]) and self._begins_statement(text[at + len(middle) :]):
                    return True
                at = text.find(middle, at + 1)
        return self._begins_statement(text)

    def _begins_statement(self, text: str) -> bool:
        """Whether some statement begins so; a whole one counts, since more may follow."""
        if self._begins_name(text):
            return True
        at = text.find(" ")
        while at >= 0:
            if self._is_name(text[:at]):
                rest = text[at + 1 :]
                for words in self._relations:
                    if words.startswith(rest):
                        return True
                    if rest.startswith(f"{words} ") and self._begins_name(rest[len(words) + 1 :]):
                        return True
            at = text.find(" ", at + 1)
        return False

    def _begins_name(self, text: str) -> bool:
        at = bisect_left(self._names, text)
        return at < len(self._names) and self._names[at].startswith(text)

    def _is_name(self, text: str) -> bool:
        at = bisect_left(self._names, text)
        return at < len(self._names) and self._names[at] == text

    def _is_statement(self, text: str) -> bool:
        return self._is_sentence(text) and self.language.parse(text).kind == Kind.ATOMIC

    def _is_sentence(self, text: str) -> bool:
        try:
            self.language.parse(text)
        except InputError:
            return False
        return True
