"""The full training of a preset in stages of some minutes: Hase's Fig. 3, and time to accuracy.

Command:
    python -m experiments.pretrain --preset paper-fast

Each call works for `--minutes`; when the training has reached `--until` or its last step, the record has the
curve of every kind of sentence, seconds to 50, 80, 90 and 95% of facts, and tokens a second. `--preset paper`
is the published recipe (1B tokens); on two CPU cores `laptop` takes a minute or two and `paper-laptop`,
100,000 facts, a quarter of an hour. `--fact-count` makes the world smaller in the paper's proportions, and
the first phase with it, and measures and saves oftener; `--steps` says how many steps there are in all.
"""

from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from experiments.command import launch_module
from experiments.measures import scaled
from experiments.study import Study, Values
from testbed.commands.train import TARGETS
from testbed.run.runs import Run, read_metrics
from testbed.run.trainer import seconds_to
from testbed.scores.tables import Table


@dataclass(frozen=True)
class Options(scaled.ScaledOptions):
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
        return [{"model": scaled.name_run(self.preset, self.fact_count), "seed": self.seed}]


def curve_of(run: Run) -> Table:
    """What the model knew when it was measured."""
    lines = read_metrics(run)
    return Table("training", "On the way", [*lines[-1]], [[*map(line.get, lines[-1])] for line in lines])


def speed_of(run: Run) -> dict[str, Any]:
    """Seconds to accuracies of facts, and tokens a second."""
    lines = read_metrics(run)
    return {
        "seconds_to_accuracy": {f"{target:.0%}": seconds_to(lines, target) for target in TARGETS},
        "tokens_per_second": median(line["tokens_per_second"] for line in lines),
    }


STUDY = Study(
    options=Options(minutes=8.0),
    run="{model}",
    preset=scaled.presets_of_scaled,
    corpus=scaled.corpus_of_scaled,
    train=lambda cell: scaled.training_of_scaled(cell) | {"until": cell["until"]},
    editors=lambda _: (),
    tables=lambda findings: [curve_of(*findings.runs())],
    figures=lambda findings: speed_of(*findings.runs()),
    title=lambda options: scaled.name_run(options.preset, options.fact_count),
)

if __name__ == "__main__":
    launch_module()
