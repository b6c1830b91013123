"""One model and its cases, on which any number of editors work."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from corpus.errors import InputError
from corpus.files import read_json, write_json_once
from lm.config import MeshConfig
from lm.editors.interface import CorpusSample
from lm.language_model import LanguageModel
from lm.mesh import make_mesh
from testbed.engine.checks import prepare_editor
from testbed.engine.memory import compiled_edits_that_fit, edits_in_short_time, edits_that_fit
from testbed.engine.methods import Method
from testbed.engine.questions import Questions
from testbed.engine.records import Columns, seal_results
from testbed.engine.shard import ALL, Shard
from testbed.engine.sweep import Sweep, SweepPlan, merge_chunks, unfinished_chunks
from testbed.engine.worker import Worker
from testbed.protocol import Case
from testbed.run.model import corpus_sample
from testbed.run.runs import Run
from testbed.run.world import World

PLAN = Path("parts") / "plan.json"


@dataclass(frozen=True)
class Grouping:
    """Which edits build on each other.

    Attributes:
        sequence: edits made one after another on top of each other; 1 for independent ones.
        batch: facts of one edit.
        abreast: edits computed side by side, on all devices; auto takes as many as fit.
        devices: that they are laid over, each as many as the others.
    """

    sequence: int = 1
    batch: int = 1
    abreast: int | Literal["auto"] = "auto"
    devices: int = 1


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
        self.run, self.world, self.seed = run, world, seed
        self.columns, self.grouping = columns, grouping
        mesh = make_mesh(MeshConfig(grouping.devices))
        self.questions = Questions(world, model, cases, seed, mesh)
        self.model = self.questions.model
        apart = grouping.sequence == 1
        self.controls = [control.name for control in cases[0].controls] if apart else []
        """What editors are told besides requests; in sequences nothing is."""

    @property
    def edit_count(self) -> int:
        """How many edits an editor makes."""
        return len(self.questions.cases) * (1 + len(self.controls))

    @cached_property
    def sample(self) -> CorpusSample:
        """Text and practice edits."""
        return corpus_sample(self.run, self.world, self.questions.cases, self.seed)

    def edit_cases(
        self, method: Method, folder: Path, advance: Callable[..., None], shard: Shard = ALL
    ) -> None:
        """Edit every case by a method, or a shard of them, and write what came of it into a folder.

        The tables are put together of their parts when those of all shards are there.

        Args:
            advance: told the number of cases after each batch.

        Raises:
            InputError: the sweep was begun in another number of shards.
        """
        plan = _check_begun(folder, shard) if (folder / PLAN).exists() else None
        if plan is None or any(
            unfinished_chunks(plan, folder, control, shard) for control in self._controls_and_request
        ):
            self._edit_shard(method, folder, advance, shard)
        if shard == ALL:
            finish_sweep(folder, self.columns, self.controls)

    @property
    def _controls_and_request(self) -> list[str]:
        return [*self.controls, ""]

    def _edit_shard(self, method: Method, folder: Path, advance: Callable[..., None], shard: Shard) -> None:
        began = time.perf_counter()
        state = prepare_editor(method.editor, self.model, self.sample)
        seconds = time.perf_counter() - began
        worker = Worker(self.questions, method, state, self.seed)
        worker.check_editor(np.arange(self.grouping.batch)[None])
        plan = self._make_plan(worker, folder, shard)
        for control in self._controls_and_request:
            sweep = Sweep(worker, plan, folder, self.columns, control, shard)
            advance(sweep.finished_cases)
            sweep.edit_pending(seconds, advance)

    def _make_plan(self, worker: Worker, folder: Path, shard: Shard) -> SweepPlan:
        """How many edits are computed side by side stays as it was first: parts are cut by it."""
        group, cases = self.grouping, len(self.questions.cases)
        if not (folder / PLAN).exists():
            sequences, size = cases // group.sequence, group.abreast
            if size == "auto":
                first, rounds = np.arange(group.batch)[None], group.sequence // group.batch
                shapes = [worker.delta_shapes(first)]
                if rounds > 1:
                    shapes.append(worker.carried_shapes(first, rounds))
                facts = worker.facts_per_edit(group.batch)
                most = min(
                    worker.method.most, edits_in_short_time(worker.flops_per_case(first) * group.batch)
                )
                size = edits_that_fit(self.model, shapes, self.questions.shape, facts, most)
                size *= group.devices
            each = _edits_per_device(sequences, size, shard, group.devices)
            if group.abreast == "auto" and group.sequence == 1:
                size = compiled_edits_that_fit(lambda n: worker.bytes_compiled(n * group.devices), each)
                each = _edits_per_device(sequences, size * group.devices, shard, group.devices)
            order = self.questions.shortest_first if group.sequence == 1 else ()
            plan = SweepPlan(cases, group.sequence, group.batch, each * group.devices, order)
            write_json_once(folder / PLAN, {"plan": plan._asdict(), "shards": shard.of})
        plan = _check_begun(folder, shard)
        if plan.abreast % group.devices:
            raise InputError(
                f"{folder} was begun with {plan.abreast} edits side by side, which {group.devices} devices "
                "(--mesh.data) cannot share; go on with as many devices as it was begun with"
            )
        return plan


def _edits_per_device(sequences: int, size: int, shard: Shard, devices: int) -> int:
    """Side by side on each device, of at most `size` on all of them.

    Chunks of one size, rather than full ones and a rest that costs as much; some for every shard.
    """
    chunks = max(math.ceil(sequences / size), min(shard.of, sequences))
    return math.ceil(sequences / chunks / devices)


def finish_sweep(folder: Path, columns: Columns, controls: Sequence[str]) -> list[Shard]:
    """Put the tables of a sweep together, if the parts of all its shards are there.

    Args:
        controls: what editors are told besides requests.

    Returns:
        The shards of which parts are missing.
    """
    plan, shards = _read_plan(folder)
    control_names = [*controls, ""]
    missing = [
        shard
        for shard in (Shard(k + 1, shards) for k in range(shards))
        if any(unfinished_chunks(plan, folder, name, shard) for name in control_names)
    ]
    if not missing:
        for name in control_names:
            merge_chunks(plan, folder, columns, name)
        seal_results(folder)
    return missing


def _check_begun(folder: Path, shard: Shard) -> SweepPlan:
    """The plan by which a sweep was begun, perhaps by another process."""
    plan, shards = _read_plan(folder)
    if shard != ALL and shard.of != shards:
        how = f"in {shards} shards" if shards > 1 else "without --shard"
        raise InputError(
            f"{folder} was begun {how}, not in {shard.of} shards; go on in the same way, or without "
            "--shard where no other process is at work on it"
        )
    return plan


def _read_plan(folder: Path) -> tuple[SweepPlan, int]:
    """How a sweep was begun: its plan, and how many shards it has."""
    recorded_plan = read_json(folder / PLAN)
    return SweepPlan(**recorded_plan["plan"]), recorded_plan["shards"]
