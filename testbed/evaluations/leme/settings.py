"""The settings of LEME's examination; importing this loads no NumPy and no JAX."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class LemeConfig:
    """Which edits are made, and how passages are written."""

    samples: int = 3
    """Passages about each entity, written independently."""
    longest: int = 300
    """Most tokens of a passage."""
    temperature: float = 0.9
    """Of sampling; 0 writes the most probable words."""
    top_k: int = 50
    """Words are drawn from so many of the most probable ones."""
    top_p: float = 0.95
    """Words are drawn from the fewest that have this probability together."""
    outline: bool = False
    """Open a passage by an outline: the edited relation and those of the stated facts."""
    injections: float = 0.3
    """Share of edits about a fact that nobody stated."""
    others: int = 2
    """Other subjects whose facts are asked, to see whether they stay."""
    second: Literal["correction", "evidence"] = "correction"
    """What the request is under the second reading; under the first one the world changed."""
    controls: bool = False
    """Tell every editor, besides the requests, two things that say nothing about them; takes three times as
    long."""

    def __post_init__(self) -> None:
        if min(self.samples, self.longest, self.top_k) < 1 or self.others < 0:
            raise ValueError("samples, longest and top_k must be at least 1, and others not negative")
        if self.temperature < 0 or not 0 < self.top_p <= 1 or not 0 <= self.injections <= 1:
            raise ValueError(
                "temperature must not be negative, top_p in (0, 1] and injections in [0, 1]; they are "
                f"{self.temperature}, {self.top_p}, {self.injections}"
            )
