"""The folder of an exam as a dataset of the Hub's: a card, and eval.yaml, with a task for each row.

A configuration is a world, a record of it a case: the request, and what is asked. Formats:
https://huggingface.co/docs/hub/datasets-manual-configuration and https://huggingface.co/docs/hub/eval-results.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from corpus.files import staged_file
from testbed.engine.file_exchange.cases import CASES
from testbed.suite import Row

CARD = """\
---
license: mit
language: en
pretty_name: {quoted}
configs:
{configs}
---

# {name}

Requests to edit one fact of a world, and what is asked of a model before and after each. A folder has the
world's model, its corpus, and `door.py`, which asks. Nobody's beliefs are in it: answers are scored by
`python -m testbed.examine answers --name NAME` of credence-testbed.
"""


def write_exam_card(folder: Path, worlds: Sequence[str], rows: Sequence[Row], name: str) -> None:
    """Write README.md and eval.yaml, with a task for each row, beside the folders of some worlds."""
    configs = "\n".join(f"- config_name: {world}\n  data_files: {world}/{CASES}" for world in worlds)
    lines = [
        f"name: {json.dumps(name)}",
        "description: What a model believes after an edit, beside what a rational agent would believe.",
        "evaluation_framework: credence-testbed",
        "tasks:",
    ]
    for row in rows:
        world = next((world for world in row.worlds if world in worlds), None)
        if world:
            lines += [f"- id: {json.dumps(row.name)}", f"  config: {world}", "  split: train"]
    for file, text in (
        ("README.md", CARD.format(name=name, quoted=json.dumps(name), configs=configs)),
        ("eval.yaml", "\n".join(lines) + "\n"),
    ):
        with staged_file(folder / file) as aside:
            aside.write_text(text, encoding="utf-8")
