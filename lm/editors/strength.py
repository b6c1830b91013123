"""Editors at equal strength: an edit is scaled until the request is as probable as one asks for.

An editor moves a model from W to W + d. Between and beyond lies the line W + c d, and the strength asked for
is reached at the smallest c in [0, FARTHEST] where p(o* | s, r) is that high; found on a grid, then by
bisection. That asks nothing of an editor but that its edit adds something, so it is one rule for fine-tuning,
closed forms, hyper-networks and a user's own, and needs no second training. c = 0 where the model says the
request with this probability already; where no c reaches it, the edit is taken at the c of the grid that
comes nearest. Edits that are looked up or read before every question (grace, in-context) have no such line
and are taken as they are.

What this is not: an editor that stops its own loop earlier ends elsewhere, not on this line. And c > 1 is a
stronger edit in the editor's direction than the editor itself would make.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from corpus.text.tokenizer import PAD
from lm.delta import Delta, has_dial, scale_delta
from lm.editors.fitting import answer_nats, request_inputs, request_states
from lm.editors.interface import CorpusSample, Editor, Info, Request, State, trait_of
from lm.language_model import LanguageModel

FARTHEST = 4.0
"""Times what the editor adds."""
COARSE, FINE = 32, 10
"""Steps of the grid over all of that, then halvings of one of them."""


@dataclass(frozen=True)
class AtStrength(Editor):
    """An editor whose edits stop where the first fact of a request has a given probability.

    Where an editor is told more than the request, as `oracle` is, the request comes first.
    """

    editor: Editor
    strength: float

    @property
    def most_steps(self) -> int:
        """Turns that the editor's own loop takes at most."""
        return trait_of(self.editor, "most_steps")

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> State:
        """What the editor prepares."""
        return self.editor.prepare(model, corpus_sample)

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """The editor's edit, scaled."""
        delta, info = self.editor.edit(model, state, request, key)
        if not has_dial(delta):
            return delta, info
        first_fact = jax.tree.map(lambda x: x[:1], request)

        def probability(factor: jax.Array) -> jax.Array:
            edited = model.with_delta(scale_delta(delta, factor))
            return jnp.exp(-answer_nats(edited, first_fact, request_states(edited, first_fact))[0])

        tokens_read = (1 + COARSE + FINE) * (request_inputs(first_fact) != PAD).sum().astype(jnp.int32)
        scaled_delta = scale_delta(delta, least_factor(probability, self.strength))
        return scaled_delta, info._replace(forward=info.forward + tokens_read)


def least_factor(probability: Callable[[jax.Array], jax.Array], strength: float) -> jax.Array:
    """float32[]: the smallest factor in [0, FARTHEST] with which a probability is reached.

    On a grid of COARSE steps, so that a shorter excursion may be missed; where the strength is reached
    nowhere, the factor on the grid with the highest probability.
    """
    grid = jnp.linspace(0.0, FARTHEST, 1 + COARSE)
    probabilities = jax.lax.map(probability, grid)
    first = jnp.argmax(probabilities >= strength)
    ends = (grid[jnp.maximum(first - 1, 0)], grid[first])

    def halve(ends: tuple[jax.Array, jax.Array], _: None) -> tuple[tuple[jax.Array, jax.Array], None]:
        low, high = ends
        middle = (low + high) / 2
        enough = probability(middle) >= strength
        return (jnp.where(enough, low, middle), jnp.where(enough, middle, high)), None

    (_, high), _ = jax.lax.scan(halve, ends, length=FINE)
    return jnp.where(probabilities.max() >= strength, high, grid[jnp.argmax(probabilities)])
