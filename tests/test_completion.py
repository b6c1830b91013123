"""Completion in bash offers what the commands take, and every option is one that they know."""

import contextlib
import io
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import pytest
import tyro

from testbed.__main__ import COMMANDS
from testbed.command_line import option_names, parse_options
from testbed.completion import main, options_of
from testbed.presets import CORPUS, DEFAULT_PRESET


@pytest.fixture(scope="module")
def script():
    """What is printed, as bash reads it."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([]) == 0
    return out.getvalue()


def complete(script, *words):
    """What bash offers at the end of a line of these words."""
    quoted = " ".join(f"'{word}'" for word in words)
    line = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _credence; echo ${{COMPREPLY[@]}}"
    return subprocess.run(
        ["bash", "-c", f"{script}\n{line}"], capture_output=True, text=True, check=True
    ).stdout.split()


@dataclass(frozen=True)
class Odd:
    hidden: tyro.conf.Suppress[int] = 1
    first: tyro.conf.Positional[str] = ""
    with_cases: Annotated[bool, tyro.conf.arg(name="cases")] = False


def test_options_are_named_as_they_are_typed():
    assert list(option_names(Odd())) == ["--cases", "--no-cases"]


def test_every_command_is_offered(script):
    assert complete(script, "credence", "") == [*COMMANDS, "completion"]
    assert complete(script, "credence", "ver") == ["verify"]


def test_words_are_those_of_the_command(script):
    assert complete(script, "credence", "edit", "rom") == ["rome"]
    assert complete(script, "credence", "edit", "lap") == ["laptop"]
    assert complete(script, "credence", "edit", "tiny", "--rome.dep") == ["--rome.depth"]
    assert complete(script, "credence", "report", "--and") == ["--and-runs"]
    assert complete(script, "credence", "report", "--rome") == []
    assert complete(script, "credence", "example", "my_ev") == ["my_evaluation"]
    assert {"tiny", "paper"} <= set(complete(script, "credence", "demo", ""))


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_those_of_the_help(command, script, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    options = options_of(command)
    default = options[DEFAULT_PRESET] if isinstance(options, Mapping) else options
    with pytest.raises(SystemExit):
        parse_options(default, command, "", ["--help"])
    shown = set(
        re.findall(
            r"^[│ ]*(?:-h, )?(--[a-z][\w.-]*)(?:, (--[a-z][\w.-]*))?", capsys.readouterr().out, re.MULTILINE
        )
    )
    shown = {option for pair in shown for option in pair if option}
    offered = {word for word in complete(script, "credence", command, "--") if word != "--json"}
    assert offered == shown


def test_flags_may_be_spelt_with_their_value():
    default = CORPUS["tiny"]
    for args, stats, strict in (
        (["--stats=true", "--world.strict=True"], True, True),
        (["--stats", "--stats=false"], False, False),
        (["--world.strict", "--stats=FALSE"], False, True),
    ):
        options = parse_options(default, "corpus", "", args)
        assert (options.stats, options.world.strict) == (stats, strict)
    with pytest.raises(SystemExit):
        parse_options(default, "corpus", "", ["--stats=maybe"])
