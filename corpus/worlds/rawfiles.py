"""Large text files as blocks of whole lines: plain, gzipped, or inside a tar.gz; memory is one block."""

import gzip
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from corpus.errors import InputError
from corpus.files import require_regular

BLOCK_BYTES = 1 << 24
LONGEST_LINE = 1 << 26
LONGEST_NAME = 1000
"""Bytes of the longest name that can stand in a sentence."""
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, tarfile.TarError)


class Source(NamedTuple):
    """A file, or a member of an archive."""

    path: Path
    member: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.member}" if self.member else str(self.path)


class Block(NamedTuple):
    """Consecutive whole lines.

    Attributes:
        first: number of the first line, counted from 1.
        text: the lines, each with its line end.
        cut: whether this is a last line without an end, which may be cut off.
    """

    first: int
    text: bytes
    cut: bool


class Watch(Protocol):
    """Shows progress: a context that yields `advance(steps)`."""

    def __call__(self, description: str, total: int) -> AbstractContextManager[Callable[..., None]]: ...


def read_unwatched(description: str, total: int) -> AbstractContextManager[Callable[..., None]]:  # noqa: ARG001
    """Progress that nobody sees."""
    return nullcontext(lambda *_: None)


def find_sources(folder: Path, *endings: str) -> list[Source]:
    """For each ending the one file of a folder whose name ends so, perhaps with .gz, or in a .tar.gz there.

    Raises:
        InputError: no such folder, none such file, more than one, or a damaged archive.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; --world.path should hold files in Wikidata5m's layout")
    plain = [[Source(p) for e in (end, f"{end}.gz") for p in sorted(folder.glob(f"*{e}"))] for end in endings]
    members = [] if all(plain) else list(_list_members(folder))
    sources = []
    for ending, loose in zip(endings, plain, strict=True):
        matching = loose or [m for m in members if m.member.endswith(ending)]
        if len(matching) != 1:
            raise InputError(
                f"{folder}: expected one file *{ending} (or .gz, or inside a .tar.gz), "
                f"found {[str(s) for s in matching]}"
            )
        sources += matching
    return sources


def read_blocks(source: Source, watch: Watch = read_unwatched) -> Iterator[Block]:
    """The lines of a source in blocks of about BLOCK_BYTES; UTF-8 is checked.

    Raises:
        InputError: a damaged or truncated archive, or text that is not UTF-8, with its line.
    """
    require_regular(source.path)
    with (
        _refuse_damage(source),
        source.path.open("rb") as raw,
        watch(source.path.name, source.path.stat().st_size) as advance,
    ):
        number, rest, seen = 1, b"", 0
        with _open_unpacked(source, raw) as stream:
            while chunk := stream.read(BLOCK_BYTES):
                advance(raw.tell() - seen)
                seen = raw.tell()
                text, end, rest_of_chunk = (rest + chunk).rpartition(b"\n")
                rest = rest_of_chunk
                if end:
                    yield _check_encoding(source, Block(number, text + end, cut=False))
                    number += text.count(b"\n") + 1
                if len(rest) > LONGEST_LINE:
                    raise InputError(f"{source}, line {number}: longer than {LONGEST_LINE:,} bytes")
        if rest:
            yield Block(number, rest, cut=True)


def read_table_text(path: Path, missing: str) -> str:
    """The text of a small table, without a mark of its byte order.

    Raises:
        InputError: there is no such file, of which `missing` says what should be there, or it is not UTF-8.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; {missing}")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: not UTF-8; save the table as UTF-8") from None


def split_lines(block: Block) -> Iterator[tuple[int, bytes]]:
    """Numbered lines of a block without their ends."""
    for i, line in enumerate(block.text.split(b"\n")[: None if block.cut else -1]):
        yield block.first + i, line.removesuffix(b"\r")


@contextmanager
def _refuse_damage(source: Source) -> Iterator[None]:
    try:
        yield
    except DAMAGED as error:
        raise InputError(f"{source.path} is damaged or cut off ({error}); download it again") from None


def _list_members(folder: Path) -> Iterator[Source]:
    """The files inside all archives of a folder, each read to its end, which checks it."""
    for path in sorted([*folder.glob("*.tar.gz"), *folder.glob("*.tgz")]):
        require_regular(path)
        with _refuse_damage(Source(path)), gzip.open(path) as unpacked:
            with tarfile.open(fileobj=unpacked, mode="r|") as archive:
                yield from [Source(path, m.name) for m in archive if m.isfile()]
            while unpacked.read(BLOCK_BYTES):
                pass


@contextmanager
def _open_unpacked(source: Source, raw: IO[bytes]) -> Iterator[IO[bytes] | gzip.GzipFile]:
    if source.member:
        with gzip.open(raw) as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as archive:
            member = next(m for m in archive if m.name == source.member and m.isfile())
            stream = archive.extractfile(member)
            assert stream is not None, "find() lists files only"
            yield stream
    elif source.path.suffix == ".gz":
        with gzip.open(raw) as unpacked:
            yield unpacked
    else:
        yield raw


def _check_encoding(source: Source, block: Block) -> Block:
    try:
        block.text.decode("utf-8")
    except UnicodeDecodeError as error:
        at = block.first + block.text.count(b"\n", 0, error.start)
        line = block.text[block.text.rfind(b"\n", 0, error.start) + 1 :].split(b"\n")[0]
        raise InputError(f"{source}, line {at}: not UTF-8 ({error.reason}): {line!r:.80}") from None
    return block
