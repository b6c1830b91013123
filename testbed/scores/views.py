"""Tables as views of the frame: which readers are rows, which metrics of which subset are columns.

A view is data. What it cannot say is plain Python: a table is a tuple of rows, to which a foot can be added,
or rows that a paper prints.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

from corpus.errors import InputError
from testbed.scores.frame import ALL, BEFORE, CONTROL, EDITOR, EDITS, LOST, REFERENCE, Frame
from testbed.scores.statistics import Comparison, Estimate
from testbed.scores.tables import Cell, RowsBehind, Table

KINDS = (EDITOR, CONTROL, BEFORE, REFERENCE)
Choice = str | int | float | Sequence[Any] | Mapping[Any, str]
"""Values of a column of the frame: one, several in this order, or several with what they are called."""


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        metric: its id; empty where metrics are rows.
        head: what stands above it; the metric's label if nothing is said.
        where: what else its cells are of, by column of the frame, such as {"subset": "support 1"}.
        show: the cell, or the number of cases behind it (a plain number as a whole one), or the value without
            its interval.
    """

    metric: str
    head: str = ""
    where: Mapping[str, Any] = {}
    show: Literal["cell", "count", "value"] = "cell"


class View(NamedTuple):
    """A table of a frame, as data.

    Attributes:
        key, title, note: of the table.
        columns: metrics by id, or columns that say more.
        rows: which columns of the frame name a row, the outermost first, and what stands above them.
        who: the readers that are shown: kinds of readers, or their names, in order.
        where: which values of the frame's columns are meant; of those that name rows, in which order.
        ranked: whether arrows say what is better, and the best editor of each column stands out.
    """

    key: str
    title: str
    columns: Sequence[str | Column]
    rows: Mapping[str, str] = {"reader": "editor"}
    who: Sequence[str] = (EDITOR,)
    where: Mapping[str, Choice] = {}
    note: str = ""
    ranked: bool = False


def make_table(view: View, frame: Frame) -> Table:
    """The table that a view shows of a frame.

    A row that says nothing, as it has no cell or none of any case, is left out. Of references, which several
    editors may have, an editor's row has its own, and others the first.

    Raises:
        InputError: the frame has several values where the view says nothing of them, such as several worlds.
    """
    columns = [Column(one) if isinstance(one, str) else one for one in view.columns]
    people = choose_readers(frame, view.who)
    choices = {name: _choices_of(view, frame, people, name) for name in view.rows}
    fixed: dict[str, Any] = {"subset": ALL, "against": None}
    fixed |= {name: value for name, value in view.where.items() if name not in view.rows}
    if "reader" not in view.rows and people:
        fixed = {"reader": people[0]} | fixed
    metrics = [c.metric for c in columns if c.metric] or [*choices["metric"]]
    varied = {*view.rows, *(name for c in columns for name in c.where)}
    part = frame.where(**{name: value for name, value in fixed.items() if name not in varied})
    find = _index_cells(part, metrics, {*fixed, *varied})
    rows: list[list[Cell]] = []
    readers: list[str] = []
    for values in product(*(of for of in choices.values())):
        of_row = fixed | dict(zip(view.rows, values, strict=True))
        line = [
            _show_cell(find(of_row, {**({"metric": c.metric} if c.metric else {}), **c.where}), c.show)
            for c in columns
        ]
        if any(cell.cases if isinstance(cell, Estimate | Comparison) else cell for cell in line):
            rows.append([*(of[value] for of, value in zip(choices.values(), values, strict=True)), *line])
            readers.append(str(of_row.get("reader")))
    heads = [c.head or frame.label_of(c.metric) for c in columns]
    known = {
        head: frame.metrics[c.metric]
        for head, c in zip(heads, columns, strict=True)
        if c.metric in frame.metrics and c.show != "count"
    }
    complete = complete_editors(frame) if view.ranked else set()
    return Table(
        view.key,
        view.title,
        [*view.rows.values(), *heads],
        rows,
        view.note,
        words=len(view.rows),
        better={head: of.better for head, of in known.items()} if view.ranked else {},
        contest=[i for i, reader in enumerate(readers) if reader in complete],
        behind={
            head: RowsBehind(c.metric, c.where.get("subset", fixed["subset"]))
            for head, c in zip(heads, columns, strict=True)
            if {*c.where} <= {"subset"} and "subset" not in view.rows
        },
    )


def choose_readers(frame: Frame, who: Sequence[str]) -> list[str]:
    """The readers that some kinds and names stand for, in order; references are the first editor's."""
    first = frame.where(editor=frame.values("editor")[:1])

    def readers_of(one: str) -> list[str]:
        if one in KINDS:
            return (first if one in (BEFORE, REFERENCE) else frame).where(kind=one).values("reader")
        return [one] * (one in known)

    known = {*frame.values("reader")}
    return [*dict.fromkeys(name for one in who for name in readers_of(one))]


def complete_editors(frame: Frame) -> set[str]:
    """The editors that may be named best: those that have all cases, and numbers for each."""
    own = frame.where(kind=EDITOR, subset=ALL)
    edits, lost = (
        dict(zip(*(own.where(metric=name).table[k].to_pylist() for k in ("editor", "value")), strict=True))
        for name in (EDITS, LOST)
    )
    most = max(edits.values(), default=0)
    return {name for name, count in edits.items() if count == most and not lost.get(name)}


def _choices_of(view: View, frame: Frame, people: Sequence[str], column: str) -> dict[Any, Any]:
    """The values of a column that names rows, in their order, and what they are called."""
    if column == "reader":
        return {name: name for name in people}
    choice = view.where.get(column, frame.values(column))
    if isinstance(choice, Mapping):
        return dict(choice)
    several = [choice] if isinstance(choice, str | int | float) else choice
    return {value: value for value in several}


def _index_cells(
    frame: Frame, metrics: Sequence[str], named: set[str]
) -> Callable[[Mapping[str, Any], Mapping[str, Any]], Cell]:
    """How to find a cell of some metrics by what its row and its column are of.

    Of several editors it is that of the row's, else the first's.

    Args:
        named: the columns that are told apart.
    """
    part = frame.where(metric=metrics)
    mixed = {tag: values for tag in frame.tags if tag not in named and len(values := part.values(tag)) > 1}
    if mixed:
        tag, values = next(iter(mixed.items()))
        raise InputError(
            f"a view of {', '.join(metrics[:3])} says nothing of {tag!r}, of which the frame has "
            f"{', '.join(map(str, values[:5]))}; name it in rows, in where, or in each column's where"
        )
    order = sorted({"metric", *named} - {"editor"})
    cells: dict[tuple[Any, ...], dict[str, Cell]] = {}
    for of, cell in part.rows():
        cells.setdefault(tuple(of[name] for name in order), {}).setdefault(of["editor"], cell)

    def find(of_row: Mapping[str, Any], of_column: Mapping[str, Any]) -> Cell:
        wanted = {**of_row, **of_column}
        by_editor = cells.get(tuple(wanted.get(name) for name in order), {})
        if "editor" in wanted:
            return by_editor.get(wanted["editor"])
        return by_editor.get(of_row.get("reader", ""), next(iter(by_editor.values()), None))

    return find


def _show_cell(cell: Cell, show: str) -> Cell:
    if show == "count" and cell is not None:
        return cell.cases if isinstance(cell, Estimate | Comparison) else int(cell)
    if show == "value" and isinstance(cell, Estimate | Comparison):
        return cell[0]
    return cell


def swap_words(table: Table) -> Table:
    """The table with its first two columns the other way round; its rows keep their order."""
    return table._replace(
        header=[table.header[1], table.header[0], *table.header[2:]],
        rows=[[row[1], row[0], *row[2:]] for row in table.rows],
    )
