"""A training may read atomic sentences first; what it then reads is the corpus' own."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from corpus.text.language import Kind
from corpus.text.tokenizer import BOS, EOS, SEP
from lm.batches import PackedRows
from lm.config import TrainConfig
from testbed.run.reading import atomic_documents, open_rows
from testbed.run.runs import Run
from testbed.run.settings import TrainSettings
from testbed.run.world import load_world


@pytest.fixture(scope="module")
def run(built):
    return Run(built, "x")


def test_atomic_documents_hold_every_atomic_sentence_once(run):
    world = load_world(run)
    language = world.tokenizer.language
    tokens, offsets = atomic_documents(world, 3, 0)
    said = Counter()
    for low, high in pairwise(offsets):
        first, *middle, last = tokens[low:high].tolist()
        assert (first, last) == (BOS, EOS)
        cuts = [i for i, token in enumerate(middle) if token == SEP]
        sentences = np.split(middle, cuts)
        assert len(sentences) <= 3
        said.update(language.parse(world.tokenizer.decode(x[x != SEP])).a for x in sentences)
    atomic = world.sentences.a[world.sentences.kind == Kind.ATOMIC]
    assert said == Counter(map(tuple, atomic.tolist()))


def test_first_steps_read_atomic_sentences_and_the_others_the_corpus(run):
    world = load_world(run)
    config = TrainConfig(steps=9, rows=2, row_length=160, atomic_steps=4)
    rows = open_rows(run, world, TrainSettings(train=config))
    corpus = open_rows(run, world, TrainSettings(train=replace(config, atomic_steps=0)))
    assert isinstance(corpus, PackedRows)
    first = PackedRows(atomic_documents(world, 10, 0), 160, 0)
    np.testing.assert_array_equal(rows.batch(3, 2), first.batch(3, 2))
    np.testing.assert_array_equal(rows.batch(4, 2), corpus.batch(0, 2))


@pytest.mark.parametrize("wrong", [{"atomic_steps": 10}, {"atomic_steps": -1}, {"muon_iterations": 0}])
def test_impossible_recipes_are_refused(wrong):
    with pytest.raises(ValueError, match="atomic_steps from 0 to all steps"):
        TrainConfig(steps=9, **wrong)
