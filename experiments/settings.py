"""What every study is asked, the command that repeats it, and its record."""

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from experiments.figures import Figure
from experiments.record import command_of, options_unlike_default, write_record
from experiments.study import name_of_module
from testbed.run.runs import Run

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
    def name(self) -> str:
        """Of the study."""
        return name_of_module(sys.modules[type(self).__module__])

    @property
    def command(self) -> str:
        """What repeats it: options unlike their defaults, a folder of data as FOLDER."""
        names = [field.name for field in fields(self) if field.name not in PLACES]
        flags = [name for name in names if getattr(self, name) is True]
        data = {name: "FOLDER" for name in PLACES[2:] if getattr(self, name, None)}
        values = data | options_unlike_default(self, *(name for name in names if name not in flags))
        options = {name.replace("_", "-"): value for name, value in values.items()}
        flagged = "".join(f" --{name.replace('_', '-')}" for name in flags)
        return command_of(self.name, options) + flagged

    def record(
        self,
        run: Run,
        pages: Mapping[str, str] | None = None,
        names: tuple[str, ...] = (),
        title: str = "",
        **tables: Any,
    ) -> Path:
        """Write a record of this study by `write_record`; returns its folder.

        Args:
            run: whose training and settings are kept.
            title: of the record; the study's name if it is left out.
        """
        settings = {name: value for name, value in asdict(self).items() if name not in PLACES}
        title = title or self.name.replace("_", "-")
        rows = [Figure(page, "", -1, text=text) for page, text in (pages or {}).items()]
        return write_record(run, title, self.command, (), rows, names, settings, **tables)


@dataclass(frozen=True)
class StagedSettings(StudySettings):
    """A study that takes long, and may be left and gone on with."""

    RESUMES: ClassVar = (
        "\nEvery stage is kept when it is done, so that a killed command goes on from there; with --minutes "
        "it leaves by itself after the stage in which they are over, or, while a model is trained, at once. "
        "When all are done, the record is written into experiments/records."
    )
    """What --help says of it besides."""
    minutes: float | None = None
    """Leave after about this long; the same command goes on from there."""
