"""The rows of a JSON file: objects, or lists of cells, one a line or all in one list.

A cell may be a list of labels, which stand together with `OF_LISTS` between them.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, NoReturn

import pyarrow as pa

from corpus.errors import InputError
from corpus.worlds.columns import Table
from corpus.worlds.lists import OF_LISTS
from corpus.worlds.rawfiles import Watch
from corpus.worlds.unpacked import CELL, open_table, require_rows

BATCH = 1 << 16
"""Rows that are put into columns at once."""


def read_json(path: Path, watch: Watch) -> Table:
    """A column for each name of an object, or for each place of a list; what a row lacks is an empty label.

    Raises:
        InputError: a line or a value that is none, with its number.
    """
    parts: dict[str, list[pa.Array]] = {}
    count, is_named = 0, True
    with open_table(path, watch) as stream:
        rows = _label_rows(path, _parse_rows(path, stream))
        while batch := [*islice(rows, BATCH)]:
            is_named = is_named and all(has_names for has_names, _ in batch)
            for name in dict.fromkeys(name for _, row in batch for name in row):
                parts.setdefault(name, [_encode_cells([""] * count)])
            for name, part in parts.items():
                part.append(_encode_cells([row.get(name, "") for _, row in batch]))
            count += len(batch)
            require_rows(path, count)
    return Table([pa.chunked_array(part, CELL) for part in parts.values()], [*parts] if is_named else ())


def _parse_rows(path: Path, stream: Any) -> Iterable[tuple[int, Any]]:
    """What the file holds, each with its number: that of its line, or in a list its place."""
    is_list = stream.peek(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["
    text = stream.read() if is_list else b""
    try:
        if is_list:
            return enumerate(json.loads(text), start=1)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            _refuse_row(path, f"line {error.lineno}: {error.msg}")
    except (UnicodeDecodeError, RecursionError) as error:
        _refuse_row(path, str(error))
    return _parse_lines(path, text.splitlines() if is_list else stream)


def _parse_lines(path: Path, lines: Iterable[bytes] | IO[bytes]) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                _refuse_row(path, f"line {number}: {error}")


def _label_rows(path: Path, rows: Iterable[tuple[int, Any]]) -> Iterator[tuple[bool, dict[str, str]]]:
    """Whether its cells have names, and the cells of each row as labels."""
    for number, row in rows:
        if not isinstance(row, dict | list):
            _refuse_row(path, f"row {number}: {row!r:.80}")
        cells = (
            row if isinstance(row, dict) else dict(zip(map(str, range(1, len(row) + 1)), row, strict=True))
        )
        for name, cell in cells.items():
            if isinstance(cell, dict) or (
                isinstance(cell, list) and any(isinstance(c, dict | list) for c in cell)
            ):
                _refuse_row(path, f"row {number}: {name!r:.80} is {cell!r:.80}")
        yield isinstance(row, dict), {name: _label_cell(cell) for name, cell in cells.items()}


def _label_cell(cell: Any) -> str:
    """As JSON writes it, so that true is no True; nothing is an empty label, and so is an empty list."""
    if isinstance(cell, list):
        return OF_LISTS.join(map(_label_cell, cell))
    if isinstance(cell, str):
        return cell.encode(errors="replace").decode()
    return "" if cell is None else json.dumps(cell)


def _encode_cells(cells: list[str]) -> pa.Array:
    return pa.array(cells, pa.string()).dictionary_encode().cast(CELL)


def _refuse_row(path: Path, why: str) -> NoReturn:
    raise InputError(
        f"{path}: expected one JSON object of labels a line, such as "
        f'{{"subject": "Ann", "relation": "born in", "object": "Rome"}} ({why:.200})'
    )
