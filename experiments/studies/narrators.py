"""Does a model keep its narrators apart? An edit in one paper's voice, asked in other papers' and in none.

Command:
    python -m experiments.narrators

In a world of kind press (docs/kinds.md) three papers report what people eat, each right as often as its
quality says, and a sentence says which paper it is of or is in nobody's voice. The agent is told that one
paper writes something else of somebody; its answers say what other papers still write and what is to be
believed. Models and settings of editors are those of experiments.kinds. Three minutes of one core a world.
"""

from experiments.command import launch_module
from experiments.measures.open_problems import voices_table
from experiments.studies import kinds
from experiments.study import Study, WorldOptions

STUDY = Study(
    options=WorldOptions(
        worlds=6, edits=40, editors=("none", "lora-down", "embeddings", "keyed-request", "keyed")
    ),
    cells=lambda options: [
        {"law": "press", "seed": kinds.FIRST + i, "development": False} for i in range(options.worlds)
    ],
    run=kinds.STUDY.run,
    preset=kinds.STUDY.preset,
    corpus=kinds.STUDY.corpus,
    train=kinds.STUDY.train,
    edit=kinds.STUDY.edit,
    quick=True,
    pool=("seed", "law", "development"),
    tables=voices_table,
)

if __name__ == "__main__":
    launch_module()
