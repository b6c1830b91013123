"""mend: a hyper-network turns the gradient of one request into an edit (Mitchell et al. 2022)."""

from dataclasses import dataclass

from lm.editors.entry import Entry, Layers, require_positive


@dataclass(frozen=True)
class MendConfig:
    """A hyper-network that turns gradients into edits (Mitchell et al. 2022)."""

    layers: Layers = "all"
    """Layers whose down-projections are edited."""
    rank: int = 32
    """Width inside the hyper-network."""
    learning_rate: float = 3e-3
    """Learning rate of Adam for the hyper-network."""
    steps: int = 400
    """Training steps of the hyper-network."""
    batch: int = 16
    """Practice edits in a step."""
    locality: float = 1.0
    """Weight of the divergence on unrelated text, beside the loss of the edit."""

    def __post_init__(self) -> None:
        require_positive(
            {"learning_rate": self.learning_rate},
            {"rank": self.rank, "steps": self.steps, "batch": self.batch},
        )


EDITORS = (
    Entry(
        name="mend",
        about="down-projections, by what a hyper-network makes of the gradient (Mitchell et al. 2022)",
        build="lm.editors.mend.method:Mend",
        config=MendConfig(),
        search={"locality": (0.01, 0.1, 1.0, 10.0)},
    ),
)
