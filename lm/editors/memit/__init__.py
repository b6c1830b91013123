"""memit: the value that rome stores in one layer, spread over several (Meng et al. 2023)."""

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
