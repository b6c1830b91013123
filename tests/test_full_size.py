"""The paper's size as one command: what it does in which order, and what it keeps of what was read."""

from types import SimpleNamespace

import numpy as np
import pytest

from corpus.files import read_json
from corpus.text.tokenizer import BOS, SEP
from experiments import stages
from experiments.studies import full_size
from lm.editors.self_bayes import recall
from lm.editors.self_bayes.beliefs import Beliefs
from testbed.evaluations.hase.metrics import FOLLOWS
from testbed.run import model
from testbed.run import world as worlds
from testbed.run.runs import Run
from testbed.scores.metric import mean_of


def test_what_is_worth_most_comes_first(tmp_path):
    options = full_size.Settings(preset="paper-laptop", fact_count=900, edits=8, runs=tmp_path)
    titles = [title for title, _ in full_size.study_stages(options, stages.Clock(None))]
    name = "pretrain-paper-laptop-900"
    assert titles[:5] == [
        f"corpus of {name}",
        f"model of {name}",
        f"edit {name} by keyed, stratified",
        "what was read",
        f"edit {name} by keyed-counting, stratified",
    ]
    assert len(titles) == 2 + len(full_size.PARTS) + 1 + 1
    assert titles[-1] == f"report of {name}"
    options.run.finished_file.parent.mkdir(parents=True)
    options.run.finished_file.write_text("{}")
    assert [title for title, _ in full_size.study_stages(options, stages.Clock(None))] == titles[2:]


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
    monkeypatch.setattr(recall, "recall_beliefs", lambda *_: read)
    monkeypatch.setattr(model, "load_model", lambda *_: (None,))
    monkeypatch.setattr(worlds, "load_world", lambda _: world)
    full_size.save_mind(run)
    assert read_json(run.folder / "mind.json") == {
        "subjects_found": 6,
        "subjects": len(world.graph.subjects),
        "subjects_found_rightly": 5,
        "objects_found": objects,
        "objects": len(world.graph.objects),
    }
    with np.load(run.folder / "mind.npz") as kept:
        few = min(objects, full_size.KEPT)
        np.testing.assert_array_equal(kept["subjects"], read.subjects)
        np.testing.assert_array_equal(kept["objects"], read.objects)
        np.testing.assert_array_equal(kept["top"], read.top[:, :, :few])
        np.testing.assert_allclose(kept["p"], p[:, :, :few], rtol=1e-3)
        np.testing.assert_array_equal(kept["mention_probability"], read.mention_probability)


def test_what_follows_by_requested_relation():
    """Only relations of which something should follow have a column; those that must stay do not count."""
    followed = np.array([True, False, True, True])
    cases = {"relation": np.array([2, 2, 0, 1]), "cluster": np.arange(4)}
    cases |= {"object": np.arange(4), "position": np.zeros(4, int)}
    metric = mean_of(followed, np.array([True, True, True, False]))
    edits = SimpleNamespace(results=SimpleNamespace(cases=cases))
    editor = SimpleNamespace(name="a", edits=edits, values={"a": {FOLLOWS: metric}})
    table = full_size.relation_table([editor], ("x", "y", "z"))
    assert table.header == ["editor", "x (1)", "z (2)"]
    assert [row[0] for row in table.rows] == ["a"]
    assert [cell.value for cell in table.rows[0][1:]] == [1.0, 0.5]
