"""What every study is asked, and the command that repeats it."""

import sys
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from experiments.command import name_of_module
from experiments.record import typed, unusual

PLACES = ("runs", "minutes", "path", "facts")
"""Options that say where or how long, and change no figure."""


@dataclass(frozen=True)
class StudySettings:
    """Where a study works; its own fields say what is measured, and their counts are positive."""

    runs: Path = Path("runs")
    """Folder of all runs."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.type is int and field.name != "seed" and getattr(self, field.name) < 1:
                raise ValueError(f"{field.name} must be positive")

    @property
    def command(self) -> str:
        """What repeats it: options unlike their defaults, a folder of data as FOLDER."""
        names = [field.name for field in fields(self) if field.name not in PLACES]
        flags = [name for name in names if getattr(self, name) is True]
        data = {name: "FOLDER" for name in PLACES[2:] if getattr(self, name, None)}
        given = data | unusual(self, *(name for name in names if name not in flags))
        options = {name.replace("_", "-"): value for name, value in given.items()}
        flagged = "".join(f" --{name.replace('_', '-')}" for name in flags)
        return typed(name_of_module(sys.modules[type(self).__module__]), options) + flagged

    def settings_as_data(self) -> dict[str, Any]:
        """Everything that figures depend on."""
        return {name: value for name, value in asdict(self).items() if name not in PLACES}


@dataclass(frozen=True)
class StagedSettings(StudySettings):
    """A study that takes long, and may be left and gone on with."""

    minutes: float | None = None
    """Leave after about this long; the same command goes on from there."""
