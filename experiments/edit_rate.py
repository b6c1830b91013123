"""Which learning rate lora-down should have on the tiny model: success against locality.

Command:
    python -m experiments.edit_rate

Takes about 90 seconds on 2 cores. The paper's rate belongs to a model of 83M parameters; the table behind
the choice for the tiny preset is in LOG.md.
"""

from dataclasses import replace

from corpus.files import read_json
from testbed.console import table
from testbed.corpus import build_corpus
from testbed.edit import edit
from testbed.launch import launch
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.runs import Run
from testbed.runtime import prepare_jax
from testbed.train import train

RATES = (1e-4, 5e-4, 1e-3, 2e-3, 4e-3, 1e-2)
SHOWN = ("edit success", "answer s1r2, must change", "answer s1r2, must stay", "answer s1rx", "answer s2")


def main() -> int:
    """Train the tiny model, edit it at every rate and print the table."""
    prepare_jax()
    settings = replace(EDIT["tiny"], run="edit-rate")
    build_corpus(replace(CORPUS["tiny"], run=settings.run))
    train(replace(TRAIN["tiny"], run=settings.run))
    for rate in RATES:
        edit(replace(settings, lora_down=replace(settings.lora_down, learning_rate=rate)))
    rows = {}
    for path in Run(settings.runs, settings.run).edits.glob("*/summary.json"):
        found = read_json(path)
        rate = found["traced"]["settings"]["lora_down"]["learning_rate"]
        after = found["subsets"]["all"]["lora-down"]
        rows[rate] = (f"{rate:g}", *(f"{after[metric]['value']:.2f}" for metric in SHOWN))
    table("learning rate of lora-down", ("rate", *SHOWN), [rows[rate] for rate in RATES])
    return 0


if __name__ == "__main__":
    launch(main)
