"""What a newcomer sees: help, misspellings, progress without a terminal, interrupts at any moment."""

import io
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import strategies as st

from testbed import console, corpus, demo, edit, train, tune, waiting
from testbed.command_line import parse_options
from testbed.presets import CORPUS, DEFAULT_PRESET, EDIT, TRAIN
from tests.examples import holds_for
from tests.runs import RECIPE, ROOT, at, copied, python


def said_by(command, args, capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(args)
    shown = capsys.readouterr()
    return stop.value.code, shown.out, shown.err


@pytest.mark.parametrize("preset", CORPUS)
def test_help_shows_the_options_of_a_preset_and_how_presets_work(preset, capsys):
    args = ["--help"] if preset == DEFAULT_PRESET else [preset, "--help"]
    code, out, _ = said_by(corpus, args, capsys)
    text = " ".join(out.replace("│", " ").split())
    assert code == 0
    assert "--world.subjects INT" in text
    assert f"(default: {CORPUS[preset].world.subjects})" in text
    assert f"Presets: tiny (the default), {', '.join([*CORPUS][1:])}." in text
    assert f"Defaults below are those of {preset}" in text


@pytest.mark.parametrize("command", [corpus, train, edit, tune])
def test_a_misspelt_preset_says_which_there_are(command, capsys):
    code, _, err = said_by(command, ["tinny"], capsys)
    assert code == 2
    assert err.startswith("error: there is no preset 'tinny'; presets are tiny, laptop, small, ")


def test_other_words_than_presets_are_editors(tmp_path, capsys):
    assert edit.main(["romme", *at(tmp_path)]) == 2
    assert "did you mean rome?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "args", "says"),
    [
        (corpus, ["--world.subject", "3"], "    --world.subjects INT\n"),
        (corpus, ["--world.subjects", "1"], "error: --world.subjects must be at least 2\n"),
        (corpus, ["--world.columns", "a", "b", "c"], "error: --world.columns does nothing where"),
        (corpus, ["--tokenizer.vocabulary", "3"], "error: --tokenizer.vocabulary must be at least 64\n"),
        (corpus, ["--documents.sentences", "truth"], "error: --documents.sentences must name atomic"),
        (corpus, ["--documents.sentences", "atomic", "--kind", "exact"], "belongs to --kind published"),
        (corpus, ["--nonsense"], "error: unrecognized options: --nonsense"),
        (corpus, ["--world.builtin.zipf", "-1"], "error: --world.builtin.zipf must be a number"),
        (corpus, ["--world.builtin.zipf", "nan"], "error: --world.builtin.zipf must be a number"),
        (corpus, ["--seed=-1"], "error: --seed must not be negative; it is -1\n"),
        (corpus, ["--seed", "x"], "error: --seed: invalid literal"),
        (corpus, ["--exact.noise", "2"], "error: --exact.noise must be inside (0, 1)"),
        (train, ["--minutes", "0"], "error: --minutes must be a positive number; it is 0.0\n"),
        (train, ["--minutes", "nan"], "error: --minutes must be a positive number; it is nan\n"),
        (train, ["--model.rope-theta", "nan"], "error: --model.rope-theta should be a number; it is nan\n"),
        (train, ["--train.weight-decay", "inf"], "error: --train.weight-decay must be a number"),
        (edit, ["--batch-edits", "0"], "error: --batch-edits must be at least 1, or auto\n"),
        (edit, ["--lora-down.rank", "0"], "error: --lora-down.rank must be positive; it is 0\n"),
        (edit, ["--rome.drift", "nan"], "error: --rome.drift should be a number; it is nan\n"),
        (edit, ["--cases.credence", "2"], "error: --cases.credence is a probability"),
        (demo, ["tinny"], "error: invalid choice 'tinny' for argument 'preset'"),
    ],
)
def test_messages_are_in_the_words_that_were_typed(command, args, says, capsys):
    code, _, err = said_by(command, args, capsys)
    assert code == 2
    assert says in err
    assert not {"│", "╭", "─"} & set(err)
    for private in ("tyro", "Settings", "Config", "dummy", "Traceback"):
        assert private not in err
    lines = err.splitlines()
    assert len(set(lines)) == len(lines), "nothing is said twice"


NUMBERS = "--seed --world.subjects --train.steps --lora-down.rank --cases.count --minutes".split()
ODD = ["0", "-1", "nan", "inf", "1e309", "3", "x", "", "[red]", "$", "9" * 40, "--", "\u0663"]


@holds_for(
    st.sampled_from([CORPUS["tiny"], TRAIN["tiny"], EDIT["tiny"]]),
    st.lists(st.tuples(st.sampled_from(NUMBERS), st.sampled_from(ODD)), min_size=1, max_size=2),
    few=20,
    many=500,
)
def test_any_options_are_taken_as_typed_or_refused_in_the_words_of_users(default, typed):
    error = io.StringIO()
    try:
        with redirect_stderr(error):
            settings = parse_options(default, "x", "", [word for pair in typed for word in pair])
    except SystemExit:
        assert error.getvalue().startswith("error: ")
        assert not any(word in error.getvalue() for word in ("tyro", "Settings", "Traceback"))
    else:
        assert settings.seed == int(dict(typed).get("--seed", settings.seed))


@dataclass(frozen=True)
class Own:
    rates: tuple[float, ...] = (1.0,)
    more: dict[str, float] = field(default_factory=dict)


def test_numbers_that_are_none_are_refused_wherever_they_stand(capsys):
    with pytest.raises(SystemExit):
        parse_options(Own(), "x", "", ["--rates", "1", "nan"])
    assert "--rates should be a number; it is nan" in capsys.readouterr().err
    assert parse_options(Own(), "x", "", ["--rates", "1", "2"]).rates == (1.0, 2.0)


def test_without_a_terminal_a_line_now_and_then(capsys, monkeypatch):
    """Speed is that of what came after the first advance, which waits for compilation."""
    clock = iter([0.0, 4.0, 12.0, 13.0, 30.0, 31.0])
    monkeypatch.setattr(console.time, "perf_counter", lambda: next(clock))
    with console.show_progress("train", 100, done=20) as advance:
        advance(10)
        advance(14, "loss 1.000")
        advance(1)
        advance(55)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "train: 44 of 100, 1.75 a second, 0:00:32 left; loss 1.000",
        "train: 100 of 100 in 0:00:31; loss 1.000",
    ]


@pytest.mark.parametrize("width", [80, 200])
def test_on_a_terminal_numbers_survive_and_nothing_is_stretched(width, monkeypatch, capsys):
    from rich.console import Console

    wide = Console(width=width, force_terminal=True, markup=False, emoji=False, color_system=None)
    monkeypatch.setattr(console, "_console", lambda: wide)
    note = "loss 12.345  facts 100.0%  123,456 tokens/s, 100% peak"
    with console.show_progress("train", 900) as advance:
        advance(450, note)
    with wide.capture() as shown:
        wide.print("")
    out = capsys.readouterr().out + shown.get()
    assert note in out
    assert "450/900" in out
    assert all(len(line) <= 140 for line in out.replace("\r", "\n").split("\n"))


def interrupted(after, *args):
    # A job in the background ignores interrupts, and what it starts does, too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = python(*args, start_new_session=True)
    signal.signal(signal.SIGINT, before)
    # Python itself ends with 1 where it is interrupted while it starts: until it has loaded a library.
    maps = Path(f"/proc/{process.pid}/maps")
    while maps.exists() and process.poll() is None and "numpy" not in maps.read_text(encoding="utf-8"):
        time.sleep(0.05)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.parametrize("after", [1.0, *(pytest.param(x, marks=pytest.mark.slow) for x in (4, 12))])
def test_interrupts_are_quiet_at_any_moment(after, built, tmp_path):
    runs = copied(built, tmp_path)
    code, _, err = interrupted(after, "testbed.train", *at(runs), *RECIPE, "--train.steps", "100000")
    assert code in (130, -signal.SIGINT)
    assert "Traceback" not in err
    assert len([line for line in err.splitlines() if line and not line.endswith("...")]) <= 2


def test_an_environment_without_packages_is_named(tmp_path):
    """As with the system's Python: nothing of the project's packages is there."""
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-m", "testbed.corpus"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {sys.executable} has none of the packages")
    assert "run make .venv/.ready" in done.stderr
    assert "Traceback" not in done.stderr


def test_who_says_nothing_for_some_seconds_tells_what_it_does(monkeypatch):
    """Soon for the first time; then once for each thing that takes long. What is said begins a new wait."""
    monkeypatch.setattr(waiting, "AT_FIRST", 0.1)
    monkeypatch.setattr(waiting, "PATIENCE", 0.2)
    monkeypatch.setattr(waiting, "_LOOKS", 0.02)
    # A thread writes here: what capsys empties meanwhile may be lost.
    monkeypatch.setattr(sys, "stderr", told := io.StringIO())
    ended = waiting.tell_waits()
    while not told.getvalue():
        time.sleep(0.01)
    waiting.doing("scoring edits")
    while "scoring" not in told.getvalue():
        time.sleep(0.01)
    time.sleep(0.3)
    ended.set()
    assert told.getvalue() == "loading libraries ...\nscoring edits ...\n"
    waiting._work.since = 0.0
    console.say("a line")
    assert waiting._work.since > 0
    waiting.doing("")
