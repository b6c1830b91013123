"""Results on disk: what was asked and answered comes back, whatever number of questions a case has."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes.request import EditRequest
from corpus.text.language import Atom, Kind, Sentence
from lm.editors.interface import Info
from testbed.engine.questions import ModelAnswers
from testbed.engine.records import (
    TABLES,
    Circumstances,
    Columns,
    concatenate_rows,
    is_written,
    rows_of_cases,
    write_rows,
)
from testbed.engine.results import read_results
from testbed.engine.sweep import merge_tables
from testbed.protocol import ABSENT, Case, Choice, Claim
from testbed.run.object_names import ObjectNames

INTERPRETATIONS = {1: ("evidence",), 3: ("evidence", "correction", "do")}
FACETS = {"first": bool, "second": int, "third": float, "fourth": str}
FEW = settings(max_examples=25)


@pytest.fixture(scope="module")
def names(world):
    return ObjectNames(world.tokenizer, world.graph.objects)


@st.composite
def asked(draw):
    """Cases with any number of choices, claims and interpretations; what a model says; room to spare."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    interpretations = INTERPRETATIONS[draw(st.sampled_from((1, 3)))]
    counts = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=4))
    return rng, Columns(interpretations, FACETS), counts, draw(st.integers(0, 2)), draw(st.booleans())


def made(world, names, rng, columns, counts, spare):
    """The cases; answers before and after, padded by noise that is nobody's answer; how they were edited."""
    times, objects = len(columns.times), world.graph.objects
    cases = []
    for choices, claims in counts:
        s, r, o = (int(x) for x in rng.integers(0, 4, 3))
        questions = []
        for q in range(choices):
            options = np.sort(rng.choice(objects, int(rng.integers(1, 5)), replace=False))
            agent, frequency = rng.random((2, times, len(options)))
            answer = rng.choice(objects, times)
            questions.append(
                Choice(f"role {q}", s, r, options, agent, answer, frequency, q, f"group {q % 2}")
            )
        sentence = Sentence(Kind.TRUTH, True, Atom(s, r, int(objects[0])))
        said = tuple(Claim(f"claim {q}", sentence, rng.random(times), "g") for q in range(claims))
        facets = {
            "first": bool(rng.integers(2)),
            "second": int(rng.integers(9)),
            "third": rng.random(),
            "fourth": "é|",
        }
        request = EditRequest(s, r, o, float(rng.random() * 9), "evidence")
        cases.append(Case(request, rng.random(), int(rng.integers(9)), facets, tuple(questions), said))
    lead, wide = (len(cases), max(c for c, _ in counts) + spare), 4 + spare
    claims = (len(cases), max(c for _, c in counts) + spare, 2)
    tokens = np.zeros((2, *lead, names.longest + 1), np.int32)
    said = rng.choice([ABSENT, *objects], (2, *lead))
    for at in np.ndindex(said.shape):
        spelt = world.tokenizer.entity(int(said[at])) if said[at] != ABSENT else [1] * (names.longest + 1)
        tokens[at][: len(spelt)] = spelt
    seen = [ModelAnswers(*rng.random((2, *lead, wide)), tokens[t], rng.random(claims)) for t in (0, 1)]
    work = Info(rng.random((len(cases), 2)), *rng.integers(0, 99, (3, len(cases))))
    number = rng.permutation(len(cases)) + 3
    how = Circumstances(number, rng.integers(0, 5, len(cases)), 0 * number, work, rng.random(len(cases)))
    return cases, seen, how, said


@FEW
@given(asked())
def test_what_was_written_is_read(world, names, drawn):
    rng, columns, counts, spare, in_parts = drawn
    cases, seen, how, said = made(world, names, rng, columns, counts, spare)
    rows = rows_of_cases(cases, *seen, how, names, columns)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if in_parts:
            alone = [
                rows_of_cases(
                    [case], *(ModelAnswers(*(x[[i]] for x in s)) for s in seen), _one(how, i), names, columns
                )
                for i, case in enumerate(cases)
            ]
            for i, part in enumerate(alone):
                write_rows(part, folder / "parts", columns, f"{i}-")
            merge_tables([f"{i}-" for i in range(len(cases))], folder / "parts", folder, columns)
        else:
            write_rows(rows, folder, columns)
        results = read_results(folder, columns)
    assert len(results) == len(cases)
    assert results.times == columns.times
    for name in ("subject", "relation", "object", "kind", "weight"):
        np.testing.assert_array_equal(results.cases[name], [getattr(case.request, name) for case in cases])
    for name in FACETS:
        assert results.cases[name].tolist() == [case.facets[name] for case in cases]
    for name in ("truth", "credence"):
        assert results.cases[name].tolist() == [getattr(case, name) for case in cases]
    for name in ("case", "cluster", "position", "seconds"):
        np.testing.assert_array_equal(results.cases[name], getattr(how, name))
    for name in ("steps", "forward", "backward"):
        np.testing.assert_array_equal(results.cases[name], getattr(how.info, name))

    choices = results.choices
    wanted = [(i, q) for i, case in enumerate(cases) for q in range(len(case.choices))]
    assert len(choices.case) == len(wanted)
    for n, (i, q) in enumerate(wanted):
        choice, size = cases[i].choices[q], len(cases[i].choices[q].options)
        for name in ("role", "group", "subject", "relation"):
            assert getattr(choices, name)[n] == getattr(choice, name)
        assert choices.case[n] == i
        np.testing.assert_array_equal(choices.options[n, :size], choice.options)
        assert (choices.options[n, size:] == ABSENT).all()
        for name in ("agent", "frequency", "lm", "lm_open"):
            assert not getattr(choices, name)[n, :, size:].any()
        np.testing.assert_array_equal(choices.agent[n, :, :size], choice.agent)
        np.testing.assert_array_equal(choices.frequency[n, :, :size], choice.frequency)
        np.testing.assert_array_equal(choices.agent_answer[n], choice.answer)
        for w in (0, 1):
            np.testing.assert_array_equal(choices.lm[n, w, :size], seen[w].ended[i, q, :size])
            np.testing.assert_array_equal(choices.lm_open[n, w, :size], seen[w].begun[i, q, :size])
            assert choices.lm_answer[n, w] == said[w, i, q]

    claims = results.claims
    wanted = [(i, q) for i, case in enumerate(cases) for q in range(len(case.claims))]
    assert len(claims.case) == len(wanted)
    for n, (i, q) in enumerate(wanted):
        claim = cases[i].claims[q]
        assert (claims.case[n], claims.role[n], claims.group[n]) == (i, claim.role, claim.group)
        np.testing.assert_array_equal(claims.agent[n], claim.agent)
        np.testing.assert_array_equal(claims.lm[n], [s.claims[i, q] for s in seen])


def _one(how, i):
    return Circumstances(
        *(x[[i]] for x in how[:3]), info=Info(*(x[[i]] for x in how.info)), seconds=how.seconds[[i]]
    )


def test_the_table_of_cases_comes_last(world, names, tmp_path, monkeypatch):
    """Where it is, all the others are: a kill between any two tables leaves nothing that looks finished."""
    rng, columns = np.random.default_rng(0), Columns(INTERPRETATIONS[1], FACETS)
    cases, seen, how, _ = made(world, names, rng, columns, [(2, 1), (1, 2)], 0)
    rows = rows_of_cases(cases, *seen, how, names, columns)
    assert TABLES[-1] == "cases"
    for table in TABLES:
        broken = {name: rows[name] if name != table else [{"case": "no number"}] for name in TABLES}
        with pytest.raises(Exception, match="no number"):
            write_rows(broken, tmp_path / table, columns, "a-")
        assert not is_written(tmp_path / table, "a-")
    write_rows(rows, tmp_path, columns, "a-")
    assert is_written(tmp_path, "a-")
    assert not is_written(tmp_path)
    twice = concatenate_rows(rows, rows)
    assert {table: len(twice[table]) for table in TABLES} == {table: 2 * len(rows[table]) for table in TABLES}
