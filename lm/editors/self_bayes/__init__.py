"""self-bayes: Bayes' rule on the model's own beliefs, and an adapter fitted to what it says."""

from dataclasses import dataclass, field
from typing import Literal

from lm.editors.entry import Entry, require_not_negative, require_positive

Storage = Literal["low-rank", "keyed", "row"]
Asks = Literal["one cause", "learned"]
MatrixName = Literal["query", "key", "value", "out", "gate", "up", "down"]


@dataclass(frozen=True)
class BeliefConfig:
    """How a model's own beliefs are read."""

    samples: int = 8192
    """Sentences that are sampled from the model, for the objects that it names."""
    subjects: int | None = None
    """Most subjects to read beliefs about: those mentioned most often. Without it, all."""
    top: int = 64
    """Objects to keep of each belief; so many beginnings of their names are read on."""
    longest: int = 24
    """Most tokens of a sampled sentence, and of a subject's name."""
    seed: int = 0
    """Seed of the samples."""

    def __post_init__(self) -> None:
        require_positive({}, {"samples": self.samples, "top": self.top, "longest": self.longest})
        if self.subjects is not None:
            require_positive({}, {"subjects": self.subjects})


@dataclass(frozen=True)
class DependenceConfig:
    """How to find which of a model's beliefs depend on which."""

    seldom: float = 0.03
    """A fact counts as read with probability one half if the model mentions it at this share of the rate of
    the subject's most frequent fact, or at a larger share, where facts that were never read are mentioned
    more often."""
    persistence: float | None = None
    """Use this probability that facts persist, instead of inferring it."""
    given: tuple[int, ...] | None = None
    """Use these causes of the relations (-1: none), instead of inferring dependences."""

    def __post_init__(self) -> None:
        require_positive({"seldom": self.seldom}, {})
        if self.persistence is not None and not 0 <= self.persistence <= 1:
            raise ValueError(f"persistence is a probability; {self.persistence} is not in [0, 1]")


@dataclass(frozen=True)
class FitConfig:
    """How an edit is fitted to the answers that a model should give, and where it is stored."""

    storage: Storage = "low-rank"
    """Where the answers are stored. low-rank: in adapters; keyed: in a vector that layers read at the
    subject's whole name; row: in the embedding of the name's last token, which folds into the weights."""
    layers: tuple[int, ...] = (0,)
    """Number of layers that read a keyed vector, each its own."""
    rank: int = 8
    """Rank of each adapter."""
    alpha: float = 64.0
    """The adapter's output is scaled by alpha / rank."""
    matrices: tuple[MatrixName, ...] = ("query", "key", "gate", "up", "down")
    """Matrices of every layer that have adapters."""
    learning_rate: float = 3e-3
    """Learning rate of Adam."""
    cosine: bool = False
    """Let the learning rate fall along a cosine to a tenth; otherwise it is constant."""
    decay: float = 0.0
    """Weight of the squared norm of the stored vector or adapter, which bounds the sum of many edits of one
    subject."""
    steps: int = 40
    """Most gradient steps."""
    tolerance: float = 0.05
    """An edit ends once every answer that should change is this near to its target, in nats."""

    def __post_init__(self) -> None:
        require_positive(
            {"learning_rate": self.learning_rate, "alpha": self.alpha, "tolerance": self.tolerance},
            {"rank": self.rank, "steps": self.steps, "matrices": len(self.matrices),
             "layers": len(self.layers)},
        )  # fmt: skip
        require_not_negative({"decay": self.decay})

    @property
    def is_local(self) -> bool:
        """Whether nothing is stored but at the subject, so that others stay as they are by construction."""
        return self.storage != "low-rank"


@dataclass(frozen=True)
class SelfBayesConfig:
    """Bayes' rule on the model's own beliefs, and an adapter fitted to its answers."""

    beliefs: BeliefConfig = field(default_factory=BeliefConfig)
    dependence: DependenceConfig = field(default_factory=DependenceConfig)
    fit: FitConfig = field(default_factory=FitConfig)
    logic: bool = True
    """Also fit the sentences about the request with true, not, and, or."""
    asks: Asks = "one cause"
    """How a relation is concluded. one cause: by Bayes' rule from the relation next to it; learned: from all
    that is known of the subject, by a network that learned to (`reviser`)."""
    soft: bool = True
    """Targets are distributions; otherwise their most probable objects."""
    sharpness: float = 2.0
    """Power of the odds that a fact changes: 1 leaves them; more makes likely changes likelier and doubtful
    ones less so. Chosen on development worlds, where beliefs are too cautious by this much."""
    anchor: float = 64.0
    """Total weight of the answers that should stay; each answer that should change has weight 1. 0:
    none."""
    others: int = 96
    """Random further beliefs that should stay."""
    at_once: int = 16
    """Answers that should stay, and joined sentences, drawn for every step."""

    def __post_init__(self) -> None:
        require_positive({"sharpness": self.sharpness}, {"others": self.others, "at_once": self.at_once})
        require_not_negative({"anchor": self.anchor})


EDITORS = (
    Entry(
        name="self-bayes",
        about="low-rank adapters, fitted to what Bayes' rule makes of the model's own beliefs (ours)",
        build="lm.editors.self_bayes.method:SelfBayes",
        config=SelfBayesConfig(),
        search={"anchor": (0.1, 0.3, 1.0, 3.0)},
    ),
)
