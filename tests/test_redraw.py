"""Records of experiments: short settings and one table of figures, drawn again."""

import json
import re

import pytest

from corpus import files as corpus_files
from corpus.files import write_json
from experiments import record, record_pictures, redraw
from experiments.command import run_module
from experiments.record import RECORDS, share_settings
from experiments.tidy import (
    FIGURES,
    flatten_figures,
    nest_figures,
    read_figures,
    read_markdown,
    read_nested,
    read_page,
    write_figures,
    write_markdown,
)
from testbed.run.runs import Run

FOLDERS = sorted(folder for folder in RECORDS.iterdir() if folder.is_dir())
LARGEST = 200_000


def names_of(folders):
    return [folder.name for folder in folders]


def test_records_are_small():
    assert FOLDERS
    assert sum(path.stat().st_size for path in RECORDS.rglob("*") if path.is_file()) < 6_000_000


@pytest.mark.parametrize("folder", FOLDERS, ids=names_of(FOLDERS))
def test_a_record_is_settings_and_one_table(folder):
    assert sorted(p.name for p in folder.iterdir()) == [FIGURES, "record.json"]
    assert (folder / FIGURES).stat().st_size <= LARGEST
    content = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    assert content["commands"]
    assert all(re.match(r"python -m experiments\.\w+|make demo$", command) for command in content["commands"])
    assert content["device"]
    assert content["date"] == folder.name[:10]
    made_with = [content.get("made_with"), *(stage.get("made_with") for stage in content["stages"].values())]
    assert any(one and "revision" in one for one in made_with)
    figures = read_figures(folder / FIGURES)
    assert sum(one.value is not None for one in figures) > 1


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=names_of(FOLDERS))
def test_every_record_is_drawn_again(folder, tmp_path):
    drawn = list(redraw.draw_record(folder, tmp_path))
    assert any(path.suffix == ".png" for path in drawn)
    tables = dict.fromkeys(one.table for one in read_figures(folder / FIGURES))
    for table in tables:
        path = tmp_path / (table if table.endswith(".md") else f"{table}.csv")
        assert path in drawn
        assert path.stat().st_size > 0
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn if path.suffix == ".png")
    own = [title for title in record_pictures.OWN if folder.name.endswith(title)]
    assert all(tmp_path / f"{title}.png" in drawn for title in own)


def test_one_record_is_drawn_again_by_the_command(tmp_path, capsys):
    name = "2026-11-23-found-dependence"
    assert run_module(redraw, [name, "--into", str(tmp_path)]) == 0
    assert {p.name for p in (tmp_path / name).iterdir()} == {
        "found.csv", "found.png", "found_dependence.md", "training.csv", "training.png",
    }  # fmt: skip
    page = (tmp_path / name / "found_dependence.md").read_text(encoding="utf-8")
    assert "| 8 | 0.76 ±.17 | 0.56 ±.21 |" in page
    assert "training.png" in capsys.readouterr().out
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


PAGE = """# A page

Words.

### First

| editor | when | damage |
| --- | --- | ---: |
| lora | before | **0.12 ±.03** (0.10 to 0.14) |
| rome | after | - |

| who | what |
| --- | --- |
| all | words |
"""


def test_a_page_comes_back_with_its_numbers(tmp_path):
    write_figures(read_markdown("page.md", PAGE), tmp_path / FIGURES)
    figures = read_figures(tmp_path / FIGURES)
    assert write_markdown(figures) == PAGE
    cells = [one for one in figures if one.row >= 0]
    assert [(one.section, one.labels, one.figure, one.value) for one in cells] == [
        ("First", ("lora", "before"), "damage", 0.12),
        ("First", ("rome", "after"), "damage", None),
        ("First", ("all",), "what", None),
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
    line = {"step": 10, "loss": 0.5}
    tuned = {"rome": {"chosen": {"rate": 0.1}, "search": [{"rate": 0.1, "skill": 0.2}]}}
    first = record.write_record(
        run, "study", "python -m experiments.study --a", [line], {"page.md": PAGE}, ("editor",),
        {"cases": 3}, tuned, found={"none": {"damage": [0.0, None, None, 3]}},
    )  # fmt: skip
    assert read_nested(first / FIGURES, "found") == {"none": {"damage": [0.0, None, None, 3]}}
    assert read_nested(first / FIGURES, "training") == {"10": {"loss": 0.5}}
    assert read_nested(first / FIGURES, "tuned") == {"rome": {"search": [{"rate": 0.1, "skill": 0.2}]}}
    assert read_page(first / FIGURES, "page.md") == PAGE
    content = json.loads((first / "record.json").read_text(encoding="utf-8"))
    assert content["stages"]["corpus"]["settings"]["world"]["path"] == "facts"
    assert content["settings"] == {"cases": 3}
    assert content["edits"]["shared"] == {"shared": {"settings": {"count": 3}}}
    assert content["edits"]["each"]["none"] == {
        "shared": {"editor": "none"},
        "each": {"0": {"settings": {"seed": 0}}, "1": {"settings": {"seed": 1}}},
    }
    again = record.write_record(run, "study", "python -m experiments.study --b", [])
    assert again.name == f"{first.name}-2"
    commands = json.loads((again / "record.json").read_text(encoding="utf-8"))["commands"]
    assert commands == ["python -m experiments.study --a", "python -m experiments.study --b"]


def test_shared_settings_stand_once():
    each = {"a": {"x": {"y": 1, "z": 2}, "w": 3}, "b": {"x": {"y": 1, "z": 4}, "w": 3}}
    assert share_settings(each) == {
        "shared": {"x": {"y": 1}, "w": 3},
        "each": {"a": {"x": {"z": 2}}, "b": {"x": {"z": 4}}},
    }
