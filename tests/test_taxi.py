"""TAXI: its questions, gold under both interpretations, metrics, tables, and the whole command."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from bayes.request import EditRequest
from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.seeds import generator
from corpus.text.language import Atom, Kind, Sentence
from corpus.text.tokenizer import BOS, EOS, SEP
from corpus.world import build_world
from testbed.engine.questions import Questions
from testbed.evaluations.taxi import EDIT, INTERPRETATIONS, PROPERTY, REVERSE, UNSHARED, Taxi
from testbed.evaluations.taxi.beside import COLUMNS as PEOPLE_COLUMNS
from testbed.evaluations.taxi.beside import RESPONSES, find_changes, people_shares, read_answers
from testbed.evaluations.taxi.cases import CONTROLS
from testbed.evaluations.taxi.chapter import MOST_ROWS, exception_table
from testbed.evaluations.taxi.edits import COLUMNS, MEMBERSHIP, QUERIES, Taxonomy, build_edits, read_edits
from testbed.evaluations.taxi.metrics import (
    CONSISTENCY,
    CORRECTION_READER,
    INVARIANCE,
    PROPERTIES,
    SUCCESS,
    reverse_name,
    stratum_name,
)
from testbed.evaluations.taxi.pairs import pair_cases
from testbed.protocol import ABSENT
from testbed.run.world import World
from testbed.scores.readers import BAYESIAN, CHANCE
from tests.inverse import who_has
from tests.random_answers import results_of
from tests.toys import random_model, read_whole
from tests.worlds import make_taxonomy

DATA = Path(__file__).parents[2] / "shared" / "data" / "taxi"
real = pytest.mark.skipif(not DATA.exists(), reason="TAXI's tables are not here")
ALL = 10**6


@pytest.fixture(scope="module")
def place():
    return make_taxonomy()


@pytest.fixture(scope="module")
def taxonomy(place):
    return Taxonomy(place[0].graph)


@pytest.fixture(scope="module")
def cases(place):
    return list(Taxi(controls=True).make_cases(*place, ALL, 0.95, 0))


# Questions.


def test_every_subject_becomes_every_other_category_of_its_superordinate(cases, taxonomy):
    requests = {(case.requested_fact[0], case.requested_fact[2]) for case in cases}
    assert len(requests) == len(cases)
    assert requests == {
        (s, c)
        for s, old in taxonomy.category_by_member.items()
        for c in taxonomy.sibling_categories(old)
        if c != old
    }


def test_some_are_a_part_of_all_with_equal_shares(place, cases):
    some = list(Taxi().make_cases(*place, 16, 0.95, 3))
    assert {case.requested_fact for case in some} < {case.requested_fact for case in cases}
    for facet in ("superordinate", "typical"):
        _, counts = np.unique([case.facets[facet] for case in some], return_counts=True)
        assert set(counts) == {8}


def test_the_right_answer_is_offered_once_and_no_other_option_is_right(cases, taxonomy):
    for case in cases:
        s, _, new = case.requested_fact
        for choice in case.choices:
            label = choice.facets["label"]
            offered = choice.options if choice.offered is None else choice.options[choice.offered]
            if choice.role == UNSHARED:
                assert (label == ABSENT) != (choice.facets["old"] == ABSENT)
                continue
            assert (offered == label).sum() == 1
            if choice.role == PROPERTY:
                assert label == taxonomy.value_of(new, choice.relation)
                assert 2 <= len(offered) <= 6
            if choice.role == REVERSE and choice.relation != taxonomy.root:
                others = [taxonomy.category_by_member[o] for o in offered.tolist() if o != s]
                assert choice.subject not in [taxonomy.value_of(c, choice.relation) for c in others]
                assert new not in others


def test_consistency_and_invariance_partition_the_properties(cases, taxonomy):
    for case in cases:
        s, _, new = case.requested_fact
        old = taxonomy.category_by_member[s]
        changed_by_relation = {c.relation: c.facets["changed"] for c in case.choices if c.role == PROPERTY}
        both = {
            r
            for r in taxonomy.property_relations(s)
            if ABSENT not in (taxonomy.value_of(old, r), taxonomy.value_of(new, r))
        }
        assert set(changed_by_relation) == both
        for r, changed in changed_by_relation.items():
            assert changed == (taxonomy.value_of(old, r) != taxonomy.value_of(new, r))


def test_controls_say_nothing_of_the_request(cases, taxonomy):
    for case in cases:
        s, r, new = case.requested_fact
        own, member, somebody = (control.fact for control in case.controls)
        assert tuple(control.name for control in case.controls) == CONTROLS
        assert own[0] == s
        assert own[2] == taxonomy.value_of(taxonomy.category_by_member[s], own[1]) or own[1] == r
        assert member[0] in taxonomy.members_by_category[new]
        assert member[1:] == (r, new) == somebody[1:]
        assert taxonomy.category_by_member[somebody[0]] != new
        assert somebody[0] != s


# Gold.


def test_gold_is_what_the_agent_says_when_asked_under_each_interpretation(place, cases, taxonomy):
    """Beliefs that are kept from edit to edit are those that the edited agent would give."""
    world, agent = place
    graph = world.graph
    for case in cases[::9]:
        s, r, new = case.requested_fact
        agents = [agent, *(agent.with_edit(EditRequest(s, r, new, np.inf, kind)) for kind in INTERPRETATIONS)]
        for choice in case.choices:
            for t, one in enumerate(agents):
                if choice.phrasing:
                    often = graph.frequency[choice.options]
                    wanted = who_has(one, choice.relation, choice.subject, choice.options, often)
                else:
                    wanted = one.predict(choice.subject, choice.relation).of(choice.options)
                np.testing.assert_allclose(choice.agent[t], wanted, atol=1e-6)


def test_after_a_change_the_agent_gives_taxis_labels_wherever_the_category_speaks(place, cases, taxonomy):
    """Under `do` the labels are right; where nobody of the new category is quoted, nobody can know."""
    stated = place[0].stated_facts
    graph = place[0].graph
    said = {(taxonomy.category_by_member[int(graph.subject[f])], int(graph.relation[f])) for f in stated}
    seen = 0
    for case in cases:
        for choice in case.choices:
            if choice.role not in (EDIT, PROPERTY):
                continue
            best = choice.agent[1] == choice.agent[1].max()
            if choice.role == PROPERTY and (case.requested_fact[2], choice.relation) not in said:
                assert best[choice.options == choice.facets["label"]].all()
                continue
            assert choice.options[best].tolist() == [choice.facets["label"]]
            seen += 1
    assert seen > len(cases)


def test_what_both_categories_lack_knowledge_of_is_uniform(cases):
    """The agent does not know a property that the new category lacks."""
    lost = [c for case in cases for c in case.choices if c.role == UNSHARED and c.facets["label"] == ABSENT]
    assert lost
    for choice in lost:
        np.testing.assert_allclose(choice.agent[1], 1 / len(choice.options))


# The engine.


def test_an_inverse_choice_scores_subjects_behind_the_object(place, cases):
    """As whole sentences are read, "<object> <inversely> <subject>", ending included."""
    world, _ = place
    tokenizer, model = world.tokenizer, random_model(world.tokenizer.vocabulary)
    answers = Questions(world, model, cases[:2]).answers_before(np.arange(2)[:, None])
    seen = 0
    for case, ended in zip(cases[:2], answers.ended, strict=True):
        for choice, scores in zip(case.choices, ended, strict=False):
            if choice.role != REVERSE:
                continue
            rows = []
            for s in choice.options.tolist():
                atom = Atom(s, choice.relation, choice.subject)
                sentence = Sentence(Kind.ATOMIC, None, atom, None, choice.phrasing)
                assert tokenizer.language.render(sentence).endswith(f" {world.graph.entities[s]}")
                rows.append([BOS, *tokenizer.sentence(sentence)])
            p = np.asarray(jax.nn.softmax(read_whole(model, np.array(rows, np.int32)), axis=-1))
            last = np.array(rows)[:, -1]
            wanted = p[np.arange(len(rows)), -2, last] * p[:, -1, [SEP, EOS]].sum(-1)
            np.testing.assert_allclose(scores[: len(rows)], wanted, rtol=1e-3)
            seen += 1
    assert seen


# Metrics.


def random_results(cases, seed=0):
    """Answers to all questions that nobody gave, and to no claim."""
    cases = [case._replace(claims=()) for case in cases]
    rng, counts = np.random.default_rng(seed), [len(c.options) for case in cases for c in case.choices]
    return results_of(cases, Taxi(), [rng.dirichlet(np.full(n + 1, 0.5), 2)[:, :-1] for n in counts])


@pytest.fixture(scope="module")
def results(cases):
    return random_results(cases[:60])


def naive(results, p, which, changed, inverse):
    """TAXI's success, as its paper has it: argmax over the options, averaged over questions."""
    c, marks = results.choices, []
    for n in range(len(c.case)):
        of_category = c.relation[n] == results.cases["relation"][c.case[n]]
        if c.role[n] != (REVERSE if inverse else EDIT if which == EDIT else PROPERTY):
            continue
        if of_category != (which == EDIT) or (changed is not None and c.facets["changed"][n] != changed):
            continue
        options = [(p[n, k], c.options[n, k]) for k in range(p.shape[1]) if c.offered[n, k]]
        marks.append(max(options)[1] == c.facets["label"][n])
    return np.mean(marks)


def test_the_four_metrics_and_their_reverse_are_those_of_the_paper(results):
    reader = Taxi().readers(results, "somebody")["somebody"]
    metrics = Taxi().measure(results, reader)
    questions = {SUCCESS: (EDIT, None), PROPERTIES: (PROPERTY, None), INVARIANCE: (PROPERTY, False)}
    questions[CONSISTENCY] = (PROPERTY, True)
    for name, (which, changed) in questions.items():
        for inverse, called in ((False, name), (True, reverse_name(name))):
            wanted = naive(results, reader.probability, which, changed, inverse)
            assert metrics[called].value() == pytest.approx(wanted, abs=1e-12), called


def test_exceptions_are_those_that_a_loop_finds(results, place):
    """Where the agent's belief in the label under `do` is below its belief in another option."""
    c, names = results.choices, place[0].graph.entities
    results = replace(results, cases=results.cases | {"run": np.zeros(len(results), int)})
    pairs = []
    for row in range(len(c.role)):
        options = c.options[row][c.offered[row]].tolist()
        belief = dict(zip(options, c.agent[row, 1][c.offered[row]].tolist(), strict=True))
        label = int(c.facets["label"][row])
        if c.role[row] in (EDIT, PROPERTY) and belief[label] < max(belief.values()) * (1 - 1e-6):
            pairs.append((names[int(results.cases["subject"][c.case[row]])], names[label]))
    editor = SimpleNamespace(edits=SimpleNamespace(results=results))
    table = exception_table([editor], place[0])
    assert bool(pairs) == bool(table)
    if table:
        assert table.note.startswith(f"{len(pairs)} of ")
        assert [(row[0], row[3]) for row in table.rows] == pairs[:MOST_ROWS]
    wrong = c._replace(agent=np.where(c.options[:, None] == c.facets["label"][:, None, None], 0.0, c.agent))
    editor.edits.results = replace(results, choices=wrong)
    every = exception_table([editor], place[0])
    assert len(every.rows) == min(MOST_ROWS, int(np.isin(c.role, (EDIT, PROPERTY)).sum()))


def test_chance_is_one_in_as_many_as_are_offered(results):
    c, metrics = results.choices, Taxi().measure(results, Taxi().readers(results, "x")[CHANCE])
    odds = 1 / c.offered.sum(1)
    is_property = c.role == PROPERTY
    assert metrics[PROPERTIES].value() == pytest.approx(odds[is_property].mean())
    assert metrics[CONSISTENCY].value() == pytest.approx(odds[is_property & c.facets["changed"]].mean())
    of_category = c.relation == results.cases["relation"][c.case]
    inverse = (c.role == REVERSE) & ~of_category
    assert metrics[reverse_name(PROPERTIES)].value() == pytest.approx(odds[inverse].mean())


def test_the_agent_is_its_own_standard_under_each_interpretation(results):
    readers = Taxi().readers(results, "x")
    for name in (BAYESIAN, CORRECTION_READER):
        metrics = Taxi().measure(results, readers[name])
        assert metrics["agreement"].value() == 1
        assert metrics["tv"].value() == 0
        assert metrics["propagation_ratio"].value() == pytest.approx(1)
        assert metrics["others_kept"].value() == 1
    # Who is corrected keeps what was stated, so the labels are not what such a request entails.
    corrected = Taxi().measure(results, readers[CORRECTION_READER])
    assert corrected[CONSISTENCY].value() < 1
    assert (
        corrected[stratum_name(CONSISTENCY, "S0")].value()
        > corrected[stratum_name(CONSISTENCY, "S2")].value()
    )


def test_a_mean_by_edit_counts_edits_alike(results):
    metrics = Taxi().measure(results, Taxi().readers(results, "x")["x"])
    pooled, mean = metrics[PROPERTIES], metrics[f"{PROPERTIES}.by_edit"]
    counted = pooled.denominator > 0
    shares = pooled.numerator[counted] / pooled.denominator[counted]
    assert mean.value() == pytest.approx(shares.mean())


def test_pairs_are_of_one_category_and_one_edit(results):
    rare, typical, levels = pair_cases(results)
    assert len(rare)
    assert not results.cases["typical"][rare].any()
    assert results.cases["typical"][typical].all()
    for column in ("truth", "object"):
        assert (results.cases[column][rare] == results.cases[column][typical]).all()
    assert len(set(rare)) == len(rare)
    assert {len(x) for x in levels.values()} == {len(rare)}


# TAXI's own tables.


def written(folder, taxonomy, edits):
    """The edits as TAXI's file has them."""
    names, table = taxonomy.graph.entities, {name: {} for name in COLUMNS}
    for edit in edits:
        for q in edit.queries:
            row = str(len(table["subj"]))
            property_name = taxonomy.graph.properties[q.relation] or MEMBERSHIP
            cells = (
                names[edit.subject], names[edit.new], names[edit.old], property_name, q.changed,
                [names[o] for o in q.options], [names[s] for s in q.subjects], names[q.label], names[q.old],
                "<subj>",
            )  # fmt: skip
            for name, cell in zip(COLUMNS, cells, strict=True):
                table[name][row] = cell
    path = folder / QUERIES
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(table), encoding="utf-8")
    return path


def test_edits_come_back_from_a_file_by_name(taxonomy, tmp_path):
    edits = list(build_edits(taxonomy, generator(0, "options")))
    written(tmp_path, taxonomy, edits)
    assert read_edits(taxonomy, tmp_path) == edits


@pytest.mark.parametrize(
    ("column", "cell", "says"),
    [
        ("subj", "nobody", "nothing is called 'nobody'"),
        ("answer_fwd", "nothing", "nothing is called 'nothing'"),
        ("answer_rev", "somebody", "the right answer is none of the options"),
        ("fwd_choices", [], "the right answer is none of the options"),
        ("orig_entity", None, "nothing is called None"),
    ],
)
def test_a_wrong_cell_is_named_with_file_and_row(taxonomy, tmp_path, column, cell, says):
    path = written(tmp_path, taxonomy, list(build_edits(taxonomy, generator(0, "options")))[:3])
    table = json.loads(path.read_text(encoding="utf-8"))
    table[column]["2"] = cell
    path.write_text(json.dumps(table), encoding="utf-8")
    with pytest.raises(InputError, match=says) as error:
        read_edits(taxonomy, tmp_path)
    assert f"{path}, row 2" in str(error.value)


def test_a_missing_file_and_a_missing_column_are_said(taxonomy, tmp_path):
    with pytest.raises(InputError, match="is missing"):
        read_edits(taxonomy, tmp_path)
    path = written(tmp_path, taxonomy, [])
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="is not JSON"):
        read_edits(taxonomy, tmp_path)
    path.write_text('{"subj": {}}', encoding="utf-8")
    with pytest.raises(InputError, match="lacks the column 'entity'"):
        read_edits(taxonomy, tmp_path)


def test_a_folder_that_is_gone_is_said_and_one_without_questions_is_asked_anyway(place, tmp_path):
    world, agent = place
    with pytest.raises(InputError, match="is gone; put it back"):
        list(Taxi().make_cases(world._replace(path=tmp_path / "nowhere"), agent, 3, 0.95, 0))
    drawn = Taxi().make_cases(world._replace(path=tmp_path), agent, 3, 0.95, 0)
    assert [case.requested_fact for case in drawn] == [
        case.requested_fact for case in Taxi().make_cases(world, agent, 3, 0.95, 0)
    ]


@real
def test_taxis_tables_hold_what_the_paper_counts():
    """Tables 1 and 3; 28 questions of a property that is split had two right answers, one is left."""
    graph = build_world(WorldConfig(source="taxonomy", path=str(DATA)), 0, all_candidates=True)
    taxonomy = Taxonomy(graph)
    edits = read_edits(taxonomy, DATA)
    queries = [q for edit in edits for q in edit.queries]
    property_queries = [q for q in queries if q.relation != taxonomy.root]
    categories = (len(taxonomy.category_by_member), len(taxonomy.members_by_category))
    assert (len(edits), len(queries), len(property_queries), *categories) == (
        976, 5560, 4584, 164, 41,
    )  # fmt: skip
    assert sum(q.changed for q in property_queries) == 3832
    assert sum(edit.queries[0].relation == taxonomy.root for edit in edits) == 976
    of = {name: sum(taxonomy.superordinate_of(e.subject) == name for e in edits) for name in graph.groups}
    assert of == {"animal": 224, "drink": 120, "food": 168, "instrument": 120, "plant": 224, "vehicle": 120}
    assert all(
        q.options.count(q.label) == 1 and q.subjects.count(e.subject) == 1 for e in edits for q in e.queries
    )
    assert np.mean([1 / len(q.options) for q in property_queries]) == pytest.approx(0.267, abs=5e-4)
    assert np.mean([1 / len(q.subjects) for q in property_queries]) == pytest.approx(0.102, abs=5e-4)
    split = [(e, q) for e in edits for q in e.queries[1:]
             if (taxonomy.value_of(e.old, q.relation) != q.label) != q.changed]  # fmt: skip
    assert len(split) == 28
    assert {graph.properties[q.relation] for _, q in split} == {"has"}


@real
def test_people_are_as_right_as_the_authors_say():
    """By the columns of their file; but these are of another question, which the marked answers are not."""
    graph = build_world(WorldConfig(source="taxonomy", path=str(DATA)), 0, all_candidates=True)
    world = World(graph, None, None, None, path=DATA)
    answered = read_answers(DATA)
    by_columns = people_shares(answered, [a.columns_differ for a in answered])
    assert by_columns == pytest.approx((0.869, 0.911, 0.865, 0.858, 0.871), abs=6e-4)
    changed = find_changes(answered, world)
    assert (len(answered), sum(changed)) == (1066, 922)
    assert people_shares(answered, changed) == pytest.approx((0.869, 0.979, 0.851, 0.849, 0.853), abs=6e-4)


def test_a_folder_without_people_has_no_row_of_them(tmp_path):
    assert read_answers(tmp_path) == []


def test_a_bad_file_of_people_is_named_with_its_line(tmp_path):
    path = tmp_path / RESPONSES
    path.parent.mkdir()
    path.write_text("edit\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 1: the header has no column 'property'"):
        read_answers(tmp_path)
    header = [*PEOPLE_COLUMNS, "choice_A"]
    cells = dict.fromkeys(header, "TRUE") | {"edit": "Siamese", "corr_choice": "A"}
    path.write_text(f"{','.join(header)}\n{','.join(cells.values())}\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2: an edit is"):
        read_answers(tmp_path)
