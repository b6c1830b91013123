"""The facts of N-Triples, and of N-Quads, whose graphs are not looked at."""

import re
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus.errors import InputError
from corpus.worlds.rawfiles import LONGEST_NAME, Watch
from corpus.worlds.unpacked import CELL, open_table

BLOCK_BYTES = 1 << 24
_IRI = r'<[^<>"{}|^`\x00-\x20]*>'
_NODE = rf"(?:{_IRI}|_:[^\s<>\"]+)"
_LITERAL = rf'"(?:[^"\\\x{{a}}\x{{d}}]|\\.)*"(?:@[A-Za-z0-9-]+|\^\^{_IRI})?'
_LINE = (
    rf"^[ \t]*(?P<s>{_NODE})[ \t]*(?P<p>{_IRI})[ \t]*(?:(?P<o>{_NODE})|(?P<literal>{_LITERAL}))"
    rf"[ \t]*(?:{_NODE}[ \t]*)?\.[ \t]*(?:#.*)?\r?$"
)
_PLAIN = rf"^{_NODE} {_IRI} {_NODE} \.\r?$"
_ESCAPED = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")


def read_ntriples(path: Path, watch: Watch) -> tuple[list[pa.ChunkedArray], int]:
    """Subjects, predicates and objects as they are written, and the number of facts about literals.

    Raises:
        InputError: a malformed line, with file, number and content.
    """
    parts: list[list[pa.Array]] = [[], [], []]
    literals, first, rest = 0, 1, b""
    with open_table(path, watch) as stream:
        while chunk := stream.read(BLOCK_BYTES):
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
