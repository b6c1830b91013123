"""The explorer's files: what a page reads is what the results say, whatever names there are."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed import report
from testbed.advice import ask_options
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.evaluations.hase import CHILD, REQUEST
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, SKILL_MOVED, SUCCESS
from testbed.pages.explorer.packing import NOTHING, TYPES, count_parts, pack_arrays
from testbed.pages.explorer.view import NO, NONE, YES, usual_view, view_of
from testbed.pages.explorer.write import ExploredEvaluation, group_editors, number_cases, write_explorer
from testbed.protocol import ABSENT
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.scores.gather import case_keys, gather_results
from testbed.scores.summary import score_editors
from tests.edited import cases_of, rows_of, write_edits, write_training
from tests.explored import PARTS, decode, names_in, unpack
from tests.runs import at, copied

CASES = 120
HOSTILE = (
    "<script>document.title='ran'</script>",
    "</script><img src=x onerror=\"document.title='ran'\">",
    'O\'Brien "& Co"',
    "\u05d3\u05d5\u05d3 \u202e abc",
    "\u0645\u062d\u0645\u062f",
    "a\\b\u2028c",
    "$(rm -rf)",
    "{{ 7 * 7 }}",
    "\U0001f600",
    "`x`",
)


@pytest.fixture(scope="module")
def run(built, tmp_path_factory):
    """A run with two editors of the same cases and a third of fewer."""
    run = Run(copied(built, tmp_path_factory.mktemp("explored")), "x")
    cases = cases_of(run, CASES)
    write_training(run)
    write_edits(run, "lora-down", rows_of(run, cases, 0.2, 0))
    write_edits(run, "rome", rows_of(run, cases, 0.8, 0))
    write_edits(run, "memit", rows_of(run, cases[:30], 0.5, 1))
    return run


@pytest.fixture(scope="module")
def editors(run):
    return score_editors(gather_results([run], recorded_evaluation_named("hase")))


def explored(editors, view=view_of):
    return ExploredEvaluation("hase", "Hase", editors, [view(e) for e in editors], {})


@pytest.fixture(scope="module")
def folder(run, editors, tmp_path_factory):
    return write_explorer([explored(editors)], [load_world(run)], "x", tmp_path_factory.mktemp("page")).parent


def rows_in(folder, editors):
    """Of each editor its rows, by set and place, with all columns as they are written."""
    header, arrays = decode(folder / "hase.js")
    names, start, rows = names_in(folder), 0, {}
    for number, one in enumerate(header["sets"]):
        for editor in one["editors"]:
            here = slice(start, start + one["cases"])
            start += one["cases"]
            columns = {k: [names[i] for i in arrays[k][here]] for k in ("subject", "relation", "new", "old")}
            columns["case"] = arrays["case"][here].tolist()
            for i, column in enumerate(header["columns"]):
                values = arrays[f"column-{i}"][here].tolist()
                columns[column["key"]] = [column["words"][v] for v in values] if "words" in column else values
            rows[header["editors"][editor]] = (number, one["editors"].index(editor), columns)
    assert start == len(arrays["case"])
    assert rows.keys() == {e.name for e in editors}
    return header, rows


headers = st.dictionaries(st.text(max_size=5), st.text() | st.lists(st.integers()), max_size=4)
arrays = st.dictionaries(
    st.text(), st.tuples(st.sampled_from(TYPES), st.lists(st.integers(0, 255), max_size=20)), max_size=5
).map(lambda d: {name: np.array(values, kind) for name, (kind, values) in d.items()})


@given(headers, arrays)
def test_what_is_packed_is_unpacked(header, packed):
    read, found = unpack(pack_arrays(header, packed))
    assert read == header
    assert found.keys() == packed.keys()
    for name, array in packed.items():
        assert found[name].dtype.name == array.dtype.name
        assert found[name].tolist() == array.tolist()


@given(st.lists(st.floats(-1e5, 1e5) | st.just(float("nan"))))
def test_numbers_are_kept_to_half_a_part(values):
    parts = count_parts(np.array(values, float))
    for value, part in zip(values, parts.tolist(), strict=True):
        assert part == NOTHING if np.isnan(value) else abs(part / PARTS - value) <= 0.5001 / PARTS


def test_numbers_too_large_are_the_largest_and_none_is_nothing():
    assert count_parts(np.array([1e9, -1e9, np.inf])).tolist() == [2**31 - 1, -(2**31) + 1, 2**31 - 1]


def test_what_is_no_type_is_refused():
    with pytest.raises(TypeError, match="use uint8"):
        pack_arrays({}, {"x": np.zeros(2)})


def test_rows_are_the_results(run, editors, folder):
    entities, relations = load_world(run).graph.entities, load_world(run).graph.relations
    _, rows = rows_in(folder, editors)
    for editor in editors:
        columns, cases = rows[editor.name][2], editor.edits.results.cases
        assert columns["subject"] == [entities[i] for i in cases["subject"]]
        assert columns["relation"] == [relations[i] for i in cases["relation"]]
        assert columns["new"] == [entities[i] for i in cases["object"]]
        assert columns["old"] == [entities[i] for i in cases["truth"]]
        for key, metric in (("damage", DAMAGE), ("skill-moved", SKILL_MOVED)):
            wanted = editor.values[editor.name][metric].by_case
            found = np.array([np.nan if v == NOTHING else v / PARTS for v in columns[key]])
            np.testing.assert_allclose(found, wanted, atol=0.51 / PARTS)
        for key, metric in (("follows", FOLLOWS), ("states", SUCCESS)):
            says = {1.0: YES, 0.0: NO}
            assert columns[key] == [says.get(v, NONE) for v in editor.values[editor.name][metric].by_case]
        assert [v / PARTS for v in columns["support"]] == cases["support_new"].tolist()


def test_averages_of_the_report_are_counts_of_rows(editors, folder):
    _, rows = rows_in(folder, editors)
    for editor in editors:
        follows = rows[editor.name][2]["follows"]
        estimate = editor.frame.cell(FOLLOWS, editor.name)
        assert follows.count(YES) + follows.count(NO) == estimate.cases
        assert follows.count(YES) == pytest.approx(estimate.value * estimate.cases)


def test_editors_of_the_same_cases_share_what_was_asked(editors, folder):
    header, rows = rows_in(folder, editors)
    assert [len(one.editors) for one in group_editors(editors)] == [len(s["editors"]) for s in header["sets"]]
    assert sorted(len(s["editors"]) for s in header["sets"]) == [1, 2]
    keys = {}
    for editor in editors:
        for number, key in zip(rows[editor.name][2]["case"], case_keys(editor.edits.results), strict=True):
            assert keys.setdefault(number, key) == key
    assert len(keys) == len(set(np.concatenate(number_cases(editors)).tolist()))


def test_an_opened_case_has_every_question_and_every_answer(run, editors, folder):
    header, rows = rows_in(folder, editors)
    names, entities = names_in(folder), load_world(run).graph.entities
    for editor in editors:
        number, nth, _ = rows[editor.name]
        c, claims = editor.edits.results.choices, editor.edits.results.claims
        for case in range(0, len(editor.edits.results), 17):
            file, place = divmod(case, header["casesInAFile"])
            _, a = decode(folder / f"hase-{number}-{file}.js")
            questions, options = len(a["role"]), len(a["option"])
            first = int(a["questions"][:place].sum())
            mine = np.flatnonzero(c.case == case)
            assert a["questions"][place] == len(mine)
            for q, row in zip(range(first, first + len(mine)), mine, strict=True):
                here = int(a["options"][:q].sum()) + np.arange(a["options"][q])
                assert names[a["subject"][q]] == entities[c.subject[row]]
                assert a["stated"][q] == c.stated[row]
                model = a["model"].reshape(-1, options)[nth, here] / PARTS
                agent = a["agent"].reshape(len(c.agent[row]), options)[:, here] / PARTS
                shown = {names[o]: k for k, o in enumerate(a["option"][here])}
                for k, option in enumerate(c.options[row]):
                    if option == ABSENT:
                        continue
                    at = shown.get(entities[option])
                    if at is None:
                        assert max(c.lm[row, 1, k], *c.agent[row, :, k]) < 0.01
                    else:
                        assert model[at] == pytest.approx(c.lm[row, 1, k], abs=1e-4)
                        assert agent[:, at] == pytest.approx(c.agent[row, :, k], abs=1e-4)
                said = names[a["answer"].reshape(-1, questions)[nth, q]]
                assert said == ("" if c.lm_answer[row, 1] == ABSENT else entities[c.lm_answer[row, 1]])
            first = int(a["claims"][:place].sum())
            mine = np.flatnonzero(claims.case == case)
            found = a["claim"].reshape(-1, len(a["claim_role"]), 2)[nth, first : first + len(mine)] / PARTS
            np.testing.assert_allclose(found, claims.lm[mine, 1], atol=1e-4)


def test_any_evaluation_has_columns_and_presets(run, editors, tmp_path):
    page = write_explorer([explored(editors, usual_view)], [load_world(run)], "x", tmp_path)
    header, _ = rows_in(page.parent, editors)
    keys = [column["key"] for column in header["columns"]]
    assert {*editors[0].evaluation.facets, *editors[0].compared_metrics()} == {*keys}
    for preset in header["presets"]:
        assert preset["sort"].removeprefix("-") in ["", *keys]
        assert preset["spread"] in ["", *keys]


def test_presets_name_columns_and_groups_that_there_are(editors):
    view = view_of(editors[0])
    columns = {column.key: column for column in view.columns}
    for preset in view.presets:
        for key, groups in preset.filters.items():
            edges = {str(edge) for edge in columns[key].edges}
            assert {*groups} <= edges | {YES, NO, NONE}
        for key in filter(None, (preset.sort.removeprefix("-"), preset.spread)):
            assert key in columns
    assert {REQUEST, CHILD} <= view.roles.keys()


@pytest.mark.parametrize("copies", [1, 1000])
def test_hostile_names_are_data_and_nothing_else(run, editors, tmp_path, copies):
    graph = load_world(run).graph
    entities = [f"{HOSTILE[i % len(HOSTILE)]} {i}" for i in range(max(len(graph.entities), 10 * copies))]
    relations = [HOSTILE[i % len(HOSTILE)] for i in range(len(graph.relations))]
    world = SimpleNamespace(graph=SimpleNamespace(entities=entities, relations=relations))
    page = write_explorer([explored(editors)._replace(title=HOSTILE[1])], [world], HOSTILE[0], tmp_path)
    _, rows = rows_in(page.parent, editors)
    assert rows["rome"][2]["subject"] == [entities[i] for i in editors[0].edits.results.cases["subject"]]
    html = page.read_text(encoding="utf-8")
    assert html.count("<script") == html.count("</script>") == 2
    assert "<img" not in html


def test_the_command_asks_for_the_same_edit(run, editors):
    settings = {"agent": {"name": "exact"}, "evaluation": {"request": "do"}, "cases": {"credence": 0.9},
                "method": {"settings": {"config": {"steps": 7}}}}  # fmt: skip
    words = ask_options(run, "rome", settings)
    for option in ("--editor rome", "--agent exact", "--request do", "--credence 0.9", "--rome.steps 7"):
        assert option in words
    assert "--agent" not in ask_options(run, "rome", editors[0].edits.settings)


@pytest.mark.slow
def test_it_can_be_left_out(run, blank_pictures):
    assert report.main(at(run.folder.parent)) == 0
    assert (run.report / "explorer" / "index.html").exists()
    assert report.main([*at(run.folder.parent), "--no-explorer"]) == 0
    assert not (run.report / "explorer").exists()
