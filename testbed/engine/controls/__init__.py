"""Controls that need the testbed: random-target, oracles, self-bayes-told, keyed-forms and retrain."""

from dataclasses import dataclass, field, replace

from lm.editors.entry import require_not_negative, require_positive
from lm.editors.keyed import AT_THE_NAME
from lm.editors.self_bayes import FitConfig
from testbed.engine.methods import Control


@dataclass(frozen=True)
class OracleConfig:
    """Adapters fitted to the agent's beliefs, with all the capacity that an editor here has."""

    fit: FitConfig = field(default_factory=FitConfig)


@dataclass(frozen=True)
class OracleWorldConfig(OracleConfig):
    """Adapters fitted to the agent's beliefs about every fact of the world."""

    fit: FitConfig = field(default_factory=lambda: FitConfig(steps=80))
    at_once: int = 64
    """Facts of the world, drawn anew, that every step is fitted to besides the request."""
    most: int = 5000
    """Facts that a world may have."""

    def __post_init__(self) -> None:
        require_positive({}, {"at_once": self.at_once, "most": self.most})


@dataclass(frozen=True)
class FormsConfig:
    """What a request of any form makes of the model's own beliefs, stored at the subject's name."""

    fit: FitConfig = field(
        default_factory=lambda: replace(AT_THE_NAME, layers=(0, 1), steps=240, tolerance=0.005)
    )
    labelled: int = 2
    """Objects of the request's fact, the likeliest before or after, whose statements are labelled true as far
    as they are believed; 0: labels stay as they are."""
    sharpness: float = 2.0
    """Power of the model's beliefs before they are reasoned with; above 1 they become surer."""
    prior: float = 0.15
    """Subjects that are taken to have an object, of those with one cause, besides those that the model knows
    of. This and the sharpness were chosen on two development worlds."""
    at_face_value: bool = False
    """Believe what is said as far as it is said, whatever was believed before; nothing follows."""
    trust: float = 0.9
    """Share of the way from the model's belief to what is said, at face value; chosen likewise."""

    def __post_init__(self) -> None:
        require_positive({"sharpness": self.sharpness, "prior": self.prior, "trust": self.trust})
        require_not_negative({"labelled": self.labelled})


@dataclass(frozen=True)
class RetrainConfig:
    """Training from scratch on the corpus with the request's evidence in it."""

    copies: float = 1.0
    """How often the evidence counts; 1 is what the rational agent is told."""

    def __post_init__(self) -> None:
        require_positive({"copies": self.copies})


EDITORS = (
    Control(
        name="random-target",
        about="control: as `lora-down`, to an object nobody asked for",
        build="testbed.engine.controls.random_target:random_target",
        options="lora-down",
    ),
    Control(
        name="oracle",
        about="control: low-rank adapters as `self-bayes` has, fitted to what the rational agent believes of "
        "half of the questions, and scored on the others",
        build="testbed.engine.controls.oracle:oracle",
        config=OracleConfig(),
    ),
    Control(
        name="oracle-world",
        about="control: the same fitted to what the agent believes about every fact of a small world",
        build="testbed.engine.controls.oracle:oracle_world",
        config=OracleWorldConfig(),
    ),
    Control(
        name="self-bayes-told",
        about="control: as `self-bayes`, given which relation depends on which",
        build="testbed.engine.controls.self_bayes_told:self_bayes_told",
        options="self-bayes",
    ),
    Control(
        name="keyed-told",
        about="control: as `keyed`, given which relation depends on which",
        build="testbed.engine.controls.self_bayes_told:self_bayes_told",
        options="keyed",
    ),
    Control(
        name="keyed-oracle",
        about="control: a vector at the subject's name as `keyed` has, fitted to what the rational agent "
        "believes of half of the questions, and scored on the others",
        build="testbed.engine.controls.oracle:oracle",
        config=OracleConfig(fit=AT_THE_NAME),
    ),
    Control(
        name="documents-told",
        about="control: as `documents-request`, also of what the rational agent thinks likeliest in half of "
        "the questions, and scored on the others",
        build="testbed.engine.controls.oracle:documents_told",
        options="documents-request",
    ),
    Control(
        name="keyed-forms",
        about="control: two vectors at the subject's name, fitted to what a request of any form makes of the "
        "model's own beliefs, given which relation depends on which (ours)",
        build="testbed.engine.controls.forms:keyed_forms",
        config=FormsConfig(),
        search={"sharpness": (0.5, 0.7, 1.0, 1.5, 2.0), "prior": (0.3, 1.0, 3.0)},
    ),
    Control(
        name="keyed-face-value",
        about="control: the same, fitted to what a request states, whatever was believed before",
        build="testbed.engine.controls.forms:keyed_forms",
        config=FormsConfig(at_face_value=True, labelled=0),
        search={"trust": (0.2, 0.35, 0.5, 0.7, 0.85, 1.0)},
    ),
    Control(
        name="retrain",
        about="control: the model trained again with the evidence in its corpus; for small worlds",
        build="testbed.engine.controls.retrain:retrain",
        config=RetrainConfig(),
    ),
)
