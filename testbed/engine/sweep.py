"""A sweep: an editor's edits of many cases, in chunks, each scored; shared out and resumed chunk by chunk."""

import math
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np
from safetensors.flax import load_file, save_file

from corpus.errors import InputError
from corpus.files import read_json, staged_file, write_json_once
from lm.delta import Delta
from lm.editors.interface import CorpusSample, Info
from lm.language_model import LanguageModel
from lm.mesh import make_mesh
from testbed.engine.checks import prepare_editor
from testbed.engine.memory import compiled_edits_that_fit, edits_in_short_time, edits_that_fit
from testbed.engine.methods import Method
from testbed.engine.questions import ModelAnswers, Questions
from testbed.engine.records import (
    TABLES,
    Circumstances,
    Columns,
    Rows,
    concatenate_rows,
    control_stem,
    is_written,
    merge_tables,
    passage_rows,
    rows_of_cases,
    seal_results,
    write_rows,
)
from testbed.engine.requests import order_by_length
from testbed.engine.worker import Worker
from testbed.protocol import Case
from testbed.run.lock import ALL, Shard, shard_from
from testbed.run.model import corpus_sample
from testbed.run.runs import Run
from testbed.run.world import World

if TYPE_CHECKING:
    from testbed.settings import EditSettings

PLAN = Path("parts") / "plan.json"
MARKS = (1, 10, 100, 1000, 10_000)
ROUNDS_BETWEEN_SAVES = 25


class SweepPlan(NamedTuple):
    """How the cases of a sweep are edited.

    Attributes:
        cases: how many there are; a multiple of `sequence`.
        sequence: edits that build on each other, 1 for independent ones; a multiple of `batch`.
        batch: facts of one edit.
        abreast: sequences computed side by side.
        order: in which the cases are edited, where that is not their own.
    """

    cases: int
    sequence: int
    batch: int
    abreast: int
    order: Sequence[int] = ()

    @property
    def rounds(self) -> int:
        """Edits made one after another in each sequence."""
        return self.sequence // self.batch

    @property
    def firsts(self) -> range:
        """The first sequence of every chunk."""
        return range(0, self.cases // self.sequence, self.abreast)

    @property
    def marks(self) -> list[int]:
        """Numbers of edits after which all earlier ones of a sequence are asked again."""
        if self.sequence == 1:
            return []
        return [*(m for m in MARKS if m < self.sequence and m % self.batch == 0), self.sequence]

    def chunk(self, first: int) -> np.ndarray:
        """int[abreast, sequence]: the cases of a chunk.

        The last one repeats its last sequence, so that every chunk has one shape.
        """
        lines = np.array(self.order or range(self.cases)).reshape(-1, self.sequence)
        return lines[np.minimum(np.arange(first, first + self.abreast), len(lines) - 1)]

    def sequences_in(self, first: int) -> int:
        """How many sequences of a chunk are not repeated ones."""
        return min(self.abreast, self.cases // self.sequence - first)


class Bench:
    """What editors share: the questions, and the text they may read before.

    Args:
        cases: of all edits.
        columns: of the tables of results.
        settings: which edits build on each other, how many are made side by side, which shard, and the root
            seed of what editors may read and of their randomness.
    """

    def __init__(
        self,
        run: Run,
        world: World,
        model: LanguageModel,
        cases: Sequence[Case],
        columns: Columns,
        settings: "EditSettings",
    ) -> None:
        self.run, self.world, self.columns, self.settings = run, world, columns, settings
        self.questions = Questions(world, model, cases, settings.seed, make_mesh(settings.mesh))
        self.controls = [control.name for control in cases[0].controls] if settings.sequence == 1 else []
        """What editors are told besides requests; in sequences nothing is."""
        self.shard = shard_from(settings.shard)

    @property
    def edit_count(self) -> int:
        """How many edits an editor makes."""
        return len(self.questions.cases) * (1 + len(self.controls))

    @cached_property
    def sample(self) -> CorpusSample:
        """Text and practice edits."""
        return corpus_sample(self.run, self.world, self.questions.cases, self.settings.seed)

    def edit_cases(self, method: Method, folder: Path, advance: Callable[..., None]) -> None:
        """Edit every case by a method, or a shard of them, and write what came of it into a folder.

        The tables are put together of their parts when those of all shards are there.

        Args:
            advance: told the number of cases after each batch.

        Raises:
            InputError: the sweep was begun in another number of shards.
        """
        begun = (folder / PLAN).exists()
        if not begun or unfinished_chunks(self._begun_plan(folder), folder, self.controls, self.shard):
            self._edit_shard(method, folder, advance)
        if self.shard == ALL:
            finish_sweep(folder, self.columns, self.controls)

    def _edit_shard(self, method: Method, folder: Path, advance: Callable[..., None]) -> None:
        began, devices = time.perf_counter(), self.settings.mesh.data
        state = prepare_editor(method.editor, self.questions.model, self.sample)
        seconds = time.perf_counter() - began
        worker = Worker(self.questions, method, state, self.settings.seed)
        worker.check_editor(np.arange(self.settings.batch)[None])
        if not (folder / PLAN).exists():
            plan = self._make_plan(worker)
            write_json_once(folder / PLAN, {"plan": plan._asdict(), "shards": self.shard.of})
        plan = self._begun_plan(folder)
        if plan.abreast % devices:
            raise InputError(
                f"{folder} was begun with {plan.abreast} edits side by side, which {devices} devices "
                "(--mesh.data) cannot share; go on with as many devices as it was begun with"
            )
        pending = unfinished_chunks(plan, folder, self.controls, self.shard)
        left = sum(plan.sequences_in(first) * plan.sequence for _, first in pending)
        advance(self.edit_count - left)
        Sweep(worker, plan, folder, self.columns).edit_chunks(pending, seconds, advance)

    def _make_plan(self, worker: Worker) -> SweepPlan:
        """How many edits are computed side by side, which stays so: parts are cut by it."""
        settings, questions = self.settings, self.questions
        cases, devices, size = len(questions.cases), settings.mesh.data, settings.batch_edits
        sequences, independent = cases // settings.sequence, settings.sequence == 1
        if size == "auto":
            first, rounds = np.arange(settings.batch)[None], settings.sequence // settings.batch
            shapes = [worker.delta_shapes(first)]
            if rounds > 1:
                shapes.append(worker.carried_shapes(first, rounds))
            facts, flops = worker.requests[""].facts * settings.batch, worker.flops_per_case(first)
            most = min(worker.method.most, edits_in_short_time(flops * settings.batch))
            size = edits_that_fit(questions.model, shapes, questions.shape, facts, most) * devices
        each = _edits_per_device(sequences, size, self.shard, devices)
        if settings.batch_edits == "auto" and independent:
            size = compiled_edits_that_fit(lambda n: worker.bytes_compiled(n * devices), each) * devices
            each = _edits_per_device(sequences, size, self.shard, devices)
        order = order_by_length(questions.tokenizer, questions.cases) if independent else ()
        return SweepPlan(cases, settings.sequence, settings.batch, each * devices, order)

    def _begun_plan(self, folder: Path) -> SweepPlan:
        """The plan by which a sweep was begun, perhaps by another process."""
        plan, shards = _read_plan(folder)
        if self.shard != ALL and self.shard.of != shards:
            how = f"in {shards} shards" if shards > 1 else "without --shard"
            raise InputError(
                f"{folder} was begun {how}, not in {self.shard.of} shards; go on in the same way, or without "
                "--shard where no other process is at work on it"
            )
        return plan


class Sweep:
    """The edits of one worker, written in parts of its folder; what was finished before a kill is kept.

    Args:
        folder: where cost.json is written, and parts below it.
        columns: of these tables.
    """

    def __init__(self, worker: Worker, plan: SweepPlan, folder: Path, columns: Columns) -> None:
        self.worker, self.plan, self.folder, self.columns = worker, plan, folder, columns
        self.questions, self.parts = worker.questions, folder / "parts"

    def edit_chunks(
        self, chunks: Sequence[tuple[str, int]], prepare_seconds: float, advance: Callable[..., None]
    ) -> None:
        """Edit the cases of some chunks.

        Args:
            chunks: as `unfinished_chunks` returns them.
            prepare_seconds: how long the editor's preparation took.
            advance: told the number of cases after each batch.
        """
        plan, cost = self.plan, self.folder / "cost.json"
        if not cost.exists():
            figures = self.worker.cost_per_case(plan.chunk(plan.firsts[-1])[:, : plan.batch])
            write_json_once(cost, figures | {"prepare_seconds": prepare_seconds})
        for control, first in chunks:
            if plan.rounds == 1:
                self._edit_apart(control, first, advance)
            else:
                self._edit_in_sequence(first, advance)

    def _edit_apart(self, control: str, first: int, advance: Callable[..., None]) -> None:
        """A chunk of edits that do not build on each other."""
        which = self.plan.chunk(first)
        deltas, info, seconds = self.worker.edit_independently(which, control)
        rows = self._rows_of_edits(first, which, 0, deltas, info, seconds)
        for what in (*(f"retained-{mark}-" for mark in self.plan.marks), ""):
            write_rows(rows, self.parts, self.columns, chunk_stem(control, first, what))
        advance(len(rows["cases"]))

    def _edit_in_sequence(self, first: int, advance: Callable[..., None]) -> None:
        """A chunk of sequences, each edit on top of those before it; saved every few rounds."""
        plan, stem = self.plan, chunk_stem("", first)
        rounds = np.split(plan.chunk(first), plan.rounds, axis=1)
        carried, start = self._load_carried(stem, self.worker.empty_deltas(rounds[0], plan.rounds))
        advance(start * plan.batch * plan.sequences_in(first))
        nothing: Rows = {table: [] for table in TABLES}
        rows = nothing
        for index in range(start, plan.rounds):
            which, made = rounds[index], index + 1
            carried, info, seconds = self.worker.edit_in_sequence(carried, which, index)
            now = self._rows_of_edits(first, which, index * plan.batch, carried, info, seconds)
            rows = concatenate_rows(rows, now)
            if made * plan.batch in plan.marks:
                again = nothing
                for i, earlier in enumerate(rounds[:made]):
                    again = concatenate_rows(
                        again, self._rows_of_edits(first, earlier, i * plan.batch, carried, info, seconds)
                    )
                write_rows(again, self.parts, self.columns, f"{stem}retained-{made * plan.batch}-")
            if made % ROUNDS_BETWEEN_SAVES == 0 or made == plan.rounds:
                write_rows(rows, self.parts, self.columns, f"{stem}until-{made:06d}-")
                self._save_carried(stem, carried, made)
                rows = nothing
            advance(len(now["cases"]))
        until = sorted(path.name for path in self.parts.glob(f"{stem}until-*-cases.parquet"))
        stems = [name.removesuffix("cases.parquet") for name in until]
        merge_tables(stems, self.parts, self.parts, self.columns, stem)

    def _rows_of_edits(
        self, first: int, which: np.ndarray, position: int, deltas: Delta, info: Info, seconds: float
    ) -> Rows:
        """Rows of int[G, B] cases after G edits, without those that only fill the chunk up."""
        sequences, size = self.plan.sequences_in(first), which.shape[1]
        number, questions = which[:sequences].ravel(), self.questions
        cases = [questions.cases[k] for k in number]
        subjects = np.array([c.request.subject for c in cases])
        how = Circumstances(
            case=number,
            cluster=subjects if self.plan.sequence == 1 else number // self.plan.sequence,
            position=np.tile(np.arange(position, position + size), sequences),
            info=Info(*(np.repeat(np.asarray(x)[:sequences], size, axis=0) for x in info)),
            seconds=np.full(len(number), seconds),
        )
        before, after = (
            ModelAnswers(*(x[: len(number)] for x in answers))
            for answers in (questions.answers_before(which), questions.answers_after(deltas, which))
        )
        rows = rows_of_cases(cases, before, after, how, questions.names, self.columns)
        texts = questions.texts_before(which), questions.texts_after(deltas, which)
        rows["passages"] = passage_rows(questions.tokenizer, questions.reader, cases, number, *texts)
        return rows

    def _load_carried(self, stem: str, fresh: Delta) -> tuple[Delta, int]:
        """What the sequences of a chunk carry, and how many rounds are behind them."""
        path = self._carried_file(stem)
        if not path.exists():
            return fresh, 0
        saved = load_file(path)
        leaves, tree = jax.tree.flatten(fresh)
        return jax.tree.unflatten(tree, [saved[str(i)] for i in range(len(leaves))]), int(saved["rounds"])

    def _save_carried(self, stem: str, carried: Delta, rounds: int) -> None:
        leaves = {str(i): x for i, x in enumerate(jax.tree.leaves(carried))}
        with staged_file(self._carried_file(stem)) as aside:
            save_file(leaves | {"rounds": jax.numpy.int32(rounds)}, aside)

    def _carried_file(self, stem: str) -> Path:
        return self.parts / f"{stem}carried.safetensors"


def unfinished_chunks(
    plan: SweepPlan, folder: Path, controls: Sequence[str], shard: Shard = ALL
) -> list[tuple[str, int]]:
    """Control, "" for none, and first sequence of every chunk of a shard that is not finished.

    Args:
        folder: of the sweep.
        controls: what editors are told besides requests.
    """
    firsts = plan.firsts[shard.number - 1 :: shard.of]
    chunks = [(control, first) for control in (*controls, "") for first in firsts]
    return [chunk for chunk in chunks if not is_written(folder / "parts", chunk_stem(*chunk))]


def finish_sweep(folder: Path, columns: Columns, controls: Sequence[str]) -> list[Shard]:
    """Put the tables of a sweep together, if the parts of all its shards are there.

    Args:
        controls: what editors are told besides requests.

    Returns:
        The shards of which parts are missing.
    """
    plan, count = _read_plan(folder)
    shards = [Shard(number, count) for number in range(1, count + 1)]
    missing = [shard for shard in shards if unfinished_chunks(plan, folder, controls, shard)]
    if not missing:
        for control in (*controls, ""):
            for what in (*(f"retained-{mark}-" for mark in plan.marks), ""):
                stems = [chunk_stem(control, first, what) for first in plan.firsts]
                stem = control_stem(control) + what
                merge_tables(stems, folder / "parts", folder, columns, stem, bool(plan.order))
        seal_results(folder)
    return missing


def chunk_stem(control: str, first: int, what: str = "") -> str:
    """What the names of a chunk's parts begin with."""
    return f"{control_stem(control)}{first:06d}-{what}"


def _read_plan(folder: Path) -> tuple[SweepPlan, int]:
    """How a sweep was begun: its plan, and how many shards it has."""
    recorded_plan = read_json(folder / PLAN)
    return SweepPlan(**recorded_plan["plan"]), recorded_plan["shards"]


def _edits_per_device(sequences: int, size: int, shard: Shard, devices: int) -> int:
    """Side by side on each device, of at most `size` on all of them.

    Chunks of one size, rather than full ones and a rest that costs as much; some for every shard.
    """
    chunks = max(math.ceil(sequences / size), min(shard.of, sequences))
    return math.ceil(sequences / chunks / devices)
