"""docs/report.md as a PDF.

Command:
    python -m experiments.print_report

Writes runs/report.pdf. Needs Chromium or Chrome, and the extra `docs` for Markdown.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from corpus.errors import InputError
from corpus.files import staged_file
from experiments.browser import Browser
from experiments.command import launch_module
from testbed.console import say

DOCS = Path(__file__).parents[1] / "docs"
STYLE = """
@page { size: A4; margin: 2.4cm 2.6cm; }
body { margin: 0; font: 11pt/1.5 Georgia, "DejaVu Serif", serif; }
h1 { font-size: 19pt; line-height: 1.2; } h2 { font-size: 13pt; margin-top: 1.4em; break-after: avoid; }
p, li { text-align: justify; hyphens: auto; }
img { display: block; margin: 0 auto; max-width: 88%; max-height: 13cm; break-inside: avoid; }
a { color: inherit; text-decoration: none; } code { font-size: .88em; }
"""


@dataclass(frozen=True)
class Settings:
    """Where the PDF goes."""

    to: Path = Path("runs/report.pdf")
    """Its file."""


def write_page(source: Path) -> str:
    """A page of Markdown as HTML that stands alone; pictures are found from the page's folder.

    Raises:
        InputError: no library for Markdown is installed.
    """
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise InputError("Markdown needs the extra docs: pip install -e '.[docs]'") from None
    body = MarkdownIt().render(source.read_text(encoding="utf-8"))
    head = f'<meta charset="utf-8"><base href="{source.parent.resolve().as_uri()}/"><style>{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'


def run_study(settings: Settings) -> None:
    """Render it, and print the page."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(write_page(DOCS / "report.md"), encoding="utf-8")
        with Browser(Path(folder) / "profile") as browser:
            browser.open(page.as_uri(), "document.readyState === 'complete'")
            printed = browser.print_page()
    settings.to.parent.mkdir(parents=True, exist_ok=True)
    with staged_file(settings.to) as aside:
        aside.write_bytes(printed)
    say(str(settings.to))


if __name__ == "__main__":
    launch_module()
