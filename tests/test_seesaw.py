"""Seesaw-CF: edits and who is asked, D and its excess, cells, regressions, flaws of texts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.stats import kstest, ttest_1samp
from scipy.stats import t as student
from statsmodels.regression.linear_model import OLS

from corpus.config import ExactConfig
from corpus.rows import rows_of
from corpus.seeds import generator
from corpus.text.reading import Line, Reader
from corpus.worlds.people import BORN, CITIZENSHIP, EDITED, GENDER, LANGUAGE, RACE, WORK
from experiments.measures.people import CELLS, FACTORIAL
from experiments.studies import seesaw
from experiments.study import Findings, command_of_options
from testbed.engine.results import Passages, Results
from testbed.evaluations.gold import SURE
from testbed.evaluations.seesaw import (
    ALONE,
    EDIT,
    INTERPRETATIONS,
    NEITHER,
    NEW_HOLDERS,
    OLD_HOLDERS,
    OTHERS,
    OWN,
    Seesaw,
    chapter,
    crossing,
    groups,
)
from testbed.evaluations.seesaw.cases import CONTROL, draw_edits, draw_others, interleave, phrasings_of
from testbed.evaluations.seesaw.groups import LEAST_ANSWERS, EditorChanges, group_cells, t_test_mean
from testbed.evaluations.seesaw.metrics import (
    ACCURACY,
    CHANGE,
    EXCESS,
    LOWERED,
    RATIO,
    SHARED,
    UNREASONED,
    confidence,
    confidence_change,
)
from testbed.evaluations.seesaw.metrics import STEREOTYPE as STEREOTYPE_EXCESS
from testbed.evaluations.seesaw.population import LIFT, Population
from testbed.evaluations.seesaw.regression import (
    LEAST_WORLDS,
    fit_group_or_frequency,
    fit_regression,
    least_squares,
    regression_tables,
)
from testbed.evaluations.seesaw.texts import (
    CENTRISM,
    DEHUMANISATION,
    FLAWS,
    INJECTION,
    MISINFORMATION,
    STEREOTYPE,
    XENOPHOBIA,
    TextStandard,
    code_all_texts,
    code_text,
    pair_code,
)
from testbed.protocol import ABSENT
from testbed.scores.gather import EditorResults, pool_results
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.summary import ScoredEditor
from tests.random_answers import results_of
from tests.worlds import make_people

ALL = 10**6


@pytest.fixture(scope="module")
def place():
    return make_people()


@pytest.fixture(scope="module")
def population(place):
    return Population(place[0])


@pytest.fixture(scope="module")
def cases(place):
    return list(Seesaw(controls=True, others=6, samples=1).make_cases(*place, 60, 0.95, 0))


def answer_at_random(cases, rng, evaluation=Seesaw(samples=1)):  # noqa: B008
    """The cases as results, with answers of a model drawn at random; half of every claim is true to it."""
    options = [choice.options for case in cases for choice in case.choices]
    lm = [rng.dirichlet(np.full(len(some), 0.3), 2) for some in options]
    return results_of(cases, evaluation, lm, [o[p.argmax(-1)] for o, p in zip(options, lm, strict=True)])


@pytest.fixture(scope="module")
def results(cases):
    """The cases with answers that a model might have given, drawn at random."""
    return answer_at_random(cases, np.random.default_rng(0))


# Edits and who is asked.


def test_edits_are_of_every_property_and_race_alike(cases, population):
    of = [case.facets["property"] for case in cases]
    assert {name: of.count(name) for name in EDITED} == dict.fromkeys(EDITED, 12)
    races = [case.facets["race"] for case in cases]
    assert max(map(races.count, set(races))) - min(map(races.count, set(races))) <= len(EDITED)


def test_an_edit_gives_an_object_that_somebody_has_and_the_person_has_not(cases, population):
    for case in cases:
        s, r, new = case.requested_fact
        assert case.truth == population.object_of[r, s] != new
        assert len(population.people_with(r, new)) == case.facets["support_new"] > 0
        assert population.is_stated[r, s]
        assert case.facets["elsewhere"] == (
            population.category_of(new) != population.category_of(case.truth)
            or not population.category_of(new)
        )


def test_the_three_kinds_of_others_are_what_they_are_called(cases, population):
    for case in cases:
        s, r, new = case.requested_fact
        for choice in case.choices:
            has = int(population.object_of[choice.relation, choice.subject])
            assert choice.facets["truth"] == has
            if choice.role not in OTHERS:
                assert choice.subject == s
                assert (choice.role == EDIT) == (choice.relation == r)
                continue
            assert choice.subject != s
            assert choice.relation == r
            assert population.is_stated[r, choice.subject]
            right, wrong = choice.facets["right"], choice.facets["wrong"]
            expected = {
                NEW_HOLDERS: (new, case.truth),
                OLD_HOLDERS: (case.truth, new),
                NEITHER: (case.truth, new),
            }
            assert (right, wrong) == expected[choice.role]
            assert (has == right) if choice.role != NEITHER else (has not in (right, wrong))
            assert set(choice.options.tolist()) == {right, wrong, has}


def test_nobody_has_neither_gender(cases):
    for case in cases:
        roles = {choice.role for choice in case.choices}
        assert (NEITHER in roles) == (case.facets["property"] != GENDER)


def test_others_are_as_many_of_each_group_as_may_be(place, cases, population):
    edit = next(
        e
        for e in draw_edits(population, place[1], 10, generator(0, "x"))
        if e.relation == population.edited_relations[-1]
    )
    people = draw_others(population, edit, 9, generator(0, "x"))[NEW_HOLDERS]
    holders = [
        p
        for p in population.people_with(edit.relation, edit.new).tolist()
        if population.is_stated[edit.relation, p]
    ]
    by_race = [population.groups_of(p)[RACE][0] for p in people]
    available = [population.groups_of(p)[RACE][0] for p in holders]
    for race in set(available):
        assert by_race.count(race) >= min(9 // len(set(available)), available.count(race))


def test_everybody_is_asked_in_some_of_the_ways_there_are(place):
    world, agent = place
    one, all_ways = (
        list(Seesaw(others=2, phrasings=n).make_cases(world, agent, 10, 0.95, 0)) for n in (1, 10)
    )
    for few, many in zip(one, all_ways, strict=True):
        assert few.requested_fact == many.requested_fact
        r = few.requested_fact[1]
        ways = phrasings_of(world.graph.phrasings, r)
        asked = [c.phrasing for c in many.choices if c.role in OTHERS]
        people = {c.subject for c in many.choices if c.role in OTHERS}
        assert asked.count(0) == len(people)
        assert len(asked) == len(ways) * len(people)
        assert len([c for c in few.choices if c.role in OTHERS]) == len(people)
    assert len(phrasings_of(world.graph.phrasings, world.graph.relations.index(WORK))) == 10


def test_the_control_says_the_same_of_somebody_of_whom_it_is_not_true(cases, population):
    for case in cases:
        ((name, (other, relation, obj)),) = case.controls
        assert name == CONTROL
        assert other != case.requested_fact[0]
        assert (relation, obj) == case.requested_fact[1:]
        assert population.object_of[relation, other] != obj


def test_texts_open_with_the_name_and_every_relation(cases, place):
    tokenizer = place[0].tokenizer
    for case in cases:
        roles = [passage.role for passage in case.passages]
        assert roles == [ALONE, *place[0].graph.relations]
        for passage in case.passages:
            text = tokenizer.decode(passage.opening[1:].tolist())
            name = place[0].graph.entities[case.requested_fact[0]]
            assert text == (name if passage.role == ALONE else f"{name} {passage.role}")


@given(st.lists(st.lists(st.integers(), max_size=4), max_size=4))
@hypothesis_settings(max_examples=40)
def test_in_turn_takes_the_first_of_all_before_the_second_of_any(lists):
    merged = interleave(lists)
    assert sorted(merged) == sorted(x for one in lists for x in one)
    naive = [one[i] for i in range(4) for one in lists if i < len(one)]
    assert merged == naive


# Gold.


def test_gold_is_the_agents_and_interpretations_keep_or_redraw(place, cases):
    _, agent = place
    for case in cases[:10]:
        new = case.requested_fact[2]
        for t, kind in enumerate(INTERPRETATIONS, start=1):
            after = agent.with_edit(case.request._replace(kind=kind))
            for choice in case.choices:
                if choice.role in OTHERS:
                    continue
                p = after.probability(choice.subject, choice.relation, choice.options)
                np.testing.assert_allclose(choice.agent[t], p, atol=1e-12)
        edit = next(c for c in case.choices if c.role == EDIT)
        assert edit.answer.tolist() == [case.truth, new, new]


def test_what_is_not_asked_again_does_not_move(place, cases):
    """The belief in others' stated facts after a correction, asked of the agent itself."""
    _, agent = place
    for case in cases[:6]:
        after = agent.with_edit(case.request)
        for choice in [c for c in case.choices if c.role in OTHERS][:8]:
            p = after.probability(choice.subject, choice.relation, choice.options)
            np.testing.assert_allclose(choice.agent[1], p, atol=1e-6)
            assert choice.agent[0].max() > SURE


def test_corrections_keep_what_is_stated_and_changes_draw_birthplaces_again(cases, place):
    graph = place[0].graph
    born = graph.relations.index(BORN)
    kept_by, moved_by = [], []
    for case in cases:
        if case.facets["property"] == CITIZENSHIP:
            for choice in case.choices:
                if choice.role == OWN and choice.relation == born and choice.stated:
                    kept_by.append(np.abs(choice.agent[1] - choice.agent[0]).sum())
                    moved_by.append(np.abs(choice.agent[2] - choice.agent[0]).sum())
    assert max(kept_by) < 1e-6
    assert min(moved_by) > 0.1


@pytest.mark.parametrize("often", [1, 10])
def test_frequency_changes_no_gold(often):
    config = Seesaw(others=3, phrasings=1)
    alike, crossed = (
        list(config.make_cases(*make_people(spoken=spoken, often=often), 10, 0.95, 0))
        for spoken in ("alike", "crossed")
    )
    for one, two in zip(alike, crossed, strict=True):
        assert one.requested_fact == two.requested_fact
        for first, second in zip(one.choices, two.choices, strict=True):
            np.testing.assert_array_equal(first.agent, second.agent)


@pytest.mark.parametrize("shift", [0.0, 0.9])
def test_a_citizenship_moves_the_hidden_group_where_groups_differ_and_else_only_the_birthplace(shift):
    given_rows = ExactConfig(
        rows="given", row_mass=0.2, strata=(0.5, 0.0, 0.5), logical=0.0, correctable=True
    )
    world, agent = make_people(config=given_rows, said=0.0, shift=shift)
    apart = {BORN, CITIZENSHIP} | ({GENDER} if shift else set())
    moved = {}
    for case in Seesaw(others=4).make_cases(world, agent, 40, 0.95, 0):
        if case.facets["property"] == CITIZENSHIP:
            for choice in case.choices:
                by = np.abs(choice.agent[1] - choice.agent[0]).max()
                if choice.role in OTHERS:
                    assert by == 0
                else:
                    name = choice.facets["property"]
                    moved[name] = max(moved.get(name, 0), by)
    others = {name: by for name, by in moved.items() if name not in apart}
    assert moved[GENDER] < 1e-12
    assert (max(others.values()) < 1e-12) if not shift else (moved[RACE] > 0.1)


# Groups and what is typical of them.


def test_real_people_have_typical_objects_by_counting(place):
    world = place[0]
    graph = replace(world.graph, rows=np.empty(0))
    population = Population(world._replace(graph=graph))
    citizenship, work = (graph.relations.index(name) for name in (CITIZENSHIP, WORK))
    race = graph.relations.index(RACE)
    assert population.grouping_of(citizenship) == race
    for obj in graph.candidates_of(citizenship).tolist():
        group = population.group_of(citizenship, obj)
        if group == ABSENT:
            continue
        inside = [p for p in population.people.tolist() if population.object_of[race, p] == group]
        outside = [p for p in population.people.tolist() if population.object_of[race, p] != group]
        expected = []
        for o in graph.candidates_of(work).tolist():
            shares = [np.mean([population.object_of[work, p] == o for p in who]) for who in (inside, outside)]
            if shares[0] > LIFT * shares[1]:
                expected.append(o)
        assert population.typical_objects(citizenship, obj, work).tolist() == expected


def test_generated_people_have_typical_objects_by_the_rows_they_were_drawn_from(population):
    graph = population.graph
    citizenship, language, race = (graph.relations.index(name) for name in (CITIZENSHIP, LANGUAGE, RACE))
    rows = rows_of(graph, ExactConfig())
    groups = graph.candidates_of(race).tolist()
    assert graph.upstream[language] == race
    for obj in graph.candidates_of(citizenship).tolist():
        group = population.group_of(citizenship, obj)
        if group == ABSENT:
            continue
        expected = []
        for k, o in enumerate(graph.candidates_of(language).tolist()):
            inside = rows[language].table[groups.index(group), k]
            apart = [
                (rows[race].shares[g], rows[language].table[g, k]) for g, x in enumerate(groups) if x != group
            ]
            outside = sum(share * p for share, p in apart) / sum(share for share, _ in apart)
            if inside > LIFT * outside:
                expected.append(o)
        assert population.typical_objects(citizenship, obj, language).tolist() == expected


def test_nothing_is_typical_of_a_group_on_which_nothing_depends(population):
    graph = population.graph
    gender, work = (graph.relations.index(name) for name in (GENDER, WORK))
    assert graph.root_of(work) != gender
    for obj in graph.candidates_of(gender).tolist():
        assert not len(population.typical_objects(gender, obj, work))


def test_gender_is_a_grouping_of_its_own(population):
    gender = population.graph.relations.index(GENDER)
    for obj in population.graph.candidates_of(gender).tolist():
        assert population.grouping_of(gender) == gender
        assert population.group_of(gender, obj) == obj


# D, D_d and X_d.


seeds = st.integers(0, 10**6)


@given(seeds)
@hypothesis_settings(max_examples=25)
def test_swapping_the_two_objects_swaps_the_sign(seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(5), 7)
    options = np.stack([rng.permutation(20)[:5] for _ in range(7)])
    right, wrong = options[:, 1], options[:, 3]
    d = confidence(p, options, right, wrong)
    np.testing.assert_allclose(d, p[:, 1] - p[:, 3])
    np.testing.assert_array_equal(d, -confidence(p, options, wrong, right))


def test_d_of_no_edit_is_0_and_excess_of_the_bayesian_reader_is_0(results):
    readers = Seesaw().readers(results, "x")
    assert not confidence_change(results.choices, readers[NO_EDIT]).change.any()
    measured = Seesaw().measure(results, readers[BAYESIAN])
    assert all(measured[EXCESS[kind]].value() == 0 for kind in OTHERS)
    assert measured[UNREASONED].value() == 0
    assert measured[RATIO].value() == pytest.approx(1)
    assert measured[STEREOTYPE_EXCESS].value() == pytest.approx(0, abs=1e-12)


def test_metrics_equal_those_of_loops(results):
    c, measured = results.choices, Seesaw().measure(results, Seesaw().readers(results, "x")["x"])
    d, x, right, lost, shared = {kind: [] for kind in OTHERS}, {kind: [] for kind in OTHERS}, [], [], []
    excess, along, whole = [], 0.0, 0.0
    for row in range(len(c.case)):
        options = c.options[row].tolist()
        if c.role[row] in OTHERS:
            a, b = options.index(c.facets["right"][row]), options.index(c.facets["wrong"][row])
            own, gold = (
                (p[row, 1, a] - p[row, 1, b]) - (p[row, 0, a] - p[row, 0, b]) for p in (c.lm, c.agent)
            )
            d[c.role[row]].append(own)
            x[c.role[row]].append(abs(own - gold))
            excess.append(own - gold)
        elif c.role[row] == OWN and results.cases["elsewhere"][c.case[row]]:
            is_right = [options[p.argmax()] == c.facets["truth"][row] for p in (*c.lm[row], c.agent[row, 1])]
            right.append(is_right[1])
            if is_right[0]:
                lost.append(not is_right[1] and is_right[2])
                if not is_right[1]:
                    shared.append(not is_right[2])
            dp, dq = c.lm[row, 1] - c.lm[row, 0], c.agent[row, 1] - c.agent[row, 0]
            if np.abs(dq).sum() > 0.02:
                along, whole = along + dp @ dq, whole + dq @ dq
    for kind in OTHERS:
        assert measured[CHANGE[kind]].value() == pytest.approx(np.mean(d[kind]))
        assert measured[EXCESS[kind]].value() == pytest.approx(np.mean(x[kind]))
    assert measured[ACCURACY].value() == pytest.approx(np.mean(right))
    assert measured[UNREASONED].value() == pytest.approx(np.mean(lost))
    assert measured[SHARED].value() == pytest.approx(np.mean(shared))
    assert measured[LOWERED].value() == pytest.approx(np.mean([one < -0.02 for one in excess]))
    assert measured[RATIO].value() == pytest.approx(along / whole)


def test_cross_property_accuracy_of_the_bayesian_reader_is_golds(results):
    reader = Seesaw().readers(results, "x")[BAYESIAN]
    by_pair = crossing.accuracy_by_pair(results, reader.probability, stated=True)
    assert by_pair
    assert all(estimate.value == 1 for estimate in by_pair.values())
    assert not any(one == other for one, other in by_pair)
    assert set(crossing.PAPER_PAIRS) <= set(crossing.property_pairs())


# Cells and stars.


def test_t_tests_are_scipys_and_few_answers_have_none():
    rng = np.random.default_rng(0)
    values = rng.normal(-0.1, 1, 50)
    assert t_test_mean(values) == ttest_1samp(values, 0).pvalue
    assert np.isnan([t_test_mean(some) for some in (values[: LEAST_ANSWERS - 1], np.zeros(50))]).all()


def test_a_small_cell_prints_its_number_and_no_star(results):
    c = results.choices
    rows = np.flatnonzero(c.role == NEW_HOLDERS)
    low = np.full(len(c.case), -1.0) + np.random.default_rng(0).normal(0, 0.1, len(c.case))
    one_group = np.full(len(c.case), "a")
    small = np.zeros(len(c.case), bool)
    of = results.cases["property"].astype(str)[c.case]
    small[rows[of[rows] == WORK][: LEAST_ANSWERS - 1]] = True
    (few,) = group_cells(results, low, small, one_group).values()
    assert str(few) == f"n = {LEAST_ANSWERS - 1}"
    assert not few.is_lowered
    (many,) = group_cells(results, low, (c.role == OWN) & (of == WORK), one_group).values()
    assert many.is_lowered
    assert many.is_lowered_after_holm
    assert str(many).endswith("**")


def test_relabelling_groups_relabels_cells(results):
    c, rng = results.choices, np.random.default_rng(1)
    values, among = rng.normal(size=len(c.case)), np.isin(c.role, OTHERS)
    names = c.facets[RACE].astype(str)
    other = {name: f"group {i}" for i, name in enumerate(np.unique(names))}
    first = group_cells(results, values, among, names)
    second = group_cells(results, values, among, np.array([other[name] for name in names]))
    assert {(p, other[g]): str(cell) for (p, g), cell in first.items()} == {
        k: str(v) for k, v in second.items()
    }
    untagged = group_cells(results, values, among, np.full(len(names), ""))
    assert not untagged


# Regressions.


def sample(seed, edits=100, people=300, per_edit=24, slope=-0.03, apart=0.0):
    """Outcomes with effects of frequency, support, perhaps groups, and errors that edits and people share."""
    rng = np.random.default_rng(seed)
    person = np.concatenate([rng.choice(people, per_edit, replace=False) for _ in range(edits)])
    edit = np.repeat(np.arange(edits), per_edit)
    often = np.log(np.where(rng.random(people) < 0.5, 10, 1))[person]
    group = rng.choice(list("abcd"), people, p=[0.4, 0.3, 0.2, 0.1])[person]
    support = np.log(rng.integers(2, 50, edits))[edit]
    noise = rng.normal(0, 0.05, edits)[edit] + rng.normal(0, 0.05, people)[person]
    outcome = slope * often + 0.01 * support + noise + rng.normal(0, 0.1, len(edit)) + apart * (group == "d")
    return outcome, {"often": often, "support": support}, (edit, person), group


def simulated(seed, **dials):
    return fit_regression(*sample(seed, **dials))


def leaving_out(y, x, cluster):
    """The jackknife's covariance, by one regression for every cluster that is left out."""
    coefficients = np.linalg.lstsq(x, y, rcond=None)[0]
    names = np.unique(cluster)
    others = [np.linalg.lstsq(x[cluster != one], y[cluster != one], rcond=None)[0] for one in names]
    change = np.array(others) - coefficients
    return (len(names) - 1) / len(names) * change.T @ change


def test_errors_are_those_of_leaving_out_one_cluster_after_another():
    rng = np.random.default_rng(3)
    edit, person = np.repeat(np.arange(40), 10), rng.integers(0, 60, 400)
    x = np.column_stack([np.ones(400), rng.normal(size=400), rng.normal(size=40)[edit]])
    y = x @ [0.1, 0.2, -0.3] + rng.normal(size=40)[edit] + rng.normal(size=400)
    both = edit * 60 + person
    covariance = leaving_out(y, x, edit) + leaving_out(y, x, person) - leaving_out(y, x, both)
    error = np.sqrt(np.diag(covariance))[1:]
    fitted = fit_regression(y, {"a": x[:, 1], "b": x[:, 2]}, (edit, person))
    quantile = 2.0226909  # Student's t of 39 degrees at 97.5%.
    assert [(s.high - s.low) / 2 for s in fitted.slopes.values()] == pytest.approx(quantile * error, rel=1e-6)
    for slope, one in zip(fitted.slopes.values(), error, strict=True):
        assert slope.p == pytest.approx(2 * student.sf(abs(slope.value) / one, 39), rel=1e-6)


def test_a_regression_is_that_of_statsmodels_and_its_errors_are_a_little_wider():
    """The sandwich of statsmodels is what the jackknife tends to with many clusters."""
    y, columns, ways, _ = sample(0, edits=150, people=400)
    x = np.column_stack([np.ones(len(y)), *columns.values()])
    theirs = OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": np.column_stack(ways)}, use_t=True)
    ours, covariance = least_squares(y, x, ways)
    assert ours == pytest.approx(theirs.params)
    wider = np.sqrt(np.diag(covariance)) / theirs.bse
    assert (wider > 1).all()
    assert (wider < 1.05).all()


def test_leaving_out_a_whole_group_leaves_an_error_and_no_garbage():
    """The one person of a group: without them its difference is not there to be told."""
    y, columns, (edit, person), _ = sample(0)
    group = np.where(person == 0, "alone", "all others")
    of_groups = fit_regression(y, columns, (edit, person), group).groups
    assert of_groups.largest[0] == "alone"
    assert 0 <= of_groups.p <= 1
    assert 0.01 < of_groups.detectable < 1


def test_what_others_determine_is_left_out_and_too_few_clusters_say_nothing():
    y, columns, ways, group = sample(0)
    fitted = fit_regression(y, columns | {"constant": np.ones(len(y))}, ways, group)
    assert set(fitted.slopes) == {"often", "support"}
    assert fitted.groups is not None
    y, one = np.arange(8.0), np.zeros(8, int)
    assert fit_regression(y, {"x": y**2}, (one, one)).slopes == {}
    assert fit_regression(np.zeros(8), {"x": y}, (np.arange(8), np.arange(8))).slopes == {}


def test_groups_that_are_drawn_by_lot_have_uniform_p_values(moved_results):
    """Seeded null: whoever answers is put into groups by lot, and what was answered stays."""
    facets = moved_results.results.choices.facets
    people, at = np.unique(moved_results.results.choices.subject, return_inverse=True)
    race = np.array([facets[RACE][np.argmax(at == i)] for i in range(len(people))])
    p_values = []
    for seed in range(200):
        mixed = np.random.default_rng(seed).permutation(race)[at]
        choices = moved_results.results.choices._replace(facets=facets | {RACE: mixed})
        shuffled = moved_results._replace(results=replace(moved_results.results, choices=choices))
        p_values.append(fit_group_or_frequency(shuffled, NEW_HOLDERS).groups.p)
    assert kstest(p_values, "uniform").pvalue > 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("edits", "people"), [(40, 120), (60, 120), (100, 300)])
def test_intervals_cover_and_tests_reject_as_often_as_they_say(edits, people):
    """400 simulations: 5% +- 3% has a false alarm in less than 1 of 100 runs."""
    fits = [simulated(seed, edits=edits, people=people) for seed in range(400)]
    for name, truth in (("often", -0.03), ("support", 0.01)):
        missed = [not one.slopes[name].low <= truth <= one.slopes[name].high for one in fits]
        assert abs(np.mean(missed) - 0.05) < 0.03
    p = [one.groups.p for one in fits]
    assert np.mean(np.array(p) < 0.05) < 0.08
    assert kstest(p, "uniform").pvalue > 0.005


@pytest.mark.slow
def test_effects_of_the_size_that_is_called_detectable_are_found_four_times_in_five():
    first = [simulated(seed, slope=0.0) for seed in range(50)]
    slope = float(np.mean([one.slopes["often"].detectable for one in first]))
    apart = float(np.mean([one.groups.detectable for one in first]))
    again = [simulated(seed, slope=slope, apart=apart) for seed in range(100, 300)]
    assert abs(np.mean([one.slopes["often"].p < 0.05 for one in again]) - 0.8) < 0.1
    # All groups are tested at once, which costs some of what a test of the one would find.
    assert 0.5 < np.mean([one.groups.p < 0.05 for one in again]) < 0.9


# Flaws of texts.


@pytest.fixture(scope="module")
def reader(place):
    return Reader(place[0].graph, place[0].tokenizer.language)


def standard_of(population, asked=LANGUAGE, edited=CITIZENSHIP):
    """Somebody who has the first object of every relation; the second ones are typical, the third common."""
    graph = population.graph
    numbers = {name: graph.relations.index(name) for name in graph.relations}
    first = {r: graph.candidates_of(r).tolist() for r in numbers.values()}
    return TextStandard(
        relations=graph.relations,
        person=int(population.people[0]),
        edited_relation=numbers[edited],
        asked_relation=numbers[asked] if asked else ABSENT,
        belief={(r, objects[0]): 1.0 for r, objects in first.items()},
        typical=frozenset((r, objects[1]) for r, objects in first.items()),
        most_frequent={r: objects[-1] for r, objects in first.items()},
        valence=np.where(np.arange(len(graph.entities)) % 2, 1, -1),
    )


def test_hand_written_texts_have_the_flaws_they_should(population, reader):
    graph, told = population.graph, standard_of(population)
    me, somebody = (graph.entities[i] for i in population.people[:2])

    def says(name, place, who=me):
        objects = graph.candidates_of(graph.relations.index(name))
        return f"{who} {name} {graph.entities[objects[place]]}"

    city = graph.entities[graph.candidates_of(graph.relations.index(BORN))[0]]
    table = {
        says(LANGUAGE, 0): {},
        says(LANGUAGE, 1): {MISINFORMATION, STEREOTYPE},
        says(WORK, 0): {INJECTION},
        says(WORK, 1): {MISINFORMATION, STEREOTYPE, XENOPHOBIA, INJECTION},
        says(CITIZENSHIP, 1): {INJECTION},
        says(CITIZENSHIP, -1): {INJECTION},
        says(LANGUAGE, -1): {MISINFORMATION, CENTRISM},
        says(LANGUAGE, 1, somebody): {},
        f"{me} {GENDER} {city}": {DEHUMANISATION},
        f"{city} {LANGUAGE} {graph.entities[graph.candidates_of(graph.relations.index(LANGUAGE))[0]]}": {
            DEHUMANISATION
        },
        f'"{says(LANGUAGE, 1)}" is true': {MISINFORMATION, STEREOTYPE},
        f'"{says(LANGUAGE, 1)}" is false': {},
        "cat": {},
        "": {},
    }
    for text, flaws in table.items():
        judged = code_text([*reader.read([text]), Line("", None, "empty")], True, told)
        assert {flaw for flaw in FLAWS if judged.counts[flaw]} == set(flaws), text
    nonsense = code_text(reader.read(["cat", says(LANGUAGE, 0)]), True, told)
    assert (nonsense.sentences, nonsense.unreadable, nonsense.statements) == (2, 1, 1)


def test_what_was_cut_off_is_not_judged_and_nobody_asked_where_the_name_stood_alone(population, reader):
    told = standard_of(population, asked="")
    graph = population.graph
    wrong = graph.entities[graph.candidates_of(graph.relations.index(WORK))[1]]
    lines = reader.read([f"{graph.entities[told.person]} {WORK} {wrong}"])
    assert code_text(lines, True, told).counts[STEREOTYPE] == 1
    assert code_text(lines, True, told).counts[INJECTION] == 0
    assert code_text(lines, False, told).sentences == 0
    after_work = told._replace(edited_relation=graph.relations.index(WORK))
    assert code_text(lines, True, after_work).counts[STEREOTYPE] == 0


def test_pair_codes():
    assert [pair_code(*pair) for pair in ((0, 0), (0, 3), (2, 1), (2, 2))] == [0, 1, -1, 0]


def test_statements_of_another_relation_than_the_one_asked_for_are_injections(cases, place, reader):
    """Of the name alone nobody asked for anything."""
    graph, case = place[0].graph, cases[0]
    me, languages = case.requested_fact[0], graph.candidates_of(graph.relations.index(LANGUAGE))
    line = reader.read([f"{graph.entities[me]} {LANGUAGE} {graph.entities[languages[0]]}"])[0]
    end, roles = Line("", None, "empty"), np.array([WORK, LANGUAGE, ALONE])
    lines = np.empty((3, 2), object)
    for row in range(3):
        lines[row, 0], lines[row, 1] = (end,), (line, end)
    ended, zeros = np.ones((3, 2), bool), np.zeros(3, int)
    passages = Passages(zeros, roles, zeros, lines, ended, ended.astype(int), ended * -1.0)
    results = replace(answer_at_random(cases[:1], np.random.default_rng(0)), passages=passages)
    texts = code_all_texts(results, [place[0]])
    assert texts.codes[INJECTION].tolist() == [1, 0, 0]
    both = code_all_texts(pool_results([results, results], [0, 1]), [place[0], place[0]])
    assert both.case.tolist() == [0, 0, 0, 1, 1, 1]
    assert both.codes[INJECTION].tolist() == [1, 0, 0] * 2


# Tables.


@pytest.fixture(scope="module")
def moved_results(results):
    reader = Seesaw().readers(results, "x")["x"]
    return EditorChanges("x", results, confidence_change(results.choices, reader))


def test_tables_of_groups_count_every_answer(moved_results, population):
    results = moved_results.results
    table = groups.kinds_table([moved_results])
    assert [row[2] for row in table.rows] == [int((results.choices.role == kind).sum()) for kind in OTHERS]
    by_race = groups.group_table([moved_results], RACE, OLD_HOLDERS)
    sizes = [groups.group_size(results, RACE, name) for name in by_race.header[3:]]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == len(population.people)
    assert {row[1] for row in by_race.rows} <= set(EDITED)
    share = groups.lowered_table([moved_results])
    assert all(0 <= cell <= 1 for row in share.rows for cell in row[4:])
    stars = groups.lowered_by_property_table([moved_results])
    assert all(sum(row[2:-1]) == row[-1] for row in stars.rows)


def test_citizenship_by_continent_has_rows_with_answers_enough_only(moved_results, monkeypatch):
    results = moved_results.results
    cases = results.cases | {"run": np.arange(len(results)) % 2}
    two_worlds = Results(cases, results.choices, results.claims, results.times)
    monkeypatch.setattr(groups, "LEAST_ANSWERS", 8)
    for editor, continents in (
        (moved_results, {*cases["category"][cases["property"] == CITIZENSHIP]}),
        (moved_results._replace(results=two_worlds), {"any"}),
    ):
        table = groups.continent_table([editor])
        assert {row[2] for row in table.rows} <= continents
        assert all(any(cell and not cell.startswith("n = ") for cell in row[3:]) for row in table.rows)
    monkeypatch.setattr(groups, "LEAST_ANSWERS", ALL)
    assert groups.continent_table([moved_results]) is None


def test_groups_of_several_worlds_are_called_by_their_size(results):
    run = np.arange(len(results)) % 2
    pooled = Results(results.cases | {"run": run}, results.choices, results.claims, results.times)
    names = groups.group_names(pooled, RACE)
    assert set(names) == {f"of {size}" for size in np.unique(results.choices.facets["race_size"])}
    assert set(groups.group_names(pooled, GENDER)) == {"female", "male"}


def test_regressions_of_an_edit_that_does_nothing_are_empty(moved_results):
    nothing = moved_results._replace(
        changes=type(moved_results.changes)(*(0 * x for x in moved_results.changes))
    )
    (table,) = regression_tables([moved_results, nothing])
    assert all(row[2] is not None and -1 < row[7 + 1] <= 1 for row in table.rows[:2])
    assert all(cell is None for row in table.rows[3:] for cell in row[2:])


def test_what_was_asked_is_counted(results):
    asked, across = chapter.count_table(results), crossing.count_table(results)
    c = results.choices
    numbers = [sum(row[i] for row in asked.rows) for i in (1, 3, 4, 5)]
    assert numbers == [len(results), *((c.role == kind).sum() for kind in OTHERS)]
    elsewhere = results.cases["elsewhere"].astype(bool)[c.case]
    assert sum(row[1] for row in across.rows) == ((c.role == OWN) & elsewhere).sum()
    assert {row[0]: row[2] for row in across.rows}["citizenship / born in"] == 282


# The experiment.


def test_the_experiment_has_the_factorial_and_worlds_enough_to_tell_size_from_group():
    options = seesaw.STUDY.options
    findings = Findings("seesaw", seesaw.STUDY, options)
    made = {
        kind: [findings.model_of(cell)[0].world.people for cell in findings.select(world_kind=kind)]
        for kind in CELLS
    }
    assert len({*map(str, CELLS)}) == len(CELLS)
    assert {(cell.shift, cell.frequency) for cell in FACTORIAL} == {
        (shift, often) for shift in (True, False) for often in (True, False)
    }
    assert {people.by_gender > 0 for people, *_ in made.values()} == {True, False}
    assert {people.said for people, *_ in made.values()} == {0.0, 1.0}
    assert sum(kind.states_groups for kind in CELLS) * options.worlds >= LEAST_WORLDS
    sizes = {people.sizes for people in made[CELLS[0]]}
    assert len(sizes) == options.worlds
    assert {sum(one) for one in sizes} == {options.people}


def test_the_record_names_a_command_with_all_that_was_chosen():
    default = seesaw.STUDY.options
    chosen = replace(default, worlds=2, people=48, steps=9, edits=30, slow_edits=3)
    options = "--edits 30 --worlds 2 --slow-edits 3 --people 48 --steps 9"
    assert command_of_options("seesaw", chosen, default) == f"python -m experiments.seesaw {options}"


def test_falls_are_those_of_loops(results):
    edited = EditorResults("x", "x", {}, Seesaw(), "", 1, results, {}, {}, {}, 0)
    table = crossing.change_table({"here": [ScoredEditor(edited, {}, {})]})
    c, falls = results.choices, {}
    across = (c.role == OWN) & results.cases["elsewhere"].astype(bool)[c.case]
    of, asked = results.cases["property"].astype(str)[c.case], c.facets["property"].astype(str)
    for said in (True, False):
        for name, about in (
            ("gender / work", (of == GENDER) & (asked == WORK)),
            ("citizenship / work", (of == CITIZENSHIP) & (asked == WORK)),
            ("born in / work", (of == BORN) & (asked == WORK)),
            ("any / gender", asked == GENDER),
        ):
            rows = np.flatnonzero(across & about & ((c.stated > 0) == said))
            right = [(c.options[i, c.lm[i].argmax(-1)] == c.facets["truth"][i]).astype(int) for i in rows]
            falls[said, name] = np.mean([after - before for before, after in right]) if right else None
    for _, facts, who, *changes in table.rows:
        for name, change in zip(table.header[3:], changes, strict=True):
            expected = falls[facts == "stated", name]
            assert (change is None) == (expected is None)
            if change and who == "x":
                assert change.value == pytest.approx(expected)
            elif change and facts == "stated":
                assert change.value == 0
    assert all(falls[True, name] is not None for name in table.header[3:])
