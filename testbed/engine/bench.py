"""One model and its cases, on which any number of editors work."""

import math
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

import jax
import numpy as np

from corpus.files import read_json, write_json
from lm.editors.interface import CorpusSample
from lm.language_model import LanguageModel
from testbed.engine.memory import fitting
from testbed.engine.methods import Method
from testbed.engine.questions import Questions
from testbed.engine.sweep import Plan, Sweep
from testbed.engine.worker import Worker
from testbed.evaluations.hase.cases import Case
from testbed.presets import EditSettings
from testbed.run.model import corpus_sample
from testbed.run.runs import Run
from testbed.run.world import World


class Bench:
    """What editors share: the questions, and the text they may read before.

    Args:
        cases: of all edits.
        options: how cases are put into sequences and batches, and the seed.
    """

    def __init__(
        self, run: Run, world: World, model: LanguageModel, cases: Sequence[Case], options: EditSettings
    ) -> None:
        self.run, self.world, self.model, self.options = run, world, model, options
        self.questions = Questions(world, model, cases)

    @cached_property
    def sample(self) -> CorpusSample:
        """Text and practice edits."""
        return corpus_sample(self.run, self.world, self.questions.cases, self.options.seed)

    def edit(self, method: Method, folder: Path, advance: Callable[..., None]) -> None:
        """Edit every case by a method, and write what came of it into a folder.

        Args:
            advance: told the number of cases after each batch.
        """
        began = time.perf_counter()
        state = jax.block_until_ready(method.editor.prepare(self.model, self.sample))
        seconds = time.perf_counter() - began
        worker = Worker(self.questions, method, state, self.options.seed)
        sweep = Sweep(worker, self._plan(worker, folder), folder)
        advance(sweep.done)
        sweep.run(seconds, advance)

    def _plan(self, worker: Worker, folder: Path) -> Plan:
        """How many edits are computed side by side stays as it was first: parts are cut by it."""
        options, kept, cases = self.options, folder / "parts" / "plan.json", len(self.questions.cases)
        sequences = cases // options.sequence
        if not kept.exists():
            size = options.batch_edits
            if size == "auto":
                first, rounds = np.arange(options.batch)[None], options.sequence // options.batch
                shapes = [worker.delta_shapes(first)]
                if rounds > 1:
                    shapes.append(worker.carried_shapes(first, rounds))
                facts = options.batch * len(worker.method.facts(self.questions.cases[0]))
                size = fitting(self.model, shapes, self.questions.shape, facts, worker.method.most)
            # Chunks of one size, rather than full ones and a rest that costs as much.
            chunks = math.ceil(sequences / size)
            write_json(kept, {"abreast": math.ceil(sequences / chunks)})
        return Plan(cases, options.sequence, options.batch, read_json(kept)["abreast"])
