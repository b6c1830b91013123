"""The paper's size as one command: its stages in their order, what it keeps of what was read, tables."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from corpus.files import read_json
from corpus.text.tokenizer import BOS, SEP
from experiments.measures.concluded import FACTS, NOBODY, RIGHT, read_table
from experiments.measures.followed import relation_table
from experiments.studies import full_size
from experiments.study import Findings
from lm.editors.self_bayes import BeliefConfig
from lm.editors.self_bayes.beliefs import Beliefs
from testbed.evaluations.hase.metrics import FOLLOWS
from testbed.run.runs import Run
from testbed.scores.metric import mean_of


def test_what_is_worth_most_comes_first(tmp_path):
    asked = replace(full_size.STUDY.options, preset="paper-laptop", fact_count=900, edits=8, runs=tmp_path)
    findings = Findings("full_size", full_size.STUDY, asked)
    titles = [title for title, _ in findings.stages()]
    name = "pretrain-paper-laptop-900"
    assert titles[:3] == [f"corpus of {name}", f"model of {name}", "what was read"]
    by = [title.removeprefix(f"edit {name} by ").split(",")[:1] for title in titles[3:]]
    assert by == [[editor] for editors in full_size.EDITORS.values() for editor in editors]
    (run,) = findings.runs()
    run.finished_file.parent.mkdir(parents=True)
    run.finished_file.write_text("{}")
    assert [title for title, _ in findings.stages()] == titles[2:]


@pytest.mark.parametrize("objects", [3, 20])
def test_what_was_read_is_kept(objects, world, tmp_path, monkeypatch):
    """Of whom rightly, and the likeliest objects of each belief."""
    run = Run(tmp_path, "read")
    run.folder.mkdir()
    tokens = world.tokenizer
    subjects = [[BOS, int(tokens.entity(int(s))[0])] for s in world.graph.subjects[:5]] + [[BOS, 1_000_000]]
    rng = np.random.default_rng(0)
    p = np.sort(rng.dirichlet(np.ones(objects), (2, 6)).astype(np.float32))[:, :, ::-1]
    read = Beliefs(
        np.array(subjects, np.int32),
        np.array([[token, SEP] for token in range(30, 30 + objects)], np.int32),
        np.broadcast_to(np.arange(objects, dtype=np.int32), p.shape),
        p,
        p[:, :, 0] / 2,
    )
    monkeypatch.setattr(full_size, "recall_beliefs", lambda *_: read)
    monkeypatch.setattr(full_size, "load_model", lambda *_: (None,))
    monkeypatch.setattr(full_size, "load_world", lambda _: world)
    full_size.save_mind(run, BeliefConfig())
    assert read_json(run.folder / "mind.json") == {
        "subjects_found": 6,
        "subjects": len(world.graph.subjects),
        "subjects_found_rightly": 5,
        "objects_found": objects,
        "objects": len(world.graph.objects),
    }
    with np.load(run.folder / "mind.npz") as kept:
        few = min(objects, full_size.KEPT_OBJECTS)
        np.testing.assert_array_equal(kept["subjects"], read.subjects)
        np.testing.assert_array_equal(kept["objects"], read.objects)
        np.testing.assert_array_equal(kept["top"], read.top[:, :, :few])
        np.testing.assert_allclose(kept["p"], p[:, :, :few], rtol=1e-3)
        np.testing.assert_array_equal(kept["mention_probability"], read.mention_probability)


def test_who_read_everything_has_read_all_facts_and_nothing_else(world):
    """And who reads the same but for one subject's facts takes none of them for read."""
    graph, spell = world.graph, world.tokenizer.entity
    people, things = graph.subjects.tolist(), graph.objects.tolist()
    longest = max(len(spell(o)) for o in things) + 1
    objects = np.array([[*spell(o), SEP, *[0] * (longest - 1 - len(spell(o)))] for o in things])
    wide = max(len(spell(s)) for s in people)
    subjects = np.array([[0] * (wide - len(spell(s))) + [BOS, *spell(s)] for s in people])
    top = np.zeros((len(graph.relations), len(people), 1), int)
    taken = np.zeros(top.shape[:2])
    for s, r, o in zip(graph.subject, graph.relation, graph.object, strict=True):
        top[r, people.index(s), 0], taken[r, people.index(s)] = things.index(o), 1
    mind = SimpleNamespace(subjects=subjects, objects=objects, top=top, reading_probability=taken)
    table = read_table(mind, world)
    assert table.header == ["relation", FACTS, NOBODY, RIGHT]
    assert [row[1:] for row in table.rows] == [[1, 0, 1]] * len(graph.relations)
    mind.reading_probability = 1 - taken
    assert all(row[1] == 0 for row in read_table(mind, world).rows)
    missing = sum(row[2] for row in read_table(mind, world).rows)
    assert missing == len(graph.relations) * len(people) - len(graph)


def test_what_follows_by_requested_relation():
    """Only relations of which something should follow have a column; those that must stay do not count."""
    followed = np.array([True, False, True, True])
    cases = {"relation": np.array([2, 2, 0, 1]), "cluster": np.arange(4)}
    cases |= {"object": np.arange(4), "position": np.zeros(4, int)}
    metric = mean_of(followed, np.array([True, True, True, False]))
    edits = SimpleNamespace(results=SimpleNamespace(cases=cases))
    editor = SimpleNamespace(name="a", edits=edits, values={"a": {FOLLOWS: metric}})
    table = relation_table([editor], ("x", "y", "z"))
    assert table.header == ["editor", "x (1)", "z (2)"]
    assert [row[0] for row in table.rows] == ["a"]
    assert [cell.value for cell in table.rows[0][1:]] == [1.0, 0.5]
