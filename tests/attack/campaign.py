"""A seeded campaign of hostile input, and what came of it: counts, each with the oracle that decides.

    python -m tests.attack.campaign [--seconds 600] [--seed 0] [--whole] [--only KIND ...] [--out FILE]

Every kind of input gets a share of the processor time; --whole takes fixed numbers instead: thousands of
tables, every file of a run damaged in five ways, 200 single bytes, 30 kills of each command.
"""

import argparse
import io
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from safetensors.numpy import load_file

from corpus.errors import InputError
from lm.huggingface import import_model
from testbed import corpus, edit, export, report, train, tune, verify
from testbed.command_line import parse_options
from testbed.engine.records import TABLES
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run, recorded_settings
from tests.runs import EDITS, RECIPE, WORLD, assert_same_training, at, copied, python
from tests.test_any_table import GOOD, PIECES
from tests.test_any_table import check_mutation as check_table
from tests.test_sources import MUTATIONS, WHOLE
from tests.test_sources import check_mutation as check_wikidata

WAYS = ("bit", "byte", "cut", "empty", "gone")
LONGEST = 600
"""Seconds of wall time after which one input counts as a hang."""
SEARCH = [*EDITS, "--trials", "2"]
KILLED = {
    "corpus": (corpus, WORLD, "the run alone, byte for byte"),
    "train": (train, RECIPE, "the same numbers and parameters"),
    "edit": (edit, EDITS, "the same tables but for seconds"),
    "tune": (tune, SEARCH, "the same search and choice"),
    "report": (report, [], "summary.csv, byte for byte"),
    "export": (export, [], "the folder, byte for byte"),
}
"""The commands that are killed, with their options and what decides whether going on made the same."""
COLUMNS = ("kind", "tried", "refused", "accepted", "tracebacks", "hangs", "silently wrong", "oracle")


class WrongError(Exception):
    """Something was accepted that the oracle says is not so."""


class Exhausted(Exception):  # noqa: N818
    """There is nothing left to try."""


class HangError(BaseException):
    """An input took for ever."""


class Attack(NamedTuple):
    """One kind of input.

    Attributes:
        once: tries one input; returns whether it was accepted, raises InputError where it was refused.
        oracle: decides what is silently wrong.
        share: of the time.
        whole: how many there are in the whole campaign.
    """

    name: str
    once: object
    oracle: str
    share: float
    whole: int


def quietly(command, args):
    """Exit code of a command, and what it says to standard error; refuses as the command does."""
    error = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(error):
        try:
            code = command.main([str(arg) for arg in args])
        except SystemExit as stop:
            code = stop.code
    if code == 2:
        assert error.getvalue().startswith("error: "), error.getvalue()
        raise InputError(error.getvalue())
    assert code == 0, code


def spans(text, pieces, rng, most, width):
    """A text with a few spans replaced, doubled or cut."""
    for _ in range(rng.randint(1, most)):
        start = rng.randint(0, len(text))
        end = rng.randint(start, min(len(text), start + width))
        text = text[:start] + rng.choice((*pieces, text[start:end] * 2)) + text[end:]
    return text


class Campaign:
    """All attacks on one folder."""

    def __init__(self, folder, rng):
        self.folder, self.rng = folder, rng
        self.took = {}
        """Seconds that a command takes which is not killed."""

    @cached_property
    def built(self):
        """A run with a corpus."""
        quietly(corpus, [*at(self.folder / "built"), *WORLD])
        return self.folder / "built"

    @cached_property
    def trained(self):
        """A run with a model too."""
        runs = copied(self.built, self.folder / "trained")
        quietly(train, [*at(runs), *RECIPE])
        return runs

    @cached_property
    def edited(self):
        """A run with edits too."""
        runs = copied(self.trained, self.folder / "edited")
        quietly(edit, [*at(runs), *EDITS])
        return runs

    @cached_property
    def searched(self):
        """A run with a model and a search."""
        runs = copied(self.trained, self.folder / "searched")
        quietly(tune, [*at(runs), *SEARCH])
        return runs

    @cached_property
    def whole(self):
        """A run with everything else."""
        runs = copied(self.edited, self.folder / "whole")
        quietly(report, at(runs))
        quietly(export, at(runs))
        return runs

    @cached_property
    def damaged(self):
        """A copy of it, of which one file at a time is damaged."""
        return copied(self.whole, self.folder / "damaged")

    @cached_property
    def files(self):
        """Every file of it that is not empty."""
        return sorted(p for p in (self.damaged / "x").rglob("*") if p.is_file() and p.stat().st_size)

    @cached_property
    def damages(self):
        """Each of them, in every way."""
        damages = [(path, way) for path in self.files for way in WAYS]
        self.rng.shuffle(damages)
        return damages

    def attacks(self):
        """Every kind, with its oracle."""
        return [
            Attack("tables", self.table, "a slow reader, line by line", 0.12, 4000),
            Attack("Wikidata files", self.wikidata, "a slow reader, line by line", 0.12, 4000),
            Attack("command lines", self.line, "what was typed; no private name", 0.06, 4000),
            Attack("model folders", self.hostile_model, "safetensors' own reading", 0.06, 1000),
            Attack("damaged files", self.damage, "the bytes differ, so verify must say so", 0.1, 500),
            Attack("single bytes", self.byte, "the bytes differ, so verify must say so", 0.05, 200),
            Attack("reading damage", self.reading, "summary.csv of the whole run, byte for byte", 0.1, 500),
            Attack("pairs of commands", self.pair, "the run alone, byte for byte", 0.06, 30),
            *(
                Attack(f"{name} killed", partial(self.killed, name), oracle, 0.055, 30)
                for name, (_, _, oracle) in KILLED.items()
            ),
        ]

    def table(self):
        refuses(check_table, self.folder / "mutated.tsv", spans(GOOD.encode(), PIECES, self.rng, 5, 8))

    def wikidata(self):
        texts, which = list(WHOLE), self.rng.choice([0, 0, 0, 1, 2])
        texts[which] = spans(texts[which], MUTATIONS, self.rng, 4, 6)
        folder = self.folder / "wikidata"
        folder.mkdir(exist_ok=True)
        refuses(check_wikidata, folder, texts)

    def line(self):
        default = self.rng.choice([CORPUS["tiny"], TRAIN["tiny"], EDIT["tiny"]])
        names = "--seed --world.subjects --train.steps --lora-down.rank --cases.count --minutes".split()
        values = ["0", "-1", "nan", "inf", "1e309", "3", "x", "", "[red]", "$", "9" * 40, "--", "\u0663"]
        typed = [(self.rng.choice(names), self.rng.choice(values)) for _ in range(self.rng.randint(1, 2))]
        args = [word for pair in typed for word in pair]
        error = io.StringIO()
        try:
            with redirect_stderr(error):
                settings = parse_options(default, "x", "", args)
        except SystemExit:
            said = error.getvalue()
            private = any(word in said for word in ("tyro", "Settings", "Traceback"))
            if private or not said.startswith("error: "):
                raise WrongError(f"{args}: {said}") from None
            raise InputError(said) from None
        last = dict(zip(args[::2], args[1::2], strict=True))
        if "--seed" in last and settings.seed != int(last["--seed"]):
            raise WrongError(f"{args}: {settings.seed}")

    def hostile_model(self):
        folder = self.folder / "hostile"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.whole / "x" / "huggingface", folder)
        path = folder / self.rng.choice(["config.json", "model.safetensors"])
        raw = path.read_bytes()
        head = raw[: 4000 if path.suffix == ".safetensors" else None]
        pieces = (b"", b"0", b"9" * 9, b'"', b"F16", b"\xff\xff", b"null")
        path.write_bytes(spans(head, pieces, self.rng, 3, 5) + raw[len(head) :])
        model = import_model(folder)
        theirs = load_file(folder / "model.safetensors")["model.embed_tokens.weight"]
        if not np.array_equal(np.asarray(model.params["embedding"]), theirs.astype(np.float32)):
            raise WrongError(str(path))

    def damage(self):
        """One file of a run damaged: found by verify, or the file is not needed."""
        if not self.damages:
            raise Exhausted
        path, how = self.damages.pop()
        whole = path.read_bytes()
        try:
            self._damage(path, how)
            quietly(verify, at(self.damaged))
            if not (how == "gone" and path.name in UNFINISHED):
                raise WrongError(f"{how} {path}")
        finally:
            path.write_bytes(whole)

    def byte(self):
        """One byte of one file changed to any other: found by verify."""
        path = self.rng.choice(self.files)
        whole = path.read_bytes()
        try:
            self._damage(path, "byte")
            quietly(verify, at(self.damaged))
            raise WrongError(str(path))
        finally:
            path.write_bytes(whole)

    def reading(self):
        """One file damaged: a report is refused, or the same."""
        if not hasattr(self, "summary"):
            self.summary = (self.whole / "x" / "report" / "summary.csv").read_bytes()
        runs = self.damaged
        path = self.rng.choice([p for p in self.files if not {"report", "huggingface"} & {*p.parts}])
        whole = path.read_bytes()
        try:
            self._damage(path, self.rng.choice(WAYS))
            quietly(report, at(runs))
            if (runs / "x" / "report" / "summary.csv").read_bytes() != self.summary:
                raise WrongError(str(path))
        finally:
            path.write_bytes(whole)

    def _damage(self, path, how):
        raw, place = path.read_bytes(), self.rng.randrange(path.stat().st_size)
        other = raw[place] ^ (1 << self.rng.randrange(8) if how == "bit" else self.rng.randrange(1, 256))
        if how == "gone":
            path.unlink()
        else:
            changed = raw[:place] + bytes([other]) + raw[place + 1 :]
            path.write_bytes({"cut": raw[:place], "empty": b""}.get(how, changed))

    def pair(self):
        """Two corpora of other seeds at once: one is refused, and the other is whole."""
        runs = self._fresh("pair")
        seeds = self.rng.sample(range(1000), 2)
        both = [python("testbed.corpus", *at(runs), *WORLD, "--seed", seed) for seed in seeds]
        said = [process.communicate()[1] for process in both]
        assert not any("Traceback" in error for error in said), said
        seed = recorded_settings(Run(runs, "x"), "corpus")[0]["seed"]
        quietly(corpus, [*at(self._fresh("alone")), *WORLD, "--seed", seed])
        self._same_files(runs, self.folder / "alone")

    def killed(self, name):
        """A command killed while it is at work, and given again: it makes what it makes alone."""
        command, options, _ = KILLED[name]
        runs = self._killed(name, options)
        quietly(command, [*at(runs), *options])
        try:
            self._same(name, runs)
        except AssertionError as error:
            raise WrongError(name) from error

    def _before(self, name):
        """A run as a command finds it; None for none."""
        return {"corpus": None, "train": self.built, "edit": self.trained, "tune": self.trained}.get(
            name, self.edited
        )

    def _same(self, name, runs):
        """Compare what a command has made with what it makes alone."""
        whole = self.searched if name == "tune" else self.whole
        if name == "train":
            assert_same_training(runs, whole)
        elif name == "edit":
            assert all(self._table(runs, table).equals(self._table(whole, table)) for table in TABLES)
        else:
            parts = {"corpus": ("world", "corpus"), "export": ("huggingface",)}
            parts |= {"tune": ("tuned",), "report": ("report/summary.csv",)}
            self._same_files(runs, whole, parts[name])

    def _table(self, runs, name):
        [path] = (runs / "x" / "edits" / "hase").glob(f"*/{name}.parquet")
        table = pq.read_table(path)
        return table.drop_columns("seconds") if name == "cases" else table

    def _killed(self, name, options):
        """A run in which a command was killed at a random moment of the time that it takes.

        Where it had ended before that moment, all begins anew, so that every kill hits.
        """
        while True:
            runs, before = self._fresh("killed"), self._before(name)
            if before:
                copied(before, runs)
            process, began = python(f"testbed.{name}", *at(runs), *options), time.monotonic()
            moment = self.rng.uniform(0, self.took[name]) if name in self.took else None
            try:
                said = process.communicate(timeout=moment)
                assert process.returncode == 0, said
                self.took[name] = time.monotonic() - began
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                if process.returncode == -signal.SIGKILL:
                    return runs

    def _fresh(self, name):
        shutil.rmtree(self.folder / name, ignore_errors=True)
        (self.folder / name).mkdir()
        return self.folder / name

    def _same_files(self, runs, others, parts=("world", "corpus")):
        for part in parts:
            place = others / "x" / part
            for path in sorted(p for p in (place, *place.rglob("*")) if p.is_file()):
                if path.read_bytes() != (runs / "x" / path.relative_to(others / "x")).read_bytes():
                    raise WrongError(str(path))


UNFINISHED = {"finished.json", "sha256.json"}
"""Where these are gone, a training or a sweep is unfinished, which is no damage."""


def refuses(check, *args):
    """Run a check of the tests, which says whether the input was accepted, and refuse as it does."""
    try:
        accepted = check(*args)
    except AssertionError as error:
        raise WrongError(repr(args[-1])) from error
    if not accepted:
        raise InputError("refused")


def processor_seconds():
    """What this process and its children that have ended took of processors."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def hangs(signum, frame):
    """What the alarm does."""
    raise HangError


def run(attack, seconds, count):
    """Counts of what came of one kind of input."""
    outcomes, end = Counter(), processor_seconds() + seconds
    while outcomes["tried"] < count and processor_seconds() < end:
        outcomes["tried"] += 1
        signal.alarm(LONGEST)
        try:
            attack.once()
            outcomes["accepted"] += 1
        except Exhausted:
            outcomes["tried"] -= 1
            return outcomes
        except InputError:
            outcomes["refused"] += 1
        except WrongError:
            outcomes["silently wrong"] += 1
            traceback.print_exc()
        except HangError:
            outcomes["hangs"] += 1
        except Exception:
            outcomes["tracebacks"] += 1
            traceback.print_exc()
        finally:
            signal.alarm(0)
    return outcomes


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="KIND")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, hangs)
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" + "|---:" * 6 + "|---|"]
    print(*lines, sep="\n", flush=True)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(Path(folder), random.Random(options.seed))
        for attack in (a for a in campaign.attacks() if not options.only or a.name in options.only):
            seconds = float("inf") if options.whole else attack.share * options.seconds
            outcomes = run(attack, seconds, attack.whole)
            bad += sum(outcomes[name] for name in ("tracebacks", "hangs", "silently wrong"))
            counts = [f"{outcomes[name]:,}" for name in COLUMNS[1:-1]]
            lines.append("| " + " | ".join([attack.name, *counts, attack.oracle]) + " |")
            print(lines[-1], flush=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
