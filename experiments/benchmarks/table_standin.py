"""A large table of labels with hostile names, generated, to time how a world is made from it.

Commands:
    python -m experiments.table_standin --table standin.tsv
    /usr/bin/time -v python -m testbed.corpus paper --run standin --world.source tsv --world.path standin.tsv
        --world.subjects 20000

20 million facts of 4 million subjects, 750 MB of text, in a quarter of a minute on 2 cores. Every second
relation follows from the one before it. One name in eight is hostile: it begins or ends with a word of the
grammar or with a relation, is another name with such words behind it, holds quotes, escaped tabs, brackets
or odd spaces. Some facts are said twice or have a second object, and 100,000 subjects have one relation.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from experiments.benchmarks.wikidata_standin import LINES_AT_ONCE, line_ends, spell_numbers, write_lines
from experiments.command import launch_module
from testbed.console import say, show_progress

HOSTILE = (
    "{} or", "Not {}", "not {}", "and {}", "{} is true", '"{}"', "{}\\t", "{} (#7)", "{} relation",
    "{} and Bo", "{}\u00a0 ", "imagine {}", "{} likes", "{} likes Bo", "\u5927 {} \u6771", "{}.", "<s>{}",
    "\u2581{}",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """How large the table is."""

    table: Path = Path("standin.tsv")
    """Where it goes."""
    rows: int = 20_000_000
    """Facts."""
    subjects: int = 4_000_000
    """Subjects, each with about five facts."""
    relations: int = 60
    """Relations, from common to rare."""
    objects: int = 5_000
    """Objects of each relation."""
    seed: int = 0
    """Root seed."""


def run_study(settings: Settings) -> None:
    """Write the table."""
    rng = np.random.default_rng(settings.seed)
    lonely = settings.rows // 200
    total = settings.subjects + settings.relations * settings.objects + lonely
    names = _entity_names(total)
    relations = ["likes", "likes to", "born in", "or of", "is", *map(str, range(settings.relations - 5))]
    relations = [name if i < 5 else f"relation {name}" for i, name in enumerate(relations)]
    share = 1.0 / np.arange(3, settings.relations // 2 + 3)
    with settings.table.open("wb") as file, show_progress("table", settings.rows) as advance:
        for low in range(0, settings.rows, LINES_AT_ONCE):
            n = min(LINES_AT_ONCE, settings.rows - low)
            subject = rng.integers(0, settings.subjects, n // 2)
            pair = rng.choice(settings.relations // 2, n // 2, p=share / share.sum())
            # A subject has the same upstream object wherever it is said, but for one time in a hundred.
            place = (subject * 7919 + pair * 104_729 + (rng.random(n // 2) < 0.01)) % 1_000_003 / 1_000_003
            up = (settings.objects * place**3).astype(int)
            down = np.where(subject % 5 > 0, up % 97, (subject + up) % settings.objects)
            s = np.repeat(subject, 2)
            s[::200] = total - lonely + low // 200 + np.arange(len(s[::200]))
            r = np.column_stack([2 * pair, 2 * pair + 1]).ravel()
            o = settings.subjects + r * settings.objects + np.column_stack([up, down]).ravel()
            columns = names.take(pa.array(s)), pa.array(relations).take(pa.array(r)), names.take(pa.array(o))
            lines = pc.binary_join_element_wise(*columns, "\t")
            write_lines(file, pc.binary_join_element_wise(lines, line_ends(len(s), rng), ""))
            advance(n)
    say(f"written to {settings.table}")


def _entity_names(total: int) -> pa.Array:
    """A name for each entity, every eighth of them hostile; half of these are another name's with more."""
    numbers = np.arange(total)
    plain = spell_numbers(np.where(numbers % 16 == 0, numbers + 1, numbers))
    kind = np.where(numbers % 8 == 0, numbers // 8 % len(HOSTILE) + 1, 0)
    before, behind = zip(*(form.split("{}") for form in ("{}", *HOSTILE)), strict=True)
    start, end = pa.array(before).take(pa.array(kind)), pa.array(behind).take(pa.array(kind))
    return pc.binary_join_element_wise(start, plain, end, "")


if __name__ == "__main__":
    launch_module()
