"""An editor of your own, whole: one step down a gradient, as far as it helps.

    python -m testbed.example my_editor                                      (copies this file)
    python -m testbed.edit my_editor:MyEditor --my-editor.tries 6
    python -m testbed.tune my_editor:MyEditor --run dev      (a run of another world)
    python -m testbed.edit my_editor:MyEditor --tuned dev

Change what `edit` does, and give the command your module and class; cases, metrics and reports need nothing
else. The class is a frozen dataclass with defaults: its fields become options on the command line, and
results are filed under them. `edit` is traced once and computed for many requests side by side, so it must
not branch on values. It returns its changes as a delta (see `lm.delta`) and leaves the parameters alone.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from corpus.text.tokenizer import PAD
from lm.delta import Delta
from lm.editors.fitting import gradient_info, request_inputs, request_loss
from lm.editors.interface import CorpusSample, Info, Request, State
from lm.language_model import LanguageModel


@dataclass(frozen=True)
class MyEditor:
    """Moves the last down-projection along one gradient, by the best of a few step lengths."""

    longest: float = 1.0
    """Longest step to try, as a share of the weight's own length."""
    tries: int = 4
    """Steps to try, each a third of the one before; no step at all is tried, too."""

    # Factors on fields that `testbed.tune` tries, from the least to the greatest.
    SEARCH: ClassVar = {"longest": (0.1, 1.0, 10.0)}

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> State:
        """Work to do once for a model: none here. `edit` gets the result as `state`."""
        return {}

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """One request, of one fact or of several."""
        weight = model.params["layers"]["mlp"]["down"]["kernel"]

        def delta_of(change: jax.Array) -> Delta:
            all_layers = jnp.zeros_like(weight).at[-1].set(change)
            return {"weights": {"layers": {"mlp": {"down": {"kernel": all_layers}}}}}

        def loss_of(change: jax.Array) -> jax.Array:
            return request_loss(model.with_delta(delta_of(change)), request)

        loss, gradient = jax.value_and_grad(loss_of)(jnp.zeros_like(weight[-1]))
        downhill = -gradient * jnp.linalg.norm(weight[-1]) / jnp.linalg.norm(gradient)
        lengths = jnp.append(0.0, self.longest / 3.0 ** jnp.arange(self.tries))
        losses = jax.lax.map(lambda length: loss_of(length * downhill), lengths)
        best = lengths[jnp.argmin(losses)]
        # The first pass and its gradient, and one more pass for every length.
        passes = len(lengths) * (request_inputs(request) != PAD).sum()
        return delta_of(best * downhill), gradient_info(loss[None], request, passes)
