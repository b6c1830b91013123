"""LEME from the command line to the page, on a world of forty pairs."""

import csv
import json

import pytest

from testbed import corpus, edit, report, train
from testbed.evaluations.leme import Leme
from testbed.evaluations.leme.metrics import EDIT_SUBJECT
from testbed.scores.metric import labels_of
from tests.runs import MODEL, at, complaint

FEW = "--world.subjects 80 --world.coupled.objects 4 --exact.planted 0.2".split()
BRIEFLY = "--train.steps 30 --train.rows 8 --train.row-length 300 --train.evaluate-every 15".split()
SOME = "--cases.count 10 --lora-down.steps 2 --batch-edits 5 --leme.samples 2 --leme.longest 40".split()

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leme")
    assert corpus.main(["leme", *at(folder), *FEW]) == 0
    recipe = [*MODEL, *BRIEFLY, "--train.checkpoint-every", "15"]
    assert train.main(["leme", *at(folder), *recipe]) == 0
    return folder


def test_the_whole_command(runs, capsys):
    editors = ["none", "lora-down", "in-context"]
    assert edit.main(["leme", *at(runs), *SOME, *editors, "--leme.controls"]) == 0
    assert labels_of(Leme().metrics)[EDIT_SUBJECT] in capsys.readouterr().out
    assert report.main(at(runs)) == 0
    page = (runs / "x" / "report" / "index.html").read_text(encoding="utf-8")
    for said in (
        "as printed",
        "Under both interpretations",
        "Coupled entity and twin",
        "judged by people",
        "signed rank",
        "Chi-square",
        "Each simple measure and its own question",
    ):
        assert said in page
    assert (runs / "x" / "report" / "leme" / "worst-lora-down.txt").exists()
    told = (runs / "x" / "report" / "leme" / "passages-lora-down.jsonl").read_text(encoding="utf-8")
    passages = [json.loads(line) for line in told.splitlines()]
    # Two readers, three entities, two samples of ten edits; a twin may be missing.
    assert 80 <= len(passages) <= 120
    assert {line["reader"] for line in passages} == {"lora-down", "no edit"}
    assert all(
        line["text"].split(" . ") == [s["text"] for s in line["sentences"]] or not line["text"]
        for line in passages
    )
    assert all((s["kind"] is None) <= bool(s["why"]) for line in passages for s in line["sentences"])
    assert any(s["error"] for line in passages for s in line["sentences"])
    with (runs / "x" / "report" / "summary.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["subset"] == "all"]
    agent = {row["metric"]: float(row["value"]) for row in rows if row["reader"] == "Bayesian reader"}
    assert agent["edit.subject"] == agent["internal.subject"] == agent["topicality"] == 1
    assert any(row["reader"].startswith("lora-down, told") for row in rows)


def test_a_sequence_of_edits_writes_too(runs):
    again = ["--sequential", "5", "--cases.count", "10"]
    assert edit.main(["leme", *at(runs), *SOME, "lora-down", *again]) == 0
    assert report.main(at(runs)) == 0


def test_what_the_corpus_states_wrongly_is_corrected(runs):
    assert edit.main(["leme", *at(runs), *SOME, "none", "--leme.corrections", "0.5"]) == 0
    assert report.main([*at(runs)]) == 0
    with (runs / "x" / "report" / "summary.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["subset"] == "correction" and row["cases"] != "0"]
    said = {row["reader"]: row["value"] for row in rows if row["metric"] == "edit.subject"}
    assert float(said["Bayesian reader"]) == 1


def test_the_papers_agent_is_refused_in_words(runs, capsys):
    assert edit.main(["leme", *at(runs), *SOME, "none", "--agent", "paper"]) == 2
    assert "needs --agent exact" in complaint(capsys)
