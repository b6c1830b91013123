"""grace: a codebook beside one MLP (Hartvigsen et al. 2023)."""

from dataclasses import dataclass

from lm.editors.entry import Entry, require_positive


@dataclass(frozen=True)
class GraceConfig:
    """A codebook beside one layer's MLP (Hartvigsen et al. 2023)."""

    depth: float = 0.5
    """The layer, as a share of the depth."""
    radius: float = 0.5
    """Radius of an entry's ball, as a share of the typical distance of a prompt to its nearest neighbour."""
    rate: float = 0.1
    """Learning rate of Adam for the value, as a share of the typical size of an MLP's outputs."""
    steps: int = 40
    """Gradient steps on the value."""

    def __post_init__(self) -> None:
        require_positive({"radius": self.radius, "rate": self.rate}, {"steps": self.steps})
        if not 0 <= self.depth <= 1:
            raise ValueError(f"depth is a share in [0, 1]; it is {self.depth}")


EDITORS = (
    Entry(
        name="grace",
        about="nothing: a codebook answers beside one MLP (Hartvigsen et al. 2023)",
        build="lm.editors.grace.method:Grace",
        config=GraceConfig(),
        search={"radius": (0.1, 0.3, 1.0, 3.0)},
    ),
)
