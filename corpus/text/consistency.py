"""How many sentences can be true together: exactly, by branch and bound, a fact having one object.

Sentences of one text are few, and fall into parts that share no fact; each part is searched for itself. Of a
fact only the objects that sentences name matter, and whether there is another one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from corpus.text.language import Kind, Sentence

Fact = tuple[int, int]
"""Subject and relation."""
OTHER = -1
"""An object that no sentence names."""
STATING = (Kind.ATOMIC, Kind.TRUTH, Kind.NOT, Kind.AND, Kind.OR)
"""Kinds of sentence that say what is the case; others are neither true nor false."""


def facts_of(sentence: Sentence) -> list[Fact]:
    """The facts that a sentence speaks of."""
    return [(atom.subject, atom.relation) for atom in (sentence.a, sentence.b) if atom is not None]


def is_true(sentence: Sentence, world: dict[Fact, int]) -> bool:
    """Whether a sentence is true where facts have these objects."""
    holds = [
        world[atom.subject, atom.relation] == atom.object
        for atom in (sentence.a, sentence.b)
        if atom is not None
    ]
    if sentence.kind == Kind.ATOMIC:
        return holds[0]
    says = (
        not holds[0] if sentence.kind == Kind.NOT else any(holds) if sentence.kind == Kind.OR else all(holds)
    )
    return says == sentence.label


def count_most_true(sentences: Iterable[Sentence], candidates: Callable[[int], int]) -> tuple[int, int]:
    """How many of the sentences can be true together at most (MaxSAT), and how many there are.

    Sentences that state nothing are left out; they are satisfiable where both numbers are equal.

    Args:
        candidates: how many objects a relation may have.
    """
    stating = [sentence for sentence in sentences if sentence.kind in STATING]
    return sum(_count_most_true(part, candidates) for part in _split_parts(Counter(stating))), len(stating)


def _split_parts(times: Counter[Sentence]) -> list[list[tuple[Sentence, int]]]:
    """The different sentences, and how often each is said, in parts that share no fact."""
    parts: list[tuple[set[Fact], list[tuple[Sentence, int]]]] = []
    for sentence, count in times.items():
        facts, mine = {*facts_of(sentence)}, [(sentence, count)]
        apart = []
        for other, theirs in parts:
            if facts & other:
                facts, mine = facts | other, mine + theirs
            else:
                apart.append((other, theirs))
        parts = [*apart, (facts, mine)]
    return [sentences for _, sentences in parts]


def _count_most_true(part: Sequence[tuple[Sentence, int]], candidates: Callable[[int], int]) -> int:
    """How many sentences of a part can be true together at most."""
    named: dict[Fact, Counter[int]] = {}
    for sentence, count in part:
        for atom in filter(None, (sentence.a, sentence.b)):
            named.setdefault((atom.subject, atom.relation), Counter())[atom.object] += count
    # Facts of which most is said come first, and of each the objects that are named most often.
    facts = sorted(named, key=lambda fact: -named[fact].total())
    options = {fact: [o for o, _ in named[fact].most_common()] for fact in facts}
    for fact in facts:
        if candidates(fact[1]) > len(options[fact]):
            options[fact].append(OTHER)
    # A sentence is decided by the last of its facts.
    place = {fact: i for i, fact in enumerate(facts)}
    decided: list[list[tuple[Sentence, int]]] = [[] for _ in facts]
    for sentence, count in part:
        decided[max(place[fact] for fact in facts_of(sentence))].append((sentence, count))

    whole, world = sum(count for _, count in part), dict.fromkeys(facts, OTHER)

    def least_false(at: int, false: int, least: int) -> int:
        """The fewest false sentences, if fewer than `least`, where facts before `at` are as in `world`."""
        if false >= least or at == len(facts):
            return min(false, least)
        for option in options[facts[at]]:
            world[facts[at]] = option
            more = sum(count for sentence, count in decided[at] if not is_true(sentence, world))
            least = least_false(at + 1, false + more, least)
        return least

    return whole - least_false(0, 0, whole + 1)
