"""ft-constrained: fine-tuning inside an L-infinity ball (Zhu et al. 2020)."""

from dataclasses import dataclass

from lm.editors.entry import Entry, Layers, require_positive


@dataclass(frozen=True)
class ConstrainedConfig:
    """Fine-tuning of down-projections inside an L-infinity ball (Zhu et al. 2020)."""

    radius: float = 0.1
    """How far a weight may change, in root mean squares of its matrix."""
    layers: Layers = "early"
    """Layers whose down-projections are trained."""
    rate: float = 0.1
    """Learning rate of AdamW, as a share of the radius."""
    steps: int = 40
    """Gradient steps."""

    def __post_init__(self) -> None:
        require_positive({"radius": self.radius, "rate": self.rate}, {"steps": self.steps})


EDITORS = (
    Entry(
        name="ft-constrained",
        about="down-projections, inside an L∞ ball (Zhu et al. 2020)",
        build="lm.editors.ft_constrained.method:Constrained",
        config=ConstrainedConfig(),
        search={"radius": (0.3, 1.0, 3.0, 10.0, 30.0)},
    ),
)
