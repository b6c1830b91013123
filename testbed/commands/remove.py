"""Remove a run, or edits of it, after a question."""

import shutil
import sys
from pathlib import Path

from corpus.errors import InputError
from testbed.console import say
from testbed.engine.trace import CONFIG, read_config
from testbed.run.lock import only_one
from testbed.run.runs import Run, recorded_settings
from testbed.settings import RemoveSettings


def remove(options: RemoveSettings) -> None:
    """Say what would go, ask, and remove it.

    Raises:
        InputError: there is no such run, or none of its edits has a name; or nobody is there to be asked.
    """
    run = Run(options.runs, options.run)
    recorded_settings(run, "corpus")
    with only_one(run, "edit"), only_one(run, "train"):
        folders = find_edits(run, options.names) if options.names else [run.folder]
        for folder in folders:
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            say(f"{folder}: {size / 1e6:,.1f} MB")
        if not options.yes and not _agrees(len(folders)):
            say("nothing was removed")
            return
        for folder in folders:
            shutil.rmtree(folder)
    say(f"removed: {', '.join(map(str, folders))}")


def find_edits(run: Run, names: tuple[str, ...]) -> list[Path]:
    """The folders of edits that are called so, or are by editors that are.

    Raises:
        InputError: a name is nobody's.
    """
    editors = {path.parent: read_config(path.parent)["editor"] for path in run.edits.glob(f"*/*/{CONFIG}")}
    unknown = [name for name in names if all(name not in (path.name, of) for path, of in editors.items())]
    if unknown:
        there = ", ".join(sorted({*editors.values()})) or "nobody"
        raise InputError(f"{run.folder} has no edits by {unknown[0]}; there are those by {there}")
    return sorted(path for path, of in editors.items() if {path.name, of} & {*names})


def _agrees(count: int) -> bool:
    if not sys.stdin.isatty():
        raise InputError("nobody is there to be asked; say --yes")
    return input(f"Remove {'it' if count == 1 else f'these {count} folders'} for good? [y/N] ") in (
        "y",
        "yes",
    )
