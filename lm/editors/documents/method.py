"""documents: fine-tuning on many documents that speak of the new fact (Slocum et al. 2025).

min over A, B of E_d [-log p_{W + AB}(d)], where documents d are drawn anew for every step: the request among
sentences of a pool in random order. The pool has the request as a statement and as a true one; and with
`consequences` what the model says of every relation of the subject behind "s r o*." in the same document.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import optax

from corpus.text.tokenizer import BOS, EOS, PAD, SEP, UNK, Word
from lm.attention import packed_layout
from lm.decoding import generate
from lm.delta import MATRICES, Delta
from lm.editors.asking import (
    compact_rows,
    pad_left_to,
    quote_sentence,
    relations_of,
    side_by_side,
    stem_of,
    strip_ending,
    strip_opening,
)
from lm.editors.documents import DocumentsConfig
from lm.editors.fitting import fit
from lm.editors.interface import CorpusSample, Info, Request, State
from lm.editors.lora.method import Lora
from lm.language_model import LanguageModel


@dataclass(frozen=True)
class Documents(Lora):
    """Fine-tunes adapters on documents about the request."""

    config: DocumentsConfig
    learns_text: ClassVar = False
    matrices: tuple[str, ...] = MATRICES
    first: int | None = None
    """Facts of the request of which every document says one; the others may be said. None: all."""

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> State:
        """The names of the relations, and the words of the grammar."""
        vocabulary = corpus_sample.vocabulary
        return {"relations": jnp.asarray(relations_of(vocabulary)), "words": jnp.asarray(vocabulary.words)}

    def edit(self, model: LanguageModel, state: dict, request: Request, key: jax.Array) -> tuple[Delta, Info]:
        """Adapters after `steps` steps, each on documents of its own."""
        steps, facts = self.config.steps, len(request.prompt)
        start_key, key = jax.random.split(key)
        pool, tokens_read = spell_request(request, state["words"]), jnp.int32(0)
        if self.config.consequences:
            said, read = jax.vmap(partial(ask_behind, model, state))(request)
            said, tokens_read = said.reshape(-1, said.shape[2]), read.sum()
            width = max(pool.shape[1], said.shape[1])
            pool = jnp.concatenate([pad_left_to(pool, width), pad_left_to(said, width)])
        first = facts if self.first is None else self.first
        texts = write_documents(pool, 2 * first, (steps, self.config.at_once, self.config.length), key)

        def loss_of(adapters: Delta, texts: jax.Array) -> jax.Array:
            hidden, _ = model.with_delta(self.scale_adapters(adapters)).hidden_states(
                texts, packed_layout(texts, BOS)
            )
            logits = model.unembed(hidden[:, :-1])
            nats = optax.softmax_cross_entropy_with_integer_labels(logits, texts[:, 1:])
            return jnp.mean(nats, where=texts[:, 1:] != PAD)

        start = self.start_adapter(model.config, start_key)
        learned, losses = fit(loss_of, start, self.make_rule(), steps, read=(texts,))
        learned_from = jnp.sum(texts != PAD, dtype=jnp.int32)
        info = Info(losses, jnp.int32(steps), tokens_read + learned_from, learned_from)
        return self.scale_adapters(learned), info


def spell_request(request: Request, words: jax.Array) -> jax.Array:
    """int32[2 M, W]: "s r o." of each fact, and behind it that it is true, if the language can say so."""
    bare = strip_opening(request.prompt)
    plain = jnp.concatenate([bare, request.answer], axis=1)
    quoted = strip_opening(quote_sentence(words, bare, strip_ending(request.answer)))
    ends = jnp.stack([words[Word.TRUE].astype(jnp.int32), jnp.int32(SEP)])[None]
    quoted = side_by_side(quoted, ends)
    plain = pad_left_to(plain, quoted.shape[1])
    both = jnp.stack([plain, jnp.where(words[Word.TRUE] == UNK, plain, quoted)], axis=1)
    return both.reshape(-1, both.shape[2])


def ask_behind(model: LanguageModel, state: dict, request: Request) -> tuple[jax.Array, jax.Array]:
    """int32[R, W], "s r' o'." as the model says it behind one fact, and how many tokens were read for it.

    The fact's own relation stays as requested.
    """
    own = side_by_side(strip_opening(stem_of(request)), state["relations"])
    behind = side_by_side(jnp.full((1, 1), BOS), strip_opening(request.prompt)[None], request.answer[None])
    prompts = side_by_side(behind, own)
    answers = generate(model, model.read_prompts(prompts), len(request.answer))
    said = side_by_side(own, answers, jnp.full((1, 1), SEP))
    asked = strip_opening(request.prompt)[None]
    width = max(own.shape[1], asked.shape[1])
    is_own = jnp.all(compact_rows(pad_left_to(own, width)) == compact_rows(pad_left_to(asked, width)), axis=1)
    requested = pad_left_to(side_by_side(own, request.answer[None]), said.shape[1])
    read = jnp.sum(prompts != PAD, dtype=jnp.int32) + jnp.sum(answers != PAD, dtype=jnp.int32)
    return jnp.where(is_own[:, None], requested, said), read


def write_documents(
    pool: jax.Array, requested: int, shape: tuple[int, int, int], key: jax.Array
) -> jax.Array:
    """int32[steps, documents, T]: documents of sentences that are drawn from a pool, padded on the right.

    Args:
        pool: int32[S, W], sentences with their stops; padding may stand anywhere.
        requested: of the pool's first sentences, one of which stands in every document.
        shape: steps, documents of each, and sentences of a document.
    """
    steps, count, length = shape
    first, place, others = jax.random.split(key, 3)
    one = jax.random.randint(first, (steps, count, 1), 0, requested)
    there = jax.random.randint(place, (steps, count, 1), 0, length)
    chosen = jnp.where(jnp.arange(length) == there, one, jax.random.randint(others, shape, 0, len(pool)))
    texts = compact_rows(pool[chosen].reshape(steps * count, -1))
    # The stop before the end of a document is the end itself.
    last = jnp.sum(texts != PAD, axis=1) - 1
    texts = texts.at[jnp.arange(len(texts)), last].set(EOS)
    return jnp.pad(texts, ((0, 0), (1, 0)), constant_values=BOS).reshape(steps, count, -1)
