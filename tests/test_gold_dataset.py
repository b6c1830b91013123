"""Gold as a dataset: it says what edits are scored by, whole, with names, and `datasets` opens it offline."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

import testbed
from corpus.files import verify_folder
from testbed import export, verify
from testbed.gold_dataset import TABLES, split_name
from tests.runs import at, complaint, copied


@pytest.fixture(scope="module")
def dataset(finished, tmp_path_factory):
    """Of two worlds of the same facts, under two names."""
    runs = copied(finished, tmp_path_factory.mktemp("gold"))
    shutil.copytree(runs / "x", runs / "other-1")
    words = ["--gold", "--and-runs", "other-1", "--cases.count", "11"]
    assert export.main([*at(runs), *words]) == 0
    return runs / "x" / "gold"


def table(dataset, name, world="x"):
    return pq.read_table(dataset / name / f"{world}.parquet")


def test_beliefs_are_those_that_edits_are_scored_by(dataset, finished):
    """The columns of what `testbed.edit` recorded of the same cases, question by question."""
    recorded, gold = testbed.open(finished / "x").results("lora-down"), table(dataset, "choices")
    assert len(gold) == len(recorded)
    for column in ("case", "role", "subject", "relation", "stated", "options"):
        assert gold[column].to_pylist() == recorded[column].to_pylist()
    for column in ("agent_before", "agent_evidence", "frequency_before", "frequency_evidence"):
        for mine, theirs in zip(gold[column].to_pylist(), recorded[column].to_pylist(), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    claims = testbed.open(finished / "x").results("lora-down", "claims")
    mine = table(dataset, "claims")
    for column in ("sentence", "agent_before", "agent_evidence"):
        assert mine[column].to_pylist() == claims[column].to_pylist()


def test_distributions_are_distributions(dataset):
    choices = table(dataset, "choices")
    for column in ("agent_before", "agent_evidence"):
        for options, belief in zip(choices["options"].to_pylist(), choices[column].to_pylist(), strict=True):
            assert len(options) == len(set(options)) == len(belief)
            assert min(belief) >= 0
            assert sum(belief) <= 1 + 1e-9
    assert set(choices["exactness"].to_pylist()) == {"approximation"}
    assert choices["bound"].null_count == len(choices)


def test_answers_change_where_they_must(dataset):
    choices = table(dataset, "choices").to_pylist()
    changed = [row for row in choices if row["must_change_evidence"]]
    assert 0 < len(changed) < len(choices)
    for row in changed:
        assert row["agent_answer_before"] != row["agent_answer_evidence"]


def test_facts_are_the_world(dataset, finished):
    world = testbed.open(finished / "x").world
    facts = table(dataset, "facts").to_pylist()
    assert len(facts) == len(world.graph)
    names, relations = world.graph.entities, world.graph.relations
    for f, row in enumerate(facts):
        assert row["subject"] == names[world.graph.subject[f]]
        assert row["object"] == names[world.generative.truth[f]]
        up = world.graph.upstream[world.graph.relation[f]]
        assert row["depends_on"] == (relations[up] if up >= 0 else None)
    stated = world.sentences.a[world.sentences.kind == 0]
    assert sum(row["stated"] for row in facts) == len(stated)


def test_worlds_say_what_they_were_made_of(dataset):
    (about,) = table(dataset, "worlds").to_pylist()
    assert about["cases"] == len(table(dataset, "cases"))
    assert json.loads(about["settings"])["evaluation"]["name"] == "hase"
    assert about["why"] in about["agent"]
    verify_folder(dataset)


def test_damage_is_found_and_said_how_to_mend(dataset, tmp_path, capsys):
    runs = tmp_path / "runs"
    shutil.copytree(dataset.parents[1], runs)
    path = runs / "x" / "gold" / "claims" / "x.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    assert verify.main(at(runs)) == 2
    assert "python -m testbed.export --gold --run x" in " ".join(capsys.readouterr().out.split())


def test_nothing_is_overwritten(dataset, capsys):
    assert export.main([*at(dataset.parents[1]), "--gold"]) == 2
    assert "is there already" in complaint(capsys)


def test_two_worlds_of_one_name_are_refused(dataset, capsys, tmp_path):
    runs = dataset.parents[1]
    shutil.copytree(runs / "other-1", runs / "other_1", dirs_exist_ok=True)
    words = [
        "--gold",
        "--cases.count",
        "5",
        "--and-runs",
        "other-1",
        "other_1",
        "--folder",
        str(tmp_path / "gold"),
    ]
    assert export.main([*at(runs), *words]) == 2
    assert "names of their own" in complaint(capsys)
    assert not (tmp_path / "gold").exists()


def test_names_of_splits():
    assert [split_name(name) for name in ("demo", "a-1", "a.b c", "--")] == ["demo", "a_1", "a_b_c", "world"]


@pytest.mark.slow
def test_datasets_opens_it_offline(dataset, tmp_path):
    pytest.importorskip("datasets")
    program = f"""
from datasets import get_dataset_config_names, load_dataset
folder = {str(dataset)!r}
names = get_dataset_config_names(folder)
assert set(names) == {set(TABLES) - {"passages"}!r}, names
for name in names:
    loaded = load_dataset(folder, name)
    assert set(loaded) == {{"x", "other_1"}}, loaded
first = load_dataset(folder, split="x")
assert abs(sum(first[0]["agent_before"]) - 1) < 1 and first[0]["subject"]
print(len(first))
"""
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(tmp_path), "PATH": ""}
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, env=offline, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(table(dataset, "choices"))
