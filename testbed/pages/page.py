"""The report's files: an HTML page that opens from disk, CSV, Markdown, LaTeX, and the pictures, as SVG."""

import base64
import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import bayes
from testbed.pages.chapter import Chapter, Picture
from testbed.pages.palette import assign_slots, has_ring, palette_css
from testbed.pages.templates import load_template
from testbed.run.runs import provenance
from testbed.scores.frame import EDITS, Frame
from testbed.scores.headlines import headline_subset
from testbed.scores.metric import ARROWS
from testbed.scores.readers import READERS, EvaluationMetrics
from testbed.scores.statistics import (
    INTERVALS,
    LEAST,
    MANY_WORLDS,
    WORLD,
    Comparison,
    Estimate,
    detectable_difference,
)
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import (
    PAGE,
    SIGNIFICANT,
    Cell,
    Table,
    case_counts,
    cell_number,
    escape_latex,
    format_cell,
    markdown_section,
)
from testbed.scores.versions import select_versions, version_of, version_of_metric

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
        "summary.md": "\n".join(map(markdown_section, every)),
        "summary.tex": "% Needs \\usepackage{booktabs,graphicx}\n" + "\n".join(map(latex_table, every)),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "index.html"


def _finish_chapter(part: EvaluationChapter) -> EvaluationChapter:
    """The chapter under keys that no other has; its tables say what is behind their cells."""
    chapter = part.chapter
    missing = [editor.edits.missing_numbers for editor in part.editors if editor.edits.missing_numbers]
    missing += [mixed] if (mixed := describe_mixture(part.editors)) else []

    def name_tables(bare: Sequence[Table]) -> list[Table]:
        return [
            add_explanations(
                add_case_counts(
                    table._replace(key=f"{part.key}-{table.key}", note=" ".join([*missing, table.note]))
                )
            )
            for table in bare
        ]

    def add_detectable(bare: Sequence[Table]) -> list[Table]:
        return name_tables([add_detectable_row(table) for table in bare])

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


def _chapter_tables(chapter: Chapter) -> list[Table]:
    opening, later = (
        [t for s in part for t in (*s.tables, *s.more_tables)] for part in (chapter.opening, chapter.sections)
    )
    shared = [chapter.first_table, *opening, chapter.main_table, *later]
    return [*shared, *(table for of_editor in chapter.details.values() for table in of_editor)]


def _render_html(page: Page, folder: Path) -> str:
    template = load_template(
        Path(__file__).with_name("report.html.jinja"),
        shown=format_cell,
        number=cell_number,
        arrows=ARROWS,
        readers=READERS,
        embedded=lambda key, picture: _embed_picture(folder / key / picture.file),
        provenance=provenance(),
        significant=SIGNIFICANT,
        palette=palette_css(),
        slots=assign_slots(editor.name for part in page.chapters for editor in part.editors),
        has_ring=has_ring,
        definitions=_define_metrics(page.chapters),
        describe_edits=describe_edits,
        versions_of=lambda key, editor: describe_versions(key, editor.evaluation, _agent_of(editor)),
        first_panel=lambda part: next(
            (part.chapter.panels[e.name] for e in part.editors if e.name in part.chapter.panels), None
        ),
        rows_behind=find_rows_behind if page.has_explorer else lambda *_: "",
    )
    content: dict[str, Any] = page._asdict()
    return template.render(**content)


def describe_versions(name: str, evaluation: EvaluationMetrics, agent: str) -> str:
    """In words: which version of the evaluation, and of the agent by which it judges."""
    words = [f"evaluation {name}, version {version_of(evaluation)}"] if version_of(evaluation) else []
    of_agent = f", version {bayes.VERSIONS[agent]}" if agent in bayes.VERSIONS else ""
    return "; ".join([*words, f"agent {agent}{of_agent}"])


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


def find_rows_behind(part: EvaluationChapter, table: Table, row: Sequence[Cell], column: int) -> str:
    """The address of the explorer's rows that a cell is the average of; "" where it has none of them.

    Those are the rows of one editor, the lowest first, of which a metric says something.
    """
    editor = next((str(cell) for cell in row[: table.words] if cell in {e.name for e in part.editors}), "")
    rows = table.behind.get(table.header[column])
    if rows is None:
        return ""
    key, filters = part.columns.get(rows.metric), {"all": {}, **part.subsets}.get(rows.subset)
    if not editor or not key or filters is None or not isinstance(row[column], Estimate):
        return ""
    words = [("evaluation", part.key), ("sort", key), ("f.editor", editor)]
    words += [(f"f.{name}", value) for name, values in filters.items() for value in values]
    return "explorer/index.html#" + urlencode(words, quote_via=quote)


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


def add_detectable_row(table: Table) -> Table:
    """The table with the smallest true difference that two of its rows would show in each column.

    Of independent rows, both with the widest interval of the column; on the same cases paired comparisons
    show less. A table that has a foot keeps it.
    """
    if table.foot:
        return table
    columns = list(zip(*table.rows, strict=True))[table.words :]
    least: list[Cell] = []
    for column in columns:
        widths = [c.high - c.low for c in column if isinstance(c, Estimate)]
        known = [width for width in widths if not math.isnan(width)]
        # An interval is 3.92 standard errors wide; a difference has two rows' worth of variance.
        least.append(detectable_difference(math.sqrt(2) * max(known) / 3.92) if known else None)
    if all(cell is None for cell in least):
        return table
    words: list[Cell] = ["smallest detectable difference", *[""] * (table.words - 1)]
    return table._replace(foot=([*words, *least],))


def add_case_counts(table: Table) -> Table:
    """The table with the number of cases, and of clusters, behind the cells of each column, as last row."""
    columns = list(zip(*table.rows, strict=True))
    known = [[c for c in column if isinstance(c, Estimate | Comparison) and c.cases] for column in columns]
    if not any(known):
        return table
    words = ["cases (clusters) behind a cell", *[""] * (table.words - 1)]
    return table._replace(foot=(*table.foot, [*words, *map(case_counts, known[table.words :])]))


def add_explanations(table: Table) -> Table:
    """The table with a note of what its best rows are worst in, and of how its intervals were made."""
    cells = [c for row in (*table.rows, *table.foot) for c in row if isinstance(c, Estimate | Comparison)]
    if not cells:
        return table
    few = [few for cell in cells for few in cell.few]
    levels = dict.fromkeys(f"{one.level}s" for one in few if one.level != WORLD)
    worlds = [one.clusters for one in few if one.level == WORLD]
    sentences = []
    if levels:
        among = " or ".join(levels)
        sentences.append(f"In parentheses: the range over {among}, if there are fewer than {LEAST}.")
    if worlds and max(worlds) == 1:
        sentences.append("They are about this world only.")
    elif worlds:
        sentences.append(
            "They are about these worlds only, with the range over them in parentheses: fewer than "
            f"{MANY_WORLDS} do not stand for others."
        )
    compared = [one.clusters for cell in cells if isinstance(cell, Comparison) for one in cell.few]
    if any(1 < count <= LEAST for count in compared):
        sentences.append(f"{LEAST} worlds or fewer give no verdict: p could not be below 5%.")
    parts = [table.note, describe_winners(table), INTERVALS, *sentences]
    return table._replace(note=" ".join(part for part in parts if part))


def describe_winners(table: Table) -> str:
    """In words, what each row that is best somewhere is worst in; nothing where no row is best."""
    ranks, wins = table.ranks, table.best_cells
    sentences = []
    for i in sorted({row for row, _ in wins}):
        own = {column: of[i] for column, of in ranks.items() if i in of}
        worst = max(own, key=lambda column: (own[column], -column))
        best = ", ".join(table.header[column] for row, column in sorted(wins) if row == i)
        last = f"worst in {table.header[worst]} (rank {own[worst]} of {len(ranks[worst])})"
        last = last if own[worst] > 1 else "nowhere worse"
        sentences.append(f"{format_cell(table.rows[i][0])}: best in {best}; {last}.")
    return " ".join(sentences)


def latex_table(table: Table) -> str:
    """LaTeX for the packages booktabs and graphicx: a table, or several where one would not fit a page."""
    best = table.best_cells
    lines = [
        [
            rf"\textbf{{{escape_latex(format_cell(cell))}}}"
            if (i, j) in best
            else escape_latex(format_cell(cell))
            for j, cell in enumerate(row)
        ]
        for i, row in enumerate(table.rows)
    ]
    parts = [lines[i : i + PAGE] for i in range(0, len(lines), PAGE)] or [[]]
    caption = ". ".join(part.rstrip(".") for part in (table.title, table.note) if part) + "."
    label = f"tab:{table.key}"
    floats = [_latex_float(table, parts[0], caption, label)]
    for i, rows in enumerate(parts[1:], start=2):
        floats.append(_latex_float(table, rows, f"{table.title}, continued.", f"{label}-{i}"))
    return "\n".join(floats)


def _latex_float(table: Table, rows: Sequence[Sequence[str]], caption: str, label: str) -> str:
    def join_cells(cells: Sequence[str]) -> str:
        return " & ".join(cells) + r" \\"

    columns = "l" * table.words + "r" * (len(table.header) - table.words)
    foot = (
        [r"\midrule", *(join_cells([escape_latex(format_cell(c)) for c in row]) for row in table.foot)]
        if table.foot
        else []
    )
    lines = [
        r"\begin{table}",
        rf"\caption{{{escape_latex(caption)}}}",
        rf"\label{{{label}}}",
        r"\centering",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(map(_stack_head, table.heads)) + r" \\",
        r"\midrule",
        *map(join_cells, rows),
        *foot,
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _stack_head(head: str) -> str:
    """A column's head on two lines of about one length, where it has several words."""
    words = head.split(" ")
    if len(words) == 1:
        return escape_latex(head)
    halves = [(" ".join(words[:i]), " ".join(words[i:])) for i in range(1, len(words))]
    upper, lower = min(halves, key=lambda pair: max(map(len, pair)))
    return rf"\shortstack{{{escape_latex(upper)}\\{escape_latex(lower)}}}"
