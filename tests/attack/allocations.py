"""A command in which one allocation of Python's fails, and the same command after it.

    python -m tests.attack.allocations COMMAND FOLDER NUMBER ...

runs `testbed.COMMAND` in copies of FOLDER/x, in each with the NUMBERth allocation failing, then again. It
prints for each: the number, the first exit code, the second, whether all files are then those of the run
alone, and the last thing that was said. Python's allocations are those of its objects, the heads of NumPy's
arrays among them; not the arrays' numbers, nor what other libraries take from the system.
"""

import io
import os
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

from tests.runs import WORLD, at

OPTIONS = {"corpus": WORLD}


def files_of(run):
    """But for locks, which say which process had them."""
    return {
        str(p.relative_to(run)): p.read_bytes()
        for p in run.rglob("*")
        if p.is_file() and ".locks" not in p.parts
    }


def fail_allocation(command, words, number, said):
    """The exit code of a child in which one allocation fails; negative for a signal."""
    import _testcapi

    pid = os.fork()
    if not pid:
        code = 1
        file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        try:
            _testcapi.set_nomemory(number, number + 1)
            code = command.main(words)
        finally:
            _testcapi.remove_mem_hooks()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(name, folder, *numbers):
    command, folder = import_module(f"testbed.{name}"), Path(folder)
    words, runs = [*at(folder / "runs"), *OPTIONS.get(name, [])], folder / "runs"

    def run_again():
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            return command.main(words)

    def fresh():
        shutil.rmtree(runs, ignore_errors=True)
        runs.mkdir()
        if (folder / "x").exists():
            shutil.copytree(folder / "x", runs / "x")

    fresh()
    assert run_again() == 0
    whole = files_of(runs / "x")
    for number in map(int, numbers):
        fresh()
        first = fail_allocation(command, words, number, folder / "said")
        lines = (folder / "said").read_text(encoding="utf-8").strip().splitlines() or [""]
        print(number, first, run_again(), files_of(runs / "x") == whole, lines[-1], sep="\t", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
