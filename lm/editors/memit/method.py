"""memit: the value that rome stores in one layer, spread over several (Meng et al. 2023).

In each layer l up to L, the last, x W becomes x W + x (lambda C + K'K)^-1 K' R / (L - l + 1): K are the keys
of the facts in l, and R is what the states behind layer L lack of z, which is found as rome finds values.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from corpus.text.tokenizer import PAD
from lm.config import ModelConfig
from lm.delta import Delta, LowRank
from lm.editors.associations import (
    Memory,
    association_factor,
    average_at_key,
    find_shift,
    measure_memory,
    repeat_in_contexts,
)
from lm.editors.fitting import gradient_info, layer_at, request_activations, request_inputs
from lm.editors.interface import CorpusSample, Info, Request
from lm.editors.memit import MemitConfig
from lm.language_model import LanguageModel


@dataclass(frozen=True)
class Memit:
    """Moves the state behind the last of its layers where the request wants it, each layer by its share."""

    config: MemitConfig

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> Memory:
        """The second moments of the layers' keys."""
        layers = self._edited_layers(model.config)
        return measure_memory(model, corpus_sample, layers, self.config.contexts, self.config.shrink)

    def edit(
        self, model: LanguageModel, state: Memory, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """The low-rank change of every layer's down-projection, of rank M."""
        layers, count = self._edited_layers(model.config), len(state.contexts)
        last = layers[-1]
        context_request = repeat_in_contexts(self.config, request, state.contexts)
        shift, losses = find_shift(self.config, model, state, request, context_request, last)
        goal = (
            average_at_key(request_activations(model, context_request).states[last], context_request, count)
            + shift
        )
        # The paper's lambda weighs the corpus against a request; F is how much a key weighs by itself.
        ridge = self.config.ridge * model.config.mlp

        facts = len(shift)
        change = LowRank(
            jnp.zeros((model.config.layers, model.config.mlp, facts)),
            jnp.zeros((model.config.layers, facts, model.config.hidden)),
        )
        for i, layer in enumerate(layers):
            activations = request_activations(model.with_delta({"down": change}), context_request)
            keys = average_at_key(activations.inner[layer], context_request, count)
            missing = goal - average_at_key(activations.states[last], context_request, count)
            a = change.a.at[layer].set(association_factor(state.inverse[i], keys, ridge))
            change = LowRank(a, change.b.at[layer].set(missing / (len(layers) - i)))
        read_once = (request_inputs(context_request) != PAD).sum()
        return {"down": change}, gradient_info(losses, context_request, (2 + len(layers)) * read_once)

    def _edited_layers(self, model: ModelConfig) -> range:
        last = layer_at(self.config.depth, model.layers)
        count = max(1, round(self.config.spread * model.layers))
        return range(max(0, last + 1 - count), last + 1)
