"""Which recipe learns facts soonest on two CPU cores, and what each of its choices is worth.

Command:
    python -m experiments.recipes

Takes about an hour on 2 cores and writes experiments/records/<date>-recipes. Every trial is the
real command, such as `python -m testbed.train laptop --until 0.95` with one thing changed, in a process of
its own that starts without compiled programs; the time is what metrics.jsonl says, compilation and
evaluations included. Stages: `fact_trials` (4,000 facts with atomic and with all sentences, 10,000 with
atomic ones, each in float32 and bfloat16), `ablation_trials` (the laptop recipe on 4,000 facts and atomic
sentences, one choice at a time), `many_trials` (the recipe of `paper-laptop` to .9 of 1,000 to 100,000
facts, with steps in proportion, and one choice at a time for 30,000: facts learned per token, per second and
per parameter; an hour and a half of one core and seed), `deep_trials` (the paper's twelve layers of width 512
to .9 of 1,000 facts, the recipe of `paper-cpu` in small steps, one choice at a time; half an hour to an hour
of one core a trial: Muon takes as long in a small step as in a large one), `label_trials` (when "true" and
"false" begin to be right, by depth and recipe: 3,000 facts, layers of width 128, an hour and a half of one
core). `--trials` chooses some by name. A command that is killed or interrupted goes on behind the last trial
that was done with the same code (`.recipes-trials.json` in the folder has them). Expected: 4,000 facts at
95% in well under 90 seconds, 10,000 in under 6 minutes, 100,000 at 90% in under an hour.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

from corpus.config import SENTENCES, DocumentConfig, TokenizerConfig
from corpus.errors import InputError
from corpus.files import read_json, write_json
from experiments.benchmarks.harness import BenchmarkSettings, run_benchmark
from experiments.command import launch_module
from experiments.measures.scaled import scale_world
from testbed.commands.corpus import build_corpus
from testbed.console import print_table, say
from testbed.presets import CORPUS, TRAIN
from testbed.run.runs import Run, provenance, read_metrics, recorded_settings
from testbed.run.trainer import seconds_to
from testbed.run.world import load_world

Stage = Literal["facts", "ablation", "many", "deep", "labels"]
TARGET, TARGET_OF_MANY = 0.95, 0.9
LABELS = SENTENCES[1:]
LABELS_RIGHT = 0.7
"""Of sentences with "not", at which a model is taken to read labels: whoever always gives one has half."""
ATOMIC = DocumentConfig(sentences=("atomic",))


@dataclass(frozen=True)
class Settings(BenchmarkSettings):
    """What is tried, and where its files go."""

    stages: tuple[Stage, ...] = ("facts", "ablation", "many")
    """Parts to run."""
    seeds: int = 2
    """Runs of each trial."""
    trials: tuple[str, ...] = ()
    """Trials to run, by name; without it all of each stage."""

    @property
    def trials_file(self) -> Path:
        """Trials that are done."""
        return self.folder / ".recipes-trials.json"


class Trial(NamedTuple):
    """One recipe on one corpus: a preset and options of testbed.train, and the share of facts to reach."""

    name: str
    corpus: str
    options: tuple[str, ...] = ()
    preset: str = "laptop"
    until: float = TARGET


def build_corpora(settings: Settings, stage: Stage) -> None:
    """Write every corpus that the trials of a stage read; those of `facts` and `ablation` read the same."""
    if stage == "deep":
        preset = CORPUS["paper-cpu"]
        world = scale_world(preset.world, 1000)
        short = replace(preset, runs=settings.scratch, world=world)
        build_corpus(replace(short, run="1,000 deep"))
        build_corpus(replace(short, run="1,000 deep, alone", documents=replace(preset.documents, length=1)))
    elif stage == "labels":
        preset = CORPUS["paper-cpu"]
        world = scale_world(preset.world, 3000)
        build_corpus(replace(preset, run="3,000", runs=settings.scratch, world=world))
    elif stage == "many":
        _build_corpora_of_many(settings)
    else:
        _build_small_corpora(settings)


def _build_small_corpora(settings: Settings) -> None:
    laptop = replace(CORPUS["laptop"], runs=settings.scratch)
    small, large = (replace(laptop.world, subjects=n) for n in (1055, 2627))
    bpe, mixed = TokenizerConfig("bpe", 1000), replace(ATOMIC, mix="mixed")
    for options in (
        replace(laptop, run="4,000 atomic", world=small, documents=ATOMIC),
        replace(laptop, run="4,000 all", world=small),
        replace(laptop, run="4,000 bpe", world=small, documents=ATOMIC, tokenizer=bpe),
        replace(laptop, run="4,000 mixed", world=small, documents=mixed),
        replace(laptop, run="10,000 atomic", world=large, documents=ATOMIC),
    ):
        build_corpus(options)


def _build_corpora_of_many(settings: Settings) -> None:
    preset = CORPUS["paper-laptop"]

    def write_corpus(run: str, facts: int, documents: DocumentConfig) -> None:
        world = scale_world(preset.world, facts)
        build_corpus(replace(preset, run=run, runs=settings.scratch, world=world, documents=documents))

    for facts in MANY:
        write_corpus(f"{facts:,}", facts, preset.documents)
    write_corpus("30,000 long", 30_000, replace(preset.documents, length=10))
    write_corpus("30,000 alone", 30_000, replace(preset.documents, length=1))
    write_corpus("30,000 atomic", 30_000, replace(preset.documents, sentences=("atomic",)))


MANY = (1_000, 10_000, 30_000, 100_000)
"""Facts that the recipe for many learns."""


def many_trials() -> list[Trial]:
    """The recipe of `paper-laptop` for more and more facts, and with one thing changed for 30,000."""
    wide = "--model.hidden {} --model.mlp {} --model.heads {} --model.kv-heads {}"
    changes = {
        "all names in the softmax": ("30,000", "--train.softmax-entries 0"),
        "documents of ten sentences": ("30,000 long", ""),
        "documents of one sentence": ("30,000 alone", ""),
        "atomic sentences": ("30,000 atomic", ""),
        "width 64": ("30,000", wide.format(64, 128, 1, 1)),
        "width 256": ("30,000", wide.format(256, 512, 4, 4)),
        "16 rows a step": ("30,000", "--train.rows 16"),
        "64 rows a step": ("30,000", "--train.rows 64"),
        "Adam's learning rate 0.005": ("30,000", "--train.adam-learning-rate 0.005"),
        "Muon's learning rate 0.02": ("30,000", "--train.learning-rate 0.02"),
        "AdamW, learning rate 0.004": ("30,000", "--train.optimizer adamw --train.learning-rate 0.004"),
    }
    sizes = [Trial(f"{facts:,} facts", f"{facts:,}") for facts in MANY]
    others = [
        Trial(f"30,000 facts, {name}", corpus, tuple(options.split()))
        for name, (corpus, options) in changes.items()
    ]
    often = ("--train.evaluate-every", "25")
    return [
        trial._replace(
            preset="paper-laptop",
            until=TARGET_OF_MANY,
            options=(*often, *_steps_in_proportion(trial), *trial.options),
        )
        for trial in [*sizes, *others]
    ]


OTHER_RECIPES = {
    "Adam's learning rate 0.003": "--train.adam-learning-rate 0.003",
    "scaled by depth": "--train.scale-by-depth",
    "labels weigh as other words do": "--train.label-weight 1",
    "every sentence as often as any other": "--train.copies 1 1 1 1 1",
}
"""What is changed of the recipe of `paper-cpu` at either width."""


def deep_trials() -> list[Trial]:
    """The recipe of `paper-cpu` for 1,000 facts: steps of 1,280 tokens, and one thing changed."""
    changes = {
        "atomic sentences first": "",
        "all sentences from the start": "--train.atomic-steps 0",
        "Muon's learning rate 0.02": "--train.learning-rate 0.02",
        "Adam's learning rate 0.02": "--train.adam-learning-rate 0.02",
        "three iterations of Muon": "--train.muon-iterations 3",
        "Muon's learning rate 0.005": "--train.learning-rate 0.005",
        "16 rows a step": "--train.rows 16 --train.steps 60 --train.atomic-steps 40",
        "documents of one sentence": "",
        "no warm-up": "--train.warmup 0",
        **OTHER_RECIPES,
        "float32": "--model.precision float32",
    }
    small = "--train.rows 8 --train.steps 120 --train.atomic-steps 80 --train.evaluate-every 4".split()
    return [
        Trial(
            name,
            "1,000 deep, alone" if "one sentence" in name else "1,000 deep",
            (*small, *options.split()),
            "paper-cpu",
            TARGET_OF_MANY,
        )
        for name, options in changes.items()
    ]


def label_trials() -> list[Trial]:
    """Layers of width 128 that read 3,000 facts, for 24 steps atomic sentences alone; none stops early."""
    changes = {
        "two layers": "--model.layers 2 --model.unroll 2",
        "four layers": "--model.layers 4 --model.unroll 4",
        "twelve layers": "",
        **OTHER_RECIPES,
    }
    narrow = "--model.hidden 128 --model.mlp 512 --model.heads 2 --model.kv-heads 2 --train.evaluate-every 20"
    steps = "--train.steps 240 --train.atomic-steps 24 --train.adam-learning-rate 0.02"
    return [
        Trial(name, "3,000", (*narrow.split(), *steps.split(), *options.split()), "paper-cpu", 1.0)
        for name, options in changes.items()
    ]


def _steps_in_proportion(trial: Trial) -> tuple[str, str]:
    """As many steps a fact as `paper-laptop` takes for 100,000, but not fewer than a schedule needs."""
    facts = int(trial.corpus.split()[0].replace(",", ""))
    return "--train.steps", str(max(100, facts * TRAIN["paper-laptop"].train.steps // MANY[-1]))


def fact_trials() -> list[Trial]:
    """The laptop recipe as it is, for more facts and more kinds of sentence; steps as many as these need."""
    needed = {("4,000", "atomic"): 500, ("4,000", "all"): 900, ("10,000", "atomic"): 1000}
    return [
        Trial(
            f"{n} facts, {kinds} sentences, {precision}",
            f"{n} {kinds}",
            ("--model.precision", precision, "--train.steps", str(steps)),
        )
        for (n, kinds), steps in needed.items()
        for precision in ("float32", "bfloat16")
    ]


def ablation_trials() -> list[Trial]:
    """The laptop recipe with one thing changed."""
    wide = "--model.hidden {} --model.mlp {} --model.heads {} --model.kv-heads {}"
    changes = {
        "as it is": "",
        "Muon's learning rate 0.005": "--train.learning-rate 0.005",
        "Muon's learning rate 0.02": "--train.learning-rate 0.02",
        "Muon's learning rate 0.04": "--train.learning-rate 0.04",
        "Adam's learning rate 0.005": "--train.adam-learning-rate 0.005",
        "Adam's learning rate 0.02": "--train.adam-learning-rate 0.02",
        "AdamW, learning rate 0.001": "--train.optimizer adamw --train.learning-rate 0.001",
        "AdamW, learning rate 0.002": "--train.optimizer adamw --train.learning-rate 0.002",
        "AdamW, learning rate 0.004": "--train.optimizer adamw --train.learning-rate 0.004",
        "width 64": wide.format(64, 128, 1, 1),
        "width 256": wide.format(256, 512, 4, 4),
        "one layer": "--model.layers 1",
        "four layers": "--model.layers 4 --model.unroll 4",
        "12 rows a step, twice the steps": "--train.rows 12 --train.steps 1000",
        "48 rows a step, half the steps": "--train.rows 48 --train.steps 250",
        "twice the steps": "--train.steps 1000",
        "linear decay": "--train.schedule linear",
        "20 steps of warm-up": "--train.warmup 20",
        "rows of 320 tokens": "--train.row-length 320 --train.rows 12",
        "one document a row": "--train.packing document --train.row-length 48 --train.rows 80",
        "a stream without padding": "--train.packing stream",
        "bfloat16": "--model.precision bfloat16",
    }
    trials = [Trial(name, "4,000 atomic", tuple(options.split())) for name, options in changes.items()]
    bpe = ("--train.row-length", "240", "--train.rows", "16")
    trials += [
        Trial("BPE of 1,000 tokens", "4,000 bpe", bpe),
        Trial("documents about any subjects", "4,000 mixed"),
    ]
    steps = ("--train.steps", "500")
    return [t if steps[0] in t.options else t._replace(options=steps + t.options) for t in trials]


def run_trial(settings: Settings, trial: Trial, seed: int) -> dict[str, Any]:
    """Train once: seconds and steps to the target, None where it is not reached."""
    run = Run(settings.scratch, "trial")
    shutil.rmtree(run.folder, ignore_errors=True)
    shutil.copytree(settings.scratch / trial.corpus, run.folder)
    cache = settings.scratch / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    command = (
        sys.executable, "-m", "testbed.train", trial.preset, "--runs", str(settings.scratch),
        "--run", run.name, "--until", str(trial.until), "--seed", str(seed), *trial.options,
    )  # fmt: skip
    process = subprocess.run(
        command, env={**os.environ, "XDG_CACHE_HOME": str(cache)}, capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise RuntimeError(f"{trial.name}: {process.stderr}")
    lines = read_metrics(run)
    steps = next((line["step"] for line in lines if line["accuracy"] >= trial.until), None)
    recipe = recorded_settings(run, "train")[0]["train"]
    facts = len(load_world(run).stated_facts)
    return {
        "seconds": seconds_to(lines, trial.until),
        "steps": steps,
        "tokens_per_fact": None if steps is None else steps * recipe["rows"] * recipe["row_length"] / facts,
        "accuracy": lines[-1]["accuracy"],
        "labels": {kind: lines[-1][kind] for kind in LABELS if kind in lines[-1]},
        "steps_to_labels": next(
            (line["step"] for line in lines if line.get("not", 0.0) >= LABELS_RIGHT), None
        ),
        "tokens_per_second": median(line["tokens_per_second"] for line in lines),
    }


def run_stage(settings: Settings, stage: Stage, trials: list[Trial]) -> dict[str, Any]:
    """The trials of a stage, on corpora that are written first."""
    build_corpora(settings, stage)
    return run_trials(settings, trials)


def run_trials(settings: Settings, trials: list[Trial]) -> dict[str, Any]:
    """All runs of all trials."""
    by_trial = {
        trial.name: [_load_or_run_trial(settings, trial, seed) for seed in range(settings.seeds)]
        for trial in trials
    }
    print_table(
        f"to {trials[0].until:.0%} of facts, {settings.seeds} seeds",
        ("", "seconds", "steps", "tokens a fact", "last accuracy", "tokens/s"),
        [(name, *describe_runs(runs)) for name, runs in by_trial.items()],
    )
    print_table(
        f'labels in the end, and steps until {LABELS_RIGHT:.0%} of those of "not" are right',
        ("", *LABELS, "steps"),
        [(name, *describe_labels(runs)) for name, runs in by_trial.items()],
    )
    return {
        name: {"options": trial.options, "target": trial.until, "runs": runs}
        for trial, (name, runs) in zip(trials, by_trial.items(), strict=True)
    }


def _load_or_run_trial(settings: Settings, trial: Trial, seed: int) -> dict[str, Any]:
    """One run of a trial, from the file of trials where a stopped command has done it."""
    path = settings.trials_file
    results = read_json(path) if path.exists() else {}
    # What another revision or another JAX measured is not this one's.
    key = " ".join((trial.name, trial.preset, *trial.options, f"--seed {seed}", f"with {provenance()}"))
    if key not in results:
        results[key] = run_trial(settings, trial, seed)
        write_json(path, results)
    say(f"{trial.name}, seed {seed}: {results[key]}")
    return results[key]


def describe_runs(runs: list[dict[str, Any]]) -> tuple[str, ...]:
    """Seconds, steps, accuracy and speed of a trial in words."""
    columns = (("seconds", 0), ("steps", 0), ("tokens_per_fact", 0), ("accuracy", 3))
    words = (_join_runs([run[key] for run in runs], digits) for key, digits in columns)
    return *words, f"{median(run['tokens_per_second'] for run in runs):,.0f}"


def describe_labels(runs: list[dict[str, Any]]) -> tuple[str, ...]:
    """Right labels of each kind that the corpus has, and steps until a model reads them."""
    words = (_join_runs([run["labels"].get(kind) for run in runs], 3) for kind in LABELS)
    return *words, _join_runs([run["steps_to_labels"] for run in runs], 0)


def _join_runs(values: list[float | None], digits: int) -> str:
    """One number a run; a dash for a run that never got there."""
    return " ".join("-" if value is None else f"{value:,.{digits}f}" for value in values)


def run_study(settings: Settings) -> None:
    """Run the stages and write what they found."""
    trials = choose_trials(settings)
    run_benchmark(
        settings, {stage: partial(run_stage, stage=stage, trials=of) for stage, of in trials.items()}
    )
    settings.trials_file.unlink(missing_ok=True)


def choose_trials(settings: Settings) -> dict[Stage, list[Trial]]:
    """The trials of each stage that is run.

    Raises:
        InputError: no stage has a trial of such a name, or a stage has none that was named.
    """
    every: dict[Stage, Callable[[], list[Trial]]] = {
        "facts": fact_trials,
        "ablation": ablation_trials,
        "many": many_trials,
        "deep": deep_trials,
        "labels": label_trials,
    }
    trials = {stage: every[stage]() for stage in settings.stages}
    if not settings.trials:
        return trials
    known = {trial.name for of in trials.values() for trial in of}
    for name in settings.trials:
        if name not in known:
            raise InputError(
                f"--trials {name}: unknown; those of {' '.join(trials)} are: {'; '.join(sorted(known))}"
            )
    chosen = {stage: [trial for trial in of if trial.name in settings.trials] for stage, of in trials.items()}
    for stage, of in chosen.items():
        if not of:
            raise InputError(f"--trials has none of --stages {stage}; leave the stage out")
    return chosen


if __name__ == "__main__":
    launch_module()
