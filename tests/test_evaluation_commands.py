"""TAXI, Seesaw-CF and LEME from the command line to the page, each on a small world of its own."""

import csv
import json
from pathlib import Path
from typing import NamedTuple

import pytest

from testbed import corpus, edit, report, train
from testbed.evaluations.seesaw.cases import CONTROL
from testbed.evaluations.taxi.cases import CONTROLS
from testbed.run.runs import Run
from testbed.run.world import load_world
from tests.runs import MODEL, at, complaint

SHARED = Path(__file__).parents[2] / "shared" / "data"
SLICE, TAGS = SHARED / "wikidata_slice", SHARED / "seesaw_cf"
BRIEFLY = "--train.steps 30 --train.rows 8 --train.evaluate-every 15 --train.checkpoint-every 15".split()

pytestmark = pytest.mark.slow


class Whole(NamedTuple):
    """The commands of an evaluation, and what stands on the page then.

    Attributes:
        world, some, written: words of the corpus; of every edit; of those that are reported.
        titles: on the page.
        readers: in summary.csv.
        perfect: metrics in which the Bayesian reader has 1.
    """

    world: str
    some: str
    written: str
    row_length: str
    titles: tuple[str, ...]
    readers: set[str]
    perfect: tuple[str, ...]


EVERY = {
    "taxi": Whole(
        "--world.taxonomy.superordinates 1 --world.taxonomy.categories 3 --world.taxonomy.properties 4",
        "--cases.count 10 --lora-down.steps 2 --batch-edits 5",
        "none lora-down --taxi.controls",
        "100",
        ("as printed", "Under both interpretations", "Rare minus typical", "consistency"),
        {"chance", "Bayesian reader, correction", *(f"none, told {name}" for name in CONTROLS)},
        ("success", "agreement"),
    ),
    "seesaw": Whole(
        "--world.subjects 60 --world.people.sizes 30 20 10 --world.people.continents 2 "
        "--world.people.countries 2 --world.people.places 2 --world.people.languages 4 "
        "--world.people.works 2 --world.people.regions 3",
        "--cases.count 10 --seesaw.others 4 --batch-edits 5",
        "none full --full.steps 2 --seesaw.samples 1 --seesaw.longest 12 --seesaw.controls",
        "100",
        (
            "The three kinds of others", "Group or frequency", "(Table 5)", "Flaws of texts",
            "(Tables 10 to 15)", "printed", "n = ",
        ),
        {"Bayesian reader, do", f"none, told {CONTROL}", "frequency reader"},
        ("success", "kept.old_holders"),
    ),
    "leme": Whole(
        "--world.subjects 80 --world.coupled.objects 4 --exact.planted 0.2",
        "--cases.count 10 --lora-down.steps 2 --batch-edits 5 --leme.samples 2 --leme.longest 40",
        "none lora-down in-context --leme.controls",
        "300",
        (
            "as printed", "Under both interpretations", "Coupled entity and twin", "judged by people",
            "signed rank", "Chi-square", "Each simple measure and its own question",
        ),
        {"Bayesian reader", "lora-down"},
        ("edit.subject", "internal.subject", "topicality"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=EVERY)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def runs(name, tmp_path_factory):
    folder, words = tmp_path_factory.mktemp(name), EVERY[name]
    assert corpus.main([name, *at(folder), *words.world.split()]) == 0
    assert train.main([name, *at(folder), *MODEL, *BRIEFLY, "--train.row-length", words.row_length]) == 0
    return folder


def edit_some(name, runs, *words):
    return edit.main([name, *at(runs), *EVERY[name].some.split(), *words])


def rows_of(runs):
    with (runs / "x" / "report" / "summary.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_whole_command(name, runs):
    whole = EVERY[name]
    assert edit_some(name, runs, *whole.written.split()) == 0
    assert report.main(at(runs)) == 0
    page = (runs / "x" / "report" / "index.html").read_text(encoding="utf-8")
    assert [title for title in whole.titles if title not in page] == []
    rows = rows_of(runs)
    assert whole.readers <= {row["reader"] for row in rows}
    assert any(", told " in row["reader"] for row in rows)
    agent = {
        row["metric"]: float(row["value"])
        for row in rows
        if row["reader"] == "Bayesian reader" and row["subset"] == "all"
    }
    assert {agent[metric] for metric in whole.perfect} == {1}
    if name == "seesaw":
        assert agent["excess.old_holders"] == 0
        pictures = {path.name for path in (runs / "x" / "report").rglob("*.svg")}
        assert pictures >= {"kinds.svg", "race-new.svg", "edit-full.svg"}
    if name == "leme":
        check_passages(runs / "x" / "report" / "leme")


def check_passages(folder):
    assert (folder / "worst-lora-down.txt").exists()
    told = (folder / "passages-lora-down.jsonl").read_text(encoding="utf-8")
    passages = [json.loads(line) for line in told.splitlines()]
    # Two readers, three entities, two samples of ten edits; a twin may be missing.
    assert 80 <= len(passages) <= 120
    assert {line["reader"] for line in passages} == {"lora-down", "no edit"}
    for line in passages:
        assert not line["text"] or line["text"].split(" . ") == [s["text"] for s in line["sentences"]]
        assert all((s["kind"] is None) <= bool(s["why"]) for s in line["sentences"])
    assert any(s["error"] for line in passages for s in line["sentences"])


def test_the_papers_agent_is_refused_in_words(name, runs, capsys):
    assert edit_some(name, runs, "none", "--agent", "paper") == 2
    assert "--agent exact" in complaint(capsys)


def test_a_sequence_writes_and_what_the_corpus_states_wrongly_is_corrected(name, runs):
    if name != "leme":
        pytest.skip("no other evaluation has texts of sequences, or corrections")
    assert edit_some(name, runs, "lora-down", "--sequential", "5") == 0
    assert report.main(at(runs)) == 0
    assert edit_some(name, runs, "none", "--leme.corrections", "0.5") == 0
    assert report.main(at(runs)) == 0
    rows = [row for row in rows_of(runs) if row["subset"] == "correction" and row["cases"] != "0"]
    said = {row["reader"]: row["value"] for row in rows if row["metric"] == "edit.subject"}
    assert float(said["Bayesian reader"]) == 1


@pytest.mark.skipif(not (SLICE.exists() and TAGS.exists()), reason="real people are not here")
def test_real_people_from_the_slice_to_the_page(tmp_path, capsys):
    """Nobody's name is on the page; small groups have their number and no star."""
    real = ["--world.path", str(SLICE), "--world.people.tags", str(TAGS), "--world.subjects", "60"]
    assert corpus.main(["seesaw", *at(tmp_path), *real]) == 0
    assert "occupations stand in for fields of work" in capsys.readouterr().out
    assert train.main(["seesaw", *at(tmp_path), *MODEL, *BRIEFLY, "--train.row-length", "100"]) == 0
    assert edit_some("seesaw", tmp_path, "none") == 0
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
