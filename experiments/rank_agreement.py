"""Do editors rank alike by two models of one record? Kendall's tau-b, from the record's figures.

Command:
    python -m experiments.rank_agreement 2026-11-23-twelve-layers

Models are told apart by the first label of the record's figures, as the depth of `twelve_layers`. No model
and no run are needed. A record holds each editor's figures and not its cases, so that a tau has no interval;
`experiments.stability` has intervals, from the cases of three seeds.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import tyro

from corpus.errors import InputError
from experiments.command import launch_module
from experiments.record import RECORDS
from experiments.studies.stability import EDITORS
from experiments.tidy import FIGURES, read_nested
from testbed.console import say
from testbed.evaluations.catalogue import evaluation_named
from testbed.scores.metric import metrics_shown_in
from testbed.scores.statistics import kendall_tau, rank_values
from testbed.scores.tables import Cell, Table, better_of, markdown_section


@dataclass(frozen=True)
class Settings:
    """Which record, and who is ranked."""

    record: tyro.conf.Positional[str] = "2026-11-23-twelve-layers"
    """Name of a folder in experiments/records."""
    editors: tuple[str, ...] = EDITORS
    """Who is ranked: by default those of `experiments.stability`."""


def run_study(settings: Settings) -> None:
    """Print tau for every metric and pair of models.

    Raises:
        InputError: there is no such record, or it lacks an editor.
    """
    path = RECORDS / settings.record / FIGURES
    if not path.exists():
        raise InputError(f"{settings.record}: not a record; records are the folders of {RECORDS}")
    say(markdown_section(agreement_table(read_nested(path, "found"), settings.editors)))


def agreement_table(figures: dict[str, dict], editors: tuple[str, ...]) -> Table:
    """Tau-b of editors between models, a row for each metric.

    Args:
        figures: by model, editor, subset ("all") and reader (the editor itself), its metrics.
        editors: who is ranked.

    Raises:
        InputError: a model was not edited by one of them.
    """
    for model, by_editor in figures.items():
        if missing := set(editors) - set(by_editor):
            raise InputError(
                f"{model} was not edited by {', '.join(sorted(missing))}: name others by --editors"
            )
    definitions = evaluation_named("hase")().metrics
    better = better_of(definitions)
    rows: list[list[Cell]] = []
    pairs = list(itertools.combinations(figures, 2))
    for metric in metrics_shown_in(definitions, "compared"):
        values = {
            model: np.array([_metric_value(by_editor[e]["all"][e], metric) for e in editors])
            for model, by_editor in figures.items()
        }
        ranked = {model: rank_values(of_editors, better[metric]) for model, of_editors in values.items()}
        rows.append([metric, *(float(kendall_tau(ranked[a], ranked[b])) for a, b in pairs)])
    note = f"{len(editors)} editors on one model of each kind; no intervals. -: not measured, or all tie."
    header = ["metric", *(f"{a} against {b}" for a, b in pairs)]
    return Table("agreement", "Kendall's tau-b of editors between models", header, rows, note)


def _metric_value(metrics: dict[str, list], name: str) -> float:
    """What was found, without its interval; nan where it is lacking."""
    return metrics[name][0] if name in metrics else np.nan


if __name__ == "__main__":
    launch_module()
