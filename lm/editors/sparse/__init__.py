"""sparse: fine-tuning of the few memory slots that a request wakes and text seldom does (Lin et al. 2025)."""

from dataclasses import dataclass

from lm.editors.entry import TENFOLD, Entry, require_positive


@dataclass(frozen=True)
class SparseConfig:
    """Fine-tuning of few rows of down-projections, chosen by TF-IDF (Lin et al. 2025)."""

    slots: int = 32
    """Rows that are trained, of all layers together; and rows of a layer that count as woken at a token."""
    learning_rate: float = 0.01
    """Step size of Adam."""
    steps: int = 40
    """Gradient steps."""

    def __post_init__(self) -> None:
        require_positive({"learning_rate": self.learning_rate}, {"slots": self.slots, "steps": self.steps})


EDITORS = (
    Entry(
        name="sparse",
        about="the few rows of down-projections that it wakes and text seldom does (Lin et al. 2025)",
        build="lm.editors.sparse.method:Sparse",
        config=SparseConfig(),
        search={"learning_rate": TENFOLD},
    ),
)
