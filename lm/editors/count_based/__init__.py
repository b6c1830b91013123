"""count-based: peers who have the new object are counted in the model's beliefs; the rival of self-bayes."""

from dataclasses import dataclass, field

from lm.editors.entry import Entry, require_not_negative, require_positive
from lm.editors.self_bayes import BeliefConfig, FitConfig


@dataclass(frozen=True)
class CountConfig:
    """The subject gets what most subjects with the new object have."""

    beliefs: BeliefConfig = field(default_factory=BeliefConfig)
    fit: FitConfig = field(default_factory=FitConfig)
    soft: bool = True
    """Targets are the counts as a distribution; otherwise the most frequent object."""
    fewest: int = 2
    """Least number of subjects with the new object from which anything is concluded."""
    majority: float = 0.5
    """Conclude an object only if more than this share of them have it."""
    unread: bool = False
    """Conclude facts of relations that the model has never read of the subject, too."""
    anchor: float = 64.0
    """Total weight of the answers that should stay; each answer that should change has weight 1. 0:
    none."""
    others: int = 96
    """Random further beliefs that should stay."""
    at_once: int = 16
    """Answers that should stay, drawn for every step."""

    def __post_init__(self) -> None:
        require_positive({}, {"fewest": self.fewest, "others": self.others, "at_once": self.at_once})
        if not 0 <= self.majority < 1:
            raise ValueError(f"majority is a share in [0, 1); it is {self.majority}")
        require_not_negative({"anchor": self.anchor})


EDITORS = (
    Entry(
        name="count-based",
        about="low-rank adapters, fitted to what most who have the new object have; rival of `self-bayes`",
        build="lm.editors.count_based.method:CountBased",
        config=CountConfig(),
        search={
            "fewest": (0.5, 1.0, 2.0),
            "majority": (0.2, 0.5, 1.0, 1.8),
            "unread": (False, True),
            "anchor": (0.1, 0.3, 1.0, 3.0),
        },
    ),
)
