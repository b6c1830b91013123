"""The report's files: an HTML page that opens from disk, CSV, Markdown, and the PNG pictures."""

import base64
import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import jinja2

from corpus.files import staged_file
from testbed.cases import SUPPORT_BINS
from testbed.pictures import draw_edit, draw_support, draw_training, panel_case
from testbed.records import read_outcomes
from testbed.runs import Run, provenance
from testbed.summary import BY_SUPPORT, Summary, shown, summarise, summary_rows
from testbed.world import World

SUBSETS = ("answer changes", "initially coherent", "fixes an error")


class Table(NamedTuple):
    """A table of text."""

    title: str
    header: list[str]
    rows: list[list[str]]


class Section(NamedTuple):
    """What the page says about one editor; pictures are file names inside the report folder."""

    name: str
    cases: int
    standard: str
    sentence: str
    edit: str
    support: str
    tables: list[Table]
    summary: Summary


def editor_section(folder: Path, name: str, standard: str, seed: int, world: World, report: Path) -> Section:
    """Compute the tables of one edits folder, under a name, and draw its pictures into the report folder."""
    outcomes = read_outcomes(folder / "cases.parquet")
    summary = summarise(outcomes, name, seed)
    draw_edit(outcomes, world, panel_case(outcomes), report / f"edit-{name}.png")
    draw_support(summary, name, report / f"support-{name}.png")
    header, rows = summary_rows(summary)
    tables = [Table("All cases: after the edit, against the agent", header, rows), _by_support(summary, name)]
    tables += [
        Table(
            f"Only cases of the subset \u201c{subset}\u201d",
            [subset, *header[1:]],
            summary_rows(summary, subset)[1],
        )
        for subset in SUBSETS
        if summary[subset][name]["edit success"].cases
    ]
    return Section(
        name,
        len(outcomes.objects),
        standard,
        _sentence(summary, name),
        f"edit-{name}.png",
        f"support-{name}.png",
        tables,
        summary,
    )


def write_pages(run: Run, world: World, metrics: Sequence[dict], sections: Sequence[Section]) -> Path:
    """Write the training curve, index.html, summary.csv and summary.md; returns the page."""
    folder = run.report
    draw_training(metrics, folder / "training.png")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    editors = [
        s._asdict() | {"edit": _embedded(folder / s.edit), "support": _embedded(folder / s.support)}
        for s in sections
    ]
    html = environment.get_template("report.html.jinja").render(
        run=run.name,
        facts=f"{len(world.graph):,}",
        editors=editors,
        training=_embedded(folder / "training.png"),
        provenance=provenance(),
    )
    for name, text in (
        ("index.html", html),
        ("summary.csv", _csv(sections)),
        (
            "summary.md",
            "\n".join(
                f"### {s.name}: {t.title}\n\n{markdown(t.header, t.rows)}" for s in sections for t in s.tables
            ),
        ),
    ):
        with staged_file(folder / name) as aside:
            aside.write_text(text, encoding="utf-8")
    return folder / "index.html"


def _sentence(summary: Summary, name: str) -> str:
    """The finding in one sentence, from the numbers."""
    after = summary["all"][name]
    success, follows = after["edit success"], after["answer s1r2, must change"]
    if not follows.cases:
        return f"The edited model states the new fact in {success.value:.0%} of the edits."
    return (
        f"The edited model states the new fact in {success.value:.0%} of the edits. In the {follows.cases} "
        f"edits after which a rational agent answers a dependent question differently, the model follows in "
        f"{follows.value:.0%} (95% interval {follows.low:.0%} to {follows.high:.0%})."
    )


def _by_support(summary: Summary, name: str) -> Table:
    rows = []
    for b in SUPPORT_BINS:
        found = summary[f"support {b}"][name]
        rows.append([b, str(found["edit success"].cases), *(shown(found[m]) for m in BY_SUPPORT)])
    return Table("Contradicting edits by support of the new object", ["support", "edits", *BY_SUPPORT], rows)


def _csv(sections: Sequence[Section]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["edits", "subset", "reader", "metric", "value", "low", "high", "cases"])
    for section in sections:
        for subset, rows in section.summary.items():
            for reader, metrics in rows.items():
                writer.writerows([section.name, subset, reader, m, *e] for m, e in metrics.items())
    return out.getvalue()


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """A Markdown table whose first `words` columns are words, the others numbers."""
    rule = ["---"] * words + ["---:"] * (len(header) - words)
    return "".join("| " + " | ".join(line) + " |\n" for line in (header, rule, *rows))


def _embedded(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
