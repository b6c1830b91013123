"""Training speed and memory, beside Hugging Face's Mistral in PyTorch, in one run on one machine.

Command (with the extra `bench` installed; add torch's and jax's CUDA builds for a GPU):
    python -m experiments.model_speed

Takes about a quarter of an hour on 2 cores and writes experiments/records/<date>-model-speed.
Both train the same shapes on rows of the same random tokens with AdamW and clipping: `paper` (83,112,448
parameters, 8 x 160 tokens) and `tiny` (24 x 160), in float32 and bfloat16; PyTorch eager and compiled, and
both under the same allocator settings. Every measurement is a process of its own, median of its steps in a
minute; the three kinds take turns, and the whole is repeated. Expected on 2 cores: at least 1.5 times the
tokens a second in float32 and as many in bfloat16 at `paper`, 1.5 times at `tiny`; `paper` in float32 under
4 GiB. Stage `profile_step` names the operations that our step spends its time in.
"""

import gzip
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax
import numpy as np
import torch
from transformers import MistralConfig, MistralForCausalLM

from corpus.text.tokenizer import BOS
from experiments.benchmarks.harness import format_range, run_benchmark, summarise_runs, versions_of
from experiments.command import launch_module
from lm.config import PRECISIONS, MeshConfig, ModelConfig, Precision, TrainConfig
from lm.mesh import make_mesh
from lm.training import start_training, train_step
from testbed.console import print_table
from testbed.launch import TUNABLES
from testbed.presets import TRAIN

Size = Literal["paper", "tiny"]
Kind = Literal["ours", "torch", "torch compiled"]
Stage = Literal["tiny", "paper", "profile"]
VOCABULARY: dict[Size, int] = {"paper": 32_000, "tiny": 1257}
ROWS: dict[Size, int] = {"paper": 8, "tiny": 24}
STEPS: dict[Size, int] = {"paper": 6, "tiny": 60}
"""Steps that are timed, after three that are not."""
MOST_SECONDS = 60.0
"""No step begins later than this, but for three timed ones: PyTorch's bfloat16 steps are some fifty times as
slow where the processor has no instructions for it."""
LENGTH = 160
PARTS = ("project", "attend", "cross_entropy", "optimizer")


@dataclass(frozen=True)
class Settings:
    """What is measured."""

    stages: tuple[Stage, ...] = ("tiny", "paper", "profile")
    """Parts to run."""
    precisions: tuple[Precision, ...] = PRECISIONS
    """Of products. Without instructions for bfloat16 a step of PyTorch at `paper` takes a minute."""
    repeats: int = 3
    """Processes of each measurement."""
    measure: tuple[str, ...] = ()
    """Only for the processes that this one starts: kind, size and precision of one measurement."""


class Measurement(NamedTuple):
    """One measurement."""

    kind: Kind
    size: Size
    precision: Precision


def model_settings(setting: Measurement) -> tuple[ModelConfig, TrainConfig]:
    """Shapes and recipe: AdamW for both, layers unrolled in ours."""
    shape = TRAIN[setting.size].model
    model = replace(shape, precision=setting.precision, unroll=shape.layers)
    return model, TrainConfig(
        rows=ROWS[setting.size], row_length=LENGTH, optimizer="adamw", learning_rate=1e-4
    )


def random_rows(size: Size) -> np.ndarray:
    """Rows of random tokens, each one document."""
    rows = np.random.default_rng(0).integers(5, VOCABULARY[size], (ROWS[size], LENGTH), dtype=np.int32)
    rows[:, 0] = BOS
    return rows


def build_our_step(model: ModelConfig, recipe: TrainConfig, vocabulary: int) -> Callable[[np.ndarray], Any]:
    """Our training step as a function of rows alone."""
    mesh = make_mesh(MeshConfig())
    state, step = (
        start_training(model, recipe, vocabulary, 0, mesh),
        train_step(model, recipe, vocabulary, mesh),
    )

    def take_step(rows: np.ndarray) -> float:
        nonlocal state
        state, loss = step(state, rows)
        return float(loss)

    return take_step


def build_twin(model: ModelConfig, vocabulary: int, seed: int = 0) -> MistralForCausalLM:
    """A model of the same shapes with weights of its own, on the GPU where there is one."""
    torch.manual_seed(seed)
    config = MistralConfig(
        vocab_size=vocabulary,
        hidden_size=model.hidden,
        intermediate_size=model.mlp,
        num_hidden_layers=model.layers,
        num_attention_heads=model.heads,
        num_key_value_heads=model.kv_heads,
        head_dim=model.head_width,
        sliding_window=model.window or None,
        rms_norm_eps=model.norm_epsilon,
        tie_word_embeddings=False,
        use_cache=False,
    )
    twin: Any = MistralForCausalLM(config)
    return twin.to("cuda" if torch.cuda.is_available() else "cpu")


def build_their_step(
    model: ModelConfig, recipe: TrainConfig, vocabulary: int, compiled: bool
) -> Callable[[np.ndarray], Any]:
    """Hugging Face's training step as a function of rows alone, by fused AdamW in the precision of ours."""
    torch.set_num_threads(os.cpu_count() or 1)
    twin = build_twin(model, vocabulary)
    optimizer = torch.optim.AdamW(
        twin.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True
    )
    forward: Callable[..., Any] = torch.compile(twin.forward) if compiled else twin.forward
    device, narrow = twin.device.type, model.precision == "bfloat16"

    def take_step(rows: np.ndarray) -> float:
        tokens = torch.from_numpy(rows.astype(np.int64)).to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=narrow):
            loss = forward(input_ids=tokens, labels=tokens).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(twin.parameters(), recipe.clip)
        optimizer.step()
        return float(loss.detach())

    return take_step


def measure_one(setting: Measurement) -> dict[str, float]:
    """Train for some steps in this process: tokens a second, peak GiB, seconds of the first step."""
    model, recipe = model_settings(setting)
    vocabulary = VOCABULARY[setting.size]
    rows = random_rows(setting.size)
    if setting.kind == "ours":
        step = build_our_step(model, recipe, vocabulary)
    else:
        step = build_their_step(model, recipe, vocabulary, setting.kind == "torch compiled")
    seconds: list[float] = []
    while len(seconds) < 6 or (len(seconds) < STEPS[setting.size] + 3 and sum(seconds) < MOST_SECONDS):
        began = time.perf_counter()
        step(rows)
        seconds.append(time.perf_counter() - began)
    return {
        "tokens_per_second": rows.size / statistics.median(seconds[3:]),
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 2**30,
        "first_step_seconds": seconds[0],
    }


def measure_size(settings: Settings, size: Size) -> dict[str, Any]:
    """All kinds and precisions of a size, taking turns."""
    kinds: tuple[Kind, ...] = ("ours", "torch", "torch compiled")
    which = [Measurement(kind, size, precision) for precision in settings.precisions for kind in kinds]
    runs: dict[Measurement, list[dict[str, float]]] = {setting: [] for setting in which}
    for _ in range(settings.repeats):
        for setting in which:
            command = [sys.executable, "-m", "experiments.model_speed", "--measure", *setting]
            process = subprocess.run(
                command,
                env={**os.environ, "GLIBC_TUNABLES": TUNABLES},
                capture_output=True,
                text=True,
                check=False,
            )
            if process.returncode:
                raise RuntimeError(f"{setting}: {process.stderr[-2000:]}")
            runs[setting].append(json.loads(process.stdout.splitlines()[-1]))
    figures = {f"{s.kind}, {s.precision}": summarise_runs(measured) for s, measured in runs.items()}
    ratios = {}
    for precision in settings.precisions:
        best = max(figures[f"{kind}, {precision}"]["tokens_per_second"]["median"] for kind in kinds[1:])
        ratios[precision] = figures[f"ours, {precision}"]["tokens_per_second"]["median"] / best
    rows = [
        (name, format_range(f["tokens_per_second"], 0), f"{f['peak_gib']['most']:.2f}")
        for name, f in figures.items()
    ]
    rows += [(f"ours / best of theirs, {p}", f"{ratio:.2f}", "") for p, ratio in ratios.items()]
    print_table(f"training, {size}", ("", "tokens a second", "peak GiB"), rows)
    return {**figures, "ours / best of theirs": ratios}


def profile_step(precision: Precision) -> dict[str, Any]:
    """Where our `paper` step spends the device's time: shares of named parts, products and the rest apart."""
    model, recipe = model_settings(Measurement("ours", "paper", precision))
    vocabulary, mesh = VOCABULARY["paper"], make_mesh(MeshConfig())
    state, step = (
        start_training(model, recipe, vocabulary, 0, mesh),
        train_step(model, recipe, vocabulary, mesh),
    )
    rows = random_rows("paper")
    program = step.lower(state, rows).compile()
    # Operations by the name that the trace gives them, and the scopes and primitive that made them.
    scope_of_operation = dict(
        re.findall(r"%?([\w.-]+) = [^\n]*op_name=\"([^\"]*)\"", program.as_text() or "")
    )
    state, _ = program(state, rows)
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(3):
                state, loss = program(state, rows)
                jax.block_until_ready(loss)
        (trace,) = Path(folder).rglob("*.trace.json.gz")
        events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    seconds_by_part: Counter[str] = Counter()
    for event in events:
        if "hlo_op" in event.get("args", {}):
            name = scope_of_operation.get(event["name"], "")
            part = next((part for part in PARTS if part in name), "norms, rotations, activations, residuals")
            product = "products" if name.endswith("dot_general") else "the rest"
            seconds_by_part[f"{part}, {product}"] += event["dur"]
    shares = {name: time / seconds_by_part.total() for name, time in seconds_by_part.most_common()}
    print_table(
        f"our step, paper, {precision}", ("", "share"), [(n, f"{share:.1%}") for n, share in shares.items()]
    )
    return shares


def run_study(settings: Settings) -> None:
    """Run the stages and write what they found."""
    if settings.measure:
        kind, size, precision = settings.measure
        print(json.dumps(measure_one(Measurement(kind, size, precision))))  # type: ignore[arg-type]
        return
    measures: dict[Stage, Callable[[Settings], dict[str, Any]]] = {
        "tiny": partial(measure_size, size="tiny"),
        "paper": partial(measure_size, size="paper"),
        "profile": lambda _: {precision: profile_step(precision) for precision in settings.precisions},
    }
    versions = versions_of("torch", "transformers")
    run_benchmark(settings, measures, device_kind=jax.devices()[0].device_kind, **versions)


if __name__ == "__main__":
    launch_module()
