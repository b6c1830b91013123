"""Does `--batch-edits auto` keep its promise? Memory of edits as estimated, as compiled, and as measured.

Command:
    python -m experiments.edit_memory

`testbed.edit` takes as many edits side by side as fit into a quarter of the free memory, by an estimate from
shapes alone (`testbed.engine.plan`), and fewer if XLA says of the compiled edits that they take more. For
each editor at several sizes of model, in a process of its own:

estimated  bytes of an edit by that estimate
compiled   bytes of an edit as XLA lays them out, for as many side by side as fit
measured   by how much the peak of the process grows while these edits are made (on a CPU; Linux only)
promised   a quarter of what was free

Worlds, vocabularies and shapes are the presets', weights after one step of training; optimisers take two
steps, since memory does not depend on how many. Expected: measured below promised for all; compiled below
estimated but for `rome` and `memit`, which read a request behind nine openings. Takes half an hour of two
cores, most of it `paper`, and writes experiments/records/<date>-edit-memory. Resumes when killed.
"""

import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from corpus.files import read_json, write_json
from experiments.benchmarks.harness import measure_process, record_stage
from experiments.command import launch_module
from experiments.settings import StudySettings
from testbed.commands.corpus import build_corpus
from testbed.commands.train import train
from testbed.console import print_table, say
from testbed.engine.checks import prepare_editor
from testbed.engine.plan import SHARE, bytes_of_an_edit, compiled_edits_that_fit, edits_that_fit, free_bytes
from testbed.engine.questions import Questions
from testbed.engine.requests import build_requests
from testbed.engine.tuning import method_named
from testbed.engine.worker import Worker
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.agents import paper_agent
from testbed.run.model import corpus_sample, load_model
from testbed.run.runs import Run, provenance
from testbed.run.runtime import prepare_jax
from testbed.run.world import load_world
from testbed.settings import EditSettings

Size = Literal["tiny", "small", "paper"]
EDITORS = (
    "lora-down",
    "lora-all",
    "embeddings",
    "full",
    "ft-constrained",
    "rome",
    "memit",
    "in-context",
    "grace",
)
MOST, STEPS, GIB = 128, 2, 2**30


@dataclass(frozen=True)
class Settings(StudySettings):
    """What is measured, and where files go."""

    sizes: tuple[Size, ...] = get_args(Size)
    """Presets whose worlds and models are taken."""
    editors: tuple[str, ...] = EDITORS
    """Who edits."""
    only: bool = False
    """Measure the first editor at the first size in this process; what the others are started with."""

    def run(self, size: Size) -> Run:
        """The run of a size."""
        return Run(self.runs, f"edit-memory-{size}")

    def file(self, size: Size, editor: str) -> Path:
        """Where a process leaves what it measured."""
        return self.run(size).folder / f"memory-{editor}.json"


def run_study(settings: Settings) -> None:
    """All editors at all sizes, then the record; or one of them here and now."""
    if settings.only:
        size, editor = settings.sizes[0], settings.editors[0]
        measurement = {"figures": measure_edits(settings, size, editor), "made_with": provenance()}
        write_json(settings.file(size, editor), measurement)
        return
    for size in settings.sizes:
        _build_model(settings, size)
        figures = {}
        for editor in settings.editors:
            say(f"{editor}, {size}")
            file = settings.file(size, editor)
            # What this very revision measured before it was killed need not be measured again.
            if not file.exists() or read_json(file)["made_with"] != provenance():
                options = ("--sizes", size, "--editors", editor, "--runs", str(settings.runs), "--only")
                measure_process(sys.executable, "-m", "experiments.edit_memory", *options)
            figures[editor] = read_json(file)["figures"]
        _show_figures(size, figures)
        say(f"written to {record_stage('edit-memory', size, figures)}")


def measure_edits(settings: Settings, size: Size, editor: str) -> dict[str, float]:
    """Gibibytes of edits side by side, but for `edits`, which is how many there are."""
    prepare_jax()
    run = settings.run(size)
    world = load_world(run)
    options = _with_few_steps(replace(EDIT[size], run=run.name, runs=run.root))
    evaluation = options.chosen_evaluation
    cases = list(evaluation.make_cases(world, paper_agent(world), MOST, options.cases.credence, 0))
    questions = Questions(world, load_model(run, world)[0], cases)
    method = method_named(editor, options, world)
    state = prepare_editor(method.editor, questions.model, corpus_sample(run, world, cases, 0))
    beliefs = [method.tell_facts(case) for case in cases]
    requests = build_requests(world.tokenizer, cases, beliefs)
    worker = Worker(questions, method, state, requests, 0)
    shapes, facts = worker.delta_shapes(np.zeros((1, 1), int)), worker.requests[""].facts
    estimated = bytes_of_an_edit(questions.model, shapes, questions.shape, facts)
    free = free_bytes()
    edits = edits_that_fit(questions.model, shapes, questions.shape, facts, min(MOST, method.most))
    edits = compiled_edits_that_fit(worker.bytes_compiled, edits)
    which, compiled = np.arange(edits)[:, None], worker.bytes_compiled(edits)
    _forget_peak()
    before = _peak_bytes()
    worker.edit_independently(which)
    sizes = {"estimated": edits * estimated, "compiled": edits * compiled, "measured": _peak_bytes() - before}
    return {"edits": edits} | {k: v / GIB for k, v in (sizes | {"promised": SHARE * free}).items()}


def _build_model(settings: Settings, size: Size) -> None:
    """A corpus, and a model of one training step on one row; memory is that of any other."""
    where: dict[str, Any] = {"run": settings.run(size).name, "runs": settings.runs}
    build_corpus(replace(CORPUS[size], **where))
    # A model that is trained would only be asked for all its facts again.
    if not settings.run(size).finished_file.exists():
        steps = replace(TRAIN[size].train, steps=1, rows=1)
        train(replace(TRAIN[size], train=steps, **where))


def _with_few_steps(options: EditSettings) -> EditSettings:
    """As many optimiser steps as show what they keep."""
    configs = {
        name: replace(config, steps=STEPS) if "steps" in {f.name for f in fields(config)} else config
        for name, config in options.configs.items()
    }
    return replace(options, configs=configs)


def _forget_peak() -> None:
    """The highest memory of this process counts from now on (Linux)."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak_bytes() -> float:
    """Bytes that this process has held at most."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * float(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def _show_figures(size: Size, figures: dict[str, dict[str, Any]]) -> None:
    columns = ("estimated", "compiled", "measured", "promised")
    rows = [(name, f"{f['edits']:.0f}", *(f"{f[c]:.3f}" for c in columns)) for name, f in figures.items()]
    print_table(f"GiB of edits side by side, {size}", ("editor", "edits", *columns), rows)


if __name__ == "__main__":
    launch_module()
