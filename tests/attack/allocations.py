"""Allocations of a command that fail, one at a time: what is said, and what the same command then makes.

    python -m tests.attack.allocations FOLDER [COMMAND ...] [--most N] [--arrays]

Counted are Python's own (raw, memory, objects), or with --arrays those of the numbers of NumPy's arrays in
the main thread; not what other libraries take from the system. At most N of a command are made to fail,
spread evenly. Each runs in a process that was forked from one in which libraries are loaded and JAX has not
begun; commands and starts are those of trials.py. What came of each stands in FOLDER/COMMAND.KIND.jsonl, and
the same command line goes on behind it.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import traceback
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.attack.every_call import parse_words, state_of

HERE = Path(__file__).parent
SET_HANDLER = 304
"""The place of `PyDataMem_SetHandler` in NumPy's table of functions."""
PATIENCE = 300
"""Seconds after which a command hangs."""
FIRST = 50
"""Those before it are made by what counts them."""


def load_library(folder):
    library = folder / "allocations.so"
    if not library.exists():
        source = HERE / "allocations.c"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return ctypes.PyDLL(str(library))


@contextmanager
def failing_allocation(library, number, arrays):
    """Within it one allocation fails; yields a list that has their count behind it."""
    counted, begin = [], library.begin_arrays if arrays else library.begin_python
    if arrays:
        begin.restype, python = ctypes.c_void_p, ctypes.pythonapi
        python.PyCapsule_GetPointer.restype = ctypes.c_void_p
        python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        python.PyCapsule_New.restype = ctypes.py_object
        python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        table = python.PyCapsule_GetPointer(np._core._multiarray_umath._ARRAY_API, None)
        address = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[SET_HANDLER]
        set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)
        before = set_handler(python.PyCapsule_New(begin(ctypes.c_long(number)), b"mem_handler", None))
    else:
        begin(ctypes.c_long(number))
    try:
        yield counted
    finally:
        end = library.end_arrays if arrays else library.end_python
        end.restype = ctypes.c_long
        counted.append(end())
        if arrays:
            set_handler(before)


def in_child(function, said):
    """What a function returns that JSON can hold, run in a fork, with all that is said written to a file.

    None where the process ended otherwise.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        # Orbax waits for ever where a part of it fails in another thread.
        signal.alarm(PATIENCE)
        try:
            file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, 1)
            os.dup2(file, 2)
            result = json.dumps(function())
            sys.stdout.flush()
            sys.stderr.flush()
            with os.fdopen(writing, "w") as pipe:
                pipe.write(result)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        result = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(result) if result else None


def work(trial, most, arrays, results, library):
    """Fail allocations of a command that were not tried before; how many are wrong."""
    said = trial.place.parent / "said"

    def run(number, fails):
        def run_command():
            if not fails:
                return [trial.main(trial.words), 0, ""]
            with failing_allocation(library, number, arrays) as counted:
                try:
                    code = trial.main(trial.words)
                except BaseException as error:
                    code = f"{type(error).__name__}"
                    library.end_python()
                    traceback.print_exc()
            return [code, counted[0], ""]

        return in_child(run_command, said) or ["hung or died", 0, ""]

    def find_outcome():
        return in_child(lambda: repr(trial.outcome(trial.place)), said.with_name("outcome"))

    trial.prepare()
    code, count, _ = run(0, True)
    assert code == 0, said.read_text()
    whole, resumed = find_outcome(), set()
    done = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    tried = {one["number"]: one for one in done}
    for number in (FIRST + i * count // most for i in range(most)):
        if number in tried:
            continue
        trial.prepare()
        code, _, _ = run(number, True)
        text = said.read_text(encoding="utf-8").strip()
        wrong = [] if code in (0, 2) else [f"ended with {code}"]
        last = (text.splitlines() or [""])[-1]
        if code == 2 and not (last.startswith("error: ") and "Traceback" not in text):
            wrong.append("more or less than one message")
        if code == 0 and find_outcome() != whole:
            wrong.append("ended well and made something else")
        left = state_of(trial.place)
        if left not in resumed and not (trial.name == "example" and find_outcome() == whole):
            again = run(0, False)[0]
            if again != 0:
                wrong.append(f"the same command then ended with {again}: {said.read_text()[-300:]}")
            elif find_outcome() != whole:
                wrong.append("the same command then made something else")
            else:
                resumed.add(left)
        one = {"number": number, "code": str(code), "said": text[-600:] if wrong else last, "wrong": wrong}
        tried[number] = one
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(one) + "\n")
        if wrong:
            print(trial.name, json.dumps(one), flush=True)
    came = Counter(one["code"] for one in tried.values())
    wrong = sum(bool(one["wrong"]) for one in tried.values())
    print(
        f"{trial.name}: {count:,} allocations{' of arrays' if arrays else ''}, {len(tried)} made to fail: "
        f"{came['2']} refused, {came['0']} whole all the same, {wrong} wrong",
        flush=True,
    )
    return wrong


def main():
    # What takes long to be loaded is there before the first fork.
    import flax.nnx  # noqa: F401
    import matplotlib.figure  # noqa: F401
    import optax  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    from orbax.checkpoint import v1  # noqa: F401

    from tests.attack.trials import list_trials

    folder, names, most, flags = parse_words(sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    library, arrays, wrong = load_library(folder), "--arrays" in flags, 0
    for trial in list_trials(folder, names, apart=True):
        kind = "arrays" if arrays else "allocations"
        results = folder / f"{trial.name.replace(' ', '-')}.{kind}.jsonl"
        wrong += work(trial, min(most, 1000), arrays, results, library)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
