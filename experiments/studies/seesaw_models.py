"""Seesaw-CF: do cells and editors rank alike on a deeper and on a wider model of the same world?

Command:
    python -m experiments.seesaw_models

Halevy et al. 2024 edited five pretrained models by MEMIT (Tables 4, 11, 13 and 15). Here three models read
one corpus: that of `experiments.seesaw`, one twice as deep and one twice as wide. The same edits are made in
each and the same questions asked, so that models are compared case by case.
"""

from experiments.command import launch_module
from experiments.measures.people import FACTORIAL, corpus_of_people, training_of_people
from experiments.measures.people_models import model_tables
from experiments.study import Study, StudyOptions
from testbed.evaluations.seesaw import NEW_HOLDERS, OLD_HOLDERS
from testbed.evaluations.seesaw.metrics import CHANGE, STATED, SUCCESS
from testbed.scores.views import View

MODELS = {
    "two layers": {},
    "twice as deep": {"model.layers": 4, "model.unroll": 4},
    "twice as wide": {"model.hidden": 256, "model.mlp": 512, "model.heads": 4, "model.kv-heads": 4},
}


STUDY = Study(
    options=StudyOptions(editors=("ft-constrained", "memit", "mend"), edits=40),
    cells=lambda _: [
        {"model": model, "world_kind": FACTORIAL[0], "people": 96, "steps": 300, "seed": 0}
        for model in MODELS
    ],
    run="seesaw-models-{model}-{seed}",
    preset="seesaw",
    corpus=corpus_of_people,
    train=lambda cell: training_of_people(cell) | {"until": 0.95} | MODELS[cell["model"]],
    edit=lambda _: {"seesaw.others": 12},
    views=[
        View("models", "Editors on three models of one world",
             (SUCCESS, CHANGE[NEW_HOLDERS], CHANGE[OLD_HOLDERS], STATED),
             rows={"reader": "editor", "model": "model"}),
    ],
    tables=model_tables,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
