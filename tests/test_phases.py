"""A training may read atomic sentences first; what it then reads is the corpus' own."""

import json
from collections import Counter
from dataclasses import asdict, replace
from itertools import pairwise

import numpy as np
import pytest

from corpus.text.tokenizer import BOS, EOS, SEP
from lm.batches import PackedRows
from lm.config import TrainConfig
from testbed.run.reading import ATOMIC_ALONE, KINDS, open_rows, rewrite_documents
from testbed.run.runs import Run
from testbed.run.settings import TrainSettings
from testbed.run.world import load_world


@pytest.fixture(scope="module")
def run(built):
    return Run(built, "x")


@pytest.mark.parametrize("copies", [ATOMIC_ALONE, (1, 2, 0, 3, 1)])
def test_documents_hold_every_sentence_as_often_as_asked(run, copies):
    world = load_world(run)
    language = world.tokenizer.language
    tokens, offsets = rewrite_documents(world, copies, 3, 0)
    said = Counter()
    for low, high in pairwise(offsets):
        first, *middle, last = tokens[low:high].tolist()
        assert (first, last) == (BOS, EOS)
        cuts = [i for i, token in enumerate(middle) if token == SEP]
        sentences = np.split(middle, cuts)
        assert len(sentences) <= 3
        parsed = [language.parse(world.tokenizer.decode(x[x != SEP])) for x in sentences]
        assert set.intersection(*({x.subject for x in (s.a, s.b) if x} for s in parsed)), (
            "no subject in common"
        )
        said.update(parsed)
    times = dict(zip(KINDS, copies, strict=True))
    spoken = [world.sentences[i] for i in range(len(world.sentences))]
    wanted = Counter()
    for sentence in spoken:
        wanted[sentence] += times[sentence.kind]
    assert said == +wanted


def test_first_steps_read_atomic_sentences_and_the_others_the_corpus(run):
    world = load_world(run)
    config = TrainConfig(steps=9, rows=2, row_length=160, atomic_steps=4)
    rows = open_rows(run, world, TrainSettings(train=config))
    corpus = open_rows(run, world, TrainSettings(train=replace(config, atomic_steps=0)))
    assert isinstance(corpus, PackedRows)
    first = PackedRows(rewrite_documents(world, ATOMIC_ALONE, 10, 0), 160, 0)
    np.testing.assert_array_equal(rows.batch(3, 2), first.batch(3, 2))
    np.testing.assert_array_equal(rows.batch(4, 2), corpus.batch(0, 2))


def test_later_steps_read_sentences_as_often_as_asked(run):
    world, copies = load_world(run), (1, 1, 5, 5, 5)
    rest = PackedRows(rewrite_documents(world, copies, 10, 0), 160, 0)
    for first in (0, 4):
        config = TrainConfig(steps=9, rows=2, row_length=160, atomic_steps=first, copies=copies)
        rows = open_rows(run, world, TrainSettings(train=config))
        np.testing.assert_array_equal(rows.batch(first, 2), rest.batch(0, 2))


@pytest.mark.parametrize("copies", [(1, 1), (0, 1, 1, 1, 1), (1, 1, -1, 1, 1)])
def test_impossible_copies_are_refused(copies):
    with pytest.raises(ValueError, match="five numbers that are not negative"):
        TrainConfig(copies=copies)


def test_copies_from_json_are_those_that_were_written():
    config = TrainConfig(copies=(1, 1, 5, 5, 5))
    assert TrainConfig(**json.loads(json.dumps(asdict(config)))) == config
    assert hash(config) == hash(replace(config, copies=[1, 1, 5, 5, 5]))


@pytest.mark.parametrize("wrong", [{"atomic_steps": 10}, {"atomic_steps": -1}, {"muon_iterations": 0}])
def test_impossible_recipes_are_refused(wrong):
    with pytest.raises(ValueError, match="atomic_steps from 0 to all steps"):
        TrainConfig(steps=9, **wrong)
