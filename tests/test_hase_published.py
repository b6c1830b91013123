"""The published columns: what they depend on, whom they call perfect, and loops over cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.evaluations.dutch_book import LOGIC
from testbed.evaluations.hase import ROLES
from testbed.evaluations.hase.published import COHERENT, COLUMNS, published_metrics, request_groups
from testbed.protocol import ABSENT
from tests.random_answers import CASES, REQUEST, draw_answers, flat

seeds = st.integers(0, 500)


@given(seeds)
def test_a_model_with_the_agents_beliefs_is_coherent(seed):
    o = draw_answers(seed)
    o.lm_open[:] = o.agent
    o.lm_answer[:] = o.agent_answer
    o.lm_answer[:, REQUEST, 1] = o.scalars["object"]
    for columns in published_metrics(flat(o)):
        for name, metric in columns.items():
            if metric.denominator.sum() > 0 and name.startswith(("accuracy", "coherence")):
                assert metric.value() == (1 if name.startswith("accuracy") else 0), name


@given(seeds)
def test_logical_columns_vanish_for_independent_statements(seed):
    o = draw_answers(seed)
    at = o.objects[:, REQUEST] == o.scalars["object"][:, None]
    a, b = o.lm_open[:, REQUEST].sum(-1, where=at[:, None]), np.random.default_rng(seed).random((CASES, 2))
    true = {"A": a, "not A": 1 - a, "A and B": a * b, "B and A": a * b, "A or B": a + b - a * b, "B": b}
    true |= {"not B": 1 - b, "B or A": true["A or B"]}
    for i, name in enumerate(LOGIC):
        o.logic[:, i, :, 0] = true[name]
    for columns in published_metrics(flat(o)):
        for name in ("logic TF", "logic not", "logic and", "logic or"):
            assert columns[name].value() == pytest.approx(0, abs=1e-12), name


@given(seeds)
def test_neither_endings_nor_the_word_false_count(seed):
    o, other = draw_answers(seed), draw_answers(seed)
    other.lm[:] = 0
    other.logic[..., 1] = 0
    for mine, theirs in zip(published_metrics(flat(o)), published_metrics(flat(other)), strict=True):
        assert mine.keys() == theirs.keys()
        for name in mine:
            assert mine[name].share == name.startswith("accuracy")
            for one, other_one in zip(mine[name][:2], theirs[name][:2], strict=True):
                assert np.array_equal(one, other_one), name


@given(seeds)
def test_against_loops_over_cases(seed):
    o = draw_answers(seed)
    for when, columns in enumerate(published_metrics(flat(o))):
        for place, role in COLUMNS.items():
            q = ROLES.index(role)
            right, error = [], []
            for e in range(CASES):
                if o.agent_answer[e, q, 0] == ABSENT:
                    continue
                scored = o.agent_answer[e, q, when]
                if place == "s1r1" and when == 1:
                    scored = o.scalars["object"][e]
                right.append(o.lm_answer[e, q, when] == scored)
                at = list(o.objects[e, q]).index(scored)
                error.append(abs(o.lm_open[e, q, when, at] - o.agent[e, q, when, at]))
            for name, values in (("accuracy", right), ("coherence", error)):
                assert columns[f"{name} {place}"].numerator.sum() == pytest.approx(sum(values))
                assert columns[f"{name} {place}"].denominator.sum() == len(values)
        a, not_a, a_and_b, a_or_b, b = (
            o.logic[:, LOGIC.index(s), when, 0] for s in ("A", "not A", "A and B", "A or B", "B")
        )
        stated = [o.lm_open[e, 0, when, o.scalars["object"][e] - 10] for e in range(CASES)]
        assert columns["probability of request"].value() == pytest.approx(np.mean(stated))
        assert columns["logic TF"].value() == pytest.approx(np.abs(a - stated).mean())
        assert columns["logic not"].value() == pytest.approx(np.abs(a + not_a - 1).mean())
        assert columns["logic and"].value() == pytest.approx(np.abs(a_and_b - a * b).mean())
        assert columns["logic or"].value() == pytest.approx(np.abs(a + b - a * b - a_or_b).mean())


def request_probability(o):
    """p(o | s, r) of the requested object before the edit, of each case."""
    return np.array([o.lm_open[e, 0, 0, o.scalars["object"][e] - 10] for e in range(CASES)])


def test_rows_of_a_table_have_the_same_columns_of_one_random_subject():
    before, after = published_metrics(flat(draw_answers(0)))
    assert list(before) == list(after)
    assert list(COLUMNS.values()) == ["s1r1", "s1r2", "random.r1", "random.r2"]


@given(seeds)
def test_groups_are_what_they_say(seed):
    o = draw_answers(seed)
    stated, (a, not_a) = request_probability(o), (o.logic[:, LOGIC.index(s), 0, 0] for s in ("A", "not A"))
    # Half of the cases are made coherent, but for a little.
    half = slice(0, CASES, 2)
    o.logic[half, LOGIC.index("A"), 0, 0] = stated[half] + 0.9 * COHERENT
    o.logic[half, LOGIC.index("not A"), 0, 0] = 1 - stated[half]
    masks = request_groups(flat(o))
    for e in range(CASES):
        said, truth, asked = o.lm_answer[e, 0, 0], o.scalars["truth"][e], o.scalars["object"][e]
        assert masks["new request"][e] == (said != asked)
        assert masks["downstream"][e] == o.scalars["changes"][e]
        assert masks["fixing"][e] == (said not in (truth, asked) and o.scalars["reinforces"][e])
        assert masks["breaking"][e] == (said == truth != asked and not o.scalars["reinforces"][e])
        fits = abs(stated[e] - a[e]) < COHERENT and abs(1 - a[e] - not_a[e]) < COHERENT
        assert masks["initially coherent"][e] == fits
    assert masks["initially coherent"][half].all()
