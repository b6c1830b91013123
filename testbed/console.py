"""What commands say: lines, tables and progress by rich, or all of it as one JSON object."""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from testbed.cells import as_json, cell_text, escape_controls
from testbed.waiting import doing, was_heard

SECONDS_BETWEEN_LINES = 10.0
LEAST_WIDTH = 20


@contextmanager
def show_progress(description: str, total: int, done: int = 0) -> Iterator[Callable[..., None]]:
    """A bar with time left, or lines where no terminal is; yields `advance(steps, note="")`."""
    console = _console()
    doing("" if console.is_terminal else f"{description}: {total - done:,} to do, none done yet")
    if not console.is_terminal:
        yield from _show_lines(description, total, done)
        return
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
) -> Table:
    """A table as rich prints it."""
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


def _console() -> Console:
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
