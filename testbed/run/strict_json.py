"""JSON that others wrote, read by a schema: what does not fit is refused by file, line and field.

A schema is a class of msgspec, whose types, ranges and lengths hold as they stand: nothing is converted, a
key that it does not know or that stands there twice is refused, and so are NaN, infinities and text that is
no Unicode.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, TypeVar

import msgspec
from msgspec import Meta

from corpus.errors import InputError
from corpus.files import build_object, require_regular

Probability = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Word = Annotated[str, Meta(max_length=500, pattern=r"^[^\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*\Z")]
"""On one line, and shown as it is: no character commands a terminal or turns the text around."""
Words = Annotated[dict[Word, Word], Meta(max_length=50)]
Text = Annotated[str, Meta(max_length=5_000)]
LONGEST = 1 << 24
"""Bytes of a document, or of a line."""
_PLACE = re.compile(r"(?P<what>.*) - at `\$\.?(?P<field>.*)`")

Document = TypeVar("Document", bound=msgspec.Struct)


def read_document(path: Path, schema: type[Document]) -> Document:
    """A file that is one object.

    Raises:
        InputError: it is missing, too long, or does not fit the schema.
    """
    with _open(path) as file:
        return _decode(file.read(LONGEST + 1), msgspec.json.Decoder(schema), str(path))


def read_lines(path: Path, schema: type[Document]) -> Iterator[tuple[str, Document]]:
    """The objects of a file that has one a line, and where each stands; a last line without end is left out.

    Raises:
        InputError: it is missing, or a line is too long or does not fit the schema.
    """
    decoder = msgspec.json.Decoder(schema)
    with _open(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), start=1):
            where = f"{path}, line {number}"
            if len(line) > LONGEST or line.endswith(b"\n"):
                yield where, _decode(line, decoder, where)


def _open(path: Path) -> IO[bytes]:
    require_regular(path)
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None


def _decode(text: bytes, decoder: msgspec.json.Decoder[Document], where: str) -> Document:
    if len(text) > LONGEST:
        raise InputError(f"{where}: longer than {LONGEST:,} bytes")
    try:
        document = decoder.decode(text)
        json.loads(text, object_pairs_hook=build_object)
        return document
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        place = _PLACE.fullmatch(str(error))
        why = f"{place['field']}: {place['what']}" if place and place["field"] else str(error)
        raise InputError(f"{where}: {why}") from None
