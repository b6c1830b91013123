"""Controls that need the testbed: random-target, oracle and retrain."""

from dataclasses import dataclass

from lm.editors.entry import positive
from testbed.engine.methods import Control


@dataclass(frozen=True)
class RetrainConfig:
    """Training from scratch on the corpus with the request's evidence in it."""

    copies: float = 1.0
    """How often the evidence counts; 1 is what the rational agent is told."""

    def __post_init__(self) -> None:
        positive({"copies": self.copies})


EDITORS = (
    Control(
        name="random-target",
        about="control: as `lora-down`, to an object nobody asked for",
        build="testbed.engine.controls.random_target:random_target",
        options="lora-down",
    ),
    Control(
        name="oracle",
        about="control: as `lora-down`, told all that the rational agent would answer",
        build="testbed.engine.controls.oracle:oracle",
        options="lora-down",
    ),
    Control(
        name="retrain",
        about="control: the model trained again with the evidence in its corpus; for small worlds",
        build="testbed.engine.controls.retrain:retrain",
        config=RetrainConfig(),
    ),
)
