"""Does a verdict on half a million parameters hold for 83 million? Rankings of editors at four sizes.

Commands:
    python -m experiments.transfer
    python -m experiments.transfer --sizes 0.4M 5M 20M 83M --seeds 3 3 1 1   (with a GPU)

The same editors edit models of four sizes at equal strength, and each metric ranks them on each: those of
experiments.stability but self-bayes, of which one edit takes minutes on the larger models. The smallest
model reads the demo's world of 900 facts; those of 5 and 20 million parameters 10,000 facts, the paper's
world in its proportions; the largest is the paper's, of 83 million, which experiments.pretrain trains to
100,000 facts. Small ones have several seeds, each with a world of its own. Kendall's tau-b says how far two
sizes agree; beside it stand two seeds of one size, and two halves of one model's cases, which is as well as
so few cases can agree. A last table asks at each size whether two editors come in the order that a paper
printed.

Hyper-parameters are the presets': those of two layers up to 5 million parameters, those of twelve above.
Without the largest it takes about an hour and a half of one core.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from corpus.files import read_json
from experiments import stages
from experiments.benchmarks.scaled import PAPER_FACTS
from experiments.command import launch_module
from experiments.settings import StagedSettings
from experiments.studies.agreement import CASES, Agreement, rank_agreement, values_by_editor
from experiments.studies.pretrain import name_run, scale_preset
from experiments.studies.stability import EDITORS as STABLE
from lm.config import ModelConfig
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run
from testbed.run.settings import CorpusSettings, TrainSettings
from testbed.scores.metric import metrics_shown_in
from testbed.scores.statistics import rank_values
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table, better_of
from testbed.settings import CaseConfig, EditSettings

EDITORS = tuple(name for name in STABLE if name != "self-bayes")
SizeName = Literal["0.4M", "5M", "20M", "83M"]
FACTS = 10_000
"""Of the worlds of models of 5 and 20 million parameters."""
STEPS = 300
"""In which such a world is learned, as experiments.pretrain has it."""
PRINTED = {
    ("in-context", "rome"): (FOLLOWS, "TAXI, Table 2: consistency 0.47, 0.43"),
    ("rome", "ft-constrained"): (FOLLOWS, "TAXI, Table 2: consistency 0.43, 0.23"),
    ("in-context", "ft-constrained"): (FOLLOWS, "TAXI, Table 2: consistency 0.47, 0.23"),
    ("lora-down", "embeddings"): (DAMAGE, "Hase, Tables 4 and 7: accuracy s2r1 0.91, 0.75"),
}
"""Pairs of editors, the better first, our metric, and what was printed."""


class Size(NamedTuple):
    """Models of one size.

    Attributes:
        shape: of a model; None takes the training preset's.
        written, trained, edited: the presets of its corpus, of training and of edits.
        facts: of its world; None takes the preset's.
        until: the share of facts to which it is trained; None takes all steps.
    """

    shape: ModelConfig | None
    written: str
    trained: str
    edited: str
    facts: int | None = None
    until: float | None = None


SIZES: dict[SizeName, Size] = {
    "0.4M": Size(None, "tiny", "tiny", "tiny"),
    "5M": Size(
        ModelConfig(hidden=256, mlp=768, layers=4, heads=4, kv_heads=4, precision="fastest", unroll=4),
        "paper-cpu", "paper-cpu", "paper-laptop", FACTS, 0.93,
    ),
    "20M": Size(
        ModelConfig(hidden=384, mlp=1280, layers=8, heads=6, kv_heads=6, precision="fastest", unroll=8),
        "paper-cpu", "paper-cpu", "paper-cpu", FACTS, 0.93,
    ),
    "83M": Size(None, "paper", "paper-fast", "paper"),
}  # fmt: skip


@dataclass(frozen=True)
class Settings(StagedSettings):
    """Which sizes, and how much is measured on each."""

    sizes: tuple[SizeName, ...] = ("0.4M", "5M", "20M")
    """Sizes of models; 83M needs a GPU, or its run in the folder of runs."""
    seeds: tuple[int, ...] = (3, 3, 1)
    """Models of each of these sizes."""
    editors: tuple[str, ...] = EDITORS
    """Who is ranked."""
    cases: int = 80
    """Edits by each editor of each model."""
    strength: float = 0.9
    """Probability of the request at which every edit stops."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.editors) < 3:
            raise ValueError("there must be 3 editors to rank")
        if len(self.sizes) < 2:
            raise ValueError("there must be 2 sizes to compare")
        if len(self.seeds) != len(self.sizes) or min(self.seeds) < 1:
            raise ValueError(f"seeds are a positive number for each size; they are {self.seeds}")


class Model(NamedTuple):
    """One model of a size."""

    size: SizeName
    seed: int

    @property
    def name(self) -> str:
        """Of its run; the largest is experiments.pretrain's."""
        size = SIZES[self.size]
        return (
            name_run(size.trained, PAPER_FACTS) if self.size == "83M" else f"transfer-{self.size}-{self.seed}"
        )


def run_study(options: Settings) -> None:
    """Models, edits, rankings, record."""
    stages.run_in_stages(options, study_stages, record_study)


def list_models(options: Settings) -> list[Model]:
    """All models: of every size as many as there are seeds."""
    return [
        Model(name, seed)
        for name, models in zip(options.sizes, options.seeds, strict=True)
        for seed in range(models)
    ]


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """The models, and after each its edits."""
    for model in list_models(options):
        corpus, training = model_settings(options, model)
        yield from stages.model_stages(corpus, training, clock)
        edits = edit_settings(options, model)
        yield from stages.edit_stages(replace(edits, editors=(name,)) for name in options.editors)


def model_settings(options: Settings, model: Model) -> tuple[CorpusSettings, TrainSettings]:
    """The corpus and the training of a model."""
    size, where = SIZES[model.size], stages.settings_of_run(Run(options.runs, model.name), model.seed)
    corpus, training = CORPUS[size.written], TRAIN[size.trained]
    if size.facts:
        corpus, training = scale_preset(size.trained, size.facts, STEPS)
    shape = size.shape or training.model
    return replace(corpus, **where), replace(training, model=shape, until=size.until, **where)


def edit_settings(options: Settings, model: Model) -> EditSettings:
    """All editors' edits of a model."""
    where = stages.settings_of_run(Run(options.runs, model.name), model.seed)
    base = EDIT[SIZES[model.size].edited]
    cases = CaseConfig(options.cases)
    return replace(base, editors=options.editors, cases=cases, strength=options.strength, **where)


def record_study(options: Settings) -> Path:
    """How far rankings agree, who comes in a printed order, and the values behind them."""
    models = list_models(options)
    editors_by_model = {
        model: stages.score_edits([Run(options.runs, model.name)], edit_settings(options, model))
        for model in models
    }
    names = metrics_shown_in(editors_by_model[models[0]][0].evaluation.metrics, "compared")
    by_name = {model.name: editors for model, editors in editors_by_model.items()}
    pairs = pair_sizes(models)
    agreements = {name: rank_agreement(by_name, name, pairs) for name in names}
    tables = [agreement_table(agreements, options), printed_table(editors_by_model)]
    values = {name: values_by_editor(editors, names) for name, editors in by_name.items()}
    training_ends = {m.name: read_json(Run(options.runs, m.name).finished_file) for m in models}
    pages = {"transfer.md": stages.show_tables(tables)}
    first = Run(options.runs, models[0].name)
    return options.record(first, pages, found=agreements, values=values, trained=training_ends)


def pair_sizes(models: Sequence[Model]) -> dict[str, list[tuple[int, int]]]:
    """By what differs, pairs of models by their places: every two sizes, and the seeds of each."""
    pairs: dict[str, list[tuple[int, int]]] = {}
    for (i, a), (j, b) in itertools.combinations(enumerate(models), 2):
        factor = f"{a.size} against {b.size}" if a.size != b.size else f"seeds of {a.size}"
        pairs.setdefault(factor, []).append((i, j))
    return pairs


def agreement_table(agreements: Mapping[str, Mapping[str, Agreement]], options: Settings) -> Table:
    """Tau of every two sizes, a row for each metric."""
    rows: list[list[Cell]] = [
        [name, *(one.tau for one in by_factor.values())] for name, by_factor in agreements.items()
    ]
    header = ["metric", *next(iter(agreements.values()))]
    title = f"Kendall's tau-b of {len(options.editors)} editors between sizes"
    note = (
        f"Editors at a strength of {options.strength:g}, {options.cases} edits of each model. ± is half of a "
        f"95% interval over cases, and a mean is over pairs of seeds. `{CASES}`: halves of one model's cases."
    )
    return Table("transfer", title, header, rows, note)


def printed_table(editors_by_model: Mapping[Model, Sequence[ScoredEditor]]) -> Table:
    """On how many models of each size two editors come in the order that a paper printed."""
    sizes = list(dict.fromkeys(model.size for model in editors_by_model))
    rows: list[list[Cell]] = []
    for (better, worse), (metric, source) in PRINTED.items():
        cells: list[Cell] = []
        for size in sizes:
            of_size = [editors for model, editors in editors_by_model.items() if model.size == size]
            leads = [
                lead for editors in of_size if (lead := lead_of(editors, better, worse, metric)) is not None
            ]
            cells.append(f"{sum(lead > 0 for lead in leads)} of {len(leads)}" if leads else None)
        rows.append([f"{better} before {worse}", metric, source, *cells])
    header = ["order", "metric", "printed", *sizes]
    return Table("printed", "Models that put two editors in the printed order", header, rows, words=3)


def lead_of(editors: Sequence[ScoredEditor], better: str, worse: str, metric: str) -> float | None:
    """By how much one editor is better than another by a metric; None where one of them is not there."""
    values = values_by_editor(editors, [metric])
    if not {better, worse} <= set(values):
        return None
    pair = np.array([values[name][metric].value for name in (better, worse)])
    first, second = rank_values(pair, better_of(editors[0].evaluation.metrics)[metric]).tolist()
    return first - second


if __name__ == "__main__":
    launch_module()
