"""Hyper-parameters of every editor as plain dataclasses, so that --help needs no JAX."""

import math
from dataclasses import dataclass, field
from typing import Literal

Layers = Literal["all", "early", "late"]
"""early and late are the first and the last third of the layers, at least one."""


def _check(positive: dict[str, float], whole: dict[str, int] | None = None) -> None:
    """Refuse hyper-parameters that are not positive and finite, or less than one step."""
    for name, value in positive.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be a positive number; it is {value}")
    for name, value in (whole or {}).items():
        if value < 1:
            raise ValueError(f"{name} must be positive; it is {value}")


@dataclass(frozen=True)
class LoraConfig:
    """Low-rank adapters trained on the request; the defaults are the paper's (Hase A.2)."""

    rank: int = 1
    """Rank of each adapter."""
    alpha: float = 8.0
    """The adapter's output is scaled by alpha / rank."""
    learning_rate: float = 1e-4
    """Of AdamW, constant."""
    weight_decay: float = 1e-4
    """Decoupled weight decay of the adapter."""
    clip: float = 1.0
    """Largest global norm of an edit's gradient."""
    steps: int = 40
    """Gradient steps."""

    def __post_init__(self) -> None:
        _check(
            {"learning_rate": self.learning_rate, "clip": self.clip, "alpha": self.alpha},
            {"rank": self.rank, "steps": self.steps},
        )


@dataclass(frozen=True)
class EmbeddingsConfig:
    """The embeddings of the tokens that the request is spelt with, trained on it."""

    learning_rate: float = 1e-3
    """Of AdamW, constant."""
    weight_decay: float = 0.0
    """Decoupled weight decay of what is added."""
    clip: float = 1.0
    """Largest global norm of an edit's gradient."""
    steps: int = 40
    """Gradient steps."""

    def __post_init__(self) -> None:
        _check({"learning_rate": self.learning_rate, "clip": self.clip}, {"steps": self.steps})


@dataclass(frozen=True)
class FullConfig:
    """Fine-tuning of the weights themselves."""

    optimizer: Literal["sgd", "adamw"] = "sgd"
    """sgd: plain; adamw: with the paper's weight decay."""
    layers: Layers = "all"
    """all: every parameter; early, late: the matrices of these layers."""
    learning_rate: float = 0.1
    """Of the optimiser, constant."""
    weight_decay: float = 0.0
    """Decoupled weight decay of the weights towards zero (adamw)."""
    clip: float = 1.0
    """Largest global norm of an edit's gradient."""
    steps: int = 40
    """Gradient steps."""

    def __post_init__(self) -> None:
        _check({"learning_rate": self.learning_rate, "clip": self.clip}, {"steps": self.steps})


@dataclass(frozen=True)
class ConstrainedConfig:
    """Fine-tuning of down-projections inside an L-infinity ball (Zhu et al. 2020)."""

    radius: float = 0.1
    """How far a weight may move, in root mean squares of its matrix."""
    layers: Layers = "early"
    """Which layers' down-projections."""
    rate: float = 0.1
    """Step of AdamW, as a share of the radius."""
    steps: int = 40
    """Gradient steps."""

    def __post_init__(self) -> None:
        _check({"radius": self.radius, "rate": self.rate}, {"steps": self.steps})


@dataclass(frozen=True)
class RomeConfig:
    """Rank-one model editing (Meng et al. 2022), with one key in numerator and denominator."""

    token: Literal["subject", "last"] = "subject"
    """Whose key stores the fact: the subject's last token, as published, or the prompt's last token. Models
    of two layers recall facts only there."""
    depth: float = 0.2
    """The edited layer, from 0, the first, to 1, the last, behind which nobody reads the subject's state."""
    contexts: int = 8
    """Sentences of the corpus before the prompt over which the key is averaged, besides none."""
    rate: float = 0.1
    """Step of Adam on the value, as a share of the typical size of a state's entries."""
    steps: int = 40
    """Gradient steps on the value."""
    drift: float = 0.0625
    """Weight of the divergence of what follows the subject alone from what it was."""
    decay: float = 0.001
    """Weight of the value's squared length, in squared typical lengths of a state."""
    farthest: float = 4.0
    """Largest length of what is added to the state, in typical lengths of a state."""
    shrink: float = 1e-3
    """Share of its mean that is added to the diagonal of the keys' second moment."""

    def __post_init__(self) -> None:
        _check(
            {"rate": self.rate, "farthest": self.farthest, "shrink": self.shrink},
            {"contexts": self.contexts, "steps": self.steps},
        )
        if not 0 <= self.depth <= 1 or min(self.drift, self.decay) < 0:
            raise ValueError("depth is a share in [0, 1]; drift and decay are not negative")


@dataclass(frozen=True)
class MemitConfig(RomeConfig):
    """Mass-editing memory (Meng et al. 2023): the same value, spread over several layers."""

    spread: float = 0.2
    """Share of the layers that carry the edit, ending with the one at `depth`; at least one."""
    ridge: float = 0.01
    """Weight of the corpus against one request: lambda of the paper, relative to the keys' second moment."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check({"spread": self.spread, "ridge": self.ridge})


@dataclass(frozen=True)
class MendConfig:
    """A hyper-network that turns gradients into edits (Mitchell et al. 2022)."""

    layers: Layers = "all"
    """Which layers' down-projections."""
    rank: int = 32
    """Width inside the hyper-network."""
    learning_rate: float = 3e-3
    """Of Adam, for the hyper-network."""
    steps: int = 400
    """Steps of its training."""
    batch: int = 16
    """Practice edits in a step."""
    locality: float = 1.0
    """Weight of the divergence on unrelated text against the loss of the edit."""

    def __post_init__(self) -> None:
        _check(
            {"learning_rate": self.learning_rate},
            {"rank": self.rank, "steps": self.steps, "batch": self.batch},
        )


@dataclass(frozen=True)
class InContextConfig:
    """No weights change: the model reads the edit before every question."""

    copies: int = 4
    """How often the sentence is read."""
    imagine: bool = False
    """Open with the word that begins a passage about another world, which then stands once."""

    def __post_init__(self) -> None:
        _check({}, {"copies": self.copies})


@dataclass(frozen=True)
class GraceConfig:
    """A codebook beside one layer's MLP (Hartvigsen et al. 2023)."""

    depth: float = 0.5
    """The layer, as a share of all layers."""
    radius: float = 0.5
    """Of an entry's ball, as a share of the typical distance of a prompt to its nearest neighbour."""
    rate: float = 0.1
    """Step of Adam on the value, as a share of the typical size of an MLP's outputs."""
    steps: int = 40
    """Gradient steps on the value."""

    def __post_init__(self) -> None:
        _check({"radius": self.radius, "rate": self.rate}, {"steps": self.steps})
        if not 0 <= self.depth <= 1:
            raise ValueError(f"depth is a share in [0, 1]; it is {self.depth}")


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
        _check(
            {}, {"samples": self.samples, "subjects": self.subjects, "top": self.top, "longest": self.longest}
        )


@dataclass(frozen=True)
class DependenceConfig:
    """How it is found out which of a model's beliefs depend on which."""

    seldom: float = 0.03
    """Share of what the model says most readily of a subject, at which a fact is as likely as not to have
    been read at all."""
    judged: int = 1024
    """Most subjects that persistence is judged by."""
    permutations: int = 200
    """Shuffled worlds that a dependence is compared with."""
    significance: float = 0.01
    """Share of them that may look as dependent."""
    persistence: float | None = None
    """Take this for the probability that facts persist, instead of judging it."""
    given: tuple[int, ...] | None = None
    """Take these parents of the relations (-1 for none), instead of judging dependences."""
    seed: int = 0
    """Of the shuffles."""

    def __post_init__(self) -> None:
        _check(
            {"seldom": self.seldom, "significance": self.significance},
            {"judged": self.judged, "permutations": self.permutations},
        )
        if self.persistence is not None and not 0 <= self.persistence <= 1:
            raise ValueError(f"persistence is a probability; {self.persistence} is not in [0, 1]")


MatrixName = Literal["query", "key", "value", "out", "gate", "up", "down"]


@dataclass(frozen=True)
class FitConfig:
    """How an adapter is fitted to the answers that a model should give."""

    rank: int = 8
    """Rank of each adapter."""
    alpha: float = 64.0
    """The adapter's output is scaled by alpha / rank."""
    matrices: tuple[MatrixName, ...] = ("query", "key", "gate", "up", "down")
    """Where there are adapters, in every layer."""
    learning_rate: float = 3e-3
    """Of Adam, constant."""
    clip: float = 1.0
    """Largest global norm of an edit's gradient."""
    steps: int = 40
    """Most gradient steps."""
    tolerance: float = 0.05
    """Nats: an edit is done once no answer that should change is further from its target."""

    def __post_init__(self) -> None:
        _check(
            {"learning_rate": self.learning_rate, "clip": self.clip, "alpha": self.alpha,
             "tolerance": self.tolerance},
            {"rank": self.rank, "steps": self.steps, "matrices": len(self.matrices)},
        )  # fmt: skip


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
        _check(
            {"joined": self.joined},
            {"partners": self.partners, "peers": self.peers, "others": self.others, "at_once": self.at_once},
        )
        if not 0 <= self.anchor < math.inf:
            raise ValueError(f"anchor must be a number that is not negative; it is {self.anchor}")


@dataclass(frozen=True)
class DistillationConfig:
    """What the model says when told to imagine the request becomes what it says."""

    fit: FitConfig = field(default_factory=FitConfig)
    anchor: float = 16.0
    """Weight of other facts, which are to stay, where the request has 1; 0 for none."""
    at_once: int = 16
    """Of what is to stay, so many are drawn for every step."""

    def __post_init__(self) -> None:
        _check({}, {"at_once": self.at_once})
        if not 0 <= self.anchor < math.inf:
            raise ValueError(f"anchor must be a number that is not negative; it is {self.anchor}")


@dataclass(frozen=True)
class RetrainConfig:
    """Training from scratch on the corpus with the request's evidence in it."""

    copies: float = 1.0
    """How often the evidence counts; 1 is what the rational agent is told."""

    def __post_init__(self) -> None:
        _check({"copies": self.copies})


@dataclass(frozen=True)
class EditorConfigs:
    """Hyper-parameters of all built-in editors."""

    lora_down: LoraConfig = field(default_factory=LoraConfig)
    """Adapters on every MLP down-projection, Hase's main editor."""
    lora_all: LoraConfig = field(default_factory=LoraConfig)
    """Adapters on every matrix of every layer."""
    embeddings: EmbeddingsConfig = field(default_factory=EmbeddingsConfig)
    """The embeddings of the request's tokens."""
    full: FullConfig = field(default_factory=FullConfig)
    """Fine-tuning of the weights."""
    full_early: FullConfig = field(default_factory=lambda: FullConfig(layers="early"))
    """Fine-tuning of the first third of the layers."""
    full_late: FullConfig = field(default_factory=lambda: FullConfig(layers="late"))
    """Fine-tuning of the last third of the layers."""
    ft_constrained: ConstrainedConfig = field(default_factory=ConstrainedConfig)
    """Fine-tuning inside an L-infinity ball."""
    rome: RomeConfig = field(default_factory=RomeConfig)
    """Rank-one model editing."""
    memit: MemitConfig = field(default_factory=MemitConfig)
    """Mass-editing memory."""
    mend: MendConfig = field(default_factory=MendConfig)
    """A hyper-network."""
    in_context: InContextConfig = field(default_factory=InContextConfig)
    """The edit as text before the question."""
    grace: GraceConfig = field(default_factory=GraceConfig)
    """A codebook: what is looked up propagates nowhere."""
    self_bayes: SelfBayesConfig = field(default_factory=SelfBayesConfig)
    """Bayes' rule on the model's own beliefs."""
    context_distillation: DistillationConfig = field(default_factory=DistillationConfig)
    """What follows when the request is imagined, made the model's own."""
    retrain: RetrainConfig = field(default_factory=RetrainConfig)
    """Training again, the ceiling; only for small worlds."""
