"""What the study of recipes tries, and that a killed one goes on."""

import pytest

from experiments.benchmarks import recipes
from testbed.presets import TRAIN


def test_a_trial_that_was_done_is_not_done_again(tmp_path, monkeypatch):
    done = []

    def one(settings, trial, seed):
        done.append((trial.name, trial.options, seed))
        if (trial.name, seed) == ("second", 1) and done.count(done[-1]) == 1:
            raise KeyboardInterrupt
        return {
            "seconds": 1.0,
            "steps": seed,
            "tokens_per_fact": 2.0,
            "accuracy": 0.9,
            "labels": {},
            "steps_to_labels": None,
            "tokens_per_second": 5.0,
        }

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


def test_steps_are_in_proportion_to_facts():
    steps = {}
    for trial in recipes.many_trials():
        at = trial.options.index("--train.steps")
        steps.setdefault(trial.corpus.split()[0], set()).add(int(trial.options[at + 1]))
    whole = TRAIN["paper-laptop"].train.steps
    assert steps == {"1,000": {100}, "10,000": {whole // 10}, "30,000": {whole * 3 // 10}, "100,000": {whole}}
