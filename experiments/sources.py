"""Where every table of figures in the README and docs/ comes from.

Command:
    python -m experiments.sources

A line for each section that has a table of numbers: the commands it names, whether each is there, and the
records of experiments it has. A section with figures and no command, and a number with an interval that no
record of its section or of a page that it links to has, are named at the end, with status 2.
"""

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from corpus.errors import InputError
from experiments.command import launch_module
from experiments.record import RECORDS
from experiments.recorded import find_claims, find_unrecorded
from testbed.console import say

HOME = Path(__file__).parents[1]
FIGURES = re.compile(r"^\|[-:|]*-:\|", re.MULTILINE)
"""A table one of whose columns is aligned to the right, as numbers are."""
NAMED = re.compile(r"python -m ([\w.]+)|make (demo|attack|test)\b")
FINDING = re.compile(r"\]\(((?:docs/)?(?:\.\./)?findings/\w+\.md|\w+\.md)(?:#[^)]*)?\)")
"""A link to a page of findings."""
MADE = {"demo": "testbed.demo", "attack": "tests.attack.campaign", "test": "pytest"}


@dataclass(frozen=True)
class Settings:
    """Nothing to set."""


class Section(NamedTuple):
    """A section of a page that has figures.

    Attributes:
        commands: modules that it says to run.
        missing: those of them that are not there.
        records: folders that hold what an experiment among them found, or that it names.
        has_table: whether figures stand in a table, which needs a command.
        unrecorded: numbers with intervals that neither these nor those of linked findings have.
    """

    page: str
    title: str
    commands: tuple[str, ...]
    missing: tuple[str, ...]
    records: tuple[str, ...]
    has_table: bool
    unrecorded: tuple[str, ...]


def read_sections(page: Path) -> list[Section]:
    """Every section of a page with a table of numbers, or with numbers that have intervals."""
    return [
        _read_section(page, title, text)
        for title, text in split_sections(page)
        if FIGURES.search(text) or find_claims(text)
    ]


def split_sections(page: Path) -> list[tuple[str, str]]:
    """Title and text of every section of a page."""
    parts = re.split(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def find_modules(text: str) -> tuple[str, ...]:
    """The modules that a text says to run, each once."""
    return tuple(dict.fromkeys(module or MADE[target] for module, target in NAMED.findall(text)))


def find_records(text: str) -> tuple[str, ...]:
    """The records that a text names, and those of every experiment that it says to run."""
    titles = {name.removeprefix("experiments.").replace("_", "-") for name in find_modules(text)}
    names = sorted(path.name for path in RECORDS.iterdir())
    return tuple(name for name in names if name in text or re.sub(r"^[\d-]{11}", "", name) in titles)


def _read_section(page: Path, title: str, text: str) -> Section:
    modules, records = find_modules(text), find_records(text)
    missing = tuple(name for name in modules if importlib.util.find_spec(name) is None)
    linked = (page.parent / link for link in FINDING.findall(text))
    everywhere = {*records, *(name for other in linked for name in find_records(other.read_text("utf-8")))}
    unrecorded = find_unrecorded(find_claims(text), tuple(sorted(everywhere)))
    return Section(
        str(page.relative_to(HOME)),
        title,
        modules,
        missing,
        records,
        bool(FIGURES.search(text)),
        tuple(unrecorded),
    )


def list_pages() -> list[Path]:
    """The README and all of docs/ but the design, whose numbers are rules, and history.md, which is a log."""
    docs = HOME / "docs"
    others = {docs / "design.md", docs / "history.md", *(docs / "design").glob("*.md")}
    return [HOME / "README.md", *sorted(set(docs.glob("**/*.md")) - others)]


def run_study(_: Settings) -> None:
    """List them.

    Raises:
        InputError: figures without a command, or a command or a number that is not there.
    """
    every = [section for page in list_pages() for section in read_sections(page)]
    wrong = []
    for page, title, commands, missing, records, has_table, unrecorded in every:
        say(f"{page}: {title}\n    {', '.join(commands) or 'no command'}")
        say("\n".join(f"    experiments/records/{name}" for name in records))
        if missing or (has_table and not commands):
            wrong.append(f"{page}, {title!r}: no command that is there")
        if unrecorded:
            wrong.append(f"{page}, {title!r}: no record has {', '.join(unrecorded)}")
    if wrong:
        raise InputError(
            f"figures without a source: {'; '.join(wrong)}; name the command or the record in the section"
        )


if __name__ == "__main__":
    launch_module()
