"""How a sweep is cut into chunks: how many edits fit side by side, and which chunks are not finished."""

import math
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from corpus.errors import InputError
from corpus.files import read_json
from corpus.text.tokenizer import Tokenizer
from lm.delta import empty_carry
from lm.language_model import LanguageModel
from testbed.engine.methods import Triple
from testbed.engine.prepared_editor import PreparedEditor
from testbed.engine.questions import ProbeShape
from testbed.engine.records import control_stem, is_written
from testbed.run.lock import ALL, Shard

if TYPE_CHECKING:
    from testbed.settings import EditSettings

PLAN = Path("parts") / "plan.json"
MARKS = (1, 10, 100, 1000, 10_000)
SHARE = 0.25
"""Of the free memory that edits may take."""
COPIES = 5
"""Of what an edit changes: itself, its gradient, two moments, and one to spare."""

ON_PROCESSORS = 1e13
"""Arithmetic of edits side by side: a minute or two of two cores."""


class Chunk(NamedTuple):
    """Sequences that are edited side by side.

    Attributes:
        control: what the editor is told in place of the request, "" for the request.
        cases: int[abreast, sequence].
        sequences: how many of them are not repeated ones.
        stem: what the names of its tables begin with.
    """

    control: str
    cases: np.ndarray
    sequences: int
    stem: str


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
    def marks(self) -> list[int]:
        """Numbers of edits after which all earlier ones of a sequence are asked again."""
        if self.sequence == 1:
            return []
        return [*(m for m in MARKS if m < self.sequence and m % self.batch == 0), self.sequence]

    @property
    def stages(self) -> list[str]:
        """What the names of tables begin with: after each mark, and "" for every edit when it was made."""
        return [*(f"retained-{mark}-" for mark in self.marks), ""]

    def chunks(self, control: str = "") -> list[Chunk]:
        """All cases, in chunks of one shape: the last one repeats its last sequence to have it.

        Args:
            control: what the editor is told in place of the request.
        """
        lines = np.array(self.order or range(self.cases)).reshape(-1, self.sequence)
        chunks = []
        for first in range(0, len(lines), self.abreast):
            which = np.minimum(np.arange(first, first + self.abreast), len(lines) - 1)
            sequences = min(self.abreast, len(lines) - first)
            chunks.append(Chunk(control, lines[which], sequences, f"{control_stem(control)}{first:06d}-"))
        return chunks


def make_plan(editor: PreparedEditor, settings: "EditSettings", shard: Shard) -> SweepPlan:
    """The plan of a sweep; how many edits are made side by side stays so, since parts are cut by it."""
    questions, method, devices = editor.questions, editor.method, settings.mesh.data
    cases, size = len(questions.cases), settings.batch_edits
    order: list[int] = []
    sequences, rounds = cases // settings.sequence, settings.sequence // settings.batch
    if size == "auto":
        first = np.arange(settings.batch)[None]
        changed = [editor.delta_shapes(first)]
        if rounds > 1:
            carry = partial(empty_carry, vocabulary=questions.model.vocabulary, times=rounds)
            changed.append(jax.eval_shape(carry, changed[0]))
        most = min(method.most, edits_in_short_time(editor.flops_per_case(first) * settings.batch))
        facts = editor.requests[""].facts * settings.batch
        size = affordable_edits(bytes_of_an_edit(questions.model, changed, questions.shape, facts), most)
        size *= devices
    each = _edits_per_device(sequences, size, shard, devices)
    if settings.sequence == 1:
        order = order_by_length(questions.tokenizer, [case.requested_fact for case in questions.cases])
        if settings.batch_edits == "auto":
            size = compiled_edits_that_fit(lambda n: editor.bytes_compiled(n * devices), each) * devices
            each = _edits_per_device(sequences, size, shard, devices)
    return SweepPlan(cases, settings.sequence, settings.batch, each * devices, order)


def order_by_length(tokenizer: Tokenizer, facts: Sequence[Triple]) -> list[int]:
    """Facts, the shortest first, so that those edited together need little padding."""
    tokens = [len(tokenizer.prompt(s, r)) + len(tokenizer.entity(o)) for s, r, o in facts]
    return np.argsort(tokens, kind="stable").tolist()


def read_plan(folder: Path) -> tuple[SweepPlan, int]:
    """How a sweep was begun: its plan, and how many shards it has."""
    recorded_plan = read_json(folder / PLAN)
    return SweepPlan(**recorded_plan["plan"]), recorded_plan["shards"]


def read_begun_plan(folder: Path, shard: Shard, devices: int) -> SweepPlan:
    """The plan by which a sweep was begun, perhaps by another process.

    Raises:
        InputError: it was begun in another number of shards, or for other devices.
    """
    plan, shards = read_plan(folder)
    if shard != ALL and shard.of != shards:
        how = f"in {shards} shards" if shards > 1 else "without --shard"
        raise InputError(
            f"{folder} was begun {how}, not in {shard.of} shards; go on in the same way, or without "
            "--shard where no other process is at work on it"
        )
    if plan.abreast % devices:
        raise InputError(
            f"{folder} was begun with {plan.abreast} edits side by side, which {devices} devices "
            "(--mesh.data) cannot share; go on with as many devices as it was begun with"
        )
    return plan


def unfinished_chunks(
    plan: SweepPlan, folder: Path, controls: Sequence[str], shard: Shard = ALL
) -> list[Chunk]:
    """The chunks of a shard that are not finished, in the order in which they are edited.

    Args:
        folder: of the sweep.
        controls: what editors are told besides requests.
    """
    chunks = [c for name in (*controls, "") for c in plan.chunks(name)[shard.number - 1 :: shard.of]]
    return [chunk for chunk in chunks if not is_written(folder / "parts", chunk.stem)]


def _edits_per_device(sequences: int, size: int, shard: Shard, devices: int) -> int:
    """Side by side on each device, of at most `size` on all of them.

    Chunks of one size, rather than full ones and a rest that costs as much; some for every shard.
    """
    chunks = max(math.ceil(sequences / size), min(shard.of, sequences))
    return math.ceil(sequences / chunks / devices)


def affordable_edits(bytes_of_one: float, most: int) -> int:
    """How many of so many bytes each fit into the share of what is free: at least 1, at most `most`."""
    return max(1, min(most, int(SHARE * free_bytes() / bytes_of_one)))


def compiled_edits_that_fit(bytes_of_one: Callable[[int], float], most: int) -> int:
    """How many edits fit by what was compiled for as many: `most`, or fewer until it does.

    Args:
        bytes_of_one: what an edit takes beside others, given how many there are; nan where nobody knows.
    """
    while most > 1:
        bytes_used = bytes_of_one(most)
        fewer = most if math.isnan(bytes_used) else affordable_edits(bytes_used, most)
        if fewer == most:
            break
        most = fewer
    return most


def edits_in_short_time(flops: float) -> int:
    """How many edits of so much arithmetic a processor makes before long; elsewhere any number is.

    What is not finished is lost when a sweep is killed, and until then nobody knows how long it takes.
    """
    return int(ON_PROCESSORS / flops) if flops and jax.default_backend() == "cpu" else sys.maxsize


def bytes_of_an_edit(model: LanguageModel, changed: Any, shape: ProbeShape, facts: int) -> int:
    """An estimate from shapes alone of what an edit takes beside others.

    That is what it changes, with its optimiser, and what its backward pass keeps. Probes are asked in pieces,
    whatever there is side by side. An editor may read more than shapes show, each request behind several
    openings, or what others believe: what was compiled tells.

    Args:
        changed: what an edit, or a sequence of them, adds to the model; shapes are enough.
        facts: that one edit is told.
    """
    config = model.config
    numbers = sum(math.prod(x.shape) for x in jax.tree.leaves(changed))
    answer = shape.longest + 1
    attention = config.heads * (shape.prompt + answer)
    inside = config.layers * (12 * config.hidden + 8 * config.mlp + 3 * attention)
    floats = COPIES * numbers + facts * ((shape.prompt + answer) * inside + 3 * answer * model.vocabulary)
    return 4 * floats


def free_bytes() -> float:
    """Memory that is free on the device that edits run on."""
    stats = jax.local_devices()[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return stats["bytes_limit"] - stats["bytes_in_use"]
    # Devices that are a machine's processors share its memory.
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") / jax.local_device_count()
