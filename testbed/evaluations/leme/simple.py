"""Simple measures of texts, which know no facts (Rosati et al. 2024, Appendix I).

ROUGE-1 holds words against words as the paper does: of edit consistency, a passage against the request; of
factual consistency, against what was true of its entity; across, one passage against the other; internally,
its sentences against each other; of topicality, against its entity's name. N-gram entropy and perplexity are
of the texts alone, and are held against naturalness.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from testbed.evaluations.leme import meanings as m
from testbed.evaluations.leme.claims import claims_of_case
from testbed.evaluations.leme.roles import RELATED, SUBJECT
from testbed.evaluations.leme.standard import Standard
from testbed.evaluations.leme.statements import Lines

_WORD = re.compile(r"[^\W_]+")


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
    said = [(words, n) for text, n in times.items() if (words := count_words(text))]
    total = sum(n for _, n in said)
    # Equal sentences have 1.
    same = sum(n * (n - 1) / 2 for _, n in said)
    different = sum(n * k * rouge_1(a, b) for (a, n), (b, k) in combinations(said, 2))
    return (same + different) / (total * (total - 1) / 2) if total > 1 else math.nan


def ngram_entropy(lines: Lines) -> float:
    """Entropy of a passage's pairs and triples of words, in bits, triples weighing double.

    Source: Meng et al. 2022, GE of §3.4 and their code's weights. NaN of fewer than three words.
    """
    words = " . ".join(line.text for line in lines if line.text).split()
    pairs, triples = (list(zip(*(words[i:] for i in range(n)), strict=False)) for n in (2, 3))
    return (_entropy(pairs) + 2 * _entropy(triples)) / 3 if triples else math.nan


def _entropy(grams: Sequence[tuple[str, ...]]) -> float:
    counts = [times / len(grams) for times in Counter(grams).values()]
    return -sum(p * math.log2(p) for p in counts)


def simple_measures(
    passages: Mapping[str, Lines], losses: Mapping[str, float], standard: Standard, edited: bool
) -> dict[str, float]:
    """Every simple measure of the passages of one sample; NaN where one does not apply.

    Args:
        losses: by role, the loss of a token under the unedited model.
        edited: whether there was a request; else nothing is held against it.
    """
    said = {role: count_words(" ".join(line.text for line in passages[role])) for role in (SUBJECT, RELATED)}
    texts, claims = standard.texts, claims_of_case(standard)
    request = count_words(texts.request)
    measures: dict[str, float] = {}
    for role, edit, factual, internal in (
        (SUBJECT, m.EDIT_SUBJECT, m.FACTUAL_SUBJECT, m.INTERNAL_SUBJECT),
        (RELATED, m.EDIT_RELATED, m.FACTUAL_RELATED, m.INTERNAL_RELATED),
    ):
        true = " ".join(texts.true[claim.fact] for claim in claims[f"ground truth, {role}"])
        if edited:
            measures[m.rouge_metric(edit)] = rouge_1(said[role], request)
        measures[m.rouge_metric(factual)] = rouge_1(said[role], count_words(true))
        measures[m.rouge_metric(internal)] = sentence_similarity(passages[role])
    measures[m.rouge_metric(m.CROSS)] = rouge_1(said[SUBJECT], said[RELATED])
    named = [rouge_1(words, count_words(texts.names.get(role, ""))) for role, words in said.items()]
    measures[m.rouge_metric(m.TOPICALITY)] = mean_of_known(named)
    measures[m.ENTROPY] = mean_of_known([ngram_entropy(passages[role]) for role in said])
    measures[m.PERPLEXITY] = mean_of_known([losses.get(role, math.nan) for role in said])
    return measures


def mean_of_known(values: Sequence[float]) -> float:
    """The mean of those that are numbers; NaN of none."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
