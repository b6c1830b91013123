"""How fast facts are edited and probed, beside PyTorch with Hugging Face's peft, in one run on one machine.

Command (with the extra `bench` installed):
    python -m experiments.edit_speed

Both edit the same weights (random ones; time does not depend on them) by the same recipe in float32:
lora-down, 40 steps. Ours edits many facts side by side as `testbed.edit` does; theirs is the loop that users
write: a fresh adapter and optimiser for every edit, one edit at a time, on the better of one thread and all.
Scores are those of all objects that a case's probes record, endings included: ours as trees behind prompts
that are read once, theirs as padded rows "<s> subject relation object .", all of a case in one batch. They
take turns, `repeats` times, beside one large product that says what the device attains. Compilation is
apart, and counted: one program serves a whole sweep.

Takes a minute at `tiny` and eight at `paper` on 2 cores, and writes
experiments/records/<date>-edit-speed. The aims were 8 times as many edits a second at `paper` and
30 at `tiny`, scores 5 times as fast, and all probes of a case for half an edit. What was
measured stands in docs/speed.md. What bounds it is arithmetic:

- The first layer's constant part is counted though it is computed once. Requests are padded to one of three
  widths.
- The texts of every case are read as so many trees of 128 tokens as the largest case needs. Scores by the
  loop are those of one case; ours cost the same for every case.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import jax
import numpy as np
import torch

from corpus.text.tokenizer import PAD, SEP
from experiments.benchmarks.harness import (
    BenchmarkSettings,
    format_range,
    median_and_range,
    run_benchmark,
    time_once,
    versions_of,
)
from experiments.benchmarks.peft_twin import add_adapter, open_in_transformers, train_adapter, unpadded_rows
from experiments.command import launch_module
from lm.editors.interface import make_requests
from lm.editors.lora.method import lora_down
from lm.flops import attainable_flops
from lm.language_model import LanguageModel
from lm.model import init_params
from testbed.commands.corpus import build_corpus
from testbed.console import print_table
from testbed.engine.methods import Method, the_request
from testbed.engine.plan import order_by_length
from testbed.engine.prepared_editor import PreparedEditor
from testbed.engine.questions import Questions, answer_probes, option_log_probabilities
from testbed.engine.requests import build_requests
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.agents import paper_agent
from testbed.run.runs import Run
from testbed.run.world import load_world

Size = Literal["tiny", "paper"]
CASES = 300
BATCHES: dict[Size, tuple[int, ...]] = {"tiny": (1, 32, 128), "paper": (1, 32)}
PROBED: dict[Size, int] = {"tiny": 8, "paper": 1}
"""Cases whose probes are asked at once."""


@dataclass(frozen=True)
class Settings(BenchmarkSettings):
    """What is measured."""

    stages: tuple[Size, ...] = ("tiny", "paper")
    """Parts to run."""
    repeats: int = 3
    """Turns that each of the measured takes."""


def build_questions(settings: Settings, size: Size) -> Questions:
    """The cases of a preset's world, asked of a model of its shapes."""
    build_corpus(replace(CORPUS[size], run=size, runs=settings.scratch))
    world, config = load_world(Run(settings.scratch, size)), replace(TRAIN[size].model, precision="float32")
    evaluation, credence = EDIT[size].chosen_evaluation, EDIT[size].cases.credence
    cases = list(evaluation.make_cases(world, paper_agent(world), CASES, credence, 0))
    params = jax.jit(lambda: init_params(config, world.tokenizer.vocabulary, 0))()
    return Questions(world, LanguageModel(config, params), cases)


@contextmanager
def note_compilations() -> Iterator[list[float]]:
    """Seconds of every compilation inside."""
    seconds: list[float] = []

    def add_seconds(event: str, duration_secs: float, **_: str | int) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            seconds.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(add_seconds)
    try:
        yield seconds
    finally:
        jax.monitoring.unregister_event_duration_listener(add_seconds)


def order_cases(questions: Questions) -> list[int]:
    """The cases as a sweep takes them, shortest requests first."""
    return order_by_length(questions.tokenizer, [case.requested_fact for case in questions.cases])


def prepare_editing(questions: Questions, size: Size) -> PreparedEditor:
    """lora-down by the preset's recipe."""
    method = Method(lora_down(EDIT[size].configs["lora-down"]), the_request)
    requests = build_requests(questions.tokenizer, questions.cases, [*map(the_request, questions.cases)])
    return PreparedEditor(questions, method, {}, requests, 0)


def compile_edits(
    questions: Questions, size: Size, batch: int
) -> tuple[Callable[[], object], int, dict[str, float]]:
    """The shortest, middle and longest edits of a sweep, side by side; how many; and what compiling took."""
    editing, order = (prepare_editing(questions, size), np.array(order_cases(questions)))
    starts = (0, (CASES - batch) // 2, CASES - batch)
    batches = [order[start : start + batch, None] for start in starts]

    def edit_batches() -> None:
        for which in batches:
            editing.edit(which)

    compiling = time_once(edit_batches)
    with note_compilations() as again:
        edit_batches()
    if again:
        raise RuntimeError(f"a sweep compiled {len(again)} programs more")
    return (
        edit_batches,
        len(batches) * batch,
        {"first call, seconds": compiling, "compiled again": len(again)},
    )


def compile_probes(questions: Questions, batch: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """All probes of some cases, and the scores of their objects alone, each compiled."""
    which = np.arange(batch)[:, None]
    probes = questions.probes_of(which)
    score = jax.jit(jax.vmap(option_log_probabilities, in_axes=(None, 0)))
    every = partial(answer_probes, questions.model, {}, probes, questions.words, questions.names.longest)

    def score_options() -> object:
        return jax.block_until_ready(score(questions.model, probes))

    def read_probes() -> object:
        return jax.block_until_ready(every())

    score_options(), read_probes()
    return score_options, read_probes


def padded_rows(questions: Questions, case: int) -> tuple[np.ndarray, np.ndarray]:
    """int64[objects, T] rows of a case's probes, padded on the right, and which tokens are the answer's."""
    tokenizer = questions.tokenizer
    texts = [(tokenizer.prompt(c.subject, c.relation), tokenizer.entity(int(o)))
             for c in questions.cases[case].choices for o in c.options]  # fmt: skip
    tokens = np.full((len(texts), max(len(p) + len(o) + 1 for p, o in texts)), PAD, np.int64)
    answer = np.zeros(tokens.shape, bool)
    for row, is_answer, (prompt, name) in zip(tokens, answer, texts, strict=True):
        row[: len(prompt) + len(name) + 1] = [*prompt, *name, SEP]
        is_answer[len(prompt) : len(prompt) + len(name) + 1] = True
    return tokens, answer


def score_padded(theirs: Any, tokens: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """Log-probability of each row's answer, as users compute it: one padded batch."""
    ids = torch.from_numpy(tokens)
    with torch.no_grad():
        logits = theirs(input_ids=ids, attention_mask=(ids != PAD).long()).logits[:, :-1]
        each = torch.log_softmax(logits, -1).gather(2, ids[:, 1:, None])[..., 0]
    return (each * torch.from_numpy(answer)[:, 1:]).sum(1).numpy()


def measure_size(settings: Settings, size: Size) -> dict[str, Any]:
    """Seconds for an edit and for a case's probes, ours and theirs in turns."""
    questions, recipe = build_questions(settings, size), EDIT[size].configs["lora-down"]
    edits: dict[str, tuple[Callable[[], object], int]] = {}
    compiling = {}
    for batch in BATCHES[size]:
        name = f"ours, an edit of {batch} side by side"
        work, edit_count, compiling[str(batch)] = compile_edits(questions, size, batch)
        edits[name] = work, edit_count
    scores, probed = compile_probes(questions, PROBED[size])
    order = order_cases(questions)
    shortest, middle, longest = (order[i] for i in (0, CASES // 2, -1))
    fact = [the_request(questions.cases[middle])[0].fact]
    request = make_requests(questions.tokenizer, fact, [0.0], [0.0])
    editing = prepare_editing(questions, size)
    flops = np.mean([editing.flops_per_case(np.array([[case]])) for case in (shortest, middle, longest)])
    threads = sorted({1, os.cpu_count() or 1})
    seconds: dict[str, list[float]] = {}

    def take_turn(name: str, work: Callable[[], object], cases: int = 1) -> None:
        seconds.setdefault(name, []).append(time_once(work) / cases)

    attained = []
    with open_in_transformers(questions.model) as theirs:
        row, padded = unpadded_rows(request)[0], padded_rows(questions, 0)

        def edit_once() -> None:
            adapted = add_adapter(theirs, recipe)
            train_adapter(adapted, recipe, *row)
            adapted.unload()

        for _ in range(settings.repeats):
            attained.append(attainable_flops(questions.model.config))
            for name, (work, edit_count) in edits.items():
                take_turn(name, work, edit_count)
            take_turn("ours, scores of a case", scores, PROBED[size])
            take_turn("ours, all probes of a case", probed, PROBED[size])
            for n in threads:
                torch.set_num_threads(n)
                take_turn(f"theirs, an edit, {n} threads", edit_once)
                take_turn(f"theirs, scores of a case, {n} threads", partial(score_padded, theirs, *padded))
    figures = {name: median_and_range(times) for name, times in seconds.items()}

    def best_median(name: str) -> float:
        return min(figure["median"] for key, figure in figures.items() if key.startswith(name))

    ours = best_median("ours, an edit")
    summary = {
        "seconds": figures,
        "compiling": compiling,
        "edits a second, ours / theirs": best_median("theirs, an edit") / ours,
        "scores, ours / theirs": best_median("theirs, scores") / best_median("ours, scores"),
        "probes of a case / its edit": best_median("ours, all probes") / ours,
        "flops of an edit": float(flops),
        "share of attained FLOP/s": flops / ours / median_and_range(attained)["median"],
        "attained FLOP/s": median_and_range(attained),
        "shape": questions.shape._asdict(),
    }
    lines = [(name, format_range(figure, 4)) for name, figure in figures.items()]
    lines += [(name, f"{x:.2f}") for name, x in summary.items() if isinstance(x, float) and name[0] != "f"]
    print_table(f"seconds, {size}", ("", ""), lines)
    return summary


def run_study(settings: Settings) -> None:
    """Run the stages and write what they found."""
    versions = versions_of("peft", "torch", "transformers")
    measures = {size: partial(measure_size, size=size) for size in settings.stages}
    run_benchmark(settings, measures, device_kind=jax.devices()[0].device_kind, **versions)


if __name__ == "__main__":
    launch_module()
