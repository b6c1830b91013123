"""Seesaw-CF from the command line to the page, on a world of 60 people."""

import csv

import pytest

from testbed import corpus, edit, report, train
from testbed.evaluations.seesaw.cases import CONTROL
from tests.runs import MODEL, at, complaint

PEOPLE = (
    "--world.subjects 60 --world.people.sizes 30 20 10 --world.people.continents 2 --world.people.countries "
    "2 --world.people.places 2 --world.people.languages 4 --world.people.works 2 --world.people.regions 3"
).split()
BRIEFLY = "--train.steps 30 --train.rows 8 --train.row-length 100 --train.evaluate-every 15".split()
SOME = ["--cases.count", "10", "--seesaw.others", "4", "--batch-edits", "5"]
WRITTEN = ["--seesaw.samples", "1", "--seesaw.longest", "12", "--seesaw.controls"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seesaw")
    assert corpus.main(["seesaw", *at(folder), *PEOPLE]) == 0
    recipe = [*MODEL, *BRIEFLY, "--train.checkpoint-every", "15"]
    assert train.main(["seesaw", *at(folder), *recipe]) == 0
    return folder


def test_the_whole_command(runs, capsys):
    full = ["--full.steps", "2"]
    assert edit.main(["seesaw", *at(runs), *SOME, *WRITTEN, "none", "full", *full]) == 0
    assert "edit success" in " ".join(capsys.readouterr().out.split())
    assert report.main(at(runs)) == 0
    folder = runs / "x" / "report"
    page = (folder / "index.html").read_text(encoding="utf-8")
    titles = (
        "The three kinds of others",
        "Group or frequency",
        "(Table 5)",
        "Flaws of texts",
        "printed",
        "n = ",
    )
    for said in titles:
        assert said in page
    assert {path.name for path in folder.rglob("*.png")} >= {"kinds.png", "race-new.png", "edit-full.png"}
    with (folder / "summary.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    readers = {row["reader"] for row in rows}
    assert {"Bayesian reader, do", f"none, told {CONTROL}", "frequency reader"} <= readers
    whole = [row for row in rows if row["reader"] == "Bayesian reader" and row["subset"] == "all"]
    agent = {row["metric"]: float(row["value"]) for row in whole if row["value"] != "nan"}
    assert agent["edit success"] == agent["kept old holders"] == 1
    assert agent["|X_d| old holders"] == 0


def test_the_papers_agent_is_refused_in_words(runs, capsys):
    assert edit.main(["seesaw", *at(runs), *SOME, "none", "--agent", "paper"]) == 2
    assert "--agent exact" in complaint(capsys)
