"""python -m testbed.report: pictures, tables and one HTML page about a run's edits."""

from collections.abc import Sequence

from testbed.console import command, say, table
from testbed.launch import launch
from testbed.presets import ReportSettings


def report(options: ReportSettings) -> None:
    """Write report/index.html (self-contained), PNG, CSV and Markdown for every editor of a run.

    Raises:
        InputError: the run has no edits, or a file of it is damaged.
    """
    import json

    from corpus.errors import InputError
    from corpus.files import read_json
    from testbed.pages import editor_section, write_pages
    from testbed.runs import Run
    from testbed.world import load_world

    run = Run(options.runs, options.run)
    world = load_world(run)
    folders = sorted(p.parent for p in run.edits.glob("*/summary.json"))
    if not folders:
        raise InputError(f"{run.folder} has no edits yet; run python -m testbed.edit --run {run.name} first")
    if not run.metrics.exists():
        raise InputError(f"{run.metrics} is missing; run python -m testbed.train --run {run.name} again")
    metrics = [json.loads(line) for line in run.metrics.read_text(encoding="utf-8").splitlines()]
    run.report.mkdir(parents=True, exist_ok=True)
    sections = []
    for folder in folders:
        settings = read_json(folder / "summary.json")["traced"]["settings"]
        sections.append(editor_section(folder, settings["seed"], world, run.report))
    page = write_pages(run, world, metrics, sections)
    for section in sections:
        table(f"{section.name}, {section.cases} edits", section.tables[0].header, section.tables[0].rows)
    say(f"report: {page.resolve()}")


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return command("report", __doc__ or "", ReportSettings, report, args)


if __name__ == "__main__":
    launch(main)
