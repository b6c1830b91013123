"""self-bayes: Bayes' rule on the model's own beliefs, and an adapter fitted to what it says."""

from dataclasses import dataclass, field
from typing import Literal

from lm.editors.entry import Entry, require_not_negative, require_positive

Storage = Literal["low-rank", "keyed", "row"]
MatrixName = Literal["query", "key", "value", "out", "gate", "up", "down"]


@dataclass(frozen=True)
class BeliefConfig:
    """How a model's own beliefs are read."""

    samples: int = 8192
    """Sentences that the model is sampled for, to learn whom it speaks of."""
    subjects: int = 4096
    """Most subjects whose beliefs are kept, those it speaks of most often."""
    top: int = 64
    """Objects kept of each belief."""
    longest: int = 24
    """Most tokens of a sampled sentence."""
    seed: int = 0
    """Of the samples."""

    def __post_init__(self) -> None:
        require_positive(
            {}, {"samples": self.samples, "subjects": self.subjects, "top": self.top, "longest": self.longest}
        )


@dataclass(frozen=True)
class DependenceConfig:
    """How it is found out which of a model's beliefs depend on which."""

    seldom: float = 0.03
    """Share of what the model says most readily of a subject, at which a fact is as likely as not to have
    been read at all."""
    persistence: float | None = None
    """Take this for the probability that facts persist, instead of judging it."""
    given: tuple[int, ...] | None = None
    """Take these parents of the relations (-1 for none), instead of judging dependences."""

    def __post_init__(self) -> None:
        require_positive({"seldom": self.seldom}, {})
        if self.persistence is not None and not 0 <= self.persistence <= 1:
            raise ValueError(f"persistence is a probability; {self.persistence} is not in [0, 1]")


@dataclass(frozen=True)
class FitConfig:
    """How an edit is fitted to the answers that a model should give, and where it is stored."""

    storage: Storage = "low-rank"
    """In adapters of low rank; in a vector that layers read at the subject's whole name (keyed); or in the
    embedding of its last token, which folds into the weights (row)."""
    layers: tuple[int, ...] = (0,)
    """Layers that read a keyed vector, each its own."""
    rank: int = 8
    """Rank of each adapter."""
    alpha: float = 64.0
    """The adapter's output is scaled by alpha / rank."""
    matrices: tuple[MatrixName, ...] = ("query", "key", "gate", "up", "down")
    """Where there are adapters, in every layer."""
    learning_rate: float = 3e-3
    """Of Adam."""
    cosine: bool = False
    """The learning rate falls along a cosine to a tenth; otherwise it is constant."""
    decay: float = 0.0
    """Weight of the squared norm of what is stored, so that edits of one subject do not pile up."""
    clip: float = 1.0
    """Largest global norm of an edit's gradient."""
    steps: int = 40
    """Most gradient steps."""
    tolerance: float = 0.05
    """Nats: an edit is done once no answer that should change is further from its target."""

    def __post_init__(self) -> None:
        require_positive(
            {"learning_rate": self.learning_rate, "clip": self.clip, "alpha": self.alpha,
             "tolerance": self.tolerance},
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
    """Bayes' rule on the model's own beliefs, and an adapter fitted to what it says."""

    beliefs: BeliefConfig = field(default_factory=BeliefConfig)
    dependence: DependenceConfig = field(default_factory=DependenceConfig)
    fit: FitConfig = field(default_factory=FitConfig)
    logic: bool = True
    """Also say what follows for sentences about the request: truth, not, and, or."""
    soft: bool = True
    """Targets are distributions; otherwise their most probable objects."""
    sharpness: float = 2.0
    """The odds that a fact moves are raised to this power: 1 leaves them, more changes what is likely to move
    more, and what is in doubt less. Chosen on development worlds, as beliefs are too cautious by as much."""
    joined: float = 16.0
    """Weight of sentences that join the request with another statement by and, or."""
    partners: int = 64
    """Other statements that the request is joined with."""
    anchor: float = 64.0
    """Weight of all that is to stay, where each answer that is to change has 1; 0 for none."""
    peers: int = 8
    """Subjects with the old object, and as many with the new one, whose beliefs are to stay."""
    others: int = 96
    """Random further beliefs that are to stay."""
    at_once: int = 16
    """Of what is to stay, and of the joined sentences, so many are drawn for every step."""

    def __post_init__(self) -> None:
        require_positive(
            {"joined": self.joined, "sharpness": self.sharpness},
            {"partners": self.partners, "peers": self.peers, "others": self.others, "at_once": self.at_once},
        )
        require_not_negative({"anchor": self.anchor})


EDITORS = (
    Entry(
        name="self-bayes",
        about="low-rank adapters, fitted to what Bayes' rule says of the model's own beliefs (ours)",
        build="lm.editors.self_bayes.method:SelfBayes",
        config=SelfBayesConfig(),
        search={"anchor": (0.1, 0.3, 1.0, 3.0)},
    ),
)
