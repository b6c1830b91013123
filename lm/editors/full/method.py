"""full: fine-tuning of the weights themselves, all of them or those of some layers (Hase A.4).

W <- W - eta grad_W of -log p_W(o* | s, r), `steps` times, the gradient clipped.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import optax

from lm.delta import Delta, fold_delta
from lm.editors.fitting import clip_gradient, layer_mask, learn_request
from lm.editors.full import FullConfig
from lm.editors.interface import Editor, Info, Request, State
from lm.language_model import LanguageModel
from lm.model import add_weights


@dataclass(frozen=True)
class Full(Editor):
    """Fine-tunes every parameter, or the matrices of some layers, on the request."""

    config: FullConfig
    learns_text: ClassVar = True

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """What is added to the weights after `steps` steps on the request's negative log-likelihood."""
        config = self.config
        weights = add_weights(model.params, fold_delta(model.delta or {}, model.vocabulary))
        matrices = {name: weights["layers"][name] for name in ("attention", "mlp")}
        trained_weights: dict = weights if config.layers == "all" else {"layers": matrices}
        mask = layer_mask(config.layers, model.config.layers)

        def delta_of(change: dict) -> Delta:
            # Whatever an optimiser makes of zero gradients, other layers stay as they are.
            inside = jax.tree.map(lambda x: x * mask.reshape(-1, *[1] * (x.ndim - 1)), change["layers"])
            return {"weights": change | {"layers": inside}}

        rule = (
            optax.sgd(config.learning_rate)
            if config.optimizer == "sgd"
            else self._make_optimizer(trained_weights)
        )
        start = jax.tree.map(jnp.zeros_like, trained_weights)
        return learn_request(model, request, delta_of, start, clip_gradient(rule), config.steps)

    def _make_optimizer(self, weights: dict) -> optax.GradientTransformation:
        """AdamW for changes of `weights`: decay pulls the changed weights, not the changes, to zero."""
        decay = self.config.weight_decay
        pull = optax.stateless(
            lambda update, change: jax.tree.map(lambda u, w, c: u + decay * (w + c), update, weights, change)
        )
        return optax.chain(
            optax.scale_by_adam(), pull, optax.scale_by_learning_rate(self.config.learning_rate)
        )
