"""count-based: peers who have the new object are counted in the model's beliefs; the rival of self-bayes."""

from dataclasses import dataclass, field

from lm.editors.entry import Entry, require_not_negative, require_positive
from lm.editors.self_bayes import BeliefConfig, FitConfig


@dataclass(frozen=True)
class CountConfig:
    """What most subjects with the new object have, this one gets too."""

    beliefs: BeliefConfig = field(default_factory=BeliefConfig)
    fit: FitConfig = field(default_factory=FitConfig)
    soft: bool = True
    """Targets are the counts as a distribution; otherwise what was counted most."""
    fewest: int = 2
    """Subjects with the new object, below which nothing is concluded."""
    majority: float = 0.5
    """More than this share of them must have one object, for it to follow."""
    unread: bool = False
    """Something may follow that the model has never read of the subject, too."""
    anchor: float = 64.0
    """Weight of all that is to stay, where each answer that is to change has 1; 0 for none."""
    others: int = 96
    """Random further beliefs that are to stay."""
    at_once: int = 16
    """Of what is to stay, so many are drawn for every step."""

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
