"""The bytes of a table, however it is packed."""

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from corpus.errors import InputError
from corpus.files import require_regular
from corpus.worlds.rawfiles import DAMAGED, LONGEST_LINE, Watch

BLOCK_BYTES = 1 << 22
MOST_ROWS = 25_000_000
"""Of a table; Wikidata5m has 21 million."""
CELL = pa.dictionary(pa.int32(), pa.string())
"""The type of a column."""
WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ": lzma.open,
    b"BZh": bz2.open,
    b"\x28\xb5\x2f\xfd": partial(pa.CompressedInputStream, compression="zstd"),
    b"\x04\x22\x4d\x18": partial(pa.CompressedInputStream, compression="lz4"),
}
"""What opens a packed file, by its first bytes."""
CLOSED = (*OPENERS, b"PK\x03\x04", b"PK\x05\x06", b"7z\xbc\xaf", b"Rar!")
"""How what is still packed begins, or packed in a way that nothing here opens."""


class _WatchedStream(io.RawIOBase):
    """The bytes of a stream; tells how much of the file behind it was read for them."""

    def __init__(self, file: IO[bytes], stream: Any, advance: Callable[..., None]) -> None:
        self.file, self.stream, self.advance = file, stream, advance
        self.seen, self.lines, self.line = 0, 0, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self.stream.read(len(buffer))
        self.lines += chunk.count(b"\n")
        require_rows(self.file.name, self.lines)
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
        self.line = len(chunk) - 1 - end if end >= 0 else self.line + len(chunk)
        if self.line > LONGEST_LINE:
            where = f"{self.file.name}, line {self.lines + 1}"
            raise InputError(f"{where}: longer than {LONGEST_LINE:,} bytes; is it a table?")
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
def open_table(path: Path, watch: Watch) -> "Iterator[io.BufferedReader[Any]]":
    """The bytes of a text file, unpacked if it is packed (gzip, xz, bzip2, zstd, lz4, zip).

    Raises:
        InputError: a damaged archive, one of several files, or UTF-16.
    """
    require_regular(path)
    with ExitStack() as stack:
        file = stack.enter_context(path.open("rb"))
        advance = stack.enter_context(watch(path.name, path.stat().st_size))
        try:
            stream = _unpack_stream(path, file, stack)
            buffered = io.BufferedReader(_WatchedStream(file, stream, advance), BLOCK_BYTES)
            head = buffered.peek(4096)[:4096]
            if head[257:262] == b"ustar" or head.startswith(CLOSED):
                raise InputError(f"{path} is packed twice, or by tar, 7z or rar; unpack the table")
            if head.startswith(WIDE_MARKS) or head.count(0) > len(head) / 4:
                raise InputError(f"{path} is UTF-16 or not text at all; save it as UTF-8")
            yield buffered
        except (*DAMAGED, lzma.LZMAError, zipfile.BadZipFile, OSError) as error:
            raise InputError(f"{path} is damaged or cut off ({error}); get it again") from None


def _unpack_stream(path: Path, file: Any, stack: ExitStack) -> Any:
    """What a file holds; the file itself where it is not packed."""
    start = file.peek(8)[:8]
    for mark, opener in OPENERS.items():
        if start.startswith(mark):
            return stack.enter_context(opener(file))
    if not start.startswith(b"PK\x03\x04"):
        return file
    archive = stack.enter_context(zipfile.ZipFile(file))
    # Macintoshes pack a shadow of each file.
    members = [name for name in archive.namelist() if not name.endswith("/") and "__MACOSX/" not in name]
    if "[Content_Types].xml" in members:
        raise InputError(f"{path} is a workbook; save its sheet as CSV")
    if len(members) != 1:
        raise InputError(f"{path} holds {len(members)} files ({', '.join(members):.200}); unpack the table")
    return stack.enter_context(archive.open(members[0]))
