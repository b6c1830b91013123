"""Hyper-parameters that were chosen for one run's model, as `testbed.tune` writes them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpus.errors import InputError
from corpus.files import read_record
from testbed.engine.catalogue import whose_options
from testbed.run.runs import NotMadeError, Run


def tuned_file(run: Run, editor: str) -> Path:
    """Where a search and its choice are recorded."""
    return run.folder / "tuned" / f"{whose_options(editor).name.replace(':', '.')}.json"


def tuned(run: Run, editors: Sequence[str], configs: dict[str, Any]) -> dict[str, Any]:
    """`configs` with what was chosen for some editors; those with nothing to search need no choice.

    Raises:
        InputError: an editor was not tuned, or its file does not fit.
    """
    chosen = dict(configs)
    for entry in (whose_options(name) for name in editors):
        if not entry.search:
            continue
        path = tuned_file(run, entry.name)
        if not path.exists():
            raise NotMadeError(f"{path} is missing", f"tune {entry.name}", run)
        config = configs.get(entry.options, entry.config)
        try:
            chosen[entry.options] = replace(config, **read_record(path)["chosen"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} does not fit ({error}); move it away and tune again") from None
    return chosen
