"""Choosing hyper-parameters: in another world, with one budget, by a rule, with the search on record."""

from dataclasses import replace

import pytest
from experiments.my_editor import MyEditor
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from corpus.files import read_json, read_record, write_record
from experiments.record import read_searches
from lm.editors.in_context import InContextConfig
from lm.editors.lora import LoraConfig
from lm.editors.rome import RomeConfig
from testbed import edit, tune
from testbed.commands.tune import GOOD, choose_setting, halton_point, settings_to_try
from testbed.engine.catalogue import default_configurations, editor_entries
from testbed.engine.trace import check_tuned_apart
from testbed.engine.tuning import tuned_file, tuning_context, with_tuned_settings
from testbed.evaluations.hase import Hase
from testbed.run.runs import Run
from testbed.settings import EditSettings
from tests.runs import at, complaint, copied

FEW = ["--cases.count", "20"]
OWN = "experiments.my_editor:MyEditor"

lines = st.lists(
    st.fixed_dictionaries({"success": st.floats(0, 1), "skill": st.floats(-2, 1)}), min_size=1, max_size=8
)


@given(lines)
def test_nothing_that_succeeds_as_often_is_more_coherent_than_the_choice(trials):
    chosen = choose_setting(trials, "success", "skill")
    good = [x for x in trials if x["success"] >= GOOD]
    if good:
        assert chosen["success"] >= GOOD
    else:
        assert chosen["success"] >= max(x["success"] for x in trials) - 0.0201
    rivals = good or [x for x in trials if x["success"] >= chosen["success"]]
    assert chosen["skill"] >= max(x["skill"] for x in rivals)


def search(monkeypatch, name, factors):
    monkeypatch.setitem(editor_entries(), name, replace(editor_entries()[name], search=factors))


def test_true_and_false_are_choices_and_no_numbers():
    config = editor_entries()["count-based"].config
    tried = settings_to_try(config, {"unread": (False, True), "fewest": (0.5, 2.0)}, 6)
    assert {type(one.unread) for one in tried} == {bool}
    assert {one.unread for one in tried} == {False, True}
    assert all(isinstance(one.fewest, int) and 1 <= one.fewest <= 4 for one in tried)


def test_every_search_names_fields_that_there_are():
    searched = [entry for entry in editor_entries().values() if entry.search]
    assert len(searched) > 10
    for entry in searched:
        settings = settings_to_try(entry.config, entry.search, 6)
        assert settings[0] == entry.config, "what it is by default is the first trial"
        assert {type(setting) for setting in settings} == {type(entry.config)}


@given(st.integers(1, 40), st.floats(0.01, 1.0), st.floats(1.0, 100.0))
def test_every_editor_has_as_many_trials_inside_its_ranges(trials, least, most):
    one = settings_to_try(LoraConfig(), {"learning_rate": (least, most)}, trials)
    two = settings_to_try(LoraConfig(), {"learning_rate": (least, most), "alpha": (0.5, 2.0)}, trials)
    assert len(two) == trials
    assert len(one) == (trials if most > least * 1.01 else len(one))
    for setting in (*one, *two):
        assert least * 0.999 <= setting.learning_rate / LoraConfig().learning_rate <= most * 1.001
        assert 0.5 <= setting.alpha / LoraConfig().alpha <= 2.0
        assert setting.rank == LoraConfig().rank


def test_trials_by_hand():
    assert [halton_point(i, 2) for i in (1, 2, 3, 4)] == [0.5, 0.25, 0.75, 0.125]
    assert halton_point(5, 3) == pytest.approx(2 / 3 + 1 / 9)
    rates = [x.learning_rate for x in settings_to_try(LoraConfig(), {"learning_rate": (0.1, 10.0)}, 3)]
    assert rates == pytest.approx([1e-4, 1e-5 * 10**0.5, 1e-4 * 10**0.5]), "a quarter of the range, three"
    tokens = [x.token for x in settings_to_try(RomeConfig(), {"token": ("subject", "last")}, 4)]
    assert tokens == ["subject", "last"], "the halves of (0, 1); none is tried twice"
    copies = [x.copies for x in settings_to_try(InContextConfig(copies=1), {"copies": (0.5, 2.0)}, 9)]
    assert copies == [1, 2], "whole numbers stay whole, and none is tried twice"


@pytest.mark.slow
def test_the_search_is_recorded_and_used_in_another_world(trained, tmp_path, capsys, monkeypatch):
    search(monkeypatch, "lora-down", {"learning_rate": (0.01, 1.0)})
    runs = copied(trained, tmp_path)
    arguments = [*at(runs), *FEW, "--lora-down.learning-rate", "0.02", "--lora-down.steps", "5"]
    assert edit.main(["lora-down", *arguments, "--tuned", "x"]) == 2
    assert "python -m testbed.tune lora-down --run x" in complaint(capsys)
    assert tune.main(["lora-down", *arguments, "--trials", "2"]) == 0
    path = runs / "x" / "tuned" / "hase" / "lora-down.json"
    record = read_record(path)
    assert [line["learning_rate"] for line in record["search"]] == pytest.approx([0.02, 0.02 / 1000**0.5])
    best = choose_setting(record["search"], *record["by"])
    assert record["chosen"] == {"learning_rate": best["learning_rate"]}
    assert record["budget"] == {"trials": 2, "cases": 20, "worlds": 1}
    assert read_searches(Run(runs, "x")) == {"lora-down": record}
    assert not list((runs / "x" / "tuned").glob(".*"))

    assert edit.main(["lora-down", *arguments, "--tuned", "x"]) == 2
    assert f"was chosen in the world of {runs / 'x'}, on which it would be judged" in complaint(capsys)
    write_record(path, record | {"world": "another"})
    assert edit.main(["lora-down", *arguments, "--tuned", "x", "--hase.candidates", "9"]) == 2
    assert "evaluation.candidates is 24 there and 9 here" in complaint(capsys)
    assert edit.main(["lora-down", *arguments, "--tuned", "x"]) == 0
    (folder,) = (runs / "x" / "edits" / "hase").iterdir()
    made = read_json(folder / "config.json")
    assert made["method"]["settings"]["config"]["learning_rate"] == record["chosen"]["learning_rate"]
    assert made["tuned"]["run"] == "x"

    before = path.read_bytes()
    assert tune.main(["lora-down", *arguments]) == 0
    assert path.read_bytes() == before


@pytest.fixture
def chosen(trained, tmp_path):
    """Writes choices that were made in another world, on a run called dev."""
    run, dev = Run(copied(trained, tmp_path), "x"), Run(tmp_path, "dev")
    settings = EditSettings(run="x", runs=tmp_path, tuned="dev")
    whole = {"world": "another", "bound": tuning_context(run, settings), "budget": {"trials": 2, "cases": 20}}

    def write(editor, **changes):
        write_record(tuned_file(dev, "hase", editor), whole | changes)
        return run, settings

    return write


def test_a_record_that_does_not_fit_is_refused(chosen):
    run, settings = chosen("lora-down", chosen={"learning_rate": 0.5})
    settings = replace(settings, configs=default_configurations() | {"lora-down": LoraConfig(rank=3)})
    config = with_tuned_settings(run, ["random-target", "none", "retrain"], settings)["lora-down"]
    assert (config.rank, config.learning_rate) == (3, 0.5), "what was not searched stays as it is set"
    for wrong in ({"chosen": {"radius": 1.0}}, {"chosen": {"learning_rate": -1.0}}, {}):
        chosen("lora-down", **wrong)
        with pytest.raises(InputError, match="tune again"):
            with_tuned_settings(run, ["lora-down"], settings)


def test_a_choice_is_bound_to_model_agent_and_evaluation(chosen):
    run, settings = chosen("lora-down", chosen={"learning_rate": 0.5})
    for wrong, said in (
        (replace(settings, agent="exact"), "agent.name is paper there and exact here"),
        (replace(settings, evaluations={"hase": Hase(reinforce=0.0)}), "evaluation.reinforce"),
    ):
        with pytest.raises(InputError, match=said):
            with_tuned_settings(run, ["lora-down"], wrong)
    made_for = tuning_context(run, settings)
    deeper = made_for | {"model": made_for["model"] | {"layers": 12}}
    chosen("lora-down", chosen={"learning_rate": 0.5}, bound=deeper)
    with pytest.raises(InputError, match=r"model\.layers is 12 there and 1 here"):
        with_tuned_settings(run, ["lora-down"], settings)


def test_all_editors_have_one_budget(chosen):
    chosen("lora-down", chosen={"learning_rate": 0.5})
    run, settings = chosen("rome", chosen={"rate": 0.5})
    assert with_tuned_settings(run, ["lora-down", "rome"], settings)["rome"].rate == 0.5
    chosen("rome", chosen={"rate": 0.5}, budget={"trials": 3, "cases": 20})
    with pytest.raises(InputError, match="not every editor was tuned with the same budget"):
        with_tuned_settings(run, ["lora-down", "rome"], settings)


def test_a_report_shares_no_world_with_a_choice():
    reported = {"editor": "rome", "inputs": {"world": "a"}, "tuned": {"run": "dev", "world": "b"}}
    check_tuned_apart([reported, {"editor": "none", "inputs": {"world": "a"}}])
    with pytest.raises(InputError, match="rome was tuned on the run dev"):
        check_tuned_apart([reported, {"editor": "none", "inputs": {"world": "b"}, "tuned": None}])


def test_editors_without_hyper_parameters(trained, capsys):
    assert tune.main(["grace", "none", *at(trained)]) == 2
    assert "none has nothing to tune" in complaint(capsys)


@pytest.mark.slow
def test_a_users_own_editor_is_tuned_by_the_fields_it_names(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(MyEditor, "SEARCH", {"longest": (0.01, 1.0)})
    runs = copied(trained, tmp_path)
    run, set_to = Run(runs, "x"), {"my-editor": MyEditor(tries=2)}
    settings = EditSettings(run="x", runs=runs, tuned="x", configs=set_to)
    with pytest.raises(InputError, match=f"python -m testbed.tune {OWN} --run x"):
        with_tuned_settings(run, [OWN], settings)
    assert tune.main([OWN, *at(runs), "--cases.count", "4", "--my-editor.tries", "2", "--trials", "2"]) == 0
    path = runs / "x" / "tuned" / "hase" / "experiments.my_editor.MyEditor.json"
    record = read_record(path)
    assert [line["longest"] for line in record["search"]] == pytest.approx([1.0, 1 / 1000**0.5])
    write_record(path, record | {"world": "another"})
    assert with_tuned_settings(run, [OWN], settings)["my-editor"] == MyEditor(record["chosen"]["longest"], 2)
