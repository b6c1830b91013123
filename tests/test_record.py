"""Records of experiments: short settings and one table of figures, drawn again."""

import hashlib
import json
import re

import pyarrow.parquet as pq
import pytest

from corpus import files as corpus_files
from corpus.files import write_json
from experiments import record, redraw
from experiments.by_case import CASES, LARGEST
from experiments.command import run_module
from experiments.figures import FIGURES, figures_of_table, flatten_figures, read_figures, write_figures
from experiments.record import RECORDS, share_settings
from experiments.redraw import print_page
from testbed.run.runs import Run
from testbed.scores.statistics import Estimate
from testbed.scores.tables import Table, markdown_section
from tests.nested import nest_figures, read_nested

FOLDERS = sorted(folder for folder in RECORDS.iterdir() if folder.is_dir())
BEFORE = {folder.name for folder in FOLDERS if folder.name < "2026-11-27"}
KEPT = (486286, "f18b0596d59fc151")
"""How many figures there were before that day, and the digest of them."""


def names_of(folders):
    return [folder.name for folder in folders]


def test_records_are_small():
    assert FOLDERS
    assert sum(path.stat().st_size for path in RECORDS.rglob("*") if path.is_file()) < 7_500_000


@pytest.mark.parametrize("folder", FOLDERS, ids=names_of(FOLDERS))
def test_a_record_is_settings_and_one_table(folder):
    names = sorted(p.name for p in folder.iterdir() if p.name != CASES)
    assert names == [FIGURES, "record.json"]
    assert all(path.stat().st_size <= LARGEST for path in folder.glob("*.parquet"))
    content = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    assert content["commands"]
    assert all(re.match(r"python -m experiments\.\w+|make demo$", command) for command in content["commands"])
    assert content["device"]
    assert content["date"] == folder.name[:10]
    stages = content.get("stages", {}).values()
    made_with = [content.get("made_with"), *(stage.get("made_with") for stage in stages)]
    assert any(one and "revision" in one for one in made_with)
    values = pq.read_table(folder / FIGURES, columns=["value"])["value"]
    assert len(values) - values.null_count > 1


@pytest.mark.parametrize(
    "folder",
    [pytest.param(one, marks=pytest.mark.slow if one.name in BEFORE else (), id=one.name) for one in FOLDERS],
)
def test_every_record_is_printed_again(folder, tmp_path):
    """Those of which no figure may change since (`KEPT`) among the slow ones."""
    printed = list(redraw.write_tables(folder, tmp_path))
    tables = dict.fromkeys(pq.read_table(folder / FIGURES, columns=["table"])["table"].to_pylist())
    names = [name if name.endswith(".md") else f"{name}.csv" for name in tables]
    names = ["intervals.csv"] * (folder / CASES).exists() + names
    assert printed == [tmp_path / name for name in names]
    assert all(path.stat().st_size > 0 for path in printed)


def test_figures_recorded_so_far_are_kept():
    """A digest of all of them, but for the ends of intervals that pages once had as text alone."""
    digest, count = hashlib.sha256(), 0
    for folder in FOLDERS:
        if folder.name in BEFORE:
            for one in read_figures(folder / FIGURES):
                is_cell = one.row >= 0 and one.table.endswith(".md")
                kept = tuple(one._replace(low=None, high=None) if is_cell else one)
                if not (one.figure == "tau" and folder.name == "2026-11-23-stability"):
                    digest.update(repr((folder.name, kept)).encode())
                    count += 1
    assert (count, digest.hexdigest()[:16]) == KEPT


def test_one_record_is_printed_again_by_the_command(tmp_path, capsys):
    name = "2026-11-23-found-dependence"
    assert run_module(redraw, [name, "--into", str(tmp_path)]) == 0
    assert {p.name for p in (tmp_path / name).iterdir()} == {
        "found.csv", "found_dependence.md", "training.csv",
    }  # fmt: skip
    page = (tmp_path / name / "found_dependence.md").read_text(encoding="utf-8")
    assert "| 8 | 0.76 ±.17 | 0.56 ±.21 |" in page
    assert "training.csv" in capsys.readouterr().out
    assert run_module(redraw, ["nothing", "--into", str(tmp_path)]) == 2
    assert "not a record" in capsys.readouterr().err


def test_nested_figures_come_back(tmp_path):
    estimate = {"value": 0.5, "low": 0.25, "high": None, "cases": 7, "clusters": 3}
    tree = {
        "lora": {"all": {"damage": [0.1, 0.05, None, 12], "spill": [None, None, None, 0]}},
        "rome": {"skill": estimate | {"few": [["world", 3, 0.4, 0.6]]}, "who": "nobody", "none": None},
        "runs": [{"seconds": 1.5}, {"seconds": 2}],
        "slopes": [0.25, 1e-9],
    }
    write_figures(flatten_figures("found", tree) + flatten_figures("seconds", 2.5), tmp_path / FIGURES)
    figures = read_figures(tmp_path / FIGURES)
    assert nest_figures([one for one in figures if one.table == "found"]) == tree
    assert nest_figures([one for one in figures if one.table == "seconds"]) == 2.5
    named = flatten_figures("found", {"lora": {"all": {"damage": 0.5}}}, ("editor", "subset"))
    assert [(one.names, one.labels, one.figure, one.value) for one in named] == [
        (("editor", "subset"), ("lora", "all"), "damage", 0.5)
    ]


ESTIMATE = Estimate(0.12345, 0.1, 0.15, 9, 3)
TABLES = [
    Table("a", "First", ["editor", "when", "damage"], [["lora", "before", ESTIMATE], ["rome", "after", None]],
          "Note.", words=2, better={"damage": "low"}, contest=[0]),
    Table("b", "Second", ["who", "what"], [["all", "words"], ["some", 12]]),
]  # fmt: skip


def test_a_page_of_tables_is_printed_as_they_were_shown(tmp_path):
    rows = [row for table in TABLES for row in figures_of_table("page.md", table)]
    write_figures(rows, tmp_path / FIGURES)
    figures = read_figures(tmp_path / FIGURES)
    assert print_page(figures) == "\n".join(map(markdown_section, TABLES))
    cells = [one for one in figures if one.row >= 0]
    assert [(one.section, one.labels, one.figure, one.value, one.low, one.cases) for one in cells] == [
        ("First", ("lora", "before"), "damage \u2193", 0.1235, 0.1, 9),
        ("First", ("rome", "after"), "damage \u2193", None, None, None),
        ("Second", ("all",), "what", None, None, None),
        ("Second", ("some",), "what", 12, None, None),
    ]


def test_a_study_writes_settings_figures_and_every_command(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")
    run = Run(tmp_path, "demo")
    run.corpus.mkdir(parents=True)
    write_json(run.corpus / "counts.json", {"tokens": 5})
    corpus_files.write_record(run.config_file, {"corpus": {"settings": {"world": {"path": "/far/facts"}}}})
    for editor, seed in (("none", 0), ("none", 1), ("rome", 0)):
        folder = run.edits / "hase" / f"{editor}-{seed}"
        folder.mkdir(parents=True)
        write_json(folder / "config.json", {"editor": editor, "settings": {"count": 3, "seed": seed}})
    run.metrics.parent.mkdir(parents=True)
    run.metrics.write_text(json.dumps({"step": 10, "loss": 0.5}) + "\n")
    tuned = {"rome": {"chosen": {"rate": 0.1}, "search": [{"rate": 0.1, "skill": 0.2}]}}
    first = record.write_record(
        run, "study", "python -m experiments.study --a", TABLES, (), ("editor",),
        {"cases": 3}, tuned, found={"none": {"damage": [0.0, None, None, 3]}},
    )  # fmt: skip
    assert read_nested(first / FIGURES, "found") == {"none": {"damage": [0.0, None, None, 3]}}
    assert read_nested(first / FIGURES, "training") == {"10": {"loss": 0.5}}
    assert read_nested(first / FIGURES, "tuned") == {"rome": {"search": [{"rate": 0.1, "skill": 0.2}]}}
    page = [one for one in read_figures(first / FIGURES) if one.table == "study.md"]
    assert "### First" in print_page(page)
    content = json.loads((first / "record.json").read_text(encoding="utf-8"))
    assert content["stages"]["corpus"]["settings"]["world"]["path"] == "facts"
    assert content["settings"] == {"cases": 3}
    assert content["edits"]["shared"] == {"shared": {"settings": {"count": 3}}}
    assert content["edits"]["each"]["none"] == {
        "shared": {"editor": "none"},
        "each": {"0": {"settings": {"seed": 0}}, "1": {"settings": {"seed": 1}}},
    }
    again = record.write_record(run, "study", "python -m experiments.study --b")
    assert again.name == f"{first.name}-2"
    commands = json.loads((again / "record.json").read_text(encoding="utf-8"))["commands"]
    assert commands == ["python -m experiments.study --a", "python -m experiments.study --b"]


def test_shared_settings_stand_once():
    each = {"a": {"x": {"y": 1, "z": 2}, "w": 3}, "b": {"x": {"y": 1, "z": 4}, "w": 3}}
    assert share_settings(each) == {
        "shared": {"x": {"y": 1}, "w": 3},
        "each": {"a": {"x": {"z": 2}}, "b": {"x": {"z": 4}}},
    }
