"""The settings of Hase's examination; importing this loads no NumPy and no JAX."""

from dataclasses import dataclass
from typing import Literal

from testbed.run.settings import RequestName


@dataclass(frozen=True)
class HaseConfig:
    """Which edits are asked for."""

    sampler: Literal["stratified", "published"] = "stratified"
    """stratified: equal numbers per support of the new object; published: as Hase et al."""
    request: RequestName = "evidence"
    """evidence: n' further statements; correction: a sentence that settles the fact; do: the world changed.
    Only the exact agent knows the last two."""
    edits: Literal["any", "upstream", "downstream"] = "any"
    """Which facts. upstream: causes, on which another fact of the subject depends, for propagation to it;
    downstream: effects of another fact of the subject, for diagnosis of that; any: whichever it has."""
    reinforce: float = 0.5
    """Share of requests that repeat the truth; the others contradict it."""
    changing: bool = False
    """Only requests after which the agent answers otherwise about what depends on them."""
    candidates: int = 24
    """Objects of each question whose probability is recorded; the rest are one remainder."""

    def __post_init__(self) -> None:
        if self.candidates < 8:
            raise ValueError(f"candidates must be at least 8; it is {self.candidates}")
        if self.changing and self.edits == "downstream":
            raise ValueError("changing is about what depends on a request: leave it out, or edits downstream")
        if not 0 <= self.reinforce <= 1:
            raise ValueError(f"reinforce is a share in [0, 1]; it is {self.reinforce}")
