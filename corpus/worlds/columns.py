"""Which columns of a table are subjects, relations and objects, where nobody says: by what repeats where.

Ann  born in  Rome          three columns: a fact a row
name born in  citizen of    more: a subject a row, and a relation a column
Ann  Rome     Italy
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from corpus.errors import InputError
from corpus.worlds.unpacked import CELL

ROLES = (
    {"subject", "subj", "head", "source", "s", "h"},
    {"relation", "rel", "predicate", "property", "p", "r"},
    {"object", "obj", "tail", "target", "value", "o", "t"},
)
"""What columns of subjects, relations and objects are often called."""
FEW_ROWS = 10
"""Of a table with fewer rows nothing is guessed."""
LOOKED_AT = 50_000
"""Rows by which columns are told apart."""
USUAL = (0, 1, 2)


class Table(NamedTuple):
    """Columns of labels.

    Attributes:
        columns: dictionary<string> each, of one length.
        names: what each is called; by default what its first row says, which may be a header or a fact.
    """

    columns: list[pa.ChunkedArray]
    names: Sequence[str] = ()

    @property
    def first(self) -> list[str]:
        """Names, or what may be names."""
        return [*self.names] or [
            " ".join((c[0].as_py() or "").split()) if len(c) else "" for c in self.columns
        ]

    @property
    def body(self) -> list[pa.ChunkedArray]:
        """The columns without the row that may be a header."""
        return self.columns if self.names else [column.slice(1) for column in self.columns]


def find_facts(table: Table, path: Path, note: Callable[[str], None]) -> list[pa.ChunkedArray]:
    """Columns of subjects, relations and objects.

    Args:
        note: is told what is read otherwise than it stands.

    Raises:
        InputError: nothing says which columns they are.
    """
    table = _drop_empty(table)
    roles = [[i for i, name in enumerate(table.first) if name.lower() in names] for names in ROLES]
    if all(len(places) == 1 for places in roles):
        return [table.body[places[0]] for places in roles]
    if _has_row_numbers(table):
        table = Table(table.body[1:], table.first[1:])
    keys = find_keys(table)
    if keys:
        subject, *others = (table.first[i] for i in keys)
        relations = [name for name in table.first if name != subject]
        rivals = f" ({', '.join(others):.200} might be, too)" if others else ""
        note(
            f"{path}: a row is read as a subject, called by its {subject!r:.80}{rivals}, with the relations "
            f"{', '.join(relations):.200}; --world.columns names another column of subjects, or the three of "
            "a table with a fact a row"
        )
        return spread_rows(table, keys[0], path)
    if len(table.columns) != 3:
        raise InputError(
            f"{path} has the columns {', '.join(table.first):.200}; name three as --world.columns, those of "
            "subject, relation and object, or one, that of subjects, if each row is a subject"
        )
    order = guess_order(table.columns)
    if order is None:
        raise InputError(
            f"{path}: nothing says which column has the relations, as in "
            f"{' '.join(map(repr, table.first)):.120}; say "
            "--world.columns 1 2 3 if they are subject, relation, object, or name another order"
        )
    if order != USUAL:
        columns = " ".join(str(place + 1) for place in order)
        note(
            f"{path}: what repeats where says that column {order[1] + 1} has the relations, as in "
            f"{' '.join(map(repr, table.first)):.120}; it is read as --world.columns {columns}, and "
            "--world.columns 1 2 3 reads it as it stands"
        )
    return [table.columns[place] for place in order]


def guess_order(columns: list[pa.ChunkedArray]) -> tuple[int, ...] | None:
    """The places of subject, relation and object among three columns; None if nothing tells them.

    Two columns that share names have the subjects and objects, unless the third tells rows apart as a key
    does, which no relation is; that they share numbers says nothing. Else relations are what objects tell and
    subjects do not: a town is where people are born, whoever it is. Else they stand second, unless another
    column repeats twice as much.
    """
    rows = list(zip(*(column.slice(0, LOOKED_AT).to_pylist() for column in columns), strict=True))
    values = [set(column) for column in zip(*rows, strict=True)]
    if len(rows) < FEW_ROWS:
        return USUAL
    common = {r: len(values[s] & values[o]) / min(len(values[s]), len(values[o])) for s, r, o in ORDERS}
    likeliest = max(common, key=lambda r: common[r])
    is_numbered = all(name.isdecimal() for row in rows[1:] for name in row)
    if not is_numbered and common[likeliest] > 0.5 and sum(common.values()) < 1.1 * common[likeliest]:
        is_key = len(values[likeliest]) > 0.9 * len(rows)
        return None if is_key else next(order for order in ORDERS if order[1] == likeliest)
    told = [one for one in ORDERS if _tells(rows, one[2], one[1]) and not _tells(rows, one[0], one[1])]
    if told:
        return told[0]
    return None if 2 * min(map(len, values)) <= len(values[1]) else USUAL


def _tells(rows: list[tuple], one: int, other: int) -> bool:
    """Whether rows that share a value in one column nearly always share that of another, which varies."""
    times, pairs = Counter(row[one] for row in rows), Counter((row[one], row[other]) for row in rows)
    commonest: dict[str, int] = {}
    for (value, _), n in pairs.items():
        commonest[value] = max(commonest.get(value, 0), n)
    repeated = [value for value, n in times.items() if n > 1]
    shared = sum(times[value] for value in repeated)
    return sum(commonest[value] for value in repeated) > 0.9 * max(shared, len(rows) / 10)


ORDERS = (USUAL, (0, 2, 1), (1, 0, 2))
"""Subject, relation and object, by which column has the relations."""


def find_keys(table: Table) -> list[int]:
    """The places of columns that tell rows apart, if each row is a subject and each other column a relation.

    Nearly all different rows differ there, and no column has the name of another one in its cells, as one of
    relations has. Of three columns only the first is looked at: the third may be objects.
    """
    rows = {*zip(*(c.slice(0, LOOKED_AT).to_pylist() for c in table.body), strict=True)}
    if len(rows) < FEW_ROWS or len(table.columns) < 3 or not all(table.first[1:]):
        return []
    named = zip(table.first, table.body, strict=True)
    if any(name and pc.index(column.cast(pa.string()), name).as_py() >= 0 for name, column in named):
        return []
    different = [len({*cells}) for cells in zip(*rows, strict=True)]
    keys = [i for i, count in enumerate(different) if count > 0.9 * len(rows)]
    return keys if len(table.columns) > 3 else [i for i in keys if keys[0] == 0]


def spread_rows(table: Table, subject: int, path: Path) -> list[pa.ChunkedArray]:
    """A fact for each cell of the columns beside that of subjects.

    Raises:
        InputError: two columns of one name.
    """
    if repeated := [name for name, times in Counter(table.first).items() if times > 1]:
        raise InputError(f"{path} has several columns called {repeated[0]!r:.80}; give each another name")
    subjects = table.body[subject]
    others = [i for i in range(len(table.columns)) if i != subject]
    relations = [
        pa.DictionaryArray.from_arrays(pa.array([0] * len(subjects), pa.int32()), [table.first[i]]).cast(CELL)
        for i in others
    ]
    return [
        pa.chunked_array([chunk for _ in others for chunk in subjects.chunks], CELL),
        pa.chunked_array(relations, CELL),
        pa.chunked_array([chunk for i in others for chunk in table.body[i].chunks], CELL),
    ]


def _drop_empty(table: Table) -> Table:
    """The table without columns that have no name and no content, as where each line ends in a comma."""
    cells = [column.cast(pa.string()) for column in table.columns]
    full = [i for i, name in enumerate(table.first) if name or pc.any(pc.not_equal(cells[i], "")).as_py()]
    return Table([table.columns[i] for i in full], [table.names[i] for i in full] if table.names else ())


def _has_row_numbers(table: Table) -> bool:
    """Whether the first column has no name and counts the rows."""
    if not table.columns or table.first[0]:
        return False
    numbers = pc.unique(table.body[0].cast(pa.string()))
    return len(numbers) == len(table.body[0]) and pc.all(pc.utf8_is_decimal(numbers)).as_py() is True
