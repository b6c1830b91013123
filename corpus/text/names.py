"""Names that can be read: whatever could be taken for other words of a sentence gets something behind it.

A sentence is read from left to right, each time the longest name or word of the grammar that fits (a stop
behind a word may belong to it or not). That goes wrong only where a name is another one with words behind
it, and those words could follow the other one in some sentence: "music genre" is "music" and the beginning
of "genre ...". So the longer name gets its key behind it: "music genre (Q188451)". The key is a word that no
other name holds. Hence a name with one can never again be taken for other words, nothing else can be taken
for it, and no third name comes into doubt: one pass over the names is enough. Two sentences that are read
as different words are spelt differently, so `Language.parse`, which tries every way to split a sentence,
finds the one that `render` was given.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from corpus.errors import InputError
from corpus.text.language import ABOUT, CONNECTIVES, SPECIALS, VERDICTS, WORD_START, WORDS

_STOPS = re.compile(r"\.+(?= |$)")
_AND_AGAIN = ("connective", "entity", "relation", "entity")
FOLLOWS = {
    "entity": (("relation", "entity", *_AND_AGAIN), _AND_AGAIN),
    "relation": (("entity", *_AND_AGAIN),),
    "connective": (("entity", "relation", "entity"),),
    "opening": (("entity", "relation", "entity", *_AND_AGAIN),),
    "is": (("verdict",),),
}
"""What may stand behind each kind of name or word, to the end of a sentence."""
INVISIBLE = "Cf"
"""The Unicode category of characters without width."""


class NameChange(NamedTuple):
    """A name that is not spelt as in the source, and why."""

    label: str
    name: str
    why: str


class _Kind:
    """The names of one kind, without the stops that end their words."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = set(names)

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(f"{name} " for name in self.names)

    def begins_with(self, words: str) -> bool:
        """Whether some name is these words, or has more behind them."""
        at = bisect_left(self._sorted, f"{words} ")
        return at < len(self._sorted) and self._sorted[at].startswith(f"{words} ")


def clean_label(label: str) -> str:
    """A label without what a sentence or a tokenizer keeps for itself.

    White space is collapsed; a double quote, which opens and closes a quoted sentence, becomes a single
    one; so do the tokenizer's mark of a space and its special tokens become other characters.
    """
    name = " ".join(label.split()).replace('"', "'").replace(WORD_START, "_")
    for special in SPECIALS:
        name = name.replace(special, f"({special[1:-1]})")
    return name


def make_readable(
    entities: Sequence[str],
    entity_keys: Sequence[str],
    relations: Sequence[str],
    relation_keys: Sequence[str],
) -> tuple[list[str], list[str], list[NameChange]]:
    """Names of entities and relations with which every sentence parses back, and those that were changed.

    Every label that several ids share gets its key behind it, and so does every name that could be taken
    for others.

    Args:
        entities, relations: labels as in the source.
        entity_keys, relation_keys: a word for each that tells it from all others.

    Raises:
        InputError: a label is empty.
    """
    labels, keys = [*entities, *relations], [*entity_keys, *relation_keys]
    names = [clean_label(label) for label in labels]
    if "" in names:
        raise InputError(f"{keys[names.index('')]} has an empty name; give it a label or drop it")
    why = dict(find_misreadings(names[: len(entities)], names[len(entities) :]))
    # A key that some name already holds gets brackets of its own.
    taken = {word for name in names if "(" in name for word in _strip_stops(name).split(" ")}
    for i in why:
        key = f"({keys[i]})"
        while key in taken:
            key = f"({key})"
        taken.add(key)
        names[i] = f"{names[i]} {key}"
    changed = [
        NameChange(label, name, why.get(i, "it holds characters that sentences keep for themselves"))
        for i, (label, name) in enumerate(zip(labels, names, strict=True))
        if name != label and name != " ".join(label.split())
    ]
    return names[: len(entities)], names[len(entities) :], changed


def find_lookalikes(names: Sequence[str]) -> list[list[str]]:
    """Groups of names that differ only in case, in how Unicode composes them, or in characters without width.

    >>> find_lookalikes(["Paris", "Rome", "PARIS"])
    [['Paris', 'PARIS']]
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        visible = "".join(c for c in name if unicodedata.category(c) != INVISIBLE)
        groups.setdefault(unicodedata.normalize("NFKC", visible).casefold(), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def check_readable(entities: Sequence[str], relations: Sequence[str]) -> None:
    """Refuse names with which some sentence could be read in two ways.

    Raises:
        InputError: a name that holds reserved characters, or could be taken for others.
    """
    names = [*entities, *relations]
    for name in names:
        for reserved in (*SPECIALS, WORD_START, '"'):
            if reserved in name:
                raise InputError(
                    f"the name {name!r:.200} contains {reserved!r}, which stands for itself; rename it"
                )
    for i, why in find_misreadings(entities, relations):
        raise InputError(f"name clash: {names[i]!r:.200} makes sentences ambiguous ({why}); rename it")


def find_misreadings(entities: Sequence[str], relations: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Every name that could be taken for another one, or for others and words of the grammar.

    The test is conservative: it may name too many, never too few.

    Yields:
        An index into entities and relations, end to end, and in words what the name could be taken for.
    """
    owners, relation_owners = Counter(entities), Counter(relations)
    everything = [_strip_stops(name) for name in (*entities, *relations)]
    kinds = {
        "entity": _Kind(everything[: len(entities)]),
        "relation": _Kind(everything[len(entities) :]),
        "connective": _Kind(CONNECTIVES),
        "opening": _Kind(("not", "imagine", "revise", ABOUT)),
        "is": _Kind(("is",)),
        "verdict": _Kind(VERDICTS),
    }
    heads = set().union(*(kinds[kind].names for kind in FOLLOWS))
    for i, name in enumerate((*entities, *relations)):
        is_entity = i < len(entities)
        if name in (*WORDS, ABOUT):
            yield i, "it is a word of the grammar"
        elif (owners if is_entity else relation_owners)[name] > 1:
            yield i, f"several {'entities' if is_entity else 'relations'} are called so"
        elif is_entity and name in relation_owners:
            yield i, "a relation is called so"
        elif " " in name:
            for head, rest in _cut_name(everything[i]):
                if head in heads and _may_follow(head, rest, kinds):
                    yield i, f"it begins with {head!r:.80}, which {rest!r:.80} could follow"
                    break


def _may_follow(head: str, words: str, kinds: dict[str, _Kind]) -> bool:
    """Whether some sentence goes on with these words, whole ones, after a name or word `head`."""
    return any(
        _may_continue(words, path, kinds)
        for kind, paths in FOLLOWS.items()
        if head in kinds[kind].names
        for path in paths
    )


def _may_continue(words: str, path: Sequence[str], kinds: dict[str, _Kind]) -> bool:
    rests = {words}
    for kind in path:
        if any(kinds[kind].begins_with(rest) for rest in rests):
            return True
        rests = {tail for rest in rests for head, tail in _cut_name(rest) if head in kinds[kind].names}
    return False


def _cut_name(name: str) -> Iterator[tuple[str, str]]:
    """All ways to cut a name between two of its words."""
    at = name.find(" ")
    while at >= 0:
        yield name[:at], name[at + 1 :]
        at = name.find(" ", at + 1)


def _strip_stops(name: str) -> str:
    """A name without the stops that end its words."""
    return _STOPS.sub("", name) if "." in name else name
