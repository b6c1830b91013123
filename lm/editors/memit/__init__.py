"""memit: the value that rome stores in one layer, spread over several (Meng et al. 2023).

What is said to let edits last is a switch each: earlier edits' keys as constraints and the corpus' null space
(AlphaEdit, Fang et al. 2025), running normalisation (UltraEdit, Gu et al. 2025), and a norm anchor (NAS, Liu
et al. 2026).
"""

from dataclasses import dataclass

from lm.editors.entry import Entry, require_positive
from lm.editors.rome import RomeConfig


@dataclass(frozen=True)
class MemitConfig(RomeConfig):
    """Mass-editing memory (Meng et al. 2023): the same value, spread over several layers."""

    spread: float = 0.2
    """Share of the layers that carry the edit, ending with the one at `depth`; at least one."""
    ridge: float = 0.01
    """Weight of the corpus against one request: lambda of the paper, relative to the keys' second moment."""
    accumulate: bool = False
    """The keys of earlier edits of the sequence are to keep what they add."""
    null_space: bool = False
    """Only directions that the corpus hardly uses are changed; a plain ridge then stands for the corpus."""
    null_below: float = 0.1
    """What the corpus hardly uses: less than this share of the mean of its second moment's eigenvalues; in a
    model of two layers on a development world half of all directions, of which .01 leaves four of 256."""
    normalise: bool = False
    """What a layer adds is standardised by all facts edited so far, and grows with the standardised key."""
    push: float = 1.0
    """Size of what is standardised, in what practice edits add."""
    warm_up: int = 32
    """Practice edits with which the statistics of `normalise` begin."""
    anchor: bool = False
    """The state that is wanted is as long as the unedited model's."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(
            {"spread": self.spread, "ridge": self.ridge, "null_below": self.null_below, "push": self.push},
            {"warm_up": self.warm_up - 1},
        )


EDITORS = (
    Entry(
        name="memit",
        about="several down-projections, which share what rome stores in one (Meng et al. 2023)",
        build="lm.editors.memit.method:Memit",
        config=MemitConfig(),
        small=MemitConfig(token="last"),
        search={"rate": (1.0, 3.0), "farthest": (1.0, 2.0, 4.0)},
    ),
)
