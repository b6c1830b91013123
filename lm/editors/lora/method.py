"""lora-down and lora-all: low-rank adapters on matrices of every layer, Hase's main editor (A.4).

x W becomes x W + (alpha / rank) x A B, where A and B are fitted by AdamW to -log p(o* | s, r) from B = 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import optax

from lm.config import ModelConfig
from lm.delta import MATRICES, Delta, LowRank
from lm.editors.fitting import clip_gradient, learn_request
from lm.editors.interface import Editor, Info, Request, State
from lm.editors.lora import LoraConfig
from lm.language_model import LanguageModel


@dataclass(frozen=True)
class Lora(Editor):
    """Fine-tunes x @ W + (alpha / rank) (x @ a) @ b on the request, with AdamW."""

    config: LoraConfig
    learns_text: ClassVar = True
    matrices: tuple[str, ...]

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """Adapters after `steps` steps on the request's negative log-likelihood."""
        start = self.start_adapter(model.config, key)
        return learn_request(model, request, self.scale_adapters, start, self.make_rule(), self.config.steps)

    def scale_adapters(self, adapters: Delta) -> Delta:
        """The edit that adapters are."""
        scale = self.config.alpha / self.config.rank
        return {name: LowRank(a, b * scale) for name, (a, b) in adapters.items()}

    def make_rule(self) -> optax.GradientTransformation:
        """The optimiser of adapters."""
        return clip_gradient(optax.adamw(self.config.learning_rate, weight_decay=self.config.weight_decay))

    def start_adapter(self, model: ModelConfig, key: jax.Array) -> Delta:
        """Adapters that do nothing yet."""
        return start_low_rank(model, self.matrices, self.config.rank, key)


def matrix_shape(config: ModelConfig, name: str) -> tuple[int, int]:
    """Inputs and outputs of one of the matrices inside a layer, by its name in `lm.delta.MATRICES`."""
    queries, keys = config.heads * config.head_width, config.kv_heads * config.head_width
    return {
        "query": (config.hidden, queries),
        "key": (config.hidden, keys),
        "value": (config.hidden, keys),
        "out": (queries, config.hidden),
        "gate": (config.hidden, config.mlp),
        "up": (config.hidden, config.mlp),
        "down": (config.mlp, config.hidden),
    }[name]


def start_low_rank(model: ModelConfig, matrices: Sequence[str], rank: int, key: jax.Array) -> Delta:
    """A uniform in +-1/sqrt(in), b zero, so that the edit starts from the unedited model."""
    start = {}
    for name, key_of in zip(matrices, jax.random.split(key, len(matrices)), strict=True):
        width, out = matrix_shape(model, name)
        bound = width**-0.5
        a = jax.random.uniform(key_of, (model.layers, width, rank), minval=-bound, maxval=bound)
        start[name] = LowRank(a, jnp.zeros((model.layers, rank, out)))
    return start


def lora_down(config: LoraConfig) -> Lora:
    """Adapters on every MLP down-projection."""
    return Lora(config, ("down",))


def lora_all(config: LoraConfig) -> Lora:
    """Adapters on every matrix of every layer."""
    return Lora(config, MATRICES)
