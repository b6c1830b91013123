"""LanguageModel: what editors edit and metrics question; `lm.scoring` and `lm.decoding` ask."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax

from lm.attention import Array, Layout, left_padded_layout
from lm.cache import Cache
from lm.config import ModelConfig
from lm.delta import Delta, compose_deltas
from lm.model import Activations, Params, hidden_states, unembed, vocabulary_of


class Context(NamedTuple):
    """Prompts that a model has read, B of them; whatever follows needs no second reading.

    Attributes:
        cache: keys and values of the prompts' tokens.
        hidden: [B, D], what is known at the end of each prompt.
        position: int32[B], where the next token stands.
    """

    cache: Cache
    hidden: jax.Array
    position: jax.Array


@partial(jax.tree_util.register_dataclass, data_fields=["params", "delta"], meta_fields=["config"])
@dataclass(frozen=True)
class LanguageModel:
    """An architecture, its parameters, and perhaps an edit; a pytree, so that jit and vmap take it whole.

    Attributes:
        config: static under jit.
        params: see `lm.model`.
        delta: the edit, or None.
    """

    config: ModelConfig
    params: Params
    delta: Delta | None = None

    @property
    def vocabulary(self) -> int:
        """Number of token ids."""
        return vocabulary_of(self.params)

    def with_delta(self, delta: Delta | None) -> "LanguageModel":
        """The same parameters with one more edit on top of those that are there; None adds nothing."""
        return replace(self, delta=compose_deltas(self.delta, delta)) if delta else self

    def hidden_states(
        self, tokens: Array, layout: Layout, past: Sequence[Cache] = ()
    ) -> tuple[jax.Array, Cache]:
        """States [B, T, D] after the final norm, and the cache of these tokens; see `lm.model`.

        Documents without a past are read behind the prefix of the edit, if it has one; it is in their
        cache then.
        """
        before = None
        if not past and self.delta and "prefix" in self.delta:
            layout, before = self.delta["prefix"].place(tokens, layout)
            past = (before,)
        hidden, cache, _ = hidden_states(self.config, self.params, self.delta, tokens, layout, past)
        return hidden, cache if before is None else before.join(cache)

    def activations(self, tokens: Array, layout: Layout) -> Activations:
        """What the layers compute on the way over int32[B, T] tokens."""
        past: Sequence[Cache] = ()
        if self.delta and "prefix" in self.delta:
            layout, before = self.delta["prefix"].place(tokens, layout)
            past = (before,)
        computed = hidden_states(self.config, self.params, self.delta, tokens, layout, past, inside=True)[2]
        assert computed is not None
        return computed

    def unembed(self, hidden: jax.Array) -> jax.Array:
        """Next-token logits float32[..., V] of states [..., D]."""
        return unembed(self.params, self.delta, hidden)

    def logits(self, tokens: Array, layout: Layout) -> jax.Array:
        """Next-token logits float32[B, T, V] at every position of int32[B, T] tokens."""
        return self.unembed(self.hidden_states(tokens, layout)[0])

    def read_prompts(self, prompts: Array) -> Context:
        """Read int32[B, P] prompts, padded on the left."""
        layout = left_padded_layout(prompts)
        hidden, cache = self.hidden_states(prompts, layout)
        return Context(cache, hidden[:, -1], cache.positions[:, -1] + 1)
