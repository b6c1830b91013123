"""in-context: the model reads the edit before every question, and no weight changes.

p(o | s', r') becomes p(o | "s r o*." n times, s', r') for every question (s', r'), in one document or, where
it is closed, as the document before.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from corpus.text.tokenizer import BOS, EOS, PAD, Word
from lm.attention import left_padded_layout
from lm.delta import Delta, Prefix
from lm.editors.in_context import InContextConfig
from lm.editors.interface import CorpusSample, Editor, Info, Request
from lm.language_model import LanguageModel


@dataclass(frozen=True)
class InContext(Editor):
    """Reads the sentences of a request once, and keeps what later prompts see of them."""

    config: InContextConfig
    learns_text: ClassVar = True

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> dict:
        """The word that opens a passage about another world."""
        return {"imagine": jnp.asarray(corpus_sample.vocabulary.words)[Word.IMAGINE]}

    def edit(self, model: LanguageModel, state: dict, request: Request, key: jax.Array) -> tuple[Delta, Info]:
        """The request's sentences as a prefix."""
        bare = jnp.where(request.prompt == BOS, PAD, request.prompt)
        sentences = jnp.concatenate([bare, request.answer], axis=1).ravel()
        opening = jnp.array([BOS], sentences.dtype)
        if self.config.imagine:
            opening = jnp.append(opening, state["imagine"].astype(sentences.dtype))
        copies = 1 if self.config.imagine else self.config.copies
        tokens = jnp.concatenate([opening, jnp.tile(sentences, copies)])
        if self.config.closed:
            # The last stop becomes the end of the document, and the next one begins here.
            last = len(tokens) - 1 - jnp.argmax(tokens[::-1] != PAD)
            tokens = jnp.append(tokens.at[last].set(EOS), BOS)
        tokens = tokens[None]
        _, cache = model.hidden_states(tokens, left_padded_layout(tokens))
        # Behind an earlier prefix the cache holds that one too, which is the model's already.
        own = cache.last_tokens(tokens.shape[1])
        read = (tokens != PAD).sum().astype(jnp.int32)
        info = Info(jnp.zeros(0), jnp.int32(0), read, jnp.int32(0))
        return {"prefix": Prefix(own, jnp.int32(BOS))}, info
