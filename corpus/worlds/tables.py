"""The facts of a table of labels, as its content tells: delimited text, JSON lines, Parquet, RDF.

Columns are dictionary-encoded Arrow arrays, text files packed or not (design.md 2). Facts with an empty cell,
and of RDF those whose object is a literal, are left out and counted.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from shlex import quote
from statistics import mode
from typing import IO, Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.files import require_regular
from corpus.worlds.account import Account
from corpus.worlds.columns import FEW_ROWS, Table, find_facts, spread_rows
from corpus.worlds.json_rows import read_json
from corpus.worlds.lists import OF_LISTS, take_lists
from corpus.worlds.rawfiles import LONGEST_NAME, Watch, read_unwatched
from corpus.worlds.rdf import FORMATS, read_rdf, short_name
from corpus.worlds.selection import Facts
from corpus.worlds.unpacked import BLOCK_BYTES, CELL, open_table, require_rows

LONGEST_CELL = 1 << 20
LOOKED_AT = 1 << 16
"""Bytes by which the form of a file is told."""
# Python's white space, as classes of Arrow's regular expressions.
SPACES = r"\pZ\t-\r\x1c-\x1f\x{85}"
INVISIBLE = "\u200b\u200e\u200f\u2060\ufeff"
"""Characters without width that no name begins or ends with."""
# White space that is not one space between two words, and what is invisible.
_UNTIDY = (
    rf"^[{SPACES}]|[{SPACES}]$|[{SPACES}]{{2}}|[\t-\r\x1c-\x1f\x{{85}}]|[^\PZ ]|^[{INVISIBLE}]|[{INVISIBLE}]$"
)
NOTHING = ("NULL", "null", "NA", "N/A", "n/a", "NaN", "nan", "None", "none", r"\N", "-", "?", "unknown")
"""What often stands in a cell that has no name."""
DELIMITERS = "\t,;|"
PACKED = (".gz", ".xz", ".bz2", ".zst", ".lz4", ".zip")
ENDINGS = {
    ".nt": "N-Triples",
    ".ntriples": "N-Triples",
    ".nq": "N-Triples",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".jsonl": "JSON",
    ".ndjson": "JSON",
    ".ttl": "Turtle",
    ".trig": "Turtle",
    ".n3": "N3",
    ".rdf": "RDF/XML",
    ".owl": "RDF/XML",
}
"""The form of a file by its name, where that tells."""
_NODE = r"(?:<[^>\s]+>|_:\S+)"
STARTS = {
    "JSON": r"\s*(?:\{\s*\"|\[\s*[\"{\[])",
    "Turtle": rf"(?:\s|#.*\n)*(?:(?:@(?:prefix|base)|PREFIX|BASE)\s|{_NODE}\s+<[^>\s]+>\s.*[;,]\s*$)",
    "RDF/XML": r"\s*(?:<\?xml[^>]*>\s*)?<rdf:RDF\s",
    "N-Triples": rf"{_NODE}\s+<[^>\s]+>\s.*\.\s*$",
}
"""The form of a file by how its content begins."""


class Form(NamedTuple):
    """How lines of text are taken apart.

    Attributes:
        delimiter: between cells.
        quote: the character around cells; empty where there is none.
        escape: the character before a quote that is none; empty where quotes are doubled.
        first: the cells of the first line.
        is_short: whether the first line lacks the first of its cells, "" here, as where R names rows.
    """

    delimiter: str
    quote: str
    escape: str
    first: tuple[str, ...]
    is_short: bool


def find_form(path: Path, watch: Watch = read_unwatched) -> str | Form:
    """Parquet, JSON, a form of RDF, or how lines are taken apart.

    Raises:
        InputError: a damaged archive, a Parquet file in one, or UTF-16.
    """
    name = path.name.lower()
    while name.endswith(PACKED):
        name = name.rpartition(".")[0]
    kind = ENDINGS.get(Path(name).suffix)
    require_regular(path)
    with path.open("rb") as file:
        if file.read(4) == b"PAR1" or (kind == "Parquet" and path.suffix not in PACKED):
            return "Parquet"
    with open_table(path, watch) as stream:
        start = stream.read(LOOKED_AT)
    if start.startswith(b"PAR1"):
        raise InputError(f"{path} is a packed Parquet file; unpack it")
    if kind:
        return kind
    text = start.decode("utf-8-sig", errors="replace")
    for kind, begins in STARTS.items():
        if re.match(begins, text.lstrip(), re.MULTILINE):
            return kind
    return _find_delimiter(
        [line for line in re.split(r"[\r\n]+", text) if line][:20], Path(name).suffix == ".csv"
    )


def _find_delimiter(lines: list[str], is_csv: bool) -> Form:
    """The usual delimiter if the first line has it twice; else one that takes all lines apart alike."""
    usual = "," if is_csv else "\t"
    for delimiter in (usual, *DELIMITERS):
        rows = list(csv.reader(lines, delimiter=delimiter))
        widths = {len(row) for row in rows} if delimiter != usual else {len(rows[0])} if rows else set()
        if len(widths) == 1 and min(widths) >= 3:
            break
    else:
        delimiter = usual
    quote = _find_quote([line.split(delimiter) for line in lines[1:] or lines]) or '"' * (delimiter != "\t")
    escaped = quote and any(re.search(rf"\\{quote}(?!{re.escape(delimiter)}|$)", line) for line in lines)
    form = Form(delimiter, quote, "\\" if escaped else "", (), False)
    rows = [*csv.reader(lines, **_dialect_of(form))]
    first = rows[0] if rows else []
    is_short = len(rows) >= FEW_ROWS and {len(row) for row in rows[1:]} == {len(first) + 1}
    return form._replace(first=tuple([""] * is_short + first), is_short=is_short)


def _find_quote(rows: list[list[str]]) -> str:
    """The character around all cells of some column; empty if there is none."""
    columns = zip(*rows, strict=False)
    return next(
        (q for column in columns for q in "\"'" if all(re.fullmatch(f"{q}.+{q}", c) for c in column)), ""
    )


def _dialect_of(form: Form) -> dict[str, Any]:
    """The same to `csv.reader`."""
    return {
        "delimiter": form.delimiter,
        "quoting": csv.QUOTE_MINIMAL if form.quote else csv.QUOTE_NONE,
        "quotechar": form.quote or None,
        "escapechar": form.escape or None,
        "doublequote": not form.escape,
    }


def read_delimited(path: Path, form: Form, columns: tuple[str, ...], watch: Watch) -> Table:
    """The columns of a text file, or three of them.

    Args:
        columns: positions from 1, or names in the first line.

    Raises:
        InputError: a malformed line, with file, number and content.
    """
    named = not all(column.isdecimal() for column in columns)
    places = columns or range(1, len(form.first) + 1)
    names = list(columns) if named else [f"f{int(place) - 1}" for place in places]
    header = form.first if named else [f"f{i}" for i in range(len(form.first))]
    try:
        with open_table(path, watch) as stream:
            table = arrow_csv.read_csv(
                pa.PythonFile(stream, "r"),
                arrow_csv.ReadOptions(
                    block_size=BLOCK_BYTES,
                    column_names=header if form.is_short else None,
                    autogenerate_column_names=not named and not form.is_short,
                    skip_rows=form.is_short,
                ),
                arrow_csv.ParseOptions(
                    delimiter=form.delimiter,
                    quote_char=form.quote or False,
                    double_quote=not form.escape,
                    escape_char=form.escape or False,
                    newlines_in_values=bool(form.quote),
                ),
                arrow_csv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, CELL)),
            )
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        _refuse_table(path, form, columns, _first_line(error))
    arrays = [table[name] for name in names]
    lengths = [pc.max(pc.binary_length(c.dictionary)).as_py() for column in arrays for c in column.chunks]
    if max((length or 0 for length in lengths), default=0) > LONGEST_CELL:
        _refuse_table(path, form, columns, "a cell is too long")
    if (
        form.delimiter == "|"
        and len(arrays[0]) > 1
        and all(re.fullmatch(r"[\s:-]*", column[1].as_py() or "") for column in arrays)
    ):
        # The rule below the header of a table in Markdown.
        arrays = [pa.chunked_array([*c.slice(0, 1).chunks, *c.slice(2).chunks]) for c in arrays]
    return Table(arrays, form.first if form.is_short else ())


def read_parquet(path: Path, columns: tuple[str, ...]) -> Table:
    """The columns of a Parquet file, or three of them.

    Raises:
        InputError: no Parquet file, or no such column.
    """
    try:
        names = pq.read_schema(path).names
        require_rows(path, pq.read_metadata(path).num_rows)
        chosen = [_find_column(path, names, column) for column in columns] or names
        return _as_labels(pq.read_table(path, columns=chosen, read_dictionary=chosen), chosen)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InputError(f"{path}: not a Parquet file of labels ({_first_line(error):.200})") from None


def _as_labels(table: pa.Table, names: list[str]) -> Table:
    """Some columns as labels, of lists with `OF_LISTS` between them; no value is an empty label."""
    columns = []
    for name in names:
        column = table[name]
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            column = pc.binary_join(column.cast(pa.list_(pa.string())), OF_LISTS)
        if not pa.types.is_dictionary(column.type) or column.null_count:
            column = pc.fill_null(column.cast(pa.string()), "").dictionary_encode()
        columns.append(column.cast(CELL))
    return Table(columns, names)


def _find_column(path: Path, names: list[str], column: str) -> str:
    if column in names:
        return column
    if column.isdecimal() and 1 <= int(column) <= len(names):
        return names[int(column) - 1]
    raise InputError(f"{path} has no column {column!r}; its columns are {', '.join(names)}")


def _refuse_table(path: Path, form: Form, columns: tuple[str, ...], why: str) -> NoReturn:
    """Read line by line to the first malformed one, and say what is wrong with it.

    Raises:
        InputError: always; with `why` where no line is malformed.
    """
    sign = "<tab>" if form.delimiter == "\t" else form.delimiter
    expected, width = sign.join(("subject", "relation", "object")), 0
    with open_table(path, read_unwatched) as stream:
        lines = _read_lines(stream, form)
        start = [*islice(lines, 2 * FEW_ROWS)]
        usual = max(3, mode(len(fields) for _, fields, _ in start)) if len(start) >= FEW_ROWS else 3
        for number, fields, line in chain(start, lines):
            where, excerpt = f"{path}, line {number}", f"{line[:200]!r:.120}"
            if any("\udc80" <= c <= "\udcff" for c in line):
                raise InputError(f"{where}: not UTF-8: {line[:200].encode(errors='surrogateescape')!r:.120}")
            if len(line) > LONGEST_CELL:
                raise InputError(f"{where}: longer than {LONGEST_CELL:,} characters: {excerpt}")
            if not width:
                width = len(fields) if columns else usual
                _check_columns(where, fields, columns)
            if len(fields) != width:
                expected = f"{width} fields" if columns or width > 3 else expected
                raise InputError(f"{where}: expected {expected}, got {excerpt}")
    if not width:
        raise InputError(f"{path}: the graph is empty; expected lines {expected}")
    raise InputError(f"{path}: {why:.200}")


def _check_columns(where: str, fields: list[str], columns: tuple[str, ...]) -> None:
    """Refuse columns that the first line has not."""
    by_place = all(column.isdecimal() for column in columns)
    for column in columns:
        if not (1 <= int(column) <= len(fields) if by_place else column in fields):
            raise InputError(f"{where}: no column {column!r} among {', '.join(fields)!r:.200}")


def _read_lines(stream: IO[bytes], form: Form) -> Iterator[tuple[int, list[str], str]]:
    """Number where it begins, cells and text of every line that is not empty; no UTF-8 becomes surrogates."""
    newline = "" if form.quote else None
    text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline=newline)
    csv.field_size_limit(1 << 30)
    rows, number = csv.reader(text, **_dialect_of(form)), 1
    for cells in rows:
        if cells:
            yield number, cells, form.delimiter.join(cells)
        number = rows.line_num + 1


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


class TableLabels:
    """Labels by their place in a list.

    Args:
        strings: string[n], different from each other.
        mark: begins the keys.
        are_iris: whether they are RDF's <...>, of which the last part is shown.
        labels: what some of them are called instead.
    """

    def __init__(self, strings: pa.Array, mark: str, are_iris: bool, labels: Mapping[str, str]) -> None:
        self.strings = strings
        self.mark = mark
        self.are_iris = are_iris
        self.labels = labels

    def of(self, ids: np.ndarray) -> list[str]:
        """The label of each place."""
        shown = short_name if self.are_iris else str
        return [self.labels.get(name) or shown(name) for name in self.strings.take(pa.array(ids)).to_pylist()]

    def keys(self, ids: np.ndarray) -> list[str]:
        """Places, counted from 1."""
        return [f"{self.mark}{i + 1}" for i in ids]

    def find(self, key: str) -> int | None:
        """The place of an id, or the only one that is shown so."""
        at = pc.index(self.strings, " ".join(key.split())).as_py()
        if at >= 0 or not (self.are_iris or self.labels):
            return at if at >= 0 else None
        shown = self.of(np.arange(len(self.strings)))
        return shown.index(key) if shown.count(key) == 1 else None


def read_tables(config: WorldConfig, watch: Watch, note: Callable[[str], None], account: Account) -> Facts:
    """All facts of a table, less those that have an empty cell, a literal, or a name that is too long.

    Args:
        note: is told what is read otherwise than it stands.

    Raises:
        InputError: a missing file, a malformed line (with file, number and content), or columns of which
            nothing says what they are.
    """
    path = Path(config.path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; --world.source wikidata reads folders in Wikidata5m's layout")
    form, literals = find_form(path), 0
    is_rdf = form in FORMATS
    for option in ("columns", "split"):
        if is_rdf and getattr(config, option):
            raise InputError(f"{path} is {form}: --world.{option} does nothing there, so leave it out")
    if is_rdf:
        columns, literals = read_rdf(path, str(form), watch)
        account.leave_out("facts whose object is a literal", literals, examples=())
    else:
        columns = _read_columns(path, form, config.columns, watch, note)
    if not len(columns[0]):
        why = (
            f"the objects of all {literals:,} facts are literals, in quotes, and only those that have names "
        )
        why = (
            why + "of their own (<...>) are taken" if literals else "expected lines subject, relation, object"
        )
        raise InputError(f"{path}: the graph is empty; {why}")
    triples, entities, relations = _encode_columns(columns)
    if not is_rdf:
        triples, entities = take_lists(
            triples, entities, relations, form in ("JSON", "Parquet"), config, note
        )
    triples = _drop_blank(triples, entities, relations, account)
    if doubtful := [name for name in NOTHING if pc.index(entities, name).as_py() >= 0]:
        note(
            f"{path}: {', '.join(map(repr, doubtful))} are read as names; if they say that there is nothing, "
            f"--world.drop-entities {' '.join(map(quote, doubtful))} leaves these facts out"
        )
    short = [pc.binary_length(strings).to_numpy() <= LONGEST_NAME for strings in (entities, relations)]
    is_short = short[0][triples[:, 0]] & short[1][triples[:, 1]] & short[0][triples[:, 2]]
    long = (f"{entities[triples[i, 0]].as_py()!r:.80}" for i in np.flatnonzero(~is_short))
    account.leave_out(
        f"facts with a name of more than {LONGEST_NAME:,} bytes", len(is_short) - is_short.sum(), long
    )
    labels: dict[str, str] = {}
    if config.labels:
        strings = pa.concat_arrays([entities, relations])
        labels = read_labels(Path(config.labels).expanduser(), strings, is_rdf, watch)
        note(f"{len(labels):,} of {len(strings):,} ids have a label in {config.labels}; others stay ids")
    return Facts(
        triples if is_short.all() else triples[is_short],
        TableLabels(entities, "#", is_rdf, labels),
        TableLabels(relations, "#r", is_rdf, labels),
        str(path),
    )


def read_labels(path: Path, ids: pa.Array, are_iris: bool, watch: Watch) -> dict[str, str]:
    """The labels of some ids, from the first two columns of a table; the first label of an id counts.

    Args:
        are_iris: the ids are <...>; in the table they may stand without brackets.

    Raises:
        InputError: no such file, a malformed line, or not a label of any of these ids.
    """
    form = find_form(path, watch)
    if form in FORMATS:
        raise InputError(f"{path} is {form}; --world.labels is a table of two columns, id and label")
    columns = _read_table(path, form, ("1", "2"), watch).columns
    keys, names = (column.cast(pa.string()) for column in columns)
    if are_iris:
        keys = pc.if_else(pc.starts_with(keys, "<"), keys, pc.binary_join_element_wise("<", keys, ">", ""))
    wanted = pc.and_(pc.is_in(keys, ids), pc.less_equal(pc.binary_length(names), LONGEST_NAME))
    pairs = zip(keys.filter(wanted).to_pylist(), names.filter(wanted).to_pylist(), strict=True)
    labels = {key: tidy for key, name in reversed([*pairs]) if (tidy := " ".join(name.split()))}
    if not labels:
        one, other = keys[0].as_py(), ids[0].as_py()
        raise InputError(f"{path} has a label of none of the ids, such as {one!r:.80} beside {other!r:.80}")
    return labels


def _read_columns(
    path: Path, form: str | Form, columns: tuple[str, ...], watch: Watch, note: Callable[[str], None]
) -> list[pa.ChunkedArray]:
    """Subjects, relations and objects of a table."""
    if not columns and isinstance(form, Form) and len(form.first) < 3:
        _refuse_table(path, form, columns, "fewer than three columns")
    if isinstance(form, Form) and form.is_short:
        note(
            f"{path}: its first line has one cell fewer than the others, so it is read as naming the second "
            "column and those behind it"
        )
    table = _read_table(path, form, columns if len(columns) == 3 else (), watch)
    if len(columns) == 1:
        return spread_rows(table, table.first.index(_find_column(path, table.first, columns[0])), path)
    return table.columns if columns else find_facts(table, path, note)


def _read_table(path: Path, form: str | Form, columns: tuple[str, ...], watch: Watch) -> Table:
    """All columns of a table that is no RDF, or some of them."""
    if form == "Parquet":
        return read_parquet(path, columns)
    if form == "JSON":
        table = read_json(path, watch)
        names = [*table.names] or [str(place + 1) for place in range(len(table.columns))]
        places = [names.index(_find_column(path, names, column)) for column in columns] or range(len(names))
        return Table([table.columns[i] for i in places], [names[i] for i in places] if table.names else ())
    assert isinstance(form, Form), "RDF is read elsewhere"
    return read_delimited(path, form, columns, watch)


def _drop_blank(triples: np.ndarray, entities: pa.Array, relations: pa.Array, account: Account) -> np.ndarray:
    """The triples without those of which a cell is empty."""
    nameless, unrelated = (pc.index(strings, "").as_py() for strings in (entities, relations))
    blank = (triples[:, 1] == unrelated) | (triples[:, [0, 2]] == nameless).any(axis=1)
    rows = (f"row {i + 1}" for i in np.flatnonzero(blank))
    account.leave_out("facts with an empty cell", blank.sum(), rows)
    return triples[~blank] if blank.any() else triples


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
        labels = strings.filter(untidy).to_pylist()
        tidy = [" ".join(label.split()).strip(INVISIBLE + " ") for label in labels]
        strings = pc.replace_with_mask(strings, untidy, pa.array(tidy, strings.type))
    encoded = strings.dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy()
