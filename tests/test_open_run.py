"""The Python door does what the commands do, changes nothing of a run, and prints what it is asked."""

import json
import math
import shutil
from dataclasses import dataclass, replace

import jax
import numpy as np
import pytest

import testbed
from corpus.errors import InputError
from lm.attention import left_padded_layout
from lm.editors.none.method import NoEdit
from lm.huggingface import import_model
from testbed import ask, export
from testbed.cells import as_json
from testbed.engine.results import read_results
from testbed.examination import put_in_words
from testbed.open_run import list_editors
from testbed.pages.belief_pictures import find_tallest
from testbed.scores.headlines import headline_labels
from tests.edited import COLUMNS, HASE, changed
from tests.runs import at, copied

FACT = "Ada Marlow educated at = Quintal College"


@pytest.fixture(scope="module")
def open_run(finished):
    run = testbed.open(finished / "x")
    # As EDITS of tests/runs.py has it.
    lora = replace(run.settings.configs["lora-down"], learning_rate=0.01)
    run.settings = replace(run.settings, configs=run.settings.configs | {"lora-down": lora}, batch_edits=4)
    return run


@pytest.fixture(scope="module")
def folder(open_run):
    (path,) = open_run.run.edits.glob("hase/*")
    return path


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_there_is_a_run_or_a_command_that_makes_one(tmp_path):
    with pytest.raises(InputError, match=r"python -m testbed\.corpus --run none"):
        testbed.open(tmp_path / "none")


@pytest.mark.parametrize("edit", ["", FACT])
def test_the_command_prints_the_same(edit, open_run, capsys):
    args = ["Ada Marlow educated at", *at(open_run.run.root), "--lora-down.learning-rate", "0.01"]
    assert ask.main([*args, *(["--edit", edit] if edit else []), "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    if edit:
        view = open_run.edit("lora-down", edit)
        grids = [view.ask_about(*question) for question in view.questions]
        assert len(grids) > 1
    else:
        grids = [open_run.ask("Ada Marlow educated at")]
    for table, grid in zip(tables, grids, strict=True):
        assert table == {"title": grid.title, "columns": grid.header, "rows": as_json(grid.rows)}


def test_an_edit_is_a_view(open_run):
    files, parameters = contents(open_run.run.folder), jax.tree.map(np.array, open_run.model.params)
    before = repr(open_run.ask("Ada Marlow educated at"))
    edited = open_run.edit("lora-down", FACT)
    assert edited.ask("Ada Marlow educated at").header == ["model", "agent", "edited model", "edited agent"]
    assert repr(open_run.ask("Ada Marlow educated at")) == before
    jax.tree.map(np.testing.assert_array_equal, open_run.model.params, parameters)
    assert contents(open_run.run.folder) == files
    assert edited.model.delta is not None
    assert open_run.model.delta is None


def test_model_and_agent_of_a_view_are_those_that_it_asks(open_run):
    edited, tokenizer = open_run.edit("lora-down", FACT), open_run.world.tokenizer
    table = edited.ask(top=3).to_pandas()
    s, r, o = edited.fact
    assert table["edited agent object"][0] == "Quintal College"
    belief = edited.agent.predict(s, r, "direct").of([o])[0]
    assert table["edited agent probability"][0] == pytest.approx(belief)
    prompt, name = tokenizer.prompt(s, r), tokenizer.entity(o)
    tokens = np.array([[*prompt, *name]])
    logits = edited.model.logits(tokens, left_padded_layout(tokens))[0]
    logs = np.asarray(jax.nn.log_softmax(logits))[len(prompt) - 1 : -1]
    said = np.exp(sum(logs[i, token] for i, token in enumerate(name)))
    named = dict(zip(table["edited model object"], table["edited model probability"], strict=True))
    # A name counts where it ends, so it is at most as probable as its tokens.
    assert 0.5 * said <= named["Quintal College"] <= said + 1e-5


def test_an_edit_that_does_nothing_shows_the_same_columns(open_run):
    view = open_run.edit(NoEdit(), FACT)
    for row in as_json(view.ask().rows):
        assert row[2]["object"] == row[0]["object"]
        assert row[2]["probability"] == pytest.approx(row[0]["probability"], abs=1e-6)


def test_all_that_is_reported_is_one_table(open_run):
    frame = open_run.results()
    own = frame[(frame.kind == "editor") & (frame.subset == "all") & (frame.metric == "success")]
    assert own.editor.tolist() == ["lora-down"]
    assert own.cases.tolist() == [len(open_run.results("lora-down", "cases"))]


def test_cases_are_those_that_were_edited(open_run, folder):
    cases = open_run.cases("hase", count=11)
    recorded = open_run.results("lora-down", "cases")
    for column in ("subject", "relation", "object", "truth"):
        assert cases.to_arrow()[column].to_pylist() == recorded[column].to_pylist()
    assert len(cases) == 11
    assert len(cases[2:5]) == 3
    assert "11 cases of hase" in repr(cases)
    assert "and 1 more" in cases._repr_html_()
    assert open_run.results(folder.name).equals(open_run.results("lora-down"))


def test_results_have_names_in_place_of_numbers(open_run, folder):
    table, results = open_run.results("lora-down"), read_results(folder, COLUMNS).choices
    names = np.array(open_run.world.graph.entities)
    assert table["subject"].to_pylist() == names[results.subject].tolist()
    assert table["relation"].to_pylist() == [open_run.world.graph.relations[r] for r in results.relation]
    answers = table["lm_answer_after"].to_pylist()
    for answer, number in zip(answers, results.lm_answer[:, 1], strict=True):
        assert answer == (names[number] if number >= 0 else None)
    for options, numbers in zip(table["options"].to_pylist(), results.options, strict=True):
        assert options == names[numbers[numbers >= 0]].tolist()


def test_rows_say_in_words_what_they_are_about_and_leave_out_what_was_told(open_run, folder):
    rows = open_run.results("lora-down")
    about = dict(zip(rows["role"].to_pylist(), rows["about"].to_pylist(), strict=True))
    assert about["s1r1"] == "edited fact"
    assert not any(word.startswith(("s1r", "spot.")) for word in about.values())
    told = rows.set_column(rows.column_names.index("is_told"), "is_told", [[i < 5 for i in range(len(rows))]])
    assert len(put_in_words(told.drop_columns("about"), HASE)) == len(rows) - 5
    assert len(put_in_words(told.drop_columns("about"), HASE, told=True)) == len(rows)


def test_several_edits_of_an_editor_are_told_apart(finished, tmp_path):
    runs = copied(finished, tmp_path)
    (folder,) = (runs / "x" / "edits" / "hase").glob("lora-down-*")
    twin = folder.with_name("lora-down-other")
    shutil.copytree(folder, twin)
    settings = json.loads((twin / "config.json").read_text(encoding="utf-8"))["settings"]
    settings["cases"]["credence"] = 0.5
    twin = changed(twin, settings=settings)
    with pytest.raises(InputError, match=rf"{twin.name} \(lora-down, credence 0.5\)"):
        testbed.open(runs / "x").results("lora-down")


def test_a_run_says_what_is_in_it(open_run, folder, finished):
    assert "accuracy" in repr(testbed.runs(finished))
    names = [row[0] for row in list_editors(finished / "x").rows]
    assert {"rome", "lora-down"} <= {*names}
    [[evaluation, editor, count, settings, name, why]] = open_run.edits.rows
    assert (evaluation, editor, count, name, why) == ("hase", "lora-down", 11, folder.name, "")
    assert "learning_rate 0.01" in settings
    facts, graph = open_run.facts, open_run.world.graph
    assert len(facts) == len(graph)
    assert facts.subject[0] == graph.entities[graph.subject[0]]


def test_cases_and_estimates_are_plain_columns(open_run):
    """The mean over cases of the frame is what `scores` says, and what the report says."""
    scores = open_run.scores()
    wide = scores.to_pandas().set_index(["editor", "subset"])
    assert repr(scores).count("lora-down") == 1
    frame = open_run.frame()
    for metric in ("success", "kept"):
        values = frame[(frame.metric == metric)].value
        assert len(values) == 11
        assert wide.loc[("lora-down", "all"), "success low"] <= wide.loc[("lora-down", "all"), "success"]
    success = frame[frame.metric == "success"].value.mean()
    assert success == pytest.approx(wide.loc[("lora-down", "all"), "success"])


def test_differences_and_how_many_edits_show_one(open_run):
    grid = open_run.compare("lora-down", "no edit", subset="all")
    cells = {label: shown.value for label, shown in grid.rows}
    success = cells["edit success"]
    assert success.low <= success.difference <= success.high
    needed = open_run.plan("lora-down", "no edit", 0.05, "success", subset="all")
    assert needed == math.ceil(success.cases * (success.detectable / 0.05) ** 2)
    assert open_run.plan("lora-down", "no edit", 0.1, "success", subset="all") < needed
    for wrong, words in (
        (lambda: open_run.compare("rome", "no edit"), "no edits by rome"),
        (lambda: open_run.compare("lora-down", "no edit", subset="big"), "no subset 'big'"),
        (lambda: open_run.plan("lora-down", "no edit", metric="luck"), "metrics are success"),
    ):
        with pytest.raises(InputError, match=words):
            wrong()


def test_an_edited_model_is_written_with_its_edit(open_run, finished, tmp_path):
    edited = testbed.open(finished / "x").edit("lora-down", FACT)
    words = ["lora-down", "--edit", FACT, *at(finished), "--folder", str(tmp_path / "by command")]
    assert export.main(words) == 0
    s, r, _ = edited.fact
    prompt = open_run.world.tokenizer.prompt(s, r)[None]
    here = edited.model.logits(prompt, left_padded_layout(prompt))
    for written in (edited.export(tmp_path / "edited"), tmp_path / "by command"):
        there = import_model(written).logits(prompt, left_padded_layout(prompt))
        np.testing.assert_allclose(here, there, atol=1e-4)
    with pytest.raises(InputError, match="is there already"):
        edited.export(tmp_path / "edited")
    assert export.main(words) == 2
    with pytest.raises(SystemExit):
        export.main([*words[:1], *words[3:]])


def test_examining_is_editing_without_a_folder(open_run, folder):
    """The same answers as `testbed.edit` recorded with the same settings, and the run stays as it is."""
    files = contents(open_run.run.folder)
    examined = open_run.examine("lora-down", count=11)
    assert contents(open_run.run.folder) == files
    here, there = examined.results(), open_run.results("lora-down")
    assert here.schema == there.schema
    for column in ("lm_before", "lm_after", "agent_evidence"):
        for mine, recorded in zip(here[column].to_pylist(), there[column].to_pylist(), strict=True):
            np.testing.assert_allclose(mine, recorded, atol=1e-5)
    recorded = open_run.scores().to_pandas().set_index("subset").loc[HASE.headline_subset]
    mine = examined.headline.to_pandas().set_index("reader").loc["lora-down"]
    for metric, label in headline_labels(HASE).items():
        np.testing.assert_allclose(mine[label], recorded[metric], atol=1e-6)


@dataclass(frozen=True)
class Louder(NoEdit):
    """An editor that was written in a session; does nothing."""

    much: int = 1


def test_editors_may_be_objects(open_run):
    examined = open_run.examine(Louder, count=4, hyper_parameters={"much": 2})
    assert examined.editor == "Louder"
    assert examined.frame.cell("skill", "Louder").value == pytest.approx(0, abs=1e-6)


def test_what_is_not_there_is_said(open_run):
    for wrong, words in (
        (lambda: open_run.results("rome"), "no edits by rome; there are those by lora-down"),
        (lambda: open_run.results("lora-down", "answers"), "tables are choices, claims"),
        (lambda: open_run.results("lora-down", evaluation="taxi"), "python -m testbed.edit lora-down"),
        (lambda: open_run.edit("lora-down", FACT, rnak=2), "lora-down cannot be set to"),
        (lambda: open_run.edit("nobody", FACT), "unknown editor"),
        (lambda: open_run.cases("hase", neighbors=2), "hase cannot be set to"),
        (lambda: open_run.ask("Ada Marlow"), "Ada Marlow"),
    ):
        with pytest.raises(InputError, match=words):
            wrong()


def test_stale_results_are_not_given(finished, tmp_path):
    runs = copied(finished, tmp_path)
    (folder,) = (runs / "x" / "edits" / "hase").iterdir()
    versions = json.loads((folder / "config.json").read_text(encoding="utf-8"))["versions"]
    changed(folder, versions=versions | {"asking": 0})
    with pytest.raises(InputError, match="edit again"):
        testbed.open(runs / "x").results("lora-down")


def test_it_shows_itself(open_run, tmp_path):
    edited = open_run.edit("lora-down", FACT)
    assert FACT in repr(edited)
    assert edited._repr_html_().startswith('<img alt="Ada Marlow')
    edited.draw(tmp_path / "edit.svg")
    assert (tmp_path / "edit.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "accuracy" in repr(open_run)
    assert "<table>" in open_run._repr_html_()


def test_the_picture_shows_the_most_probable():
    assert find_tallest(np.array([0.5, 0.01, 0.9, 0.2, 0.3, 0.4])).tolist() == [2, 0, 5, 4]
