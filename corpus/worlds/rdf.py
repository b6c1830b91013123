"""The facts of RDF (N-Triples, N-Quads, Turtle, TriG, N3, RDF/XML), read by pyoxigraph.

Names of graphs are not looked at.
"""

import re
from itertools import islice
from pathlib import Path
from typing import NoReturn
from urllib.parse import unquote

import pyarrow as pa
import pyoxigraph as ox

from corpus.errors import InputError
from corpus.worlds.rawfiles import Watch, read_unwatched
from corpus.worlds.unpacked import CELL, open_table, require_rows

FORMATS = {
    "N-Triples": ox.RdfFormat.N_QUADS,
    "Turtle": ox.RdfFormat.TRIG,
    "N3": ox.RdfFormat.N3,
    "RDF/XML": ox.RdfFormat.RDF_XML,
}
"""Each with its larger family: quads are triples with a graph, TriG is Turtle with graphs."""
BATCH = 1 << 16
"""Facts that are put into columns at once."""
ENTITY = re.compile(rb'<!ENTITY\s+[^\s"&%]+\s+"[^"&%]*"\s*>')
LONGEST_ENTITY = 300
"""Bytes of what RDF/XML abbreviates by an entity."""


def read_rdf(path: Path, form: str, watch: Watch) -> tuple[list[pa.ChunkedArray], int]:
    """Subjects, predicates and objects as N-Triples write them, and the number of facts about literals.

    Blank nodes of Turtle and its like, which need no name there, are numbered in order of appearance.

    Raises:
        InputError: a malformed file, with its line.
    """
    if form == "RDF/XML":
        _refuse_entities(path)
    parts: list[list[pa.Array]] = [[], [], []]
    facts = literals = 0
    numbers: dict[str, str] = {}
    with open_table(path, watch) as stream:
        try:
            quads = ox.parse(stream, format=FORMATS[form], lenient=True)
            while batch := list(islice(quads, BATCH)):
                named = [quad for quad in batch if not isinstance(quad.object, ox.Literal | ox.Triple)]
                facts, literals = facts + len(named), literals + len(batch) - len(named)
                require_rows(path, facts + literals)
                columns = [[str(quad[place]) for quad in named] for place in range(3)]
                if form != "N-Triples":
                    columns = [[_number_node(node, numbers) for node in column] for column in columns]
                for part, column in zip(parts, columns, strict=True):
                    part.append(pa.array(column, pa.string()).dictionary_encode().cast(CELL))
        except SyntaxError as error:
            _refuse_line(path, error)
        except MemoryError:
            # The parser's own bound on what it has not understood yet.
            raise InputError(f"{path}: a line is longer than 16 MiB; is it a table?") from None
    return [pa.chunked_array(part, CELL) for part in parts], literals


def short_name(iri: str) -> str:
    """What an IRI or blank node is called: its last part, with escapes undone."""
    last = re.split(r"[/#]", iri.removeprefix("<").removesuffix(">").rstrip("/#"))[-1]
    return " ".join(unquote(last).replace("_", " ").split()) or iri


def _refuse_entities(path: Path) -> None:
    """Refuse entities of entities, by which a kilobyte stands for terabytes, and those of other files."""
    with open_table(path, read_unwatched) as stream:
        block = text = stream.read(BATCH)
        while text:
            for found in re.finditer(b"<!ENTITY", text):
                end = found.start() + LONGEST_ENTITY
                if (end <= len(text) or not block) and not ENTITY.match(text[:end], found.start()):
                    what = text[found.start() :][:60].decode(errors="backslashreplace")
                    raise InputError(
                        f"{path}: {what!r} should stand for text of {LONGEST_ENTITY} bytes at most"
                    )
            if not block:
                return
            block = stream.read(BATCH)
            text = text[-LONGEST_ENTITY:] + block


def _number_node(node: str, numbers: dict[str, str]) -> str:
    """A blank node by its number, which a new one gets; an IRI as it is."""
    return numbers.setdefault(node, f"_:{len(numbers) + 1}") if node.startswith("_:") else node


def _refuse_line(path: Path, error: SyntaxError) -> NoReturn:
    """Say what is wrong, with the line where that was seen."""
    number = error.lineno or 1
    with open_table(path, read_unwatched) as stream:
        line = next(islice(stream, number - 1, None), b"").rstrip().decode(errors="backslashreplace")
    why = str(error.msg).partition(": ")[2] or error.msg
    raise InputError(f"{path}, line {number}: {why:.200}: {line!r:.120}")
