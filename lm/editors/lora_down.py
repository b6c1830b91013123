"""lora-down: low-rank adapters on every MLP down-projection, Hase's main editor (A.2)."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax

from corpus.tokenizer import BOS, PAD
from lm.attention import packed
from lm.config import LoraDownConfig, ModelConfig
from lm.editors.interface import Info, Request, State
from lm.language_model import LanguageModel
from lm.model import Delta, LowRank


@dataclass(frozen=True)
class LoraDown:
    """Fine-tunes x @ W + (alpha / rank) (x @ a) @ b on the request, with AdamW."""

    config: LoraDownConfig

    def prepare(self, model: LanguageModel, corpus_sample: np.ndarray) -> State:
        """Nothing to prepare."""
        return {}

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """Adapters after `steps` steps on the request's negative log-likelihood."""
        tokens = request.tokens[None]
        layout = packed(tokens, BOS)
        count = request.target.sum()

        def delta_of(adapter: LowRank) -> Delta:
            return {"down": LowRank(adapter.a, adapter.b * (self.config.alpha / self.config.rank))}

        def loss_of(adapter: LowRank) -> jax.Array:
            logits = model.edited(delta_of(adapter)).logits(tokens, layout)[0, :-1]
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, tokens[0, 1:])
            return jnp.sum(losses, where=request.target[1:]) / count

        def step(
            carry: tuple[LowRank, optax.OptState], _: None
        ) -> tuple[tuple[LowRank, optax.OptState], jax.Array]:
            adapter, optimizer_state = carry
            loss, gradient = jax.value_and_grad(loss_of)(adapter)
            update, optimizer_state = optimizer.update(gradient, optimizer_state, adapter)
            return (optax.apply_updates(adapter, update), optimizer_state), loss

        # The optimiser lives inside the edit, so that clipping never couples edits under vmap.
        optimizer = optax.chain(
            optax.clip_by_global_norm(self.config.clip),
            optax.adamw(self.config.learning_rate, weight_decay=self.config.weight_decay),
        )
        adapter = self._start(model.config, key)
        (adapter, _), losses = jax.lax.scan(
            step, (adapter, optimizer.init(adapter)), length=self.config.steps
        )
        seen = ((request.tokens != PAD).sum() * self.config.steps).astype(jnp.int32)
        return delta_of(adapter), Info(losses, jnp.int32(self.config.steps), seen, seen)

    def _start(self, model: ModelConfig, key: jax.Array) -> LowRank:
        """A uniform in +-1/sqrt(in), b zero, so that the edit starts from the unedited model."""
        bound = model.mlp**-0.5
        rank = self.config.rank
        a = jax.random.uniform(key, (model.layers, model.mlp, rank), minval=-bound, maxval=bound)
        return LowRank(a, jnp.zeros((model.layers, rank, model.hidden)))
