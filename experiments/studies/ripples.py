"""How far does an edit reach, and does the support law hold where answers are as common for every support?

Commands:
    python -m experiments.ripples --kinds unsaid
    python -m experiments.ripples --kinds unsaid --worlds 2 --every
    python -m experiments.ripples --kinds doubt --cases 48 --editors lora-down embeddings keyed keyed-counting

Worlds of chains (`corpus.worlds.chain`): a teacher, what pupils play, with whom they tour, where they sleep.
In `unsaid` worlds nobody states of some pupils what they play, nor anything below, and the agent infers
rows from everybody else. In `doubt` worlds an inner fact of anybody is never stated, or one to three times,
and the agent is told the rows. A teacher is edited, of two subjects of whom nothing below is stated for one
whose next fact is; the agent's answers one, two and three steps below then move. Each edit is judged under
three readings: evidence, a correction, a change of the world.

The teachers of `unsaid` worlds have 1, 3, 10 or 30 pupils, and for each of these numbers the instrument is as
rare, or as common: support and frequency are crossed by construction.

Ten worlds of each kind, of equal sizes; the code was written on the world of seed 500. Settings are the
editors' own for small models, but `rome` and `memit` read the subject's token, and `count-based` and
`keyed-counting` may conclude what the model has never read of the subject, from one peer on: else they
conclude next to nothing here. Nothing is tuned.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from corpus.config import ChainWorld, ExactConfig, WorldConfig
from experiments import stages
from experiments.command import launch_module
from experiments.settings import StagedSettings
from experiments.studies.ripple_cases import Ripples
from experiments.studies.ripple_tables import (
    CELL_HOPS,
    STATED,
    draw_support_law,
    effect_table,
    estimate_cells,
    estimate_effects,
    estimate_hops,
    hop_table,
    shorten_rows,
    support_table,
)
from testbed.commands.edit import edit
from testbed.console import say
from testbed.evaluations.catalogue import prefix_of
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run
from testbed.run.settings import CorpusSettings, TrainSettings
from testbed.scores.gather import EditorResults
from testbed.scores.tables import Table
from testbed.settings import CaseConfig, EditSettings

EVALUATION = "experiments.studies.ripple_cases:Ripples"
KINDS: dict[str, tuple[ChainWorld, ExactConfig]] = {
    "unsaid": (ChainWorld(), ExactConfig(strata=(0.0, 0.0, 1.0))),
    "doubt": (
        ChainWorld(neighbours=14, unsaid=0),
        ExactConfig(rows="given", inner=(0.4, 0.4, 0.2), strata=(0.4, 0.4, 0.2)),
    ),
}
"""Kind of worlds -> who is in them, and what is said."""
FIRST_SEED = {"unsaid": 501, "doubt": 601}
LAW = ("lora-down", "embeddings", "full-early", "rome", "in-context", "count-based", "memit", "self-bayes")
"""The editors of the figure."""
EDITORS = (
    *LAW, "mend", "context-distillation", "ft-constrained", "full", "full-late", "grace", "lora-all",
    "self-bayes-told", "random-target",
)  # fmt: skip
CHANGES: dict[str, dict[str, Any]] = {
    "rome": {"token": "subject"},
    "memit": {"token": "subject"},
    "count-based": {"unread": True, "fewest": 1},
    "keyed-counting": {"unread": True, "fewest": 1},
}
"""Settings of editors that differ from the preset's."""
READINGS = {"evidence": "evidence", "correction": "a correction", "do": "a change of the world"}
Kind = Literal["unsaid", "doubt"]


@dataclass(frozen=True)
class Settings(StagedSettings):
    """Which worlds and editors, and how many edits."""

    kinds: tuple[Kind, ...] = ("unsaid", "doubt")
    """Kinds of worlds."""
    worlds: int = 10
    """Worlds of each kind."""
    every: bool = False
    """Edit by every editor, not only by those of the figure."""
    editors: tuple[str, ...] = ()
    """Edit by these editors instead."""
    cases: int = 24
    """Edits by each editor in each world: a multiple of 24 has as many for every cell."""
    steps: int = 200
    """Training steps."""

    @property
    def names(self) -> tuple[str, ...]:
        """Who edits."""
        return self.editors or (EDITORS if self.every else LAW)

    def seeds(self, kind: Kind) -> range:
        """Seeds of the worlds of a kind."""
        return range(FIRST_SEED[kind], FIRST_SEED[kind] + self.worlds)

    def run(self, kind: Kind, seed: int) -> Run:
        """Where a world and its model are."""
        return Run(self.runs, f"ripples-{kind}-{seed}")


def run_study(settings: Settings) -> None:
    """Models, edits, tables, record."""
    stages.run_in_stages(settings, study_stages, record_study)


def study_stages(settings: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """World by world of all kinds in turn: the model, and then its edits."""
    for place in range(settings.worlds):
        for kind in settings.kinds:
            seed = settings.seeds(kind)[place]
            yield from stages.model_stages(*world_settings(settings, kind, seed), clock)
            for name in settings.names:
                run = settings.run(kind, seed)
                yield f"edit {run.name} by {name}", partial(edit, edit_settings(settings, kind, seed, name))


def world_settings(settings: Settings, kind: Kind, seed: int) -> tuple[CorpusSettings, TrainSettings]:
    """A world with its corpus, and its model."""
    where = stages.settings_of_run(settings.run(kind, seed), seed)
    chain, exact = KINDS[kind]
    world = WorldConfig(source="chain", chain=chain)
    base = TRAIN["laptop"]
    training = replace(base, train=replace(base.train, steps=settings.steps), **where)
    return replace(CORPUS["tiny"], world=world, kind="exact", exact=exact, **where), training


def edit_settings(settings: Settings, kind: Kind, seed: int, name: str) -> EditSettings:
    """What one editor is to edit in one world."""
    base = EDIT["laptop"]
    return replace(
        base,
        **stages.settings_of_run(settings.run(kind, seed), seed),
        editors=(name,),
        configs=stages.change_settings_of(base.configs, name, CHANGES.get(name, {})),
        agent="exact",
        cases=CaseConfig(settings.cases),
        evaluation=EVALUATION,
        evaluations=base.evaluations | {prefix_of(EVALUATION): Ripples()},
    )


def gather_kind(settings: Settings, kind: Kind) -> list[EditorResults]:
    """What each editor did in all worlds of a kind."""
    return stages.pool_worlds(
        [
            [
                stages.gather_edits(settings.run(kind, seed), edit_settings(settings, kind, seed, name), name)
                for name in settings.names
            ]
            for seed in settings.seeds(kind)
        ]
    )


def record_study(settings: Settings) -> Path:
    """Ripples by hops; of few editors in `unsaid` worlds also the support law with frequency crossed."""
    first = settings.run(settings.kinds[0], settings.seeds(settings.kinds[0])[0])
    hops: dict[str, Any] = {}
    tables: list[Table] = []
    for kind in settings.kinds:
        editors = gather_kind(settings, kind)
        for reading, rows in estimate_hops(editors).items():
            title = f"{kind}: read as {READINGS[reading]}"
            tables.append(hop_table(f"{kind}-{reading}", title, rows))
            hops[f"{kind}, {reading}"] = shorten_rows(rows)
        if kind == "unsaid" and not settings.every:
            say(f"record: {record_law(settings, first, editors)}")
    return settings.record(
        first,
        {"ripples.md": stages.show_tables(tables)},
        ("world and reading", "editor"),
        "ripples-every" if settings.every else "ripples",
        found=hops,
    )


def record_law(settings: Settings, run: Run, editors: list[EditorResults]) -> Path:
    """The support law: what followed in each cell of support, frequency, hops and reading."""
    by_editor, effects = estimate_cells(editors), estimate_effects(editors)
    tables = [
        support_table(by_editor, f"{reading}, {hop}", f"{title}, hop {hop}")
        for hop in CELL_HOPS
        for reading, title in (
            *((name, f"nothing stated below, read as {what}") for name, what in READINGS.items()),
            (f"do{STATED}", "stated below, read as a change of the world"),
        )
    ]
    draw_support_law(by_editor, "evidence", run.report / "support-crossed.png")
    found = {name: shorten_rows(rows) for name, rows in by_editor.items()}
    pages = {"support.md": stages.show_tables([*tables, effect_table(effects)])}
    return settings.record(
        run,
        pages,
        ("editor", "reading and hop"),
        "support-crossed",
        found=found,
        effects=shorten_rows(effects),
    )


if __name__ == "__main__":
    launch_module()
