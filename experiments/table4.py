"""Hase's Table 4 with real facts: do edits of a model keep it coherent? Intervals, floors, both samplers.

Commands:
    python -m experiments.table4 --path FOLDER_IN_WIKIDATA5M_LAYOUT
    python -m experiments.table4 --path WIKIDATA5M --scale paper --edits 5000 --minutes 8      (with a GPU)

`slice` takes 2,000 subjects with about 6,250 facts, the `laptop` model with one token a name, and about
a quarter of an hour on 2 cores without a GPU. `paper` is the corpus of 100,000 facts, the model of 83M
parameters in `paper-fast`'s recipe, and 5,000 edits by each editor; training leaves after `minutes` and a
killed sweep loses one batch, so that the same command is repeated until the record is written. Expected at
`slice`: generative accuracy of true facts at least 0.9, edit success at least 0.95 for every editor but
the controls. The figures of the last run are in experiments/records.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import tyro

from corpus.config import TokenizerConfig
from experiments.record import figures, write_record
from testbed.console import command, say
from testbed.corpus import build_corpus
from testbed.edit import edit
from testbed.evaluations.examination import examination_named
from testbed.evaluations.hase.evaluation import Hase
from testbed.evaluations.hase.paper import SUBSETS, in_published_terms, main_results
from testbed.launch import launch
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.report import report
from testbed.run.runs import Run, read_metrics
from testbed.run.runtime import prepare_jax
from testbed.scores.comparison import score
from testbed.scores.gather import gather
from testbed.scores.tables import markdown_section
from testbed.settings import CaseConfig, ReportSettings
from testbed.train import train

PAIRS = ("P69:P106", "P19:P27", "P31:P17", "P136:P264", "P172:P1412")
"""Relations of Wikidata, and the one that depends on each."""
EDITORS = (
    "lora-down", "lora-all", "embeddings", "full", "rome", "memit", "in-context", "self-bayes", "count-based",
    "none", "oracle",
)  # fmt: skip
SAMPLERS: tuple[Literal["published", "stratified"], ...] = ("published", "stratified")


@dataclass(frozen=True)
class Settings:
    """Where the facts are, and how much is measured."""

    path: str = tyro.MISSING
    """Folder in Wikidata5m's layout."""
    scale: Literal["slice", "paper"] = "slice"
    """slice: minutes on a laptop; paper: hours, or a GPU."""
    editors: tuple[str, ...] = EDITORS
    """Which editors."""
    edits: int = 400
    """Edits by each editor and sampler."""
    minutes: float | None = None
    """Leave after about this much training; the same command goes on."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    seed: int = 0
    """Root seed of every stage."""

    def __post_init__(self) -> None:
        if self.edits < 1:
            raise ValueError("edits must be positive")

    @property
    def run(self) -> Run:
        """Where it goes."""
        return Run(self.runs, f"table4-{self.scale}")

    @property
    def command(self) -> str:
        """What repeats it."""
        editors = " ".join(self.editors)
        scale = f"--scale {self.scale} --editors {editors} --edits {self.edits} --seed {self.seed}"
        return f"python -m experiments.table4 --path FOLDER {scale}"


def experiment(options: Settings) -> None:
    """Corpus, training, edits by both samplers, report and record."""
    prepare_jax()
    seconds: dict[str, float] = {}
    for name, stage in _stages(options):
        began = time.perf_counter()
        stage()
        seconds[name] = round(time.perf_counter() - began, 1)
        if name == "train" and not options.run.finished.exists():
            say("training goes on with the same command")
            return
    editors = score(gather([options.run], examination_named("hase")))
    tables = [main_results(editors), in_published_terms(editors)]
    for shown in tables:
        say(markdown_section(shown))
    lines = read_metrics(options.run)
    kept = write_record(
        options.run,
        "table4",
        options.command,
        lines,
        copied=(".md", ".png"),
        seconds=seconds,
        found=figures(editors, SUBSETS),
    )
    say(f"record: {kept}")


def _stages(options: Settings) -> Iterator[tuple[str, Any]]:
    where: dict[str, Any] = {"run": options.run.name, "runs": options.runs}
    seeded = where | {"seed": options.seed}
    small = options.scale == "slice"
    corpus = CORPUS["small" if small else "paper"]
    world = replace(corpus.world, source="wikidata", path=options.path, pairs=PAIRS)
    tokenizer = TokenizerConfig() if small else corpus.tokenizer
    yield "corpus", lambda: build_corpus(replace(corpus, world=world, tokenizer=tokenizer, **seeded))
    recipe = TRAIN["laptop" if small else "paper-fast"]
    if small:
        recipe = replace(recipe, train=replace(recipe.train, steps=1400, row_length=192))
    yield "train", lambda: train(replace(recipe, minutes=options.minutes, **seeded))
    base, cases = EDIT["laptop" if small else "paper"], CaseConfig(count=options.edits)
    settings = replace(base, editors=options.editors, cases=cases, **seeded)
    for sampler in SAMPLERS:
        asked = replace(settings, examinations={"hase": Hase(sampler=sampler)})
        yield f"edit, {sampler}", lambda a=asked: edit(a)
    yield "report", lambda: report(ReportSettings(against="lora-down", **where))


def main(args: list[str] | None = None) -> int:
    """The command line."""
    return command("experiments.table4", __doc__ or "", Settings, experiment, args)


if __name__ == "__main__":
    launch(main)
