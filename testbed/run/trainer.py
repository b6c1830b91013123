"""The loop around the optimiser step: measures on the way, keeps checkpoints, notices what goes wrong.

Measured is what greedy decoding says, of facts and of every kind of sentence (design.md 6).
"""

import csv
import json
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from corpus.errors import InputError
from corpus.files import hash_file, staged_file, write_record
from corpus.seeds import generator
from corpus.text.language import Kind
from corpus.text.tokenizer import BOS, Word
from lm.attention import Array
from lm.batches import PackedRows, RowsInPhases
from lm.checkpoint_files import best_checkpoint, latest_checkpoint, read_measurements
from lm.checkpoints import save_checkpoint
from lm.cluster import broadcast_value
from lm.decoding import generate
from lm.flops import attainable_flops, flops_per_token
from lm.language_model import LanguageModel
from lm.mesh import local_copy, place_rows
from lm.model import Params
from lm.prompts import left_pad
from lm.training import OwnTexts, TrainState, train_step
from testbed.run.object_names import ObjectNames
from testbed.run.pretrained import inputs_of_training
from testbed.run.runs import Run, folder_digest
from testbed.run.settings import Tracking, TrainSettings, as_plain_data
from testbed.run.world import World

BATCH = 256

LABELLED = (Kind.TRUTH, Kind.NOT, Kind.AND, Kind.OR)


FACTS_ON_THE_WAY = 1000
FACTS_IN_THE_END = 100_000
SENTENCES_ON_THE_WAY = 250
SECONDS_BETWEEN_NOTES = 0.5
SECONDS_BETWEEN_CHECKPOINTS = 600.0
"""After so long a measurement is followed by a checkpoint, be it due or not: no more is lost when killed."""


class Trainer:
    """What all steps of a training share.

    Args:
        rows: where batches come from.
        mesh: where they go.
        began: since when the minutes count, on `time.perf_counter`; by default from now on.
        own: what a pretrained model is to stay near.

    Attributes:
        lines: what was measured so far, as in metrics.jsonl.
    """

    def __init__(
        self,
        run: Run,
        world: World,
        options: TrainSettings,
        rows: PackedRows | RowsInPhases,
        mesh: Mesh,
        began: float | None = None,
        own: OwnTexts | None = None,
    ) -> None:
        self.began = time.perf_counter() if began is None else began
        self.run, self.world, self.options, self.rows, self.mesh = run, world, options, rows, mesh
        self.own = own
        self.first = jax.process_index() == 0
        rng = generator(options.seed, "accuracy")
        shuffled = rng.permutation(world.stated_facts)
        self.facts, self.all_facts = shuffled[:FACTS_ON_THE_WAY], np.sort(shuffled[:FACTS_IN_THE_END])
        self.labelled = sample_labelled(world, SENTENCES_ON_THE_WAY, rng)
        self.lines: list[dict] = []
        place = run.metrics.with_suffix(".csv")
        kind: Tracking = options.track if self.first else "none"
        self.tell = open_tracker(kind, run.name, as_plain_data(options), place)

    def train(self, state: TrainState, advance: Callable[..., None]) -> TrainState:
        """Take the steps that are left, unless the target is reached before.

        Args:
            advance: told after each step, with a note on how it goes.

        Raises:
            InputError: the loss or a parameter is not a number; names step, batch and last good checkpoint.
            KeyboardInterrupt: it was interrupted, and has written a checkpoint.
        """
        newest = latest_checkpoint(self.run.checkpoints)
        self.lines = read_measurements(newest) if newest else []
        if self.first:
            with staged_file(self.run.metrics) as aside:
                aside.write_text("".join(json.dumps(line) + "\n" for line in self.lines), encoding="utf-8")
        if int(state.step) < self.options.train.steps and not self._has_reached_target():
            if self.first:
                self.run.finished_file.unlink(missing_ok=True)
            with _hold_interrupt() as held:
                state = self._steps(state, advance, held)
            if held.is_set() and int(state.step) < self.options.train.steps:
                raise KeyboardInterrupt(f"step {int(state.step):,} is saved")
        if self.first and (int(state.step) == self.options.train.steps or self._has_reached_target()):
            last, best = latest_checkpoint(self.run.checkpoints), best_checkpoint(self.run.checkpoints)
            assert last is not None, "a training ends with a checkpoint"
            assert best is not None, "the last one is one"
            sums = {"checkpoints": {str(int(path.name)): folder_digest(path) for path in (last, best)}}
            at = {key: self.lines[-1][key] for key in ("step", "accuracy")} | {"best_step": int(best.name)}
            write_record(self.run.finished_file, at | sums | {"metrics": hash_file(self.run.metrics)})
        return state

    def measure_all(self, state: TrainState, advance: Callable[[int], None]) -> float:
        """Generative accuracy of all facts that the corpus states, or of many where there are more."""
        return _generative_accuracy(self.whole_model(state), self.world, self.all_facts, advance)

    def _steps(
        self, state: TrainState, advance: Callable[..., None], interrupt: threading.Event
    ) -> TrainState:
        config, model = self.options.train, self.options.model
        done = int(state.step)
        vocabulary = self.world.tokenizer.vocabulary
        peak = attainable_flops(model) * self.mesh.size
        work = flops_per_token(model, config.entries(vocabulary), config.row_length)
        before = self.lines[-1]["seconds"] if self.lines else 0.0
        minutes = self.options.minutes
        began = mark = noted_at = saved_at = time.perf_counter()
        since = done
        running: tuple[int, jax.Array] | None = None
        labels = tuple(map(self.world.tokenizer.word, (Word.TRUE, Word.FALSE)))
        step_once = train_step(model, config, vocabulary, self.mesh, labels)
        for step in range(done, config.steps):
            tokens = place_rows(self.mesh, self.rows.batch(step, config.rows))
            own = self.own.batch(step, config.own_rows) if self.own else None
            state, loss = step_once(state, tokens, own)
            # The loss is looked at one step late, so that the device never waits for it.
            if running:
                self._check_finite(*running)
            running, finished, note = (step + 1, loss), step + 1, ""
            is_late = minutes is not None and broadcast_value(time.perf_counter() - self.began) > 60 * minutes
            ends = is_late or interrupt.is_set()
            saves = ends or finished == config.steps or finished % config.checkpoint_every == 0
            if saves or finished % config.evaluate_every == 0:
                nats, running = self._check_finite(*running), None
                now = time.perf_counter()
                speed = (finished - since) * config.rows * config.row_length / (now - mark)
                line = {"step": finished, "loss": nats} | self._measure(state) | {
                    "tokens_per_second": speed,
                    "utilisation": speed * work / peak,
                    "seconds": before + time.perf_counter() - began,
                }  # fmt: skip
                self._keep_line(line)
                is_overdue = broadcast_value(time.perf_counter() - saved_at > SECONDS_BETWEEN_CHECKPOINTS)
                if saves or is_overdue or self._has_reached_target():
                    self._save(state)
                    saved_at = time.perf_counter()
                note = describe_line(line)
                mark, since = time.perf_counter(), finished
            elif (
                self.lines and finished - since > 1 and time.perf_counter() - noted_at > SECONDS_BETWEEN_NOTES
            ):
                noted_at = time.perf_counter()
                # The newest step may still be under way.
                speed = (finished - 1 - since) * config.rows * config.row_length / (noted_at - mark)
                note = describe_line(
                    self.lines[-1] | {"tokens_per_second": speed, "utilisation": speed * work / peak}
                )
            advance(1, note)
            if ends or self._has_reached_target():
                break
        return state

    def _measure(self, state: TrainState) -> dict:
        model = self.whole_model(state)
        accuracy = broadcast_value(_generative_accuracy(model, self.world, self.facts))
        labels = label_accuracy(model, self.world, self.labelled)
        return {"accuracy": accuracy, **{kind_name(kind): share for kind, share in labels.items()}}

    def whole_model(self, state: TrainState) -> LanguageModel:
        """The model of a state, on this process's first device."""
        return LanguageModel(self.options.model, local_copy(self.mesh, state.params))

    def _has_reached_target(self) -> bool:
        until = self.options.until
        return until is not None and bool(self.lines) and self.lines[-1]["accuracy"] >= until

    def _keep_line(self, line: dict) -> None:
        self.lines.append(line)
        if self.first:
            with self.run.metrics.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            self.tell(self.lines)

    def _save(self, state: TrainState) -> None:
        if not _all_finite(state.params):
            self._give_up(int(state.step), "a parameter is not a number after the update")
        origin = {
            "settings": as_plain_data(self.options),
            "inputs": inputs_of_training(self.run, self.options),
        }
        save_checkpoint(self.run.checkpoints, state, self.lines, origin)

    def _check_finite(self, step: int, loss: jax.Array) -> float:
        nats = float(loss)
        if not np.isfinite(nats):
            self._give_up(step, f"the loss is {nats}")
        return nats

    def _give_up(self, step: int, why: str) -> NoReturn:
        count = self.options.train.rows
        path = self.run.metrics.parent / f"failed-batch-{step}.npy"
        where = f"is kept as {path}"
        if self.first:
            try:
                with staged_file(path) as aside, aside.open("wb") as file:
                    np.save(file, self.rows.batch(step - 1, count), allow_pickle=False)
            except OSError as error:
                where = f"could not be kept as {path} ({error.strerror})"
        good = latest_checkpoint(self.run.checkpoints)
        raise InputError(
            f"{why} at step {step}, whose batch (rows {(step - 1) * count} to {step * count - 1}) {where}; "
            f"the last good checkpoint is {good}. Choose a lower --train.learning-rate or "
            f"--train.adam-learning-rate, or a longer --train.warmup, under another --run"
        )


@jax.jit
def _all_finite(params: Params) -> jax.Array:
    """Whether every parameter is a number."""
    return jnp.all(jnp.array([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(params)]))


@contextmanager
def _hold_interrupt() -> Iterator[threading.Event]:
    """Within, a first interrupt is set and waits to be looked for; a second one is as before.

    Outside the main thread nobody hears of one, and of a cluster's processes one alone would end.
    """
    held = threading.Event()
    if threading.current_thread() is not threading.main_thread() or jax.process_count() > 1:
        yield held
        return
    usual = signal.getsignal(signal.SIGINT)

    def hold(_: int, __: FrameType | None) -> None:
        signal.signal(signal.SIGINT, usual)
        held.set()
        print("\ninterrupted: this step is saved first; once more ends at once", file=sys.stderr)

    signal.signal(signal.SIGINT, hold)
    try:
        yield held
    finally:
        signal.signal(signal.SIGINT, usual)


def describe_line(line: dict) -> str:
    """One measurement in a few words."""
    return (
        f"loss {line['loss']:.3f}  facts {line['accuracy']:.1%}  "
        f"{line['tokens_per_second']:,.0f} tokens/s, {line['utilisation']:.0%} peak"
    )


def kind_name(kind: Kind) -> str:
    """What metrics.jsonl calls a kind of sentence."""
    return kind.name.lower()


def seconds_to(lines: Sequence[dict], accuracy: float) -> float | None:
    """Seconds of training, measurements and compilation included, until an accuracy was first measured."""
    return next((line["seconds"] for line in lines if line["accuracy"] >= accuracy), None)


PROJECT = "credence"


def open_tracker(kind: Tracking, name: str, settings: Any, path: Path) -> Callable[[Sequence[dict]], None]:
    """What is told all that was measured so far, after each measurement.

    Args:
        name: of the run; settings: as plain data.
        path: of the CSV.

    Raises:
        InputError: the package is not installed.
    """
    if kind == "none":
        return lambda _: None
    if kind == "csv":
        return lambda lines: _write_csv(lines, path)
    try:
        package = import_module(kind)
    except ImportError as error:
        raise InputError(f"--track {kind} needs a package ({error}); pip install '.[track]'") from None
    package.init(project=PROJECT, name=name, config=settings)
    return lambda lines: package.log({k: v for k, v in lines[-1].items() if math.isfinite(v)})


def _write_csv(lines: Sequence[dict], path: Path) -> None:
    columns = dict.fromkeys(name for line in lines for name in line)
    with staged_file(path) as aside, aside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


@partial(jax.jit, static_argnames="longest")
def _decode_prompts(model: LanguageModel, prompts: Array, longest: int) -> jax.Array:
    return generate(model, model.read_prompts(prompts), longest)


def _generative_accuracy(
    model: LanguageModel, world: World, facts: np.ndarray, advance: Callable[[int], None] = lambda _: None
) -> float:
    """Share of the given facts (indices) whose ground truth is generated exactly, ending included.

    Args:
        advance: told how many facts were looked at, again and again.
    """
    graph, tokenizer = world.graph, world.tokenizer
    names = ObjectNames(tokenizer, graph.objects)
    length = tokenizer.row_length
    width = int(1 + (length[graph.subject] + length[tokenizer.relation_row(graph.relation)]).max())
    prompts = [tokenizer.prompt(graph.subject[f], graph.relation[f]) for f in facts]
    answers = names.objects_of(_decode_all(model, prompts, width, names.longest + 1, advance))
    return float(np.mean(answers == world.generative.truth[facts]))


def label_accuracy(
    model: LanguageModel, world: World, sentences: dict[Kind, np.ndarray]
) -> dict[Kind, float]:
    """Share of sentences that are completed by the right one of "true" and "false", for each kind.

    A truth sentence's right label is whether it states the ground truth, whatever the corpus says of it;
    the labels of not, and, or sentences are always right.

    Args:
        sentences: indices of sentences of each kind.
    """
    tokenizer, corpus_sentences = world.tokenizer, world.sentences
    true, false = tokenizer.word(Word.TRUE), tokenizer.word(Word.FALSE)
    shares = {}
    for kind, which in sentences.items():
        prompts = [np.concatenate([[BOS], tokenizer.sentence(corpus_sentences[int(i)])[:-1]]) for i in which]
        right = corpus_sentences.label[which]
        if kind == Kind.TRUTH:
            s, r, o = corpus_sentences.a[which].T
            right = world.generative.truth[world.graph.find(s, r)] == o
        # Widths in steps of eight, so that few programs serve all kinds.
        width = -(-max(map(len, prompts)) // 8) * 8
        answers = _decode_all(model, prompts, width, 1)[:, 0]
        shares[kind] = float(np.mean(answers == np.where(right, true, false)))
    return shares


def sample_labelled(world: World, count: int, rng: np.random.Generator) -> dict[Kind, np.ndarray]:
    """Up to `count` sentences (indices) of every kind with a label that the corpus has."""
    of_kind = {kind: np.flatnonzero(world.sentences.kind == kind) for kind in LABELLED}
    return {kind: rng.permutation(which)[:count] for kind, which in of_kind.items() if len(which)}


def _decode_all(
    model: LanguageModel,
    prompts: list[np.ndarray],
    width: int,
    longest: int,
    advance: Callable[[int], None] = lambda _: None,
) -> np.ndarray:
    """int32[len(prompts), longest]: greedy continuations."""
    tokens = []
    for low in range(0, len(prompts), BATCH):
        part = prompts[low : low + BATCH]
        # One shape for every call: the last batch is filled up with empty prompts.
        padded = left_pad(part + [np.empty(0, np.int32)] * (BATCH - len(part)), width)
        tokens.append(np.asarray(_decode_prompts(model, padded, longest))[: len(part)])
        advance(len(part))
    return np.concatenate(tokens)
