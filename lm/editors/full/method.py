"""full: fine-tuning of the weights themselves, all of them or those of some layers (Hase A.2).

W <- W - eta grad_W of -log p_W(o* | s, r), `steps` times, the gradient clipped.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax

from lm.delta import Delta, fold
from lm.editors.fitting import fit, layer_mask, request_loss, spent
from lm.editors.full import FullConfig
from lm.editors.interface import CorpusSample, Info, Request, State
from lm.language_model import LanguageModel
from lm.model import changed


@dataclass(frozen=True)
class Full:
    """Fine-tunes every parameter, or the matrices of some layers, on the request."""

    config: FullConfig

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> State:
        """Nothing to prepare."""
        return {}

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """What is added to the weights after `steps` steps on the request's negative log-likelihood."""
        config = self.config
        weights = changed(model.params, fold(model.delta or {}, model.vocabulary))
        learned: dict = weights if config.layers == "all" else {"layers": _matrices(weights)}
        chosen = layer_mask(config.layers, model.config.layers)

        def delta_of(change: dict) -> Delta:
            # Whatever an optimiser makes of zero gradients, other layers stay as they are.
            inside = jax.tree.map(lambda x: x * chosen.reshape(-1, *[1] * (x.ndim - 1)), change["layers"])
            return {"weights": change | {"layers": inside}}

        def loss_of(change: dict) -> jax.Array:
            return request_loss(model.edited(delta_of(change)), request)

        steps = optax.sgd(config.learning_rate) if config.optimizer == "sgd" else self._adamw(learned)
        optimizer = optax.chain(optax.clip_by_global_norm(config.clip), steps)
        start = jax.tree.map(jnp.zeros_like, learned)
        change, losses = fit(loss_of, start, optimizer, config.steps)
        return delta_of(change), spent(losses, request)

    def _adamw(self, weights: dict) -> optax.GradientTransformation:
        """AdamW for changes of `weights`: decay pulls the changed weights, not the changes, to zero."""
        decay = self.config.weight_decay
        pull = optax.stateless(
            lambda update, change: jax.tree.map(lambda u, w, c: u + decay * (w + c), update, weights, change)
        )
        return optax.chain(
            optax.scale_by_adam(), pull, optax.scale_by_learning_rate(self.config.learning_rate)
        )


def _matrices(params: dict) -> dict:
    layers = params["layers"]
    return {name: layers[name] for name in ("attention", "mlp")}
