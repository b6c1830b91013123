"""A run small enough to be trained in seconds, and the commands as processes of their own."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np

from corpus.files import read_record, write_record
from testbed.run.model import load_model
from testbed.run.runs import Run
from testbed.run.world import load_world

ROOT = Path(__file__).parents[1]
# Programs compiled in a fraction of the time, to the same numbers but for rounding; each in one piece,
# since these are small and pieces cost more than they save where every core runs tests of its own.
QUICKLY = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    " --xla_cpu_parallel_codegen_split_count=1"
)
if jax.__version__.startswith("0.10."):
    # Later versions know no such flag, and end a process that sets it.
    QUICKLY += " --xla_cpu_use_fusion_emitters=false"
WORLD = "--world.subjects 30 --world.builtin.upstream-objects 5 --world.builtin.downstream-objects 4".split()
MODEL = "--model.hidden 32 --model.mlp 48 --model.layers 1 --model.unroll 1".split()
RECIPE = [*MODEL, "--train.steps", "30", "--train.row-length", "100", "--train.evaluate-every", "10"]
RECIPE += ["--train.checkpoint-every", "10", "--train.rows", "8"]
EDITS = ["--cases.count", "11", "--batch-edits", "4", "--lora-down.learning-rate", "0.01"]


def at(runs, run="x"):
    return ["--runs", str(runs), "--run", run]


def copied(runs, tmp_path):
    shutil.copytree(runs / "x", tmp_path / "x")
    return tmp_path


def python(*args, **options):
    command = [sys.executable, "-m", *map(str, args)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def processor_seconds(*arguments):
    """What Python took of processors, given these arguments, and what it said."""
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime, done.stdout


def said_within(seconds, *command):
    """What a command says that takes at most so many seconds of processors, one time of five.

    Where others keep the processors busy, as long as it takes to import tyro ten times for each second.
    """
    for _ in range(5):
        took, said = processor_seconds("-m", *map(str, command))
        if took < seconds or took < 10 * seconds * processor_seconds("-c", "import tyro")[0]:
            return said
    raise AssertionError(f"five times at least {seconds} s, at last {took:.2f}")


def run_on_full_disk(cache, *args):
    """What a command comes to where no file may grow beyond eight kilobytes; no half of a module stays.

    Lines of waiting (testbed/waiting.py), which come on a slow machine, are taken out.
    """
    limited = ["bash", "-c", 'ulimit -f 8; exec "$@"', "bash", sys.executable, "-m", *map(str, args)]
    around = os.environ | {"XDG_CACHE_HOME": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(limited, cwd=ROOT, capture_output=True, text=True, env=around, check=False)
    done.stderr = re.sub(r"^.* \.\.\.\n", "", done.stderr, flags=re.MULTILINE)
    return done


def killed_after(process, sign, limit=120):
    """Kill -9 a process as soon as `sign()` is true."""
    end = time.monotonic() + limit
    while not sign():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def dies(moment, name, *command):
    """Run a command that is killed before or after something gets its name (tests/dying.py)."""
    process = python("tests.dying", moment, name, *command)
    said = process.communicate()[1]
    assert process.returncode == -signal.SIGKILL, said


def rewritten(path, old, new):
    """Change a JSON file that has its own checksum as the project itself would."""
    content = read_record(path)
    text = json.dumps(content)
    assert old in text
    write_record(path, json.loads(text.replace(old, new)))


def complaint(capsys):
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "Traceback" not in error
    return error


def measurements(runs):
    """Step, loss and accuracy of every line of metrics.jsonl."""
    lines = (runs / "x" / "lm" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [tuple(json.loads(line)[key] for key in ("step", "loss", "accuracy")) for line in lines]


def parameters(runs):
    run = Run(runs, "x")
    return load_model(run, load_world(run))[0].params


def assert_same_training(runs, others):
    """Two runs have measured the same and ended with the same parameters, to the last bit."""
    assert measurements(runs) == measurements(others)
    jax.tree.map(np.testing.assert_array_equal, parameters(runs), parameters(others))
