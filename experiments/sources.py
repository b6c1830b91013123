"""Where every table of figures in the README and docs/ comes from.

Command:
    python -m experiments.sources

A line for each section that has a table of numbers: the commands it names, whether each is there, and the
records of experiments it has. A section with figures and no command is named at the end, with status 1.
"""

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from corpus.errors import InputError
from experiments.command import launch_module
from experiments.record import RECORDS
from testbed.console import say

HOME = Path(__file__).parents[1]
FIGURES = re.compile(r"^\|[-:|]*-:\|", re.MULTILINE)
"""A table one of whose columns is aligned to the right, as numbers are."""
NAMED = re.compile(r"python -m ([\w.]+)|make (demo|attack|test)\b")
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
    """

    page: str
    title: str
    commands: tuple[str, ...]
    missing: tuple[str, ...]
    records: tuple[str, ...]


def sections_with_figures(page: Path) -> list[Section]:
    """Every section of a page with a table of numbers."""
    parts = re.split(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [
        _read_section(str(page.relative_to(HOME)), title, text)
        for title, text in zip(parts[1::2], parts[2::2], strict=True)
        if FIGURES.search(text)
    ]


def _read_section(page: str, title: str, text: str) -> Section:
    modules = dict.fromkeys(module or MADE[target] for module, target in NAMED.findall(text))
    missing = tuple(name for name in modules if importlib.util.find_spec(name) is None)
    titles = {name.removeprefix("experiments.").replace("_", "-") for name in modules}
    records = sorted(
        p.name for p in RECORDS.iterdir() if p.name in text or re.sub(r"^[\d-]{11}", "", p.name) in titles
    )
    return Section(page, title, tuple(modules), missing, tuple(records))


def list_pages() -> list[Path]:
    """The README and all of docs/ but design.md, whose numbers are rules, and history.md, which is a log."""
    others = {HOME / "docs" / name for name in ("design.md", "history.md")}
    return [HOME / "README.md", *sorted(set((HOME / "docs").glob("**/*.md")) - others)]


def run_study(_: Settings) -> None:
    """List them.

    Raises:
        InputError: figures without a command, or a command that is not there.
    """
    every = [section for page in list_pages() for section in sections_with_figures(page)]
    for page, title, commands, _missing, records in every:
        say(f"{page}: {title}\n    {', '.join(commands) or 'no command'}")
        say("\n".join(f"    experiments/records/{name}" for name in records))
    wrong = [f"{s.page}, {s.title!r}" for s in every if s.missing or not s.commands]
    if wrong:
        raise InputError(
            f"figures without a command that is there: {'; '.join(wrong)}; name one in the section"
        )


if __name__ == "__main__":
    launch_module()
