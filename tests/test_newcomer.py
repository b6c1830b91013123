"""What a newcomer types and reads first: headlines, tables of any width, lists of editors, help, mistakes."""

import io
import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from corpus.errors import InputError
from corpus.files import write_json, write_record
from testbed import edit, launch, remove
from testbed.advice import score_command
from testbed.commands.editors import editor_grid
from testbed.console import draw_tables
from testbed.engine.catalogue import editor_entries, entry_named
from testbed.presets import CORPUS, EDIT, EXPORT, SCORE, TRAIN
from testbed.run.runs import Run
from testbed.run.settings import CorpusSettings, as_plain_data
from testbed.run.trainer import open_tracker
from testbed.scores.frame import EDITOR, make_frame
from testbed.scores.headlines import describe_subset, headline_labels, headline_rows, headline_subset
from testbed.scores.metric import labels_of
from testbed.scores.statistics import Estimate
from testbed.settings import CaseConfig
from tests.edited import HASE
from tests.runs import ROOT, at, complaint

WORDS = st.text("abcdefgh", min_size=1, max_size=12)
HEADS = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)


def frame_with(contradicting):
    counts = {"all": 10, "contradicts the truth": contradicting}
    rows = [
        (("e", "e", EDITOR, subset, "success", None), Estimate(cases / 10, 0, 1, cases, cases))
        for subset, cases in counts.items()
    ]
    return make_frame(rows, HASE.metrics)


@pytest.mark.parametrize(("contradicting", "subset"), [(4, "contradicts the truth"), (0, "all")])
def test_headlines_are_over_requests_that_contradict_where_there_are_any(contradicting, subset):
    frame = frame_with(contradicting)
    assert headline_subset(HASE, frame) == subset
    [[name, success, *others]] = headline_rows(HASE, frame, ["e"])
    assert (name, success) == ("e", frame.cell("success", "e", subset))
    assert len(others) == len(headline_labels(HASE)) - 1
    only = describe_subset(replace(HASE, sampler="published"), frame)
    assert only == f" whose request {subset}" * (subset != "all") + ", drawn by the published sampler"
    assert "sampler" not in describe_subset(replace(HASE, requests=("a b = c",)), frame)


def test_the_readme_calls_metrics_as_commands_and_reports_do():
    """Its table has what follows by support; all else are metrics, by their labels."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    [head] = [line for line in lines if line.startswith("| editor | one subject")]
    follows = {
        "one subject",
        "2 to 4",
        "one or more",
        "published sampler",
        "subject's own facts",
        "worst kind",
    }
    metrics = {*head.strip("| ").split(" | ")[1:]} - follows
    assert metrics
    assert metrics <= {*labels_of(HASE.metrics).values()}


@given(st.data())
def test_tables_of_any_width_cut_nothing(data):
    columns = data.draw(st.integers(2, 6))
    heads = data.draw(st.lists(HEADS, min_size=columns, max_size=columns))
    row = st.lists(WORDS, min_size=columns, max_size=columns)
    rows = data.draw(st.lists(row, min_size=1, max_size=4))
    width = data.draw(st.integers(40, 200))
    out = io.StringIO()
    for table in draw_tables("title", heads, rows, True, width):
        Console(file=out, width=width, color_system=None).print(table)
    text = out.getvalue()
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert all(len(line) <= width for line in text.splitlines())
    assert {*" ".join(heads).split(), *(cell for row in rows for cell in row)} <= {*text.split()}


def test_every_editor_is_listed_with_what_it_is(tmp_path):
    rows = editor_grid(Run(tmp_path, "none")).rows
    assert [row[0] for row in rows] == [*editor_entries()]
    kinds = {name: kind for name, kind, *_ in rows}
    assert kinds["rome"] == "native"
    assert kinds["oracle"] == kinds["none"] == "control"


@pytest.mark.parametrize(
    ("source", "name", "says"),
    [
        ("def edit(model, request): ...", "edit", "there is edit(model, request); an editor in PyTorch is"),
        ("class Mine:\n def edit(self, m): ...", "Mine", "class Mine has edit(self, m); an editor"),
        ("class MyEditor: ...", "MyEdtor", "no class MyEdtor (did you mean MyEditor?); it has class"),
    ],
)
def test_a_wrong_signature_is_told_the_right_one(source, name, says, tmp_path, monkeypatch):
    module = f"wrong_{name.lower()}"
    (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError) as error:
        entry_named(f"{module}:{name}")
    assert says in str(error.value)
    assert "edit(model, tokenizer, request)" in str(error.value)


def make_edits(runs, *names):
    (runs / "x").mkdir()
    write_record(
        runs / "x" / "config.json", {"corpus": {"settings": as_plain_data(CorpusSettings()), "inputs": {}}}
    )
    for name in names:
        folder = runs / "x" / "edits" / "hase" / f"{name}-1"
        folder.mkdir(parents=True)
        known = {key: {} for key in ("inputs", "settings", "method", "standard", "controls")}
        write_json(folder / "config.json", {"editor": name} | known)
    return runs / "x"


def test_edits_are_removed_after_a_question(tmp_path, capsys):
    run = make_edits(tmp_path, "rome", "full")
    assert remove.main(["rom", *at(tmp_path)]) == 2
    assert "no edits by rom; there are those by full, rome" in complaint(capsys)
    assert remove.main(["rome", *at(tmp_path)]) == 2, "nobody is there to be asked"
    assert len([*run.glob("edits/*/*")]) == 2
    assert remove.main(["rome", "--yes", *at(tmp_path)]) == 0
    assert [path.name for path in run.glob("edits/*/*")] == ["full-1"]
    assert remove.main(["--yes", *at(tmp_path)]) == 0
    assert not run.exists()


def settings_asked(command, presets, words):
    """The settings that a command would work with."""
    asked = []
    assert launch.run_command(command, "", presets, asked.append, words) == 0
    return asked[0]


def test_a_config_makes_the_same_corpus_model_and_edits_elsewhere(tmp_path, capsys):
    path = tmp_path / "config.json"
    corpus = replace(CORPUS["laptop"], seed=7, kind="exact")
    train = replace(TRAIN["laptop"], seed=3, model=replace(TRAIN["laptop"].model, layers=3))
    stages = {"corpus": corpus, "train": train}
    path.write_text(json.dumps({name: {"settings": as_plain_data(one)} for name, one in stages.items()}))
    for name, presets in (("corpus", CORPUS), ("train", TRAIN)):
        again = settings_asked(name, presets, ["--config", str(path), "--run", "y"])
        assert as_plain_data(again) == as_plain_data(stages[name])
        assert again.run == "y"
    wanted = replace(EDIT["taxi"], seed=5, agent="exact", cases=CaseConfig(count=6))
    rome = replace(wanted.configs["rome"], depth=0.25)
    config = {
        "editor": "rome",
        "settings": wanted.settings_as_data(),
        "method": {"settings": as_plain_data(rome)},
    }
    path.write_text(json.dumps(config))
    again = settings_asked("edit", EDIT, ["--config", str(path)])
    assert again.settings_as_data() == wanted.settings_as_data()
    assert (again.editors, again.configs["rome"]) == (("rome",), rome)
    assert launch.run_command("train", "", TRAIN, print, ["--config", str(path)]) == 2
    assert "says nothing of train" in complaint(capsys)


def test_the_hint_to_score_has_the_options_of_the_cases():
    wanted = replace(EXPORT["tiny"], seed=5, cases=CaseConfig(count=6), sequential=2)
    words = shlex.split(score_command(Run(Path("runs"), "demo"), wanted.settings_as_data()))
    assert words[:3] == ["python", "-m", "testbed.score"]
    again = settings_asked("score", SCORE, words[3:])
    assert again.settings_as_data() == wanted.settings_as_data()
    assert (again.answers, again.name) == (Path("answers"), "my-editor")


def test_progress_is_told_to_a_file_or_to_a_package(tmp_path, monkeypatch):
    lines = [{"step": 1, "loss": 2.5}, {"step": 2, "loss": 2.0, "speed": float("nan")}]
    path = tmp_path / "metrics.csv"
    tell = open_tracker("csv", "x", {}, path)
    tell(lines[:1])
    tell(lines)
    assert path.read_text(encoding="utf-8") == "step,loss,speed\n1,2.5,\n2,2.0,nan\n"
    told = []
    package = SimpleNamespace(init=lambda **about: told.append(about), log=told.append)
    monkeypatch.setitem(sys.modules, "trackio", package)
    open_tracker("trackio", "x", {"seed": 1}, path)(lines)
    assert told == [{"project": "credence", "name": "x", "config": {"seed": 1}}, {"step": 2, "loss": 2.0}]
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(InputError, match="--track wandb needs a package"):
        open_tracker("wandb", "x", {}, path)


def test_help_shows_what_was_chosen_and_help_all_the_rest(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown = {}
    for words in (["--help"], ["rome", "--evaluation", "taxi", "--help"], ["--help-all"]):
        with pytest.raises(SystemExit):
            edit.main(words)
        shown[words[0]] = capsys.readouterr().out
    assert "--hase.edits" in shown["--help"]
    assert "--taxi." not in shown["--help"]
    assert "--rome." not in shown["--help"]
    assert "--lora-down." in shown["--help"]
    assert "--lora-down." not in shown["rome"]
    told = " ".join(shown["--help"].split())
    assert "--help-all shows the options of every evaluation and editor" in told
    assert "rome" in told, "editors are named"
    assert "--taxi." in shown["rome"]
    assert "--rome.depth" in shown["rome"]
    assert "--hase." not in shown["rome"]
    assert all(f"--{name}." in shown["--help-all"] for name in ("hase", "leme", "rome", "mend"))


def test_a_version_and_a_reader_who_has_seen_enough(capsys):
    assert edit.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("credence-testbed ")
    line = f"set -o pipefail; {sys.executable} -m testbed.editors | head -1"
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "error" not in done.stderr
