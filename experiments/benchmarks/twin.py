"""The same model, batches and AdamW in PyTorch, by Hugging Face's MistralForCausalLM; for comparisons.

Nothing of it is imported where torch and transformers (the extra `bench`) are not installed.
"""

import math
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import MistralConfig, MistralForCausalLM

from corpus.errors import InputError
from corpus.files import read_json, staged_folder, verify_folder, write_json
from corpus.seeds import generator
from corpus.text.store import open_documents
from corpus.text.tokenizer import BOS, PAD
from lm.batches import PackedRows
from lm.config import ModelConfig, TrainConfig
from lm.huggingface import import_model
from testbed.console import show_progress
from testbed.run.accuracy import generative_accuracy
from testbed.run.runs import Run
from testbed.run.settings import TrainSettings
from testbed.run.trainer import FACTS_ON_THE_WAY
from testbed.run.world import load_world

NO_TARGET = -100
MOMENTS = "moments.safetensors"


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


def build_optimizer(twin: MistralForCausalLM, recipe: TrainConfig) -> torch.optim.Optimizer:
    """Fused AdamW."""
    return torch.optim.AdamW(
        twin.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True
    )


def build_step(
    twin: MistralForCausalLM,
    optimizer: torch.optim.Optimizer,
    model: ModelConfig,
    recipe: TrainConfig,
    compiled: bool,
) -> Callable[..., torch.Tensor]:
    """A step on inputs as MistralForCausalLM takes them; mixed precision where the model has bfloat16."""
    forward: Callable[..., Any] = torch.compile(twin.forward) if compiled else twin.forward
    device, narrow = twin.device.type, model.precision == "bfloat16"

    def take_step(**inputs: np.ndarray) -> torch.Tensor:
        placed = {name: torch.from_numpy(x).to(device) for name, x in inputs.items()}
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=narrow):
            loss = forward(**placed).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(twin.parameters(), recipe.clip)
        optimizer.step()
        return loss.detach()

    return take_step


def packed_inputs(tokens: np.ndarray) -> dict[str, np.ndarray]:
    """What MistralForCausalLM needs to read rows of packed documents as our model does."""
    index = np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)
    begins = np.maximum.accumulate(np.where(tokens == BOS, index, 0), axis=1)
    same = begins[:, :, None] == begins[:, None, :]
    return {
        "input_ids": tokens.astype(np.int64),
        "position_ids": index - begins,
        "attention_mask": (same & (index[:, :, None] >= index[:, None, :]))[:, None],
        "labels": np.where((tokens == PAD) | (tokens == BOS), NO_TARGET, tokens).astype(np.int64),
    }


def train_twin(options: TrainSettings) -> Path | None:
    """Train by the recipe for `options.minutes`, resuming.

    Returns:
        The folder with model and metrics.json once the last step or `options.until` is reached, else None.

    Raises:
        InputError: a recipe that is not AdamW with linear decay.
    """
    recipe = options.train
    if recipe.optimizer != "adamw" or recipe.schedule != "linear" or recipe.warmup:
        raise InputError("the twin knows AdamW with linear decay and no warm-up, such as --preset paper")
    run = Run(options.runs, options.run)
    world = load_world(run)
    rows = PackedRows(open_documents(run.corpus), recipe.row_length, options.seed, recipe.packing)
    facts = generator(options.seed, "accuracy").permutation(world.stated_facts)[:FACTS_ON_THE_WAY]
    twin, folder = build_twin(options.model, world.tokenizer.vocabulary, options.seed), run.folder / "twin"
    optimizer, lines = build_optimizer(twin, recipe), []
    newest = max(folder.glob("[0-9]*"), default=None)
    if newest:
        lines = _restore_twin(newest, twin, optimizer)
    steps_done, before = (lines[-1]["step"], lines[-1]["seconds"]) if lines else (0, 0.0)
    step_once = build_step(twin, optimizer, options.model, recipe, compiled=True)
    began = mark = time.perf_counter()
    since, limit = steps_done, 60 * (options.minutes or math.inf)
    with show_progress("twin", recipe.steps, steps_done) as advance:
        for step in range(steps_done, recipe.steps):
            for group in optimizer.param_groups:
                group["lr"] = recipe.learning_rate * (1 - (1 - recipe.final) * step / recipe.steps)
            loss = step_once(**packed_inputs(rows.batch(step, recipe.rows)))
            note, finished = "", step + 1
            late, over = time.perf_counter() - began > limit, finished == recipe.steps
            if late or over or finished % recipe.evaluate_every == 0:
                nats, now = float(loss), time.perf_counter()
                speed = (finished - since) * recipe.rows * recipe.row_length / (now - mark)
                line = {
                    "step": finished,
                    "loss": nats,
                    "tokens_per_second": speed,
                    "seconds": before + now - began,
                }
                with staged_folder(folder / f"{finished:08d}") as aside:
                    twin.save_pretrained(aside)
                    save_file(_named_moments(twin, optimizer), aside / MOMENTS)
                    line["accuracy"] = generative_accuracy(import_model(aside), world, facts)
                    lines.append(line)
                    write_json(aside / "metrics.json", {"lines": lines})
                for old in sorted(folder.glob("[0-9]*"))[:-1]:
                    shutil.rmtree(old)
                note = f"loss {nats:.3f}  accuracy {line['accuracy']:.1%}  {speed:,.0f} tokens/s"
                over = over or (options.until is not None and line["accuracy"] >= options.until)
                since, mark = finished, time.perf_counter()
            advance(1, note)
            if over or late:
                return folder / f"{finished:08d}" if over else None
    return newest


def _named_moments(twin: MistralForCausalLM, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    names = [name for name, _ in twin.named_parameters()]
    states = zip(names, optimizer.state_dict()["state"].values(), strict=True)
    return {f"{name}/{key}": value for name, state in states for key, value in state.items()}


def _restore_twin(folder: Path, twin: MistralForCausalLM, optimizer: torch.optim.Optimizer) -> list[dict]:
    verify_folder(folder)
    twin.load_state_dict(load_file(folder / "model.safetensors"))
    moments, state = load_file(folder / MOMENTS), optimizer.state_dict()
    state["state"] = {
        i: {key: moments[f"{name}/{key}"] for key in ("step", "exp_avg", "exp_avg_sq")}
        for i, (name, _) in enumerate(twin.named_parameters())
    }
    optimizer.load_state_dict(state)
    return read_json(folder / "metrics.json")["lines"]
