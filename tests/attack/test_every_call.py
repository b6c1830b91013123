"""A disk that fails at any call of any command: one message, code 2, and the same command makes all the same.

    python -m pytest -m slow -s tests/attack/test_every_call.py     (CALLS=1000000 for every call)

prints how many calls there are, how many of them were made to fail, spread evenly, and what came of it.
"""

import errno
import os
import shutil
from collections import Counter

import pytest

from corpus.files import CHECKSUMS
from testbed import corpus, edit, export, report, train, tune, verify
from testbed.run.runs import Run
from tests.attack.disk import failing_disk
from tests.edited import tables
from tests.runs import EDITS, RECIPE, WORLD, assert_same_training, at, copied

CALLS = int(os.environ.get("CALLS", "12"))
SEARCH = [*EDITS, "--trials", "2"]
ERRORS = (errno.EIO, errno.ENOSPC)


def folders(*names):
    def same(runs, whole):
        for name in names:
            assert files_of(runs / "x" / name) == files_of(whole / "x" / name), name

    return same


def files_of(folder):
    """What lies there but for what a killed attempt left aside."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


def same_edits(runs, whole):
    [mine], [theirs] = (list(Run(at, "x").edits.glob("hase/*/" + CHECKSUMS)) for at in (runs, whole))
    for (name, table), (other_name, other) in zip(
        tables(mine.parent).items(), tables(theirs.parent).items(), strict=True
    ):
        assert name == other_name
        assert table.equals(other), name


COMMANDS = {
    "corpus": (corpus, WORLD, None, folders("world", "corpus")),
    "train": (train, RECIPE, "built", assert_same_training),
    "edit": (edit, EDITS, "trained", same_edits),
    "tune": (tune, SEARCH, "trained", folders("tuned")),
    "report": (report, [], "finished", folders("report")),
    "export": (export, [], "trained", folders("huggingface")),
    "verify": (verify, [], "finished", folders(".")),
}


def spread(count, most):
    """At most so many numbers from 1 to `count`, evenly."""
    return sorted({1 + round(i * (count - 1) / max(most - 1, 1)) for i in range(min(most, count))})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_failure_at_any_call_ends_in_a_message_and_loses_nothing(
    name, request, tmp_path, capsys, monkeypatch
):
    command, options, start, same = COMMANDS[name]
    monkeypatch.setenv("COLUMNS", "500")

    def fresh(place):
        shutil.rmtree(tmp_path / place, ignore_errors=True)
        (tmp_path / place).mkdir()
        if start:
            copied(request.getfixturevalue(start), tmp_path / place)
        return tmp_path / place

    # In the same place, since some files say where the run is.
    runs, whole = fresh("runs"), tmp_path / "whole"
    with failing_disk(runs) as disk:
        assert command.main([*at(runs), *options]) == 0
    runs.rename(whole)
    calls = len(disk.calls)
    assert calls > 10
    came = Counter()
    for i, number in enumerate(spread(calls, CALLS)):
        runs, error = fresh("runs"), ERRORS[i % len(ERRORS)]
        capsys.readouterr()
        with failing_disk(runs, number, error) as disk:
            code = command.main([*at(runs), *options])
        where = disk.calls[number - 1] if len(disk.calls) >= number else "not reached"
        said = capsys.readouterr().err
        assert code in (0, 2), (where, said)
        if code == 2:
            assert said.startswith("error: "), (where, said)
            assert said.count("\n") == 1, (where, said)
            assert "Traceback" not in said
        came["refused" if code else "done all the same"] += 1
        assert command.main([*at(runs), *options]) == 0, (where, capsys.readouterr().err)
        same(runs, whole)
        assert not list((runs / "x").rglob("*.partial")), where
    with capsys.disabled():
        print(f"\n{name}: {calls} calls, {sum(came.values())} failed in turn: {dict(came)}")
