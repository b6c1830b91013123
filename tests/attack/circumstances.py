"""Commands under odd circumstances: what surrounds a process changes no number and ends in no traceback.

    python -m tests.attack.circumstances FOLDER [NAME ...]

Each circumstance runs commands on a copy of one small run. Right is: the same numbers as without it, or one
message and code 2, or where a reader went away no word at all.
"""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from testbed import corpus, edit, report, train
from testbed.run.runs import Run
from tests.edited import tables
from tests.runs import EDITS, RECIPE, ROOT, WORLD, at

ASK = ["testbed.ask", "Ada Marlow educated at"]
AGAIN = ["testbed.edit", *EDITS, "--seed", "1"]
PAGE = ["testbed.report"]
FROM_NOTHING = ["testbed.corpus", *WORLD, "--seed", "3"]
# Name: a shell's words around a command ({}), and the commands.
AROUND = {
    "assertions off": ("PYTHONOPTIMIZE=1 {}", [FROM_NOTHING, AGAIN, PAGE, ASK]),
    "docstrings off": ("PYTHONOPTIMIZE=2 {}", [FROM_NOTHING, AGAIN, PAGE, ASK]),
    "warnings are errors": ("PYTHONWARNINGS=error {}", [FROM_NOTHING, AGAIN, PAGE]),
    "another order of sets": ("PYTHONHASHSEED=7 {}", [FROM_NOTHING, AGAIN, PAGE]),
    "an ASCII locale": ("LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {}", [FROM_NOTHING, PAGE, ASK]),
    "another time zone": ("TZ=Pacific/Kiritimati {}", [PAGE]),
    "no home": ("env -u HOME {}", [ASK]),
    "a home that is not there": ("HOME=/nowhere/at/all {}", [ASK]),
    "a cache that is a file": ("XDG_CACHE_HOME=/dev/null {}", [ASK]),
    "no folder for what is temporary": ("TMPDIR=/nowhere {}", [FROM_NOTHING, PAGE]),
    "one column": ("COLUMNS=1 {}", [ASK]),
    "no column": ("COLUMNS=0 {}", [ASK]),
    "no input": ("{} <&-", [ASK, AGAIN]),
    "no output": ("{} >&-", [FROM_NOTHING, ASK, AGAIN]),
    "no errors": ("{} 2>&-", [ASK, AGAIN]),
    "neither": ("{} >&- 2>&-", [ASK]),
    "a reader that goes away": ("{} | head -c 1", [ASK, PAGE]),
    "a full output": ("{} > /dev/full", [ASK, PAGE]),
    "files of a kilobyte": ("ulimit -f 1; PYTHONDONTWRITEBYTECODE=1 {}", [FROM_NOTHING, PAGE]),
    "few open files": ("ulimit -n 24; {}", [FROM_NOTHING, AGAIN, PAGE]),
    "little memory": ("ulimit -v 1500000; {}", [FROM_NOTHING, ASK]),
    "no rights in new files": ("umask 0777; {}", [FROM_NOTHING, PAGE]),
    "no such device": ("JAX_PLATFORMS=cuda {}", [ASK]),
    "no such platform": ("JAX_PLATFORMS=nonsense {}", [ASK]),
    "a flag that is no truth value": ("JAX_ENABLE_X64=perhaps {}", [ASK]),
    "strict types": ("JAX_NUMPY_DTYPE_PROMOTION=strict {}", [ASK]),
    "strict ranks": ("JAX_NUMPY_RANK_PROMOTION=raise {}", [ASK]),
    "numbers are looked at": ("JAX_DEBUG_NANS=1 {}", [AGAIN]),
    "leaks are looked for": ("JAX_CHECK_TRACER_LEAKS=1 {}", [ASK]),
    "no threads at all": ("OMP_NUM_THREADS=0 {}", [ASK]),
    "a folder that is gone": ("mkdir gone && cd gone && rmdir ../gone && {}", [ASK]),
}  # fmt: skip


def make_run(folder):
    """One that is finished."""
    runs = folder / "whole"
    if not (runs / "x" / "report").exists():
        for command, options in ((corpus, WORLD), (train, RECIPE), (edit, EDITS), (report, [])):
            assert command.main([*at(runs), *options]) == 0
    return runs


def say_and_end(words, around, runs, run="x"):
    """Exit code and what was said."""
    command = shlex.join([sys.executable, "-m", *words, *at(runs)[:2], f"--run={run}"])
    text = "set -o pipefail; " + around.replace("{}", f"PYTHONPATH={ROOT} {command}")
    done = subprocess.run(["bash", "-c", text], cwd=runs, capture_output=True, timeout=600, check=False)
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


def outcome_of(runs):
    """What has to be the same, by name."""
    run, seen = runs / "x", {}
    for name in ("corpus/tokens.bin", "world/graph.npz", "report/summary.csv"):
        if (run / name).exists():
            seen[name] = (run / name).read_bytes()
    for folder in sorted(Run(runs, "x").edits.glob("*/*")):
        if (folder / "sha256.json").exists():
            seen |= {f"{folder.name} {name}": table for name, table in tables(folder).items()}
    return seen


def main(folder, names, most=None):
    """How many commands went wrong; of each circumstance at most so many are run."""
    whole, bad = make_run(folder), 0
    plain = {}
    for name, (around, commands) in AROUND.items():
        if names and name not in names:
            continue
        for words in commands[:most]:
            key = words[0]
            seen = []
            for how in ("{}", around):
                if how == "{}" and key in plain:
                    seen.append(plain[key])
                    continue
                place = folder / "place"
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir()
                if key != "testbed.corpus":
                    shutil.copytree(whole / "x", place / "x")
                code, said = say_and_end(words, how, place)
                subprocess.run(["chmod", "-R", "u+rwX", str(place)], check=False)
                seen.append((code, said, outcome_of(place)))
                if how == "{}":
                    plain[key] = seen[-1]
            (_, _, right), (code, said, there) = seen
            same = there.keys() == right.keys() and all(
                there[k].equals(right[k]) if hasattr(right[k], "equals") else there[k] == right[k]
                for k in right
            )
            last = (said.strip().splitlines() or [""])[-1]
            one_message = code == 2 and len(re.findall("^error: ", said, re.MULTILINE)) == 1
            quiet = code in (1, 120, 141) and "head" in around and "error" not in said.lower()
            fine = "Traceback" not in said and ((code == 0 and same) or one_message or quiet)
            bad += not fine
            what = f"code {code}, {'same' if same else 'other'}; {last[-200:]}"
            print(f"{'ok ' if fine else 'BAD'} {name}, {key}: {what}", flush=True)
            if not fine:
                print("    " + said.strip()[-1500:].replace("\n", "\n    "), flush=True)
    print(f"{bad} bad")
    return bad


if __name__ == "__main__":
    sys.exit(bool(main(Path(sys.argv[1]).resolve(), sys.argv[2:])))
