"""The full training of a preset in stages of some minutes: Hase's Fig. 3, and time to accuracy.

Command:
    python -m experiments.pretrain --preset paper-fast

Each call works for at most `--minutes` (8) beyond starting up, saves, and says so; the same command goes on
from there, and when the training has reached `--until` or its last step it writes
experiments/records/<date>-pretrain-<preset>/: the curve of every kind of sentence, metrics.jsonl, seconds to
50, 80, 90 and 95% of facts, tokens a second and share of the attainable FLOP/s. `--preset paper` is the
published recipe (1B tokens); on two CPU cores `laptop` takes a minute or two and `paper-laptop`, 100,000
facts, a quarter of an hour. `--preset paper --twin` trains Hugging Face's Mistral in PyTorch (extra `bench`)
on the same batches by the same recipe, in the same stages, into a record of its own.
`--fact-count` makes the world smaller in the paper's proportions, and the first phase with it, and measures
and saves oftener; `--steps` says how many steps there are in all.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Literal

from corpus.files import read_json
from experiments.benchmarks.scaled import PAPER_FACTS, scale_world
from experiments.command import launch_module
from experiments.record import command_of, options_unlike_default, write_record
from experiments.stages import settings_of_run
from testbed.commands.corpus import build_corpus
from testbed.commands.train import TARGETS, train
from testbed.console import say
from testbed.pages.charts import draw_training
from testbed.presets import CORPUS, TRAIN
from testbed.run.runs import Run, read_metrics
from testbed.run.runtime import keep_freed_memory, prepare_jax
from testbed.run.settings import CorpusSettings, TrainSettings
from testbed.run.trainer import seconds_to

OFTENEST = 20
"""Steps between measurements of a small world's model."""


@dataclass(frozen=True)
class Settings:
    """What is trained, and for how long at a time."""

    preset: Literal["laptop", "small", "paper", "paper-fast", "paper-laptop", "paper-cpu"] = "paper-fast"
    """Corpus, model and recipe."""
    minutes: float = 8.0
    """Length of a stage."""
    until: float | None = None
    """Stop at this accuracy of facts; without it, at the last step."""
    fact_count: int = PAPER_FACTS
    """About how many facts, where the preset's world is the paper's."""
    steps: int = 0
    """Optimiser steps, those that read atomic sentences alone in proportion to the facts; 0 takes as many as
    the preset after these."""
    twin: bool = False
    """Train PyTorch's model instead of ours."""
    seed: int = 0
    """Root seed."""
    runs: Path = Path("runs")
    """Folder of all runs."""


def run_study(settings: Settings) -> None:
    """One stage; the record, once the training is over."""
    keep_freed_memory()
    name = name_run(settings.preset, settings.fact_count)
    run = Run(settings.runs, name)
    corpus, recipe = scale_preset(settings.preset, settings.fact_count, settings.steps)
    where = settings_of_run(run, settings.seed)
    build_corpus(replace(corpus, **where))
    options = replace(recipe, **where, minutes=settings.minutes, until=settings.until)
    given: dict[str, object] = {"preset": settings.preset, "seed": settings.seed}
    unlike = options_unlike_default(settings, "fact_count", "steps", "until")
    given |= {name.replace("_", "-"): value for name, value in unlike.items()}
    repeat_command = command_of("pretrain", given) + " --twin" * settings.twin
    title = name + "-twin" * settings.twin
    if settings.twin:
        from experiments.benchmarks.twin import train_twin

        prepare_jax()
        folder = train_twin(options)
        lines = read_json(folder / "metrics.json")["lines"] if folder else []
    else:
        train(options)
        lines = read_metrics(run) if run.finished_file.exists() else []
    if not lines:
        say(f"not finished; go on with {repeat_command}")
        return
    run.report.mkdir(exist_ok=True)
    draw_training(lines, run.report / "training.png")
    seconds = {f"{target:.0%}": seconds_to(lines, target) for target in TARGETS}
    speed = median(line["tokens_per_second"] for line in lines)
    folder = write_record(run, title, repeat_command, seconds_to_accuracy=seconds, tokens_per_second=speed)
    say(f"record {folder}")


def name_run(preset: str, fact_count: int) -> str:
    """The run in which a preset's model of so many facts is trained."""
    return f"pretrain-{preset}" + f"-{fact_count}" * (fact_count != PAPER_FACTS)


def scale_preset(preset: str, fact_count: int, steps: int) -> tuple[CorpusSettings, TrainSettings]:
    """A preset's corpus and training for fewer facts: its first phase in proportion, later ones as they are.

    Args:
        fact_count: about how many; the preset itself is for PAPER_FACTS. Fewer are measured, and the state
            saved, after fewer steps.
        steps: all of them; 0 keeps those after the first phase as many as they are.
    """
    training = TRAIN[preset]
    corpus, recipe = CORPUS[training.run], training.train
    if fact_count != PAPER_FACTS:
        corpus = replace(corpus, world=scale_world(corpus.world, fact_count))
    share = fact_count / PAPER_FACTS
    first = round(recipe.atomic_steps * share)
    later = recipe.steps - recipe.atomic_steps
    steps = steps or first + later
    between = max(OFTENEST, round(recipe.evaluate_every * share))
    changed = replace(
        recipe,
        steps=steps,
        warmup=min(recipe.warmup, steps - 1),
        atomic_steps=min(first, steps),
        evaluate_every=between,
        checkpoint_every=max(between, round(recipe.checkpoint_every * share)),
    )
    return corpus, replace(training, train=changed)


if __name__ == "__main__":
    launch_module()
