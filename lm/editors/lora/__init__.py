"""lora-down and lora-all: low-rank adapters (Hase et al. 2024)."""

from dataclasses import dataclass

from lm.editors.entry import TENFOLD, Entry, require_positive


@dataclass(frozen=True)
class LoraConfig:
    """Low-rank adapters trained on the request; the defaults are the paper's (Hase A.4)."""

    rank: int = 1
    """Rank of each adapter."""
    alpha: float = 8.0
    """The adapter's output is scaled by alpha / rank."""
    learning_rate: float = 1e-4
    """Learning rate of AdamW, constant."""
    weight_decay: float = 1e-4
    """Decoupled weight decay of the adapter."""
    steps: int = 40
    """Gradient steps."""

    def __post_init__(self) -> None:
        require_positive(
            {"learning_rate": self.learning_rate, "alpha": self.alpha},
            {"rank": self.rank, "steps": self.steps},
        )


EDITORS = tuple(
    Entry(
        name=name,
        about=f"low-rank adapters on every {where}",
        build=f"lm.editors.lora.method:{name.replace('-', '_')}",
        config=LoraConfig(),
        small=LoraConfig(learning_rate=1e-3),
        search={"learning_rate": TENFOLD},
    )
    for name, where in (
        ("lora-down", "MLP down-projection (Hase et al. 2024)"),
        ("lora-all", "matrix of every layer"),
    )
)
