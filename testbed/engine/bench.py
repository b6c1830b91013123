"""One model and its cases, on which any number of editors work."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from corpus.files import read_json, write_json
from lm.editors.interface import CorpusSample
from lm.language_model import LanguageModel
from testbed.engine.checks import prepare
from testbed.engine.memory import fitting
from testbed.engine.methods import Method
from testbed.engine.questions import Questions
from testbed.engine.records import Columns, seal
from testbed.engine.sweep import Plan, Sweep
from testbed.engine.worker import Worker
from testbed.protocol import Case
from testbed.run.model import corpus_sample
from testbed.run.runs import Run
from testbed.run.world import World


@dataclass(frozen=True)
class Grouping:
    """Which edits build on each other.

    Attributes:
        sequence: edits made one after another on top of each other; 1 for independent ones.
        batch: facts of one edit.
        abreast: edits computed side by side; auto takes as many as fit.
    """

    sequence: int = 1
    batch: int = 1
    abreast: int | Literal["auto"] = "auto"


class Bench:
    """What editors share: the questions, and the text they may read before.

    Args:
        cases: of all edits.
        columns: of the tables of results.
        seed: root seed of what editors may read, and of their randomness.
    """

    def __init__(
        self,
        run: Run,
        world: World,
        model: LanguageModel,
        cases: Sequence[Case],
        columns: Columns,
        grouping: Grouping,
        seed: int,
    ) -> None:
        self.run, self.world, self.model, self.seed = run, world, model, seed
        self.columns, self.grouping = columns, grouping
        self.questions = Questions(world, model, cases, seed)
        apart = grouping.sequence == 1
        self.controls = [control.name for control in cases[0].controls] if apart else []
        """What editors are told besides requests; in sequences nothing is."""

    @property
    def edits(self) -> int:
        """How many edits an editor makes."""
        return len(self.questions.cases) * (1 + len(self.controls))

    @cached_property
    def sample(self) -> CorpusSample:
        """Text and practice edits."""
        return corpus_sample(self.run, self.world, self.questions.cases, self.seed)

    def edit(self, method: Method, folder: Path, advance: Callable[..., None]) -> None:
        """Edit every case by a method, and write what came of it into a folder.

        Args:
            advance: told the number of cases after each batch.
        """
        began = time.perf_counter()
        state = prepare(method.editor, self.model, self.sample)
        seconds = time.perf_counter() - began
        worker = Worker(self.questions, method, state, self.seed)
        worker.check(np.arange(self.grouping.batch)[None])
        plan = self._plan(worker, folder)
        for told in (*self.controls, ""):
            sweep = Sweep(worker, plan, folder, self.columns, told)
            advance(sweep.done)
            sweep.run(seconds, advance)
        seal(folder)

    def _plan(self, worker: Worker, folder: Path) -> Plan:
        """How many edits are computed side by side stays as it was first: parts are cut by it."""
        group, kept, cases = self.grouping, folder / "parts" / "plan.json", len(self.questions.cases)
        sequences = cases // group.sequence
        if not kept.exists():
            size = group.abreast
            if size == "auto":
                first, rounds = np.arange(group.batch)[None], group.sequence // group.batch
                shapes = [worker.delta_shapes(first)]
                if rounds > 1:
                    shapes.append(worker.carried_shapes(first, rounds))
                told = worker.facts_told(group.batch)
                size = fitting(self.model, shapes, self.questions.shape, told, worker.method.most)
            # Chunks of one size, rather than full ones and a rest that costs as much.
            chunks = math.ceil(sequences / size)
            write_json(kept, {"abreast": math.ceil(sequences / chunks)})
        return Plan(cases, group.sequence, group.batch, read_json(kept)["abreast"])
