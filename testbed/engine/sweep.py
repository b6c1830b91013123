"""The loop of edits: a batch is edited and asked, the rows of its answers are stored, until all are there.

Edits that are independent of each other are sequences of one round. What is killed goes on after the last
rows that it stored.
"""

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.flax import load_file, save_file

from corpus.files import read_json, seal_folder, staged_file, write_json, write_json_once
from lm.delta import Delta
from lm.editors.interface import CorpusSample, Info, Request, trait_of
from lm.language_model import LanguageModel
from lm.mesh import make_mesh
from testbed.engine.checks import check_editor, prepare_editor
from testbed.engine.integrity import EditorWatch, is_traced_alike
from testbed.engine.isolation.editor import IsolatedEditor
from testbed.engine.methods import Method
from testbed.engine.plan import (
    PLAN,
    Chunk,
    SweepPlan,
    make_plan,
    read_begun_plan,
    read_plan,
    unfinished_chunks,
)
from testbed.engine.prepared_editor import Edits, PreparedEditor
from testbed.engine.questions import ModelAnswers, Questions
from testbed.engine.records import (
    TABLES,
    Circumstances,
    Columns,
    Rows,
    cases_without_numbers,
    concatenate_rows,
    control_stem,
    no_rows,
    passage_rows,
    read_table,
    rows_of_cases,
    table_file,
    write_rows,
)
from testbed.engine.requests import tell_method
from testbed.engine.trace import CONFIG, NOTES, read_notes
from testbed.protocol import Case, names_of_controls
from testbed.run.earlier import compare_to_earlier, read_earlier
from testbed.run.lock import ALL, Shard, shard_from
from testbed.run.model import corpus_sample
from testbed.run.runs import Run
from testbed.run.world import World

if TYPE_CHECKING:
    from testbed.settings import EditSettings

ROUNDS_BETWEEN_SAVES = 25
SHORT, LONG = 5.0, 60.0
"""Seconds: a preparation that is made twice, and edits of which only one is."""
CARRIED, COST, KNEW = "carried.safetensors", "cost.json", "knew.json"


class Work(NamedTuple):
    """One editor's part of a sweep: who edits, by which plan, where rows are stored, and what it breaks."""

    editor: PreparedEditor
    plan: SweepPlan
    parts: Path
    watch: EditorWatch


class Sweep:
    """Edits of the same cases by one editor after another, who share the questions and what they may read.

    Args:
        cases: of all edits.
        columns: of the tables of results.
        settings: which edits build on each other, how many are made side by side, which shard, and the root
            seed of what editors may read and of their randomness.

    Attributes:
        controls: what editors are told besides requests.
        edit_count: how many edits an editor makes.
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
        self.run, self.columns, self.settings = run, columns, settings
        self.questions = Questions(world, model, cases, settings.seed, make_mesh(settings.mesh))
        self.controls = names_of_controls(cases, settings.sequence)
        self.shard = shard_from(settings.shard)
        self.edit_count = len(cases) * (1 + len(self.controls))
        self._world = world
        self.earlier = read_earlier(run)

    @cached_property
    def sample(self) -> CorpusSample:
        """Text and practice edits."""
        return corpus_sample(self.run, self._world, self.questions.cases, self.settings.seed)

    def edit_cases(self, method: Method, folder: Path, advance: Callable[..., None]) -> None:
        """Edit every case by a method, or a shard of the cases, and write the results into a folder.

        When the parts of all shards are there, they are joined into the tables.

        Args:
            advance: told the number of cases after each batch.

        Raises:
            InputError: an editor that does not fit; a sweep that was begun in another number of shards.
        """
        if not (folder / PLAN).exists() or self._pending_chunks(folder):
            work = self._begin_work(method, folder)
            pending = self._pending_chunks(folder)
            if done := self.edit_count - work.plan.sequence * sum(chunk.sequences for chunk in pending):
                advance(done)
            for number, chunk in enumerate(pending):
                with work.watch.look():
                    self._edit_chunk(work, chunk, advance, is_first=not number)
            known = read_notes(folder)
            if new := [note for note in work.watch.describe() if note not in known]:
                write_json(folder / NOTES, {"notes": [*known, *new]})
        if self.shard == ALL:
            finish_sweep(folder, self.columns, self.controls)

    def _edit_chunk(self, work: Work, chunk: Chunk, advance: Callable[..., None], is_first: bool) -> None:
        """Make the edits of a chunk round by round, ask the edited models, and store rows of their answers.

        Args:
            is_first: of a command; then some edits are made twice, and what differs is noted.
        """
        editor, plan, parts, _ = work
        rounds = np.split(chunk.cases, plan.rounds, axis=1)
        carried, start = load_carried(work, chunk) if plan.rounds > 1 else (None, 0)
        if start:
            advance(start * plan.batch * chunk.sequences)
        rows = no_rows()
        for index in range(start, plan.rounds):
            edits = editor.edit(rounds[index], chunk.control, carried, index)
            if is_first and index == start:
                note_differences(work, rounds[0], chunk.control, edits if carried is None else None)
            asked_now = self._rows_of_edits(work, chunk, index, edits)
            self._ask_what_it_knew(work, chunk, edits)
            rows, carried, count = concatenate_rows(rows, asked_now), edits.deltas, index + 1
            if count * plan.batch in plan.marks:
                asked_again = [self._rows_of_edits(work, chunk, i, edits) for i in range(index)]
                stem = f"{chunk.stem}retained-{count * plan.batch}-"
                write_rows(concatenate_rows(*asked_again, asked_now), parts, self.columns, stem)
            if count % ROUNDS_BETWEEN_SAVES == 0:
                write_rows(rows, parts, self.columns, f"{chunk.stem}until-{count:06d}-")
                save_carried(parts, chunk, carried, count)
                rows = no_rows()
            advance(len(asked_now["cases"]))
        names = sorted(path.name for path in parts.glob(f"{chunk.stem}until-*-cases.parquet"))
        stored = [name.removesuffix("cases.parquet") for name in names]
        write_rows(rows, parts, self.columns, chunk.stem, behind=stored)

    def _rows_of_edits(self, work: Work, chunk: Chunk, index: int, edits: Edits) -> Rows:
        """Rows of what edited models answer to the cases of one round, without those that fill up."""
        editor, plan, _, _ = work
        size, sequences, questions = plan.batch, chunk.sequences, self.questions
        which = chunk.cases[:, index * size : (index + 1) * size]
        number = which[:sequences].ravel()
        cases = [questions.cases[k] for k in number]
        subjects = np.array([c.request.subject for c in cases])
        how = Circumstances(
            case=number,
            cluster=subjects if plan.sequence == 1 else number // plan.sequence,
            position=np.tile(np.arange(index * size, (index + 1) * size), sequences),
            info=Info(*(np.repeat(np.asarray(x)[:sequences], size, axis=0) for x in edits.info)),
            seconds=np.full(len(number), edits.seconds),
        )
        before, after = (
            ModelAnswers(*(x[: len(number)] for x in answers))
            for answers in (questions.answers_before(which), questions.answers_after(edits.deltas, which))
        )
        told = [editor.method.facts_besides_request(case) for case in cases]
        rows = rows_of_cases(cases, before, after, how, questions.names, self.columns, told)
        for place, fault in describe_faults(rows, editor, chunk, which, edits).items():
            rows["cases"][place]["fault"] = fault
        texts = questions.texts_before(which), questions.texts_after(edits.deltas, which)
        rows["passages"] = passage_rows(questions.tokenizer, questions.reader, cases, number, *texts)
        return rows

    def _ask_what_it_knew(self, work: Work, chunk: Chunk, edits: Edits) -> None:
        """Note how far edited models say what the pretrained model said before it read."""
        if self.earlier is None or chunk.control:
            return
        changes = [jax.tree.map(lambda x, i=i: x[i], edits.deltas) for i in range(chunk.sequences)]
        found = [compare_to_earlier(self.questions.model.with_delta(one), self.earlier) for one in changes]
        figures = {"knew": [one.same for one in found], "knew_nats": [one.nats for one in found]}
        write_json(work.parts / f"{chunk.stem}{KNEW}", figures)

    def _pending_chunks(self, folder: Path) -> list[Chunk]:
        plan = read_begun_plan(folder, self.shard, self.settings.mesh.data)
        return unfinished_chunks(plan, folder, self.controls, self.shard)

    def _begin_work(self, method: Method, folder: Path) -> Work:
        """The method, prepared for the model, and the plan by which it edits, as it was begun if it was."""
        questions, settings, sample = self.questions, self.settings, self.sample
        watch = EditorWatch(method, questions.model, self.run.folder)
        requests = tell_method(questions.tokenizer, questions.cases, method)
        with watch.look():
            began = time.perf_counter()
            state = prepare_editor(method.editor, questions.model, sample)
            seconds = time.perf_counter() - began
        with watch.look():
            first = requests[""].of_edits(np.arange(settings.batch)[None])
            check_editor(method.editor, questions.model, state, first)
            if not watch.is_ours and seconds < SHORT:
                again = prepare_editor(method.editor, questions.model, sample)
                watch.note_difference("prepares another thing each time", state, again)
        editor = PreparedEditor(questions, method, state, requests, settings.seed)
        if not (folder / PLAN).exists():
            plan = make_plan(editor, settings, self.shard)
            write_json_once(folder / PLAN, {"plan": plan._asdict(), "shards": self.shard.of})
        plan = read_begun_plan(folder, self.shard, settings.mesh.data)
        if not (cost := folder / COST).exists():
            figures: dict[str, float] = {"elsewhere": True}
            if method.author is None:
                last = plan.chunks()[-1].cases[:, : plan.batch]
                figures = {"flops": editor.flops_per_case(last), "peak_bytes": editor.bytes_per_case(last)}
            write_json_once(cost, figures | {"prepare_seconds": seconds})
        return Work(editor, plan, folder / "parts", watch)


def note_differences(work: Work, which: np.ndarray, control: str, edits: Edits | None) -> None:
    """Make some edits a second time, only one if several take long, and note any difference.

    Args:
        edits: as they were made the first time; None where that was on top of others.
    """
    editor, watch = work.editor, work.watch
    edits = edits or editor.edit(which, control)
    if edits.seconds * which.size > LONG and editor.questions.mesh.size == 1:
        which = which[:1]
        edits = editor.edit(which, control)
    again = editor.edit(which, control)
    watch.note_difference("makes another edit of the same request", edits[:2], again[:2])
    if watch.is_ours:
        return
    isolated = editor.method.editor
    is_alike = (
        isolated.is_traced_alike()
        if isinstance(isolated, IsolatedEditor)
        else is_traced_alike(editor.editor, *editor.arguments_of_first(which))
    )
    if not is_alike:
        watch.notes.append(
            f"{watch.path} is another program each time it is traced: it draws or counts outside JAX"
        )


def load_carried(work: Work, chunk: Chunk) -> tuple[Delta, int]:
    """What the sequences of a chunk carry, and how many rounds are behind them."""
    nothing = work.editor.carry_nothing(chunk.cases[:, : work.plan.batch], work.plan.rounds)
    path = work.parts / f"{chunk.stem}{CARRIED}"
    if not path.exists():
        return nothing, 0
    arrays = load_file(path)
    leaves, tree = jax.tree.flatten(nothing)
    return jax.tree.unflatten(tree, [arrays[str(i)] for i in range(len(leaves))]), int(arrays["rounds"])


def save_carried(parts: Path, chunk: Chunk, carried: Delta, rounds: int) -> None:
    """Keep what the sequences of a chunk carry after some rounds."""
    leaves = {str(i): x for i, x in enumerate(jax.tree.leaves(carried))}
    with staged_file(parts / f"{chunk.stem}{CARRIED}") as aside:
        save_file(leaves | {"rounds": jax.numpy.int32(rounds)}, aside)


def describe_faults(
    rows: Rows, editor: PreparedEditor, chunk: Chunk, which: np.ndarray, edits: Edits
) -> dict[int, str]:
    """Why the model gives no numbers after some edits, by place among the rows.

    That is the error in which an edit failed, of an editor that remembers it, or what in it is no number.
    """
    size, faults = which.shape[1], {}
    if without := cases_without_numbers(rows):
        leaves = jax.tree_util.tree_leaves_with_path(edits.deltas)
        parts = {f"delta{jax.tree_util.keystr(path)}": x for path, x in leaves}
        finite = {
            name: np.asarray(jax.numpy.isfinite(x).reshape(len(x), -1).all(1))
            for name, x in ({"its own loss": edits.info.loss} | parts).items()
            if len(x) and jax.numpy.issubdtype(x.dtype, jax.numpy.floating)
        }
        for place, row in enumerate(rows["cases"]):
            wrong = [name for name, is_finite in finite.items() if not is_finite[place // size]]
            if row["case"] in without and wrong:
                faults[place] = f"{' and '.join(wrong)} {'are' if wrong[1:] else 'is'} no number"
    find_cause = trait_of(editor.method.editor, "cause_of")
    requests = editor.requests[chunk.control].of_edits(which)
    for i in range(chunk.sequences):
        if cause := find_cause(Request(*(x[i] for x in requests))):
            faults |= {i * size + j: cause for j in range(size)}
    return faults


def merge_tables(
    stems: Sequence[str], parts: Path, folder: Path, columns: Columns, stem: str = "", by_case: bool = False
) -> None:
    """Put the tables of several stems of one folder into those of one stem of another; sorted, if wanted."""
    for table in TABLES:
        pieces = [read_table(table_file(parts, table, part), columns.schemas[table]) for part in stems]
        table_of_all = pa.concat_tables(pieces)
        with staged_file(table_file(folder, table, stem)) as aside:
            pq.write_table(table_of_all.sort_by("case") if by_case else table_of_all, aside)


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
        merged = set()
        for control in (*controls, ""):
            for stage in plan.stages:
                stems = [chunk.stem + stage for chunk in plan.chunks(control)]
                stem = control_stem(control) + stage
                merge_tables(stems, folder / "parts", folder, columns, stem, bool(plan.order))
                merged |= {table_file(folder, table, stem).name for table in TABLES}
        if figures := [read_json(path) for path in sorted((folder / "parts").glob(f"*{KNEW}"))]:
            means = {
                name: float(np.mean(np.concatenate([one[name] for one in figures]))) for name in figures[0]
            }
            write_json(folder / COST, read_json(folder / COST) | means)
        # A table that lay there is none of these edits; what has no checksum is not read.
        others = {name for name in (CONFIG, COST, NOTES) if (folder / name).exists()}
        seal_folder(folder, merged | others)
    return missing
