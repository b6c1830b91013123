"""Hyper-parameters that were chosen for one run's model, as `testbed.tune` writes them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from corpus.errors import InputError
from corpus.files import read_json
from lm.editors.config import EditorConfigs
from testbed.run.runs import Run

# What controls and variants are tuned by.
TAKEN_FROM = {"random-target": "lora-down", "oracle": "lora-down"}


def field_of(editor: str) -> str:
    """The field of EditorConfigs with an editor's hyper-parameters."""
    return TAKEN_FROM.get(editor, editor).replace("-", "_")


def tuned_file(run: Run, field: str) -> Path:
    """Where a search and its choice are recorded."""
    return run.folder / "tuned" / f"{field.replace('_', '-')}.json"


def tuned(run: Run, editors: Sequence[str], configs: EditorConfigs) -> EditorConfigs:
    """`configs` with what was chosen for some editors; those without hyper-parameters need no choice.

    Raises:
        InputError: an editor was not tuned, or its file does not fit.
    """
    chosen = {}
    for field in dict.fromkeys(map(field_of, editors)):
        if not hasattr(configs, field) or field == "retrain":
            continue
        path = tuned_file(run, field)
        if not path.exists():
            name = field.replace("_", "-")
            raise InputError(f"{path} is missing; run python -m testbed.tune {name} --run {run.name} first")
        try:
            chosen[field] = replace(getattr(configs, field), **read_json(path)["chosen"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} does not fit ({error}); delete it and tune again") from None
    return replace(configs, **chosen)
