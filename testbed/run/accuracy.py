"""Generative accuracy: what greedy decoding says, of facts and of every kind of sentence (design.md 6)."""

from collections.abc import Callable
from functools import partial

import jax
import numpy as np

from corpus.text.language import Kind
from corpus.text.tokenizer import BOS, Word
from lm.attention import Array
from lm.decoding import generate
from lm.language_model import LanguageModel
from lm.prompts import left_pad
from testbed.run.object_names import ObjectNames
from testbed.run.world import World

BATCH = 256
LABELLED = (Kind.TRUTH, Kind.NOT, Kind.AND, Kind.OR)


@partial(jax.jit, static_argnames="longest")
def _decode_prompts(model: LanguageModel, prompts: Array, longest: int) -> jax.Array:
    return generate(model, model.read_prompts(prompts), longest)


def generative_accuracy(
    model: LanguageModel, world: World, facts: np.ndarray, advance: Callable[[int], None] = lambda _: None
) -> float:
    """Share of the given facts (indices) whose ground truth is generated exactly, ending included.

    Args:
        advance: told how many facts were looked at, again and again.
    """
    answers = generated_objects(model, world, facts, advance)
    return float(np.mean(answers == world.generative.truth[facts]))


def generated_objects(
    model: LanguageModel, world: World, facts: np.ndarray, advance: Callable[[int], None] = lambda _: None
) -> np.ndarray:
    """int[n]: the object that is generated for each of the given facts (indices); -1 where it is none."""
    graph, tokenizer = world.graph, world.tokenizer
    names = ObjectNames(tokenizer, graph.objects)
    length = tokenizer.row_length
    width = int(1 + (length[graph.subject] + length[tokenizer.relation_row(graph.relation)]).max())
    prompts = [tokenizer.prompt(graph.subject[f], graph.relation[f]) for f in facts]
    return names.objects_of(_decode_all(model, prompts, width, names.longest + 1, advance))


def label_accuracy(
    model: LanguageModel, world: World, sentences: dict[Kind, np.ndarray]
) -> dict[Kind, float]:
    """Share of sentences that are completed by the right one of "true" and "false", for each kind.

    A truth sentence's right label is whether it states the ground truth, whatever the corpus says of it;
    the labels of not, and, or sentences are always right.

    Args:
        sentences: indices of sentences of each kind.
    """
    tokenizer, corpus_sentences = world.tokenizer, world.sentences
    true, false = tokenizer.word(Word.TRUE), tokenizer.word(Word.FALSE)
    shares = {}
    for kind, which in sentences.items():
        prompts = [np.concatenate([[BOS], tokenizer.sentence(corpus_sentences[int(i)])[:-1]]) for i in which]
        right = corpus_sentences.label[which]
        if kind == Kind.TRUTH:
            s, r, o = corpus_sentences.a[which].T
            right = world.generative.truth[world.graph.find(s, r)] == o
        # Widths in steps of eight, so that few programs serve all kinds.
        width = -(-max(map(len, prompts)) // 8) * 8
        answers = _decode_all(model, prompts, width, 1)[:, 0]
        shares[kind] = float(np.mean(answers == np.where(right, true, false)))
    return shares


def sample_labelled(world: World, count: int, rng: np.random.Generator) -> dict[Kind, np.ndarray]:
    """Up to `count` sentences (indices) of every kind with a label that the corpus has."""
    of_kind = {kind: np.flatnonzero(world.sentences.kind == kind) for kind in LABELLED}
    return {kind: rng.permutation(which)[:count] for kind, which in of_kind.items() if len(which)}


def _decode_all(
    model: LanguageModel,
    prompts: list[np.ndarray],
    width: int,
    longest: int,
    advance: Callable[[int], None] = lambda _: None,
) -> np.ndarray:
    """int32[len(prompts), longest]: greedy continuations."""
    tokens = []
    for low in range(0, len(prompts), BATCH):
        part = prompts[low : low + BATCH]
        # One shape for every call: the last batch is filled up with empty prompts.
        padded = left_pad(part + [np.empty(0, np.int32)] * (BATCH - len(part)), width)
        tokens.append(np.asarray(_decode_prompts(model, padded, longest))[: len(part)])
        advance(len(part))
    return np.concatenate(tokens)
