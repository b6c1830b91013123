"""How every command talks: options by tyro, progress and tables by rich, one message for bad input."""

import json
import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from corpus.errors import InputError
from corpus.memory import is_lack_of_memory
from testbed.cells import as_json, cell_text, escape_controls
from testbed.command_line import HELP, about_presets, parse_options, preset_of, takes_words
from testbed.engine.catalogue import configs_of_named, configs_of_one, own_configurations
from testbed.evaluations.catalogue import own_evaluations
from testbed.launch import INTERRUPTED, load_function
from testbed.own import OWN
from testbed.presets import DEFAULT_PRESET
from testbed.run.runs import NotMadeError
from testbed.waiting import doing, was_heard

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Options = TypeVar("Options")
BAD_INPUT = 2
JSON = "--json"
ABOUT_JSON = f"""

With {JSON}, tables and lines are one JSON object on standard output, numbers as numbers; progress goes to
standard error."""
SECONDS_BETWEEN_LINES = 10.0
LEAST_WIDTH = 20


def run_command(
    name: str,
    description: str,
    options: type[Options] | Mapping[str, Options],
    work: Callable[[Options], None] | str,
    args: Sequence[str] | None,
) -> int:
    """Parse the command line and do the work; returns the exit code.

    Args:
        name: of the command; with its package where that is not testbed.
        options: a dataclass, or presets of it by name; without a preset on the command line the
            default one is taken. Where it has `configs`, hyper-parameters of the user's own editors that
            are named join them.
        work: what is done with the options; as "module:function", its module is loaded once they are parsed.

    Bad input (`InputError`, files that cannot be read or written) ends in one message and code 2. With --json
    standard output has one JSON object and nothing else, see `print_json`.
    """
    preset = ""
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            # So far an interrupt ended the process at once (see testbed/__init__.py).
            signal.signal(signal.SIGINT, signal.default_int_handler)
        args = list(sys.argv[1:] if args is None else args)
        output = print_json() if JSON in args else nullcontext()
        args = [word for word in args if word != JSON]
        # Library log lines would tear the progress display; errors still arrive as exceptions.
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        show_log("lm")
        prog = f"python -m {name}" if "." in name else f"python -m testbed.{name}".rstrip(".")
        default = None if isinstance(options, Mapping) else options()
        if isinstance(options, Mapping):
            preset, args = preset_of(options, args, takes_words(options[DEFAULT_PRESET]))
            description = f"{description}\n\n{about_presets(prog, options, preset)}"
            if hasattr(options[preset], "editors"):
                description += f" Name an editor to see its own options: {prog} rome --help."
            default = options[preset]
        assert default is not None, "there are defaults, from a preset or not"
        description += ABOUT_JSON
        settings = parse_options(_add_own_settings(default, args), prog, description, args)
        with output:
            (load_function(work) if isinstance(work, str) else work)(settings)
    except NotMadeError as error:
        from testbed.advice import command_for

        how = command_for(error.run, error.stage, preset)
        return _print_error(f"{error.why}; run {how} first")
    except InputError as error:
        return _print_error(str(error))
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _print_error(f"{error.strerror or error}{where}; what was finished before is intact")
    except RecursionError:
        return _print_error("something is nested too deeply to be read; testbed.verify says which file")
    except KeyboardInterrupt:
        print("interrupted; the same command resumes", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if is_lack_of_memory(error):
            return _print_error("there is not enough memory for that; choose smaller numbers")
        if place := _place_in_own(error, args or ()):
            return _print_error(f"{type(error).__name__}: {str(error).partition(chr(10))[0]} ({place})")
        variable = _variable_behind(error)
        if variable is None:
            raise
        return _print_error(
            f"{variable} is {os.environ[variable]!r} in the environment, with which JAX fails here; unset it "
            f"({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        )
    return 0


@contextmanager
def show_progress(description: str, total: int, done: int = 0) -> Iterator[Callable[..., None]]:
    """A bar with time left, or lines where no terminal is; yields `advance(steps, note="")`."""
    console = _console()
    doing("" if console.is_terminal else f"{description}: {total - done:,} to do, none done yet")
    if not console.is_terminal:
        yield from _show_lines(description, total, done)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    # On a narrow terminal the bar gives way, and no number does.
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        TimeRemainingColumn(elapsed_when_finished=True, table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(description, total=total, completed=done, note="")

        def advance(steps: int, note: str = "") -> None:
            bar.advance(task, steps)
            if note:
                bar.update(task, note=note)

        yield advance


def _show_lines(description: str, total: int, done: int) -> Iterator[Callable[..., None]]:
    """Progress where there is no terminal: now and then a line, with speed and time left.

    Both are those of what came after the first advance, which waits for programs to be compiled.
    """
    began = last = since = time.perf_counter()
    steps_made, first, last_note = done, done, ""

    def show(end: str) -> None:
        say(f"{description}: {steps_made:,} of {total:,}{end}" + (f"; {last_note}" if last_note else ""))

    def advance(steps: int, note: str = "") -> None:
        nonlocal steps_made, first, last, since, last_note
        doing("")
        steps_made, last_note, now = steps_made + steps, note or last_note, time.perf_counter()
        if first == done:
            first, since = steps_made, now
        if now - last >= SECONDS_BETWEEN_LINES and steps_made < total:
            last, speed = now, (steps_made - first) / (now - since) if now > since else 0.0
            show(
                f", {speed:,.3g} a second, {format_time((total - steps_made) / speed)} left" if speed else ""
            )

    yield advance
    show(f" in {format_time(time.perf_counter() - began)}")


def format_time(seconds: float) -> str:
    """A time as 0:00:00."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


@contextmanager
def print_json() -> Iterator[None]:
    """Collect the tables and lines of a command, and print them as one JSON object when it ends.

    `{"tables": [{"title", "columns", "rows"}], "lines": [text]}`; where the command ends in an error, with
    what there is by then.
    """
    document: dict[str, list[Any]] = {"tables": [], "lines": []}
    _documents.append(document)
    try:
        yield
    finally:
        _documents.remove(document)
        print(escape_controls(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)))


_documents: list[dict[str, list[Any]]] = []
"""What --json collects; empty where a command talks to people."""


def say(text: str) -> None:
    """One line for the reader."""
    was_heard()
    for document in _documents:
        document["lines"].append(text)
    _console().print(escape_controls(text), soft_wrap=True)


def show_log(package: str) -> None:
    """Say from now on what a package tells of long work."""
    log = logging.getLogger(package)
    log.setLevel(logging.INFO)
    log.propagate = False
    if not any(isinstance(handler, _Teller) for handler in log.handlers):
        log.addHandler(_Teller())


class _Teller(logging.Handler):
    """Says each line of a log."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[object]], numbers: bool = True
) -> None:
    """The summary at the end of a command; `numbers` aligns all but the first column on the right.

    Cells are shown as their text (`testbed.cells`), whole numbers with commas.
    """
    was_heard()
    if _documents:
        table = {"title": title, "columns": list(header), "rows": as_json(rows)}
        for document in _documents:
            document["tables"].append(table)
        return
    _console().print(draw_table(title, header, rows, numbers))


def draw_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[object]], numbers: bool = True
) -> "Table":
    """A table as rich prints it."""
    from rich.box import SIMPLE
    from rich.table import Table

    out = Table(
        title=escape_controls(title),
        title_justify="left",
        title_style="bold",
        box=SIMPLE,
        padding=(0, 1, 0, 0) if not numbers else 0,
        min_width=len(title),
    )
    for i, column in enumerate(header):
        out.add_column(
            escape_controls(column), justify="right" if numbers and i else "left", no_wrap=numbers and not i
        )
    for row in rows:
        out.add_row(*map(cell_text, row))
    return out


def silence_output() -> None:
    """Nothing more on standard output, not even from libraries; errors still appear."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _add_own_settings(options: Options, args: Sequence[str]) -> Options:
    """Settings that also have those of the user's own editors and evaluations that are named."""
    changes: dict[str, Any] = {}
    if hasattr(options, "configs"):
        changes["configs"] = options.configs | own_configurations(args)
    if hasattr(options, "configs") and hasattr(options, "editor"):
        changes["configs"] = configs_of_one(changes["configs"], args, options.editor)
    if hasattr(options, "editors") and hasattr(options, "configs") and HELP & set(args):
        # Those of all would be a hundred.
        changes["configs"] = configs_of_named(changes["configs"], args, options.editors)
    if hasattr(options, "evaluations"):
        changes["evaluations"] = options.evaluations | own_evaluations(args)
    return replace(options, **changes) if changes else options  # type: ignore[type-var]


def _console() -> "Console":
    # rich is imported late, so that --help stays quick.
    from rich.console import Console

    columns = os.environ.get("COLUMNS", "")
    # What people call things is never read as a formatting instruction or an emoji.
    return Console(
        width=max(LEAST_WIDTH, int(columns)) if columns.isdecimal() else None,
        markup=False,
        emoji=False,
        highlight=False,
        stderr=bool(_documents),
        force_jupyter=False,
    )


def _place_in_own(error: BaseException, args: Sequence[str]) -> str:
    """Where an error comes from in the code of the user's that a command line names; nothing elsewhere."""
    modules = {name.partition(":")[0] for word in args for name in OWN.findall(word)}
    files = {getattr(sys.modules.get(name), "__file__", None) for name in modules}
    steps = [step for step in traceback.extract_tb(error.__traceback__) if step.filename in files]
    return f"{steps[-1].filename}, line {steps[-1].lineno}" if steps else ""


def _variable_behind(error: BaseException) -> str | None:
    """The variable of the environment that an error of JAX's speaks of, if one is set."""
    said = str(error).upper()
    return next((name for name in os.environ if name.startswith(("JAX_", "XLA_")) and name in said), None)


def _print_error(message: str) -> int:
    print(f"error: {escape_controls(message)}", file=sys.stderr)
    return BAD_INPUT
