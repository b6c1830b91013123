"""python -m testbed.report: editors beside each other, in pictures, tables and one HTML page."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from testbed.console import command, say, table
from testbed.evaluations.catalogue import evaluations
from testbed.launch import launch
from testbed.run.lock import only_one
from testbed.run.runs import Run, digest, read_metrics, unlike
from testbed.settings import DEFAULT_EVALUATION, ReportSettings

if TYPE_CHECKING:
    from testbed.evaluations.interface import Evaluation
    from testbed.pages.page import Told
    from testbed.run.world import World


def report(options: ReportSettings) -> None:
    """Write report/index.html (self-contained), PNG, CSV, Markdown and LaTeX for every editor of the runs.

    A chapter for each evaluation. The page lies in the first run's folder; editors of the further runs are
    pooled with its own, those of the same settings apart from the seed as one.

    Raises:
        InputError: a run has no edits, a file of it is damaged, or `against` names no editor.
    """
    from testbed.run.world import load_world

    names = list(dict.fromkeys((options.run, *options.and_runs)))
    runs = [Run(options.runs, name) for name in names]
    world = load_world(runs[0])
    with only_one(runs[0], "report"):
        _write(options, runs, world)


def _write(options: ReportSettings, runs: "Sequence[Run]", world: "World") -> None:
    from testbed.pages.chapter import Picture
    from testbed.pages.page import Page, write_page
    from testbed.pages.training import draw_training
    from testbed.scores.metric import shown_in
    from testbed.scores.tables import shown

    names, folder = [run.name for run in runs], runs[0].report
    chapters = [_chapter(name, runs, world, options.against) for name in _evaluations(options, runs)]
    folder.mkdir(parents=True, exist_ok=True)
    draw_training(read_metrics(runs[0]), folder / "training.png")
    training = Picture("training.png", "Training loss and generative accuracy by step")
    path = write_page(Page(names, _worlds(runs, world), chapters, training), folder)
    for told in chapters:
        headlines = shown_in(told.chapter.metrics, "headline")
        rows = [
            [
                e.name,
                len(e.edited.results),
                *(shown(e.summary["all"][e.name].get(name)) for name in headlines),
            ]
            for e in told.editors
        ]
        table(f"{told.key}, report {' '.join(names)}", ["editor", "edits", *headlines], rows)
        for editor in told.editors:
            if editor.edited.lost:
                say(editor.edited.lost)
    say(f"report: {path.resolve()}")


def _worlds(runs: "Sequence[Run]", world: "World") -> str:
    """What the runs are about, in words: one world, or several that are pooled."""
    from testbed.run.world import load_world

    sizes = {digest(runs[0].world): f"{len(world.graph):,}"}
    for run in runs[1:]:
        if digest(run.world) not in sizes:
            sizes[digest(run.world)] = f"{len(load_world(run).graph):,}"
    if len(sizes) == 1:
        return f"A world of {len(world.graph):,} facts was"
    counted = ", ".join(f"{run.name} of {sizes[digest(run.world)]} facts" for run in runs)
    differ = sorted({key for run in runs[1:] for key in unlike(runs[0], run)})
    unlike_in = f" Their settings differ in {', '.join(differ)}." if differ else ""
    return f"{len(sizes)} different worlds are pooled here ({counted}).{unlike_in} Each was"


def _evaluations(options: ReportSettings, runs: "Sequence[Run]") -> list[str]:
    """Those that were asked for, else the built-in ones that have results; others are named."""
    from testbed.engine.trace import finished
    from testbed.own import plain_name

    if options.evaluation:
        return list(dict.fromkeys(options.evaluation))
    shown = [name for name in evaluations() if all(finished(run, name) for run in runs)]
    shown = shown or [DEFAULT_EVALUATION]
    there = {path.parents[1].name for run in runs for path in run.edits.glob("*/*/config.json")}
    for name in sorted(there - {plain_name(name) for name in shown}):
        say(f"edits of {name} are not shown; name the evaluation by --evaluation")
    return shown


def _chapter(name: str, runs: "Sequence[Run]", world: "World", against: str) -> "Told":
    """Everything about one evaluation; draws its pictures on the way."""
    from testbed.evaluations.examination import examination_named
    from testbed.own import plain_name
    from testbed.pages.chapter import Material
    from testbed.pages.page import Told
    from testbed.scores.comparison import differences, reference_named, score
    from testbed.scores.gather import gather
    from testbed.scores.retention import kept

    editors = score(gather(runs, examination_named(name), left_out=say))
    curves = {e.name: at for e in editors if (at := kept(e))}
    compared = differences(editors, reference_named(editors, against))
    folder = runs[0].report / plain_name(name)
    folder.mkdir(parents=True, exist_ok=True)
    chapter = cast("Evaluation", editors[0].evaluation).story(
        Material(editors, compared, curves, world, folder)
    )
    return Told(plain_name(name), chapter, editors, curves)


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return command("report", __doc__ or "", ReportSettings, report, args)


if __name__ == "__main__":
    launch(main)
