"""ft-constrained: fine-tuning inside an L-infinity ball around the weights (Zhu et al. 2020).

min over dW of -log p_{W + dW}(o* | s, r), subject to |dW|_inf <= delta.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import optax

from lm.delta import Delta
from lm.editors.fitting import layer_mask, learn_request
from lm.editors.ft_constrained import ConstrainedConfig
from lm.editors.interface import Editor, Info, Request, State
from lm.language_model import LanguageModel


@dataclass(frozen=True)
class Constrained(Editor):
    """Fine-tunes down-projections; after each step every weight is put back into its interval."""

    config: ConstrainedConfig
    learns_text: ClassVar = True

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """What is added to the down-projections, nowhere more than the radius."""
        weight = model.params["layers"]["mlp"]["down"]["kernel"]
        typical = jnp.sqrt(jnp.mean(weight**2, axis=(1, 2), keepdims=True))
        chosen = layer_mask(self.config.layers, model.config.layers)[:, None, None]
        radius = self.config.radius * typical * chosen

        # The change is learned in units of its radius, so that one rate fits every layer.
        def delta_of(share: jax.Array) -> Delta:
            return {"weights": {"layers": {"mlp": {"down": {"kernel": share * radius}}}}}

        start, rule = jnp.zeros_like(weight), optax.adam(self.config.rate)
        steps, into_ball = self.config.steps, lambda x: jnp.clip(x, -1, 1)
        return learn_request(model, request, delta_of, start, rule, steps, project=into_ball)
