"""Where the answers of an edit are stored: in adapters, at the subject's name, or in its last token's row.

Each storage begins as nothing, and is a delta whatever is fitted. What is fitted, and to what, is the
business of others: `lm.editors.self_bayes.revision`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from corpus.text.tokenizer import BOS, EOS, PAD, SEP
from lm.attention import Array, left_padded_layout
from lm.config import ModelConfig
from lm.delta import Delta, LowRank, Rows
from lm.editors.asking import stem_of
from lm.editors.interface import Request
from lm.editors.lora.method import start_low_rank
from lm.editors.self_bayes import FitConfig
from lm.memory import Memory, names_so_far

NO_TOKEN = -1


class Subjects(NamedTuple):
    """Whom the facts of a request are about.

    Attributes:
        stems: int32[M, N], "<s> s" of each fact, padded on the left.
        before: int32[b], tokens that a name may follow.
    """

    stems: jax.Array
    before: jax.Array


class Storage(NamedTuple):
    """What an edit fits.

    Attributes:
        start: arrays with which the model says what it says now.
        delta_of: the edit that such arrays are.
    """

    start: Any
    delta_of: Callable[[Any], Delta]


def subjects_of(request: Request, words: Array) -> Subjects:
    """The subjects of a request of M facts.

    Args:
        words: int32[len(Word)], the words of the grammar.
    """
    facts = [Request(*(jnp.asarray(x)[i] for x in request)) for i in range(len(request.prompt))]
    before = jnp.concatenate([jnp.array([BOS, EOS, SEP], jnp.int32), jnp.asarray(words)])
    # The name of a relation has a token at least, so that the first column of a stem is padding.
    return Subjects(jnp.concatenate([stem_of(fact)[:, 1:] for fact in facts]), before)


def open_storage(model: ModelConfig, subjects: Subjects | None, config: FitConfig, key: jax.Array) -> Storage:
    """The storage that a configuration names, still empty.

    Raises:
        ValueError: it stores at subjects, and there are none.
    """
    if config.storage == "low-rank":
        scale = config.alpha / config.rank

        def delta_of(adapters: Delta) -> Delta:
            return {name: LowRank(a, b * scale) for name, (a, b) in adapters.items()}

        return Storage(start_low_rank(model, config.matrices, config.rank, key), delta_of)
    if subjects is None:
        raise ValueError(f"a {config.storage} storage needs to know the subjects of a request")
    return (_open_memory if config.storage == "keyed" else _open_rows)(model, subjects, config)


def _open_memory(model: ModelConfig, subjects: Subjects, config: FitConfig) -> Storage:
    stems, before = subjects
    layout = left_padded_layout(stems)
    names = names_so_far(stems, layout.positions, layout.mask, before, stems.shape[1])[:, -1]
    keys = jnp.where(_stand_first(names)[:, None], names, PAD)
    layers = jnp.array(config.layers)

    def delta_of(values: jax.Array) -> Delta:
        in_layers = jnp.zeros((model.layers, *values.shape[1:])).at[layers].set(values)
        return {"memory": Memory(keys, before, in_layers)}

    return Storage(jnp.zeros((len(config.layers), len(stems), model.hidden)), delta_of)


def _open_rows(model: ModelConfig, subjects: Subjects, config: FitConfig) -> Storage:  # noqa: ARG001
    tokens = subjects.stems[:, -1]
    own_tokens = jnp.where(_stand_first(tokens[:, None]), tokens, NO_TOKEN)
    return Storage(
        jnp.zeros((len(tokens), model.hidden)), lambda values: {"embedding": Rows(own_tokens, values)}
    )


def _stand_first(names: jax.Array) -> jax.Array:
    """bool[M]: whether each of int32[M, W] names stands at no earlier place."""
    equal = (names[:, None] == names[None]).all(axis=-1)
    return equal.argmax(axis=1) == jnp.arange(len(names))
