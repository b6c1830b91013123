"""context-distillation: the model learns to say unasked what it says when told to imagine the request."""

from dataclasses import dataclass, field

from lm.editors.entry import Entry, require_not_negative, require_positive
from lm.editors.self_bayes import FitConfig


@dataclass(frozen=True)
class DistillationConfig:
    """The model learns to answer as it does after a sentence that imagines the request."""

    fit: FitConfig = field(default_factory=FitConfig)
    anchor: float = 16.0
    """Weight of other facts, which should stay; the request has weight 1. 0: no other facts."""
    at_once: int = 16
    """Other facts that are drawn for every step."""

    def __post_init__(self) -> None:
        require_positive({}, {"at_once": self.at_once})
        require_not_negative({"anchor": self.anchor})


EDITORS = (
    Entry(
        name="context-distillation",
        about="low-rank adapters, fitted to what the model answers once it imagines the edit",
        build="lm.editors.context_distillation.method:ContextDistillation",
        config=DistillationConfig(),
        search={"anchor": (0.1, 0.3, 1.0, 3.0)},
    ),
)
