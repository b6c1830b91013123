"""Seesaw-CF from the command line to the page, on a world of 60 people."""

import csv
from pathlib import Path

import pytest

from testbed import corpus, edit, report, train
from testbed.evaluations.seesaw.cases import CONTROL
from testbed.run.runs import Run
from testbed.run.world import load_world
from tests.runs import MODEL, at, complaint

SHARED = Path(__file__).parents[2] / "shared" / "data"
SLICE, TAGS = SHARED / "wikidata_slice", SHARED / "seesaw_cf"

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
    assert "success" in " ".join(capsys.readouterr().out.split())
    assert report.main(at(runs)) == 0
    folder = runs / "x" / "report"
    page = (folder / "index.html").read_text(encoding="utf-8")
    titles = (
        "The three kinds of others",
        "Group or frequency",
        "(Table 5)",
        "Flaws of texts",
        "How often a judge by keywords would err",
        "(Tables 10 to 15)",
        "printed",
        "n = ",
    )
    for said in titles:
        assert said in page
    assert {path.name for path in folder.rglob("*.svg")} >= {"kinds.svg", "race-new.svg", "edit-full.svg"}
    with (folder / "summary.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    readers = {row["reader"] for row in rows}
    assert {"Bayesian reader, do", f"none, told {CONTROL}", "frequency reader"} <= readers
    whole = [row for row in rows if row["reader"] == "Bayesian reader" and row["subset"] == "all"]
    agent = {row["metric"]: float(row["value"]) for row in whole if row["value"] != "nan"}
    assert agent["success"] == agent["kept.old_holders"] == 1
    assert agent["excess.old_holders"] == 0


@pytest.mark.skipif(not (SLICE.exists() and TAGS.exists()), reason="real people are not here")
def test_real_people_from_the_slice_to_the_page(tmp_path, capsys):
    """Nobody's name is on the page; small groups have their number and no star."""
    real = ["--world.path", str(SLICE), "--world.people.tags", str(TAGS), "--world.subjects", "60"]
    assert corpus.main(["seesaw", *at(tmp_path), *real]) == 0
    assert "occupations stand in for fields of work" in capsys.readouterr().out
    assert train.main(["seesaw", *at(tmp_path), *MODEL, *BRIEFLY, "--train.checkpoint-every", "15"]) == 0
    assert edit.main(["seesaw", *at(tmp_path), *SOME, "none"]) == 0
    assert report.main(at(tmp_path)) == 0
    graph = load_world(Run(tmp_path, "x")).graph
    text = "".join(
        path.read_text(encoding="utf-8")
        for path in (tmp_path / "x" / "report").rglob("*")
        if path.suffix in (".html", ".md", ".csv", ".tex")
    )
    assert not [graph.entities[person] for person in graph.subjects if graph.entities[person] in text]
    assert "n = " in text
    assert "occupations stand in for fields of work, languages spoken for native ones" in text


def test_the_papers_agent_is_refused_in_words(runs, capsys):
    assert edit.main(["seesaw", *at(runs), *SOME, "none", "--agent", "paper"]) == 2
    assert "--agent exact" in complaint(capsys)
