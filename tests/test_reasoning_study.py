"""The analysis of ways to reason, where beliefs are what a corpus states."""

import numpy as np
import pytest

from corpus.files import read_json
from experiments import record
from experiments.analyses import reasoning
from experiments.analyses.reasoning import (
    LAWS,
    WAYS,
    Settings,
    count_holders,
    make_mind,
    measure_world,
    read_facts,
    table_of,
)
from lm.editors.self_bayes.reviser import WEIGHTS
from testbed.evaluations.kinds import FOLLOWS, SILENT
from testbed.open_run import open_run

SEED = 11


@pytest.fixture(scope="module")
def joint_world(tmp_path_factory):
    """Two requests in a small world of joint causes: the settings, what was found, and the run opened."""
    folder = tmp_path_factory.mktemp("reasoning")
    same = folder / "same.npz"
    same.write_bytes(WEIGHTS.read_bytes())
    options = Settings(runs=folder, worlds=1, edits=2, revisers=(same,))
    found = measure_world(options, "joint", SEED)
    return options, found, open_run(options.runs / f"reasoning-joint-{SEED}", "exact")


def test_every_way_judges_the_same_questions(joint_world):
    options, found, _ = joint_world
    of = {way: [x for x in found if x["way"] == way] for way in (*WAYS, "same")}
    assert [x | {"way": ""} for x in of["same"]] == [x | {"way": ""} for x in of["learned"]]
    assert len({len(rows) for rows in of.values()}) == 1
    assert {x["wrong"] for x in found} == {*options.wrong}
    assert all(0 <= x["distance"] <= 1 for x in found)
    questions = [[(x["case"], x["role"], x["shared"]) for x in rows] for rows in of.values()]
    assert all(one == questions[0] for one in questions)


def test_no_reasoning_is_as_far_from_gold_as_the_request_moves_the_agent(joint_world):
    _, found, run = joint_world
    distances = [x["distance"] for x in found if x["way"] == "none" and not x["wrong"]]
    cases = list(run.cases("kinds", 2, seed=SEED))
    facts = read_facts(run.world, cases, 0, SEED)
    moves = []
    for case in cases:
        s = np.searchsorted(facts.subjects, case.request.subject)
        for choice in case.choices:
            if choice.subject == case.request.subject and choice.role in (FOLLOWS, SILENT):
                before, after = (np.append(p, 1 - p.sum()) for p in choice.agent[:2])
                if facts.known[s, choice.relation] < 0:
                    moves.append(np.abs(before - after).sum() / 2)
    np.testing.assert_allclose(distances, moves, atol=1e-6)
    assert max(distances) > 0


@pytest.mark.parametrize("share", [0.0, 0.1, 0.6])
def test_wrong_beliefs_are_those_of_others(joint_world, share):
    """Each relation keeps its objects and whom it speaks of; the share is about as large as it should be."""
    _, _, run = joint_world
    right, wrong = (read_facts(run.world, [], x, SEED).known for x in (0.0, share))
    np.testing.assert_array_equal(right >= 0, wrong >= 0)
    np.testing.assert_array_equal(np.sort(right, axis=0), np.sort(wrong, axis=0))
    assert (right != wrong).sum() <= share * 1.5 * (right >= 0).sum()
    assert (right != wrong).any() == bool(share)


def test_holders_are_counted_as_a_naive_twin_counts_them(joint_world):
    _, _, run = joint_world
    case = next(iter(run.cases("kinds", 1, seed=SEED)))
    facts = read_facts(run.world, [case], 0, SEED)
    subject, choice = int(np.searchsorted(facts.subjects, case.request.subject)), case.choices[0]
    new = int(np.searchsorted(facts.objects, case.request.object))
    counted = count_holders(facts, subject, case.request.relation, new, choice)
    peers, everybody = np.zeros(len(facts.objects)), np.zeros(len(facts.objects))
    for s, row in enumerate(facts.known):
        if s != subject and row[choice.relation] >= 0:
            everybody[row[choice.relation]] += 1
            peers[row[choice.relation]] += row[case.request.relation] == new
    expected = peers + 3 * everybody / everybody.sum()
    np.testing.assert_allclose(counted, expected / expected.sum())


def test_a_mind_believes_what_is_stated(joint_world):
    _, _, run = joint_world
    facts = read_facts(run.world, [], 0, SEED)
    mind = make_mind(facts, run.world)
    stated = facts.known.T >= 0
    np.testing.assert_array_equal(np.asarray(mind.top)[:, :, 0][stated], facts.known.T[stated])
    np.testing.assert_allclose(np.asarray(mind.p).sum(axis=2).max(), 1, atol=1e-5)


def test_a_world_that_is_there_is_not_measured_again(joint_world, monkeypatch):
    options, found, _ = joint_world
    monkeypatch.setattr(reasoning, "judge_cases", None)
    assert measure_world(options, "joint", SEED) == found


def test_a_table_has_the_mean_of_each_kind_and_way(joint_world):
    _, found, _ = joint_world
    table = table_of(found, 0.1, 1)
    assert [row[:2] for row in table.rows] == [[law, way] for law in LAWS for way in WAYS]
    row = table.rows[[row[:2] for row in table.rows].index(["joint", "learned"])]
    distances = [x["distance"] for x in found if (x["way"], x["wrong"]) == ("learned", 0.1)]
    np.testing.assert_allclose(row[4].value, np.mean(distances))


def test_two_ways_of_one_name_are_refused(tmp_path):
    with pytest.raises(ValueError, match="rename a file"):
        Settings(revisers=(tmp_path / "learned.npz",))


def test_a_record_names_other_weights_by_their_file_alone(joint_world, tmp_path, monkeypatch):
    options, _, _ = joint_world
    monkeypatch.setattr(reasoning, "LAWS", ("joint",))
    monkeypatch.setattr(reasoning, "FIRST", SEED)
    monkeypatch.setattr(record, "RECORDS", tmp_path)
    reasoning.run_study(options)
    (written,) = tmp_path.glob("*/record.json")
    content = read_json(written)
    assert content["settings"]["revisers"] == ["same.npz"]
    assert content["commands"] == ["python -m experiments.reasoning --edits 2 --worlds 1 --revisers same.npz"]
