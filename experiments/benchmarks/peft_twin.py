"""The edits of lora-down by Hugging Face's peft, in PyTorch on exported weights, against ours.

Command (with the extra `bench` installed):
    python -m experiments.peft_twin [--run demo]

Twenty edits each, with the same recipe: LoRA of rank 1 and alpha 8 on every down-projection from the same
factors, 40 steps of AdamW with clipping, on the mean negative log-likelihood of the object's tokens and its
ending. Stage `random` takes a small random model with objects of up to three tokens, stage `trained` a run's
model (`make demo`) and its own edit cases. Takes a minute on 2 cores and writes
experiments/records/<date>-peft-twin. Expected: probabilities of the answers after 40 steps within
1e-3 of each other; measured, within 2e-6 and 5e-6, and losses within 5e-5 in every step.

`--golden` writes tests/golden/peft instead, with which the default tests check ours where no torch is: the
random model, the requests, and what peft made of them.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import peft
import torch
from transformers import AutoModelForCausalLM

from corpus.files import write_json
from corpus.text.tokenizer import BOS, PAD, SEP
from experiments.benchmarks.harness import run_benchmark, versions_of
from experiments.command import launch_module
from lm.config import ModelConfig
from lm.editors.fitting import CLIP, request_loss
from lm.editors.interface import Request, edit_batch, make_requests
from lm.editors.lora import LoraConfig
from lm.editors.lora.method import lora_down
from lm.huggingface import export_model
from lm.language_model import LanguageModel
from lm.model import init_params
from lm.prompts import left_pad
from testbed.console import print_table
from testbed.evaluations.hase import Hase
from testbed.presets import EDIT
from testbed.run.agents import paper_agent
from testbed.run.model import load_model
from testbed.run.runs import Run
from testbed.run.world import load_world

GOLDEN = Path(__file__).parents[2] / "tests" / "golden" / "peft"
EDITS = 20
CREDENCE = 0.95
SMALL = ModelConfig(hidden=14, mlp=11, layers=3, heads=7, kv_heads=7, head_width=2)
VOCABULARY = 29
RECIPE = LoraConfig(learning_rate=0.01)
"""At three times this rate a step is as large as the weights, and rounding grows a thousandfold."""
NO_TARGET = -100


@dataclass(frozen=True)
class Settings:
    """What is compared."""

    run: str = "demo"
    """A trained run, for the second comparison."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    golden: bool = False
    """Write the golden files of the tests instead."""


class EditOutcome(NamedTuple):
    """What edits came to.

    Attributes:
        start: the factor a that each began with, [edits, L, F, R].
        losses: before each step, [edits, steps].
        before, after: p(answer, ending included | prompt), [edits].
    """

    start: np.ndarray
    losses: np.ndarray
    before: np.ndarray
    after: np.ndarray


def random_case() -> tuple[LanguageModel, Request]:
    """A small model with weights so large that attention is far from uniform, and requests to it."""
    params = jax.tree.map(lambda x: 15 * x if x.ndim > 2 else x, init_params(SMALL, VOCABULARY, 0))
    params["embedding"], params["head"] = (
        50 * params["embedding"],
        jax.tree.map(lambda x: 15 * x, params["head"]),
    )
    rng = np.random.default_rng(0)
    prompts = [np.array([BOS, *rng.integers(SEP + 1, VOCABULARY, rng.integers(2, 7))]) for _ in range(EDITS)]
    answer = np.full((EDITS, 1, 4), PAD, np.int32)
    for row in answer[:, 0]:
        length = rng.integers(1, 4)
        row[: length + 1] = [*rng.integers(SEP + 1, VOCABULARY, length), SEP]
    nothing = np.zeros((EDITS, 1), np.float32)
    request = Request(left_pad(prompts, 7)[:, None], answer, nothing.astype(np.int32), nothing, nothing)
    return LanguageModel(SMALL, params), request


def trained_case(settings: Settings) -> tuple[LanguageModel, Request]:
    """A run's model and the first edits that its cases ask for."""
    run = Run(settings.runs, settings.run)
    world = load_world(run)
    cases = Hase().make_cases(world, paper_agent(world), EDITS, CREDENCE, 0)
    facts = [case.requested_fact for case in cases]
    nothing = np.zeros(EDITS)
    return load_model(run, world)[0], make_requests(world.tokenizer, facts, nothing, nothing)


def edit_with_ours(model: LanguageModel, request: Request, recipe: LoraConfig) -> EditOutcome:
    """Our edits."""
    editor = lora_down(recipe)
    keys = jax.random.split(jax.random.key(0), len(request.answer))
    deltas, info = edit_batch(editor, model, {}, request, keys)
    nats = jax.jit(jax.vmap(lambda delta, one: request_loss(model.with_delta(delta), one)))
    start = np.stack([editor.start_adapter(model.config, key)["down"].a for key in keys])
    lengths = (request.answer != PAD).sum((1, 2))
    before, after = np.asarray(info.loss)[:, 0], np.asarray(nats(deltas, request))
    return EditOutcome(start, np.asarray(info.loss), np.exp(-before * lengths), np.exp(-after * lengths))


def edit_with_peft(
    model: LanguageModel, request: Request, recipe: LoraConfig, start: np.ndarray
) -> EditOutcome:
    """The same by peft on the exported model, one after another."""
    torch.set_num_threads(1)  # Threads cost such small models more than they bring.
    losses, before, after = [], [], []
    with open_in_transformers(model) as theirs:
        for row, a in zip(unpadded_rows(request), start, strict=True):
            adapted = add_adapter(theirs, recipe, a)
            curve = train_adapter(adapted, recipe, *row)
            with torch.no_grad():
                curve.append(adapted(input_ids=row[0], labels=row[1]).loss.item())
            adapted.unload()
            length = int((row[1] != NO_TARGET).sum())
            losses.append(curve[:-1])
            before.append(np.exp(-curve[0] * length))
            after.append(np.exp(-curve[-1] * length))
    return EditOutcome(start, np.array(losses), np.array(before), np.array(after))


@contextmanager
def open_in_transformers(model: LanguageModel) -> Iterator[Any]:
    """The model as Hugging Face's MistralForCausalLM reads it from disk, its weights frozen."""
    with tempfile.TemporaryDirectory() as folder:
        export_model(model, Path(folder) / "model")
        theirs = AutoModelForCausalLM.from_pretrained(Path(folder) / "model", dtype="float32")
        yield theirs.requires_grad_(False)


def unpadded_rows(request: Request) -> list[tuple[Any, Any]]:
    """Tokens and labels of each request as int64[1, T] without padding, as their loss takes them."""
    pairs: list[tuple[Any, Any]] = []
    for prompt_row, answer_row in zip(
        np.asarray(request.prompt)[:, 0], np.asarray(request.answer)[:, 0], strict=True
    ):
        prompt, answer = prompt_row[prompt_row != PAD], answer_row[answer_row != PAD]
        labels = np.concatenate([np.full(len(prompt), NO_TARGET), answer])
        tokens = np.concatenate([prompt, answer])
        both = [torch.from_numpy(x.astype(np.int64)[None]) for x in (tokens, labels)]
        pairs.append((both[0], both[1]))
    return pairs


def add_adapter(theirs: Any, recipe: LoraConfig, start: np.ndarray | None = None) -> Any:
    """A fresh adapter around the model; `unload` takes it off.

    Args:
        start: [L, F, R], the factors a to begin with instead of peft's own, drawn from the same distribution.
    """
    # A whole number by its annotation, but any number is taken.
    scale: Any = recipe.alpha
    config = peft.LoraConfig(
        r=recipe.rank, lora_alpha=scale, target_modules=["down_proj"], lora_dropout=0.0, bias="none"
    )
    adapted = peft.get_peft_model(theirs, config)
    if start is not None:
        for layer, a in zip(theirs.model.layers, start, strict=True):
            factor = layer.mlp.down_proj.lora_A["default"].weight
            factor.data = torch.tensor(a.T)  # A copy: it is trained in place.
    return adapted


def train_adapter(adapted: Any, recipe: LoraConfig, tokens: Any, labels: Any) -> list[float]:
    """All steps on one request, as users write them; the losses before each."""
    trainable = [x for x in adapted.parameters() if x.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    losses = []
    for _ in range(recipe.steps):
        optimizer.zero_grad()
        loss = adapted(input_ids=tokens, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trainable, CLIP)
        optimizer.step()
        losses.append(loss.item())
    return losses


def compare_edits(case: tuple[LanguageModel, Request], recipe: LoraConfig) -> dict[str, Any]:
    """Largest differences over all edits, and what the edits did."""
    ours = edit_with_ours(*case, recipe)
    theirs = edit_with_peft(*case, recipe, ours.start)
    figures = {
        "edits": EDITS,
        "largest difference of a probability after the edit": np.abs(ours.after - theirs.after).max(),
        "largest difference of a loss in any step": np.abs(ours.losses - theirs.losses).max(),
        "median probability before": np.median(theirs.before),
        "median probability after": np.median(theirs.after),
    }
    return {name: float(x) for name, x in figures.items()}


def compare_and_show(
    name: str, case: Callable[[], tuple[LanguageModel, Request]], recipe: LoraConfig
) -> dict[str, Any]:
    """A comparison, shown."""
    figures = compare_edits(case(), recipe)
    print_table(
        f"ours and peft's, {name}", ("", ""), [(key, f"{value:.3g}") for key, value in figures.items()]
    )
    return figures


def run_study(settings: Settings) -> None:
    """Compare and write what was found."""
    if settings.golden:
        model, request = random_case()
        shutil.rmtree(GOLDEN, ignore_errors=True)
        export_model(model, GOLDEN)
        theirs = edit_with_peft(model, request, RECIPE, edit_with_ours(model, request, RECIPE).start)
        write_json(GOLDEN / "recipe.json", asdict(RECIPE))
        np.savez(GOLDEN / "expected.npz", prompt=request.prompt, answer=request.answer, **theirs._asdict())
        return
    cases = {
        "random": (random_case, RECIPE),
        "trained": (partial(trained_case, settings), EDIT["tiny"].configs["lora-down"]),
    }
    measures = {
        name: lambda _, name=name, what=what: compare_and_show(f"{name} model", *what)
        for name, what in cases.items()
    }
    run_benchmark(settings, measures, **versions_of("peft", "torch", "transformers"))


if __name__ == "__main__":
    launch_module()
