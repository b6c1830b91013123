"""Shapes and training recipes as plain dataclasses, so that --help needs no JAX."""

import math
from dataclasses import dataclass
from typing import Literal

Packing = Literal["packed", "stream", "document"]


@dataclass(frozen=True)
class ModelConfig:
    """A Mistral-style decoder (Hase A.3): RMSNorm, rotary positions, SwiGLU, no biases, untied embeddings."""

    hidden: int = 512
    """Width D of the residual stream."""
    mlp: int = 2048
    """Width F inside the MLP."""
    layers: int = 12
    """Decoder layers L."""
    heads: int = 8
    """Attention heads N; the head width is hidden / heads."""
    norm_epsilon: float = 1e-5
    """Added to the mean square in RMSNorm."""
    rope_theta: float = 10_000.0
    """Base of the rotary wavelengths."""
    unroll: int = 1
    """Layers compiled together; more compiles longer and may run faster."""

    def __post_init__(self) -> None:
        if min(self.hidden, self.mlp, self.layers, self.heads, self.unroll) < 1:
            raise ValueError("hidden, mlp, layers, heads and unroll must be positive")
        if self.hidden % self.heads or (self.hidden // self.heads) % 2:
            raise ValueError(f"hidden {self.hidden} must give each of {self.heads} heads an even width")

    def parameters(self, vocabulary: int) -> int:
        """Number of trainable numbers: 83,112,448 for the defaults and a vocabulary of 32,000."""
        layer = 4 * self.hidden**2 + 3 * self.hidden * self.mlp + 2 * self.hidden
        return self.layers * layer + 2 * vocabulary * self.hidden + self.hidden


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
    clip: float = 1.0
    """Largest global norm of the gradient."""
    evaluate_every: int = 100
    """Steps between measurements of generative accuracy."""
    checkpoint_every: int = 100
    """Steps between checkpoints."""

    def __post_init__(self) -> None:
        names = ("steps", "rows", "row_length", "evaluate_every", "checkpoint_every")
        if min(getattr(self, name) for name in names) < 1:
            raise ValueError(f"{', '.join(names)} must be positive")
        if not 0 <= self.warmup < self.steps:
            raise ValueError(f"warmup {self.warmup} must be shorter than the {self.steps} steps")
        if not 0 <= self.final <= 1:
            raise ValueError(f"final {self.final} is a share of the learning rate, in [0, 1]")
        if not all(0 < x < math.inf for x in (self.learning_rate, self.adam_learning_rate, self.clip)):
            raise ValueError("learning rates and clip must be positive numbers")


@dataclass(frozen=True)
class LoraDownConfig:
    """Hyper-parameters of the editor lora-down; the defaults are the paper's (Hase A.2)."""

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
        if self.rank < 1 or self.steps < 1:
            raise ValueError("rank and steps must be positive")
        if not all(0 < x < math.inf for x in (self.learning_rate, self.clip, self.alpha)):
            raise ValueError("learning_rate, clip and alpha must be positive numbers")
