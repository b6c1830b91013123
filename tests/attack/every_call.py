"""Every call of a command on its files, made to fail in turn: what is said, and what the same command makes.

    python -m tests.attack.every_call FOLDER [COMMAND ...] [--most N] [--writes] [--lasting]

In one process, in which everything is compiled: the folder of the runs is new for each failure, and lies in
the same place. All calls of the C library below it are counted (faults.c), those of Arrow and TensorStore,
too.
Every call that writes or removes is made to fail; of those that only read and are alike, as reads of one
file, one; with --writes, none. A call fails once (EIO); with --lasting, each call that writes, and all behind
it (ENOSPC). What came of each stands in FOLDER/COMMAND.jsonl, and the same command line goes on behind it.

The disk that a failure left is looked at byte for byte. Where a disk just like it was worked on before, the
same command is not run again on it.
"""

import ctypes
import errno
import faulthandler
import hashlib
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import zlib
from collections import Counter
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from corpus.errors import InputError
from corpus.files import CHECKSUMS, verify_folder

HERE = Path(__file__).parent
KEPT = "mine.txt"
"""What somebody put into a folder that a command writes again."""
LEFT_BEHIND = {".partial", ".earlier"}
"""How folders end that a failure leaves, until the same command is typed again."""
PATIENCE = 1800
"""Seconds after which a command hangs."""


def build_library(folder):
    """faults.c, compiled."""
    library = folder / "faults.so"
    source = HERE / "faults.c"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        command = ["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"]
        subprocess.run(list(map(str, command)), check=True)
    return library


@contextmanager
def failing(folder, log, number=0, error=errno.EIO, lasting=False):
    """Within it the `number`th call below the folder fails; 0 for none. Their names are written to `log`."""
    library = ctypes.CDLL(None)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    library.begin_faults(os.fsencode(folder), file, ctypes.c_long(number), error, int(lasting))
    try:
        yield
    finally:
        library.end_faults()
        os.close(file)


def read_calls(log):
    """The name of each call, whether it writes, and its path."""
    lines = (line.split("\t") for line in log.read_text(encoding="utf-8").splitlines())
    return {int(number): (name, writes == "1", path) for number, name, writes, path in lines}


def choose_calls(calls, only_writes, most):
    """The numbers of those that are made to fail, at most so many, spread evenly; or of those that write."""
    alike, chosen = {}, []
    for number, (name, writes, path) in sorted(calls.items()):
        if writes or name == "remove":
            chosen.append(number)
        elif not only_writes:
            alike.setdefault((name, path), []).append(number)
    # Some at the first of such calls, some at a later one.
    chosen += [numbers[zlib.crc32(f"{key}".encode()) % len(numbers)] for key, numbers in alike.items()]
    chosen.sort()
    wanted = min(most, len(chosen))
    return [chosen[i * len(chosen) // wanted] for i in range(wanted)]


def state_of(folder):
    """A hash of everything below a folder, but for which process holds it."""
    seen = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        seen.update(f"{path.relative_to(folder)}\0{path.is_dir()}\0".encode())
        if path.is_file() and path.name != ".holder":
            seen.update(hashlib.sha256(path.read_bytes()).digest())
    return seen.hexdigest()


class Trial:
    """A command, the runs that it begins with, and what counts of what it makes.

    Args:
        words: of its command line, without those that say where runs are.
        start: a folder that holds runs/, or None for nothing.
        outcome: (runs) -> what has to be the same after a failure.
        place: the folder of the runs while it works.
    """

    def __init__(self, name, words, start, outcome, place):
        self.name, self.words, self.start, self.outcome, self.place = name, words, start, outcome, place
        self.main = importlib.import_module(f"testbed.{name.partition(' ')[0]}").main
        self.log, self.resumed = place.parent / f"{name}.log", set()

    def prepare(self):
        shutil.rmtree(self.place, ignore_errors=True)
        if self.start:
            shutil.copytree(self.start, self.place, symlinks=True)
        else:
            self.place.mkdir()

    def run(self, *failure):
        """Exit code, and what was said on both outputs, while perhaps a call fails."""
        out, err = io.StringIO(), io.StringIO()
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        with redirect_stdout(out), redirect_stderr(err):
            try:
                with failing(self.place, self.log, *failure):
                    code = self.main(self.words)
            except SystemExit as end:
                code = f"exit {end.code}"
            except BaseException as error:
                code = f"{type(error).__name__}: {error}"
        faulthandler.cancel_dump_traceback_later()
        return code, out.getvalue(), err.getvalue()

    def learn(self):
        """The calls of a command that is let alone, twice, since the first compiles; and what it makes."""
        for _ in range(2):
            self.prepare()
            code, out, err = self.run()
            assert code == 0, (self.name, code, err)
        self.whole = self.read_result(out)
        return read_calls(self.log)

    def read_result(self, out):
        """What a command has made; of one that writes nothing, what it says."""
        return self.outcome(self.place), out if self.name == "ask" else ""

    def list_losses(self):
        """What a failure has taken: files that somebody put beside, and whole folders under a seal."""
        for path in self.start.rglob(KEPT) if self.start else ():
            if not (self.place / path.relative_to(self.start)).exists():
                yield f"{path.relative_to(self.start)} is gone"
        # One that begins with a dot is on its way out: the next command removes it.
        for path in (*self.place.glob("x/report"), *self.place.glob("examined/[!.]*")):
            if (path / CHECKSUMS).exists():
                try:
                    verify_folder(path)
                except InputError as error:
                    yield f"sealed, and not whole: {error}"

    def fail(self, number, error, lasting):
        """What comes of a failure at one call, as data; `wrong` is empty where all is well."""
        self.prepare()
        code, out, err = self.run(number, error, lasting)
        where, wrong = read_calls(self.log).get(number), []
        if code == 0 and where and self.read_result(out) != self.whole:
            wrong.append("ended well and made something else")
        if code not in (0, 2):
            wrong.append(f"ended with {code}")
        if code == 2 and not (err.startswith("error: ") and err.count("\n") == 1):
            wrong.append("more or less than one message")
        wrong += self.list_losses()
        left = state_of(self.place)
        if left not in self.resumed and not (self.name == "example" and self.outcome(self.place)):
            # An example that is there is never written over.
            again, out, more = self.run()
            if again != 0:
                wrong.append(f"the same command then ended with {again}: {more.strip()[-300:]}")
            elif self.read_result(out) != self.whole:
                wrong.append("the same command then made something else")
            elif partial := [str(p) for p in self.place.rglob("*") if set(p.suffixes) & LEFT_BEHIND]:
                wrong.append(f"left {partial[0]}")
            else:
                self.resumed.add(left)
        return {"call": where, "code": str(code), "said": err.strip()[:500], "wrong": wrong}


def work(trial, most, writes, lasting, results):
    """Fail the calls of a command that were not tried before, one after another; how many are wrong."""
    calls = trial.learn()
    done = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    tried = {one["number"]: one for one in done}
    chosen = choose_calls(calls, writes, most)
    for i, number in enumerate(chosen):
        if number in tried:
            continue
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"number": number, "wrong": ["hung or died"], "code": ""}) + "\n")
        errors = (errno.ENOSPC,) if lasting else (errno.EIO,)
        one = {"number": number} | trial.fail(number, errors[i % len(errors)], lasting)
        tried[number] = one
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(one) + "\n")
        if one["wrong"]:
            print(trial.name, json.dumps(one), flush=True)
    came = Counter(one["code"] for one in tried.values() if one.get("call"))
    wrong = sum(bool(one["wrong"]) for one in tried.values())
    reached = sum(came.values())
    unlike = len(choose_calls(calls, writes, len(calls)))
    print(
        f"{trial.name}: {len(calls)} calls, {unlike} {'that write' if writes else 'unlike each other'}, "
        f"{reached} made to fail: "
        f"{came['2']} refused, {came['0']} whole all the same, {wrong} wrong",
        flush=True,
    )
    return wrong


def parse_words(words):
    """The folder, names of commands, how many failures at most, and what begins with two dashes."""
    flags = {word for word in words if word.startswith("--")}
    most = int(words[words.index("--most") + 1]) if "--most" in words else 1_000_000
    plain = [word for word in words if word not in flags and word != str(most)]
    return Path(plain[0]).resolve(), plain[1:], most, flags


def main():
    from tests.attack.trials import list_trials

    folder, names, most, flags = parse_words(sys.argv[1:])
    # What one failure leaves behind is collected during another.
    sys.unraisablehook = lambda _: None
    wrong, lasting = 0, "--lasting" in flags
    writes = lasting or "--writes" in flags
    for trial in list_trials(folder, names):
        suffix = "-lasting" if lasting else ""
        wrong += work(trial, most, writes, lasting, folder / f"{trial.name.replace(' ', '-')}{suffix}.jsonl")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    if not sys.argv[1:] or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    if "faults.so" not in os.environ.get("LD_PRELOAD", ""):
        place = parse_words(sys.argv[1:])[0]
        place.mkdir(parents=True, exist_ok=True)
        os.environ |= {"LD_PRELOAD": str(build_library(place)), "COLUMNS": "500"}
        os.execv(sys.executable, [sys.executable, "-m", "tests.attack.every_call", *sys.argv[1:]])
    main()
