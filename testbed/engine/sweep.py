"""A sweep: one editor's edits of many cases, in batches, each scored, resumable part by part."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from safetensors.flax import load_file, save_file

from corpus.files import staged_file, write_json_once
from lm.delta import Delta
from lm.editors.interface import Info
from testbed.engine.passages import passage_rows
from testbed.engine.probes import ModelAnswers
from testbed.engine.records import (
    TABLES,
    Circumstances,
    Columns,
    Rows,
    concatenate_rows,
    is_written,
    merge_tables,
    rows_of_cases,
    write_rows,
)
from testbed.engine.shard import ALL, Shard
from testbed.engine.worker import Worker

MARKS = (1, 10, 100, 1000, 10_000)
ROUNDS_BETWEEN_SAVES = 25


def control_stem(name: str) -> str:
    """What the tables of a control's results begin with; nothing where the editor was told the request."""
    return f"control-{re.sub(r'[^a-z0-9]+', '-', name.lower())}-" if name else ""


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


def stem_of(control: str, first: int, what: str = "") -> str:
    """What the names of a chunk's parts begin with."""
    return f"{control_stem(control)}{first:06d}-{what}"


def unfinished_chunks(plan: SweepPlan, folder: Path, control: str = "", shard: Shard = ALL) -> list[int]:
    """The first sequence of every chunk of a shard that is not finished.

    Args:
        folder: of the sweep.
        control: the control that the editor is told in place of the request, if any.
    """
    chunks = shard.batches_of(plan.firsts)
    return [first for first in chunks if not is_written(folder / "parts", stem_of(control, first))]


def merge_chunks(plan: SweepPlan, folder: Path, columns: Columns, control: str = "") -> None:
    """Make the tables of results of the parts of all chunks, which must be there."""
    for what in (*(f"retained-{mark}-" for mark in plan.marks), ""):
        stems = [stem_of(control, first, what) for first in plan.firsts]
        merge_tables(stems, folder / "parts", folder, columns, control_stem(control) + what, bool(plan.order))


class Sweep:
    """All edits of one worker, or its shard of them; what was finished before a kill is kept.

    Args:
        folder: where cost.json is written, and parts below it.
        columns: of these tables.
        told: the control that the editor is told in place of the request, if any.
    """

    def __init__(
        self,
        worker: Worker,
        plan: SweepPlan,
        folder: Path,
        columns: Columns,
        told: str = "",
        shard: Shard = ALL,
    ) -> None:
        self.worker, self.plan, self.folder, self.columns, self.control = worker, plan, folder, columns, told
        self.questions, self.parts = worker.questions, folder / "parts"
        self.pending = unfinished_chunks(plan, folder, told, shard)

    @property
    def finished_cases(self) -> int:
        """Cases that are not left to this process."""
        left = sum(self.plan.sequences_in(first) for first in self.pending)
        return self.plan.cases - left * self.plan.sequence

    def edit_pending(self, prepare_seconds: float, advance: Callable[..., None]) -> None:
        """Do what is pending.

        Args:
            prepare_seconds: how long the editor's preparation took.
            advance: told the number of cases after each batch.
        """
        plan, cost = self.plan, self.folder / "cost.json"
        if not cost.exists():
            figures = self.worker.cost_per_case(plan.chunk(plan.firsts[-1])[:, : plan.batch])
            write_json_once(cost, figures | {"prepare_seconds": prepare_seconds})
        for first in self.pending:
            (self._edit_apart if plan.rounds == 1 else self._edit_in_sequence)(first, advance)

    def _stem(self, first: int, what: str = "") -> str:
        return stem_of(self.control, first, what)

    def _write_rows(self, rows: Rows, stem: str) -> None:
        write_rows(rows, self.parts, self.columns, stem)

    def _edit_apart(self, first: int, advance: Callable[..., None]) -> None:
        """A chunk of edits that do not build on each other."""
        which = self.plan.chunk(first)
        deltas, info, seconds = self.worker.edit_independently(which, self.control)
        rows = self._rows_of_edits(first, which, 0, deltas, info, seconds)
        for mark in self.plan.marks:
            self._write_rows(rows, self._stem(first, f"retained-{mark}-"))
        self._write_rows(rows, self._stem(first))
        advance(len(rows["cases"]))

    def _edit_in_sequence(self, first: int, advance: Callable[..., None]) -> None:
        """A chunk of sequences, each edit on top of those before it; saved every few rounds."""
        plan, lines = self.plan, self.plan.chunk(first)
        rounds = np.split(lines, plan.rounds, axis=1)
        carried, start = self._load_carried(first, self.worker.empty_deltas(rounds[0], plan.rounds))
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
                self._write_rows(again, self._stem(first, f"retained-{made * plan.batch}-"))
            if made % ROUNDS_BETWEEN_SAVES == 0 or made == plan.rounds:
                self._write_rows(rows, self._stem(first, f"until-{made:06d}-"))
                self._save_carried(first, carried, made)
                rows = nothing
            advance(len(now["cases"]))
        until = sorted(path.name for path in self.parts.glob(f"{self._stem(first)}until-*-cases.parquet"))
        stems = [name.removesuffix("cases.parquet") for name in until]
        merge_tables(stems, self.parts, self.parts, self.columns, self._stem(first))

    def _rows_of_edits(
        self, first: int, which: np.ndarray, position: int, deltas: Delta, info: Info, seconds: float
    ) -> Rows:
        """Rows of int[G, B] cases after G edits, without those that only fill the chunk up."""
        sequences, size = self.plan.sequences_in(first), which.shape[1]
        number = which[:sequences].ravel()
        cases = [self.questions.cases[k] for k in number]
        independent = self.plan.sequence == 1
        subjects = np.array([c.request.subject for c in cases])
        how = Circumstances(
            case=number,
            cluster=subjects if independent else number // self.plan.sequence,
            position=np.tile(np.arange(position, position + size), sequences),
            info=Info(*(np.repeat(np.asarray(x)[:sequences], size, axis=0) for x in info)),
            seconds=np.full(len(number), seconds),
        )
        questions = self.questions
        before, after = (
            ModelAnswers(*(x[: len(number)] for x in readings))
            for readings in (questions.answers_before(which), questions.answers_after(deltas, which))
        )
        rows = rows_of_cases(cases, before, after, how, questions.names, self.columns)
        texts = questions.texts_before(which), questions.texts_after(deltas, which)
        rows["passages"] = passage_rows(questions.tokenizer, questions.reader, cases, number, *texts)
        return rows

    def _load_carried(self, first: int, fresh: Delta) -> tuple[Delta, int]:
        """What the sequences of a chunk carry, and how many rounds are behind them."""
        path = self._carried_file(first)
        if not path.exists():
            return fresh, 0
        saved = load_file(path)
        leaves, tree = jax.tree.flatten(fresh)
        return jax.tree.unflatten(tree, [saved[str(i)] for i in range(len(leaves))]), int(saved["rounds"])

    def _save_carried(self, first: int, carried: Delta, rounds: int) -> None:
        leaves = {str(i): x for i, x in enumerate(jax.tree.leaves(carried))}
        with staged_file(self._carried_file(first)) as aside:
            save_file(leaves | {"rounds": jax.numpy.int32(rounds)}, aside)

    def _carried_file(self, first: int) -> Path:
        return self.parts / f"{self._stem(first)}carried.safetensors"
