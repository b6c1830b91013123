"""Shapes and training recipes as plain dataclasses, so that --help needs no JAX."""

import math
from dataclasses import dataclass
from typing import Literal

Packing = Literal["packed", "stream", "document"]
KINDS = 5
"""Of sentences that a training can weigh: atomic, truth, not, and, or."""
Precision = Literal["float32", "bfloat16", "fastest"]
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16")
"""What the fastest one is chosen from."""


@dataclass(frozen=True)
class ModelConfig:
    """A Mistral-style decoder (Hase A.3): RMSNorm, rotary positions, SwiGLU, untied embeddings."""

    hidden: int = 512
    """Width D of the residual stream."""
    mlp: int = 2048
    """Width F inside the MLP."""
    layers: int = 12
    """Decoder layers L."""
    heads: int = 8
    """Attention heads N."""
    kv_heads: int = 8
    """Heads K of keys and values; each serves heads / kv_heads heads of queries."""
    head_width: int = 64
    """Width H of each head; even."""
    window: int = 0
    """Tokens that a token sees, itself among them; 0 lets it see its whole document."""
    norm_epsilon: float = 1e-5
    """Added to the mean square in RMSNorm."""
    rope_theta: float = 10_000.0
    """Base of the rotary wavelengths."""
    rope_scaling: tuple[float, float, float, float] | None = None
    """Llama 3's stretching of long wavelengths: factor, low and high frequency factor, original length."""
    biases: bool = False
    """Add biases to queries, keys and values, as Qwen2 does."""
    head_norms: bool = False
    """Norm every head of queries and keys before it is rotated, as Qwen3 does."""
    precision: Precision = "float32"
    """What layers compute in; parameters, norms, softmax and log-probabilities stay in float32. Which is
    fastest is measured when testbed.train begins, and recorded."""
    remat: bool = False
    """Compute each layer again in the backward pass instead of keeping what it needs: slower, less memory."""
    unroll: int = 1
    """Layers compiled together; more compiles longer and may run faster."""

    def __post_init__(self) -> None:
        if self.rope_scaling is not None:
            # From JSON it comes as a list, which could not be hashed.
            object.__setattr__(self, "rope_scaling", tuple(self.rope_scaling))
        sizes = ("hidden", "mlp", "layers", "heads", "kv_heads", "head_width", "unroll")
        if min(getattr(self, name) for name in sizes) < 1 or self.window < 0:
            raise ValueError(f"{', '.join(sizes)} must be positive, and window not negative")
        if self.rope_theta <= 0 or self.norm_epsilon < 0:
            raise ValueError("rope_theta must be positive, and norm_epsilon not negative")
        if self.head_width % 2:
            raise ValueError(f"head_width {self.head_width} must be even")
        if self.biases + self.head_norms + bool(self.window) > 1:
            raise ValueError("biases, head_norms and a window are of different models: choose one of them")
        if self.heads % self.kv_heads:
            raise ValueError(f"{self.heads} heads must be a multiple of kv_heads {self.kv_heads}")

    def parameters(self, vocabulary: int) -> int:
        """Number of trainable numbers: 83,112,448 for the defaults and a vocabulary of 32,000."""
        return self.layers * self.layer_parameters + 2 * vocabulary * self.hidden + self.hidden

    @property
    def layer_parameters(self) -> int:
        """Trainable numbers of one layer."""
        attention = 2 * self.hidden * (self.heads + self.kv_heads) * self.head_width
        attention += self.biases * (self.heads + 2 * self.kv_heads) * self.head_width
        attention += 2 * self.head_norms * self.head_width
        return attention + 3 * self.hidden * self.mlp + 2 * self.hidden


@dataclass(frozen=True)
class TrainConfig:
    """How the model learns the corpus."""

    steps: int = 500
    """Optimiser steps."""
    rows: int = 16
    """Rows of documents in each step."""
    row_length: int = 256
    """Tokens of a row; no document may be longer, unless rows are a stream."""
    packing: Packing = "packed"
    """packed: whole documents, as many as fit; stream: no padding, documents may be cut; document: one."""
    optimizer: Literal["muon", "adamw"] = "muon"
    """muon: Muon for matrices inside layers and Adam for the rest; adamw: AdamW for all."""
    learning_rate: float = 0.02
    """Of Muon's matrices, or of everything under adamw."""
    adam_learning_rate: float = 0.01
    """Of embeddings, head and norms under muon."""
    warmup: int = 0
    """Steps of linear warm-up."""
    schedule: Literal["cosine", "linear"] = "cosine"
    """How the learning rate falls after the warm-up."""
    final: float = 0.0
    """Share of the learning rate that is left at the end."""
    weight_decay: float = 0.0
    """Decoupled weight decay."""
    muon_iterations: int = 5
    """Newton-Schulz iterations by which Muon makes an update's singular values alike; fewer are quicker."""
    scale_by_depth: bool = False
    """Start what each layer adds to the stream smaller, by the root of 2 x layers."""
    learns: Literal["all", "layers"] = "all"
    """all: every parameter changes; layers: embedding, last norm and head stay as they are."""
    own_rows: int = 0
    """Texts of its own that a pretrained model reads again in each step, to stay near what it said
    before. 0: it reads the corpus alone, and forgets."""
    atomic_steps: int = 0
    """Steps at the start that read the corpus' atomic sentences alone; all documents come after."""
    copies: tuple[int, ...] = ()
    """Times over that atomic, truth, not, and, or sentences stand in the documents of all later steps; by
    default these are the corpus' own documents."""
    label_weight: float = 1.0
    """Times over that "true" and "false" count in the loss; of every other token it is once."""
    clip: float = 1.0
    """Largest global norm of the gradient."""
    softmax_entries: int = 0
    """Entries of the vocabulary that a step's softmax is over; fewer make many names cheap. Half are for what
    the step predicts, half are drawn at random and stand for the rest; 0 takes all."""
    evaluate_every: int = 100
    """Steps between measurements of generative accuracy."""
    checkpoint_every: int = 100
    """Steps between checkpoints; where they are far apart, ten minutes and a measurement bring one, too."""

    def __post_init__(self) -> None:
        names = ("steps", "rows", "row_length", "evaluate_every", "checkpoint_every")
        if min(getattr(self, name) for name in names) < 1:
            raise ValueError(f"{', '.join(names)} must be positive")
        if not 0 <= self.warmup < self.steps:
            raise ValueError(f"warmup {self.warmup} must be shorter than the {self.steps} steps")
        if self.muon_iterations < 1 or not 0 <= self.atomic_steps <= self.steps:
            raise ValueError(
                "muon_iterations must be positive and atomic_steps from 0 to all steps; "
                f"they are {self.muon_iterations} and {self.atomic_steps}"
            )
        # From JSON it comes as a list, which could not be hashed.
        object.__setattr__(self, "copies", tuple(self.copies))
        if self.copies and (len(self.copies) != KINDS or min(self.copies) < 0 or not self.copies[0]):
            raise ValueError(
                "copies are of atomic, truth, not, and, or sentences: five numbers that are not negative, "
                f"the first positive, or facts would be forgotten; they are {self.copies}"
            )
        if not 0 < self.label_weight < math.inf:
            raise ValueError(f"label_weight must be a positive number; it is {self.label_weight}")
        if not 0 <= self.final <= 1:
            raise ValueError(f"final {self.final} is a share of the learning rate, in [0, 1]")
        if not all(0 < x < math.inf for x in (self.learning_rate, self.adam_learning_rate, self.clip)):
            raise ValueError("learning rates and clip must be positive numbers")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay must be a number that is not negative; it is {self.weight_decay}")
        if self.own_rows < 0:
            raise ValueError(f"own_rows must not be negative; it is {self.own_rows}")
        if self.softmax_entries < 0 or self.softmax_entries == 1:
            raise ValueError(f"softmax_entries must be 0 (all) or at least 2; it is {self.softmax_entries}")

    def entries(self, vocabulary: int) -> int:
        """Over how many entries of a vocabulary of this size a step's softmax is."""
        return min(self.softmax_entries or vocabulary, vocabulary)


@dataclass(frozen=True)
class MeshConfig:
    """How training, or edits side by side, are laid over devices."""

    data: int = 1
    """Parts that each step's rows, or the edits, are cut into."""
    model: int = 1
    """Parts that matrices are cut into (training only)."""

    def __post_init__(self) -> None:
        if min(self.data, self.model) < 1:
            raise ValueError("data and model must be positive")

    @property
    def size(self) -> int:
        """Devices that it takes."""
        return self.data * self.model


@dataclass(frozen=True)
class ClusterConfig:
    """Several processes that train together, on one machine or many; each is started with these."""

    coordinator: str = ""
    """Address of the first process, as host:port."""
    processes: int = 1
    """How many there are."""
    process: int = 0
    """Which one this is, from 0."""
    patience: int = 100
    """Seconds to wait for the others: for all to be there, and for one that no longer answers."""

    def __post_init__(self) -> None:
        if not 0 <= self.process < self.processes:
            raise ValueError(f"process {self.process} must be one of 0 to {self.processes - 1}")
        if self.processes > 1 and not (self.host and 0 < self.port < 2**16):
            raise ValueError(f"several processes need a coordinator as host:port; it is {self.coordinator!r}")
        if self.patience < 1:
            raise ValueError("patience must be at least one second")

    @property
    def host(self) -> str:
        """The coordinator's machine."""
        return self.coordinator.rpartition(":")[0]

    @property
    def port(self) -> int:
        """The coordinator's port; 0 where none is given."""
        port = self.coordinator.rpartition(":")[2]
        return int(port) if port.isdecimal() else 0
