"""The paper's architecture on two cores: does what two layers show hold at twelve?

Command:
    python -m experiments.twelve_layers

The demo's world, its sentences in documents of three, is learned by two models: the demo's, of two layers,
and the architecture of Hase et al. 2024, of twelve layers 512 wide (83M parameters with their vocabulary of
32,000, 51M with this one), in bfloat16 by Muon. Both are edited by the same editors at the same requests,
which contradict the truth about causes and are drawn so that every support has as many; hyper-parameters are
the presets', `tiny`'s for two layers and `paper-cpu`'s for twelve.

Tables: every editor at both depths; what follows by the number of subjects that share the new object, which
is the support law; and by pair what differs at one depth only: rome and memit, early and late layers.

Training takes an hour of one core; an edit of all weights 14 s, so that 60 edits by every editor
take two hours more (`--slow` names those that make fewer).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from corpus.config import DocumentConfig
from experiments import stages
from experiments.command import launch_module
from experiments.record import BY_EDITOR, figures_by_editor
from experiments.settings import StagedSettings
from lm.config import ModelConfig
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.evaluations.hase import Hase
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, SKILL, SPILL, SUCCESS
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run
from testbed.run.settings import TrainSettings
from testbed.run.strata import SUPPORT_BINS
from testbed.scores.comparison import compare_editors
from testbed.scores.gather import gather_results
from testbed.scores.summary import ScoredEditor, score_editors
from testbed.scores.tables import Cell, Table
from testbed.settings import CaseConfig, EditSettings

Depth = Literal[2, 12]
DEPTHS: tuple[Depth, ...] = (2, 12)
EDITORS = (
    "lora-down", "lora-all", "embeddings", "full", "full-early", "full-late", "ft-constrained", "rome",
    "memit", "in-context", "grace", "count-based", "self-bayes", "oracle", "none",
)  # fmt: skip
SHOWN = (SUCCESS, FOLLOWS, DAMAGE, SPILL, SKILL)
PAIRS = (("rome", "memit"), ("full-early", "full-late"))


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is measured."""

    editors: tuple[str, ...] = EDITORS
    """Who edits."""
    cases: int = 60
    """Edits by each editor at each depth."""
    slow: tuple[str, ...] = ("self-bayes",)
    """Editors that make fewer."""
    few: int = 20
    """Edits by each of these."""
    steps: int = 200
    """Training steps of twelve layers, of 12 rows of 160 tokens."""
    seed: int = 0
    """Of world, models and requests."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.editors:
            raise ValueError("somebody must edit")

    def run(self, depth: Depth) -> Run:
        """Where the model of a depth is."""
        return Run(self.runs, f"layers-{depth}")


def run_study(options: Settings) -> None:
    """Models, edits, tables, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; trainings stop when the time is over."""
    for depth in DEPTHS:
        where = stages.settings_of_run(options.run(depth), options.seed)
        corpus = replace(CORPUS["tiny"], documents=DocumentConfig(length=3), **where)
        yield from stages.model_stages(corpus, replace(train_settings(depth, options.steps), **where), clock)
        yield from stages.edit_stages(edit_settings(options, depth, name) for name in options.editors)


def train_settings(depth: Depth, steps: int) -> TrainSettings:
    """The model of a depth, and how it is trained."""
    base = TRAIN["tiny"]
    if depth == 2:
        return base
    deep = replace(
        base.train,
        steps=steps,
        rows=12,
        learning_rate=0.01,
        adam_learning_rate=0.003,
        warmup=5,
        evaluate_every=10,
        checkpoint_every=10,
    )
    return replace(base, model=ModelConfig(precision="bfloat16"), train=deep)


def edit_settings(options: Settings, depth: Depth, name: str) -> EditSettings:
    """What one editor is to edit at one depth."""
    base = EDIT["tiny" if depth == 2 else "paper-cpu"]
    return replace(
        base,
        **stages.settings_of_run(options.run(depth), options.seed),
        editors=(name,),
        cases=CaseConfig(options.few if name in options.slow else options.cases),
        evaluations=base.evaluations | {"hase": Hase(edits="upstream", reinforce=0.0)},
    )


def record_study(options: Settings) -> Path:
    """The tables of both depths, and all figures."""
    by_depth = {depth: score_by_name(options, depth) for depth in DEPTHS}
    run, parts = options.run(12), [f"support {b}" for b in SUPPORT_BINS]
    tables = (headline_table(by_depth), support_table(by_depth), pair_table(by_depth))
    return options.record(
        run,
        {"twelve_layers.md": stages.show_tables(tables)},
        ("depth", *BY_EDITOR),
        found={
            f"{depth} layers": figures_by_editor(list(all.values()), parts) for depth, all in by_depth.items()
        },
    )


def score_by_name(options: Settings, depth: Depth) -> dict[str, ScoredEditor]:
    """What the editors did at one depth."""
    evaluation, runs = recorded_evaluation_named("hase"), [options.run(depth)]
    editors = [
        one
        for name in options.editors
        for one in gather_results(
            runs, evaluation, stages.config_matcher(edit_settings(options, depth, name))
        )
    ]
    return {one.edits.editor: one for one in score_editors(editors)}


ScoredByDepth = dict[Depth, dict[str, ScoredEditor]]


def headline_table(by_depth: ScoredByDepth) -> Table:
    """Every editor at both depths, over all cases."""
    header = ["editor", *(f"{name}, {depth} layers" for name in SHOWN for depth in by_depth)]
    rows = [
        [
            name,
            *(
                by_depth[depth][name].summary["all"][name].get(metric)
                for metric in SHOWN
                for depth in by_depth
            ),
        ]
        for name in by_depth[2]
    ]
    counts = " or ".join(map(str, sorted({len(one.edits.results) for one in by_depth[12].values()})))
    note = f"± is half of a 95% interval. Edits: {counts} by each editor at each depth, in one world."
    return Table("twelve", "Two layers and twelve", header, rows, note)


def support_table(by_depth: ScoredByDepth) -> Table:
    """What follows of what should, by how many subjects share the new object."""
    header = ["editor", "layers", *SUPPORT_BINS]
    rows = [
        [
            name,
            str(depth),
            *(_metric_of_part(by_depth[depth][name], f"support {b}", FOLLOWS) for b in SUPPORT_BINS),
        ]
        for name in by_depth[2]
        for depth in by_depth
    ]
    note = "The support law of Hase et al. would have rows rise to the right, as the rational agent's do."
    return Table("support", f"{FOLLOWS}, by support of the new object", header, rows, note, words=2)


def pair_table(by_depth: ScoredByDepth) -> Table:
    """Editors that could differ at one depth only: first minus second, on the same cases."""
    rows = []
    for first, second in PAIRS:
        for depth, by_editor in by_depth.items():
            if not {first, second} <= set(by_editor):
                continue
            beside = compare_editors([by_editor[second], by_editor[first]], second).comparisons[first]
            rows.append([f"{first} - {second}", str(depth), *(beside.get(metric) for metric in SHOWN)])
    return Table("pairs", "One editor less another", ["", "layers", *SHOWN], rows, words=2)


def _metric_of_part(editor: ScoredEditor, part: str, metric: str) -> Cell:
    return editor.summary[part][editor.name].get(metric) if part in editor.summary else None


if __name__ == "__main__":
    launch_module()
