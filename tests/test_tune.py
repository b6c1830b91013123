"""Choosing hyper-parameters: on facts that no test case edits, by a rule, with the search on record."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.files import read_json, read_record, write_record
from experiments.my_editor import MyEditor
from lm.editors.in_context import InContextConfig
from lm.editors.lora import LoraConfig
from testbed import edit, tune
from testbed.engine.catalogue import configurations, entries
from testbed.engine.tuned import tuned, tuned_file
from testbed.run.runs import Run
from testbed.tune import GOOD, choose
from tests.runs import at, complaint, copied

FEW = ["--cases.count", "20"]
OWN = "experiments.my_editor:MyEditor"

lines = st.lists(
    st.fixed_dictionaries({"edit success": st.floats(0, 1), "coherence skill": st.floats(-2, 1)}),
    min_size=1,
    max_size=8,
)


@given(lines)
def test_nothing_that_succeeds_as_often_is_more_coherent_than_the_choice(found):
    chosen = choose(found, "edit success", "coherence skill")
    good = [x for x in found if x["edit success"] >= GOOD]
    if good:
        assert chosen["edit success"] >= GOOD
    else:
        assert chosen["edit success"] >= max(x["edit success"] for x in found) - 0.0201
    rivals = good or [x for x in found if x["edit success"] >= chosen["edit success"]]
    assert chosen["coherence skill"] >= max(x["coherence skill"] for x in rivals)


def search(monkeypatch, name, factors):
    monkeypatch.setitem(entries(), name, replace(entries()[name], search=factors))


def test_every_search_names_fields_that_there_are():
    searched = [entry for entry in entries().values() if entry.search]
    assert len(searched) > 10
    for entry in searched:
        for setting in tune._settings(entry.config, entry.search):
            assert type(setting) is type(entry.config)
    copies = [x.copies for x in tune._settings(InContextConfig(copies=1), {"copies": (0.5, 1.0, 2.0)})]
    assert copies == [1, 2], "whole numbers stay whole, and none is tried twice"


def test_the_search_is_recorded_and_used(trained, tmp_path, capsys, monkeypatch):
    search(monkeypatch, "lora-down", {"learning_rate": (0.01, 1.0), "alpha": (1.0,)})
    runs = copied(trained, tmp_path)
    arguments = [*at(runs), *FEW, "--lora-down.learning-rate", "0.02", "--lora-down.steps", "5"]
    assert edit.main(["lora-down", *at(runs), *FEW, "--tuned"]) == 2
    assert "python -m testbed.tune lora-down --run x" in complaint(capsys)
    assert tune.main(["lora-down", *arguments]) == 0
    record = read_record(runs / "x" / "tuned" / "lora-down.json")
    assert [line["learning_rate"] for line in record["search"]] == [2e-4, 0.02]
    best = choose(record["search"], *record["by"])
    assert record["chosen"] == {key: best[key] for key in ("learning_rate", "alpha")}
    assert not (runs / "x" / "tuned" / ".lora-down").exists()

    assert edit.main(["lora-down", *arguments, "--tuned"]) == 0
    (folder,) = (runs / "x" / "edits" / "hase").iterdir()
    used = read_json(folder / "config.json")["method"]["settings"]["config"]
    assert used["learning_rate"] == record["chosen"]["learning_rate"]

    before = (runs / "x" / "tuned" / "lora-down.json").read_bytes()
    assert tune.main(["lora-down", *arguments]) == 0
    assert (runs / "x" / "tuned" / "lora-down.json").read_bytes() == before


def test_test_cases_are_never_tuned_on(trained, tmp_path, monkeypatch):
    search(monkeypatch, "in-context", {"copies": (1.0,)})
    seen = []

    def watched(*given):
        seen.extend(case.fact[:2] for case in given[3])
        raise KeyboardInterrupt

    monkeypatch.setattr("testbed.engine.bench.Bench", watched)
    runs = copied(trained, tmp_path)
    assert tune.main(["in-context", *at(runs), *FEW]) == 130
    monkeypatch.undo()
    assert edit.main(["none", *at(runs), *FEW]) == 0
    (table,) = (runs / "x" / "edits" / "hase").glob("*/cases.parquet")
    rows = pq.read_table(table, columns=["subject", "relation"])
    asked = set(zip(*(rows[c].to_pylist() for c in rows.column_names), strict=True))
    assert seen
    assert not asked & set(seen)


def test_a_record_that_does_not_fit_is_refused(tmp_path):
    run = Run(tmp_path, "x")
    configs = configurations() | {"lora-down": LoraConfig(rank=3)}
    write_record(tuned_file(run, "lora-down"), {"chosen": {"learning_rate": 0.5}})
    found = tuned(run, ["oracle", "none", "self-bayes"], configs)["lora-down"]
    assert (found.rank, found.learning_rate) == (3, 0.5), "what was not searched stays as it is set"
    for wrong in ({"chosen": {"radius": 1.0}}, {"chosen": {"learning_rate": -1.0}}, {}):
        write_record(tuned_file(run, "lora-down"), wrong)
        with pytest.raises(ValueError, match="tune again"):
            tuned(run, ["lora-down"], configs)


def test_editors_without_hyper_parameters(trained, capsys):
    assert tune.main(["grace", "none", *at(trained)]) == 2
    assert "none has nothing to tune" in complaint(capsys)


@pytest.mark.slow
def test_a_users_own_editor_is_tuned_by_the_fields_it_names(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(MyEditor, "SEARCH", {"longest": (0.01, 1.0)})
    runs = copied(trained, tmp_path)
    run, set_to = Run(runs, "x"), {"my-editor": MyEditor(tries=2)}
    with pytest.raises(ValueError, match=f"python -m testbed.tune {OWN} --run x"):
        tuned(run, [OWN], set_to)
    assert tune.main([OWN, *at(runs), "--cases.count", "4", "--my-editor.tries", "2"]) == 0
    record = read_record(runs / "x" / "tuned" / "experiments.my_editor.MyEditor.json")
    assert [line["longest"] for line in record["search"]] == [0.01, 1.0]
    assert tuned(run, [OWN], set_to)["my-editor"] == MyEditor(record["chosen"]["longest"], 2)
