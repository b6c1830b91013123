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
from testbed.engine.house import Guest, how_far_apart
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
        has_plan = (folder / PLAN).exists()
        plan = read_begun_plan(folder, self.shard, self.settings.mesh.data) if has_plan else None
        if plan is None or unfinished_chunks(plan, folder, self.controls, self.shard):
            self._edit_shard(method, folder, advance)
        if self.shard == ALL:
            finish_sweep(folder, self.columns, self.controls)

    def _edit_shard(self, method: Method, folder: Path, advance: Callable[..., None]) -> None:
        questions, settings, shard = self.questions, self.settings, self.shard
        sample, first = self.sample, np.arange(settings.batch)[None]
        requests = tell_method(questions.tokenizer, questions.cases, method)
        first_request = requests[""].of_edits(first)
        guest, notes = Guest(method, questions.model, self.run.folder), []
        with guest.watch():
            began = time.perf_counter()
            state = prepare_editor(method.editor, questions.model, sample)
            seconds = time.perf_counter() - began
        with guest.watch():
            check_editor(method.editor, questions.model, state, first_request)
            if not guest.is_ours and seconds < SHORT:
                again = prepare_editor(method.editor, questions.model, sample)
                if apart := how_far_apart(state, again):
                    notes.append(f"{guest.path} prepares another thing each time (by up to {apart:.2g})")
        worker = Worker(questions, method, state, requests, settings.seed)
        if not (folder / PLAN).exists():
            estimate = worker.estimate_edit(first, settings.sequence // settings.batch)
            plan = make_plan(worker, settings, shard, *estimate)
            write_json_once(folder / PLAN, {"plan": plan._asdict(), "shards": shard.of})
        plan = read_begun_plan(folder, shard, settings.mesh.data)
        pending = unfinished_chunks(plan, folder, self.controls, shard)
        finished = self.edit_count - plan.sequence * sum(chunk.sequences for chunk in pending)
        if finished:
            advance(finished)
        facts_seen = [method.facts_besides_request(case) for case in questions.cases]
        sweep = Sweep(worker, plan, folder, self.columns, facts_seen, guest)
        sweep.edit_chunks(pending, seconds, advance)
        add_notes(folder, [*notes, *sweep.notes, *guest.describe_reads()])


class Sweep:
    """The edits of one worker, written in parts of its folder; a killed sweep goes on after its last part.

    Args:
        folder: where cost.json is written, and parts below it.
        columns: of these tables.
        told: for each case, facts whose answers the editor has seen; see `rows_of_cases`.
        guest: the editor, and the watch over what it changes while it works.
    """

    def __init__(
        self,
        worker: Worker,
        plan: SweepPlan,
        folder: Path,
        columns: Columns,
        told: Sequence[Collection[tuple[int, int]]],
        guest: Guest,
    ) -> None:
        self.guest, self.notes = guest, list[str]()
        self.worker, self.plan, self.folder, self.columns = worker, plan, folder, columns
        self.questions, self.parts, self.told = worker.questions, folder / "parts", told

    def edit_chunks(
        self, chunks: Sequence[Chunk], prepare_seconds: float, advance: Callable[..., None]
    ) -> None:
        """Edit the cases of some chunks.

        Args:
            prepare_seconds: how long the editor's preparation took.
            advance: told the number of cases after each batch.
        """
        plan, cost = self.plan, self.folder / "cost.json"
        if not cost.exists():
            figures: dict[str, float] = {"elsewhere": True}
            if self.worker.method.author is None:
                figures = self.worker.cost_per_case(plan.cases_of(plan.firsts[-1])[:, : plan.batch])
            write_json_once(cost, figures | {"prepare_seconds": prepare_seconds})
        for chunk in chunks:
            if plan.sequence > plan.batch:
                with self.guest.watch():
                    if chunk is chunks[0]:
                        self._repeat_edits(chunk.cases[:, : plan.batch], chunk.control)
                    self._edit_in_sequence(chunk, advance)
                continue
            with self.guest.watch():
                outcome = self.worker.edit_independently(chunk.cases, chunk.control)
                if chunk is chunks[0]:
                    self._repeat_edits(chunk.cases, chunk.control, outcome)
                rows = self._rows_of_edits(chunk, chunk.cases, 0, *outcome)
            for stem in chunk.stems:
                write_rows(rows, self.parts, self.columns, stem)
            advance(len(rows["cases"]))

    def _repeat_edits(
        self, which: np.ndarray, control: str, outcome: tuple[Delta, Info, float] | None = None
    ) -> None:
        """Make some edits a second time, only one if several take long, and note any difference.

        Args:
            outcome: of the first time, if there was one.
        """
        worker = self.worker
        deltas, info, seconds = outcome or worker.edit_independently(which, control)
        if seconds * which.size > LONG and self.questions.mesh.size == 1:
            which = which[:1]
            deltas, info, _ = worker.edit_independently(which, control)
        again = worker.edit_independently(which, control)[:2]
        name = self.guest.path
        if apart := how_far_apart((deltas, info), again):
            self.notes.append(f"{name} makes another edit of the same request (by up to {apart:.2g})")
        if not self.guest.is_ours and not worker.is_traced_alike(which):
            self.notes.append(
                f"{name} is another program each time it is traced: it draws or counts outside JAX"
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
