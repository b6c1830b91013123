"""The battery that every evaluation passes: the built-in ones, and the one that is there to copy."""

import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from bayes.interface import Agent
from corpus.errors import InputError
from lm.editors.interface import Info
from lm.language_model import LanguageModel
from testbed.engine.questions import Questions
from testbed.engine.records import Circumstances, is_written, rows_of_cases, write_rows
from testbed.engine.results import mark_lost_edits, read_results, select_choices
from testbed.evaluations.catalogue import evaluation_classes, evaluation_named, prefix_of, rebuild_evaluation
from testbed.run.agents import paper_agent
from testbed.run.settings import as_plain_data
from testbed.run.world import World
from testbed.scores.frame import EDITS
from testbed.scores.metric import ARROWS, Metric, metrics_shown_in
from testbed.scores.parts import join_metrics, split_cases
from testbed.scores.readers import BAYESIAN, PERFECT, READERS, columns_of
from testbed.scores.summary import measure_reader, summarise_results, take_readers
from tests.toys import random_model
from tests.worlds import make_coupled, make_hedged, make_people, make_taxonomy, make_world

EVERY = [*evaluation_classes(), "experiments.my_evaluation:MyEvaluation"]
COUNT = 12


@pytest.fixture(scope="module", params=EVERY)
def evaluation(request):
    return evaluation_named(request.param)()


class Place(NamedTuple):
    """Where an evaluation can be held."""

    world: World
    agent: Agent
    model: LanguageModel


@pytest.fixture(scope="module")
def place(evaluation, toy):
    """The toy's world; a taxonomy, people, pairs, or one with sources, for those who ask about these."""
    made = {"taxi": make_taxonomy, "seesaw": make_people, "leme": make_coupled, "requests": make_hedged}
    for name, make in made.items():
        if isinstance(evaluation, evaluation_named(name)):
            world, agent = make()
            return Place(world, agent, random_model(world.tokenizer.vocabulary))
    return Place(toy.world, paper_agent(toy.world), toy.model)


@pytest.fixture(scope="module")
def cases(evaluation, place):
    return list(evaluation.make_cases(place.world, place.agent, COUNT, 0.95, 0))


@pytest.fixture(scope="module")
def results(evaluation, cases, place, tmp_path_factory):
    """The toy's answers, before an edit and after one that did nothing."""
    questions = Questions(place.world, place.model, cases)
    which = np.arange(len(cases))[:, None]
    answers = questions.answers_before(which)
    none = np.zeros(len(cases), int)
    info = Info(np.zeros((len(cases), 1)), none, none, none)
    how = Circumstances(
        which[:, 0], np.array([c.requested_fact[0] for c in cases]), none, info, none.astype(float)
    )
    columns = columns_of(evaluation)
    folder = tmp_path_factory.mktemp("results")
    assert not is_written(folder)
    write_rows(rows_of_cases(cases, answers, answers, how, questions.names, columns), folder, columns)
    assert is_written(folder)
    return read_results(folder, columns)


def test_settings_are_frozen_hashable_and_come_back_from_their_record(evaluation):
    name = next(n for n in EVERY if type(evaluation) is evaluation_named(n))
    assert hash(evaluation) == hash(type(evaluation)())
    assert rebuild_evaluation(name, {"name": name, **as_plain_data(evaluation)}) == evaluation
    assert prefix_of(name).replace("-", "").isalnum()


def test_as_many_cases_as_asked_for_and_the_same_again(evaluation, cases, place):
    assert len(cases) == COUNT
    again = list(evaluation.make_cases(place.world, place.agent, COUNT, 0.95, 0))
    assert [c.requested_fact for c in again] == [c.requested_fact for c in cases]
    for one, two in zip(cases, again, strict=True):
        assert one.facets == two.facets
        assert [c.role for c in one.choices] == [c.role for c in two.choices]
        for first, second in zip(one.choices, two.choices, strict=True):
            np.testing.assert_array_equal(first.options, second.options)
            np.testing.assert_array_equal(first.agent, second.agent)
    others = evaluation.make_cases(place.world, place.agent, COUNT, 0.95, 1)
    assert [c.requested_fact for c in others] != [c.requested_fact for c in cases]


def test_what_a_case_declares_is_there(evaluation, cases):
    names = [control.name for control in cases[0].controls]
    assert len(set(names)) == len(names)
    for case in cases:
        assert set(case.facets) == set(evaluation.facets)
        assert all(type(case.facets[n]) is kind for n, kind in evaluation.facets.items())
        assert [control.name for control in case.controls] == names
        assert 0 < case.credence <= 1
        assert case.choices


def test_gold_is_a_distribution_over_the_options(evaluation, cases, place):
    times = 1 + len(evaluation.interpretations)
    for case in cases:
        for choice in case.choices:
            assert (np.diff(choice.options) > 0).all()
            graph = place.world.graph
            inverse = choice.phrasing and graph.phrasings[choice.phrasing - 1].inverse
            assert np.isin(choice.options, graph.subjects if inverse else graph.objects).all()
            assert set(choice.facets) == set(getattr(evaluation, "choice_facets", {}))
            for vectors in (choice.agent, choice.frequency):
                assert vectors.shape == (times, len(choice.options))
                assert (vectors >= 0).all()
                assert (vectors.sum(1) <= 1 + 1e-9).all()
            assert choice.answer.shape == (times,)
            # The answer is the most probable option, or one as probable that is not an option.
            for t in range(times):
                at = choice.options == choice.answer[t]
                assert not at.any() or choice.agent[t][at][0] == choice.agent[t].max()
        for claim in case.claims:
            assert claim.agent.shape == (times,)
            assert ((claim.agent >= 0) & (claim.agent <= 1)).all()


def test_the_readers_are_known_and_the_bayesian_one_is_perfect(evaluation, results):
    readers = evaluation.readers(results, "somebody")
    assert {"somebody", BAYESIAN} <= set(readers)
    assert {name.partition(",")[0] for name in readers} <= {"somebody", *READERS}
    direction = {m.id: m.better for m in evaluation.metrics}
    for name, metric in evaluation.measure(results, readers[BAYESIAN]).items():
        if metric.denominator.sum() and direction[name] == "low":
            assert metric.value() == pytest.approx(0, abs=1e-9), name
        if metric.denominator.sum() and direction[name] == "one":
            assert metric.value() == pytest.approx(1, abs=1e-9), name
    if PERFECT in readers:
        become = evaluation.measure(results, readers[PERFECT])
        distances = [m.value() for n, m in become.items() if n.startswith("TV ") and m.denominator.sum()]
        assert distances == pytest.approx([0] * len(distances), abs=1e-9)


def test_an_edit_that_does_nothing_is_no_edit(evaluation, results):
    readers = evaluation.readers(results, "somebody")
    mine, none = (evaluation.measure(results, readers[name]) for name in ("somebody", "no edit"))
    assert mine.keys() == none.keys()
    for name in mine:
        np.testing.assert_array_equal(mine[name].numerator, none[name].numerator)


@pytest.mark.parametrize("size", [3])
def test_cases_are_measured_apart_as_together(evaluation, results, size):
    """Also where the questions of a later case stand first."""
    lost = np.arange(len(results)) % 3 == 1
    for whole, other in (
        (results, results),
        (results, _reverse_questions(results)),
        (replace(results, lost=lost), replace(results, lost=lost)),
    ):
        readers, parts = evaluation.readers(other, "somebody"), [*split_cases(other, size)]
        in_parts = [take_readers(readers, part) for part in parts]
        for name, reader in evaluation.readers(whole, "somebody").items():
            together = join_metrics(
                [evaluation.measure(p.results, r[name]) for p, r in zip(parts, in_parts, strict=True)]
            )
            expected = evaluation.measure(whole, reader)
            assert together.keys() == expected.keys()
            for metric, (top, bottom, *kind) in expected.items():
                found = together[metric]
                assert [*found[2:]] == kind, (name, metric)
                np.testing.assert_allclose(found[:2], (top, bottom), atol=1e-6, err_msg=f"{name}: {metric}")


def test_a_metric_that_only_some_cases_lack_is_refused():
    metric = Metric(np.ones(2), np.ones(2))
    assert join_metrics([{"a": metric}, {"a": metric}])["a"].value() == 1
    with pytest.raises(InputError, match="a denominator of 0"):
        join_metrics([{"a": metric, "b": metric}, {"a": metric}])


def _reverse_questions(results):
    """The last case's questions first, each case's own in their order."""
    rows = {part: np.argsort(-getattr(results, part).case, kind="stable") for part in ("claims", "passages")}
    tables = {
        part: type(table)(*(column[rows[part]] for column in table))
        for part in rows
        for table in [getattr(results, part)]
    }
    order = np.argsort(-results.choices.case, kind="stable")
    return replace(select_choices(results, order), **tables)


def test_an_edit_without_numbers_fails_in_every_metric_and_no_other_is_touched(evaluation, results):
    lost = np.arange(len(results)) % 2 == 0
    lm = results.choices.lm.copy()
    lm[lost[results.choices.case], 1] = np.nan
    marked = mark_lost_edits(replace(results, choices=results.choices._replace(lm=lm)), Path("here"))
    np.testing.assert_array_equal(marked.lost, lost)
    mine, whole, none = (
        measure_reader(evaluation, of, evaluation.readers(of, "somebody")[name])
        for of, name in ((marked, "somebody"), (results, "somebody"), (marked, "no edit"))
    )
    assert mine.keys() == whole.keys()
    for metric in evaluation.metrics:
        name = metric.id
        if name not in mine:
            continue
        np.testing.assert_array_equal(mine[name].by_case[~lost], whole[name].by_case[~lost], name)
        values, floor = mine[name].by_case[lost], none[name].by_case[lost]
        asked = ~np.isnan(values)
        assert (asked >= ~np.isnan(whole[name].by_case[lost])).all(), f"{name}: none drops out"
        far = {"high": lambda x: -x, "low": lambda x: x, "one": lambda x: np.abs(x - 1)}[metric.better]
        fails = far(np.float64(metric.better == "low"))
        assert (far(values[asked]) >= fails - 1e-12).all(), name
        held = asked & ~np.isnan(floor)
        assert (far(values[held]) >= far(floor[held]) - 1e-12).all(), name


def test_every_metric_has_one_definition_and_a_direction(evaluation, results):
    names = [m.id for m in evaluation.metrics]
    assert len(set(names)) == len(names)
    assert all(m.better in ARROWS and m.description.endswith(".") for m in evaluation.metrics)
    assert metrics_shown_in(evaluation.metrics, "headline")
    measured = set()
    for reader in evaluation.readers(results, "somebody").values():
        for name, metric in evaluation.measure(results, reader).items():
            assert metric.numerator.shape == metric.denominator.shape == (len(results),)
            assert np.isfinite(metric.numerator).all()
            assert (metric.denominator >= 0).all()
            measured.add(name)
    assert measured == set(names)


def test_subsets_are_masks_and_empty_ones_are_safe(evaluation, results):
    subsets = evaluation.subsets(results)
    assert next(iter(subsets)) == "all"
    assert subsets["all"].all()
    assert all(mask.shape == (len(results),) and mask.dtype == bool for mask in subsets.values())
    empty = [name for name, mask in subsets.items() if not mask.any()]
    frame = summarise_results(evaluation, results, "somebody", {}).where(subset=empty)
    found = [cell for of, cell in frame.rows() if of["metric"] != EDITS]
    assert all(cell.cases == 0 and np.isnan(cell.value) for cell in found)


def test_parquet_there_and_back(evaluation, cases, results):
    for i, case in enumerate(cases):
        mine = results.choices.case == i
        assert results.choices.role[mine].tolist() == [c.role for c in case.choices]
        for row, choice in zip(np.flatnonzero(mine), case.choices, strict=True):
            n = len(choice.options)
            np.testing.assert_array_equal(results.choices.options[row, :n], choice.options)
            np.testing.assert_array_equal(results.choices.agent[row, :, :n], choice.agent)
            np.testing.assert_array_equal(results.choices.frequency[row, :, :n], choice.frequency)
            np.testing.assert_array_equal(results.choices.agent_answer[row], choice.answer)
            assert (results.choices.options[row, n:] == -1).all()
            assert results.choices.stated[row] == choice.stated
        told = results.claims.case == i
        np.testing.assert_array_equal(
            results.claims.agent[told],
            np.array([c.agent for c in case.claims]).reshape(told.sum(), len(results.times)),
        )
        assert results.cases["object"][i] == case.request.object
        assert all(results.cases[name][i] == value for name, value in case.facets.items())


def test_a_world_that_cannot_be_asked_about_says_so_or_is_asked(evaluation):
    """Two subjects and few objects: cases come, or one sentence says why not."""
    world = make_world(subjects=2, upstream_objects=2, downstream_objects=2)
    try:
        drawn = list(evaluation.make_cases(world, paper_agent(world), 3, 0.95, 0))
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert len(drawn) == 3


ROOM_WORDS = {
    "hase": ("s1r1", "s1r2", "s2r1", "must change", "propagation ratio"),
    "taxi": ("evaluations.taxi", "invariance", "consistency", "superordinate", "reverse_options"),
    "seesaw": ("evaluations.seesaw", "holders", "stereotype", "citizenship"),
    "requests": ("evaluations.requests", "believes what it denies", "both kept"),
    "leme": ("evaluations.leme", "topicality", "naturalness", "cross-passage"),
}
"""What only the room of an evaluation speaks of."""


@pytest.mark.parametrize("room", ROOM_WORDS)
def test_no_module_outside_the_rooms_knows_a_rooms_questions(room):
    """A new evaluation is one folder, because no other module knows what the others ask."""
    root = Path(__file__).parents[1] / "testbed"
    others = {p for p in root.rglob("*.py") if p.parent.parent.name != "evaluations"}
    assert len(others) > 30
    for path in others:
        text = path.read_text(encoding="utf-8").lower()
        for word in ROOM_WORDS[room]:
            assert word not in text, f"{path} knows {word}"


def test_a_metric_has_one_id_and_one_label_everywhere():
    """Records from before there were ids have labels, so that one label means one id in all evaluations."""
    known = {}
    for kind in evaluation_classes().values():
        for metric in kind().metrics:
            assert re.fullmatch(r"[a-z0-9_.]+", metric.id), metric.id
            assert known.setdefault(metric.title, metric.id) == metric.id
