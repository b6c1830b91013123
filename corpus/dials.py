"""Dials of worlds that are generated. Plain dataclasses, as in `corpus.config`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CoupledWorld:
    """Dials of a world of coupled pairs: towers and parks, writers and books, people and spouses."""

    objects: int = 8
    """Objects of each relation. Fewer objects mean more support for each."""
    strength: float = 1.0
    """Probability that the coupled entity has the same object; else it has any other."""
    dependence: float = 0.9
    """Probability that what depends on a subject's own fact follows its object's favourite."""
    unstated: float = 0.25
    """Share of pairs in which nobody says what the coupled entity has by the coupling, nor what follows."""
    unknown: float = 0.15
    """Share of pairs in which nobody says what the coupling starts from, nor anything that depends on it."""

    def __post_init__(self) -> None:
        if self.objects < 3:
            raise ValueError("objects must be at least 3")
        for name in ("strength", "dependence", "unstated", "unknown"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a share, in [0, 1]; it is {getattr(self, name)}")
        if self.unstated + self.unknown > 0.9:
            raise ValueError("unstated and unknown together may be at most 0.9 of all pairs")
