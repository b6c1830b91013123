"""The full training of a preset in stages of some minutes: Hase's Fig. 3, and time to accuracy.

Command:
    python -m experiments.pretrain --preset paper-fast

Each call works for `--minutes`; when the training has reached `--until` or its last step, the record has the
curve of every kind of sentence, seconds to 50, 80, 90 and 95% of facts, and tokens a second. `--preset paper`
is the published recipe (1B tokens); on two CPU cores `laptop` takes a minute or two and `paper-laptop`,
100,000 facts, a quarter of an hour. `--fact-count` makes the world smaller in the paper's proportions, and
the first phase with it, and measures and saves oftener; `--steps` says how many steps there are in all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from experiments.command import launch_module
from experiments.measures.scaled import (
    ScaledOptions,
    corpus_of_scaled,
    name_run,
    presets_of_scaled,
    training_of_scaled,
)
from experiments.study import Findings, Study, Values
from testbed.commands.train import TARGETS
from testbed.run.runs import read_metrics
from testbed.run.trainer import seconds_to
from testbed.scores.tables import Table


@dataclass(frozen=True)
class Options(ScaledOptions):
    """What is trained."""

    preset: Literal["laptop", "small", "paper", "paper-fast", "paper-dense", "paper-laptop", "paper-cpu"] = (
        "paper-fast"
    )
    """Corpus, model and recipe."""
    until: float | None = None
    """Stop at this accuracy of facts; without it, at the last step."""

    @property
    def cells(self) -> list[Values]:
        """One model."""
        return [{"model": name_run(self.preset, self.fact_count), "seed": self.seed}]


def measure_speed(findings: Findings) -> dict[str, Any]:
    """Seconds to accuracies of facts, and tokens a second."""
    lines = read_metrics(*findings.runs())
    return {
        "seconds_to_accuracy": {f"{target:.0%}": seconds_to(lines, target) for target in TARGETS},
        "tokens_per_second": median(line["tokens_per_second"] for line in lines),
    }


def curve_table(findings: Findings) -> Iterator[Table]:
    """What the model knew when it was measured."""
    lines = read_metrics(*findings.runs())
    header = list(lines[-1])
    yield Table("training", "On the way", header, [[line.get(name) for name in header] for line in lines])


STUDY = Study(
    options=Options(minutes=8.0),
    run="{model}",
    preset=presets_of_scaled,
    corpus=corpus_of_scaled,
    train=lambda cell: training_of_scaled(cell) | {"until": cell["until"]},
    editors=lambda _: (),
    tables=curve_table,
    figures=measure_speed,
    title=lambda options: name_run(options.preset, options.fact_count),
)

if __name__ == "__main__":
    launch_module()
