"""The report's files: an HTML page that opens from disk, CSV, Markdown, LaTeX, and the pictures, as SVG."""

import base64
import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from testbed.pages.chapter import Chapter, Picture
from testbed.pages.palette import assign_slots, has_ring, palette_css
from testbed.pages.templates import load_template
from testbed.run.runs import provenance
from testbed.scores import tables
from testbed.scores.frame import EDITS, Frame
from testbed.scores.headlines import headline_subset
from testbed.scores.metric import ARROWS
from testbed.scores.readers import READERS
from testbed.scores.statistics import Estimate
from testbed.scores.summary import ScoredEditor
from testbed.scores.versions import describe_versions, select_versions, version_of_metric

HEADER = ("evaluation", "editor", "subset", "reader", "metric", "value", "low", "high", "cases", "clusters")
VERSIONS = ("evaluation version", "agent version", "metric version", "label")
"""Further columns of summary.csv; versions are empty for what is a user's own."""


class EvaluationChapter(NamedTuple):
    """A chapter, and the numbers behind it.

    Attributes:
        key: the evaluation's name; its pictures lie in a folder of that name.
        frame: everything that is reported of the editors.
        columns: by metric, the key of the explorer's column that has it case by case.
        subsets: by subset, the filters of the explorer that leave its cases.
    """

    key: str
    chapter: Chapter
    editors: Sequence[ScoredEditor]
    frame: Frame
    columns: Mapping[str, str] = {}
    subsets: Mapping[str, Mapping[str, Sequence[str]]] = {}


class Definition(NamedTuple):
    """What a metric is, under the name of an element of the page."""

    id: str
    says: str


class Page(NamedTuple):
    """Everything that the report says.

    Attributes:
        runs: their names.
        world: what they are about, and how large the model is, in words.
        has_explorer: whether the page with every edit lies beside this one.
    """

    runs: Sequence[str]
    world: str
    chapters: Sequence[EvaluationChapter]
    training: Picture
    has_explorer: bool = False


def write_page(page: Page, folder: Path) -> Path:
    """Write index.html, summary.csv, summary.md and summary.tex into the report folder; returns the page."""
    page = page._replace(chapters=[_finish_chapter(part) for part in page.chapters])
    every = [table for part in page.chapters for table in _chapter_tables(part.chapter)]
    texts = {
        "index.html": _render_html(page, folder),
        "summary.csv": _render_csv(page.chapters),
        "summary.md": "\n".join(map(tables.markdown_section, every)),
        "summary.tex": "% Needs \\usepackage{booktabs,graphicx}\n"
        + "\n".join(map(tables.latex_table, every)),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "index.html"


def _finish_chapter(part: EvaluationChapter) -> EvaluationChapter:
    """The chapter under keys that no other has; its tables say what is behind their cells."""
    chapter = part.chapter
    missing = [editor.edits.missing_numbers for editor in part.editors if editor.edits.missing_numbers]
    missing += [mixed] if (mixed := describe_mixture(part.editors)) else []

    def name_tables(bare: Sequence[tables.Table]) -> list[tables.Table]:
        return [
            tables.add_explanations(
                tables.add_case_counts(
                    table._replace(key=f"{part.key}-{table.key}", note=" ".join([*missing, table.note]))
                )
            )
            for table in bare
        ]

    def add_detectable(bare: Sequence[tables.Table]) -> list[tables.Table]:
        return name_tables([tables.add_detectable_row(table) for table in bare])

    opening, sections = (
        [s._replace(tables=finish(s.tables), more_tables=finish(s.more_tables)) for s in some]
        for some, finish in ((chapter.opening, name_tables), (chapter.sections, add_detectable))
    )
    details = {name: name_tables(of_editor) for name, of_editor in chapter.details.items()}
    first_table, main_table = name_tables([chapter.first_table, chapter.main_table])
    chapter = chapter._replace(
        first_table=first_table, main_table=main_table, sections=sections, details=details, opening=opening
    )
    return part._replace(chapter=chapter)


def describe_mixture(editors: Sequence[ScoredEditor]) -> str:
    """Which editors' edits were made with other versions, devices or flags than others', in words."""
    by_making: dict[str, list[str]] = {}
    for editor in editors:
        for made in editor.edits.made_by:
            by_making.setdefault(made, []).append(editor.name)
    if len(by_making) < 2:
        return ""
    each = "; ".join(
        f"{', '.join(names)} with {made or 'nobody knows what'}" for made, names in by_making.items()
    )
    return f"Edits were made with different versions, devices or flags: {each}."


def _chapter_tables(chapter: Chapter) -> list[tables.Table]:
    opening, later = (
        [t for s in part for t in (*s.tables, *s.more_tables)] for part in (chapter.opening, chapter.sections)
    )
    shared = [chapter.first_table, *opening, chapter.main_table, *later]
    return [*shared, *(table for of_editor in chapter.details.values() for table in of_editor)]


def _render_html(page: Page, folder: Path) -> str:
    template = load_template(
        Path(__file__).with_name("report.html.jinja"),
        shown=tables.format_cell,
        number=tables.cell_number,
        arrows=ARROWS,
        readers=READERS,
        embedded=lambda key, picture: _embed_picture(folder / key / picture.file),
        provenance=provenance(),
        significant=tables.SIGNIFICANT,
        palette=palette_css(),
        slots=assign_slots(editor.name for part in page.chapters for editor in part.editors),
        has_ring=has_ring,
        definitions=_define_metrics(page.chapters),
        describe_edits=describe_edits,
        versions_of=lambda key, editor: describe_versions(key, editor.evaluation, _agent_of(editor)),
        first_panel=_first_panel,
        rows_behind=find_rows_behind if page.has_explorer else lambda *_: "",
    )
    content: dict[str, Any] = page._asdict()
    return template.render(**content)


def describe_edits(part: EvaluationChapter) -> str:
    """What was edited, in how many cases, and by whom: a sentence."""
    counts = {e.name: len(e.edits.results) for e in part.editors}
    each = sorted(set(counts.values()))
    of_each = f"{each[0]:,}" if len(each) == 1 else f"{each[0]:,} to {each[-1]:,}"
    names = list(counts)
    by = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    first = part.editors[0]
    subset = headline_subset(first.evaluation, first.frame)
    only = ""
    if subset != "all":
        these = part.frame.cell(EDITS, first.name, subset)
        only = f" In {these:,.0f} the request {subset}; the numbers here are over these."
    return (
        f"{by} edited {of_each} facts. The rational agent, which has read the same corpus, received the same "
        f"new facts.{only}"
    )


def find_rows_behind(
    part: EvaluationChapter, table: tables.Table, row: Sequence[tables.Cell], column: int
) -> str:
    """The address of the explorer's rows that a cell is the average of; "" where it has none of them.

    Those are the rows of one editor, the lowest first, of which a metric says something.
    """
    editor = next((str(cell) for cell in row[: table.words] if cell in {e.name for e in part.editors}), "")
    rows = table.behind.get(table.header[column])
    if rows is None:
        return ""
    key, filters = part.columns.get(rows.metric), {"all": {}, **part.subsets}.get(rows.subset)
    if not editor or not key or filters is None or not isinstance(row[column], tables.Estimate):
        return ""
    words = [("evaluation", part.key), ("sort", key), ("f.editor", editor)]
    words += [(f"f.{name}", value) for name, values in filters.items() for value in values]
    return "explorer/index.html#" + urlencode(words, quote_via=quote)


def _first_panel(part: EvaluationChapter) -> Picture | None:
    """The picture of the first editor that has one."""
    return next((part.chapter.panels[e.name] for e in part.editors if e.name in part.chapter.panels), None)


def _define_metrics(chapters: Sequence[EvaluationChapter]) -> dict[str, Definition]:
    """What each metric of tables means, by name; of several evaluations' the first that has it."""
    definitions: dict[str, Definition] = {}
    for part in chapters:
        for metric in part.chapter.metrics:
            says, version = metric.description, version_of_metric(part.editors[0].evaluation, metric)
            says += f" (Version {version}.)" if version else ""
            definitions.setdefault(metric.title, Definition(f"what-{len(definitions)}", says))
    return definitions


def _render_csv(chapters: Sequence[EvaluationChapter]) -> str:
    """One row an estimate: evaluation, editor, subset, reader, metric, value, interval, cases, versions."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*HEADER, *VERSIONS))
    for part in chapters:
        evaluation = part.editors[0].evaluation
        of_metrics = {m.id: version_of_metric(evaluation, m) for m in evaluation.metrics}
        versions = {editor.name: _versions_of(part.key, editor) for editor in part.editors}
        for of, cell in part.frame.rows():
            if isinstance(cell, Estimate):
                keys = (of[name] for name in ("editor", "subset", "reader", "metric"))
                label, version = part.frame.label_of(of["metric"]), of_metrics.get(of["metric"]) or ""
                writer.writerow((part.key, *keys, *cell[:5], *versions[of["editor"]], version, label))
    return out.getvalue()


def _versions_of(evaluation: str, editor: ScoredEditor) -> list[str]:
    """Of the evaluation and of the agent; empty for what is a user's own."""
    known = select_versions({evaluation: editor.evaluation}, [_agent_of(editor)])
    return [next(iter(known[kind].values()), "") for kind in ("evaluations", "agents")]


def _agent_of(editor: ScoredEditor) -> str:
    return str(editor.edits.settings.get("agent", {}).get("name", ""))


def _embed_picture(path: Path) -> str:
    kind = {".svg": "svg+xml"}.get(path.suffix, "png")
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
