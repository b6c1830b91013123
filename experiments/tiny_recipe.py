"""Which training recipe the tiny preset should use: accuracy of a few alternatives, side by side.

Command:
    python -m experiments.tiny_recipe

Takes about 4 minutes on 2 cores. Prints generative accuracy and seconds of each recipe on the built-in
world; the table behind the choice is in LOG.md.
"""

import json
import time
from dataclasses import replace
from pathlib import Path

from testbed.console import table
from testbed.corpus import build_corpus
from testbed.launch import launch
from testbed.presets import CORPUS, TRAIN
from testbed.runs import Run
from testbed.runtime import prepare_jax
from testbed.train import train

RUNS = Path("runs/tiny-recipe")
VARIANTS: dict[str, dict] = {
    "preset": {},
    "120 steps": {"steps": 120},
    "16 rows, 330 steps": {"rows": 16, "steps": 330},
    "Adam 0.03": {"adam_learning_rate": 0.03},
    "Muon 0.04, Adam 0.02": {"learning_rate": 0.04, "adam_learning_rate": 0.02},
    "AdamW 0.003": {"optimizer": "adamw", "learning_rate": 0.003},
    "AdamW 0.01": {"optimizer": "adamw", "learning_rate": 0.01},
    "AdamW 0.003, warm-up 20, 440 steps": {
        "optimizer": "adamw",
        "learning_rate": 0.003,
        "warmup": 20,
        "steps": 440,
    },
}


def main() -> int:
    """Train every variant on the same corpus and print the table."""
    prepare_jax()
    rows = []
    for name, changes in VARIANTS.items():
        run = Run(RUNS, name.replace(" ", "-").replace(",", ""))
        build_corpus(replace(CORPUS["tiny"], run=run.name, runs=RUNS))
        base = TRAIN["tiny"]
        recipe = replace(base.train, **changes)
        began = time.perf_counter()
        train(replace(base, train=recipe, run=run.name, runs=RUNS))
        took = time.perf_counter() - began
        last = json.loads(run.metrics.read_text(encoding="utf-8").splitlines()[-1])
        rows.append((name, f"{last['accuracy']:.3f}", f"{last['loss']:.3f}", f"{took:.0f}"))
    table("recipes of the tiny model", ("recipe", "accuracy", "loss", "seconds"), rows)
    return 0


if __name__ == "__main__":
    launch(main)
