"""python -m testbed.report: pictures, tables and one HTML page about a run's edits."""

from collections.abc import Sequence

from corpus.errors import InputError
from corpus.files import read_json
from testbed.console import command, say, table
from testbed.launch import launch
from testbed.presets import ReportSettings
from testbed.runs import Run, read_metrics

REQUESTS = {"evidence": "further evidence", "correction": "a correction", "do": "a change of the world"}


def report(options: ReportSettings) -> None:
    """Write report/index.html (self-contained), PNG, CSV and Markdown for every editor of a run.

    Raises:
        InputError: the run has no edits, or a file of it is damaged.
    """
    from testbed.pages import editor_section, write_pages
    from testbed.summary import HEADLINES, shown
    from testbed.world import load_world

    run = Run(options.runs, options.run)
    world = load_world(run)
    folders = sorted(p.parent for p in run.edits.glob("*/summary.json"))
    if not folders:
        raise InputError(f"{run.folder} has no edits yet; run python -m testbed.edit --run {run.name} first")
    metrics = read_metrics(run)
    summaries = [read_json(folder / "summary.json") for folder in folders]
    for folder, summary in zip(folders, summaries, strict=True):
        if "standard" not in summary:
            raise InputError(f"{folder} was written by an older version; delete it and edit again")
    settings = [summary["traced"]["settings"] for summary in summaries]
    editors = [s["editor"].replace(":", ".") for s in settings]
    # Several settings of one editor are told apart by their hash.
    names = [e if editors.count(e) == 1 else f.name for e, f in zip(editors, folders, strict=True)]
    run.report.mkdir(parents=True, exist_ok=True)
    sections = [
        editor_section(folder, name, _standard(found), s["seed"], world, run.report)
        for folder, name, found, s in zip(folders, names, summaries, settings, strict=True)
    ]
    page = write_pages(run, world, metrics, sections)
    rows = [
        [s.name, s.cases, *(shown(s.summary["all"][s.name][metric]) for metric in HEADLINES)]
        for s in sections
    ]
    table(f"report {run.folder}", ["editor", "edits", *HEADLINES], rows)
    say(f"report: {page.resolve()}")


def _standard(summary: dict) -> str:
    """Who is the standard of these edits, and what they are to it."""
    request = summary["traced"]["settings"]["cases"]["request"]
    return f"{summary['standard']}; to it every request is {REQUESTS[request]}"


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return command("report", __doc__ or "", ReportSettings, report, args)


if __name__ == "__main__":
    launch(main)
