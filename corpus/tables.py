"""The facts of a table of labels: TSV, CSV, Parquet or N-Triples, which its name tells (design.md 2)."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus.account import Account
from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.ntriples import read_ntriples, short_name
from corpus.rawfiles import LONGEST_NAME, Watch
from corpus.selection import Facts
from corpus.table_files import SPACES, read_delimited, read_parquet

DELIMITERS = {".csv": ","}
PARQUET = (".parquet", ".pq")
NTRIPLES = (".nt", ".ntriples")
# White space that is not one space between two words.
_UNTIDY = rf"^[{SPACES}]|[{SPACES}]$|[{SPACES}]{{2}}|[\t-\r\x1c-\x1f\x{{85}}]|[^\PZ ]"


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
    triples, entities, relations = _coded(columns)
    short = [pc.binary_length(strings).to_numpy() <= LONGEST_NAME for strings in (entities, relations)]
    kept = short[0][triples[:, 0]] & short[1][triples[:, 1]] & short[0][triples[:, 2]]
    long = (f"{entities[triples[i, 0]].as_py()!r:.80}" for i in np.flatnonzero(~kept))
    account.leave_out(f"facts with a name of more than {LONGEST_NAME:,} bytes", len(kept) - kept.sum(), long)
    return Facts(
        triples if kept.all() else triples[kept],
        TableLabels(entities, "#", are_iris),
        TableLabels(relations, "#r", are_iris),
        str(path),
    )


def _coded(columns: list[pa.ChunkedArray]) -> tuple[np.ndarray, pa.Array, pa.Array]:
    """int32[n, 3] of places in the different entities and relations, which are in order of appearance.

    Args:
        columns: dictionary<string> columns of subjects, relations and objects.
    """
    # Arrow unifies the dictionaries of blocks outside Python's lock.
    with ThreadPoolExecutor() as pool:
        codes, strings = zip(*pool.map(_dictionary, columns), strict=True)
    entities, place = _tidied(pa.concat_arrays([strings[0], strings[2]]))
    relations, relation_place = _tidied(strings[1])
    triples = np.empty((len(codes[0]), 3), np.int32)
    triples[:, 0] = place[: len(strings[0])][codes[0]]
    triples[:, 1] = relation_place[codes[1]]
    triples[:, 2] = place[len(strings[0]) :][codes[2]]
    return triples, entities, relations


def _dictionary(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    column = column.unify_dictionaries()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in column.chunks])
    return codes, column.chunk(0).dictionary


def _tidied(strings: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Different labels with white space collapsed, and the place of each string among them."""
    untidy = pc.match_substring_regex(strings, _UNTIDY)
    if pc.any(untidy).as_py():
        tidy = [" ".join(label.split()) for label in strings.filter(untidy).to_pylist()]
        strings = pc.replace_with_mask(strings, untidy, pa.array(tidy, strings.type))
    encoded = strings.dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy()
