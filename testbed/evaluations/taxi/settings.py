"""The settings of TAXI's examination; importing this loads no NumPy and no JAX."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TaxiConfig:
    """What is asked besides TAXI's own questions."""

    others: int = 2
    """Other subjects whose category and one property are asked, to see whether they stay."""
    absent: int = 2
    """Properties that only one of old and new category has, which TAXI never asks."""
    controls: bool = False
    """Tell every editor, besides the requests, three things that say nothing about them; takes four times as
    long."""

    def __post_init__(self) -> None:
        if min(self.others, self.absent) < 0:
            raise ValueError(f"others and absent must not be negative; they are {self.others}, {self.absent}")
