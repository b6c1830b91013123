"""The most probable of very many names after a prompt, without reading all of them.

`lm.scoring` reads every name behind every prompt. Here names are read token by token, and only those go on
whose beginning is among the most probable of its length: a beam search in the tree of the names.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lm.attention import Array, Layout
from lm.language_model import Context, LanguageModel
from lm.scoring import ENDINGS
from lm.token_tree import Text

LOGITS_AT_ONCE = 2**26


class Beginnings(NamedTuple):
    """The N different beginnings of some names that have a certain number of tokens.

    Attributes:
        token: int32[N], the last token of each.
        before: int32[N], which beginning of one token less it goes on from; 0 where that is none.
        name: int32[N], the wanted name that it is, or -1.
        goes_on: bool[N], whether longer names begin so.
        is_wanted: bool[N], whether a name that is asked about begins so.
    """

    token: Array
    before: Array
    name: Array
    goes_on: Array
    is_wanted: Array


NameTree = tuple[Beginnings, ...]
"""By their length: one token, two, and so on."""


def name_tree(names: Sequence[Text]) -> NameTree:
    """The beginnings of different names of at least one token, all of them wanted."""
    rows = [tuple(map(int, name)) for name in names]
    number = {row: i for i, row in enumerate(rows)}
    longer = [sorted({row[:n] for row in rows if len(row) >= n}) for n in range(1, 1 + max(map(len, rows)))]
    levels: list[Beginnings] = []
    place: dict[tuple[int, ...], int] = {(): 0}
    for beginnings, next_ones in zip(longer, [*longer[1:], []], strict=True):
        go_on = {row[:-1] for row in next_ones}
        levels.append(
            Beginnings(
                np.array([row[-1] for row in beginnings], np.int32),
                np.array([place[row[:-1]] for row in beginnings], np.int32),
                np.array([number.get(row, -1) for row in beginnings], np.int32),
                np.array([row in go_on for row in beginnings], bool),
                np.ones(len(beginnings), bool),
            )
        )
        place = {row: i for i, row in enumerate(beginnings)}
    return tuple(levels)


@partial(jax.jit, static_argnames=("count", "width", "with_ending"))
def name_probabilities(
    model: LanguageModel, prompts: Array, tree: NameTree, count: int, width: int, with_ending: bool = True
) -> tuple[jax.Array, jax.Array]:
    """The probability of the most probable names after prompts; 0 of names not wanted or not read.

    A name is not read if a beginning of it is less probable than `width` others of that length; where there
    never are so many, probabilities are those of `lm.scoring.object_log_probabilities`. A name of one token
    with which no other begins needs no ending: what follows the prompt says it all.

    Args:
        prompts: int32[B, P], padded on the left.
        tree: of K names.
        count: K; static under jit, as `width` and `with_ending`.
        with_ending: that of the name with its ending; else whatever follows it.

    Returns:
        float32[B, K]; and float32[B], the probability of all that names begin with and that was not read on.
    """
    at_once = max(1, LOGITS_AT_ONCE // (model.vocabulary * min(width, widest_level(tree))))
    # A power of two leaves no rest of most batches, which would be another program.
    at_once = 1 << (at_once.bit_length() - 1)

    def score_prompt(prompt: jax.Array) -> tuple[jax.Array, jax.Array]:
        context = model.read_prompts(prompt[None])
        probability, unread = jnp.zeros(count), jnp.zeros(())
        logits, score = model.unembed(context.hidden), jnp.zeros(1)
        best, path, before = jnp.zeros(1, jnp.int32), jnp.zeros((1, 0), jnp.int32), 1
        for depth, level in enumerate(jax.tree.map(jnp.asarray, tree)):
            # Where the beginning of one token less stands among the best, -1 where it does not.
            place = jnp.full(before, -1).at[best].set(jnp.arange(len(best)))[level.before]
            says = jax.nn.log_softmax(logits, axis=-1)[place, level.token]
            log_p = jnp.where(level.is_wanted & (place >= 0), score[place] + says, -jnp.inf)
            name = jnp.where(level.name < 0, count, level.name)
            needs_ending = level.goes_on | (depth > 0) if with_ending else jnp.zeros_like(level.goes_on)
            done = jnp.where(needs_ending, 0.0, jnp.exp(log_p))
            probability = probability.at[name].add(done, mode="drop")
            if depth + 1 == len(tree) and not (with_ending and depth):
                break
            before = len(log_p)
            to_read = jnp.where(needs_ending | level.goes_on, log_p, -jnp.inf)
            score, best = jax.lax.top_k(to_read, min(width, before))
            unread += jnp.exp(to_read).sum() - jnp.exp(score).sum()
            path = jnp.concatenate([path[place[best]], level.token[best][:, None]], axis=1)
            logits = model.unembed(_read_paths(model, context, path))
            if with_ending:
                ends = jax.nn.logsumexp(jax.nn.log_softmax(logits, axis=-1)[:, jnp.array(ENDINGS)], axis=-1)
                probability = probability.at[name[best]].add(jnp.exp(score + ends), mode="drop")
        return probability, unread

    return jax.lax.map(score_prompt, jnp.asarray(prompts), batch_size=min(at_once, len(prompts)))


def widest_level(tree: NameTree) -> int:
    """How many beginnings of one length there are at most: a search so wide reads all."""
    return max(len(level.token) for level in tree)


def _read_paths(model: LanguageModel, context: Context, path: jax.Array) -> jax.Array:
    """[W, D]: what is known at the end of each of int32[W, n] continuations of one prompt."""
    width, length = path.shape
    which, at = jnp.divmod(jnp.arange(width * length), length)
    sees = (which[:, None] == which) & (at[:, None] >= at)
    layout = Layout(context.position[:, None] + at, sees[None], jnp.ones((1, width * length), bool))
    hidden, _ = model.hidden_states(path.reshape(1, -1), layout, (context.cache,))
    return hidden.reshape(width, length, -1)[:, -1]
