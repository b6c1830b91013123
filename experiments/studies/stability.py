"""When does a verdict on one model hold for another? Rank correlation of editors between models.

Commands:
    python -m experiments.stability
    python -m experiments.stability --vary seed depth size tokenizer world

The same editors edit several models, and each metric ranks them on each model. Two models that differ in one
thing only say how far that thing matters: Kendall's tau-b of their rankings, 1 for the same order and 0 for
orders that have nothing to do with each other. What can differ:

    seed       first weights, order of the text, requests
    depth      2 layers of width 128, or 12 of width 64 (as many parameters in layers, to a third)
    size       2 layers of width 128, or of 48
    tokenizer  a token for each name, or byte pairs
    world      another world of the same make

All models are trained until the same share of facts is generated, so that none is judged by what it has not
learned. Editors stop where the request has one probability (`--strength`), so that none is ranked by how far
it was let go; `--no-strength` takes them as they are. Beside these the row `cases`: one half of the cases
against the other on the same model, which is how well as few cases can agree at all.

Intervals are percentiles of a bootstrap over subjects and requested objects (each case weighs as often as
both were drawn; Owen 2007); they are over cases, not over models, of which there are too few: the table has
the range over pairs of models instead. Resampled rankings agree less than the rankings themselves where
editors are close, so intervals reach further down than up.

The default is three seeds of two depths and takes half an hour of two cores.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from corpus.config import TokenizerConfig, WorldConfig
from corpus.files import read_json
from experiments import stages
from experiments.command import launch_module
from experiments.settings import StagedSettings
from experiments.studies.agreement import CASES, rank_agreement, values_by_editor
from lm.config import ModelConfig
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run
from testbed.scores.metric import metrics_shown_in
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Table
from testbed.settings import DEFAULT_EVALUATION, CaseConfig

EDITORS = (
    "lora-down", "embeddings", "full-early", "full-late", "ft-constrained", "rome", "in-context",
    "self-bayes",
)  # fmt: skip
Factor = Literal["seed", "depth", "size", "tokenizer", "world"]


class ModelVariant(NamedTuple):
    """What tells one model from another."""

    seed: int = 0
    depth: int = 2
    size: int = 128
    tokenizer: Literal["entity", "bpe"] = "entity"
    world: int = 0

    @property
    def name(self) -> str:
        """Of its run."""
        return f"stability-seed{self.seed}-{self.depth}x{self.size}-{self.tokenizer}-world{self.world}"

    @property
    def shape(self) -> ModelConfig:
        """Its layers; those of a deep model are half as wide."""
        width = self.size if self.depth == 2 else self.size // 2
        return ModelConfig(
            hidden=width, mlp=2 * width, layers=self.depth, heads=2, kv_heads=2,
            head_width=width // 2, unroll=2 if self.depth == 2 else 1,
        )  # fmt: skip


OTHER: Mapping[str, tuple[Any, ...]] = {"depth": (12,), "size": (48,), "tokenizer": ("bpe",), "world": (1, 2)}
"""What else a factor can be, besides what `ModelVariant` has; of seeds there are as many as one asks for."""


@dataclass(frozen=True)
class Settings(StagedSettings):
    """What differs between models, and how much is measured on each."""

    vary: tuple[Factor, ...] = ("seed", "depth")
    """What differs. Seeds and depths go with each other; of the rest each value is one more model."""
    seeds: int = 3
    """Models that differ by their seed alone."""
    editors: tuple[str, ...] = EDITORS
    """Who is ranked."""
    cases: int = 80
    """Edits by each editor of each model."""
    strength: float | None = 0.9
    """Probability of the request at which every edit stops."""
    accuracy: float = 0.95
    """Share of facts that a model is trained to generate."""
    steps: int = 600
    """Most training steps."""
    subjects: int = 240
    """Subjects of each world; 240 is the demo's."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.editors) < 3:
            raise ValueError("there must be 3 editors to rank")


def run_study(options: Settings) -> None:
    """Models, edits, rankings, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """The models, and after each its edits."""
    for one in list_variants(options):
        where = stages.settings_of_run(Run(options.runs, one.name), one.seed)
        world = WorldConfig(subjects=options.subjects)
        corpus = replace(CORPUS["tiny"], world=world, tokenizer=TokenizerConfig(one.tokenizer), **where)
        recipe = replace(TRAIN["tiny"].train, steps=options.steps)
        training = replace(TRAIN["tiny"], model=one.shape, train=recipe, until=options.accuracy, **where)
        yield from stages.model_stages(replace(corpus, seed=one.world), training, clock)
        cases = CaseConfig(options.cases)
        edits = replace(EDIT["tiny"], cases=cases, strength=options.strength, **where)
        yield from stages.edit_stages(replace(edits, editors=(name,)) for name in options.editors)


def record_study(options: Settings) -> Path:
    """How far rankings agree, and the values behind them."""
    variants = list_variants(options)
    editors_by_model = {one: _score_run(options, Run(options.runs, one.name)) for one in variants}
    names = metrics_shown_in(next(iter(editors_by_model.values()))[0].evaluation.metrics, "compared")
    by_name = {one.name: editors for one, editors in editors_by_model.items()}
    pairs = pairs_by_factor(variants)
    rows, agreements = [], {}
    for name in names:
        taus = rank_agreement(by_name, name, pairs)
        agreements[name] = taus
        rows.append([name, *(cell for one in taus.values() for cell in (one.tau, one.spread))])
    header = ["metric", *(cell for f in taus for cell in (f, f"{f}, least to most"))]
    title = f"Kendall's tau-b of {len(options.editors)} editors"
    table = Table("stability", title, header, rows, _table_note(options))
    first = Run(options.runs, variants[0].name)
    pages = {"stability.md": stages.show_tables([table])}
    values = {name: values_by_editor(editors, names) for name, editors in by_name.items()}
    training_ends = {one.name: read_json(Run(options.runs, one.name).finished_file) for one in variants}
    return options.record(first, pages, found=agreements, values=values, trained=training_ends)


def list_variants(options: Settings) -> list[ModelVariant]:
    """All models: every seed with every depth, and one for each other value of the rest."""
    vary = set(options.vary)
    depths = (2, *OTHER["depth"]) if "depth" in vary else (2,)
    seeds = range(options.seeds if "seed" in vary else 1)
    crossed = [ModelVariant(seed=seed, depth=depth) for seed in seeds for depth in depths]
    rest = sorted(vary - {"seed", "depth"})
    return [*crossed, *(ModelVariant()._replace(**{f: value}) for f in rest for value in OTHER[f])]


def pairs_by_factor(variants: Sequence[ModelVariant]) -> dict[str, list[tuple[int, int]]]:
    """By factor, the pairs of models that differ in nothing else."""
    by_factor: dict[str, list[tuple[int, int]]] = {}
    for (i, a), (j, b) in itertools.combinations(enumerate(variants), 2):
        differ = [name for name in ModelVariant._fields if getattr(a, name) != getattr(b, name)]
        if len(differ) == 1:
            by_factor.setdefault(differ[0], []).append((i, j))
    return by_factor


def _score_run(options: Settings, run: Run) -> list[ScoredEditor]:
    """The editors of one model, in the order of the settings."""
    editors = stages.score_runs([run], DEFAULT_EVALUATION, lambda config: _is_of_study(options, config))
    return sorted(editors, key=lambda one: options.editors.index(one.edits.editor))


def _is_of_study(options: Settings, config: dict) -> bool:
    settings = config["settings"]
    values = (settings["cases"]["count"], settings["strength"])
    return values == (options.cases, options.strength) and config["editor"] in options.editors


def _table_note(options: Settings) -> str:
    stop = "as they are" if options.strength is None else f"at a strength of {options.strength:g}"
    return (
        f"Editors {stop}, {options.cases} edits of each model. ± is half of a 95% interval over cases; in "
        f"brackets the number of pairs of models. `{CASES}`: halves of one model's cases against each other."
    )


if __name__ == "__main__":
    launch_module()
