"""full, full-early and full-late: fine-tuning of the weights themselves."""

from dataclasses import dataclass
from typing import Literal

from lm.editors.entry import TENFOLD, Entry, Layers, require_positive


@dataclass(frozen=True)
class FullConfig:
    """Fine-tuning of the weights themselves."""

    optimizer: Literal["sgd", "adamw"] = "sgd"
    """sgd: plain; adamw: with the paper's weight decay."""
    layers: Layers = "all"
    """all: every parameter; early, late: the matrices of these layers."""
    learning_rate: float = 0.1
    """Learning rate of the optimiser, constant."""
    weight_decay: float = 0.0
    """Decoupled weight decay of the weights towards zero (adamw)."""
    steps: int = 40
    """Gradient steps."""

    def __post_init__(self) -> None:
        require_positive({"learning_rate": self.learning_rate}, {"steps": self.steps})


EDITORS = (
    Entry(
        name="full",
        about="all weights, by SGD or AdamW",
        build="lm.editors.full.method:Full",
        config=FullConfig(),
        small=FullConfig(learning_rate=1e-2),
        search={"learning_rate": TENFOLD},
    ),
    Entry(
        name="full-early",
        about="the weights of the first third of the layers",
        build="lm.editors.full.method:Full",
        config=FullConfig(layers="early"),
        small=FullConfig(layers="early", learning_rate=1e-2),
        search={"learning_rate": TENFOLD},
    ),
    Entry(
        name="full-late",
        about="the weights of the last third of the layers",
        build="lm.editors.full.method:Full",
        config=FullConfig(layers="late"),
        small=FullConfig(layers="late", learning_rate=1e-2),
        search={"learning_rate": TENFOLD},
    ),
)
