"""python -m testbed.report: editors beside each other, in pictures, tables and one HTML page."""

from collections.abc import Sequence

from testbed.console import command, say, table
from testbed.launch import launch
from testbed.presets import ReportSettings
from testbed.run.runs import Run, read_metrics


def report(options: ReportSettings) -> None:
    """Write report/index.html (self-contained), PNG, CSV, Markdown and LaTeX for every editor of the runs.

    The page lies in the first run's folder; editors of the further runs are pooled with its own, those of
    the same settings apart from the seed as one.

    Raises:
        InputError: a run has no edits, a file of it is damaged, or `against` names no editor.
    """
    from testbed.evaluations.hase.sections import draw_page
    from testbed.pages.page import write_pages
    from testbed.run.world import load_world
    from testbed.scores.comparison import differences, reference_named, score
    from testbed.scores.gather import gather
    from testbed.scores.summary import HEADLINES
    from testbed.scores.tables import shown

    names = list(dict.fromkeys((options.run, *options.and_runs)))
    runs = [Run(options.runs, name) for name in names]
    world = load_world(runs[0])
    editors = score(gather(runs))
    reference = reference_named(editors, options.against)
    folder = runs[0].report
    folder.mkdir(parents=True, exist_ok=True)
    page, curves = draw_page(
        names, world, read_metrics(runs[0]), editors, differences(editors, reference), folder
    )
    path = write_pages(page, curves, folder)
    rows = [
        [
            e.name,
            len(e.edited.outcomes.objects),
            *(shown(e.summary["all"][e.name][name]) for name in HEADLINES),
        ]
        for e in editors
    ]
    table(f"report {' '.join(names)}", ["editor", "edits", *HEADLINES], rows)
    say(f"report: {path.resolve()}")


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return command("report", __doc__ or "", ReportSettings, report, args)


if __name__ == "__main__":
    launch(main)
