"""Passages: what a model writes is paired, kept, and comes back as it was, whatever else is asked."""

from itertools import groupby

import jax
import numpy as np
import pytest

from corpus.text.tokenizer import BOS, PAD, SEP, UNK
from lm.delta import LowRank
from lm.editors.interface import Info
from testbed.engine.passages import build_openings, write_texts
from testbed.engine.questions import Questions, over_cores
from testbed.engine.records import (
    Circumstances,
    Columns,
    passage_rows,
    rows_of_cases,
    split_sentences,
    write_rows,
)
from testbed.engine.results import read_results
from testbed.protocol import Passage
from testbed.run.agents import paper_agent
from tests.edited import hase_cases

COUNT = 5


@pytest.fixture(scope="module")
def cases(toy):
    """Cases that want several passages, one, or none."""
    tokenizer = toy.world.tokenizer

    def passages(case):
        subject, other = (np.append(BOS, tokenizer.entity(e)) for e in case.requested_fact[::2])
        return (Passage("subject", subject, 2, 40), Passage("object", other, 1, 12, temperature=0.0))

    plain = hase_cases(toy.world, paper_agent(toy.world), COUNT)
    return [
        case._replace(passages=passages(case)[:n]) for case, n in zip(plain, (2, 2, 0, 1, 2), strict=True)
    ]


@pytest.fixture(scope="module")
def which():
    return np.arange(COUNT)[:, None]


@pytest.fixture(scope="module")
def deltas(toy):
    a, b = (
        jax.random.normal(jax.random.key(i), (COUNT, toy.model.config.layers, *shape)) / 4
        for i, shape in enumerate(((toy.model.config.mlp, 1), (1, toy.model.config.hidden)))
    )
    return {"down": LowRank(a, b)}


@pytest.fixture(scope="module")
def asked(toy, cases):
    return Questions(toy.world, toy.model, cases, seed=3)


@pytest.mark.slow
def test_texts_are_drawn_by_case_and_sample_alone(toy, cases, asked, which, deltas):
    """Whoever stands beside a case, or comes in the same batch; samples and seeds differ."""
    before, after = asked.texts_before(which), asked.texts_after(deltas, which)
    assert not np.array_equal(before.tokens, after.tokens)
    np.testing.assert_array_equal(before.tokens, asked.texts_after({}, which[::-1]).tokens[::-1])
    together = asked.texts_after(jax.tree.map(lambda x: x[:1], deltas), which[:4].T)
    np.testing.assert_array_equal(together.tokens[0], after.tokens[0])
    nothing = jax.tree.map(lambda x: x * 0, deltas)
    np.testing.assert_array_equal(asked.texts_after(nothing, which).tokens, before.tokens)
    assert not np.array_equal(before.tokens[0, 0], before.tokens[0, 1])
    other = Questions(toy.world, toy.model, cases, seed=4).texts_before(which)
    assert not np.array_equal(before.tokens[0, 0], other.tokens[0, 0])
    np.testing.assert_array_equal(before.tokens[0, 2], other.tokens[0, 2])


def test_what_was_written_is_read(toy, cases, asked, which, deltas, tmp_path):
    tokenizer, columns = toy.world.tokenizer, Columns(("evidence",), {})
    before, after = asked.texts_before(which), asked.texts_after(deltas, which)
    numbers, none = np.arange(COUNT) + 7, np.zeros(COUNT, int)
    how = Circumstances(numbers, none, none, Info(np.zeros((COUNT, 1)), none, none, none), none.astype(float))
    answers = asked.answers_before(which)
    rows = rows_of_cases(cases, answers, answers, how, asked.names, columns)
    rows["passages"] = passage_rows(tokenizer, asked.reader, cases, numbers, before, after)
    write_rows(rows, tmp_path, columns)
    passages = read_results(tmp_path, columns).passages
    wanted = [(i, p, s) for i, case in enumerate(cases) for p in case.passages for s in range(p.samples)]
    assert [*zip(passages.case, passages.role, passages.sample, strict=True)] == [
        (i, p.role, s) for i, p, s in wanted
    ]
    for n, (i, passage, _) in enumerate(wanted):
        place = n - wanted.index(next(w for w in wanted if w[0] == i))
        for w, texts in enumerate((before, after)):
            text = texts.tokens[i, place]
            said = text[text != PAD]
            assert len(said) == passages.tokens[n, w] <= passage.longest
            assert passages.ended[n, w] == (len(said) < passage.longest)
            assert passages.log_p[n, w] == texts.log_p[i, place] < 0
            whole = [*passage.opening[1:].tolist(), *said.tolist()]
            parts = [[*part] for stop, part in groupby(whole, SEP.__eq__) if not stop]
            lines = passages.lines[n, w]
            assert [x.text for x in lines if x.text] == [tokenizer.decode(part) for part in parts]
            assert lines[0].text.startswith(tokenizer.decode(passage.opening))
            assert [*lines] == asked.reader.read([x.text for x in lines])


def test_sentences_are_what_stands_between_stops(world):
    tokenizer, a, b = world.tokenizer, 7, 9
    word = tokenizer.decode
    assert split_sentences(tokenizer, np.array([BOS])) == []
    assert split_sentences(tokenizer, np.array([BOS, a, b])) == [word([a, b])]
    assert split_sentences(tokenizer, np.array([BOS, a, SEP, b])) == [word([a]), word([b])]
    assert split_sentences(tokenizer, np.array([BOS, a, SEP])) == [word([a]), ""]
    assert split_sentences(tokenizer, np.array([SEP, SEP])) == ["", "", ""]
    assert split_sentences(tokenizer, np.array([BOS, a, BOS, b]))[0] == word([a, UNK, b])


def test_nobody_writes_where_nothing_is_asked(toy, which):
    quiet = Questions(toy.world, toy.model, hase_cases(toy.world, paper_agent(toy.world), COUNT))
    texts = quiet.texts_before(which)
    assert texts.tokens.shape == (COUNT, 0, 0)
    assert passage_rows(toy.world.tokenizer, quiet.reader, quiet.cases, which[:, 0], texts, texts) == []


@pytest.mark.parametrize(("cores", "edits"), [(2, 4), (6, COUNT)])
def test_threads_write_what_one_program_writes(toy, cases, asked, deltas, cores, edits):
    """Four edits are parted evenly among two threads; five take one each, and a sixth core has none."""
    openings = build_openings([cases[k] for k in range(edits)], range(edits), 3, asked.text_shape)
    first = jax.tree.map(lambda x: x[:edits], deltas)
    static = {"longest": asked.text_shape.longest, "most_k": asked.text_shape.most_k}
    one = write_texts(toy.model, first, openings, **static)
    many = over_cores(write_texts, cores, **static)(toy.model, first, openings)
    np.testing.assert_array_equal(many.tokens, one.tokens)
    np.testing.assert_array_equal(many.log_p, one.log_p)


def test_one_core_needs_no_threads():
    """Nor does a number of edits that no number of threads can share."""
    double = over_cores(jax.jit(lambda model, x: model * x), 1)
    np.testing.assert_array_equal(double(2.0, np.arange(4.0)), 2 * np.arange(4.0))
    five = over_cores(jax.jit(lambda model, x: model * x), 4)
    np.testing.assert_array_equal(five(2.0, np.arange(5.0)), 2 * np.arange(5.0))
