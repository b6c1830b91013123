"""peft's LoRA through both doors against `lora-down`: the same cases, factors and hyper-parameters.

Command (with the extra `bench` installed):
    python -m experiments.peft_doors [--stages demo] [--cases 240]

Each stage is a trained run. Its cases are edited by `lora-down`; by peft inside the engine, adapters
merged; and by peft by files, adapters left on (docs/pytorch.md). Compared are all probabilities of options
after the edits, the answers that are generated, and the headlines. peft starts from the factors that
`lora-down` draws for each case. Expected: headlines equal as they are printed, probabilities within 1e-4.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyarrow.parquet as pq

from corpus.seeds import integer
from corpus.text.tokenizer import SEP, tokenizer_files
from experiments.benchmarks.harness import run_benchmark, versions_of
from experiments.benchmarks.peft_twin import NO_TARGET, add_adapter, train_adapter
from experiments.command import launch_module
from lm.editors.lora.method import lora_down
from lm.huggingface import export_model
from testbed.console import print_table, show_progress
from testbed.engine.file_exchange import door
from testbed.engine.file_exchange.answers import read_folder, write_results
from testbed.engine.file_exchange.cases import write_cases
from testbed.engine.results import read_results
from testbed.engine.sweep import Bench
from testbed.engine.tuning import method_named
from testbed.examination import draw_cases
from testbed.presets import EDIT
from testbed.run.runs import Run
from testbed.run_parts import RunParts
from testbed.scores.metric import metrics_shown_in
from testbed.scores.readers import columns_of
from testbed.scores.summary import summarise_results
from testbed.scores.tables import format_cell

SEED = 0
COMPARED = ("lm_after", "lm_open_after")


@dataclass(frozen=True)
class Settings:
    """Which runs, and how many edits of each."""

    stages: tuple[str, ...] = ("demo",)
    """Trained runs."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    cases: int = 240
    """Edits of each."""


class PeftLora:
    """peft's LoRA with the recipe of `lora-down`, from given factors.

    Args:
        starts: [L, F, R] by the ids of a request's sentence.
        merges: whether adapters become weights.
    """

    PADDING = "left"

    def __init__(self, recipe: Any, starts: dict[tuple[int, ...], np.ndarray], merges: bool) -> None:
        self.recipe, self.starts, self.merges = recipe, starts, merges

    def edit(self, model: Any, tokenizer: Any, request: dict[str, Any]) -> Any:  # noqa: ARG002
        """The adapted model."""
        import torch

        prompt, target = request["prompt_ids"], request["target_ids"]
        some = next(iter(self.starts.values()))
        adapted = add_adapter(model, self.recipe, self.starts.get((*prompt, *target), some))
        labels = torch.tensor([[NO_TARGET] * len(prompt) + target])
        train_adapter(adapted, self.recipe, torch.tensor([prompt + target]), labels)
        return adapted.merge_and_unload() if self.merges else adapted


def compare_doors(name: str, settings: Settings) -> dict[str, Any]:
    """Edit one run in all three ways; largest differences from `lora-down`, and the headlines of each."""
    import torch

    from testbed.engine.torch_editor import build_method

    torch.set_num_threads(1)  # Threads cost such small models more than they bring.
    options = replace(EDIT["tiny"], run=name, runs=settings.runs)
    options = replace(options, cases=replace(options.cases, count=settings.cases))
    parts = RunParts(Run(settings.runs, name))
    columns = columns_of(options.chosen_evaluation)
    cases = draw_cases(parts.world, parts.agent, options)
    bench = Bench(parts.run, parts.world, parts.model, cases, columns, options)
    recipe = options.configs["lora-down"]
    root, starts = jax.random.key(integer(SEED, "editor")), {}
    for k, case in enumerate(cases):
        s, r, o = case.requested_fact
        tokenizer = parts.world.tokenizer
        ids = (*tokenizer.prompt(s, r).tolist(), *tokenizer.entity(o).tolist(), SEP)
        factors = lora_down(recipe).start_adapter(parts.model.config, jax.random.fold_in(root, k))["down"].a
        assert ids not in starts, "two cases request the same, from different factors"
        starts[ids] = np.asarray(factors)
    with tempfile.TemporaryDirectory() as scratch:
        folders = {way: Path(scratch, way) for way in ("lora-down", "in process", "by files")}
        with show_progress("lora-down", bench.edit_count) as advance:
            bench.edit_cases(method_named("lora-down", options, parts.world), folders["lora-down"], advance)
        exported, answers = Path(scratch, "door"), Path(scratch, "answers")
        export_model(parts.model, exported, tokenizer_files(parts.world.tokenizer))
        made_from = {"inputs": {}, "settings": options.settings_as_data()}
        write_cases(parts.world, cases, 1, bench.questions.names.longest, made_from, exported)
        door.examine(PeftLora(recipe, starts, merges=False), exported, answers)
        about = {"cases": door.read_exam(exported).about["files"]["cases.jsonl"]}
        read = read_folder(answers, about, parts.world, bench.questions, 1)
        write_results(bench.questions, read, columns, folders["by files"])
        with show_progress("in process", bench.edit_count) as advance:
            method = build_method(PeftLora(recipe, starts, merges=True), options, parts.world)
            bench.edit_cases(method, folders["in process"], advance)
        headlines = metrics_shown_in(options.chosen_evaluation.metrics, "headline")
        shown: dict[str, list[str]] = {}
        figures: dict[str, float] = {"edits": len(cases)}
        for way, folder in folders.items():
            results = read_results(folder, columns)
            estimates = summarise_results(options.chosen_evaluation, results, way, {})["all"][way]
            shown[way] = [format_cell(estimates.get(metric)) for metric in headlines]
            if way != "lora-down":
                figures |= compare_tables(folders["lora-down"], folder, way)
                figures[f"headlines equal, {way}"] = sum(map(str.__eq__, shown[way], shown["lora-down"]))
    print_table(
        f"{len(cases)} edits of {name}", ("", *headlines), [(way, *row) for way, row in shown.items()]
    )
    print_table("", ("", ""), [(key, f"{value:.3g}") for key, value in figures.items()])
    return figures | {"headlines": len(headlines)}


def compare_tables(ours: Path, theirs: Path, way: str) -> dict[str, float]:
    """Largest difference of a probability after the edits, and how many generated answers are equal."""
    key = ("case", "role", "subject", "relation", "phrasing")
    one, other = (
        sorted(pq.read_table(folder / "choices.parquet").to_pylist(), key=lambda row: row["case"])
        for folder in (ours, theirs)
    )
    assert [[row[k] for k in key] for row in one] == [[row[k] for k in key] for row in other]
    farthest = max(
        float(np.abs(np.array(a[column]) - np.array(b[column])).max(initial=0.0))
        for a, b in zip(one, other, strict=True)
        for column in COMPARED
    )
    equal = sum(a["lm_answer_after"] == b["lm_answer_after"] for a, b in zip(one, other, strict=True))
    return {
        f"largest difference of a probability, {way}": farthest,
        f"equal answers, {way}": equal,
        f"answers, {way}": len(one),
    }


def run_study(settings: Settings) -> None:
    """Compare every run, and write what was found."""
    measures: dict[str, Callable[[Settings], dict[str, Any]]] = {
        name: partial(compare_doors, name) for name in settings.stages
    }
    run_benchmark(settings, measures, **versions_of("peft", "torch", "transformers"))


if __name__ == "__main__":
    launch_module()
