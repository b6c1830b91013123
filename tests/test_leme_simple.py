"""LEME's simple measures of texts: by hand, against plain twins, and beside what they stand for."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.text.reading import Line
from testbed.evaluations.leme import metrics as m
from testbed.evaluations.leme.chapter import read_figures
from testbed.evaluations.leme.correlation import LABELS
from testbed.evaluations.leme.passages import PassagePair
from testbed.evaluations.leme.standard import Belief, Standard
from testbed.evaluations.leme.statements import count_words, ngram_entropy, rouge_1, sentence_similarity
from tests.naive import rouge_of_words
from tests.tower_and_park import answer_metrics

texts = st.lists(st.sampled_from("park tower in Paris gothic".split()), max_size=9).map(" ".join)


def lines(*said):
    return [Line(text, None, "") for text in said]


@pytest.mark.parametrize(
    ("text", "reference", "value"),
    [
        ("the cat sat", "the cat sat", 1),
        ("the cat sat", "a dog ran", 0),
        # Two of three words, and two of five: precision 2/3, recall 2/5.
        ("the cat sat", "the cat on the mat", 1 / 2),
        # A word counts as often as both texts have it: "the" once.
        ("the the the the", "the cat", 1 / 3),
        ("Tower 7, in Paris.", "tower 7 in paris", 1),
        ('"not Tower-7 in Paris" is true', "tower 7 in paris", 8 / 11),
        ("", "the cat", math.nan),
        ("the cat", "...", math.nan),
    ],
)
def test_rouge_by_hand(text, reference, value):
    assert rouge_1(count_words(text), count_words(reference)) == pytest.approx(value, nan_ok=True)


@given(texts, texts)
def test_rouge_is_that_of_the_twin(one, other):
    score = rouge_1(count_words(one), count_words(other))
    assert score == pytest.approx(rouge_of_words(one.split(), other.split()), nan_ok=True)
    assert score == pytest.approx(rouge_1(count_words(other), count_words(one)), nan_ok=True)
    assert score == pytest.approx(
        rouge_1(count_words(" ".join(one.split()[::-1])), count_words(other)), nan_ok=True
    )


@given(st.lists(texts, max_size=6))
def test_sentences_are_compared_in_pairs(said):
    whole = [text for text in said if text]
    every = [rouge_of_words(one.split(), other.split()) for i, one in enumerate(whole) for other in whole[:i]]
    assert sentence_similarity(lines(*said)) == pytest.approx(
        sum(every) / len(every) if every else math.nan, nan_ok=True
    )


def test_entropy_by_hand():
    assert ngram_entropy(lines("a a a a")) == 0
    # Three pairs, each once: log2 3 bits. Two triples, each once: one bit, which weighs double.
    assert ngram_entropy(lines("a b c d")) == pytest.approx((math.log2(3) + 2) / 3)
    # Sentences are parted by a word: a b . a b has the pairs ab twice, b. and .a, and three triples.
    assert ngram_entropy(lines("a b", "a b")) == pytest.approx((1.5 + 2 * math.log2(3)) / 3)
    assert math.isnan(ngram_entropy(lines("a b")))
    assert math.isnan(ngram_entropy(lines("", "", "", "")))
    assert math.isnan(ngram_entropy([]))


def belief(options, before, after, stratum):
    return Belief(*(np.array(x) for x in (options, before, after)), stratum=stratum)


TOWER, PARK = 0, 1
CITY, STYLE, LIES = range(3)
STANDARD = Standard(
    (TOWER, CITY, 11),
    10,
    {
        (TOWER, CITY): belief([10, 11], [1, 0], [0, 1], "S2"),
        (TOWER, STYLE): belief([30, 31], [1, 0], [1, 0], "S2"),
        (PARK, LIES): belief([10, 11], [1, 0], [0, 1], "S2"),
        (PARK, STYLE): belief([30, 31], [1, 0], [1, 0], "S0"),
    },
    (PARK, LIES),
    None,
    {"subject": TOWER, "related": PARK, "twin": -1},
    {},
    "eiffel located in rome",
    {"subject": "eiffel", "related": "champ mars"},
    {
        (TOWER, CITY): "eiffel located in paris",
        (TOWER, STYLE): "eiffel style iron",
        (PARK, LIES): "champ mars lies in paris",
        (PARK, STYLE): "champ mars style lawn",
    },
)  # fmt: skip


def test_every_measure_is_held_against_its_own_text():
    passages = {
        "subject": lines("eiffel located in rome", "eiffel style iron"),
        "related": lines("champ mars lies in paris"),
    }
    pair = PassagePair(passages, STANDARD, {"subject": 2.0, "related": 1.0})
    measures = answer_metrics(pair, m.SIMPLE.keys() - {m.DISTINCT})
    assert measures == pytest.approx(
        {
            # All four words of the request are among the seven, and one of them ("in") among the park's five.
            m.rouge_metric(m.EDIT_SUBJECT): 2 * 4 / (7 + 4),
            m.rouge_metric(m.EDIT_RELATED): 2 * 1 / (5 + 4),
            # What was true of the tower besides the edited fact: its style. What nobody stated is left out.
            m.rouge_metric(m.FACTUAL_SUBJECT): 2 * 3 / (7 + 3),
            m.rouge_metric(m.FACTUAL_RELATED): 1,
            m.rouge_metric(m.INTERNAL_SUBJECT): 2 * 1 / (4 + 3),
            m.rouge_metric(m.INTERNAL_RELATED): math.nan,
            m.rouge_metric(m.CROSS): 2 * 1 / (7 + 5),
            m.rouge_metric(m.TOPICALITY): (2 * 1 / (7 + 1) + 2 * 2 / (5 + 2)) / 2,
            # Eight words with the stop between: seven pairs and six triples. Five words: four and three.
            m.ENTROPY: (math.log2(7) + 2 * math.log2(6) + math.log2(4) + 2 * math.log2(3)) / 6,
            m.PERPLEXITY: 1.5,
        },
        nan_ok=True,
    )


def test_of_nothing_there_is_no_measure_and_before_a_request_none_of_it():
    measures = answer_metrics(PassagePair({"subject": [], "related": []}, STANDARD), m.SIMPLE)
    assert measures.keys() == m.SIMPLE.keys()
    assert all(math.isnan(value) for value in measures.values())
    need_edit = {one.id for one in m.METRICS if one.id in m.SIMPLE and one.needs_edit}
    assert need_edit == {m.rouge_metric(m.EDIT_SUBJECT), m.rouge_metric(m.EDIT_RELATED)}


def test_each_simple_measure_has_a_question_and_printed_ones_are_among_them():
    pairs = {(LABELS[measure], LABELS[question]) for measure, question in m.SIMPLE.items()}
    assert Counter(m.SIMPLE.values()) == Counter(m.NINE) + Counter({m.NATURALNESS: 2})
    assert all((measure, question) in pairs for measure, question in read_figures("simple"))
