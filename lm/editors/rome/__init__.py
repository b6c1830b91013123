"""rome: a rank-one change of one down-projection (Meng et al. 2022)."""

from dataclasses import dataclass
from typing import Literal

from lm.editors.entry import Entry, require_positive


@dataclass(frozen=True)
class RomeConfig:
    """Rank-one model editing (Meng et al. 2022), with one key in numerator and denominator."""

    token: Literal["subject", "last"] = "subject"
    """Token whose key stores the fact: the subject's last one, as published, or the prompt's last one. Models
    of two layers recall facts only at the latter."""
    depth: float = 0.2
    """The edited layer, from 0, the first, to 1, the last, after which no layer reads the subject's state."""
    contexts: int = 8
    """Openings from the corpus, beside the bare prompt, over which the key is averaged."""
    rate: float = 0.1
    """Learning rate of Adam for the value, as a share of the typical size of a state's entries."""
    steps: int = 40
    """Gradient steps on the value."""
    drift: float = 0.0625
    """Weight of the divergence between new and old continuations of the bare subject."""
    decay: float = 0.001
    """Weight of the value's squared length, in squared typical lengths of a state."""
    farthest: float = 4.0
    """Largest length of the addition to the state, in typical lengths of a state."""
    shrink: float = 1e-3
    """Share of its mean that is added to the diagonal of the keys' second moment."""

    def __post_init__(self) -> None:
        require_positive(
            {"rate": self.rate, "farthest": self.farthest, "shrink": self.shrink},
            {"contexts": self.contexts, "steps": self.steps},
        )
        if not 0 <= self.depth <= 1 or min(self.drift, self.decay) < 0:
            raise ValueError("depth is a share in [0, 1]; drift and decay are not negative")


EDITORS = (
    Entry(
        name="rome",
        about="one down-projection by rank one, one key throughout (Meng et al. 2022; Gupta et al. 2024)",
        build="lm.editors.rome.method:Rome",
        config=RomeConfig(),
        small=RomeConfig(token="last"),
        search={"token": ("subject", "last"), "rate": (1.0, 3.0), "farthest": (1.0, 2.0, 4.0)},
    ),
)
