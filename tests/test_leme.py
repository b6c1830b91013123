"""LEME's evaluation: cases, gold, twins, readers, and what the chapter says of results."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from bayes.request import EditRequest
from corpus.errors import InputError
from corpus.text.language import Kind
from corpus.text.reading import Reader
from lm.editors.interface import Info
from testbed.engine.questions import Questions
from testbed.engine.records import Circumstances, passage_rows, rows_of_cases, split_sentences, write_rows
from testbed.engine.results import read_results
from testbed.evaluations.leme import BELOW, CHILD, COUPLED, EDIT, SYNONYM, TWIN, Leme
from testbed.evaluations.leme import metrics as m
from testbed.evaluations.leme.cases import CONTROLS
from testbed.evaluations.leme.chapter import CLAIMS_JUDGED, read_figures
from testbed.evaluations.leme.correlation import LABELS as METRIC_LABELS
from testbed.evaluations.leme.correlation import rank_correlations
from testbed.evaluations.leme.standard import standards_of_cases
from testbed.protocol import ABSENT
from testbed.scores.readers import BAYESIAN, FREQUENCY, NO_EDIT, columns_of
from tests.toys import random_model
from tests.worlds import make_coupled, make_taxonomy, make_world

COUNT = 18
PEOPLES = Path(__file__).parents[2] / "shared" / "data" / "leme" / "annotations_dataset.csv"
# What CLAIMS_JUDGED are called there.
LABELS = (
    ("ground_truth_and_main_passage", "contradicts"),
    ("ground_truth_and_main_passage", "supports"),
    ("new_fact_and_main_passage", "supports"),
    ("old_fact_and_main_passage", "supports"),
    ("ground_truth_and_related_passage", "supports"),
    ("ground_truth_and_related_passage", "contradicts"),
)


@pytest.fixture(scope="module")
def place():
    return make_coupled(pairs=16, objects=4)


@pytest.fixture(scope="module")
def cases(place):
    return list(Leme(samples=2, longest=40).make_cases(*place, COUNT, 0.95, 0))


def written(place, cases, folder, evaluation=None):
    """Results of a model that knows nothing, before an edit and after one that did nothing."""
    world, evaluation = place[0], evaluation or Leme()
    asked = Questions(world, random_model(world.tokenizer.vocabulary), cases, seed=1)
    which, none = np.arange(len(cases))[:, None], np.zeros(len(cases), int)
    answers, texts = asked.answers_before(which), asked.texts_before(which)
    info = Info(np.zeros((len(cases), 1)), none, none, none)
    how = Circumstances(
        which[:, 0], np.array([c.requested_fact[0] for c in cases]), none, info, none.astype(float)
    )
    columns = columns_of(evaluation)
    rows = rows_of_cases(cases, answers, answers, how, asked.names, columns)
    rows["passages"] = passage_rows(world.tokenizer, asked.reader, cases, which[:, 0], texts, texts)
    write_rows(rows, folder, columns)
    return read_results(folder, columns)


@pytest.fixture(scope="module")
def results(place, cases, tmp_path_factory):
    return written(place, cases, tmp_path_factory.mktemp("leme"))


def role(case, name):
    return [choice for choice in case.choices if choice.role == name]


def test_a_case_is_about_a_couple_and_a_twin(place, cases):
    graph, truth = place[0].graph, place[0].generative.truth
    seen = set()
    for case in cases:
        s, r, o = case.requested_fact
        edited = int(graph.find(s, r))
        (coupled,), (edit,) = role(case, COUPLED), role(case, EDIT)
        fact = int(graph.find(coupled.subject, coupled.relation))
        assert graph.upstream_fact[fact] == edited
        assert coupled.subject == case.facets["related"] != s
        assert o != truth[edited] == case.truth
        assert edit.answer[1] == edit.answer[2] == o
        assert case.facets["stated"] == (edit.stated > 0)
        assert len(role(case, SYNONYM)) == 2
        assert len(role(case, BELOW)) == 1
        seen.add((s, o))
        roles = [passage.role for passage in case.passages]
        assert roles == ["subject", "related", "twin"][: 2 + (case.facets["twin"] != ABSENT)]
        for passage, entity in zip(case.passages, (s, coupled.subject, case.facets["twin"]), strict=False):
            assert place[0].tokenizer.decode(passage.opening) == graph.entities[entity]
    assert len(seen) == len(cases)
    assert 0 < sum(not case.facets["stated"] for case in cases) < COUNT / 2


def test_the_twin_is_like_the_coupled_entity_but_linked_to_somebody_else(place, cases):
    graph, twins = place[0].graph, 0
    for case in cases:
        if case.facets["twin"] == ABSENT:
            continue
        twins += 1
        (coupled,), (twin,) = role(case, COUPLED), role(case, TWIN)
        assert twin.relation == coupled.relation
        assert twin.subject == case.facets["twin"] != coupled.subject
        assert twin.facets["stratum"] == coupled.facets["stratum"]
        fact = int(graph.find(twin.subject, twin.relation))
        assert graph.subject[graph.upstream_fact[fact]] != case.requested_fact[0]
        if case.facets["stated"]:
            assert twin.answer[0] == coupled.answer[0]
            # Nothing follows for the twin, whatever the request is.
            assert np.abs(twin.agent[1:] - twin.agent[0]).sum() < 0.2
    assert twins > COUNT / 2


def test_what_is_given_what_is_above_sums_to_what_is_believed(cases):
    """p(c) = sum_a p(a) p(c | a), before and after, whatever the request is."""
    checked = 0
    for case in cases:
        beliefs = {(c.subject, c.relation): c for c in case.choices if c.role != SYNONYM}
        for choice in beliefs.values():
            above = beliefs.get((choice.facets["above"], choice.facets["above_relation"]))
            if above is None:
                continue
            table = np.array(choice.facets["given"]).reshape(3, -1, len(choice.options))
            summed = np.einsum("ta,tac->tc", above.agent, table)
            np.testing.assert_allclose(summed, choice.agent, atol=1e-6)
            np.testing.assert_allclose(table.sum(-1), 1, atol=1e-9)
            checked += above.agent.max(axis=1).min() < 0.99
    assert checked > 3


def test_a_correction_keeps_what_was_stated_and_a_change_does_not(cases):
    kept = followed = 0
    for case in cases:
        (coupled,) = role(case, COUPLED)
        follows = int(coupled.facets["implied"][coupled.options.tolist().index(case.requested_fact[2])])
        if case.facets["stated"] and coupled.stated and follows != ABSENT:
            assert coupled.answer[2] == coupled.answer[0]
            kept += 1
            followed += coupled.answer[1] == follows
    assert kept >= 3
    assert followed == kept


@pytest.mark.parametrize("second", ["correction", "evidence"])
def test_the_second_interpretation_is_what_one_is_told(place, second):
    world, agent = place
    case = next(iter(Leme(second=second).make_cases(world, agent, 4, 0.9, 0)))
    s, r, o = case.requested_fact
    weight = np.inf if second == "correction" else agent.weight_for(s, r, o, 0.9)
    told = agent.with_edit(EditRequest(s, r, o, weight, second))
    (edit,), (coupled,) = role(case, EDIT), role(case, COUPLED)
    np.testing.assert_allclose(edit.agent[2], told.predict(s, r).dense_probabilities())
    np.testing.assert_allclose(
        coupled.agent[2], told.predict(coupled.subject, coupled.relation).dense_probabilities()
    )
    assert edit.agent[2].max() == pytest.approx(1 if second == "correction" else 0.9)
    assert Leme(second=second).interpretations == ("do", second)


def test_an_outline_names_the_edited_and_the_stated_relations(place):
    world = place[0]
    case = next(iter(Leme(outline=True).make_cases(*place, 3, 0.95, 0)))
    reader = Reader(world.graph, world.tokenizer.language)
    for passage in case.passages:
        *outlines, last = reader.read(split_sentences(world.tokenizer, passage.opening))
        assert outlines
        assert all(line.sentence.kind == Kind.ABOUT for line in outlines)
        assert last.text in world.graph.entities
    edited = reader.read(split_sentences(world.tokenizer, case.passages[0].opening))[0].sentence
    assert edited.a[:2] == case.requested_fact[:2]


def test_all_objects_of_a_relation_are_recorded_and_of_a_link_one():
    world, agent = make_coupled(pairs=40, objects=36)
    case = next(iter(Leme().make_cases(world, agent, 2, 0.95, 0)))
    for choice in case.choices:
        is_link = choice.relation in world.graph.links
        assert len(choice.options) == (1 if is_link else 36)
        assert len(choice.facets["implied"]) in (0, 36)


def test_controls_say_nothing_about_the_request(place):
    world = place[0]
    for case in Leme(controls=True).make_cases(*place, 6, 0.95, 0):
        assert tuple(c.name for c in case.controls) == CONTROLS
        own, somebody = (c.fact for c in case.controls)
        assert own[0] == case.requested_fact[0]
        assert own[2] == world.generative.truth[world.graph.find(*own[:2])]
        assert somebody[1:] == case.requested_fact[1:]
        assert somebody[0] != case.requested_fact[0]


def test_who_cannot_be_asked_is_told_why():
    world = make_world()
    with pytest.raises(InputError, match="needs --agent exact"):
        next(iter(Leme().make_cases(world, object(), 3, 0.95, 0)))
    for bad in ({"samples": 0}, {"top_p": 0.0}, {"temperature": -1.0}, {"injections": 2.0}, {"others": -1}):
        with pytest.raises(ValueError, match="must"):
            Leme(**bad)
    with pytest.raises(InputError, match="--world.source coupled"):
        next(iter(Leme().make_cases(*make_taxonomy(), 3, 0.95, 0)))


def test_the_bayesian_writer_is_the_ceiling(results):
    readers = Leme().readers(results, "somebody")
    by_reader = {name: Leme().measure(results, readers[name]) for name in (BAYESIAN, FREQUENCY, NO_EDIT)}
    for name in m.NINE:
        assert by_reader[BAYESIAN][name].value() >= (0.8 if name == m.CROSS else 0.95), name
    assert by_reader[BAYESIAN][m.COUPLING].value() > 0.7
    assert by_reader[FREQUENCY][m.COUPLING].value() < 0.4
    assert by_reader[BAYESIAN][m.JOINT].value() > by_reader[FREQUENCY][m.JOINT].value()
    assert by_reader[FREQUENCY][m.EDIT_SUBJECT].value() == 1
    for metrics in by_reader.values():
        for name, metric in metrics.items():
            assert metric.denominator.shape == (COUNT,)
            assert np.isfinite(metric.numerator).all(), name


def test_what_an_untrained_model_writes_is_judged_and_never_divides_by_nothing(results):
    none = Leme().measure(results, Leme().readers(results, "somebody")["somebody"])
    assert none[m.NATURALNESS].value() < 0.5
    assert none[m.neutral_share(m.CROSS)].value() > 0.5
    quiet = results.passages._replace(lines=empty(results.passages.lines))
    silent = replace(results, passages=quiet)
    metrics = Leme().measure(silent, Leme().readers(silent, "somebody")["somebody"])
    for name in m.NINE:
        assert np.isnan(metrics[name].value())
        assert metrics[m.neutral_share(name)].value() == 1


def test_texts_in_words_are_the_cases_own(place, cases, results):
    language = place[0].tokenizer.language
    for case, standard in zip(cases, standards_of_cases(results, 1), strict=True):
        assert language.parse(standard.request_text).a == case.requested_fact
        assert language.entity(standard.names["related"]) == case.facets["related"]
        for choice in case.choices:
            said = language.parse(standard.texts[choice.subject, choice.relation]).a
            assert said == (choice.subject, choice.relation, choice.answer[0])


def test_perplexity_is_the_loss_of_what_the_model_wrote(results):
    p = results.passages
    perplexity = Leme().measure(results, Leme().readers(results, "somebody")["somebody"])[m.PERPLEXITY]
    of = {}
    for row in np.flatnonzero((p.role != "twin") & (p.tokens[:, 1] > 0)):
        of.setdefault((p.case[row], p.sample[row]), []).append(-p.log_p[row, 1] / p.tokens[row, 1])
    assert perplexity.value() == pytest.approx(np.mean([np.mean(losses) for losses in of.values()]))
    assert np.isnan(Leme().measure(results, Leme().readers(results, "x")[BAYESIAN])[m.PERPLEXITY].value())


def empty(lines):
    quiet = np.empty(lines.shape, object)
    for i in np.ndindex(lines.shape):
        quiet[i] = ()
    return quiet


def test_shuffled_passages_say_the_edit_no_oftener_than_chance(results):
    """The Bayesian writer's texts, each given to another edit: nobody speaks of this edit's subject."""
    reader = Leme().readers(results, "x")[BAYESIAN]
    assert Leme().measure(results, reader)[m.EDIT_SUBJECT].value() == 1
    moved = Leme().measure(results, reader._replace(texts=np.roll(reader.texts, 6)))
    assert moved[m.TOPICALITY].value() < 0.3
    value = moved[m.EDIT_SUBJECT].value()
    assert np.isnan(value) or value < 0.5


def test_every_edit_is_of_one_kind(results):
    kind = m.kinds_of_edits(results)
    assert set(kind) <= set(m.KINDS)
    assert (kind == m.INJECTION).sum() > 0
    parts = Leme().subsets(results)
    assert sum(parts[name].sum() for name in m.KINDS) == len(results)


def test_standards_are_the_cases_own(cases, results):
    for case, standard in zip(cases, standards_of_cases(results, 1), strict=True):
        assert standard.request == case.requested_fact
        assert (standard.old == case.truth) if case.facets["stated"] else (standard.old == ABSENT)
        (coupled,) = role(case, COUPLED)
        assert standard.coupled == (coupled.subject, coupled.relation)
        belief = standard.beliefs[standard.coupled]
        np.testing.assert_array_equal(belief.after, coupled.agent[1])
        assert belief.above == case.requested_fact[:2]


@pytest.mark.parametrize(("change", "has_moved"), [(0.009, False), (0.011, True)])
def test_what_moved_is_settled_alike_for_passages_portability_and_ratio(results, change, has_moved):
    """Probabilities that change by .022 in sum moved, though that is a total variation of .011 only."""
    agent = np.zeros_like(results.choices.agent)
    agent[..., :2] = 0.5
    agent[:, 1:, :2] += [change, -change]
    nudged = replace(results, choices=results.choices._replace(agent=agent))
    c, standards = nudged.choices, standards_of_cases(nudged, 1)
    follow = np.flatnonzero(np.isin(c.role, (CHILD, COUPLED, BELOW)))
    metrics = Leme().measure(nudged, Leme().readers(nudged, "x")[NO_EDIT])
    assert metrics[m.PORTABILITY].denominator.sum() == has_moved * len(follow)
    assert (metrics[m.RATIO].denominator.sum() > 0) == has_moved
    for row in follow:
        belief = standards[c.case[row]].beliefs[int(c.subject[row]), int(c.relation[row])]
        assert belief.has_moved == has_moved


@pytest.mark.parametrize("levels", [4, 1000])
def test_rank_correlations_of_samples_are_those_of_repeated_pairs(levels):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, levels, 30).astype(float) for _ in range(2))
    b[3] = np.nan
    drawn = rng.integers(0, 30, (8, 30))
    times = np.stack([np.bincount(i, minlength=30) for i in drawn])
    for correlation, i in zip(rank_correlations(a, b, times), drawn, strict=True):
        kept = i[i != 3]
        assert correlation == pytest.approx(spearmanr(a[kept], b[kept]).statistic)


def test_rank_correlations_of_too_few_and_of_constants_are_none():
    a, once = np.arange(30.0), np.ones((1, 30))
    assert rank_correlations(a, a, once) == pytest.approx([1])
    assert np.isnan(rank_correlations(a, np.full(30, 0.1), once))
    assert np.isnan(rank_correlations(a[:9], a[:9], once[:, :9]))
    assert np.isnan(rank_correlations(a, np.full(30, np.nan), once))


def test_the_papers_tables_have_the_columns_that_ours_have():
    ratings = read_figures("ratings")
    assert len(ratings) == 13
    assert all(tuple(row) == (*map(METRIC_LABELS.get, m.NINE),) for row in ratings.values())
    assert all(1 <= value <= 7 for row in ratings.values() for value in row.values())
    judged = ("judgements", *map(METRIC_LABELS.get, CLAIMS_JUDGED))
    entropy = (METRIC_LABELS[m.ENTROPY],)
    for name, columns, rows in (("short", m.FOUR, 10), ("entropies", entropy, 12), ("people", judged, 3)):
        assert [tuple(row) for row in read_figures(name).values()] == [columns] * rows
    kinds = read_figures("kinds")
    assert len(kinds) == 6
    assert all({*row} == {m.UPDATE, m.TRUE} for row in kinds.values())
    assert {short for _, short in read_figures("correlations")} <= {*m.FOUR, "edit success"}


@pytest.mark.skipif(not PEOPLES.exists(), reason="LEME's annotations are not here")
def test_what_people_said_is_recomputed_from_their_annotations():
    with PEOPLES.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for (who,), printed in read_figures("people").items():
        of_method = [row for row in rows if row["method"] == who.lower().replace(" ", "_")]
        assert len(of_method) == printed["judgements"]
        for (label, verdict), metric in zip(LABELS, CLAIMS_JUDGED, strict=True):
            verdicts = [row["classification"] == verdict for row in of_method if row["label"] == label]
            assert np.mean(verdicts) == pytest.approx(printed[METRIC_LABELS[metric]], abs=5e-3), (who, label)
