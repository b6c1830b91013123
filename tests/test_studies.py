"""Every study: its cells as settings of commands, and its tables of edits that nobody made."""

import json
from collections import defaultdict
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import experiments
from corpus.config import SENTENCES
from corpus.errors import InputError
from experiments import record, redraw, study
from experiments.command import run_module
from experiments.figures import FIGURES, read_figures
from experiments.studies import law, learning, reach, readings
from experiments.study import Findings, command_of_options
from testbed.engine.catalogue import whose_options
from testbed.presets import EDIT
from testbed.run.settings import as_plain_data, change_settings
from testbed.scores.frame import SCHEMA
from tests.edited import cases_of, changed, first_edits, rows_of, write_edits
from tests.runs import copied

ROOM = Path(experiments.__file__).parent / "studies"
FILES = sorted(path for path in ROOM.glob("*.py") if "STUDY = " in path.read_text(encoding="utf-8"))
STUDIES = {path.stem: import_module(f"experiments.studies.{path.stem}") for path in FILES}
BY_HAND = {
    "demo_worlds": {},
    "many_edits": {"editors": ("keyed", "rome"), "worlds": 1},
    "strength": {"editors": ("lora-down", "grace"), "strengths": (0.5, 0.9)},
    "support_law": {},
}
"""Studies of Hase's evaluation, and with which options they are tried."""
FEW = ("none", "lora-down")
TOYS = {
    "bets": {"worlds": 1, "editors": ("lora-down", "rome")},
    "corrigibility": {"worlds": 1, "editors": ("lora-down",)},
    "counterfact": {"editors": FEW},
    "demo_worlds": {"worlds": 1, "editors": FEW, "tuned": 2},
    "full_size": {"preset": "paper-laptop", "fact_count": 1000},
    "graphs": {},
    "kinds": {"worlds": 1, "editors": FEW},
    "law": {"models": 2, "editors": ("lora-down",)},
    "learning": {"worlds": 1},
    "leme": {"worlds": 1, "slow_edits": 1, "editors": ("lora-down",)},
    "many_edits": {"worlds": 1, "editors": ("lora-down", "retrain")},
    "metric_judge": {"worlds": 1, "editors": ("lora-down",)},
    "narrators": {"worlds": 1, "editors": FEW},
    "nine_questions": {"worlds": 1, "editors": (*FEW, "full")},
    "pretrain": {"preset": "laptop"},
    "reach": {"worlds": 1, "editors": ("lora-down",)},
    "readings": {"worlds": 1, "editors": FEW},
    "seesaw": {"worlds": 1, "people": 24, "editors": ("lora-down",)},
    "share_read": {"worlds": 1, "editors": ("keyed, 164 read", "keyed-request")},
    "size_factors": {"editors": ("lora-down", "keyed-request")},
    "strength": {"run": "x", "strengths": (0.5,), "editors": ("lora-down", "grace")},
    "support_law": {"worlds": 1, "editors": ("lora-down",)},
    "table4": {"scale": "paper-cpu", "fact_count": 1000, "editors": FEW},
    "taxi": {"worlds": 1, "slow_edits": 1, "held_out": 3, "editors": FEW},
}
"""Every study, and with which options it is run whole, by few editors in one world."""
SMALLER = {
    "full_size": {"EDITORS": {"stratified": ("keyed", "lora-down"), "published": ("lora-down",)}},
    "kinds": {"LAWS": ("home", "colleges", "press")},
    "law": {"FACTORS": law.FACTORS | {"first": (0.0,)}},
    "learning": {
        "STEPS": 20,
        "TRAININGS": {of: [some[-1]._replace(readings=1)] for of, some in learning.TRAININGS.items()},
    },
    "metric_judge": {"LAWS": ("home",), "DEEP_WORLDS": 0},
    "reach": {"PEOPLE": reach.PEOPLE | {"people": 24}},
    "taxi": {"TUNED": ("lora-down",)},
}
"""What else is made smaller: constants of these studies."""
STEPS = {"share_read": 60}
"""Of a training where 8 are too few, as a model must state something for its beliefs to be read."""


def findings_of(name, runs, **changes):
    """A study as it is asked by default, or otherwise."""
    asked = STUDIES[name].STUDY
    return Findings(name, asked, replace(asked.options, runs=runs, **changes))


@pytest.fixture
def chosen(monkeypatch):
    """Hyper-parameters that studies choose first, here the preset's."""
    monkeypatch.setattr(study, "with_tuned_settings", lambda *asked: asked[2].configs)


@pytest.mark.parametrize(
    ("name", "changes"),
    [*((name, {}) for name in STUDIES), ("leme", {"path": "FOLDER"}), ("seesaw", {"samples": 5})],
)
def test_cells_are_settings_of_the_commands(name, changes, tmp_path, chosen):
    """Those of one run have one corpus and one model; no two editors of a cell make the same edits."""
    findings = findings_of(name, tmp_path, **changes)
    models = defaultdict(set)
    assert findings.cells
    # What tells cells apart are columns of a frame beside its own.
    assert not {key for group in findings.groups for key in group} & {*SCHEMA.names}
    for cell in findings.cells:
        corpus, training = findings.model_of(cell)
        run = findings.run_of(cell)
        assert corpus.run == training.run == run.name
        models[run].add(repr((corpus, training)))
        names = list(findings.study.editors(cell))
        made = {}
        for editor in names:
            settings = findings.edits_of(cell, editor)
            assert settings.run == run.name
            own = settings.configs.get(whose_options(settings.editors[0]).options)
            made[editor] = repr((settings.editors, settings.settings_as_data(), own))
        assert len(names) == len(set(names)) == len({*made.values()})
    assert {len(of_run) for of_run in models.values()} == {1}


def write_edits_of(built, settings, run):
    """Edits by such settings, and a training of their run, as the commands would leave them."""
    if not run.folder.exists():
        copied(built, run.folder.with_suffix(".new"))
        (run.folder.with_suffix(".new") / "x").rename(run.folder)
        learned = dict.fromkeys(("accuracy", *SENTENCES[1:]), 0.5)
        run.metrics.parent.mkdir(parents=True, exist_ok=True)
        run.metrics.write_text(json.dumps({"step": 1, "loss": 1.0} | learned) + "\n", encoding="utf-8")
    (editor,) = settings.editors
    rows = rows_of(run, cases_of(run, 12, settings.seed), 0.5, settings.seed, settings.sequential % 12 or 12)
    retained = {10: first_edits(rows, 10), 12: rows} if settings.sequential > 1 else None
    data = settings.settings_as_data()
    folder = write_edits(run, editor, rows, data.pop("seed"), retained=retained, **data)
    own = settings.configs.get(whose_options(editor).options)
    method = json.loads((folder / "config.json").read_text())["method"]
    method["settings"]["config"] = {} if own is None else as_plain_data(own)
    changed(folder, method=method)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("demo_worlds", "strength") else pytest.mark.slow)
        for name in BY_HAND
    ],
)
def test_a_study_makes_its_record(name, built, tmp_path, monkeypatch, chosen):
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")
    asked = STUDIES[name].STUDY.options
    changes = {"worlds": 2, "editors": ("lora-down", "rome"), "edits": 12} | BY_HAND[name]
    known = {key: value for key, value in changes.items() if key in vars(asked)}
    findings = findings_of(name, tmp_path / "runs", **known)
    for cell in findings.cells:
        for editor in findings.study.editors(cell):
            write_edits_of(built, findings.edits_of(cell, editor), findings.run_of(cell))
    findings.write_record()
    (folder,) = (tmp_path / "records").iterdir()
    content = json.loads((folder / "record.json").read_text())
    assert content["commands"] == [command_of_options(name, findings.options, asked)]
    figures = read_figures(folder / FIGURES)
    names = {editor for cell in findings.cells for editor in findings.study.editors(cell)}
    assert {one.labels[-3] for one in figures if one.table == "found"} == names
    tables = list(redraw.write_tables(folder, tmp_path / "again"))
    pages = [path.read_text(encoding="utf-8") for path in tables if path.suffix == ".md"]
    assert len(pages) == 1
    assert "| " in pages[0]


@pytest.fixture
def toys(tmp_path, monkeypatch):
    """Models of few weights and steps, in worlds of few subjects."""
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")
    full = Findings.model_of

    def toy_model_of(findings, cell):
        corpus, training = full(findings, cell)
        world = replace(corpus.world, subjects=min(corpus.world.subjects, 100))
        steps = STEPS.get(findings.name, 8)
        train = replace(
            training.train, steps=steps, warmup=0, atomic_steps=0, rows=8, evaluate_every=steps,
            checkpoint_every=steps,
        )  # fmt: skip
        model = replace(
            training.model, hidden=16, mlp=24, layers=2, heads=2, kv_heads=2, head_width=8, unroll=1
        )
        return replace(corpus, world=world), replace(training, train=train, model=model, until=None)

    monkeypatch.setattr(Findings, "model_of", toy_model_of)


def run_toy(name, runs, monkeypatch, **changes):
    """Run a study with few editors in one world; returns it, and the figures of its record."""
    asked = STUDIES[name].STUDY
    for constant, value in SMALLER.get(name, {}).items():
        monkeypatch.setattr(STUDIES[name], constant, value)
    sizes = {key: 4 for key in ("edits", "length") if key in vars(asked.options)}
    findings = Findings(name, asked, replace(asked.options, runs=runs, **sizes | TOYS[name] | changes))
    study.run_study(name, asked, findings.options)
    newest = max(record.RECORDS.iterdir(), key=lambda path: len(path.name))
    return findings, read_figures(newest / FIGURES)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "changes"), [*((name, {}) for name in STUDIES), ("seesaw", {"samples": 1})])
def test_a_study_runs_from_nothing_to_its_record(name, changes, toys, trained, tmp_path, monkeypatch):
    if name == "strength":
        copied(trained, tmp_path / "runs")
    findings, figures = run_toy(name, tmp_path / "runs", monkeypatch, **changes)
    names = {editor for cell in findings.cells for editor in findings.study.editors(cell)}
    assert {one.labels[-3] for one in figures if one.table == "found"} == names
    assert {one.table for one in figures} > {"found"} or not names
    if name == "readings":
        first, *others = ([one.results for one in findings.results(reading=by)] for by in readings.READINGS)
        for one, other in (pair for results in others for pair in zip(first, results, strict=True)):
            np.testing.assert_array_equal(one.cases["object"], other.cases["object"])
            np.testing.assert_array_equal(one.choices.lm_answer, other.choices.lm_answer)


@pytest.mark.slow
def test_a_study_does_nothing_twice(toys, tmp_path, monkeypatch, capsys):
    _, first = run_toy("demo_worlds", tmp_path / "runs", monkeypatch)
    capsys.readouterr()
    _, again = run_toy("demo_worlds", tmp_path / "runs", monkeypatch)
    assert capsys.readouterr().out.count("has these edits already") == len(FEW)
    assert repr(first) == repr(again)


def test_a_command_is_repeated_by_what_is_unlike_the_defaults():
    options = STUDIES["leme"].STUDY.options
    assert command_of_options("leme", options, options) == "python -m experiments.leme"
    other = replace(options, worlds=2, slow_edits=4, minutes=9, editors=("a", "b c"))
    assert command_of_options("leme", other, options) == (
        "python -m experiments.leme --editors a 'b c' --worlds 2 --slow-edits 4"
    )


def test_counts_are_positive_and_have_two_names(capsys):
    for wrong in (["--seeds", "0"], ["--cases", "0"]):
        with pytest.raises(SystemExit):
            run_module(STUDIES["leme"], wrong)
        assert "must be positive" in capsys.readouterr().err


def test_options_are_changed_by_the_names_of_the_command_line():
    changes = {"cases.count": 12, "rome.token": "subject", "hase.reinforce": 0.0, "sequential": 12}
    settings = change_settings(EDIT["tiny"], changes)
    assert settings.cases.count == settings.sequential == 12
    assert settings.configs["rome"] == replace(EDIT["tiny"].configs["rome"], token="subject")
    assert settings.evaluations["hase"].reinforce == 0
    with pytest.raises(InputError, match="has no option nobody"):
        change_settings(EDIT["tiny"], {"nobody.rate": 1})
