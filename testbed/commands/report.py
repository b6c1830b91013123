"""Editors beside each other, in pictures, tables and one HTML page."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from corpus.errors import InputError
from corpus.files import read_json, staged_folder
from lm.config import ModelConfig
from testbed.advice import ask_options
from testbed.console import say
from testbed.engine.results import cluster_levels
from testbed.engine.trace import finished_edits
from testbed.evaluations.catalogue import evaluation_classes, recorded_evaluation_named
from testbed.evaluations.interface import Evaluation
from testbed.grid import headline_grid
from testbed.own import plain_name
from testbed.pages.chapter import Material, Picture
from testbed.pages.charts import draw_training
from testbed.pages.explorer.view import NONE, Column, View, view_of
from testbed.pages.explorer.write import ExploredEvaluation, write_explorer
from testbed.pages.page import EvaluationChapter, Page, write_page
from testbed.run.lock import only_one
from testbed.run.runs import (
    Run,
    finished_training,
    folder_digest,
    read_metrics,
    recorded_settings,
    unlike_settings,
)
from testbed.run.world import World, kind_of_world, load_world
from testbed.scores.comparison import Differences, compare_editors, describe_incomparable, reference_named
from testbed.scores.frame import ALL, EDITOR, EDITS, Frame, Keys, concat_frames, make_frame
from testbed.scores.gather import gather_results
from testbed.scores.headlines import headline_subset
from testbed.scores.statistics import estimate_metrics
from testbed.scores.summary import (
    AT_ONCE,
    KEPT,
    ScoredEditor,
    followed_metrics,
    measure_reader,
    score_editors,
    subset_of_first,
)
from testbed.scores.tables import Cell
from testbed.settings import DEFAULT_EVALUATION, ReportSettings
from testbed.waiting import doing


def report(options: ReportSettings) -> None:
    """Write report/index.html (self-contained), SVG, CSV, Markdown and LaTeX for every editor of the runs.

    A chapter for each evaluation. The page lies in the first run's folder; editors of the further runs are
    pooled with its own, those of the same settings apart from the seed as one.

    Raises:
        InputError: a run has no edits, a file of it is damaged, `against` names no editor, or the settings of
            corpus or training differ between runs.
    """
    if options.leaderboard is not None:
        from testbed.commands.leaderboard import write_board

        write_board(options.leaderboard, options.runs)
        return
    names = list(dict.fromkeys((options.run, *options.and_runs)))
    runs = [Run(options.runs, name) for name in names]
    runs[0] = replace(runs[0], pages=options.to)
    differ = _list_unlike_settings(runs)
    if differ and not options.pool_unlike:
        raise InputError(
            f"{', '.join(names)} differ in {', '.join(differ[:5])}, so one table would mix them; report on "
            "each alone, or say --pool-unlike"
        )
    world = load_world(runs[0])
    with only_one(runs[0], "report"):
        _write_report(options, runs, world)


def _write_report(options: ReportSettings, runs: Sequence[Run], world: World) -> None:
    names, folder = [run.name for run in runs], runs[0].report
    with staged_folder(folder) as aside:
        chapters = [
            draw_chapter(name, runs, world, options, aside) for name in _evaluations_shown(options, runs)
        ]
        message = draw_training(read_metrics(runs[0]), aside / "training.svg")
        if options.explorer:
            doing("writing the explorer")
            _write_explorer(chapters, runs, world, aside)
        training = Picture("training.svg", "Training loss and generative accuracy by step", message)
        told = "written down as a noisy corpus."
        about = f"{_describe_worlds(runs, world)} {told} {_describe_model(runs[0], world)}"
        page = Page(names, about, chapters, training, options.explorer)
        doing("writing the page")
        write_page(page, aside)
    for evaluation_report in chapters:
        title = f"{evaluation_report.key}, report {' '.join(names)}"
        headline_grid(title, evaluation_report.editors).print()
        for editor in evaluation_report.editors:
            if editor.edits.missing_numbers:
                say(editor.edits.missing_numbers)
    say(f"report: {(folder / 'index.html').resolve()}")


def _write_explorer(
    chapters: Sequence[EvaluationChapter], runs: Sequence[Run], world: World, folder: Path
) -> None:
    """The page with a row for every edit, in the folder of the report; `world` is that of the first run."""
    explored = [
        ExploredEvaluation(
            part.key,
            part.chapter.title,
            part.editors,
            _add_faults([view_of(e) for e in part.editors], part.editors),
            {e.name: ask_options(runs[0], e.edits.editor, e.edits.settings) for e in part.editors},
        )
        for part in chapters
    ]
    worlds = {folder_digest(runs[0].world): world}
    for run in runs:
        if folder_digest(run.world) not in worlds:
            worlds[folder_digest(run.world)] = load_world(run)
    of_runs = [worlds[folder_digest(run.world)] for run in runs]
    write_explorer(explored, of_runs, ", ".join(run.name for run in runs), folder)


def _add_faults(views: Sequence[View], editors: Sequence[ScoredEditor]) -> list[View]:
    """The views with a column that says why an edit left no numbers, where some did."""
    if not any(editor.edits.results.lost_edits for editor in editors):
        return list(views)
    says = "What in the edit is no number, so that the model it edited gives no answer."
    faults = [editor.edits.results.cases["fault"] for editor in editors]
    columns = [Column("fault", "no numbers", says, np.where(some == "", NONE, some)) for some in faults]
    return [
        view._replace(columns=[*view.columns, column]) for view, column in zip(views, columns, strict=True)
    ]


def _describe_worlds(runs: Sequence[Run], world: World) -> str:
    """What the runs are about, in words: one world, or several that are pooled."""
    sizes = {folder_digest(runs[0].world): f"{len(world.graph):,}"}
    for run in runs[1:]:
        if folder_digest(run.world) not in sizes:
            sizes[folder_digest(run.world)] = f"{len(load_world(run).graph):,}"
    models, several = {run.name: _model_of(run) for run in runs}, ""
    if len(set(models.values())) > 1:
        each = ", ".join(map(" ".join, models.items()))
        several = f"{len(set(models.values()))} different models are pooled here ({each}). "
    if len(sizes) == 1:
        return f"{several}A world of {len(world.graph):,} facts was"
    counted = ", ".join(f"{run.name} of {sizes[folder_digest(run.world)]} facts" for run in runs)
    differ = _list_unlike_settings(runs)
    unlike_in = f" Their settings differ in {', '.join(differ)}." if differ else ""
    return f"{several}{len(sizes)} different worlds are pooled here ({counted}).{unlike_in} Each was"


def _describe_model(run: Run, world: World) -> str:
    """How large the model is, what it knows, and of how many tokens names are; of the first run."""
    lengths = world.tokenizer.row_length[: len(world.graph.entities)]
    name = "A name is one token" if lengths.max() == 1 else f"A name is {lengths.mean():.1f} tokens long"
    if not run.finished_file.exists():
        return f"{name}."
    shape = ModelConfig(**recorded_settings(run, "train")[0]["model"])
    return (
        f"The model has {shape.parameters(world.tokenizer.vocabulary):,} parameters and knows "
        f"{finished_training(run)['accuracy']:.0%} of the facts. {name}.{_describe_earlier(run)}"
    )


def _describe_earlier(run: Run) -> str:
    """What a model knew before it read, in words; nothing of a model from scratch."""
    found = read_json(run.earlier_file) if run.earlier_file.exists() else {}
    words = {
        "names": " It was pretrained. Before it read this world, the true object of {facts} facts cost it "
        "{model:.2f} nats among those of the relation, {uniform:.2f} where all are as likely and "
        "{marginal:.2f} by how often others have each; {right:.0%} were its likeliest, by chance "
        "{chance:.0%}.",
        "read": " Of what it said before to plain prompts, {same:.0%} of the tokens are its likeliest after "
        "reading; its distributions are {nats:.2f} nats from the earlier ones.",
    }
    return "".join(text.format_map(found[part]) for part, text in words.items() if part in found)


def _list_unlike_settings(runs: Sequence[Run]) -> list[str]:
    """Settings of corpus and training in which any run differs from the first."""
    return sorted({key for run in runs[1:] for key in unlike_settings(runs[0], run)})


def _model_of(run: Run) -> str:
    """The hash of the model that a training ended with; unknown where none has ended."""
    if not run.finished_file.exists():
        return "unknown"
    training = finished_training(run)
    return str(training["checkpoints"][str(training["step"])])


def _evaluations_shown(options: ReportSettings, runs: Sequence[Run]) -> list[str]:
    """Those that were asked for, else the built-in ones that have results; others are named."""
    if options.evaluation:
        return list(dict.fromkeys(options.evaluation))
    evaluations = [name for name in evaluation_classes() if all(finished_edits(run, name) for run in runs)]
    evaluations = evaluations or [DEFAULT_EVALUATION]
    there = {path.parents[1].name for run in runs for path in run.edits.glob("*/*/config.json")}
    for name in sorted(there - {plain_name(name) for name in evaluations}):
        say(f"edits of the evaluation {name} are not shown; name it with --evaluation")
    return evaluations


def frame_of_sequences(editor: ScoredEditor) -> Frame:
    """Scores at once and at the end, by number of edits; empty for independent edits."""
    results, evaluation, name = editor.edits.results, editor.evaluation, editor.name
    followed, rows = followed_metrics(evaluation), list[tuple[Keys, Cell]]()
    for count, after in editor.edits.later_results.items():
        later = measure_reader(evaluation, after, evaluation.readers(after, name)[name])
        first, every = results.cases["position"] < count, np.ones(len(after), bool)
        for when, values, of, among in (
            (AT_ONCE, editor.values[name], results, first),
            (KEPT, later, after, every),
        ):
            known = {metric: values[metric] for metric in followed if metric in values}
            found = estimate_metrics(known, cluster_levels(of), among)
            rows += [
                ((name, name, EDITOR, subset_of_first(count, when), metric, None), cell)
                for metric, cell in found.items()
            ]
    return make_frame(rows, evaluation.metrics)


def draw_chapter(
    name: str, runs: Sequence[Run], world: World, options: ReportSettings, report: Path
) -> EvaluationChapter:
    """Everything about one evaluation; draws its pictures on the way."""
    doing(f"reading and scoring edits, {name}")
    gathered = gather_results(runs, recorded_evaluation_named(name), report_left_out=say)
    wanted = [e for e in gathered if not options.editors or {e.name, e.editor} & {*options.editors}]
    if not wanted:
        raise InputError(
            f"no edits by {', '.join(options.editors)}; there are {', '.join(e.name for e in gathered)}"
        )
    editors = score_editors(wanted)
    subset = headline_subset(editors[0].evaluation, editors[0].frame)
    reference = reference_named(editors, options.against)
    for sentence in describe_incomparable(editors, reference):
        say(sentence)
    compared = compare_editors(editors, reference, subset)
    own = [part for editor in editors for part in (editor.frame, frame_of_sequences(editor))]
    frame = concat_frames([*own, _frame_of_differences(editors, compared, subset)])
    folder = report / plain_name(name)
    folder.mkdir()
    doing(f"drawing pictures, {name}")
    chapter = cast("Evaluation", editors[0].evaluation).make_chapter(
        Material(editors, compared, world, folder, frame, [*dict.fromkeys(map(kind_of_world, runs))])
    )
    view = view_of(editors[0])
    columns = {c.metric: c.key for c in view.columns if c.metric}
    return EvaluationChapter(plain_name(name), chapter, editors, frame, columns, view.subsets)


def _frame_of_differences(
    editors: Sequence[ScoredEditor], differences: Differences, subset: str = ALL
) -> Frame:
    """Every editor less one reference, over the cases that both have."""
    rows: list[tuple[Keys, Cell]] = []
    for editor, metrics in differences.comparisons.items():
        both: dict[str, Cell] = {EDITS: max((of.cases for of in metrics.values()), default=None)}
        rows += [
            ((editor, editor, EDITOR, subset, metric, differences.reference), cell)
            for metric, cell in (both | metrics).items()
        ]
    return make_frame(rows, editors[0].evaluation.metrics)
