"""Photograph the pages of a run's report as the docs show them: docs/report.png and docs/explorer.png.

Commands:
    python -m testbed.demo && python -m experiments.page_pictures
    python -m experiments.page_pictures --to /tmp/pages --widths 400 1280 --dark

Needs Chromium or Chrome. Pictures of other widths and of dark pages have these in their names.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from corpus.errors import InputError
from corpus.files import staged_file
from experiments.browser import Browser
from experiments.command import launch_module
from testbed.console import say
from testbed.run.runs import Run

WIDTH, HEIGHT = 1280, 860
EDITOR = "lora-down"
MISSED = f"evaluation=hase&f.editor={EDITOR}&f.follows=no&sort=-support"
"""What the editor missed, the best supported object first: the first task of docs/tour.md."""
PAGES = {
    "report": ("report/index.html", "document.readyState === 'complete'"),
    "explorer": (f"report/explorer/index.html#{MISSED}", "document.documentElement?.dataset.ready === 'yes'"),
    "case": (
        f"report/explorer/index.html#{MISSED}&case=0",
        "document.querySelector('#case[open] .question') !== null",
    ),
}
IN_DOCS = ("report", "explorer")


@dataclass(frozen=True)
class Settings:
    """Which run, and where the pictures go."""

    run: str = "demo"
    """Name of the run; it has a report with an explorer."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    to: Path = Path("docs")
    """Folder of the pictures."""
    widths: tuple[int, ...] = (WIDTH,)
    """Pixels."""
    dark: bool = False
    """Of dark pages, too."""

    def __post_init__(self) -> None:
        if not self.widths or min(self.widths) < 1:
            raise ValueError("widths must be positive")


def run_study(settings: Settings) -> None:
    """Open each page in each width, and write what is to be seen."""
    folder = Run(settings.runs, settings.run).folder.resolve()
    if not (folder / "report" / "explorer" / "index.html").exists():
        raise InputError(f"{folder} has no report with an explorer; run: python -m testbed.report")
    is_usual = settings.widths == (WIDTH,) and not settings.dark
    settings.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile, Browser(Path(profile)) as browser:
        for width in settings.widths:
            for dark in (False, True)[: 1 + settings.dark]:
                browser.resize(width, HEIGHT, dark)
                for name in IN_DOCS if is_usual else PAGES:
                    place, until = PAGES[name]
                    browser.open(f"{folder.as_uri()}/{place}", until)
                    stem = name if is_usual else f"{name}-{width}{'-dark' * dark}"
                    with staged_file(settings.to / f"{stem}.png") as aside:
                        aside.write_bytes(browser.photograph())
                    say(str(settings.to / f"{stem}.png"))
        if browser.console:
            raise InputError(f"the pages complain: {browser.console}")


if __name__ == "__main__":
    launch_module()
