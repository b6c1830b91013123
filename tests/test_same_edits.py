"""Comparing the edits of two runs: whatever changes is found, and only that."""

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from corpus.files import write_json
from experiments.same_edits import METRIC_KEY, METRIC_VALUES, compare_runs, compare_tables, kind_of

COLUMNS = {
    "case": st.integers(0, 9),
    "role": st.sampled_from(["edit", "child"]),
    "agent_before": st.lists(st.floats(0, 1), max_size=3),
    "lm_answer_after": st.integers(-1, 9),
    "lm_after": st.lists(st.floats(0, 1) | st.just(math.nan), max_size=3),
}


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 6))
    return {name: draw(st.lists(kind, min_size=rows, max_size=rows)) for name, kind in COLUMNS.items()}


def columns_that_differ(old, new, tolerance=1e-12):
    found = compare_tables("t", pa.table(old), pa.table(new), tolerance)
    return {d.name.removeprefix("t."): d for d in found if d.differ}


@given(tables())
def test_a_table_is_the_same_as_itself(table):
    assert columns_that_differ(table, table) == {}
    with_times = {**table, "seconds": [float(i) for i in range(len(table["case"]))]}
    later = {**table, "seconds": [1.0 + i for i in range(len(table["case"]))]}
    assert columns_that_differ(with_times, later) == {}


@given(tables(), st.data())
def test_one_changed_value_is_one_difference(table, data):
    name = data.draw(st.sampled_from([n for n in COLUMNS if any(v != [] for v in table[n])]))
    row = data.draw(st.sampled_from([i for i, v in enumerate(table[name]) if v != []]))
    new = {key: [list(v) if isinstance(v, list) else v for v in column] for key, column in table.items()}
    value = new[name][row]
    change = 1e-6 if isinstance(value, list) else 1
    if name == "role":
        new[name][row] = "somebody"
    elif isinstance(value, list):
        value[0] = 0.5 if math.isnan(value[0]) else value[0] + change
    else:
        new[name][row] += change
    found = columns_that_differ(table, new)
    assert found.keys() == {name}
    assert found[name].differ == 1
    assert found[name].kind == kind_of(name)
    is_small = isinstance(value, list) and not math.isnan(table[name][row][0])
    assert bool(columns_that_differ(table, new, tolerance=1e-3)) != is_small


@given(tables())
def test_what_only_one_has_differs(table):
    fewer = {name: column for name, column in table.items() if name != "role"}
    assert columns_that_differ(table, fewer)["role"].largest == math.inf
    assert columns_that_differ(fewer, table)["role"].differ == len(table["role"])
    longer = {name: [*column, column[0]] for name, column in table.items()}
    assert columns_that_differ(table, longer).keys() == COLUMNS.keys()


def write_run(run, value, **settings):
    folder = run / "edits" / "hase" / f"rome-{run.name}"
    folder.mkdir(parents=True)
    write_json(folder / "config.json", {"settings": {"seed": 1} | settings, "code": run.name})
    for table in ("cases", "choices", "claims", "passages"):
        pq.write_table(pa.table({"case": [0], "lm_after": [[0.5]]}), folder / f"{table}.parquet")
    (run / "report").mkdir()
    key, numbers = ",".join(METRIC_KEY), ",".join(METRIC_VALUES)
    text = f"{key},{numbers}\nhase,rome,all,rome,damage,{value},nan,1,1,1\n"
    (run / "report" / "summary.csv").write_text(text, encoding="utf-8")
    return run


def test_runs_are_compared_with_their_reports(tmp_path):
    old, same, other = (write_run(tmp_path / n, v) for n, v in (("a", 0.25), ("b", 0.25), ("c", 0.5)))
    assert not any(d.differ for d in compare_runs(old, same, 1e-12))
    (metric,) = [d for d in compare_runs(old, other, 1e-12) if d.differ]
    assert (metric.kind, metric.largest) == ("metrics", 0.25)
    # An option that came or went in between makes no other edits.
    for run in (write_run(tmp_path / "e", 0.5, push=1.0), write_run(tmp_path / "f", 0.5, cases={"count": 3})):
        assert [d.kind for d in compare_runs(run, old, 1e-12) if d.differ] == ["metrics"]
        assert [d.kind for d in compare_runs(old, run, 1e-12) if d.differ] == ["metrics"]
    with pytest.raises(InputError, match="share no editor"):
        compare_runs(old, write_run(tmp_path / "d", 0.25, seed=2), 1e-12)
    (other / "report" / "summary.csv").unlink()
    with pytest.raises(InputError, match=r"summary\.csv is missing"):
        compare_runs(old, other, 1e-12)
