"""What the study of recipes tries, and that a killed one goes on."""

import pytest

from corpus.errors import InputError
from experiments.benchmarks import harness, recipes
from testbed.presets import TRAIN


def figures_of_trial(steps):
    return {
        "seconds": 1.0,
        "steps": steps,
        "tokens_per_fact": 2.0,
        "accuracy": 0.9,
        "labels": {},
        "steps_to_labels": None,
        "tokens_per_second": 5.0,
    }


def test_a_trial_that_was_done_is_not_done_again(tmp_path, monkeypatch):
    done = []

    def one(settings, trial, seed):
        done.append((trial.name, trial.options, seed))
        if (trial.name, seed) == ("second", 1) and done.count(done[-1]) == 1:
            raise KeyboardInterrupt
        return figures_of_trial(seed)

    monkeypatch.setattr(recipes, "run_trial", one)
    settings = recipes.Settings(folder=tmp_path)
    settings.scratch.mkdir()
    trials = [recipes.Trial("first", "1,000"), recipes.Trial("second", "1,000")]
    with pytest.raises(KeyboardInterrupt):
        recipes.run_trials(settings, trials)
    found = recipes.run_trials(settings, trials)
    assert [run["steps"] for run in found["second"]["runs"]] == [0, 1]
    assert [(name, seed) for name, _, seed in done] == [
        ("first", 0), ("first", 1), ("second", 0), ("second", 1), ("second", 1),
    ]  # fmt: skip
    changed = [trial._replace(options=("--train.rows", "16")) for trial in trials[:1]]
    recipes.run_trials(settings, changed)
    assert done[-2:] == [("first", ("--train.rows", "16"), seed) for seed in (0, 1)]
    count = len(done)
    recipes.run_trials(settings, changed)
    assert len(done) == count
    monkeypatch.setattr(recipes, "provenance", lambda: {"revision": "another"})
    recipes.run_trials(settings, changed)
    assert len(done) == count + 2, "what another revision measured is not this one's"


def test_steps_are_in_proportion_to_facts():
    steps = {}
    for trial in recipes.many_trials():
        at = trial.options.index("--train.steps")
        steps.setdefault(trial.corpus.split()[0], set()).add(int(trial.options[at + 1]))
    whole = TRAIN["paper-laptop"].train.steps
    assert steps == {"1,000": {100}, "10,000": {whole // 10}, "30,000": {whole * 3 // 10}, "100,000": {whole}}


def test_an_interrupted_command_goes_on_and_leaves_nothing_when_it_is_done(tmp_path, monkeypatch):
    began = []

    def one(settings, trial, seed):
        assert settings.scratch.is_dir()
        began.append(trial.name)
        if len(began) == 2:
            raise KeyboardInterrupt
        return figures_of_trial(seed)

    monkeypatch.setattr(recipes, "run_trial", one)
    monkeypatch.setattr(recipes, "build_corpora", lambda settings, stage: None)
    monkeypatch.setattr(recipes, "label_trials", lambda: [recipes.Trial(name, "3,000") for name in "abc"])
    monkeypatch.setattr(harness, "RECORDS", tmp_path / "records")
    settings = recipes.Settings(folder=tmp_path / "runs", stages=("labels",), seeds=1)
    with pytest.raises(KeyboardInterrupt):
        recipes.run_study(settings)
    recipes.run_study(settings)
    assert began == ["a", "b", "b", "c"]
    assert not list(settings.folder.iterdir())
    assert list((tmp_path / "records").iterdir())


def test_work_that_a_killed_benchmark_left_is_not_found_done(tmp_path):
    left = recipes.Settings(folder=tmp_path).scratch / "corpus"
    left.mkdir(parents=True)
    with pytest.raises(ValueError, match="measured"):
        harness.run_benchmark(
            recipes.Settings(folder=tmp_path, stages=("labels",)), {"labels": raise_if(left)}
        )


def raise_if(left):
    def measure(settings):
        assert settings.scratch.is_dir()
        assert not left.exists()
        raise ValueError("measured")

    return measure


def test_trials_are_chosen_by_name():
    names = {"stages": ("deep", "labels"), "trials": ("float32", "scaled by depth", "two layers")}
    chosen = recipes.choose_trials(recipes.Settings(**names))
    assert {stage: [trial.name for trial in of] for stage, of in chosen.items()} == {
        "deep": ["scaled by depth", "float32"], "labels": ["two layers", "scaled by depth"],
    }  # fmt: skip
    assert recipes.choose_trials(recipes.Settings(stages=("deep",)))["deep"] == recipes.deep_trials()
    with pytest.raises(InputError, match="--trials four: unknown.*four layers"):
        recipes.choose_trials(recipes.Settings(stages=("labels",), trials=("four",)))
    with pytest.raises(InputError, match="none of --stages labels"):
        recipes.choose_trials(recipes.Settings(stages=("deep", "labels"), trials=("float32",)))
