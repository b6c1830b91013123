"""The facts of a table of labels, as its name tells: TSV, CSV, Parquet or N-Triples (design.md 2).

Columns are dictionary-encoded Arrow arrays, text files gzipped or not. Of N-Triples, facts whose object is a
literal are left out and counted.
"""

import csv
import gzip
import io
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.files import require_regular
from corpus.worlds.account import Account
from corpus.worlds.rawfiles import DAMAGED, LONGEST_NAME, Watch, read_unwatched
from corpus.worlds.selection import Facts

BLOCK_BYTES = 1 << 22
LONGEST_CELL = 1 << 20
MOST_ROWS = 25_000_000
"""Of a table; Wikidata5m has 21 million."""
CELL = pa.dictionary(pa.int32(), pa.string())
EXPECTED = "subject, relation and object"
# Python's white space, as classes of Arrow's regular expressions.
SPACES = r"\pZ\t-\r\x1c-\x1f\x{85}"
BLANK = rf"^[{SPACES}]*$"
WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
NTRIPLES_BLOCK_BYTES = 1 << 24
_IRI = r'<[^<>"{}|^`\x00-\x20]*>'
_NODE = rf"(?:{_IRI}|_:[^\s<>\"]+)"
_LITERAL = rf'"(?:[^"\\\x{{a}}\x{{d}}]|\\.)*"(?:@[A-Za-z0-9-]+|\^\^{_IRI})?'
_LINE = (
    rf"^[ \t]*(?P<s>{_NODE})[ \t]*(?P<p>{_IRI})[ \t]*(?:(?P<o>{_NODE})|(?P<literal>{_LITERAL}))"
    r"[ \t]*\.[ \t]*(?:#.*)?\r?$"
)
_PLAIN = rf"^{_NODE} {_IRI} {_NODE} \.\r?$"
_ESCAPED = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
DELIMITERS = {".csv": ","}
PARQUET = (".parquet", ".pq")
NTRIPLES = (".nt", ".ntriples")
# White space that is not one space between two words.
_UNTIDY = rf"^[{SPACES}]|[{SPACES}]$|[{SPACES}]{{2}}|[\t-\r\x1c-\x1f\x{{85}}]|[^\PZ ]"


class _WatchedStream(io.RawIOBase):
    """The bytes of a stream; tells how much of the file behind it was read for them."""

    def __init__(
        self, file: IO[bytes], stream: IO[bytes] | gzip.GzipFile, advance: Callable[..., None]
    ) -> None:
        self.file, self.stream, self.advance, self.seen, self.lines = file, stream, advance, 0, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self.stream.read(len(buffer))
        self.lines += chunk.count(b"\n")
        require_rows(self.file.name, self.lines)
        buffer[: len(chunk)] = chunk
        self.advance(self.file.tell() - self.seen)
        self.seen = self.file.tell()
        return len(chunk)


def require_rows(path: Path | str, rows: int) -> None:
    """Refuse a table that would take more memory than most machines have, however small its file is.

    Raises:
        InputError: it has more than MOST_ROWS.
    """
    if rows > MOST_ROWS:
        raise InputError(f"{path} has more than {MOST_ROWS:,} rows; write those that are wanted to a file")


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
            buffered = io.BufferedReader(_WatchedStream(file, stream, advance), BLOCK_BYTES)
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
        _refuse_table(path, delimiter, columns, _first_line(error))
    if not columns and table.num_columns != 3:
        _refuse_table(path, delimiter, columns, "not three columns")
    arrays = [table[name] for name in names]
    lengths = [pc.max(pc.binary_length(c.dictionary)).as_py() for column in arrays for c in column.chunks]
    if any(map(_has_blank, arrays)) or max((length or 0 for length in lengths), default=0) > LONGEST_CELL:
        _refuse_table(path, delimiter, columns, "a cell is empty or too long")
    return arrays


def read_parquet(path: Path, columns: tuple[str, ...]) -> list[pa.ChunkedArray]:
    """Subject, relation and object columns of a Parquet file; by default it has just these three.

    Raises:
        InputError: no Parquet file, no such column, or a row with an empty cell.
    """
    require_regular(path)
    try:
        names = pq.read_schema(path).names
        require_rows(path, pq.read_metadata(path).num_rows)
        if not columns and len(names) != 3:
            raise InputError(f"{path} has the columns {', '.join(names)}; name three as --world.columns")
        chosen = [_find_column(path, names, column) for column in columns or "123"]
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
        if column.null_count or _has_blank(column):
            labels = column.cast(pa.string()).combine_chunks()
            empty = pc.or_kleene(pc.is_null(labels), pc.match_substring_regex(labels, BLANK))
            row = pc.index(empty, True).as_py()
            raise InputError(f"{path}, row {row + 1}: {name!r} is empty; expected {EXPECTED}")
    return arrays


def _has_blank(column: pa.ChunkedArray) -> bool:
    """Whether some label is nothing but white space."""
    return any(pc.any(pc.match_substring_regex(chunk.dictionary, BLANK)).as_py() for chunk in column.chunks)


def _find_column(path: Path, names: list[str], column: str) -> str:
    if column in names:
        return column
    if column.isdecimal() and 1 <= int(column) <= len(names):
        return names[int(column) - 1]
    raise InputError(f"{path} has no column {column!r}; its columns are {', '.join(names)}")


def _refuse_table(path: Path, delimiter: str, columns: tuple[str, ...], why: str) -> NoReturn:
    """Read line by line to the first malformed one, and say what is wrong with it.

    Raises:
        InputError: always; with `why` where no line is malformed.
    """
    sign = "<tab>" if delimiter == "\t" else delimiter
    form, width, places = sign.join(("subject", "relation", "object")), 0, [0, 1, 2]
    with open_table(path, read_unwatched) as stream:
        for number, fields, line in _read_lines(stream, delimiter):
            where, excerpt = f"{path}, line {number}", f"{line[:200]!r:.120}"
            if any("\udc80" <= c <= "\udcff" for c in line):
                raise InputError(f"{where}: not UTF-8: {line[:200].encode(errors='surrogateescape')!r:.120}")
            if len(line) > LONGEST_CELL:
                raise InputError(f"{where}: longer than {LONGEST_CELL:,} characters: {excerpt}")
            if not width:
                width, places = len(fields) if columns else 3, _find_places(where, fields, columns)
            if len(fields) != width:
                expected = f"{width} fields" if columns else form
                hint = "; name the three as --world.columns" if not columns and len(fields) > 3 else ""
                raise InputError(f"{where}: expected {expected}, got {excerpt}{hint}")
            if not all(fields[place].strip() for place in places):
                raise InputError(f"{where}: expected {form}, none of them empty, got {excerpt}")
    if not width:
        raise InputError(f"{path}: the graph is empty; expected lines {form}")
    raise InputError(f"{path}: {why:.200}")


def _find_places(where: str, fields: list[str], columns: tuple[str, ...]) -> list[int]:
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


def _read_lines(stream: IO[bytes], delimiter: str) -> Iterator[tuple[int, list[str], str]]:
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


def read_ntriples(path: Path, watch: Watch) -> tuple[list[pa.ChunkedArray], int]:
    """Subjects, predicates and objects as they are written, and the number of facts about literals.

    Raises:
        InputError: a malformed line, with file, number and content.
    """
    parts: list[list[pa.Array]] = [[], [], []]
    literals, first, rest = 0, 1, b""
    with open_table(path, watch) as stream:
        while chunk := stream.read(NTRIPLES_BLOCK_BYTES):
            text, end, rest_of_chunk = (rest + chunk).rpartition(b"\n")
            rest = rest_of_chunk
            if end:
                literals += _take_facts(path, first, text, parts)
                first += text.count(b"\n") + 1
    literals += _take_facts(path, first, rest, parts)
    return [pa.chunked_array(part, CELL) for part in parts], literals


def short_name(iri: str) -> str:
    """What an IRI or blank node is called: its last part, with escapes undone."""
    last = re.split(r"[/#]", iri.removeprefix("<").removesuffix(">").rstrip("/#"))[-1]
    spelt = _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), last)
    return " ".join(unquote(spelt).replace("_", " ").split()) or iri


def _take_facts(path: Path, first: int, text: bytes, parts: list[list[pa.Array]]) -> int:
    """Add the facts of whole lines to `parts`; returns the number of literals."""
    try:
        lines = pa.array(text.removeprefix(b"\xef\xbb\xbf").split(b"\n"), pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        for number, line in enumerate(text.split(b"\n"), start=first):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path}, line {number}: not UTF-8 ({error.reason}): {line!r:.120}"
                ) from None
        raise
    # Taking a line apart by an expression is slow; lines of one space between IRIs need none.
    plain = pc.match_substring_regex(lines, _PLAIN)
    words = pc.split_pattern(lines.filter(plain), " ").flatten()
    other = np.flatnonzero(pc.invert(plain))
    facts = pc.extract_regex(lines.take(pa.array(other)), _LINE)
    if facts.null_count:
        no_facts = other[np.flatnonzero(pc.is_null(facts))]
        # Only blank lines and comments may be no facts.
        blank = pc.match_substring_regex(lines.take(pa.array(no_facts)), r"^[ \t\r]*(?:#.*)?$")
        at = pc.index(blank, False).as_py()
        if at >= 0:
            excerpt = f"{lines[no_facts[at]].as_py()[:LONGEST_NAME]!r:.120}"
            where = f"{path}, line {first + no_facts[at]}"
            raise InputError(f"{where}: expected <subject> <relation> <object> ., got {excerpt}")
    has_object = pc.fill_null(pc.not_equal(pc.struct_field(facts, "o"), ""), False)
    order = np.argsort(np.append(np.flatnonzero(plain), other[np.flatnonzero(has_object)]), kind="stable")
    for i, (part, name) in enumerate(zip(parts, "spo", strict=True)):
        both = [
            words.take(pa.array(np.arange(i, len(words), 4))),
            pc.struct_field(facts.filter(has_object), name),
        ]
        part.append(pa.concat_arrays(both).take(pa.array(order)).dictionary_encode())
    return len(facts) - facts.null_count - (pc.sum(has_object).as_py() or 0)


class TableLabels:
    """Labels by their place in a list.

    Args:
        strings: string[n], different from each other.
        mark: begins the keys.
        are_iris: whether they are N-Triples' <...>, of which the last part is shown.
    """

    def __init__(self, strings: pa.Array, mark: str, are_iris: bool) -> None:
        self.strings = strings
        self.mark = mark
        self.are_iris = are_iris

    def of(self, ids: np.ndarray) -> list[str]:
        """The label of each place."""
        labels = self.strings.take(pa.array(ids)).to_pylist()
        return [short_name(label) for label in labels] if self.are_iris else labels

    def keys(self, ids: np.ndarray) -> list[str]:
        """Places, counted from 1."""
        return [f"{self.mark}{i + 1}" for i in ids]

    def find(self, key: str) -> int | None:
        """The place of a label, or the only one of an IRI that is shown so."""
        at = pc.index(self.strings, " ".join(key.split())).as_py()
        if at >= 0 or not self.are_iris:
            return at if at >= 0 else None
        near = np.flatnonzero(pc.match_substring(self.strings, key.replace(" ", "_")))
        places = [int(i) for i in near if self.of(near[near == i])[0] == key]
        return places[0] if len(places) == 1 else None


def read_tables(config: WorldConfig, watch: Watch, account: Account) -> Facts:
    """All facts of a table, less those whose object is a literal or whose names are too long.

    Raises:
        InputError: a missing file, or a malformed line (with file, number and content).
    """
    path = Path(config.path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; --world.source wikidata reads folders in Wikidata5m's layout")
    kind = Path(path.name.removesuffix(".gz").lower()).suffix
    are_iris = kind in NTRIPLES
    if kind in PARQUET:
        columns = read_parquet(path, config.columns)
    elif are_iris:
        columns, literals = read_ntriples(path, watch)
        account.leave_out("facts whose object is a literal", literals, examples=())
    else:
        columns = read_delimited(path, DELIMITERS.get(kind, "\t"), config.columns, watch)
    if not len(columns[0]):
        raise InputError(f"{path}: the graph is empty; expected lines subject<tab>relation<tab>object")
    triples, entities, relations = _encode_columns(columns)
    short = [pc.binary_length(strings).to_numpy() <= LONGEST_NAME for strings in (entities, relations)]
    is_short = short[0][triples[:, 0]] & short[1][triples[:, 1]] & short[0][triples[:, 2]]
    long = (f"{entities[triples[i, 0]].as_py()!r:.80}" for i in np.flatnonzero(~is_short))
    account.leave_out(
        f"facts with a name of more than {LONGEST_NAME:,} bytes", len(is_short) - is_short.sum(), long
    )
    return Facts(
        triples if is_short.all() else triples[is_short],
        TableLabels(entities, "#", are_iris),
        TableLabels(relations, "#r", are_iris),
        str(path),
    )


def _encode_columns(columns: list[pa.ChunkedArray]) -> tuple[np.ndarray, pa.Array, pa.Array]:
    """int32[n, 3] of places in the different entities and relations, which are in order of appearance.

    Args:
        columns: dictionary<string> columns of subjects, relations and objects.
    """
    # Arrow unifies the dictionaries of blocks outside Python's lock.
    with ThreadPoolExecutor() as pool:
        codes, strings = zip(*pool.map(_unify_dictionary, columns), strict=True)
    entities, place = _tidy_labels(pa.concat_arrays([strings[0], strings[2]]))
    relations, relation_place = _tidy_labels(strings[1])
    triples = np.empty((len(codes[0]), 3), np.int32)
    triples[:, 0] = place[: len(strings[0])][codes[0]]
    triples[:, 1] = relation_place[codes[1]]
    triples[:, 2] = place[len(strings[0]) :][codes[2]]
    return triples, entities, relations


def _unify_dictionary(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    column = column.unify_dictionaries()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in column.chunks])
    return codes, column.chunk(0).dictionary


def _tidy_labels(strings: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Different labels with white space collapsed, and the place of each string among them."""
    untidy = pc.match_substring_regex(strings, _UNTIDY)
    if pc.any(untidy).as_py():
        tidy = [" ".join(label.split()) for label in strings.filter(untidy).to_pylist()]
        strings = pc.replace_with_mask(strings, untidy, pa.array(tidy, strings.type))
    encoded = strings.dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy()
