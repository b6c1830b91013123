"""A sweep: an editor's edits of many cases, in chunks, each scored; shared out and resumed chunk by chunk."""

import time
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import numpy as np
from safetensors.flax import load_file, save_file

from corpus.files import staged_file, write_json_once
from lm.delta import Delta
from lm.editors.interface import CorpusSample, Info, Request, trait_of
from lm.language_model import LanguageModel
from lm.mesh import make_mesh
from testbed.engine.checks import check_editor, prepare_editor
from testbed.engine.integrity import EditorWatch
from testbed.engine.methods import Method
from testbed.engine.plan import (
    PLAN,
    Chunk,
    SweepPlan,
    chunk_stem,
    make_plan,
    read_begun_plan,
    read_plan,
    unfinished_chunks,
)
from testbed.engine.questions import ModelAnswers, Questions
from testbed.engine.records import (
    TABLES,
    Circumstances,
    Columns,
    Rows,
    cases_without_numbers,
    concatenate_rows,
    control_stem,
    merge_tables,
    passage_rows,
    rows_of_cases,
    seal_results,
    write_rows,
)
from testbed.engine.requests import tell_method
from testbed.engine.trace import add_notes
from testbed.engine.worker import Worker
from testbed.protocol import Case, names_of_controls
from testbed.run.lock import ALL, Shard, shard_from
from testbed.run.model import corpus_sample
from testbed.run.runs import Run
from testbed.run.world import World

if TYPE_CHECKING:
    from testbed.settings import EditSettings

ROUNDS_BETWEEN_SAVES = 25
SHORT, LONG = 5.0, 60.0
"""Seconds: a preparation that is made twice, and edits of which only one is."""


class Bench:
    """What all editors share: the questions, and the text that they may read beforehand.

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
        self.controls = names_of_controls(cases, settings.sequence)
        self.shard = shard_from(settings.shard)
        self.edit_count = len(cases) * (1 + len(self.controls))
        """How many edits an editor makes."""

    @cached_property
    def sample(self) -> CorpusSample:
        """Text and practice edits."""
        return corpus_sample(self.run, self.world, self.questions.cases, self.settings.seed)

    def edit_cases(self, method: Method, folder: Path, advance: Callable[..., None]) -> None:
        """Edit every case by a method, or a shard of the cases, and write the results into a folder.

        When the parts of all shards are there, they are joined into the tables.

        Args:
            advance: told the number of cases after each batch.

        Raises:
            InputError: the sweep was begun in another number of shards.
        """
        if not (folder / PLAN).exists() or self._list_pending(folder):
            sweep = self._begin_sweep(method, folder)
            pending = self._list_pending(folder)
            if done := self.edit_count - sweep.plan.sequence * sum(chunk.sequences for chunk in pending):
                advance(done)
            for number, chunk in enumerate(pending):
                sweep.edit_chunk(chunk, advance, is_first=not number)
            add_notes(folder, sweep.watch.describe())
        if self.shard == ALL:
            finish_sweep(folder, self.columns, self.controls)

    def _list_pending(self, folder: Path) -> list[Chunk]:
        plan = read_begun_plan(folder, self.shard, self.settings.mesh.data)
        return unfinished_chunks(plan, folder, self.controls, self.shard)

    def _begin_sweep(self, method: Method, folder: Path) -> "Sweep":
        """The method, prepared for the model, and the plan by which it edits, as it was begun if it was."""
        questions, settings, sample = self.questions, self.settings, self.sample
        watch = EditorWatch(method, questions.model, self.run.folder)
        first = np.arange(settings.batch)[None]
        requests = tell_method(questions.tokenizer, questions.cases, method)
        with watch.look():
            began = time.perf_counter()
            state = prepare_editor(method.editor, questions.model, sample)
            seconds = time.perf_counter() - began
        with watch.look():
            check_editor(method.editor, questions.model, state, requests[""].of_edits(first))
            if not watch.is_ours and seconds < SHORT:
                again = prepare_editor(method.editor, questions.model, sample)
                watch.note_difference("prepares another thing each time", state, again)
        worker = Worker(questions, method, state, requests, settings.seed)
        if not (folder / PLAN).exists():
            estimate = worker.estimate_edit(first, settings.sequence // settings.batch)
            plan = make_plan(worker, settings, self.shard, *estimate)
            write_json_once(folder / PLAN, {"plan": plan._asdict(), "shards": self.shard.of})
        plan = read_begun_plan(folder, self.shard, settings.mesh.data)
        told = [method.facts_besides_request(case) for case in questions.cases]
        sweep = Sweep(worker, plan, folder, self.columns, told, watch)
        sweep.write_cost(seconds)
        return sweep


class Sweep:
    """The edits of one worker, written in parts of its folder; a killed sweep goes on after its last part.

    Args:
        folder: where cost.json is written, and parts below it.
        columns: of these tables.
        told: for each case, facts whose answers the editor has seen; see `rows_of_cases`.
        watch: over what the editor changes while it works.
    """

    def __init__(
        self,
        worker: Worker,
        plan: SweepPlan,
        folder: Path,
        columns: Columns,
        told: Sequence[Collection[tuple[int, int]]],
        watch: EditorWatch,
    ) -> None:
        self.worker, self.plan, self.folder, self.columns = worker, plan, folder, columns
        self.questions, self.parts, self.told, self.watch = worker.questions, folder / "parts", told, watch

    def edit_chunk(self, chunk: Chunk, advance: Callable[..., None], is_first: bool = False) -> None:
        """Edit the cases of a chunk, ask the edited models, and write the rows of what they answer.

        Args:
            advance: told the number of cases after each batch.
            is_first: of a command; then some edits are made twice, and what differs is noted.
        """
        if self.plan.sequence > self.plan.batch:
            with self.watch.look():
                if is_first:
                    self._repeat_edits(chunk.cases[:, : self.plan.batch], chunk.control)
                self._edit_in_sequence(chunk, advance)
            return
        with self.watch.look():
            outcome = self.worker.edit_independently(chunk.cases, chunk.control)
            if is_first:
                self._repeat_edits(chunk.cases, chunk.control, outcome)
            rows = self._rows_of_edits(chunk, chunk.cases, 0, *outcome)
        for stem in chunk.stems:
            write_rows(rows, self.parts, self.columns, stem)
        advance(len(rows["cases"]))

    def write_cost(self, prepare_seconds: float) -> None:
        """What an edit takes, into cost.json, where it is not there yet.

        Args:
            prepare_seconds: how long the editor's preparation took.
        """
        cost = self.folder / "cost.json"
        if not cost.exists():
            figures: dict[str, float] = {"elsewhere": True}
            if self.worker.method.author is None:
                one = self.plan.cases_of(self.plan.firsts[-1])[:, : self.plan.batch]
                figures = self.worker.cost_per_case(one)
            write_json_once(cost, figures | {"prepare_seconds": prepare_seconds})

    def _repeat_edits(
        self, which: np.ndarray, control: str, outcome: tuple[Delta, Info, float] | None = None
    ) -> None:
        """Make some edits a second time, only one if several take long, and note any difference.

        Args:
            outcome: of the first time, if there was one.
        """
        worker, watch = self.worker, self.watch
        deltas, info, seconds = outcome or worker.edit_independently(which, control)
        if seconds * which.size > LONG and self.questions.mesh.size == 1:
            which = which[:1]
            deltas, info, _ = worker.edit_independently(which, control)
        again = worker.edit_independently(which, control)[:2]
        watch.note_difference("makes another edit of the same request", (deltas, info), again)
        if not watch.is_ours and not worker.is_traced_alike(which):
            watch.notes.append(
                f"{watch.path} is another program each time it is traced: it draws or counts outside JAX"
            )

    def _edit_in_sequence(self, chunk: Chunk, advance: Callable[..., None]) -> None:
        """A chunk of sequences, each edit on top of those before it; saved every few rounds."""
        plan, stem = self.plan, chunk.stems[-1]
        rounds = np.split(chunk.cases, plan.rounds, axis=1)
        carried, start = self._load_carried(stem, self.worker.empty_deltas(rounds[0], plan.rounds))
        advance(start * plan.batch * chunk.sequences)
        no_rows: Rows = {table: [] for table in TABLES}
        rows = no_rows
        for index in range(start, plan.rounds):
            which, count = rounds[index], index + 1
            carried, info, seconds = self.worker.edit_in_sequence(carried, which, index)
            round_rows = self._rows_of_edits(chunk, which, index * plan.batch, carried, info, seconds)
            rows = concatenate_rows(rows, round_rows)
            if count * plan.batch in plan.marks:
                retained_rows = no_rows
                for i, earlier in enumerate(rounds[:count]):
                    earlier_rows = self._rows_of_edits(chunk, earlier, i * plan.batch, carried, info, seconds)
                    retained_rows = concatenate_rows(retained_rows, earlier_rows)
                write_rows(retained_rows, self.parts, self.columns, f"{stem}retained-{count * plan.batch}-")
            if count % ROUNDS_BETWEEN_SAVES == 0 or count == plan.rounds:
                write_rows(rows, self.parts, self.columns, f"{stem}until-{count:06d}-")
                self._save_carried(stem, carried, count)
                rows = no_rows
            advance(len(round_rows["cases"]))
        stage_names = sorted(path.name for path in self.parts.glob(f"{stem}until-*-cases.parquet"))
        stems = [name.removesuffix("cases.parquet") for name in stage_names]
        merge_tables(stems, self.parts, self.parts, self.columns, stem)

    def _rows_of_edits(
        self, chunk: Chunk, which: np.ndarray, position: int, deltas: Delta, info: Info, seconds: float
    ) -> Rows:
        """Rows of int[G, B] cases after G edits, without those that only fill the chunk up."""
        sequences, size = chunk.sequences, which.shape[1]
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
        texts = questions.texts_before(which), questions.texts_after(deltas, which)
        told = [self.told[k] for k in number]
        rows = rows_of_cases(cases, before, after, how, questions.names, self.columns, told)
        faults = describe_faults(rows, deltas, info, size) | self._find_causes(chunk, which)
        for place, fault in faults.items():
            rows["cases"][place]["fault"] = fault
        rows["passages"] = passage_rows(questions.tokenizer, questions.reader, cases, number, *texts)
        return rows

    def _find_causes(self, chunk: Chunk, which: np.ndarray) -> dict[int, str]:
        """The errors in which edits failed, of an editor that remembers them, by place among the rows."""
        find_cause = trait_of(self.worker.method.editor, "cause_of")
        requests = self.worker.requests[chunk.control].of_edits(which)
        size = which.shape[1]
        causes = [find_cause(Request(*(x[i] for x in requests))) for i in range(chunk.sequences)]
        return {i * size + j: cause for i, cause in enumerate(causes) if cause for j in range(size)}

    def _load_carried(self, stem: str, fresh: Delta) -> tuple[Delta, int]:
        """What the sequences of a chunk carry, and how many rounds are behind them."""
        path = self._carried_file(stem)
        if not path.exists():
            return fresh, 0
        arrays = load_file(path)
        leaves, tree = jax.tree.flatten(fresh)
        return jax.tree.unflatten(tree, [arrays[str(i)] for i in range(len(leaves))]), int(arrays["rounds"])

    def _save_carried(self, stem: str, carried: Delta, rounds: int) -> None:
        leaves = {str(i): x for i, x in enumerate(jax.tree.leaves(carried))}
        with staged_file(self._carried_file(stem)) as aside:
            save_file(leaves | {"rounds": jax.numpy.int32(rounds)}, aside)

    def _carried_file(self, stem: str) -> Path:
        return self.parts / f"{stem}carried.safetensors"


def describe_faults(rows: Rows, deltas: Delta, info: Info, size: int) -> dict[int, str]:
    """What in an edit is not a number, for edits after which the model gives none; by place among the rows.

    Args:
        rows: of edits of `size` cases each, in the order of the deltas.
    """
    without = cases_without_numbers(rows)
    faults: dict[int, str] = {}
    if not without:
        return faults
    parts = {
        f"delta{jax.tree_util.keystr(path)}": x for path, x in jax.tree_util.tree_leaves_with_path(deltas)
    }
    finite = {
        name: np.asarray(jax.numpy.isfinite(x).reshape(len(x), -1).all(1))
        for name, x in ({"its own loss": info.loss} | parts).items()
        if len(x) and jax.numpy.issubdtype(x.dtype, jax.numpy.floating)
    }
    for place, row in enumerate(rows["cases"]):
        wrong = [name for name, is_finite in finite.items() if not is_finite[place // size]]
        if row["case"] in without and wrong:
            faults[place] = f"{' and '.join(wrong)} {'are' if wrong[1:] else 'is'} no number"
    return faults


def finish_sweep(folder: Path, columns: Columns, controls: Sequence[str]) -> list[Shard]:
    """Join the tables of a sweep, if the parts of all its shards are there.

    Args:
        controls: what editors are told besides requests.

    Returns:
        Shards whose parts are missing.
    """
    plan, count = read_plan(folder)
    shards = [Shard(number, count) for number in range(1, count + 1)]
    missing = [shard for shard in shards if unfinished_chunks(plan, folder, controls, shard)]
    if not missing:
        for control in (*controls, ""):
            for stage in plan.stages:
                stems = [chunk_stem(control, first, stage) for first in plan.firsts]
                stem = control_stem(control) + stage
                merge_tables(stems, folder / "parts", folder, columns, stem, bool(plan.order))
        seal_results(folder)
    return missing
