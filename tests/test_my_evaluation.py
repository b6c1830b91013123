"""A user's own evaluation, from the command line to the page: Hase's beside the one that is there to copy."""

import csv

import pytest
from experiments.my_evaluation import MyEvaluation

from corpus.files import read_json
from testbed import edit, report
from testbed.engine.records import Columns, control_stem
from testbed.engine.results import read_results
from tests.runs import at, complaint, copied

MINE = "experiments.my_evaluation:MyEvaluation"
FEW = ["lora-down", "--lora-down.steps", "2", "--cases.count", "8"]
CONTROL = "the same of somebody else"


@pytest.mark.slow
@pytest.mark.usefixtures("blank_pictures")
def test_edits_resumes_and_reports_beside_hases(finished, tmp_path, capsys):
    runs = copied(finished, tmp_path)
    args = [*at(runs), *FEW, "--evaluation", MINE, "--my-evaluation.neighbours", "1"]
    assert edit.main(args) == 0
    (folder,) = (runs / "x" / "edits" / MINE.replace(":", ".")).iterdir()
    config = read_json(folder / "config.json")
    assert config["settings"]["evaluation"] == {"name": MINE, "neighbours": 1}
    assert config["controls"] == [CONTROL]
    columns = Columns(MyEvaluation().interpretations, MyEvaluation.facets)
    told, controlled = (read_results(folder, columns, stem) for stem in ("", control_stem(CONTROL)))
    for name in ("subject", "relation", "object", "case"):
        assert (told.cases[name] == controlled.cases[name]).all()
    # The same questions before the edit, and other answers after it.
    assert (told.choices.lm[:, 0] == controlled.choices.lm[:, 0]).all()
    assert (told.choices.lm[:, 1] != controlled.choices.lm[:, 1]).any()
    capsys.readouterr()
    assert edit.main(args) == 0
    assert "has these edits already" in capsys.readouterr().out

    assert report.main(at(runs)) == 0
    assert "name it with --evaluation" in capsys.readouterr().out
    assert report.main([*at(runs), "--evaluation", "hase", MINE]) == 0
    page = (runs / "x" / "report" / "index.html").read_text(encoding="utf-8")
    assert "Do neighbours change?" in page
    assert "Coherence with a rational agent" in page
    assert f"lora-down, told {CONTROL}" in page
    with (runs / "x" / "report" / "summary.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["evaluation"] for row in rows} == {"hase", MINE.replace(":", ".")}


def test_an_unknown_evaluation_is_refused_in_words(trained, tmp_path, capsys):
    runs = copied(trained, tmp_path)
    for name, says in (
        ("taxonomy", "unknown evaluation 'taxonomy'; use hase"),
        ("experiments.my_evaluation:Nothing", "has no class Nothing"),
        ("no_such_module:Mine", "No module named"),
        ("experiments.my_editor:MyEditor", "with make_cases and metrics"),
    ):
        assert edit.main([*at(runs), *FEW, "--evaluation", name]) == 2
        assert says in complaint(capsys)
    assert not (runs / "x" / "edits").exists()
