"""The report's files: an HTML page that opens from disk, CSV, Markdown, LaTeX, and the PNG pictures."""

import base64
import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from corpus.files import staged_file
from testbed import tables
from testbed.comparison import Scored
from testbed.retention import Kept
from testbed.runs import provenance
from testbed.summary import summary_rows
from testbed.tables import Table

SUBSETS = ("answer changes", "initially coherent", "fixes an error")
DETAILS = "After the edit. Two columns are told apart in most samples where they differ by twice the ±."


class Picture(NamedTuple):
    """A PNG of the report folder and what it shows, in words."""

    file: str
    says: str


class Section(NamedTuple):
    """A part of the page: pictures, tables that are open and tables that are folded."""

    key: str
    title: str
    text: str
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    folded: Sequence[Table] = ()


class Page(NamedTuple):
    """Everything that the report says.

    Attributes:
        runs: their names.
        world: what they are about, in words.
        overall: the table of the first screen.
        panels: by editor, the picture of one edit.
    """

    runs: Sequence[str]
    world: str
    editors: Sequence[Scored]
    overall: Table
    sections: Sequence[Section]
    panels: dict[str, Picture]
    training: Picture


def write_pages(page: Page, curves: dict[str, list[Kept]], folder: Path) -> Path:
    """Write index.html, summary.csv, summary.md and summary.tex into the report folder; returns the page.

    Pictures of an earlier report that this one has not are removed.
    """
    page = page._replace(
        overall=tables.explained(page.overall),
        sections=[
            s._replace(
                tables=[*map(_finished, s.tables)],
                folded=[*map(_finished, s.folded)],
            )
            for s in page.sections
        ],
    )
    shared = [page.overall, *(t for s in page.sections for t in (*s.tables, *s.folded))]
    details = {e.name: [*map(tables.explained, detail_tables(e))] for e in page.editors}
    every = [*shared, *(table for found in details.values() for table in found)]
    texts = {
        "index.html": _html(page, details, folder),
        "summary.csv": _csv(page.editors, curves),
        "summary.md": "\n".join(map(tables.markdown_section, every)),
        "summary.tex": "% Needs \\usepackage{booktabs,graphicx}\n" + "\n".join(map(tables.latex, every)),
    }
    for name, text in texts.items():
        with staged_file(folder / name) as aside:
            aside.write_text(text, encoding="utf-8")
    pictures = [page.training, *page.panels.values(), *(p for s in page.sections for p in s.pictures)]
    for stale in {*folder.glob("*.png")} - {folder / picture.file for picture in pictures}:
        stale.unlink()
    return folder / "index.html"


def sentence(editor: Scored) -> str:
    """The finding about one editor in a line, from the numbers."""
    after = editor.summary["all"][editor.name]
    success, follows = after["edit success"], after["answer s1r2, must change"]
    stated = f"states {success.value:.0%} of {success.cases:,} new facts"
    if not follows.cases:
        return stated
    interval = "" if math.isnan(follows.low) else f" ({follows.low:.0%} to {follows.high:.0%})"
    share = f"{follows.value:.0%}{interval}"
    return f"{stated}, follows {share} of {follows.cases:,} consequences"


def detail_tables(editor: Scored) -> list[Table]:
    """Every metric of one editor beside its reference rows, for all cases and for the paper's subsets."""
    found = []
    for subset in ("all", *SUBSETS):
        if editor.summary[subset][editor.name]["edit success"].cases:
            header, rows = summary_rows(editor.summary, subset)
            among = "all cases" if subset == "all" else f"cases of the subset \u201c{subset}\u201d"
            key = f"{editor.edited.slug}-{subset}".replace(" ", "-")
            found.append(Table(key, f"{editor.name}: {among}", header, rows, DETAILS))
    return found


def _finished(table: Table) -> Table:
    return tables.explained(tables.with_detectable(table))


def _html(page: Page, details: dict[str, list[Table]], folder: Path) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "shown": tables.shown,
        "number": tables.number,
        "sentence": sentence,
        "embedded": lambda picture: _embedded(folder / picture.file),
        "provenance": provenance(),
        "significant": tables.SIGNIFICANT,
    }
    content: dict[str, Any] = page._asdict() | {"details": details}
    return environment.get_template("report.html.jinja").render(**content)


def _csv(editors: Sequence[Scored], curves: dict[str, list[Kept]]) -> str:
    """One row an estimate: editor, subset, reader, metric, value, ends of the interval, cases, clusters."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["editor", "subset", "reader", "metric", "value", "low", "high", "cases", "clusters"])
    for editor in editors:
        writer.writerows(_lines(editor, curves.get(editor.name, [])))
    return out.getvalue()


def _lines(editor: Scored, found: Sequence[Kept]) -> Iterator[tuple]:
    for subset, rows in editor.summary.items():
        for reader, metrics in rows.items():
            yield from ((editor.name, subset, reader, name, *e[:5]) for name, e in metrics.items())
    for at in found:
        for when, metrics in (("at once", at.immediate), ("kept", at.retained)):
            subset = f"first {at.edits} edits, {when}"
            yield from ((editor.name, subset, editor.name, name, *e[:5]) for name, e in metrics.items())


def _embedded(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
