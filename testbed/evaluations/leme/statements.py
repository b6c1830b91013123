"""What a passage says: statements about facts, and words, which know no facts.

ROUGE-1 and n-gram entropy are the paper's simple measures of texts (Rosati et al. 2024, Appendix I).
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from corpus.text.consistency import Fact
from corpus.text.language import Kind, Sentence
from corpus.text.reading import Line

Lines = Sequence[Line]
_WORD = re.compile(r"[^\W_]+")


class Statement(NamedTuple):
    """That a fact has an object, or that it has it not; `line` is where the passage says so."""

    fact: Fact
    object: int
    holds: bool
    line: int


def statements_of(lines: Lines) -> list[Statement]:
    """All that a passage's sentences say for certain of single facts.

    That of two statements one is false, or one true, says neither; such a sentence is judged as a whole only
    (`corpus.text.consistency`). Outlines and suppositions state nothing.
    """
    return [
        Statement((atom.subject, atom.relation), atom.object, holds, at)
        for at, line in enumerate(lines)
        if line.sentence is not None
        for atom, holds in _atoms_stated(line.sentence)
    ]


def _atoms_stated(sentence: Sentence) -> Iterable[tuple]:
    kind, label, a, b, _ = sentence
    if kind == Kind.ATOMIC:
        return [(a, True)]
    if kind == Kind.TRUTH:
        return [(a, bool(label))]
    if kind == Kind.NOT:
        return [(a, not label)]
    if (kind == Kind.AND and label) or (kind == Kind.OR and not label):
        return [(atom, bool(label)) for atom in (a, b) if atom is not None]
    return []


def can_both_hold(one: Statement, other: Statement) -> bool:
    """Whether two statements about one fact can both be true, a fact having one object."""
    if one.holds and other.holds:
        return one.object == other.object
    return one.holds == other.holds or one.object != other.object


def sentences_of(lines: Lines) -> list[Sentence]:
    """The sentences of a passage that are sentences."""
    return [line.sentence for line in lines if line.sentence is not None]


def trim_passage(lines: Lines, ended: bool) -> tuple[Line, ...]:
    """A passage without what stands behind its last stop where that is nothing, or was cut off there."""
    cut = bool(lines) and (not ended or (len(lines) > 1 and lines[-1].flaw == "empty"))
    return tuple(lines[:-1] if cut else lines)


def rouge_1(text: Counter[str], reference: Counter[str]) -> float:
    """ROUGE-1: F1 of the words that two texts share, each as often as both have it; NaN where one has none.

    Source: Lin 2004, with n = 1. There it is recall; F1 is what the implementation that the paper used gives.
    """
    if not text or not reference:
        return math.nan
    return 2 * (text & reference).total() / (text.total() + reference.total())


def count_words(text: str) -> Counter[str]:
    """How often a text has each word: runs of letters and digits, in lower case."""
    return Counter(_WORD.findall(text.lower()))


def sentence_similarity(lines: Lines) -> float:
    """The mean ROUGE-1 of the pairs of a passage's sentences; NaN of fewer than two with words."""
    times = Counter(line.text for line in lines)
    sentences = [(words, n) for text, n in times.items() if (words := count_words(text))]
    total = sum(n for _, n in sentences)
    # Equal sentences have 1.
    same = sum(n * (n - 1) / 2 for _, n in sentences)
    different = sum(n * k * rouge_1(a, b) for (a, n), (b, k) in combinations(sentences, 2))
    return (same + different) / (total * (total - 1) / 2) if total > 1 else math.nan


def ngram_entropy(lines: Lines) -> float:
    """Entropy of a passage's pairs and triples of words, in bits, triples weighing double.

    Source: Meng et al. 2022, GE of §3.4 and their code's weights. NaN of fewer than three words.
    """
    words = " . ".join(line.text for line in lines if line.text).split()
    pairs, triples = (list(zip(*(words[i:] for i in range(n)), strict=False)) for n in (2, 3))
    return (gram_entropy(pairs) + 2 * gram_entropy(triples)) / 3 if triples else math.nan


def gram_entropy(grams: Sequence[tuple]) -> float:
    """Entropy of runs of words or tokens by how often each occurs, in bits; 0 of none."""
    counts = [times / len(grams) for times in Counter(grams).values()]
    return -sum(p * math.log2(p) for p in counts)


def mean_of_known(values: Sequence[float]) -> float:
    """The mean of those that are numbers; NaN of none."""
    numbers = [value for value in values if not math.isnan(value)]
    return sum(numbers) / len(numbers) if numbers else math.nan
