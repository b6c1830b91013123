"""Figures in long form: a row for each, in one Parquet file a record."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from testbed.scores.frame import ALL, BEFORE, EDITOR, REFERENCE, Frame
from testbed.scores.statistics import Comparison, Estimate
from testbed.scores.tables import Cell, Table, cell_number, format_cell

FIGURES = "figures.parquet"
ESTIMATE = ("value", "low", "high", "cases", "clusters", "few")


class Figure(NamedTuple):
    """One figure, or words that stand in a figure's place.

    Attributes:
        table: what it belongs to: a page of tables (NAME.md), or a name in the study's own figures.
        section: heading of its table on a page.
        row: of its table, from 0; -1 for what is written above the table.
        names: what its labels are, where that is known.
        labels: which row it is, by name.
        figure: which column it is, most often a metric.
        value: the figure; None where there is none.
        low: lower end of its interval.
        high: upper end of its interval.
        cases: behind it.
        clusters: of these cases.
        over: if not empty, low and high are the range over so many (`cases`) of these, not an interval.
        text: as it was printed, on a page; or words.
    """

    table: str
    section: str = ""
    row: int = 0
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    figure: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    cases: int | None = None
    clusters: int | None = None
    over: str | None = None
    text: str | None = None


SCHEMA = pa.schema(
    [("table", pa.string()), ("section", pa.string()), ("row", pa.int32())]
    + [("names", pa.list_(pa.string())), ("labels", pa.list_(pa.string())), ("figure", pa.string())]
    + [(name, pa.float64()) for name in ("value", "low", "high")]
    + [("cases", pa.int64()), ("clusters", pa.int64()), ("over", pa.string()), ("text", pa.string())]
)


def write_figures(figures: Iterable[Figure], path: Path) -> None:
    """One Parquet file of them, in their order."""
    rows = list(figures)
    columns = {one.name: pa.array([getattr(row, one.name) for row in rows], one.type) for one in SCHEMA}
    table = pa.table(columns)
    pq.write_table(table, path, compression="brotli", compression_level=11, write_statistics=False)


def read_figures(path: Path) -> list[Figure]:
    """What was written."""
    rows = pq.read_table(path).to_pylist()
    return [Figure(**row | {name: tuple(row[name]) for name in ("names", "labels")}) for row in rows]


def flatten_figures(table: str, tree: Any, names: tuple[str, ...] = ()) -> list[Figure]:
    """Figures of a study from nested data: the last key of each is its `figure`, those before its labels.

    Args:
        names: what the levels of keys are, for figures of so many labels.
        tree: of estimates (or [value, low, high, cases]), other named tuples, numbers and words; the place
            of an element in a list is the label "[0]".
    """
    return [*_walk_figures(table, tree, (), names)]


def _walk_figures(table: str, node: Any, path: tuple[str, ...], names: tuple[str, ...]) -> Iterator[Figure]:
    def figure(*key: str, **columns: Any) -> Figure:
        *labels, name = (*path, *key) or ("",)
        known = names if len(labels) == len(names) else ()
        return Figure(table, "", 0, known, tuple(labels), name, **columns)

    node = node._asdict() if hasattr(node, "_asdict") else node
    if isinstance(node, Mapping):
        if node.keys() >= set(ESTIMATE):
            few = node["few"]
            yield figure(**{name: node[name] for name in ESTIMATE[:-1]})
            yield from (figure(low=low, high=high, cases=n, over=over) for over, n, low, high in few)
            node = {key: value for key, value in node.items() if key not in ESTIMATE}
        for key, value in node.items():
            yield from _walk_figures(table, value, (*path, key), names)
    elif is_estimate(node):
        yield figure(**dict(zip(ESTIMATE, node, strict=False)))
    elif isinstance(node, list | tuple):
        for i, value in enumerate(node):
            yield from _walk_figures(table, value, (*path, f"[{i}]"), names)
    elif isinstance(node, str):
        yield figure(text=node)
    else:
        yield figure(value=node)


def is_estimate(node: Any) -> bool:
    """Whether it is [value, low, high, cases]."""
    return (
        isinstance(node, list | tuple)
        and len(node) == 4
        and all(x is None or isinstance(x, float) for x in node[:3])
        and isinstance(node[3], int)
    )


def figures_of_frame(frame: Frame, subsets: Sequence[str]) -> Iterator[Figure]:
    """The estimates of a frame: over all edits, over some subsets those of editors themselves.

    What several editors have in common, as references, stands with the first of them.
    """
    names = (*frame.tags, "editor", "subset", "reader")
    before = set[Any]()
    for of, cell in frame.where(subset=[ALL, *subsets]).rows():
        labels = tuple(str(of[name]) for name in names if of[name] is not None)
        key = (*labels[:-3], of["reader"], of["metric"], cell)
        is_shared = of["kind"] in (BEFORE, REFERENCE)
        if (of["subset"] == ALL and key in before) or (of["subset"] != ALL and of["kind"] != EDITOR):
            continue
        if is_shared:
            before.add(key)
        yield Figure("found", "", 0, names, labels, of["metric"], **numbers_of(cell))


def numbers_of(cell: Cell) -> dict[str, Any]:
    """The columns of a figure that a cell of a table has, None where there is no number."""
    if isinstance(cell, Estimate | Comparison):
        columns = {"value": cell[0], "low": cell.low, "high": cell.high}
        known = {name: None if math.isnan(x) else round(x, 4) for name, x in columns.items()}
        return known | {"cases": cell.cases, "clusters": cell.clusters}
    return {"value": cell_number(cell)}


def figures_of_table(page: str, table: Table) -> Iterator[Figure]:
    """The cells of a table beside what is written above it; its columns of words label a row."""
    lines = ["", f"### {table.title}", "", *[table.note, ""] * bool(table.note)]
    yield Figure(page, table.title, -1, text="\n".join(lines))
    names, heads, best = tuple(table.heads[: table.words]), table.heads[table.words :], table.best_cells
    for i, row in enumerate((*table.rows, *table.foot)):
        labels = tuple(map(format_cell, row[: table.words]))
        for j, (head, cell) in enumerate(zip(heads, row[table.words :], strict=True), table.words):
            text = f"**{format_cell(cell)}**" if (i, j) in best else format_cell(cell)
            yield Figure(page, table.title, i, names, labels, head, **numbers_of(cell), text=text)
