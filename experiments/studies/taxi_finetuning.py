"""When does fine-tuning a category carry its properties along (Powell et al. 2024, Table 2: not at all)?

Command:
    python -m experiments.taxi_finetuning

The paper's fine-tuning is at chance; on small models it is not. One generated taxonomy is varied in one
respect at a time: how often facts are stated, members of a category, layers of the model. On each, all, the
first and the last third of the layers are tuned to the same edits; on the first and on the deepest, with
other learning rates, too. No setting is chosen: the table shows what decides.
"""

from dataclasses import dataclass

from experiments.command import launch_module
from experiments.study import Changes, Study, StudyOptions, Values
from testbed.evaluations.taxi.metrics import CONSISTENCY, OTHERS_RIGHT, SUCCESS
from testbed.scores.readers import CHANCE
from testbed.scores.views import Column, View

RATE = 1e-2
BASE = {"members": 4, "never": 0.25, "layers": 2, "rate": RATE}
DEEP = {"layers": 12}
PANELS = {
    "learning rate": ("rate", (1e-3, 3e-3, RATE, 3e-2, 1e-1), {}),
    "learning rate, 12 layers": ("rate", (RATE, 3e-2, 1e-1, 3e-1), DEEP),
    "members of a category": ("members", (2, 4, 8, 16, 32, 64), {}),
    "share of properties never stated": ("never", (0.0, 0.25, 0.5, 0.9), {}),
    "layers": ("layers", (2, 4, 8, 12), {}),
}
"""What is varied, its values, and what else is unlike BASE there."""


@dataclass(frozen=True)
class Options(StudyOptions):
    """How much is measured."""

    seed: int = 0
    """Of world, corpus, model and edits."""
    panels: tuple[str, ...] = tuple(PANELS)
    """What is varied."""

    @property
    def cells(self) -> list[Values]:
        """A place of a panel each."""
        places = [(panel, *PANELS[panel]) for panel in self.panels]
        return [
            {"varied": panel, "at": f"{value:g}", "seed": self.seed} | BASE | also | {name: value}
            for panel, name, values, also in places
            for value in values
        ]


def corpus_of(cell: Values) -> Changes:
    """How large categories are, and how much is said."""
    rest = 1 - cell["never"]
    return {
        "world.taxonomy.superordinates": 2, "world.taxonomy.categories": 6,
        "world.taxonomy.members": cell["members"], "exact.strata": (cell["never"], rest / 3, rest - rest / 3),
    }  # fmt: skip


def training_of(cell: Values) -> Changes:
    """How deep the model is; training is longer where there is more to read."""
    steps = round(600 * max(1.0, (cell["members"] / 16) ** 0.5))
    return {"model.layers": cell["layers"], "model.unroll": cell["layers"], "train.steps": steps}


STUDY = Study(
    options=Options(editors=("full", "full-early", "full-late"), edits=120),
    run="taxi-finetuning-{members}-{never:g}-{layers}",
    preset="taxi",
    corpus=corpus_of,
    train=training_of,
    edit=lambda cell: {f"{cell['editor']}.learning-rate": cell["rate"]},
    views=[
        View("taxi-finetuning", "What decides whether properties follow",
             (SUCCESS, CONSISTENCY, OTHERS_RIGHT, Column(CONSISTENCY, "by chance", {"reader": CHANCE})),
             rows={"varied": "varied", "at": "at", "reader": "tuned"},
             note="± is half of a 95% interval. One world, one model and the same edits at each place."),
    ],
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
