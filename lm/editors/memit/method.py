"""memit: the value that rome stores in one layer, spread over several (Meng et al. 2023).

In each layer l up to L, the last, x W becomes x W + x (lambda C + K'K)^-1 K' R / (L - l + 1): K are the keys
of the facts in l, and R is what the states behind layer L lack of z, which is found as rome finds values.

Switches, each alone or with others; E is the sum of k'k over the keys of earlier edits of the sequence:

    accumulate   lambda C + E + K'K in place of lambda C + K'K
    null_space   (P (K'K) + lambda tr(C)/F)^-1 P K', E beside K'K if both: P projects onto what the corpus
                 hardly uses
    normalise    s |k^|^2/F r^ in place of each row of R / (L - l + 1): k^ and r^ are k and r less their
                 means, over their standard deviations, among practice edits and all edits so far; s is the
                 root mean square deviation of practice edits' r
    anchor       z |h| / |z| in place of z: h is the unedited model's state there
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from corpus.text.tokenizer import PAD
from lm.config import ModelConfig
from lm.delta import Delta, Ledger, LowRank
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
from lm.editors.memit import MemitConfig
from lm.language_model import LanguageModel

NULL_BELOW = 0.1
"""Directions are hardly used below this share of the mean eigenvalue of the corpus' second moment. That is
half of all in a model of two layers; .01 leaves four of 256."""
WARM_UP = 32
"""Practice edits with which the statistics of `normalise` begin."""
_LEAST = 1e-6
"""Added to deviations, so that what never varies is divided by something."""


class Preparation(NamedTuple):
    """What is known before any edit.

    Attributes:
        memory: what the corpus says of the layers.
        projection: float32[n, F, F] onto what the corpus hardly uses; [n, 0, 0] where nobody asks.
        practice: sums over practice edits; of no layers where nobody asks.
    """

    memory: Memory
    projection: jax.Array
    practice: Ledger


@dataclass(frozen=True)
class Memit(Editor):
    """Moves the state behind the last of its layers where the request wants it, each layer by its share."""

    config: MemitConfig

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> Preparation:
        """The second moments of the layers' keys, and what the switches need."""
        config, layers = self.config, self._edited_layers(model.config)
        memory = measure_memory(model, corpus_sample, layers, config.contexts, config.shrink)
        projection, practice = jnp.zeros((len(layers), 0, 0)), empty_ledger(model.config, 0)
        if config.null_space:
            projection = jnp.stack([null_space(x, NULL_BELOW, config.shrink) for x in memory.moment])
        if config.normalise:
            requests = jax.tree.map(lambda x: x[:WARM_UP], corpus_sample.practice)

            def add_practice(total: Ledger, one: Request) -> tuple[Ledger, None]:
                layers, contexts = self._edited_layers(model.config), len(memory.contexts)
                context_request = repeat_in_contexts(self.config, one, memory.contexts)
                shift, _ = find_shift(self.config, model, memory, one, context_request, layers[-1])
                inner = request_activations(model, context_request).inner
                keys = [average_at_key(inner[layer], context_request, contexts) for layer in layers]
                return jax.tree.map(
                    jnp.add,
                    total,
                    ledger_of(keys, [shift / (len(layers) - i) for i in range(len(layers))], len(layers)),
                ), None

            # One sum at a time: a ledger holds a square matrix for every layer.
            start = empty_ledger(model.config, len(layers))
            practice, _ = jax.jit(lambda some: jax.lax.scan(add_practice, start, some))(requests)
        return Preparation(memory, projection, practice)

    def edit(
        self, model: LanguageModel, state: Preparation, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """The low-rank change of every layer's down-projection, of rank M; sums for later edits."""
        config, memory = self.config, state.memory
        layers, contexts = self._edited_layers(model.config), len(memory.contexts)
        last = layers[-1]
        context_request = repeat_in_contexts(config, request, memory.contexts)
        shift, losses = find_shift(config, model, memory, request, context_request, last)

        def average_state(model: LanguageModel) -> jax.Array:
            states = request_activations(model, context_request).states[last]
            return average_at_key(states, context_request, contexts)

        goal = average_state(model) + shift
        if config.anchor:
            lengths = [
                jnp.linalg.norm(x, axis=-1, keepdims=True)
                for x in (average_state(replace(model, delta=None)), goal)
            ]
            goal = goal * lengths[0] / jnp.maximum(lengths[1], _LEAST)
        facts = len(shift)
        change = LowRank(
            jnp.zeros((model.config.layers, model.config.mlp, facts)),
            jnp.zeros((model.config.layers, facts, model.config.hidden)),
        )
        earlier = (model.delta or {}).get("ledger", empty_ledger(model.config, len(layers)))
        every_key, every_rest = [], []
        for i, layer in enumerate(layers):
            activations = request_activations(model.with_delta({"down": change}), context_request)
            keys = average_at_key(activations.inner[layer], context_request, contexts)
            missing = goal - average_at_key(activations.states[last], context_request, contexts)
            rest = missing / (len(layers) - i)
            every_key.append(keys)
            every_rest.append(rest)
            if config.normalise:
                seen = jax.tree.map(jnp.add, earlier, ledger_of(every_key, every_rest, len(layers)))
                rest = standardise(keys, rest, state.practice, seen, i)
            a = change.a.at[layer].set(self._factor(state, earlier, keys, i))
            change = LowRank(a, change.b.at[layer].set(rest))
        read_once = (request_inputs(context_request) != PAD).sum()
        info = gradient_info(losses, context_request, (2 + config.anchor + len(layers)) * read_once)
        delta: Delta = {"down": change}
        if config.accumulate or config.normalise:
            delta["ledger"] = ledger_of(every_key, every_rest, len(layers))
        return delta, info

    def _factor(self, state: Preparation, earlier: Ledger, keys: jax.Array, i: int) -> jax.Array:
        """The factor [F, M] through which keys [M, F] reach what the i-th layer adds."""
        # The paper's lambda weighs the corpus against a request; F is how much a key weighs by itself.
        ridge, moment = self.config.ridge * keys.shape[1], state.memory.moment[i]
        if not (self.config.accumulate or self.config.null_space):
            return association_factor(state.memory.inverse[i], keys, ridge)
        constraints = keys.T @ keys + (earlier.moment[i] if self.config.accumulate else 0.0)
        if not self.config.null_space:
            return jnp.linalg.solve(ridge * moment + constraints, keys.T)
        projection, size = state.projection[i], len(moment)
        plain = ridge * jnp.trace(moment) / size * jnp.eye(size)
        return jnp.linalg.solve(projection @ constraints + plain, projection @ keys.T)

    def _edited_layers(self, model: ModelConfig) -> range:
        last = layer_at(self.config.depth, model.layers)
        count = max(1, round(self.config.spread * model.layers))
        return range(max(0, last + 1 - count), last + 1)


def null_space(moment: jax.Array, below: float, shrink: float) -> jax.Array:
    """float32[F, F]: the projection onto eigenvectors of the corpus' second moment that it hardly uses.

    Args:
        moment: [F, F], with `shrink` times the mean of its diagonal added to the diagonal.
        below: share of the mean eigenvalue that these have at most.
    """
    values, vectors = np.linalg.eigh(np.asarray(moment, np.float64))
    mean = values.mean() / (1 + shrink)
    unused = vectors[:, values - shrink * mean < below * mean]
    return jnp.asarray(unused @ unused.T)


def empty_ledger(model: ModelConfig, layers: int) -> Ledger:
    """Sums over nothing, for so many edited layers."""
    width = model.mlp + model.hidden
    return Ledger(
        jnp.zeros((layers, model.mlp, model.mlp)),
        jnp.zeros(()),
        jnp.zeros((layers, width)),
        jnp.zeros((layers, width)),
    )


def ledger_of(keys: list[jax.Array], rests: list[jax.Array], layers: int) -> Ledger:
    """The sums of one edit: keys [M, F] and rests [M, D] of its layers; layers that follow are zero."""
    more = layers - len(keys)
    every_key = jnp.stack([*keys, *[jnp.zeros_like(keys[0])] * more])
    every_rest = jnp.stack([*rests, *[jnp.zeros_like(rests[0])] * more])
    both = jnp.concatenate([every_key, every_rest], axis=2)
    return Ledger(
        jnp.einsum("nmf,nmg->nfg", every_key, every_key),
        jnp.float32(len(keys[0])),
        both.sum(axis=1),
        (both**2).sum(axis=1),
    )


def deviation(ledger: Ledger, i: int) -> tuple[jax.Array, jax.Array]:
    """Mean and standard deviation, [F + D] each, of what a ledger has of the i-th layer."""
    mean = ledger.total[i] / ledger.facts
    variance = (ledger.squares[i] - ledger.facts * mean**2) / jnp.maximum(ledger.facts - 1, 1)
    return mean, jnp.sqrt(jnp.maximum(variance, 0.0))


def standardise(keys: jax.Array, rests: jax.Array, practice: Ledger, seen: Ledger, i: int) -> jax.Array:
    """[M, D]: what the i-th layer adds in place of its rests; see the head of this module.

    Args:
        practice, seen: sums of practice edits, and of all edits so far, these among them.
    """
    width = keys.shape[1]
    mean, spread = deviation(jax.tree.map(jnp.add, practice, seen), i)
    standard = (jnp.concatenate([keys, rests], axis=1) - mean) / (spread + _LEAST)
    lengths = jnp.sum(standard[:, :width] ** 2, axis=1, keepdims=True) / width
    size = jnp.sqrt(jnp.mean(deviation(practice, i)[1][width:] ** 2))
    return size * lengths * standard[:, width:]
