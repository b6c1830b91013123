"""Generative accuracy: does greedy decoding after "s r" spell the ground truth? (DESIGN 6)."""

from functools import partial

import jax
import numpy as np

from corpus.tokenizer import Tokenizer
from lm.config import ModelConfig
from lm.decoding import greedy
from lm.model import Params
from lm.prompts import left_pad
from testbed.world import World

BATCH = 256
NO_ENTITY = -1


@partial(jax.jit, static_argnames=("model", "longest"))
def _decode(model: ModelConfig, params: Params, prompts: jax.Array, longest: int) -> jax.Array:
    return greedy(model, params, None, prompts, longest)


def generative_accuracy(model: ModelConfig, params: Params, world: World, facts: np.ndarray) -> float:
    """Share of the given facts (indices) whose ground truth is generated exactly, ending included."""
    graph, tokenizer = world.graph, world.tokenizer
    objects = Answers(tokenizer, graph.objects)
    prompts = [tokenizer.prompt(graph.subject[f], graph.relation[f]) for f in facts]
    length = tokenizer.row_length
    width = int(1 + (length[graph.subject] + length[tokenizer.relation_row(graph.relation)]).max())
    hits = 0
    truth = world.generative.truth[facts]
    for low in range(0, len(facts), BATCH):
        part = prompts[low : low + BATCH]
        # One shape for every call: the last batch is filled up with empty prompts.
        padded = left_pad(part + [np.empty(0, np.int32)] * (BATCH - len(part)), width)
        tokens = np.asarray(_decode(model, params, padded, objects.longest + 1))[: len(part)]
        hits += int((objects.read(tokens) == truth[low : low + BATCH]).sum())
    return hits / len(facts)


class Answers:
    """Turns generated tokens back into objects.

    Args:
        objects: the entities an answer may be.
    """

    def __init__(self, tokenizer: Tokenizer, objects: np.ndarray) -> None:
        self._object = {tuple(tokenizer.entity(int(o)).tolist()): int(o) for o in objects}
        self.longest = max(map(len, self._object))

    def read(self, tokens: np.ndarray) -> np.ndarray:
        """int64: the object that each row of generated tokens spells, NO_ENTITY where it is none.

        Args:
            tokens: int[..., longest + 1], PAD from the ending on; a row without an ending is none.
        """
        flat = tokens.reshape(-1, tokens.shape[-1])
        found = [self._object.get(tuple(t for t in row if t), NO_ENTITY) for row in flat.tolist()]
        return np.array(found).reshape(tokens.shape[:-1])
