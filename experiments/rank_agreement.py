"""Do editors rank alike by models of records? Kendall's tau-b, from the records' figures.

Commands:
    python -m experiments.rank_agreement 2026-11-23-twelve-layers
    python -m experiments.rank_agreement RECORD RECORD --against MODEL --editors NAME...

Models are told apart by the first label of a record's figures, as the depth of `twelve_layers` or the run of
`transfer`. No model and no run are needed. A record holds each editor's figures and not its cases, so that a
tau has no interval; `experiments.stability` and `experiments.transfer` have intervals, from the cases.
"""

import itertools
from collections import Counter
from dataclasses import dataclass

import numpy as np
import tyro

from corpus.errors import InputError
from experiments.command import launch_module
from experiments.figures import FIGURES, read_figures
from experiments.record import RECORDS
from experiments.studies.stability import EDITORS
from testbed.console import say
from testbed.evaluations.catalogue import evaluation_named
from testbed.evaluations.labels import id_of_label
from testbed.scores.metric import metrics_shown_in
from testbed.scores.statistics import kendall_tau, rank_values
from testbed.scores.tables import Cell, Table, better_of, markdown_section

Values = dict[str, dict[str, dict[str, float | None]]]
"""By model, editor and metric; None where it could not be measured."""


@dataclass(frozen=True)
class Settings:
    """Which records, and who is ranked."""

    records: tyro.conf.Positional[tuple[str, ...]] = ("2026-11-23-twelve-layers",)
    """Names of folders in experiments/records."""
    editors: tuple[str, ...] = EDITORS
    """Who is ranked: by default those of `experiments.stability`."""
    against: str = ""
    """The model with which every other is compared; without one, all pairs are."""


def run_study(settings: Settings) -> None:
    """Print tau for every metric and pair of models.

    Raises:
        InputError: there is no such record or model, or a model was not edited by one of the editors.
    """
    by_record = {name: read_values(name) for name in settings.records}
    times = Counter(model for values in by_record.values() for model in values)
    values = {
        model if times[model] == 1 else f"{model} of {name}": by_editor
        for name, by_model in by_record.items()
        for model, by_editor in by_model.items()
    }
    if settings.against and settings.against not in values:
        raise InputError(f"--against {settings.against}: choose among {', '.join(values)}")
    say(markdown_section(agreement_table(values, settings.editors, settings.against)))


def read_values(record: str) -> Values:
    """What every editor of every model of a record reached, without intervals.

    Raises:
        InputError: there is no such record, or it has no figures of editors by model.
    """
    path = RECORDS / record / FIGURES
    if not path.exists():
        raise InputError(f"{record}: not a record; records are the folders of {RECORDS}")
    values: Values = {}
    for one in read_figures(path):
        # A table of values by model and editor, or by what tells models apart, editor, subset and reader.
        # Beside an estimate may stand what it would be over fewer clusters.
        if one.over:
            continue
        if one.table == "values":
            model, editor = one.labels
        elif one.table == "found" and len(one.labels) > 3:
            *model_labels, editor, subset, reader = one.labels
            if subset != "all" or reader != editor:
                continue
            model = ", ".join(model_labels)
        else:
            continue
        values.setdefault(model, {}).setdefault(editor, {})[id_of_label(one.figure)] = one.value
    if not values:
        raise InputError(f"{record} has no figures of editors by model")
    return values


def agreement_table(values: Values, editors: tuple[str, ...], against: str = "") -> Table:
    """Tau-b of editors between models, a row for each metric.

    Args:
        editors: who is ranked.
        against: the model with which every other is compared; without one, all pairs are.

    Raises:
        InputError: a model was not edited by one of them.
    """
    for model, by_editor in values.items():
        if missing := set(editors) - set(by_editor):
            raise InputError(
                f"{model} was not edited by {', '.join(sorted(missing))}: name others by --editors"
            )
    definitions = evaluation_named("hase")().metrics
    better = better_of(definitions)
    rows: list[list[Cell]] = []
    pairs = [pair for pair in itertools.combinations(values, 2) if not against or against in pair]
    for metric in metrics_shown_in(definitions, "compared"):
        ranked = {
            model: rank_values(np.array([by_editor[e].get(metric) for e in editors], float), better[metric])
            for model, by_editor in values.items()
        }
        rows.append([metric, *(float(kendall_tau(ranked[a], ranked[b])) for a, b in pairs)])
    note = f"{len(editors)} editors on one model of each kind; no intervals. -: not measured, or all tie."
    header = ["metric", *(f"{a} against {b}" for a, b in pairs)]
    return Table("agreement", "Kendall's tau-b of editors between models", header, rows, note)


if __name__ == "__main__":
    launch_module()
