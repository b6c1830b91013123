"""sparse: sparse memory fine-tuning (Lin et al. 2025), with a down-projection's rows as its memory slots.

A slot, which is a neuron of a layer's MLP and its row of the down-projection, is woken at a token where it is
among the k most active of its layer. Of all slots those t are trained, by Adam, whose score is highest:

    score = (tokens of the request that wake it / all wakings) x log((N + 1) / (texts that wake it + 1))

of N texts of the corpus. The paper trains slots of memory layers, which it puts in place of some MLPs; a
model without such layers has neurons, which are keys and values as well (Geva et al. 2021).
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax

from corpus.text.tokenizer import BOS, PAD
from lm.attention import Array, packed_layout
from lm.delta import Delta, LowRank
from lm.editors.fitting import as_float32, clip_gradient, learn_request, request_activations, request_inputs
from lm.editors.interface import CorpusSample, Editor, Info, Request
from lm.editors.sparse import SparseConfig
from lm.language_model import LanguageModel


@dataclass(frozen=True)
class Sparse(Editor):
    """Fine-tunes the rows of down-projections that a request wakes and text seldom does."""

    config: SparseConfig

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> dict[str, jax.Array]:
        """How rare it is that a row of text wakes each slot: float32[L, F]."""

        @jax.jit
        def wake_by_row(model: LanguageModel, row: jax.Array) -> jax.Array:
            inner = model.activations(row[None], packed_layout(row[None], BOS)).inner
            return count_woken(inner, row[None] != PAD, self.config.slots) > 0

        rows = np.asarray(corpus_sample.rows)
        texts = sum(np.asarray(wake_by_row(model, row), np.float32) for row in rows)
        return {"rarity": jnp.log((len(rows) + 1.0) / (jnp.asarray(texts) + 1.0))}

    def edit(
        self, model: LanguageModel, state: dict[str, jax.Array], request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """The chosen rows after `steps` steps on the request's negative log-likelihood."""
        config, sizes = self.config, state["rarity"].shape
        slots = min(config.slots, state["rarity"].size)
        inputs = request_inputs(request)
        woken = count_woken(request_activations(model, request).inner, inputs != PAD, config.slots)
        score = woken / woken.sum() * state["rarity"]
        chosen = jax.lax.top_k(score.ravel(), slots)[1]
        pick = jax.nn.one_hot(chosen, score.size).T.reshape(*sizes, slots)

        def delta_of(rows: jax.Array) -> Delta:
            return {"down": LowRank(pick, jnp.broadcast_to(rows, (sizes[0], *rows.shape)))}

        rule, read = clip_gradient(optax.adam(config.learning_rate)), (inputs != PAD).sum()
        start = jnp.zeros((slots, model.config.hidden))
        return learn_request(model, request, delta_of, start, rule, config.steps, more=read)


def count_woken(inner: Array, real: Array, slots: int) -> jax.Array:
    """float32[L, F]: at how many tokens each slot is among the most active ones of its layer.

    Args:
        inner: [L, B, T, F], what goes into the down-projections.
        real: bool[B, T], which tokens count.
        slots: how many are the most active.
    """
    strength = jnp.abs(as_float32(jnp.asarray(inner)))
    least = jax.lax.top_k(strength, min(slots, strength.shape[-1]))[0][..., -1:]
    return jnp.sum((strength >= least) & real[None, ..., None], axis=(1, 2)).astype(jnp.float32)
