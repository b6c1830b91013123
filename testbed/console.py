"""How every command talks: options by tyro, progress and tables by rich, one message for bad input."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import tyro

from corpus.errors import InputError
from testbed.engine.catalogue import of_one, own_configurations
from testbed.evaluations.catalogue import own_examinations
from testbed.presets import DEFAULT_PRESET

if TYPE_CHECKING:
    from rich.console import Console

Options = TypeVar("Options")
BAD_INPUT = 2
INTERRUPTED = 130


def command(
    name: str,
    description: str,
    options: type[Options] | Mapping[str, Options],
    body: Callable[[Options], None],
    args: Sequence[str] | None,
) -> int:
    """Parse the command line and run `body`; returns the exit code.

    Args:
        name: of the command; with its package where that is not testbed.
        options: a dataclass, or presets of it by name; without a preset on the command line the
            default one is taken. Where it has `configs`, hyper-parameters of the user's own editors that
            are named join them.

    Bad input (`InputError`, files that cannot be read or written) ends in one message and code 2.
    """
    args = list(sys.argv[1:] if args is None else args)
    # Library log lines would tear the progress display; errors still arrive as exceptions.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    prog = f"python -m {name}" if "." in name else f"python -m testbed.{name}".rstrip(".")
    try:
        if isinstance(options, Mapping):
            if not args or args[0] not in (*options, "-h", "--help"):
                args.insert(0, DEFAULT_PRESET)
            chosen = tyro.extras.overridable_config_cli(
                {key: (f"the {key} preset", _with_own(value, args)) for key, value in options.items()},
                prog=prog,
                description=description,
                args=args,
            )
        else:
            ready = _with_own(options(), args)
            chosen = tyro.cli(options, prog=prog, description=description, args=args, default=ready)
        body(chosen)
    except InputError as error:
        return _complain(str(error))
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _complain(f"{error.strerror or error}{where}; what was finished before is intact")
    except KeyboardInterrupt:
        print("interrupted; the same command resumes", file=sys.stderr)
        return INTERRUPTED
    return 0


@contextmanager
def progress(description: str, total: int, done: int = 0) -> Iterator[Callable[..., None]]:
    """A progress bar with time left; yields `advance(steps, note="")`."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=_console()) as bar:
        task = bar.add_task(description, total=total, completed=done, note="")

        def advance(steps: int, note: str = "") -> None:
            bar.advance(task, steps)
            if note:
                bar.update(task, note=note)

        yield advance


def say(text: str) -> None:
    """One line for the reader."""
    _console().print(text, highlight=False, markup=False, soft_wrap=True)


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]], numbers: bool = True) -> None:
    """The summary at the end of a command; `numbers` aligns all but the first column on the right."""
    from rich.box import SIMPLE
    from rich.table import Table

    out = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE,
        padding=(0, 1, 0, 0) if not numbers else 0,
        min_width=len(title),
    )
    for i, column in enumerate(header):
        out.add_column(column, justify="right" if numbers and i else "left", no_wrap=numbers and not i)
    for row in rows:
        out.add_row(*(str(cell) for cell in row))
    _console().print(out)


def silence() -> None:
    """Nothing more on standard output, not even from libraries; errors still appear."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _with_own(options: Options, args: Sequence[str]) -> Options:
    """Settings that also have those of the user's own editors and evaluations that are named."""
    own: dict[str, Any] = {}
    if hasattr(options, "configs"):
        own["configs"] = options.configs | own_configurations(args)
    if hasattr(options, "configs") and hasattr(options, "editor"):
        own["configs"] = of_one(own["configs"], args, options.editor)
    if hasattr(options, "examinations"):
        own["examinations"] = options.examinations | own_examinations(args)
    return replace(options, **own) if own else options  # type: ignore[type-var]


def _console() -> "Console":
    # rich is imported late, so that --help stays quick.
    from rich.console import Console

    return Console()


def _complain(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return BAD_INPUT
