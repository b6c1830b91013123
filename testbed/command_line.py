"""A command line as settings, by tyro; what is wrong with it is said in the words that were typed."""

import io
import math
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

import docstring_parser
import tyro
from docstring_parser import Docstring, DocstringStyle

Options = TypeVar("Options")
HELP = {"-h", "--help"}
# Every option is described by a docstring; looking for comments takes a tenth of a second.
CONFIG = (tyro.conf.HelptextFromCommentsOff,)
RULES = set("╭╮╰╯─-+ ")
MOST = {
    "--cases.count": 1_000_000,
    "--top": 1000,
    "--train.rows": 1_000_000,
    "--train.row-length": 1_000_000,
    "--threads": 4096,
    "--trials": 10_000,
}
"""What single options may be at most; what is typed beyond is a slip that would take hours or all memory."""
MOST_OF_ANYTHING = 10**9
WIDE = "1000"
"""Columns of messages that are not for a terminal yet, so that none is broken."""


def parse_options(default: Options, prog: str, description: str, args: Sequence[str]) -> Options:
    """Settings as the command line says, otherwise as `default`.

    Raises:
        SystemExit: after help was shown, or with code 2 after a message.
    """
    kind: Any = type(default)
    arguments: Any = {
        "prog": prog,
        "description": description,
        "args": [_spell_flag(arg, default) for arg in args],
        "default": default,
        "config": CONFIG,
    }
    if HELP & set(args):
        with _joined_descriptions():
            return tyro.cli(kind, **arguments)
    errors = io.StringIO()
    try:
        with redirect_stderr(errors), _terminal_width(WIDE), _joined_descriptions():
            settings = tyro.cli(kind, **arguments)
    except SystemExit:
        print(_error_message(errors.getvalue(), default, prog), file=sys.stderr)
        raise
    for option, value in _number_options(settings):
        most = MOST.get(option, math.inf if option.endswith("seed") else MOST_OF_ANYTHING)
        wrong = "" if math.isfinite(value) else f"should be a number; it is {value}"
        wrong = wrong or (f"should be at most {most:,}; it is {value:,}" if abs(value) > most else "")
        if wrong:
            print(f"error: {option} {wrong}", file=sys.stderr)
            raise SystemExit(2)
    return settings


def _spell_flag(arg: str, default: Any) -> str:
    """--flag=true and --flag=false as --flag and --no-flag; anything else as it is."""
    flag = re.fullmatch(r"(--(?:[\w-]+\.)*)([\w-]+)=(true|false)", arg, re.IGNORECASE)
    if not flag or f"{flag[1]}no-{flag[2]}" not in option_names(default):
        return arg
    return f"{flag[1]}{'' if flag[3].lower() == 'true' else 'no-'}{flag[2]}"


def _number_options(value: Any, option: str = "-") -> Iterator[tuple[str, float]]:
    """Every setting that is a number, by its option."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield option, value
    elif isinstance(value, tuple):
        for one in value:
            yield from _number_options(one, option)
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _number_options(one, f"--{name}")
    elif is_dataclass(value):
        for f in fields(value):
            joint = "-" if option == "-" else "."
            yield from _number_options(getattr(value, f.name), f"{option}{joint}{f.name.replace('_', '-')}")


def option_names(value: Any, prefix: str = "--") -> Iterator[str]:
    """Every option of a command with these settings, spelt as it is typed."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from option_names(one, f"--{name}.")
        return
    hints = get_type_hints(type(value), include_extras=True)
    for f in fields(value):
        one, markers = getattr(value, f.name), getattr(hints[f.name], "__metadata__", ())
        renamed = next((marker for marker in markers if getattr(marker, "name", None)), None)
        if renamed and renamed.prefix_name is False:
            yield f"--{renamed.name}"
            continue
        name = (renamed.name if renamed else f.name).replace("_", "-")
        if any(marker in (tyro.conf.Suppress, tyro.conf.Positional) for marker in markers):
            continue
        if is_dataclass(one):
            yield from option_names(one, f"{prefix}{name}.")
        elif isinstance(one, Mapping):
            yield from option_names(one)
        else:
            yield f"{prefix}{name}"
            if isinstance(one, bool):
                yield f"{prefix}no-{name}"


def _error_message(tyro_text: str, default: Any, prog: str) -> str:
    """What tyro says, without frames and names of classes, on one line where it is one sentence."""
    bare = [line.replace("│", " ").rstrip() for line in tyro_text.splitlines()[1:]]
    lines = textwrap.dedent("\n".join(line for line in bare if set(line) - RULES)).splitlines()
    lines = [line for line in lines if not line.startswith("For full helptext")]
    text = "\n".join(_name_options(line, default) for line in lines) or tyro_text
    text = text[:1].lower() + text[1:]
    return f"error: {text}\n{prog} --help shows every option"


def _name_options(line: str, default: Any) -> str:
    """A line of tyro's, where it is about settings with the names of their options."""
    match = re.fullmatch(r"Error parsing ([\w.:-]+): (.*)", line)
    if not match:
        return line
    path, text = match.groups()
    if path.startswith("-"):
        return f"{path}: {text}"
    part, prefix = default, ""
    for name in path.split("."):
        if name == type(default).__name__:
            continue
        part = part.get(name) if isinstance(part, Mapping) else getattr(part, name.replace("-", "_"), None)
        # Settings that lie in a dictionary have their own prefix alone.
        prefix += "" if isinstance(part, Mapping) else f"{name.replace('_', '-')}."
    names = sorted((f.name for f in fields(part)), key=len, reverse=True) if is_dataclass(part) else []
    for name in names:
        option = f"--{prefix}{name.replace('_', '-')}"
        # What is quoted is a value.
        text = re.sub(rf"(?<![\w.'-])(?:{name}|{name.replace('_', '-')})(?![\w'-])", option, text)
    return text


@contextmanager
def _joined_descriptions() -> Iterator[None]:
    """Each option's description as one paragraph; tyro keeps the line breaks of indented docstrings."""
    parse = docstring_parser.parse_from_object

    def parse_joined(obj: Any, style: DocstringStyle = DocstringStyle.AUTO) -> Docstring:
        try:
            found = parse(obj, style)
        except TypeError:
            # A class that no loaded module holds, as that of an isolated editor.
            found = docstring_parser.parse(obj.__doc__ or "", style)
        for part in found.params:
            part.description = " ".join((part.description or "").split())
        return found

    docstring_parser.parse_from_object = parse_joined
    try:
        yield
    finally:
        docstring_parser.parse_from_object = parse


@contextmanager
def _terminal_width(count: str) -> Iterator[None]:
    """Messages as wide as that."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = count
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
