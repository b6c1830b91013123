"""TAXI from the command line to the page, on a world of three categories."""

import csv

import pytest

from testbed import corpus, edit, report, train
from testbed.evaluations.taxi.cases import CONTROLS
from tests.runs import MODEL, at, complaint

FEW = "--world.taxonomy.superordinates 1 --world.taxonomy.categories 3 --world.taxonomy.properties 4".split()
BRIEFLY = "--train.steps 30 --train.rows 8 --train.row-length 100 --train.evaluate-every 15".split()
SOME = ["--cases.count", "10", "--lora-down.steps", "2", "--batch-edits", "5"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("taxi")
    assert corpus.main(["taxi", *at(folder), *FEW]) == 0
    recipe = [*MODEL, *BRIEFLY, "--train.checkpoint-every", "15"]
    assert train.main(["taxi", *at(folder), *recipe]) == 0
    return folder


def test_the_whole_command(runs, capsys):
    assert edit.main(["taxi", *at(runs), *SOME, "none", "lora-down", "--taxi.controls"]) == 0
    assert "consistency" in capsys.readouterr().out
    assert report.main(at(runs)) == 0
    page = (runs / "x" / "report" / "index.html").read_text(encoding="utf-8")
    for said in ("as printed", "Under both interpretations", "Rare minus typical"):
        assert said in page
    with (runs / "x" / "report" / "summary.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    readers = {row["reader"] for row in rows}
    assert {"chance", "Bayesian reader, correction", *(f"none, told {name}" for name in CONTROLS)} <= readers
    whole = [row for row in rows if row["reader"] == "Bayesian reader" and row["subset"] == "all"]
    agent = {row["metric"]: float(row["value"]) for row in whole if row["value"] != "nan"}
    assert agent["success"] == agent["agreement"] == 1


def test_the_papers_agent_is_refused_in_words(runs, capsys):
    assert edit.main(["taxi", *at(runs), *SOME, "none", "--agent", "paper"]) == 2
    assert "needs --agent exact" in complaint(capsys)
