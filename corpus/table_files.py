"""Three columns of a large table as dictionary-encoded Arrow arrays: TSV, CSV (gzipped or not), Parquet."""

import csv
import gzip
import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from corpus.errors import InputError
from corpus.files import require_regular
from corpus.rawfiles import DAMAGED, Watch, read_unwatched

BLOCK_BYTES = 1 << 22
LONGEST_CELL = 1 << 20
CELL = pa.dictionary(pa.int32(), pa.string())
EXPECTED = "subject, relation and object"
# Python's white space, as classes of Arrow's regular expressions.
SPACES = r"\pZ\t-\r\x1c-\x1f\x{85}"
BLANK = rf"^[{SPACES}]*$"
WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


class _Watched(io.RawIOBase):
    """The bytes of a stream; tells how much of the file behind it was read for them."""

    def __init__(
        self, file: IO[bytes], stream: IO[bytes] | gzip.GzipFile, advance: Callable[..., None]
    ) -> None:
        self.file, self.stream, self.advance, self.seen = file, stream, advance, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self.stream.read(len(buffer))
        buffer[: len(chunk)] = chunk
        self.advance(self.file.tell() - self.seen)
        self.seen = self.file.tell()
        return len(chunk)


@contextmanager
def open_table(path: Path, watch: Watch) -> Iterator[IO[bytes]]:
    """The bytes of a text file, unpacked if it is gzipped, whatever it is called.

    Raises:
        InputError: a damaged archive, or UTF-16.
    """
    require_regular(path)
    with ExitStack() as stack:
        file = stack.enter_context(path.open("rb"))
        advance = stack.enter_context(watch(path.name, path.stat().st_size))
        zipped = file.peek(2).startswith(b"\x1f\x8b")
        stream = stack.enter_context(gzip.open(file)) if zipped else file
        try:
            buffered = io.BufferedReader(_Watched(file, stream, advance), BLOCK_BYTES)
            head = buffered.peek(4096)[:4096]
            if head.startswith(WIDE_MARKS) or head.count(0) > len(head) / 4:
                raise InputError(f"{path} is UTF-16 or not text at all; save it as UTF-8")
            yield buffered
        except DAMAGED as error:
            raise InputError(f"{path} is damaged or cut off ({error}); get it again") from None


def read_delimited(
    path: Path, delimiter: str, columns: tuple[str, ...], watch: Watch
) -> list[pa.ChunkedArray]:
    """Subject, relation and object columns of a TSV, which knows no quotes, or a CSV, which does.

    Args:
        columns: positions from 1, or names in the first line; none where the table has just these three.

    Raises:
        InputError: a malformed line, with file, number and content.
    """
    quoted, named = delimiter == ",", not all(column.isdecimal() for column in columns)
    names = list(columns) if named else [f"f{int(column) - 1}" for column in columns or "123"]
    included = names if columns else None
    try:
        with open_table(path, watch) as stream:
            table = arrow_csv.read_csv(
                pa.PythonFile(stream, "r"),
                arrow_csv.ReadOptions(block_size=BLOCK_BYTES, autogenerate_column_names=not named),
                arrow_csv.ParseOptions(
                    delimiter=delimiter,
                    quote_char='"' if quoted else False,
                    double_quote=quoted,
                    newlines_in_values=quoted,
                ),
                arrow_csv.ConvertOptions(include_columns=included, column_types=dict.fromkeys(names, CELL)),
            )
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        _complain(path, delimiter, columns, _first_line(error))
    if not columns and table.num_columns != 3:
        _complain(path, delimiter, columns, "not three columns")
    arrays = [table[name] for name in names]
    lengths = [pc.max(pc.binary_length(c.dictionary)).as_py() for column in arrays for c in column.chunks]
    if any(map(_blank, arrays)) or max((length or 0 for length in lengths), default=0) > LONGEST_CELL:
        _complain(path, delimiter, columns, "a cell is empty or too long")
    return arrays


def read_parquet(path: Path, columns: tuple[str, ...]) -> list[pa.ChunkedArray]:
    """Subject, relation and object columns of a Parquet file; by default it has just these three.

    Raises:
        InputError: no Parquet file, no such column, or a row with an empty cell.
    """
    require_regular(path)
    try:
        names = pq.read_schema(path).names
        if not columns and len(names) != 3:
            raise InputError(f"{path} has the columns {', '.join(names)}; name three as --world.columns")
        chosen = [_column(path, names, column) for column in columns or "123"]
        table = pq.read_table(path, columns=chosen, read_dictionary=chosen)
        arrays = []
        for name in chosen:
            column = table[name]
            if not pa.types.is_dictionary(column.type):
                column = column.cast(pa.string()).dictionary_encode()
            arrays.append(column.cast(CELL))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InputError(f"{path}: not a Parquet file of labels ({_first_line(error):.200})") from None
    for name, column in zip(chosen, arrays, strict=True):
        if column.null_count or _blank(column):
            labels = column.cast(pa.string()).combine_chunks()
            empty = pc.or_kleene(pc.is_null(labels), pc.match_substring_regex(labels, BLANK))
            row = pc.index(empty, True).as_py()
            raise InputError(f"{path}, row {row + 1}: {name!r} is empty; expected {EXPECTED}")
    return arrays


def _blank(column: pa.ChunkedArray) -> bool:
    """Whether some label is nothing but white space."""
    return any(pc.any(pc.match_substring_regex(chunk.dictionary, BLANK)).as_py() for chunk in column.chunks)


def _column(path: Path, names: list[str], column: str) -> str:
    if column in names:
        return column
    if column.isdecimal() and 1 <= int(column) <= len(names):
        return names[int(column) - 1]
    raise InputError(f"{path} has no column {column!r}; its columns are {', '.join(names)}")


def _complain(path: Path, delimiter: str, columns: tuple[str, ...], why: str) -> NoReturn:
    """Read line by line to the first malformed one, and say what is wrong with it.

    Raises:
        InputError: always; with `why` where no line is malformed.
    """
    sign = "<tab>" if delimiter == "\t" else delimiter
    form, width, places = sign.join(("subject", "relation", "object")), 0, [0, 1, 2]
    with open_table(path, read_unwatched) as stream:
        for number, fields, line in _lines(stream, delimiter):
            where, shown = f"{path}, line {number}", f"{line[:200]!r:.120}"
            if any("\udc80" <= c <= "\udcff" for c in line):
                raise InputError(f"{where}: not UTF-8: {line[:200].encode(errors='surrogateescape')!r:.120}")
            if len(line) > LONGEST_CELL:
                raise InputError(f"{where}: longer than {LONGEST_CELL:,} characters: {shown}")
            if not width:
                width, places = len(fields) if columns else 3, _places(where, fields, columns)
            if len(fields) != width:
                expected = f"{width} fields" if columns else form
                hint = "; name the three as --world.columns" if not columns and len(fields) > 3 else ""
                raise InputError(f"{where}: expected {expected}, got {shown}{hint}")
            if not all(fields[place].strip() for place in places):
                raise InputError(f"{where}: expected {form}, none of them empty, got {shown}")
    if not width:
        raise InputError(f"{path}: the graph is empty; expected lines {form}")
    raise InputError(f"{path}: {why:.200}")


def _places(where: str, fields: list[str], columns: tuple[str, ...]) -> list[int]:
    """Where the columns are in every line, told by the first."""
    if not columns:
        return [0, 1, 2]
    if all(column.isdecimal() for column in columns):
        places = [int(column) - 1 for column in columns]
    else:
        places = [fields.index(column) if column in fields else len(fields) for column in columns]
    for column, place in zip(columns, places, strict=True):
        if not 0 <= place < len(fields):
            raise InputError(f"{where}: no column {column!r} among {', '.join(fields)!r:.200}")
    return places


def _lines(stream: IO[bytes], delimiter: str) -> Iterator[tuple[int, list[str], str]]:
    """Number, fields and text of every line that is not empty; what is not UTF-8 becomes surrogates."""
    newline = None if delimiter == "\t" else ""
    text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline=newline)
    if delimiter == "\t":
        for number, line in enumerate(text, start=1):
            if bare := line.removesuffix("\n"):
                yield number, bare.split(delimiter), bare
        return
    csv.field_size_limit(1 << 30)
    rows = csv.reader(text)
    for fields in rows:
        if fields:
            yield rows.line_num, fields, delimiter.join(fields)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
