"""Reports over editors and runs: what is pooled, who is compared on what, and pages nobody can break."""

import csv
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from types import SimpleNamespace
from urllib.parse import parse_qs

import numpy as np
import pyarrow.parquet as pq
import pytest

from corpus.errors import InputError
from testbed import corpus, edit, report, train, verify
from testbed.commands.report import frame_of_sequences
from testbed.engine.results import cluster_levels, read_results
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.evaluations.hase.metrics import FOLLOWS, GAINED, RATIO
from testbed.evaluations.hase.pictures import panel_case
from testbed.evaluations.hase.support import control_table
from testbed.evaluations.taxi import metrics as taxi
from testbed.pages.edit_pictures import choose_cases
from testbed.pages.sections import describe_reach, find_few
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.scores.comparison import compare_editors, describe_incomparable, reference_named
from testbed.scores.gather import FITTED_HALF, case_keys, gather_results, match_cases, pool_results
from testbed.scores.headlines import headline_labels, headline_subset
from testbed.scores.metric import ARROWS, Metric, metrics_shown_in
from testbed.scores.statistics import Estimate, adjust_holm
from testbed.scores.summary import AT_ONCE, KEPT, frame_of, score_editors, subset_of_first, summarise_results
from tests.edited import (
    COLUMNS,
    HASE,
    cases_of,
    changed,
    first_edits,
    rows_of,
    seal_results,
    write_edits,
    write_training,
)
from tests.explored import PARTS, decode
from tests.runs import EDITS as OPTIONS
from tests.runs import RECIPE, WORLD, at, complaint, copied

CASES, SEQUENCE = 40, 5
FLOORS = ["no edit", "frequency reader", "Bayesian reader", "perfect revision", "constant one half"]
EDITS = recorded_evaluation_named("hase")
NASTY = 'my_module:<b>&"_%$'
COST = {"steps": 40, "forward": 400.0, "backward": 400.0, "flops": 2e8, "seconds": 0.2, "peak_bytes": 2**20,
        "prepare_seconds": 8.0}  # fmt: skip


@pytest.fixture(scope="module")
def runs(built, tmp_path_factory):
    """Two runs of one world: three editors, of which one has a sequence, one no cost, one a bad name."""
    folder = copied(built, tmp_path_factory.mktemp("edited"))
    shutil.copytree(folder / "x", folder / "y")
    for seed, name in enumerate(("x", "y")):
        run = Run(folder, name)
        write_training(run)
        cases = cases_of(run, CASES, seed)
        write_edits(run, "lora-down", rows_of(run, cases, 0.2, seed), seed, COST)
        sequence, faded = (rows_of(run, cases, follows, seed, sequence=SEQUENCE) for follows in (0.9, 0.1))
        later = {k: first_edits(faded, k) for k in (1, 3, SEQUENCE)}
        write_edits(run, "rome", sequence, seed, COST | {"flops": 1e7}, later)
        write_edits(run, NASTY, rows_of(run, cases[: CASES // 2], 0.5, seed), seed)
    return folder


@pytest.fixture(scope="module")
def editors(runs):
    return {e.name: e for e in score_editors(gather_results([Run(runs, "x"), Run(runs, "y")], EDITS))}


@pytest.fixture(scope="module")
def page(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reported") / "runs"
    shutil.copytree(runs, folder)
    assert report.main([*at(folder), "--and-runs", "y", "--against", "lora-down"]) == 0
    return folder / "x" / "report"


def edits_of(run, pattern="*"):
    """Folders of edits."""
    return sorted((run / "edits" / "hase").glob(pattern))


def named(editors, start):
    return next(e for name, e in editors.items() if name.startswith(start))


def test_who_was_told_of_some_questions_is_scored_on_the_others(built, tmp_path):
    run = Run(copied(built, tmp_path), "x")
    rows = rows_of(run, cases_of(run, CASES), 0.2)
    for row in rows["choices"]:
        row["is_told"] = row["role"] in ("s1rx", "old.r1", "new.r2")
    write_edits(run, "oracle", rows)
    write_edits(run, "lora-down", rows_of(run, cases_of(run, CASES), 0.2))
    gathered = {edits.name: edits for edits in gather_results([run], EDITS)}
    oracle, usual = gathered["oracle"], gathered["lora-down"]
    assert not oracle.results.choices.is_told.any()
    told = oracle.controls[FITTED_HALF].choices
    assert set(told.role) == {"s1r1", "s1rx", "old.r1", "new.r2"}
    assert len(told.case) + len(oracle.results.choices.case) == len(usual.results.choices.case) + CASES
    assert usual.controls == {}
    (scored,) = score_editors([oracle])
    own, told = (
        scored.frame.metrics_of("oracle"),
        scored.frame.metrics_of("oracle", "oracle, told these questions"),
    )
    assert told["right.independent_fact"].cases
    assert not own["right.independent_fact"].cases
    assert not told["damage"].cases, "spot checks are told nobody"
    assert own["success"].cases == CASES


def test_runs_and_seeds_of_the_same_settings_are_one_editor(runs, editors):
    assert len(editors) == 3
    for editor in editors.values():
        cases = editor.edits.results.cases
        size = len(editor.edits.results)
        assert cases["run"].tolist() == [0] * (size // 2) + [1] * (size // 2)
        clusters = [set(cases["cluster"][cases["run"] == r]) for r in (0, 1)]
        assert not clusters[0] & clusters[1]
    alone = gather_results([Run(runs, "x")], EDITS)
    assert {len(e.results) for e in alone} == {CASES, CASES // 2}


def test_edits_of_another_model_than_the_runs_never_count(finished, tmp_path, capsys):
    """Two models were trained in one place, one after the other; times of files say nothing."""
    runs = copied(finished, tmp_path)
    [old] = edits_of(runs / "x")
    shutil.move(runs / "x" / "lm", tmp_path / "away")
    assert train.main([*at(runs), *RECIPE, "--seed", "1"]) == 0
    assert report.main(at(runs)) == 2
    assert "no current edits yet" in complaint(capsys)
    assert edit.main([*at(runs), *OPTIONS]) == 0
    [new] = set(edits_of(runs / "x")) - {old}
    for later in (old, new):
        for path in (old, new):
            os.utime(path / "config.json", (1e9 + (path == later), 1e9))
        said = []
        (one,) = gather_results([Run(runs, "x")], EDITS, report_left_out=said.append)
        np.testing.assert_array_equal(one.results.choices.lm, read_results(new, COLUMNS).choices.lm)
        assert one.sweeps == 1
        assert [line.startswith(f"{old} was made from another run") for line in said] == [True]
        assert "the checkpoint it was made from is not there" in said[0]


def test_edits_of_two_models_and_no_training_that_says_which(runs, tmp_path):
    shutil.copytree(runs / "x", tmp_path / "x")
    (rome,) = edits_of(tmp_path / "x", "rome*")
    inputs = json.loads((rome / "config.json").read_text(encoding="utf-8"))["inputs"]
    rome = changed(rome, inputs=inputs | {"checkpoint": "another"})
    with pytest.raises(InputError, match="edits of two models"):
        gather_results([Run(tmp_path, "x")], EDITS)
    changed(rome, inputs=inputs | {"world": "another"})
    said = []
    gather_results([Run(tmp_path, "x")], EDITS, report_left_out=said.append)
    assert "the world it was made from is not there" in said[0]


def test_a_copy_of_edits_counts_once(runs, tmp_path):
    shutil.copytree(runs / "x", tmp_path / "x")
    before = gather_results([Run(tmp_path, "x")], EDITS)
    for folder in edits_of(tmp_path / "x"):
        shutil.copytree(folder, folder.with_name(f"{folder.name}0"))
    said = []
    after = gather_results([Run(tmp_path, "x")], EDITS, report_left_out=said.append)
    assert [(e.name, e.sweeps, len(e.results)) for e in after] == [
        (e.name, e.sweeps, len(e.results)) for e in before
    ]
    assert len(said) == len(before)
    assert all("0 has the edits of" in line for line in said)


def test_files_and_folders_of_other_edits_are_not_read(runs, tmp_path, capsys):
    """Tables of a sequence that no checksum names, and edits in another editor's folder."""
    shutil.copytree(runs / "x", tmp_path / "x")
    before = gather_results([Run(tmp_path, "x")], EDITS)
    (rome,), (lora,) = edits_of(tmp_path / "x", "rome*"), edits_of(tmp_path / "x", "lora-down*")
    for path in rome.glob("retained-3-*"):
        shutil.copy(path, lora / path.name)
        shutil.copy(path, rome / path.name.replace("3", "7"))
    (lora / "notes.json").write_text('{"notes": ["by somebody else"]}', encoding="utf-8")
    after = gather_results([Run(tmp_path, "x")], EDITS)
    assert [(e.name, e.later_results.keys(), e.notes) for e in after] == [
        (e.name, e.later_results.keys(), e.notes) for e in before
    ]
    shutil.rmtree(rome)
    lora.rename(rome)
    said = []
    left = gather_results([Run(tmp_path, "x")], EDITS, report_left_out=said.append)
    assert len(left) == len(before) - 2
    assert said == [f"{rome} has the edits of {lora.name}, by its config.json, and is left out: "
                    "give it that name back"]  # fmt: skip
    assert verify.main(at(tmp_path)) == 2
    assert "has the edits of" in capsys.readouterr().out.replace("\n", " ")


def test_editors_of_two_checkpoints_of_one_run_say_which(runs, tmp_path):
    """One table showed both before, and compared them, untold."""
    shutil.copytree(runs / "x", tmp_path / "x")
    assert not any(e.notes for e in gather_results([Run(tmp_path, "x")], EDITS))
    (rome,) = edits_of(tmp_path / "x", "rome*")
    config = json.loads((rome / "config.json").read_text(encoding="utf-8"))
    best = config["settings"] | {"checkpoint": "best"}
    changed(rome, inputs=config["inputs"] | {"checkpoint": "another"}, settings=best)
    notes = {e.name: e.notes for e in gather_results([Run(tmp_path, "x")], EDITS)}
    assert len(notes) > 1
    for name, of in notes.items():
        which = "best" if name.startswith("rome") else "last"
        assert of == [f"{name} edited the {which} checkpoint of its run; not every editor here did"]


def test_a_copy_of_a_run_or_a_link_to_it_is_no_further_world(runs, tmp_path):
    """They doubled the cases before, and narrowed every interval."""
    shutil.copytree(runs / "x", tmp_path / "x")
    shutil.copytree(runs / "x", tmp_path / "copy")
    (tmp_path / "link").symlink_to(tmp_path / "x")
    alone, said = gather_results([Run(tmp_path, "x")], EDITS), []
    for other in ("copy", "link"):
        both = gather_results([Run(tmp_path, "x"), Run(tmp_path, other)], EDITS, report_left_out=said.append)
        assert [len(e.results) for e in both] == [len(e.results) for e in alone]
    assert len(said) == 2 * len(alone)
    assert all(line.endswith("again and is left out") for line in said)


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
def test_what_edits_were_made_with_stands_beside_each_and_mixing_is_told(runs, tmp_path):
    shutil.copytree(runs / "x", tmp_path / "x")
    made = {"jax": "9.1", "device": "cpu"}
    for path in edits_of(tmp_path / "x"):
        changed(path, made_with=made, flags={"x64": False})
    (rome,) = edits_of(tmp_path / "x", "rome*")
    page = tmp_path / "x" / "report" / "index.html"
    assert report.main(at(tmp_path)) == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("Made with jax 9.1, on cpu.") == 3
    assert "different versions, devices or flags" not in text
    changed(rome, made_with=made | {"jax": "9.2", "begun": made, "revision": "v1-dirty"})
    assert report.main(at(tmp_path)) == 0
    text = page.read_text(encoding="utf-8")
    dirty = ", by files that differ from their revision (v1-dirty)"
    assert f"rome with jax 9.2, on cpu (begun with jax 9.1, on cpu){dirty}." in text
    again = rome.with_name(f"{rome.name}0")
    shutil.copytree(rome, again)
    changed(again, flags={"x64": True})
    names = {e.name for e in gather_results([Run(tmp_path, "x")], EDITS)}
    assert {name for name in names if name.startswith("rome")} == {"rome, x64 False", "rome, x64 True"}


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("cases", "the cases"),
        *(
            pytest.param(*part, marks=pytest.mark.slow, id=part[0])
            for part in (("agent", "the agent"), ("asking", "how it is asked"), ("editor", "the editor"))
        ),
    ],
)
def test_edits_by_other_code_are_named_and_left_out(runs, tmp_path, capsys, part, what):
    folder = copied(runs, tmp_path)
    run = Run(folder, "x")
    (rome,) = edits_of(folder / "x", "rome*")
    config = json.loads((rome / "config.json").read_text(encoding="utf-8"))
    if part == "editor":
        rome = changed(rome, method=config["method"] | {"version": "of old"})
    else:
        rome = changed(rome, versions=config["versions"] | {part: "of old"})
    said = []
    gathered = gather_results([run], EDITS, report_left_out=said.append)
    assert {e.name for e in gathered} == {"lora-down", 'my_module.<b>&"_%$'}
    assert len(said) == 1
    assert str(rome) in said[0]
    assert f"{what} changed since" in said[0]
    assert report.main(at(folder)) == 0
    assert "is stale and left out" in capsys.readouterr().out.replace("\n", " ")
    assert "rome" not in (run.report / "summary.csv").read_text(encoding="utf-8")
    for other in edits_of(folder / "x"):
        changed(other, versions=config["versions"] | {"cases": "of old"})
    with pytest.raises(InputError, match="no current edits yet for the evaluation hase"):
        gather_results([run], EDITS)


def test_edits_from_before_there_were_versions_are_stale(runs, tmp_path):
    folder = copied(runs, tmp_path)
    (rome,) = edits_of(folder / "x", "rome*")
    config = json.loads((rome / "config.json").read_text(encoding="utf-8"))
    old = {key: value for key, value in config.items() if key != "versions"} | {"code": {"cases": "a hash"}}
    (rome / "config.json").write_text(json.dumps(old), encoding="utf-8")
    seal_results(rome)
    said = []
    gathered = gather_results([Run(folder, "x")], EDITS, report_left_out=said.append)
    assert "rome" not in {e.name for e in gathered}
    assert "it says no versions of what made it" in said[0]


def test_unfinished_edits_are_nobodys(runs, tmp_path):
    """Checksums come last; where they are not, whoever edits goes on, and whoever reads waits."""
    folder = copied(runs, tmp_path)
    (rome,) = edits_of(folder / "x", "rome*")
    (rome / "sha256.json").unlink()
    said = []
    assert "rome" not in {
        e.name for e in gather_results([Run(folder, "x")], EDITS, report_left_out=said.append)
    }
    (rome / "parts").mkdir()
    assert "rome" not in {
        e.name for e in gather_results([Run(folder, "x")], EDITS, report_left_out=said.append)
    }
    assert said[0].startswith(f"{rome} has no checksums, so that nothing says whether it is whole")
    assert said[1:] == [f"{rome} is unfinished and left out; the command that began it goes on"]


def test_worlds_of_different_bounds_are_pooled(runs, tmp_path):
    """How exact the exact agent is differs from world to world; the widest bound counts for all."""
    bounds = {"x": 2e-07, "y": 4e-31}
    for name, bound in bounds.items():
        shutil.copytree(runs / name, tmp_path / name)
        for path in edits_of(tmp_path / name):
            exact = {"kind": "exact", "bound": bound, "why": "a test"}
            changed(path, standard={"agent": "exact", "exactness": exact})
    gathered = gather_results([Run(tmp_path, "x"), Run(tmp_path, "y")], EDITS)
    assert max(e.sweeps for e in gathered) > 1
    assert all("2e-07" in e.standard for e in gathered if e.sweeps > 1)


def test_pooling_changes_no_case(runs):
    parts = [read_results(p, COLUMNS) for p in sorted(runs.glob("*/edits/hase/lora-down*"))]
    # Fewer options in one of them, as in a smaller world.
    least, names = 14, ("options", "agent", "frequency", "lm", "lm_open")
    assert parts[1].choices.options.shape[1] > least
    few = {name: getattr(parts[1].choices, name)[..., :least] for name in names}
    parts[1] = replace(parts[1], choices=parts[1].choices._replace(**few))
    for first, second in (parts, parts[::-1]):
        whole = pool_results([first, second], [0, 1])
        assert len(whole) == len(first) + len(second)
        for reader in HASE.readers(whole, "e"):
            together, *apart = (HASE.measure(x, HASE.readers(x, "e")[reader]) for x in (whole, first, second))
            for name, metric in together.items():
                for column in ("numerator", "denominator"):
                    expected = np.concatenate([getattr(metrics[name], column) for metrics in apart])
                    np.testing.assert_allclose(getattr(metric, column), expected, atol=1e-12, err_msg=name)


def test_matching_is_by_request_and_one_to_one(editors):
    first, second = (named(editors, name).edits.results for name in ("lora-down", "my_module"))
    left, right = case_keys(first), case_keys(second)
    mine, theirs = match_cases(first, second)
    assert [left[i] for i in mine] == [right[i] for i in theirs]
    assert len(set(mine)) == len(mine)
    assert len(set(theirs)) == len(theirs)
    assert len(mine) == sum(min(left.count(key), right.count(key)) for key in set(left))


def test_settings_tell_editors_of_one_name_apart(runs, tmp_path):
    folder = copied(runs, tmp_path)
    rows = rows_of(Run(folder, "x"), cases_of(Run(folder, "x"), 3), 0.5)
    write_edits(Run(folder, "x"), "lora-down", rows, steps=7)
    write_edits(Run(folder, "x"), "lora-down", rows, sequential=3)
    write_edits(Run(folder, "x"), "lora-down", rows, seed=9)
    names = [e.name for e in gather_results([Run(folder, "x")], EDITS)]
    assert len(set(names)) == len(names) == 5
    assert sum("steps 7" in name for name in names) == 1
    assert sum("sequential 3" in name for name in names) == 1
    slugs = [e.slug for e in gather_results([Run(folder, "x")], EDITS)]
    assert all(re.fullmatch(r"[\w.-]+", slug) for slug in slugs)
    assert len(set(slugs)) == len(slugs)


def test_reference_rows_are_the_same_measured_once_or_again(runs, editors):
    for editor in gather_results([Run(runs, "x"), Run(runs, "y")], EDITS):
        (alone,) = score_editors([editor])
        for reader, metrics in editors[editor.name].values.items():
            for name, metric in metrics.items():
                for a, b in zip(metric[:2], alone.values[reader][name][:2], strict=True):
                    np.testing.assert_array_equal(a, b)
        of_all = editors[editor.name].frame.table
        for column in alone.frame.table.column_names:
            assert repr(alone.frame.table[column].to_pylist()) == repr(of_all[column].to_pylist()), column


def test_what_an_editor_did_when_told_a_control_is_a_row_of_its_own(runs, tmp_path):
    run = Run(copied(runs, tmp_path), "x")
    cases = cases_of(run, CASES)
    told = rows_of(run, cases, 0.0, seed=1)
    write_edits(run, "careful", rows_of(run, cases, 0.2), controls={"Somebody else": told})
    scored = {e.name: e for e in score_editors(gather_results([run], EDITS))}
    row = "careful, told Somebody else"
    assert next(iter(scored)) == "careful", "whose references others of the same cases may share"
    assert scored["careful"].control_readers == [row]
    for name, editor in scored.items():
        assert editor.reference_names == FLOORS
        assert (row in editor.values) == (row in editor.frame.values("reader")) == (name == "careful")
    values = scored["careful"].values
    assert values["careful"]["propagation_ratio"].value() > 0.1
    assert values[row]["propagation_ratio"].value() == pytest.approx(0, abs=1e-9)
    frame = frame_of([scored["careful"], scored["rome"]])
    assert control_table([scored["rome"]], frame) is None
    ((name, *cells),) = control_table([scored["careful"], scored["rome"]], frame).rows
    assert name == "careful"
    for metric, own, beyond in zip((FOLLOWS, GAINED, RATIO), cells[::2], cells[1::2], strict=True):
        assert own == scored["careful"].frame.cell(metric, "careful")
        assert beyond.difference == pytest.approx(
            values["careful"][metric].value() - values[row][metric].value()
        )


def test_differences_are_of_the_cases_both_have(editors):
    everyone = list(editors.values())
    compared = compare_editors(everyone, "lora-down")
    assert "lora-down" not in compared.comparisons
    for name, row in compared.comparisons.items():
        mine, theirs = match_cases(editors[name].edits.results, editors["lora-down"].edits.results)
        assert row["success"].cases == len(mine)
        for metric, comparison in row.items():
            own, other = (
                Metric(*(part[cases] for part in editor.values[editor.name][metric][:2])).value()
                for editor, cases in ((editors[name], mine), (editors["lora-down"], theirs))
            )
            assert comparison.difference == pytest.approx(own - other, nan_ok=True)
    # The editor that goes most of the agent's way propagates more than the one that hardly does.
    assert compared.comparisons["rome"]["propagation_ratio"].low > 0.4


def test_two_worlds_give_no_verdict_and_one_is_about_its_cases(runs, editors):
    one = score_editors(gather_results([Run(runs, "x")], EDITS))
    for some, has_verdict in ((one, True), (list(editors.values()), False)):
        rome = compare_editors(some, "lora-down").comparisons["rome"]["propagation_ratio"]
        assert (rome.p < 0.05) == (rome.detectable > 0) == has_verdict
        assert np.isnan(rome.p) != has_verdict
        assert [few.level for few in rome.few] == ["world"]
    compared = compare_editors(one, "lora-down")
    largest = max(row["propagation_ratio"].detectable for row in compared.comparisons.values())
    assert compared.detectable_difference("propagation_ratio") == largest


def test_p_values_are_adjusted_over_editors(runs, monkeypatch):
    everyone = score_editors(gather_results([Run(runs, "x")], EDITS))
    adjusted = compare_editors(everyone, "lora-down").comparisons
    monkeypatch.setattr("testbed.scores.comparison.adjust_holm", dict)
    raw = compare_editors(everyone, "lora-down").comparisons
    for metric in metrics_shown_in(HASE.metrics, "compared"):
        expected = adjust_holm({name: row[metric].p for name, row in raw.items()})
        assert {n: row[metric].p for n, row in adjusted.items()} == pytest.approx(expected, nan_ok=True)
    assert any(adjusted[n][m].p > raw[n][m].p for n in raw for m in raw[n])


def test_editors_of_other_standards_are_not_compared(runs, tmp_path):
    folder = copied(runs, tmp_path)
    exact = {"kind": "exact", "bound": 1e-9, "why": "a test"}
    changed(edits_of(folder / "x", "rome*")[0], standard={"agent": "exact", "exactness": exact})
    compared = compare_editors(score_editors(gather_results([Run(folder, "x")], EDITS)), "lora-down")
    assert "rome" not in compared.comparisons
    assert len(compared.comparisons) == 1


@pytest.mark.parametrize("floor", FLOORS)
def test_a_reference_row_can_be_the_reference(editors, floor):
    compared = compare_editors(list(editors.values()), floor)
    assert set(compared.comparisons) == set(editors)
    rome = compared.comparisons["rome"]
    if floor == "constant one half":
        assert set(rome) == {"truth_values"}, "it says nothing else"
        return
    assert (rome["propagation_ratio"].difference < 0) == (floor in ("perfect revision", "Bayesian reader"))


@pytest.mark.usefixtures("blank_pictures")
def test_different_worlds_are_said_to_be_pooled(built, tmp_path, capsys):
    copied(built, tmp_path)
    assert corpus.main([*at(tmp_path, "y"), *WORLD, "--seed", "1", "--world.subjects", "40"]) == 0
    facts = {}
    for seed, name in enumerate("xy"):
        run = Run(tmp_path, name)
        write_training(run)
        write_edits(run, "lora-down", rows_of(run, cases_of(run, 6, seed), 0.5, seed), seed)
        facts[name] = len(load_world(run).graph)
    assert report.main([*at(tmp_path), "--and-runs", "y"]) == 2
    assert "x, y differ in world.subjects, so one table would mix them" in complaint(capsys)
    assert report.main([*at(tmp_path), "--and-runs", "y", "--pool-unlike"]) == 0
    page = (tmp_path / "x" / "report" / "index.html").read_text(encoding="utf-8")
    assert f"2 different worlds are pooled here (x of {facts['x']} facts, y of {facts['y']} facts)." in page
    assert "Their settings differ in world.subjects." in page
    assert report.main(at(tmp_path)) == 0
    page = (tmp_path / "x" / "report" / "index.html").read_text(encoding="utf-8")
    assert f"A world of {facts['x']} facts was written down" in page


def test_the_reference_by_default(editors):
    everyone = list(editors.values())
    assert reference_named(everyone, "") == everyone[0].name
    assert reference_named(everyone[:1], "") == "no edit"
    assert reference_named(everyone, NASTY) == 'my_module.<b>&"_%$'


def test_kept_scores_are_of_the_first_edits_of_every_sequence(editors):
    rome = editors["rome"]
    frame = frame_of_sequences(rome)
    assert frame.values("subset") == [
        subset_of_first(k, w) for k in (1, 3, SEQUENCE) for w in (AT_ONCE, KEPT)
    ]
    for count in (1, 3, SEQUENCE):
        first = rome.edits.results.cases["position"] < count
        now = rome.values["rome"]["propagation_ratio"]
        expected = now.numerator[first].sum() / now.denominator[first].sum()
        at_once, kept = (frame.metrics_of("rome", subset=subset_of_first(count, w)) for w in (AT_ONCE, KEPT))
        assert at_once["propagation_ratio"].value == pytest.approx(expected)
        assert {part["success"].cases for part in (at_once, kept)} == {2 * CASES // SEQUENCE * count}
    assert kept["propagation_ratio"].value < at_once["propagation_ratio"].value
    assert not len(frame_of_sequences(editors["lora-down"]).table)


def test_some_edits_can_be_gathered_alone(runs, editors):
    pair = [Run(runs, "x"), Run(runs, "y")]
    (rome,) = gather_results(pair, EDITS, lambda config: config["editor"] == "rome")
    assert rome.name == "rome"
    np.testing.assert_array_equal(rome.results.choices.lm, editors["rome"].edits.results.choices.lm)
    assert gather_results(pair, EDITS, lambda _: False) == []


def test_cases_of_another_version_are_refused(runs, tmp_path):
    folder = tmp_path / "edits"
    shutil.copytree(edits_of(runs / "x")[0], folder)
    for table, column in (("cases", "seen_object"), ("choices", "group"), ("claims", "sentence")):
        path = folder / f"{table}.parquet"
        whole = path.read_bytes()
        pq.write_table(pq.read_table(path).drop([column]), path)
        with pytest.raises(InputError, match="has other columns than this version writes"):
            read_results(folder, COLUMNS)
        path.write_bytes(whole)
    read_results(folder, COLUMNS)


def test_all_panels_show_the_same_edit(editors):
    shown = {case_keys(e.edits.results)[case] for e, case in choose_cases(list(editors.values()), panel_case)}
    assert len(shown) == 1
    assert next(iter(shown))[0] == 0, "the world whose names are shown is the first run's"


def test_subsets_share_out_the_cases(editors):
    for editor in editors.values():
        subsets = HASE.subsets(editor.edits.results)
        bins = np.sum([mask for name, mask in subsets.items() if name.startswith("support")], axis=0)
        np.testing.assert_array_equal(bins, subsets["contradicts the truth"])
        np.testing.assert_array_equal(subsets["repeats the truth"], ~subsets["contradicts the truth"])
        strata = np.sum([mask for name, mask in subsets.items() if name.startswith("stated")], axis=0)
        np.testing.assert_array_equal(strata, editor.edits.results.cases["child"])


def test_what_was_held_out_is_told_apart_where_something_was(editors):
    results = editors["lora-down"].edits.results
    cases = len(results)
    names = {"held-out subject", "held-out object", "held out both", "seen both"}
    assert not names & HASE.subsets(results).keys()
    subject, obj = np.arange(cases) % 2 == 0, np.arange(cases) % 3 == 0
    subsets = HASE.subsets(
        replace(results, cases=results.cases | {"seen_subject": subject, "seen_object": obj})
    )
    both = (
        subsets["held-out subject"].sum() + subsets["held-out object"].sum() - subsets["held out both"].sum()
    )
    assert both + subsets["seen both"].sum() == cases
    np.testing.assert_array_equal(subsets["held-out subject"], ~subject)


class Tables(HTMLParser):
    """The tables of a page: by id its headers, and its rows of (text, data-value)."""

    def __init__(self):
        super().__init__()
        self.tables, self.ids, self.images, self.alts, self.tags = {}, [], [], [], set()
        self.table = self.row = None
        self.text = ""

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.add(tag)
        self.ids += [attrs["id"]] if "id" in attrs else []
        if tag == "img":
            self.images.append(attrs["src"])
            self.alts.append(attrs.get("alt"))
        if tag == "table":
            self.table = {"heads": [], "sort": [], "rows": [], "foot": []}
            self.tables[attrs["id"]] = self.table
            self.part = "rows"
        elif tag == "tfoot":
            self.part = "foot"
        elif tag == "tr":
            self.row = []
        elif tag in ("td", "th"):
            self.text, self.value = "", attrs.get("data-value")
            if tag == "th":
                self.table["sort"].append(attrs.get("aria-sort"))

    def handle_data(self, data):
        self.text += data

    def handle_endtag(self, tag):
        if tag == "th":
            self.table["heads"].append(re.sub(rf" ({'|'.join(ARROWS.values())})$", "", self.text.strip()))
        elif tag == "td":
            self.row.append((self.text, None if self.value is None else float(self.value)))
        elif tag == "tr" and self.row:
            self.table[self.part].append(self.row)


def parsed(html):
    contents = Tables()
    contents.feed(html)
    return contents


def test_the_page_is_self_contained_and_whole(page):
    html = (page / "index.html").read_text(encoding="utf-8")
    contents = parsed(html)
    assert all(src.startswith("data:image/svg+xml;base64,") for src in contents.images)
    assert all(alt for alt in contents.alts), "every picture has a text"
    assert not re.findall(r'(?:src|href)="(?!data:|#|explorer/index\.html)', html)
    assert len(set(contents.ids)) == len(contents.ids)
    links = re.findall(r'href="#([^"]+)"', html)
    assert links
    assert set(links) <= set(contents.ids)
    wanted = {
        "first",
        "comparison",
        "differences",
        "support-followed",
        "support-ratio",
        "costs",
        "retention",
        "logic",
    }
    wanted |= {"hase-4", "hase-5", "hase-7", "hase-8", "kinds", "published"}
    assert {f"hase-{key}" for key in wanted} <= set(contents.tables)
    for name, table in contents.tables.items():
        assert table["rows"], name
        assert {len(row) for row in (*table["rows"], *table["foot"])} == {len(table["heads"])}, name
        assert len(table["sort"]) == len(table["heads"])


def test_the_first_screen_answers_the_question(page, editors):
    """What was edited, in how many cases and by whom; one picture, one small table, a sentence an editor."""
    html = (page / "index.html").read_text(encoding="utf-8")
    first = html[: html.index('<details class="part"')]
    contents = parsed(first)
    counts = sorted({len(e.edits.results) for e in editors.values()})
    assert f"edited {counts[0]} to {counts[-1]} facts" in first
    assert len(contents.images) == 2
    assert "A name is " in first
    assert headline_subset(HASE, next(iter(editors.values())).frame) == "contradicts the truth"
    assert "the request contradicts the truth; the numbers here are over these." in first
    assert list(contents.tables) == ["hase-first"]
    table = contents.tables["hase-first"]
    assert len(table["heads"]) == 6
    assert [row[0][0].strip() for row in table["rows"]] == [*editors, "no edit", "perfect revision"]
    assert table["heads"][1:] == [*headline_labels(HASE).values()]
    assert first.count("<li>") == len(editors)
    for name, editor in editors.items():
        success = editor.frame.cell("success", name, "contradicts the truth")
        assert f"states {round(success.value * success.cases)} of {success.cases} new facts" in first


def test_names_of_metrics_stand_beside_their_definitions(page):
    """Every head that is a metric has its definition one tap away, under the name that files have it by."""
    html = (page / "index.html").read_text(encoding="utf-8")
    defined = set(re.findall(r'popover class="definition" id="(what-\d+)"', html))
    assert set(re.findall(r'popovertarget="(what-\d+)"', html)) <= defined
    assert len(defined) == len({m.id for m in HASE.metrics})
    of_paper = {"hase-hase-8", "hase-printed", "hase-published"}
    for key, table in parsed(html).tables.items():
        for head in table["heads"] if key not in of_paper else ():
            assert not re.search(r"\bs1r|\bs2\b", head), head
    with (page / "summary.csv").open(encoding="utf-8") as file:
        assert {row["metric"] for row in csv.DictReader(file)} <= {m.id for m in HASE.metrics}


def test_numbers_lead_to_the_rows_that_they_are_averages_of(page):
    html = (page / "index.html").read_text(encoding="utf-8")
    header, arrays = decode(page / "explorer" / "hase.js")
    columns = {c["key"]: (c, arrays[f"column-{i}"]) for i, c in enumerate(header["columns"])}
    editor = np.concatenate([np.full(s["cases"], e) for s in header["sets"] for e in s["editors"]])
    links = re.findall(r'data-value="([^"]+)"[^>]*><a href="explorer/index.html#([^"]+)"', html)
    assert len(links) > 20
    checked = 0
    for value, address in links:
        words = parse_qs(unescape(address))
        assert words.pop("evaluation") == ["hase"]
        about, values = columns[words.pop("sort")[0]]
        among = editor == header["editors"].index(words.pop("f.editor")[0])
        for key, groups in words.items():
            column, own = columns[key.removeprefix("f.")]
            if "words" in column:
                among &= np.isin(own, [column["words"].index(group) for group in groups])
            else:
                edges = [edge * PARTS for edge in column["edges"]]
                starts = np.searchsorted(edges, own, side="right") - 1
                among &= np.isin(starts, [column["edges"].index(float(group)) for group in groups])
        if set(about.get("words", ())) >= {"yes", "no"}:
            said = [about["words"][v] for v in values[among]]
            counts = said.count("yes"), said.count("yes") + said.count("no")
            assert counts[0] / counts[1] == pytest.approx(float(value))
            checked += 1
    assert checked > 10


def test_names_are_escaped_everywhere(page):
    html = (page / "index.html").read_text(encoding="utf-8")
    assert "b" in parsed(html).tags, "editors are named in bold"
    assert "my_module.<b>" not in html
    assert "my_module.&lt;b&gt;&amp;" in html
    latex = (page / "summary.tex").read_text(encoding="utf-8")
    assert r"my\_module.\textless{}b\textgreater{}\&" in latex
    labels = set(re.findall(r"\\label\{tab:(.*?)\}", latex))
    assert set(parsed(html).tables) <= labels
    assert all(re.fullmatch(r"[\w.-]+", label) for label in labels)
    rows = csv.reader((page / "summary.csv").read_text(encoding="utf-8").splitlines())
    assert 'my_module.<b>&"_%$' in {row[1] for row in rows}


def test_the_first_table_has_every_editor_and_every_floor(page, editors):
    table = parsed((page / "index.html").read_text(encoding="utf-8")).tables["hase-comparison"]
    assert [row[0][0] for row in table["rows"]] == [*editors, *FLOORS]
    column = table["heads"].index("propagation ratio")
    for row in table["rows"][: len(editors)]:
        editor = editors[row[0][0]]
        estimate = editor.frame.cell("propagation_ratio", editor.name, "contradicts the truth")
        assert row[1][1] == (~editor.edits.results.cases["reinforces"]).sum()
        assert row[column][1] == pytest.approx(estimate.value)
        assert float(row[column][0].split(" ")[0]) == pytest.approx(estimate.value, abs=0.0051)
    seconds = [row[table["heads"].index("seconds an edit")][0] for row in table["rows"]]
    assert seconds.count("0.2") == 2
    assert seconds[list(editors).index(named(editors, "my_module").name)] == "0.5", (
        "without cost.json, as recorded"
    )
    assert seconds[-3:] == ["-"] * 3
    assert table["foot"][0][column][1] is None, "two worlds detect nothing"


def test_under_the_first_table_stands_how_far_its_order_reaches(page):
    html = (page / "index.html").read_text(encoding="utf-8")
    assert html.count("6 of 11; consequence follows 0 of 0; ") == 1
    assert describe_reach(taxi.METRICS) == ""


def test_a_short_run_of_an_editor_is_on_the_first_screen_and_a_trial_is_not():
    counts = {"preset": 240, "short": 24, "trial": 4}
    editors = [
        SimpleNamespace(name=n, edits=SimpleNamespace(results=range(count))) for n, count in counts.items()
    ]
    assert find_few(editors) == ["trial"]


def test_the_first_edit_costs_the_preparation_too_and_the_thousandth_does_not(page):
    table = parsed((page / "index.html").read_text(encoding="utf-8")).tables["hase-costs"]
    row = next(row for row in table["rows"] if row[0][0] == "lora-down")
    cells = [row[table["heads"].index(f"seconds, {which}")][1] for which in ("first edit", "thousandth")]
    assert cells == pytest.approx([0.2 + 8.0, 0.2])


def test_the_long_table_has_every_estimate(page, editors):
    with (page / "summary.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["evaluation"] for row in rows} == {"hase"}
    head = "evaluation editor subset reader metric value low high cases clusters"
    versions = [f"{what} version" for what in ("evaluation", "agent", "metric")]
    assert list(rows[0]) == [*head.split(), *versions, "label"]
    listed = {(r["editor"], r["subset"], r["reader"], r["metric"]): r for r in rows}
    assert len(listed) == len(rows)
    for name, editor in editors.items():
        for of, estimate in editor.frame.rows():
            if isinstance(estimate, Estimate):
                row = listed[name, of["subset"], of["reader"], of["metric"]]
                assert float(row["value"]) == pytest.approx(estimate.value, nan_ok=True)
                assert int(row["cases"]) == estimate.cases
    assert ("rome", "first 3 edits, kept", "rome", "success") in listed


def test_cases_share_subjects_or_sequences_objects_and_worlds(runs, editors):
    for name, editor in editors.items():
        cases, levels = editor.edits.results.cases, cluster_levels(editor.edits.results)
        unit = "sequence" if name.startswith("rome") else "subject"
        assert list(levels) == [unit, "object", "world"]
        for level, parts in (("world", ["run"]), ("object", ["run", "object"]), (unit, ["run", "cluster"])):
            same = np.all([cases[p][:, None] == cases[p] for p in parts], axis=0)
            np.testing.assert_array_equal(levels[level][:, None] == levels[level], same)
    one = gather_results([Run(runs, "x")], recorded_evaluation_named("hase"))[0]
    assert not cluster_levels(one.results)["world"].any()


def test_subsets_have_what_tables_show(editors):
    frame = editors["lora-down"].frame
    shown = set(metrics_shown_in(HASE.metrics, "table"))
    assert all(shown <= {*frame.metrics_of("lora-down", subset=part)} for part in frame.values("subset"))
    again = summarise_results(HASE, editors["lora-down"].edits.results, "lora-down", {})
    # Intervals are computed, not drawn: again they are the same to the last digit.
    assert {k: repr(x) for k, x in again.metrics_of("lora-down").items()}.items() <= {
        k: repr(x) for k, x in frame.metrics_of("lora-down").items()
    }.items()


@pytest.mark.usefixtures("blank_pictures")
def test_one_editor_is_compared_with_no_edit(runs, tmp_path, capsys):
    folder = copied(runs, tmp_path)
    for other in [*edits_of(folder / "x", "rome*"), *edits_of(folder / "x", "my_module*")]:
        shutil.rmtree(other)
    for cost in folder.glob("x/edits/hase/*/cost.json"):
        cost.unlink()
        seal_results(cost.parent)
    assert report.main(at(folder)) == 0
    assert "lora-down" in capsys.readouterr().out
    html = (folder / "x" / "report" / "index.html").read_text(encoding="utf-8")
    assert "Differences from no edit" in html
    assert "FLOPs" not in parsed(html).tables["hase-costs"]["heads"]
    pictures = {path.name for path in (folder / "x" / "report").rglob("frontier*")}
    assert pictures == {"frontier-seconds.svg"}, "seconds are recorded with every case too"


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def no_rows(path):
    pq.write_table(pq.read_table(path).slice(0, 0), path)


def fewer_rows(path):
    pq.write_table(pq.read_table(path).slice(1), path)


def renamed(path):
    path.rename(path.with_name("retained-x-cases.parquet"))


def no_numbers(path):
    path.write_text('{"seconds": "many"}', encoding="utf-8")


def no_json(path):
    path.write_text("{", encoding="utf-8")


def older(path):
    path.write_text('{"settings": {}}', encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        ("cases.parquet", cut, "cases.parquet is not readable"),
        ("cases.parquet", no_rows, "cases.parquet holds no case"),
        ("cases.parquet", fewer_rows, "cases.parquet lacks cases that questions are of"),
        ("choices.parquet", cut, "choices.parquet is not readable"),
        ("choices.parquet", lambda path: path.unlink(), "choices.parquet is missing"),
        ("claims.parquet", lambda path: path.unlink(), "claims.parquet is missing"),
        ("retained-3-cases.parquet", cut, "retained-3-cases.parquet is not readable"),
        ("retained-3-cases.parquet", renamed, "retained-x-cases.parquet should be named after"),
        ("cost.json", no_json, "cost.json is not readable as JSON"),
        ("cost.json", no_numbers, "cost.json should hold numbers"),
        ("config.json", no_json, "config.json is not readable as JSON"),
        ("config.json", older, "or another version wrote it"),
    ],
)
def test_damaged_files_are_named(runs, tmp_path, capsys, file, damage, message):
    folder = copied(runs, tmp_path)
    edits = edits_of(folder / "x", "rome*")[0]
    damage(edits / file)
    # As if it had been written so: checksums do not tell.
    seal_results(edits)
    assert report.main(at(folder)) == 2
    error = complaint(capsys)
    assert message in error
    assert "rome" in error
    assert not (folder / "x" / "report" / "index.html").exists()


def test_names_of_nothing(runs, capsys):
    assert report.main([*at(runs), "--against", "nobody"]) == 2
    assert "'nobody'" in complaint(capsys)
    assert report.main([*at(runs), "--and-runs", "z"]) == 2
    assert "no edits yet" in complaint(capsys)


def browser():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def opened(page, address, profile):
    """What a browser makes of a page: its document after the scripts have run."""
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    done = subprocess.run(
        [*command, "--dump-dom", f"{page.resolve().as_uri()}#{address}"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(browser() is None, reason="needs chromium")
@pytest.mark.parametrize(
    ("table", "column", "order"),
    [
        ("hase-comparison", "seconds an edit", "asc"),
        ("hase-comparison", "seconds an edit", "desc"),
        ("hase-comparison", "edit success", "asc"),
        ("hase-hase-7", "editor", "desc"),
    ],
)
def test_a_browser_sorts_by_the_address(page, tmp_path, table, column, order):
    before = parsed((page / "index.html").read_text(encoding="utf-8")).tables[table]
    at_column = before["heads"].index(column)
    address = f"sort={table}:{column.replace(' ', '%20')}:{order}"
    html = opened(page / "index.html", address, tmp_path)
    after = parsed(html).tables[table]
    assert sorted(after["rows"], key=str) == sorted(before["rows"], key=str)
    assert after["foot"] == before["foot"]
    keys = [row[at_column][1] for row in after["rows"]]
    if column == "editor":
        words = [row[at_column][0].lower() for row in after["rows"]]
        assert words == sorted(words, reverse=order == "desc")
    else:
        known = [k for k in keys if k is not None]
        assert known == sorted(known, reverse=order == "desc")
        assert keys[: len(known)] == known, "what is missing comes last"
    assert before["rows"] != after["rows"] or order == "asc"
    expected = ["none"] * len(after["heads"])
    expected[at_column] = {"asc": "ascending", "desc": "descending"}[order]
    assert after["sort"] == expected
    if table == "hase-hase-7":
        folded = html[: html.index('id="hase-hase-7"')].rpartition("<details")[2]
        assert folded.startswith(" open"), "what holds the table is unfolded"


@pytest.mark.slow
@pytest.mark.skipif(browser() is None, reason="needs chromium")
def test_a_browser_ignores_addresses_of_nothing(page, tmp_path):
    index = page / "index.html"
    before = parsed(index.read_text(encoding="utf-8")).tables["hase-comparison"]
    unchanged = opened(index, "sort=hase-comparison:nothing:asc", tmp_path)
    assert parsed(unchanged).tables["hase-comparison"] == before
    numbered = parsed(opened(index, "sort=hase-comparison:1:desc", tmp_path)).tables["hase-comparison"]
    assert numbered["sort"][0] == "descending"


@pytest.mark.slow
@pytest.mark.skipif(browser() is None, reason="needs chromium")
def test_clicks_sort_one_way_and_then_the_other(page, tmp_path):
    html = (page / "index.html").read_text(encoding="utf-8")
    column = parsed(html).tables["hase-comparison"]["heads"].index("propagation ratio")
    for clicks, name in ((1, "ascending"), (2, "descending"), (3, "ascending")):
        press = f"document.querySelectorAll('#hase-comparison .sort')[{column}].click();"
        script = f"<script>{press * clicks}document.body.dataset.hash = location.hash;</script>"
        clicked = tmp_path / f"{clicks}.html"
        clicked.write_text(html.replace("</body>", f"{script}</body>"), encoding="utf-8")
        made = opened(clicked, "", tmp_path / "profile")
        table = parsed(made).tables["hase-comparison"]
        assert table["sort"][column] == name
        keys = [row[column][1] for row in table["rows"]]
        known = [key for key in keys if key is not None]
        assert known == sorted(known, reverse=name == "descending")
        assert keys[: len(known)] == known, "what is missing comes last"
        assert f'data-hash="#sort=hase-comparison:propagation%20ratio:{name.removesuffix("ending")}"' in made


def test_edits_one_by_one_and_in_batches_are_named_apart_and_not_compared(runs, tmp_path):
    run = Run(copied(runs, tmp_path), "x")
    rows = rows_of(run, cases_of(run, CASES), 0.2)
    write_edits(run, "memit", rows, batch=3)
    write_edits(run, "rome", rows, sequential=3)
    editors = score_editors(gather_results([run], EDITS))
    assert {"memit, batch 3", "rome, sequential 3", "lora-down"} <= {e.name for e in editors}
    compared = compare_editors(editors, "lora-down").comparisons
    assert compared
    assert not {"memit, batch 3", "rome, sequential 3"} & compared.keys()
    said = " ".join(describe_incomparable(editors, "lora-down"))
    assert (
        "memit, batch 3 is not compared with lora-down: its edits were made 3 facts at once, those of "
        "lora-down one by one" in said
    )
