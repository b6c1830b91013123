"""What commands say: lines, tables and progress by rich, or all of it as one JSON object."""

import json
import logging
import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from rich.box import SIMPLE
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from testbed.cells import as_json, cell_text, escape_controls
from testbed.waiting import doing, was_heard

SECONDS_BETWEEN_LINES = 10.0
SECONDS_TO_ESTIMATE = 1.0
"""From the first advance, which waits for programs to be compiled, to a first estimate of the time left."""
LEAST_WIDTH = 20
WIDEST = 1000
"""Columns where no terminal is, so that a file or another program gets every row on a line."""


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
        is_first = first == done
        if is_first:
            first, since = steps_made, now
        if now - last >= SECONDS_BETWEEN_LINES and steps_made < total:
            last, speed = now, (steps_made - first) / (now - since) if now > since else 0.0
            show(
                f", {speed:,.3g} a second, {format_time((total - steps_made) / speed)} left" if speed else ""
            )
        if is_first:
            last = now + SECONDS_TO_ESTIMATE - SECONDS_BETWEEN_LINES

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
        said = {"title": title, "columns": list(header), "rows": as_json(rows)}
        for document in _documents:
            document["tables"].append(said)
        return
    console = _console()
    for table in draw_tables(title, header, rows, numbers, console.width):
        console.print(table)


def draw_tables(
    title: str, header: Sequence[str], rows: Sequence[Sequence[object]], numbers: bool, width: int
) -> Iterator[Table]:
    """A table as rich prints it in so many columns: no number is broken, and no name is cut.

    What is too wide lies on its side, with as many of the rows beside each other as there is room for.
    """
    texts = [[*map(cell_text, row)] for row in rows]
    heads = [*map(escape_controls, header)]
    if not numbers or _least_width(heads, texts) <= width:
        yield _draw_texts(title, heads, texts, numbers, width)
        return
    for count in range(len(texts), 0, -1):
        turned = [[*zip(heads, *texts[i : i + count], strict=True)] for i in range(0, len(texts), count)]
        if count == 1 or all(_least_width(part[0], part[1:]) <= width for part in turned):
            yield from (_draw_texts(title, part[0], part[1:], numbers, width) for part in turned)
            return


def _column_widths(heads: Sequence[str], texts: Sequence[Sequence[str]]) -> list[int]:
    """The least that each column needs: its longest cell, and the longest word of its head."""
    return [
        max(map(cell_len, (*head.split(), *(row[i] for row in texts))), default=1)
        for i, head in enumerate(heads)
    ]


def _least_width(heads: Sequence[str], texts: Sequence[Sequence[str]]) -> int:
    return sum(_column_widths(heads, texts)) + len(heads) + 1


def _draw_texts(
    title: str, heads: Sequence[str], texts: Sequence[Sequence[str]], numbers: bool, width: int
) -> Table:
    out = Table(
        title=escape_controls(title),
        title_justify="left",
        title_style="bold",
        box=SIMPLE,
        padding=(0, 1, 0, 0) if not numbers else 0,
        min_width=min(len(title), width),
    )
    whole = sum(max(map(cell_len, column)) + 1 for column in zip(heads, *texts, strict=True)) < width
    for i, (head, least) in enumerate(zip(heads, _column_widths(heads, texts), strict=True)):
        lines = head if whole or not numbers else "\n".join(textwrap.wrap(head, least))
        side: Literal["left", "right"] = "right" if numbers and i else "left"
        out.add_column(lines, justify=side, overflow="fold")
    for row in texts:
        out.add_row(*row)
    return out


def _console() -> Console:
    columns, out = os.environ.get("COLUMNS", ""), sys.stderr if _documents else sys.stdout
    at_terminal = out is not None and out.isatty()
    width = max(LEAST_WIDTH, int(columns)) if columns.isdecimal() else None if at_terminal else WIDEST
    # What people call things is never read as a formatting instruction or an emoji.
    return Console(
        width=width, markup=False, emoji=False, highlight=False, stderr=bool(_documents), force_jupyter=False
    )
