"""embeddings: what the request's tokens mean, and nothing else, is trained (Hase A.4).

e_t becomes e_t + d_t for every token t read of (s, r, o*), d fitted by AdamW to -log p(o* | s, r) from 0.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import optax

from corpus.text.tokenizer import PAD
from lm.delta import Delta, Rows
from lm.editors.embeddings import EmbeddingsConfig
from lm.editors.fitting import clip_gradient, learn_request, request_inputs
from lm.editors.interface import Editor, Info, Request, State
from lm.language_model import LanguageModel

NO_TOKEN = -1


@dataclass(frozen=True)
class Embeddings(Editor):
    """Fine-tunes the embeddings of the tokens that the model reads of the request, with AdamW."""

    config: EmbeddingsConfig
    learns_text: ClassVar = True

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """Rows after `steps` steps on the request's negative log-likelihood."""
        read = request_inputs(request).ravel()
        # Every token has one row, where it stands first.
        first = jnp.argmax(read[:, None] == read[None, :], axis=1) == jnp.arange(len(read))
        tokens = jnp.where(first & (read != PAD), read, NO_TOKEN)

        def delta_of(values: jax.Array) -> Delta:
            return {"embedding": Rows(tokens, values)}

        start, rule = jnp.zeros((len(read), model.config.hidden)), optax.adam(self.config.learning_rate)
        return learn_request(model, request, delta_of, start, clip_gradient(rule), self.config.steps)
