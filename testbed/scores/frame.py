"""The frame: all that is reported as one long table, a row an estimate (design.md 11).

It lies in Arrow's columns. Tables and pictures are views of it, see
`testbed.scores.views`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from testbed.scores.metric import Better, MetricDefinition
from testbed.scores.statistics import Comparison, Estimate, Few
from testbed.scores.tables import Cell

EDITOR, CONTROL, BEFORE, REFERENCE = "editor", "control", "before", "reference"
"""Kinds of readers: an editor, what it did when told something else, and what it is held against."""
EDITS, LOST = "edits", "lost"
"""Numbers of an editor that are no estimates, as are its costs: how many edits it made, and lost."""
ALL = "all"

_FEW = pa.list_(
    pa.struct(
        [("level", pa.string()), ("clusters", pa.int64()), ("low", pa.float64()), ("high", pa.float64())]
    )
)
KEYS = ("editor", "reader", "kind", "subset", "metric", "against")
SCHEMA = pa.schema(
    [(name, pa.dictionary(pa.int32(), pa.string())) for name in KEYS]
    + [(name, pa.float64()) for name in ("value", "low", "high")]
    + [("cases", pa.int64()), ("clusters", pa.int64()), ("few", _FEW)]
    + [("p", pa.float64()), ("detectable", pa.float64())]
)


class MetricLabel(NamedTuple):
    """How a metric is shown: its name for people, and what is better."""

    label: str
    better: Better


class Frame(NamedTuple):
    """Estimates as one long table.

    Attributes:
        table: a row an estimate or a number. Its columns are those of SCHEMA: whose it is (editor, reader,
            kind of reader), of which subset of the cases and which metric, by its id; `against` whom it is a
            difference, else null; `cases` is null of what is no estimate. Any further columns say which cell
            of a study it is from.
        metrics: by id.
    """

    table: pa.Table
    metrics: Mapping[str, MetricLabel] = {}

    @property
    def tags(self) -> list[str]:
        """The further columns, such as which world a row is from."""
        return [name for name in self.table.column_names if name not in SCHEMA.names]

    def where(self, **wanted: Any) -> "Frame":
        """The rows whose columns have some values: one, or one of several."""
        table = self.table
        for column, values in wanted.items():
            several = isinstance(values, Collection) and not isinstance(values, str)
            known, cells = pa.array([*values] if several else [values]), table[column]
            cells = cells.cast(pa.string()) if pa.types.is_dictionary(cells.type) else cells
            table = table.filter(pc.is_in(cells, value_set=known.cast(cells.type)))
        return self._replace(table=table)

    def values(self, column: str) -> list[Any]:
        """The different values of a column, in the order in which they first come."""
        known = self.table[column].unique().to_pylist()
        return [value for value in known if value is not None]

    def shared_subsets(self) -> list[str]:
        """The subsets of which every editor has cases."""
        own = self.where(kind=EDITOR, metric=EDITS, against=None)
        by_editor = [{*own.where(editor=name).values("subset")} for name in own.values("editor")]
        return [subset for subset in own.values("subset") if all(subset in known for known in by_editor)]

    def rows(self) -> Iterator[tuple[dict[str, Any], Cell]]:
        """Every row: what it is of, by column, and its cell."""
        names = (*KEYS, *self.tags)
        for row in self.table.to_pylist():
            yield {name: row[name] for name in names}, _cell_of(row)

    def cell(self, metric: str, reader: str, subset: str = ALL, **tags: Any) -> Any:
        """One cell: an estimate, or a plain number; None where there is none."""
        found = self.where(metric=metric, reader=reader, subset=subset, against=None, **tags)
        return next((cell for _, cell in found.rows()), None)

    def metrics_of(self, editor: str, reader: str = "", subset: str = ALL) -> dict[str, Any]:
        """Every cell of an editor, or of one of its readers, by metric."""
        own = self.where(editor=editor, reader=reader or editor, subset=subset, against=None)
        return {of["metric"]: cell for of, cell in own.rows()}

    def tag(self, **values: Any) -> "Frame":
        """The frame with further columns of one value each, as text where it is no plain one.

        Raises:
            ValueError: there is such a column already.
        """
        table = self.table
        for name, value in values.items():
            if name in table.column_names:
                raise ValueError(f"a frame has a column {name} already; tag it by another name")
            plain = value if value is None or isinstance(value, str | int | float) else str(value)
            table = table.append_column(name, pa.array([plain] * len(table)))
        return self._replace(table=table)

    def label_of(self, metric: str) -> str:
        """What a metric is called where people see it."""
        return self.metrics[metric].label if metric in self.metrics else metric


def concat_frames(frames: Sequence[Frame]) -> Frame:
    """The rows of several frames after one another; what a column lacks in one of them is null."""
    table = pa.concat_tables(
        [frame.table for frame in frames], promote_options="default"
    ).unify_dictionaries()
    metrics: dict[str, MetricLabel] = {}
    for frame in frames:
        metrics |= frame.metrics
    return Frame(table, metrics)


Keys = tuple[str, str, str, str, str, str | None]
"""The values of KEYS."""


def make_frame(rows: Iterable[tuple[Keys, Cell]], definitions: Sequence[MetricDefinition]) -> Frame:
    """The frame of some cells, each with the values of KEYS; without those that are None."""
    lines = [[*keys, *_values_of(cell)] for keys, cell in rows if cell is not None]
    columns = zip(*lines, strict=True) if lines else [()] * len(SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    labels = {m.id: MetricLabel(m.title, m.better) for m in definitions}
    return Frame(pa.table(arrays, schema=SCHEMA), labels)


def _values_of(cell: Cell) -> tuple[Any, ...]:
    """A cell as the columns of SCHEMA behind the keys."""
    if isinstance(cell, Comparison):
        value, low, high, p, detectable, cases, clusters, few = cell
    elif isinstance(cell, Estimate):
        (value, low, high, cases, clusters, few), p, detectable = cell, None, None
    else:
        return (cell, *[None] * 7)
    return value, low, high, cases, clusters, [one._asdict() for one in few], p, detectable


def _cell_of(row: Mapping[str, Any]) -> Cell:
    if row["cases"] is None:
        value: float | None = row["value"]
        return value
    few = tuple(Few(**one) for one in row["few"] or ())
    counts = row["cases"], row["clusters"], few
    if row["p"] is None:
        return Estimate(row["value"], row["low"], row["high"], *counts)
    return Comparison(row["value"], row["low"], row["high"], row["p"], row["detectable"], *counts)
