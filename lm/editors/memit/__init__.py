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
    """Keep the outputs at the keys of earlier edits of the sequence."""
    null_space: bool = False
    """Change only directions that the corpus hardly uses; a plain ridge then stands for the corpus."""
    normalise: bool = False
    """Standardise what a layer adds by all facts edited so far, and let it grow with the standardised key."""
    anchor: bool = False
    """Give the target state the length of the unedited model's state."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive({"spread": self.spread, "ridge": self.ridge})


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
