"""memit: the value that rome stores in one layer, spread over several (Meng et al. 2023).

In each layer l up to L, the last, x W becomes x W + x (lambda C + K'K)^-1 K' R / (L - l + 1): K are the keys
of the facts in l, and R is what the states behind layer L lack of z, which is found as rome finds values.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from corpus.tokenizer import PAD
from lm.config import ModelConfig
from lm.delta import Delta, LowRank
from lm.editors.associations import (
    Memory,
    at_key,
    in_contexts,
    remember,
    stored,
    wanted_shift,
)
from lm.editors.fitting import inputs, layer_at, request_activations, spent
from lm.editors.interface import CorpusSample, Info, Request
from lm.editors.memit import MemitConfig
from lm.language_model import LanguageModel


@dataclass(frozen=True)
class Memit:
    """Moves the state behind the last of its layers where the request wants it, each layer by its share."""

    config: MemitConfig

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> Memory:
        """The second moments of the layers' keys."""
        layers = self._layers(model.config)
        return remember(model, corpus_sample, layers, self.config.contexts, self.config.shrink)

    def edit(
        self, model: LanguageModel, state: Memory, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """The low-rank change of every layer's down-projection, of rank M."""
        layers, count = self._layers(model.config), len(state.contexts)
        last = layers[-1]
        asked = in_contexts(self.config, request, state.contexts)
        shift, losses = wanted_shift(self.config, model, state, request, asked, last)
        goal = at_key(request_activations(model, asked).states[last], asked, count) + shift
        # The paper's lambda weighs the corpus against a request; F is how much a key weighs by itself.
        ridge = self.config.ridge * model.config.mlp

        facts = len(shift)
        change = LowRank(
            jnp.zeros((model.config.layers, model.config.mlp, facts)),
            jnp.zeros((model.config.layers, facts, model.config.hidden)),
        )
        for i, layer in enumerate(layers):
            activations = request_activations(model.edited({"down": change}), asked)
            keys = at_key(activations.inner[layer], asked, count)
            missing = goal - at_key(activations.states[last], asked, count)
            a = change.a.at[layer].set(stored(state.inverse[i], keys, ridge))
            change = LowRank(a, change.b.at[layer].set(missing / (len(layers) - i)))
        read_once = (inputs(asked) != PAD).sum()
        return {"down": change}, spent(losses, asked, (2 + len(layers)) * read_once)

    def _layers(self, model: ModelConfig) -> range:
        last = layer_at(self.config.depth, model.layers)
        count = max(1, round(self.config.spread * model.layers))
        return range(max(0, last + 1 - count), last + 1)
