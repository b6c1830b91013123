"""Does an edit revise beliefs as Bayes' rule does? Every editor in worlds whose posteriors are exact.

Commands:
    python -m experiments.belief_revision
    python -m experiments.belief_revision --stages edits report --editors lora-down full-early
    python -m experiments.belief_revision --scale paper --subjects 26316 --minutes 8        (with a GPU)

Worlds of kind `exact`, in which downstream facts persist or are drawn afresh for each statement, three seeds
of each; the exact agent is the standard and all requests contradict the truth. Stages:

    train      corpora and models
    edits      causes are edited: do consequences follow, by how often they were stated and by support?
    diagnosis  effects are edited: is the cause revised?
    sequences  many edits on top of each other
    ablations  variants of one editor
    imagine    worlds whose corpora imagine other facts, for half of the subjects and objects
    report     tables, figure, record, of what was done so far

Resumes when killed, and does no stage again. On 2 cores training takes about three minutes a world, the stage
edits an hour, diagnosis and imagine a quarter of an hour each besides training; ablations a quarter of an
hour a world and 1,000 edits in sequence half an hour. The tables of the last run are in experiments/records.
"""

import shutil
import time
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from corpus.config import BuiltinWorld, DocumentConfig, ExactConfig, WorldConfig
from experiments.belief_tables import SUBSETS, Stage, estimated, shorten_estimates, tables, unstated
from experiments.made_by import config_matcher
from experiments.record import write_record
from lm.editors.in_context import InContextConfig
from lm.editors.self_bayes import SelfBayesConfig
from testbed.console import run_command, say
from testbed.corpus import build_corpus
from testbed.edit import edit
from testbed.engine.trace import finished_edits
from testbed.evaluations.examination import recorded_evaluation_named
from testbed.evaluations.hase.evaluation import Hase
from testbed.evaluations.hase.meanings import FOLLOWS
from testbed.evaluations.hase.support import SUPPORT_LABELS
from testbed.launch import launch_command
from testbed.pages.charts import draw_lines
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run, read_metrics
from testbed.run.runtime import prepare_jax
from testbed.run.strata import SUPPORT_BINS
from testbed.scores.gather import EditorResults, gather_results
from testbed.scores.statistics import Estimate
from testbed.scores.tables import markdown_section
from testbed.settings import CaseConfig, EditSettings
from testbed.train import train

Persistence = Literal["fact", "sentence"]
say_once = cache(say)
EDITORS = (
    "self-bayes", "context-distillation", "lora-down", "lora-all", "embeddings", "full", "full-early",
    "full-late", "ft-constrained", "rome", "memit", "mend", "in-context", "grace", "none", "random-target",
    "count-based", "oracle",
)  # fmt: skip
DIAGNOSED = ("self-bayes", "context-distillation", "lora-down", "full-early", "embeddings", "oracle")
IN_SEQUENCE = ("self-bayes", "lora-down", "embeddings", "full-early")
IMAGINING = ("self-bayes", "context-distillation", "lora-down", "in-context")
ABLATED = "self-bayes"
SELF = SelfBayesConfig()
ABLATIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("as it is", {}),
    ("no logical targets", {"logic": False}),
    ("no anchors", {"anchor": 0.0}),
    ("hard targets", {"soft": False}),
    ("dependence given", {"dependence": replace(SELF.dependence, given=(-1, 0, -1, 2, -1, 4, -1, 6, -1, 8))}),
    ("rho 0", {"dependence": replace(SELF.dependence, persistence=0.0)}),
    ("rho 1", {"dependence": replace(SELF.dependence, persistence=1.0)}),
    ("a quarter of the subjects", {"beliefs": replace(SELF.beliefs, subjects=330)}),
    ("surer of having read", {"dependence": replace(SELF.dependence, seldom=0.1)}),
)
"""Variants of ABLATED, each a name and the fields of its configuration that differ."""

WORLDS: dict[Persistence, str] = {"fact": "facts persist", "sentence": "each sentence a fresh draw"}
LEARNED = "no edit, of true facts"
"""The model's own logic about facts that it was trained on: what an edit can hope for."""


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    stages: tuple[Stage, ...] = get_args(Stage)
    """What to do now; stages need those before them."""
    editors: tuple[str, ...] = EDITORS
    """Which editors; stages that are about a few of them take those of the few that are named here."""
    worlds: tuple[Persistence, ...] = ("fact", "sentence")
    """Whether downstream facts persist."""
    scale: Literal["laptop", "paper"] = "laptop"
    """Model, recipe and tokenizer; paper is the 83M model, and wants a GPU."""
    minutes: float | None = None
    """Save each training and leave after about this long; the same command goes on."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    seeds: int = 3
    """Worlds of each kind, each with its own corpus, model and edits."""
    subjects: int = 1320
    """Subjects of each world."""
    upstream_objects: int = 300
    """Objects of each upstream relation."""
    downstream_objects: int = 60
    """Objects of each downstream relation."""
    steps: int = 1600
    """Training steps (laptop)."""
    edits: int = 200
    """Edits by each editor in each world."""
    fewer: int = 100
    """As many in the stages diagnosis and imagine."""
    fewest: int = 50
    """As many by each variant in the stage ablations."""
    sequence: int = 1000
    """Edits on top of each other in each world."""
    figure: Path | None = None
    """Where to copy the figure, besides the first run's report."""

    def __post_init__(self) -> None:
        counts = (self.seeds, self.subjects, self.steps, self.edits, self.fewer, self.fewest, self.sequence)
        if min(counts) < 1:
            raise ValueError("seeds, subjects, steps, and all numbers of edits must be positive")

    def of(self, persistence: Persistence, imagine: bool = False) -> list[Run]:
        """The runs of one kind of world, in the order of their seeds."""
        name = f"belief-imagine-{persistence}" if imagine else f"belief-{persistence}"
        name = name if self.scale == "laptop" else f"{name}-{self.scale}"
        return [Run(self.runs, f"{name}-{seed}") for seed in range(self.seeds)]


def experiment(options: Settings) -> None:
    """The stages that were asked for, in their order."""
    prepare_jax()
    for stage in (stage for stage in get_args(Stage) if stage in options.stages):
        began = time.perf_counter()
        if stage in ("train", "imagine") and not _train(options, imagine=stage == "imagine"):
            say("training goes on with the same command")
            return
        if stage in SUBSETS:
            _edit(options, stage)
        if stage == "report":
            _report(options)
        say(f"{stage}: {(time.perf_counter() - began) / 60:.1f} minutes this time")


def _train(options: Settings, imagine: bool) -> bool:
    """Corpora and models; whether all of them are there."""
    recipe, base = TRAIN["paper-fast"], CORPUS[options.scale]
    if options.scale == "laptop":
        recipe = replace(TRAIN["laptop"], train=replace(TRAIN["laptop"].train, steps=options.steps))
    dials = BuiltinWorld(
        upstream_objects=options.upstream_objects, downstream_objects=options.downstream_objects
    )
    world = WorldConfig(subjects=options.subjects, builtin=dials)
    documents = DocumentConfig(imagine=0.2 if imagine else 0.0)
    for persistence in options.worlds:
        # Rows about as decided as those of Hase et al., whose likeliest object has 0.6 or more.
        exact = ExactConfig(persistence=persistence, statements=16, root_mass=30, row_mass=0.5)
        for seed, run in enumerate(options.of(persistence, imagine)):
            where: dict[str, Any] = {"run": run.name, "runs": options.runs, "seed": seed}
            corpus = replace(base, kind="exact", exact=exact, world=world, documents=documents)
            build_corpus(replace(corpus, **where))
            train(replace(recipe, minutes=options.minutes, **where))
            if not run.finished.exists():
                return False
    return True


def asked(options: Settings, stage: Stage) -> dict[str, EditSettings]:
    """The edits of a stage, but for run and seed; variants by name, all other editors under ""."""
    configs = EDIT[options.scale].configs
    base = replace(
        EDIT[options.scale],
        # Many consequences here were never stated; a rival that leaves them alone is none.
        configs=configs | {"count-based": replace(configs["count-based"], unread=True)},
        runs=options.runs,
        agent="exact",
        examinations=_of_hase(edits="upstream"),
        cases=CaseConfig(count=options.edits),
    )
    fewer = replace(base, cases=CaseConfig(count=options.fewer))
    among, variants = options.editors, {"": base}
    if stage == "diagnosis":
        among, variants = DIAGNOSED, {"": replace(fewer, examinations=_of_hase(edits="downstream"))}
    elif stage == "sequences":
        many = CaseConfig(count=options.sequence)
        among, variants = IN_SEQUENCE, {"": replace(base, cases=many, sequential=options.sequence)}
    elif stage == "ablations":
        among, few = (ABLATED,), replace(base, cases=CaseConfig(count=options.fewest))
        variants = {
            name: replace(few, configs=_changed(base.configs, changes)) for name, changes in ABLATIONS
        }
    elif stage == "imagine":
        configs = base.configs | {"in-context": InContextConfig(imagine=True)}
        among, variants = IMAGINING, {"": replace(fewer, configs=configs)}
    editors = tuple(name for name in options.editors if name in among)
    variants = {name: replace(settings, editors=editors) for name, settings in variants.items() if editors}
    if stage == "edits" and "none" in editors:
        variants[LEARNED] = replace(
            base, editors=("none",), examinations=_of_hase(edits="upstream", reinforce=1.0)
        )
    return variants


def _of_hase(edits: Literal["upstream", "downstream"], reinforce: float = 0.0) -> dict[str, Any]:
    return {"hase": Hase(edits=edits, reinforce=reinforce)}


def _changed(configs: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    return configs | {ABLATED: replace(configs[ABLATED], **own)}


def _edit(options: Settings, stage: Stage) -> None:
    for persistence in options.worlds:
        for seed, run in enumerate(options.of(persistence, stage == "imagine")):
            for settings in asked(options, stage).values():
                edit(replace(settings, run=run.name, seed=seed))


def edited(options: Settings, stage: Stage, persistence: Persistence) -> list[EditorResults]:
    """What a stage has left in one kind of world: an editor a row, pooled over seeds, by its plain name."""
    runs = [run for run in options.of(persistence, stage == "imagine") if finished_edits(run, "hase")]
    editors = []
    for name, settings in asked(options, stage).items():
        gathered = gather_results(runs, recorded_evaluation_named("hase"), config_matcher(settings), say_once)
        theirs = {e.editor: e for e in gathered}
        editors += [theirs[e]._replace(name=name or e) for e in settings.editors if e in theirs]
    return editors


def _report(options: Settings) -> None:
    figures: dict[str, Any] = {}
    sections: list[str] = []
    panels: dict[str, dict[str, list[Estimate]]] = {}
    for stage in SUBSETS:
        for persistence in options.worlds:
            editors = edited(options, stage, persistence)
            if not editors:
                continue
            rows = estimated(stage, editors)
            figures[f"{stage}, {persistence}"] = shorten_estimates(rows)
            sections += map(markdown_section, tables(stage, WORLDS[persistence], editors, rows))
            if stage == "edits":
                panels[WORLDS[persistence]] = unstated(rows)
    if not figures:
        say("nothing was edited yet")
        return
    first = options.of(options.worlds[0])[0]
    first.report.mkdir(parents=True, exist_ok=True)
    text = "\n".join(sections)
    (first.report / "belief.md").write_text(text, encoding="utf-8")
    say(text)
    if any(panels.values()):
        picture = first.report / "belief.png"
        across, up = "subjects that share the new object (support)", SUPPORT_LABELS[FOLLOWS]
        draw_lines(panels, SUPPORT_BINS, across, up, picture)
        if options.figure:
            shutil.copy(picture, options.figure)
    record = write_record(
        first,
        "belief-revision",
        "python -m experiments.belief_revision",
        read_metrics(first),
        copied=(".md",),
        settings={k: v for k, v in asdict(options).items() if k not in ("runs", "figure", "minutes")},
        found=figures,
    )
    say(f"record: {record}")


def main(args: list[str] | None = None) -> int:
    """The command line."""
    return run_command("experiments.belief_revision", __doc__ or "", Settings, experiment, args)


if __name__ == "__main__":
    launch_command(main)
