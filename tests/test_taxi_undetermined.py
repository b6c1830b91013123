"""Inverse questions of TAXI that the corpus leaves undetermined: the rule, by enumeration, and its use."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes.exact import fit_exact
from bayes.interface import Exactness
from bayes.request import EditRequest
from corpus.config import ExactConfig, TaxonomyWorld, WorldConfig
from corpus.resolution import doubt_of_statements
from corpus.text.language import Kind
from corpus.text.sentences import make_sentences
from corpus.world import build_world
from testbed.evaluations.taxi import INTERPRETATIONS, REVERSE, Taxi
from testbed.evaluations.taxi.beside import describe_undetermined
from testbed.evaluations.taxi.cases import find_answer
from testbed.evaluations.taxi.metrics import (
    CONSISTENCY,
    CORRECTION_READER,
    INVARIANCE,
    PROPERTIES,
    SUCCESS,
    reverse_name,
)
from testbed.protocol import ABSENT, is_equally_good
from testbed.scores.before import ALL, score_before_edit
from testbed.scores.readers import is_undetermined
from tests.enumeration import Enumeration
from tests.test_taxi import random_results
from tests.worlds import make_taxonomy

DOUBT = 2.7e-8
"""As large as a corpus of the preset `taxi` leaves."""
ALL_EDITS = 10**6


@st.composite
def beliefs_of_some(draw):
    """Beliefs in up to five options over many orders of magnitude, and how often each is spoken of."""
    exponents = draw(st.lists(st.floats(-12, 0), min_size=1, max_size=5))
    often = draw(st.lists(st.sampled_from([1.0, 10.0]), min_size=len(exponents), max_size=len(exponents)))
    return 10.0 ** np.array(exponents), np.array(often)


# The rule.


@given(beliefs_of_some(), st.floats(-10, -0.1))
def test_an_answer_is_what_no_doubt_can_change(beliefs_and_often, exponent):
    """By all corners of what the doubt allows: an answer is the best in each, and no answer in not all."""
    (beliefs, often), doubt = beliefs_and_often, 10.0**exponent
    options, least = np.arange(len(beliefs)), (1 - doubt) * beliefs
    answer = find_answer(options, beliefs, often, doubt)
    best = int((beliefs * often).argmax())
    if (is_equally_good(beliefs * often, (beliefs * often).max())).sum() > 1:
        assert answer == (best if beliefs[best] > doubt else ABSENT) or len(set(often)) > 1
        return
    corners = itertools.product(*zip(least, least + doubt, strict=True))
    stays_best = all(np.delete(corner * often, best).max(initial=0.0) < corner[best] * often[best]
                     for corner in corners)  # fmt: skip
    assert answer == (best if stays_best else ABSENT)


@given(beliefs_of_some())
def test_without_doubt_the_likeliest_is_the_answer_however_unlikely(beliefs_and_often):
    beliefs, often = beliefs_and_often
    options = np.arange(10, 10 + len(beliefs))
    for scale in (1.0, 1e-30):
        answer = find_answer(options, scale * beliefs, often, 0.0)
        assert answer == options[(scale * beliefs * often).argmax()]


@given(beliefs_of_some(), st.floats(-10, -0.1), st.floats(0, 1))
def test_more_doubt_answers_nothing_more(beliefs_and_often, exponent, part):
    (beliefs, often), doubt = beliefs_and_often, 10.0**exponent
    options = np.arange(len(beliefs))
    more, less = (find_answer(options, beliefs, often, d) for d in (doubt, part * doubt))
    assert more in (ABSENT, less)


def test_a_tie_is_one_where_its_beliefs_are_above_the_doubt():
    options, often = np.array([3, 5, 8]), np.ones(3)
    assert find_answer(options, np.array([0.25, 0.25, 1e-20]), often, DOUBT) == 3
    assert find_answer(options, np.array([1e-20, 1e-20, 1e-28]), often, DOUBT) == ABSENT
    assert find_answer(options, np.zeros(3), often, 0.0) == ABSENT


# By enumeration.


def draw_tiny_taxonomy(seed):
    """Four members of two categories with one property, of each fact three to five statements, some wrong."""
    rng = np.random.default_rng(seed)
    dials = TaxonomyWorld(
        superordinates=1, categories=2, members=2, properties=1, has=1.0, alternatives=2
    )  # fmt: skip
    graph = build_world(WorldConfig(source="taxonomy", taxonomy=dials), seed, True)
    config = ExactConfig(noise=0.01, row_mass=0.2)
    facts = np.repeat(np.arange(len(graph)), rng.integers(3, 6, len(graph)))
    said = graph.object[facts].copy()
    for i in np.flatnonzero(rng.random(len(facts)) < 0.05):
        said[i] = rng.choice(graph.candidates_of(graph.relation[facts[i]]))
    atoms = np.column_stack([graph.subject[facts], graph.relation[facts], said])
    return graph, config, make_sentences(Kind.ATOMIC, atoms)


def inverse_questions(seed):
    """Beliefs of the agent, those of all worlds one by one, how often each is spoken of, and the doubt.

    Of every object, before any edit and after the correction of a category.
    """
    graph, config, sentences = draw_tiny_taxonomy(seed)
    doubt = float(doubt_of_statements(graph, config, sentences).sum())
    root, subjects = int(np.flatnonzero(graph.upstream < 0)[0]), graph.subjects
    often = np.random.default_rng(seed).integers(1, 4, len(subjects)).astype(float)
    fact = int(graph.find(subjects[0], root))
    other = int(np.setdiff1d(graph.candidates_of(root), graph.object[fact])[0])
    before = fit_exact(graph, config, sentences)
    after = before.with_edit(EditRequest(int(subjects[0]), root, other, math.inf, "correction"))
    for agent, extra in ((before, ()), (after, ((fact, other, math.inf),))):
        posterior = Enumeration(graph, config, sentences, extra).posterior()
        for relation in range(len(graph.relations)):
            for obj in graph.candidates_of(relation).tolist():
                beliefs = agent.probability(subjects, relation, obj)
                truths = np.array([posterior[int(graph.find(s, relation))][obj] for s in subjects])
                yield beliefs, truths, often, doubt


def test_the_doubt_bounds_what_enumeration_says_and_answers_are_its_answers():
    """Where there is one; and without the rule some would be other subjects than Bayes' rule says."""
    answered, undetermined, wrong = 0, 0, 0
    for seed in range(40):
        for beliefs, truths, often, doubt in inverse_questions(seed):
            assert 0 < doubt < 1
            assert (truths >= (1 - doubt) * beliefs - 1e-15).all()
            assert (truths <= (1 - doubt) * beliefs + doubt + 1e-15).all()
            weights, best = truths * often, int((beliefs * often).argmax())
            answer = find_answer(np.arange(len(beliefs)), beliefs, often, doubt)
            if answer == ABSENT:
                undetermined += 1
                wrong += int(weights.argmax()) != best
            else:
                answered += 1
                # A tie is one up to the doubt.
                assert weights[answer] >= weights.max() * (1 - doubt)
    assert answered > 100
    assert undetermined > 100
    assert wrong > 0


# Cases and what is measured.


@pytest.fixture(scope="module")
def cases_by_doubt():
    """All cases of one taxonomy, by agents that know how much doubt there is."""
    world, agent = make_taxonomy(seed=3)
    return {
        doubt: list(
            Taxi().make_cases(
                world, replace(agent, exactness=Exactness("exact", doubt, "")), ALL_EDITS, 0.95, 0
            )
        )
        for doubt in (None, 0.0, DOUBT, 1.0)
    }  # fmt: skip


def test_doubt_takes_answers_to_inverse_questions_and_nothing_else(cases_by_doubt):
    """Without a doubt, or with none that is known, the likeliest is the answer; with all of it, nobody is."""
    for doubt, cases in cases_by_doubt.items():
        for case, plain in zip(cases, cases_by_doubt[None], strict=True):
            for choice, usual in zip(case.choices, plain.choices, strict=True):
                np.testing.assert_array_equal(choice.agent, usual.agent)
                assert choice.facets == usual.facets
                is_same = choice.answer == usual.answer
                if choice.role == REVERSE and doubt:
                    assert (is_same | (choice.answer == ABSENT)).all()
                    assert doubt < 1 or not is_same.any()
                else:
                    assert is_same.all()
                    assert (choice.answer != ABSENT).all()


def test_who_is_one_is_undetermined_before_the_edit_and_known_after_it(cases_by_doubt):
    """Nobody asked about was one before; the edited subject is one after, under either interpretation."""
    for case in cases_by_doubt[DOUBT]:
        for choice in case.choices:
            if choice.role != REVERSE:
                continue
            if choice.relation == case.request.relation:
                assert choice.answer.tolist() == [ABSENT, case.request.subject, case.request.subject]
            assert choice.answer[1] == case.request.subject


@pytest.fixture(scope="module")
def results(cases_by_doubt):
    return random_results(cases_by_doubt[DOUBT])


def test_what_is_undetermined_counts_neither_as_right_nor_as_wrong(results):
    """Metrics are those of a loop that never sees it, for every reader held against that agent."""
    c = results.choices
    readers = Taxi().readers(results, "somebody")
    assert is_undetermined(c, 2).any()
    for reader in (readers["somebody"], readers["somebody"]._replace(time=2), readers[CORRECTION_READER]):
        marks = {name: [] for name in (SUCCESS, PROPERTIES, INVARIANCE, CONSISTENCY)}
        for n in np.flatnonzero((c.role == REVERSE) & (c.agent_answer[:, reader.time] != ABSENT)):
            p = np.where(c.offered[n], reader.probability[n], -1)
            best = c.options[n][is_equally_good(p, p.max())].tolist()
            right = best.count(c.facets["label"][n]) / len(best)
            if c.relation[n] == results.cases["relation"][c.case[n]]:
                marks[SUCCESS].append(right)
            else:
                marks[PROPERTIES].append(right)
                marks[CONSISTENCY if c.facets["changed"][n] else INVARIANCE].append(right)
        metrics = Taxi().measure(results, reader)
        for name, of_name in marks.items():
            metric = metrics[reverse_name(name)]
            assert metric.denominator.sum() == len(of_name), name
            assert metric.numerator.sum() == pytest.approx(sum(of_name)), name


def test_the_page_says_how_many_are_undetermined(results):
    c = results.choices
    counts = [sum(c.agent_answer[n, t] == ABSENT for n in range(len(c.role))) for t in range(3)]
    assert counts[0] > counts[2] > counts[1] == 0
    times = ("before", *INTERPRETATIONS)
    said = ", ".join(f"{count:,} ({time})" for count, time in zip(counts, times, strict=True))
    assert said in describe_undetermined(results)
    assert f"Of {int((c.role == REVERSE).sum()):,} inverse" in describe_undetermined(results)


def test_beliefs_under_the_doubt_do_not_tell_how_near_the_unedited_model_is(results):
    """Whatever ratio stands where there is no answer, the table of the unedited model is the same."""
    cases = dict.fromkeys(("position",), np.zeros(len(results), int))
    cases |= {"cluster": results.cases["subject"]}
    results = replace(results, cases=results.cases | cases)
    c = results.choices
    others = c.agent.copy()
    rows = is_undetermined(c)
    others[rows, 0] = others[rows, 0][:, ::-1]
    first, second = (
        score_before_edit(replace(results, choices=c._replace(agent=agent))) for agent in (c.agent, others)
    )
    assert first[ALL].questions == len(rows) - rows.sum()
    assert first.keys() == second.keys()
    for name, of in first.items():
        assert of.estimates == second[name].estimates
        assert of.calibration == second[name].calibration
    counted = sum(of.questions for name, of in first.items() if name != ALL)
    assert counted == (c.role != REVERSE).sum()
