"""python -m testbed: the commands, one line each, and how far the runs are that exist.

An installed package has this as `credence`; there `credence train tiny` is `python -m testbed.train tiny`.
"""

import ast
import importlib
import sys
from dataclasses import dataclass
from pathlib import Path

from testbed.console import print_table
from testbed.launch import BAD_INPUT, Command, launch_command
from testbed.run.runs import Run, describe_run

COMMANDS = (
    "demo",
    "corpus",
    "train",
    "editors",
    "edit",
    "tune",
    "report",
    "ask",
    "export",
    "score",
    "examine",
    "verify",
    "remove",
    "battery",
    "example",
)
"""In the order in which they are used."""
SCRIPT_COMMANDS = (*COMMANDS, "completion")


@dataclass(frozen=True)
class OverviewSettings:
    """What to look at."""

    runs: Path = Path("runs")
    """Folder of all runs."""


def overview(options: OverviewSettings) -> None:
    """Print what each command does, and the state of every run."""
    print_table(
        "commands",
        ("", "what it does"),
        [(f"testbed.{name}", _describe_command(name)) for name in COMMANDS],
        False,
    )
    folders = sorted(path.parent for path in options.runs.glob("*/config.json"))
    rows = [describe_run(Run(options.runs, folder.name)) for folder in folders]
    print_table(f"runs in {options.runs}", ("run", "corpus", "model", "edits", "report"), rows, False)


def _describe_command(name: str) -> str:
    """What a command's module says of it after its usage, read without running any of it."""
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(source)) or ""
    return docstring.partition("\n")[0].partition(": ")[2]


def run_script() -> None:
    """The console script: the command that the first argument names, with the others; alone, the overview."""
    command, first = main, "".join(sys.argv[1:2])
    if first in SCRIPT_COMMANDS:
        command = importlib.import_module(f"testbed.{sys.argv.pop(1)}").main
    elif first and not first.startswith("-"):
        print(f"error: there is no command {first!r}; commands are {', '.join(COMMANDS)}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    launch_command(command)


main = Command("", __doc__, OverviewSettings, overview)

if __name__ == "__main__":
    sys.exit(main())
