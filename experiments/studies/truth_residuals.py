"""Does an edit break the laws of truth more, in a model that has learned what "true" and "false" mean?

Command:
    python -m experiments.truth_residuals

Hase et al. 2024 find that an edit makes p("s r o" is true) differ more from p(o | s, r) than before (their
residual TF: .40 to .52 for LoRA). Each world has two models, which read the same corpus: one by the demo's
recipe, of which labels stay half learned, and one that reads labelled sentences oftener and weighs labels
more. Requests are drawn by the paper's sampler and edited with the demo's settings; residuals are in the
paper's definitions (A.5). About three minutes of one core a world.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from corpus.config import SENTENCES
from experiments import stages
from experiments.command import launch_module
from experiments.settings import StagedSettings
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.hase import Hase
from testbed.evaluations.hase.published import WAS_COHERENT, published_metrics, request_groups
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run, read_metrics
from testbed.scores.metric import Metric
from testbed.scores.statistics import estimate_metrics
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.settings import DEFAULT_EVALUATION, CaseConfig, EditSettings

RECIPES: dict[str, dict[str, Any]] = {
    "as the demo": {},
    "labels oftener": {
        "steps": 500,
        "learning_rate": 0.01,
        "atomic_steps": 80,
        "copies": (1, 3, 4, 4, 4),
        "label_weight": 10.0,
    },
}
"""By name: what differs from the demo's training. Looked at on the world of seed 1000 alone."""
LAWS = {"logic TF": "TF", "logic not": "not", "logic and": "and", "logic or": "or"}
"""The published columns, and what they are called here."""
GROUPS = ("new request", "downstream", WAS_COHERENT)
LABELS = SENTENCES[1:]
WHEN = ("before", "after", "moved")
FIRST_SEED = 1


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How many worlds and edits."""

    worlds: int = 10
    """Worlds, of seeds 1, 2, ..."""
    editors: tuple[str, ...] = ("lora-down", "lora-all", "embeddings", "full")
    """Who edits."""
    edits: int = 80
    """Edits by each editor of each model."""

    @property
    def seeds(self) -> range:
        """Of the worlds."""
        return range(FIRST_SEED, FIRST_SEED + self.worlds)

    def run(self, recipe: str, seed: int) -> Run:
        """Where a world's model of a recipe is."""
        return Run(self.runs, f"truth-residuals-{list(RECIPES).index(recipe)}-{seed}")


def run_study(settings: Settings) -> None:
    """Models, edits, tables, record."""
    stages.run_in_stages(settings, study_stages, record_study)


def study_stages(settings: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """A world at a time: both models, and their edits."""
    for seed in settings.seeds:
        for recipe, changes in RECIPES.items():
            where = stages.settings_of_run(settings.run(recipe, seed), seed)
            training = replace(TRAIN["tiny"], train=replace(TRAIN["tiny"].train, **changes), **where)
            yield from stages.model_stages(replace(CORPUS["tiny"], **where), training, clock)
            yield from stages.edit_stages([edit_settings(settings, recipe, seed)])


def edit_settings(settings: Settings, recipe: str, seed: int) -> EditSettings:
    """The demo's, of requests as the paper draws them."""
    return replace(
        EDIT["tiny"],
        editors=settings.editors,
        cases=CaseConfig(settings.edits),
        evaluations=EDIT["tiny"].evaluations | {"hase": Hase(sampler="published")},
        **stages.settings_of_run(settings.run(recipe, seed), seed),
    )


def record_study(settings: Settings) -> Path:
    """Labels learned by each recipe, and each law before and after the edits of each editor."""
    runs = {recipe: [settings.run(recipe, seed) for seed in settings.seeds] for recipe in RECIPES}
    by_recipe = {
        recipe: stages.score_runs(
            of_recipe,
            DEFAULT_EVALUATION,
            stages.config_matcher(edit_settings(settings, recipe, FIRST_SEED)),
        )
        for recipe, of_recipe in runs.items()
    }
    tables = [labels_table(runs), *(residual_table(by_recipe, group) for group in GROUPS)]
    return settings.record(runs["as the demo"][0], {"truth-residuals.md": stages.show_tables(tables)})


def labels_table(runs: Mapping[str, Sequence[Run]]) -> Table:
    """Facts and labels that the models of each recipe have right at the end, mean over worlds."""
    rows: list[list[Cell]] = []
    for recipe, of_recipe in runs.items():
        last = [read_metrics(run)[-1] for run in of_recipe]
        rows.append(
            [recipe, *(float(np.mean([line[one] for line in last])) for one in ("accuracy", *LABELS))]
        )
    return Table("labels", "Facts and labels right, mean over worlds", ["recipe", "facts", *LABELS], rows)


def residual_table(by_recipe: Mapping[str, Sequence[ScoredEditor]], group: str) -> Table:
    """A row for each recipe and editor: the residual of each law before, after, and how far it moved."""
    rows: list[list[Cell]] = []
    for recipe, editors in by_recipe.items():
        for editor in editors:
            results = editor.edits.results
            among = request_groups(results)[group]
            found = estimate_metrics(residuals_of(results), cluster_levels(results), among)
            rows.append([f"{recipe}, {editor.name}", int(among.sum()), *found.values()])
    header = ["model, editor", "edits", *(f"{law} {when}" for law in LAWS.values() for when in WHEN)]
    note = (
        "Mean absolute residuals in the paper's definitions; moved is after less before, of the same edits."
    )
    key = f"residuals-{group.replace(' ', '-')}"
    return Table(key, f"Laws of truth, {group}", header, rows, note)


def residuals_of(results: Results) -> dict[str, Metric]:
    """Each law's residual before, after, and the difference, by law and time."""
    before, after = published_metrics(results)
    found: dict[str, Metric] = {}
    for name, law in LAWS.items():
        first, second = before[name], after[name]
        moved = Metric(second.numerator - first.numerator, first.denominator)
        found |= dict(zip((f"{law} {when}" for when in WHEN), (first, second, moved), strict=True))
    return found


if __name__ == "__main__":
    launch_module()
