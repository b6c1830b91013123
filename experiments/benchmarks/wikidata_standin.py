"""Files of Wikidata5m's size, layout and quirks, generated, to time the reader without the real ones.

Command:
    python -m experiments.wikidata_standin --folder standin

20.6 million triples, 825 relations and 4.6 million entities, about 1.05 GB of text, in a quarter of a
minute on 2 cores. No fact in it is real. The quirks: entities without a line or without a name, names
that several entities share, a first name that is an alias, CRLF on some lines, and a last line that is
cut off.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from experiments.command import launch_module
from testbed.console import say, show_progress

LINES_AT_ONCE = 1_000_000
SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


@dataclass(frozen=True)
class Settings:
    """How large the stand-in is."""

    folder: Path = Path("standin")
    """Where its three files go."""
    triples: int = 20_600_000
    """Lines of the triples file."""
    entities: int = 4_600_000
    """Entities that triples may name."""
    relations: int = 825
    """Relations, from common to rare."""
    objects: int = 20_000
    """Objects of each relation."""
    aliases: int = 9
    """Names of each entity."""
    seed: int = 0
    """Root seed."""


def run_study(settings: Settings) -> None:
    """Write the three files."""
    rng = np.random.default_rng(settings.seed)
    folder = settings.folder
    folder.mkdir(parents=True, exist_ok=True)
    ids = np.sort(rng.choice(13 * settings.entities, settings.entities, replace=False) + 1)
    with show_progress("stand-in", settings.triples + settings.entities) as advance:
        with (folder / "standin_all_triplet.txt").open("wb") as file:
            for block, count in _draw_triples(settings, ids, rng):
                write_lines(file, block)
                advance(count)
            file.write(b"Q%d\tP1\tQ1" % ids[0])
        with (folder / "standin_entity.txt").open("wb") as file:
            for block, count in _draw_names(settings, ids, rng):
                write_lines(file, block)
                advance(count)
            file.write(b"Q%d\tcut o" % (13 * settings.entities + 7))
    relations = spell_numbers(np.arange(settings.relations))
    with (folder / "standin_relation.txt").open("wb") as file:
        numbers = pa.array(np.arange(1, settings.relations + 1)).cast(pa.string())
        write_lines(file, pc.binary_join_element_wise("P", numbers, "\tis ", relations, " of\n", ""))
    say(f"written to {folder}")


def _draw_triples(
    settings: Settings, ids: np.ndarray, rng: np.random.Generator
) -> Iterator[tuple[pa.Array, int]]:
    share = 1.0 / np.arange(1, settings.relations + 1)
    pools = rng.integers(0, len(ids), (settings.relations, settings.objects))
    for low in range(0, settings.triples, LINES_AT_ONCE):
        n = min(LINES_AT_ONCE, settings.triples - low)
        relation = rng.choice(settings.relations, n, p=share / share.sum())
        # Popular objects have many subjects: the square of a uniform number favours low places.
        place = (settings.objects * rng.random(n) ** 2).astype(int)
        columns = (ids[rng.integers(0, len(ids), n)], relation + 1, ids[pools[relation, place]])
        s, r, o = (pa.array(column).cast(pa.string()) for column in columns)
        yield pc.binary_join_element_wise("Q", s, "\tP", r, "\tQ", o, line_ends(n, rng), ""), n


def _draw_names(
    settings: Settings, ids: np.ndarray, rng: np.random.Generator
) -> Iterator[tuple[pa.Array, int]]:
    for low in range(0, len(ids), LINES_AT_ONCE):
        listed = ids[low : low + LINES_AT_ONCE]
        total = len(listed)
        # One entity in a hundred has no line, another no name, and five in a hundred share theirs.
        listed = listed[rng.random(total) > 0.01]
        n = len(listed)
        label = np.where(rng.random(n) < 0.05, rng.integers(0, 1000, n), low + np.arange(n))
        names = [spell_numbers(label)] + [
            spell_numbers(rng.integers(0, 10**9, n)) for _ in range(settings.aliases - 1)
        ]
        names.insert(0, names.pop(1))
        nameless = pa.array(rng.random(n) < 0.01)
        ends = line_ends(n, rng)
        start = pc.binary_join_element_wise("Q", pa.array(listed).cast(pa.string()), "")
        whole = pc.binary_join_element_wise(pc.binary_join_element_wise(start, *names, "\t"), ends, "")
        yield pc.if_else(nameless, pc.binary_join_element_wise(start, ends, ""), whole), total


def spell_numbers(numbers: np.ndarray) -> pa.Array:
    """A pronounceable name for each number; equal numbers have equal names."""
    syllables = pa.array(SYLLABLES)
    digits = [pa.array(numbers // len(SYLLABLES) ** i % len(SYLLABLES)) for i in range(5)]
    a, b, c, d, e = (syllables.take(digit) for digit in digits)
    return pc.binary_join_element_wise(
        pc.utf8_capitalize(pc.binary_join_element_wise(a, b, c, "")), d, e, " "
    )


def line_ends(n: int, rng: np.random.Generator) -> pa.Array:
    """Ends of n lines, one in a thousand of them CRLF."""
    return pc.if_else(pa.array(rng.random(n) < 0.001), "\r\n", "\n")


def write_lines(file: IO[bytes], lines: pa.Array) -> None:
    """The bytes of all strings end to end, as Arrow keeps them."""
    _, offsets, text = lines.buffers()
    ends = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    file.write(memoryview(text)[ends[0] : ends[-1]])


if __name__ == "__main__":
    launch_module()
