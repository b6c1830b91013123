"""Tables of known structure: what is found is judged by hand; the study from nothing to its record."""

from collections import Counter

import numpy as np
import pytest

from corpus.graph import build_graph
from experiments import record
from experiments.analyses import table_dependences
from experiments.analyses.table_dependences import KnownTable, draw_table, judge_search
from experiments.command import run_module
from experiments.figures import FIGURES, read_figures


def town_and_land(upstream):
    """40 subjects whose town decides their land, and a pet that nothing decides."""
    triples = [(s, r, 40 + o) for s in range(40) for r, o in ((0, s % 4), (1, 4 + s % 2), (2, 6 + s // 20))]
    graph = build_graph(np.array(triples), [f"e{i}" for i in range(48)], ["town", "land", "pet"], upstream)
    return KnownTable(graph, "pairs", np.array([False, True, False]))


def test_what_is_found_is_judged():
    depends = town_and_land(np.array([-1, 0, -1]))
    right = Counter(judge_search(depends, np.array([-1, 0, -1]), leaves_open=True))
    assert [right[c] for c in ("found", "found, usual", "right", "open", "wrong", "false pairs")] == [
        1,
        1,
        1,
        0,
        0,
        0,
    ]
    assert [right[f"of {c}"] for c in ("found", "found, usual", "right", "false pairs", "false tables")] == [
        1,
        1,
        1,
        2,
        0,
    ]
    turned = judge_search(depends, np.array([1, -1, 0]), leaves_open=True)
    assert [turned[c] for c in ("found", "right", "wrong", "false pairs")] == [1, 0, 1, 1]
    nothing = judge_search(town_and_land(np.full(3, -1)), np.array([-1, 0, -1]), leaves_open=True)
    assert [nothing[c] for c in ("of found", "of false tables", "false tables", "of false pairs")] == [
        0,
        1,
        1,
        3,
    ]


def test_tables_of_every_shape_are_drawn():
    rng = np.random.default_rng(0)
    tables = [draw_table(rng, depends=i % 2 == 1) for i in range(24)]
    assert {table.shape for table in tables} == {"pairs", "forest"}
    assert [bool((table.graph.upstream >= 0).any()) for table in tables] == [False, True] * 12
    sizes = np.concatenate([np.diff(table.graph.candidate_offsets) for table in tables])
    assert sizes.min() <= 3
    assert sizes.max() > 500
    assert any(len(t.graph) < len(t.graph.subjects) * len(t.graph.relations) for t in tables)


def test_the_study_finds_most_and_nothing_false_and_is_written_down(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")
    assert run_module(table_dependences, ["--runs", str(tmp_path / "runs"), "--tables", "16"]) == 0
    (folder,) = (tmp_path / "records").iterdir()
    figures = [one for one in read_figures(folder / FIGURES) if one.row >= 0]
    assert {one.labels[0] for one in figures} == set(table_dependences.SEARCHES)
    found = {(one.labels[0], one.figure): one.value for one in figures}
    held_out = {share: value for (search, share), value in found.items() if search == "held out"}
    assert held_out["false tables"] == held_out["false pairs"] == held_out["wrong"] == 0
    assert held_out["found, usual"] > 0.8
    assert found["BDeu", "false tables"] > 0


@pytest.mark.parametrize("name", ["BIC", "K2", "BDeu"])
def test_scores_of_rivals_are_those_of_pgmpy(name):
    score = pytest.importorskip("pgmpy.structure_score")
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    rows = rng.integers(5, size=200)
    objects = np.where(rng.random(200) < 0.6, rows % 3, rng.integers(4, size=200))
    options = {"equivalent_sample_size": 10} if name == "BDeu" else {}
    theirs = getattr(score, name)(pandas.DataFrame({"a": rows, "b": objects}).astype(str), **options)
    gain = theirs.local_score("b", ("a",)) - theirs.local_score("b", ())
    assert table_dependences.SCORES[name](rows, objects, 4) == pytest.approx(gain)
