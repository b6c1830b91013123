"""The facts of a folder in Wikidata5m's layout, whose ids all have names (Hase A.1, design.md 2).

    *_all_triplet.txt   Q<TAB>P<TAB>Q
    *_entity.txt        Q<TAB>name<TAB>alias ...
    *_relation.txt      P<TAB>name<TAB>alias ...
    *_text.txt          Q<TAB>description (only for --world.names described)

UTF-8, no header. Each may be gzipped or inside a .tar.gz; a binary copy is made so that they are read once. A
last line without a line end may be cut off ("Q12" of "Q1234"), so it is left out, and a note says so.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from corpus.arrays import load_arrays, save_arrays
from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.files import (
    hash_content,
    hash_file,
    read_json,
    require_unchanged,
    staged_folder,
    verify_folder,
    write_json,
)
from corpus.worlds.account import Account
from corpus.worlds.rawfiles import (
    LONGEST_NAME,
    Block,
    Source,
    Watch,
    find_sources,
    read_blocks,
    read_unwatched,
    split_lines,
)
from corpus.worlds.selection import Facts

FORMAT = 1
_NUMBER = rb"[1-9]\d{0,8}"
_TRIPLE = re.compile(rb"Q%b\tP%b\tQ%b" % (_NUMBER, _NUMBER, _NUMBER))
_TRIPLES = re.compile(rb"(?:(?:%b)?\r?\n)*+" % _TRIPLE.pattern)
_LETTERS = {"entity": b"Q", "relation": b"P"}
_DESCRIPTION = re.compile(rb"^Q(%b)\t([^\t\n]{0,200})" % _NUMBER, re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Names:
    """The first name of every id that has one.

    Attributes:
        ids: int32[n], the numbers behind Q or P, ascending.
        text, offsets: UTF-8 bytes; the name of ids[i] is text[offsets[i] : offsets[i + 1]].
    """

    ids: np.ndarray
    text: np.ndarray
    offsets: np.ndarray

    def of(self, ids: np.ndarray) -> list[str]:
        """Names of ids that have one."""
        at = np.searchsorted(self.ids, ids)
        return [
            self.text[low:high].tobytes().decode("utf-8")
            for low, high in zip(self.offsets[at], self.offsets[at + 1], strict=True)
        ]


@dataclass(frozen=True, eq=False)
class RawGraph:
    """Triples int32[n, 3] of numbers as in the file, the names, and notes for the reader."""

    triples: np.ndarray
    entities: Names
    relations: Names
    notes: tuple[str, ...]


def read_folder(folder: Path, cache: Path | None = None, watch: Watch = read_unwatched) -> RawGraph:
    """Read the files, or the binary copy made of the same bytes.

    Args:
        cache: folder for binary copies, keyed by the checksums of the files; None to make none.

    Raises:
        InputError: a missing or damaged file, or a malformed line (with file, number and content).
    """
    files = find_sources(folder, "_all_triplet.txt", "_entity.txt", "_relation.txt")
    sources = dict(zip(("triples", "entities", "relations"), files, strict=True))
    if cache is None:
        return _read_sources(sources, watch)
    paths = {source.path for source in files}
    with require_unchanged(*paths):
        sums = {path: hash_file(path) for path in paths}
        origin = {"format": FORMAT} | {
            what: f"{source.member} {sums[source.path]}" for what, source in sources.items()
        }
        copy = cache / f"wikidata-{hash_content(origin)}"
        if copy.exists():
            verify_folder(copy)
            return _load_copy(copy)
        raw = _read_sources(sources, watch)
    # Two commands may read the same files at once; the first copy to be whole is kept.
    mine = copy.with_name(f"{copy.name}-{os.getpid()}")
    with staged_folder(mine) as aside:
        _save_copy(raw, origin, aside)
    try:
        mine.rename(copy)
    except OSError:
        shutil.rmtree(mine)
        if not copy.exists():
            raise
    return raw


def read_triples(source: Source, watch: Watch = read_unwatched) -> tuple[np.ndarray, list[str]]:
    """int32[n, 3] in the order of the file, and notes.

    Raises:
        InputError: a line that is not Q<tab>P<tab>Q.
    """
    parts, notes = [np.empty(0, np.int32)], []
    for block in read_blocks(source, watch):
        if block.cut:
            notes.append(_note_cut_line(source, block))
        elif not _TRIPLES.fullmatch(block.text):
            raise _find_malformed(source, block, _TRIPLE, "Q<tab>P<tab>Q")
        elif block.text.strip():
            digits = block.text.translate(None, b"QP\r")
            parts.append(np.fromstring(digits, dtype=np.int64, sep=" ").astype(np.int32))
    return np.concatenate(parts).reshape(-1, 3), notes


def read_names(source: Source, what: str, watch: Watch = read_unwatched) -> tuple[Names, list[str]]:
    """The first name of every id in a names file, and notes; ids without a name are left out.

    Raises:
        InputError: a line whose id is not of the expected form.
    """
    letter = _LETTERS[what]
    start = re.compile(letter + rb"%b(?:\t[^\n]*)?" % _NUMBER)
    every = re.compile(rb"(?:(?:%b)?\r?\n)*+" % start.pattern)
    first_name = re.compile(rb"^%b(%b)\t([^\t\n]*)" % (letter, _NUMBER), re.MULTILINE)
    ids: list[int] = []
    names: list[bytes] = []
    notes = []
    for block in read_blocks(source, watch):
        if block.cut:
            notes.append(_note_cut_line(source, block))
            continue
        if not every.fullmatch(block.text):
            raise _find_malformed(source, block, start, f"an {what} id and its names")
        for key, name in first_name.findall(block.text):
            if stripped := name.decode("utf-8").strip():
                ids.append(int(key))
                names.append(stripped.encode("utf-8"))
    # The first line of an id counts.
    unique, first = np.unique(np.array(ids, np.int32), return_index=True)
    unique_names = [names[i] for i in first]
    offsets = np.concatenate([[0], np.cumsum([len(name) for name in unique_names], dtype=np.int64)])
    return Names(unique, np.frombuffer(b"".join(unique_names), np.uint8), offsets.astype(np.int64)), notes


def read_described_names(
    folder: Path, first_names: dict[int, str], watch: Watch = read_unwatched
) -> list[str]:
    """The name of each of some entities under which its description speaks of it.

    In Wikidata5m the first name is some alias. Descriptions begin with the usual one, so that is the
    longest of an entity's names with which its description begins; the first name where none does.

    Args:
        first_names: the first name of each entity.

    Raises:
        InputError: a missing or damaged file.
    """
    begins: dict[int, str] = {}
    described, named = find_sources(folder, "_text.txt", "_entity.txt")
    for block in read_blocks(described, watch):
        for key, text in _DESCRIPTION.findall(block.text):
            if int(key) in first_names:
                begins[int(key)] = text.decode("utf-8", errors="ignore")
    names = dict(first_names)
    longest = dict.fromkeys(names, 0)
    for key, aliases in _read_all_names(named, b"Q", begins.keys(), watch):
        for name in aliases:
            if len(name) > longest[key] and begins[key].startswith(name):
                names[key], longest[key] = name, len(name)
    return list(names.values())


def read_relation_names(
    folder: Path, relations: Iterable[int], watch: Watch = read_unwatched
) -> dict[int, list[str]]:
    """All names of some relations.

    Raises:
        InputError: a missing or damaged file.
    """
    by_relation: dict[int, list[str]] = {}
    (source,) = find_sources(folder, "_relation.txt")
    for key, names in _read_all_names(source, b"P", relations, watch):
        by_relation.setdefault(key, names)
    return by_relation


def _read_all_names(
    source: Source, letter: bytes, ids: Iterable[int], watch: Watch
) -> Iterator[tuple[int, list[str]]]:
    sought = {b"%b%d" % (letter, key) for key in ids}
    for block in read_blocks(source, watch):
        for _, line in split_lines(block):
            key, *names = line.split(b"\t")
            if key in sought and not block.cut:
                yield int(key[1:]), [stripped for n in names if (stripped := n.decode("utf-8").strip())]


def _read_sources(sources: dict[str, Source], watch: Watch) -> RawGraph:
    triples, cut_triples = read_triples(sources["triples"], watch)
    entities, cut_entities = read_names(sources["entities"], "entity", watch)
    relations, cut_relations = read_names(sources["relations"], "relation", watch)
    return RawGraph(triples, entities, relations, (*cut_triples, *cut_entities, *cut_relations))


def _save_copy(raw: RawGraph, origin: dict, folder: Path) -> None:
    np.save(folder / "triples.npy", raw.triples, allow_pickle=False)
    for what, names in (("entities", raw.entities), ("relations", raw.relations)):
        save_arrays(names, folder / f"{what}.npz")
    write_json(folder / "origin.json", origin | {"notes": list(raw.notes)})


def _load_copy(folder: Path) -> RawGraph:
    entities, relations = (load_arrays(Names, folder / f"{what}.npz") for what in ("entities", "relations"))
    triples = np.load(folder / "triples.npy", mmap_mode="r", allow_pickle=False)
    notes = read_json(folder / "origin.json")["notes"]
    return RawGraph(triples, entities, relations, tuple(notes))


def _find_malformed(source: Source, block: Block, line_form: re.Pattern[bytes], expected: str) -> InputError:
    """The complaint about the first line of a block that has not the form of a line."""
    number, line = next((n, x) for n, x in split_lines(block) if x and not line_form.fullmatch(x))
    return InputError(f"{source}, line {number}: expected {expected}, got {line.decode('utf-8')!r:.120}")


def _note_cut_line(source: Source, block: Block) -> str:
    excerpt = block.text.decode("utf-8", errors="replace")
    return f"{source}: the last line has no line end and may be cut off; it is left out: {excerpt!r:.80}"


class NumberedLabels:
    """Labels of ids such as Q42, kept as the numbers behind their letter.

    Args:
        letter: Q or P.
        of: the label of each id.
        known: int32, the ids that have a label, ascending.
    """

    def __init__(self, letter: str, of: Callable[[np.ndarray], list[str]], known: np.ndarray) -> None:
        self.letter = letter
        self.of = of
        self.known = known

    def keys(self, ids: np.ndarray) -> list[str]:
        """Ids as Wikidata writes them."""
        return [f"{self.letter}{i}" for i in ids]

    def find(self, key: str) -> int | None:
        """The number of an id that has a label."""
        if key[:1] != self.letter or not key[1:].isdecimal():
            return None
        number = int(key[1:])
        return number if np.isin(number, self.known) else None


def read_wikidata(
    config: WorldConfig, cache: Path | None, watch: Watch, note: Callable[[str], None], account: Account
) -> Facts:
    """The first `config.max_lines` facts of a folder, less those with an id that has no name.

    Args:
        cache: folder for a binary copy of the files.
        watch, note: show progress, and remarks about the files.

    Raises:
        InputError: a missing file, a malformed line (with file, number and content), or an option that
            names no id.
    """
    folder = Path(config.path)
    for option, keys, letter in (
        ("--world.drop-relations", config.drop_relations, "P"),
        ("--world.drop-entities", config.drop_entities, "Q"),
    ):
        for key in keys:
            if key[:1] != letter or not key[1:].isdecimal():
                raise InputError(f"{option}: {key!r} is not an id such as {letter}131")
    raw = read_folder(folder, cache, watch)
    for remark in raw.notes:
        note(remark)
    triples = raw.triples[: config.max_lines]
    account.leave_out("facts beyond --world.max-lines", len(raw.triples) - len(triples))
    entities, relations = _find_sensible(raw.entities), _find_sensible(raw.relations)
    named = (
        np.isin(triples[:, 0], entities)
        & np.isin(triples[:, 1], relations)
        & np.isin(triples[:, 2], entities)
    )
    nameless = (
        " ".join(f"{letter}{i}" for letter, i in zip("QPQ", triples[row], strict=True))
        for row in np.flatnonzero(~named)
    )
    account.leave_out("facts with an id that has no name", len(named) - named.sum(), nameless)
    if not named.any():
        raise InputError(f"{folder}: no triple has names for its subject, relation and object")
    of = raw.entities.of if config.names == "first" else partial(_describe_names, folder, raw.entities, watch)
    return Facts(
        triples[named],
        NumberedLabels("Q", of, entities),
        NumberedLabels("P", raw.relations.of, relations),
        str(folder),
    )


def _find_sensible(names: Names) -> np.ndarray:
    """Ids whose name can stand in a sentence."""
    return names.ids[np.diff(names.offsets) <= LONGEST_NAME]


def _describe_names(folder: Path, names: Names, watch: Watch, ids: np.ndarray) -> list[str]:
    return read_described_names(folder, dict(zip(ids.tolist(), names.of(ids), strict=True)), watch)
