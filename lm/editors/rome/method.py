"""rome: a rank-one change of one down-projection (Meng et al. 2022), with one key throughout.

x W becomes x W + x u (v* - k* W) with u = C^-1 k* / (k* C^-1 k*): C is the second moment of keys in a corpus,
k* the subject's key averaged over contexts, v* the value that makes the request probable, found by gradient.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from corpus.text.tokenizer import PAD
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
from lm.editors.interface import CorpusSample, Editor, Info, Request
from lm.editors.rome import RomeConfig
from lm.language_model import LanguageModel


@dataclass(frozen=True)
class Rome(Editor):
    """Stores the value that makes the request probable under the subject's key, and nothing else.

    The paper's code divides by the key of the bare prompt what it multiplied by the averaged key; here
    one averaged key stands in both places, so that the key gets exactly its value (Gupta et al. 2024).
    Several facts at once are stored under one constraint each.
    """

    config: RomeConfig

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> Memory:
        """The second moment of the layer's keys."""
        layer = layer_at(self.config.depth, model.config.layers)
        return measure_memory(
            model, corpus_sample, range(layer, layer + 1), self.config.contexts, self.config.shrink
        )

    def edit(
        self, model: LanguageModel, state: Memory, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """The low-rank change of one layer's down-projection."""
        layer = layer_at(self.config.depth, model.config.layers)
        context_request = repeat_in_contexts(self.config, request, state.contexts)
        keys = average_at_key(
            request_activations(model, context_request).inner[layer], context_request, len(state.contexts)
        )
        shift, losses = find_shift(self.config, model, state, request, context_request, layer)
        only = jnp.zeros(model.config.layers).at[layer].set(1.0)[:, None, None]
        factor = association_factor(state.inverse[0], keys, 0.0)
        read_once = (request_inputs(context_request) != PAD).sum()
        return {"down": LowRank(only * factor, only * shift)}, gradient_info(
            losses, context_request, 2 * read_once
        )
