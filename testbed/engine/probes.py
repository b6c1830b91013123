"""The questions of many cases as arrays, and one vectorised pass of an edited model over them."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from corpus.tokenizer import BOS, Tokenizer, Word
from lm.attention import Array
from lm.decoding import generate
from lm.delta import Delta
from lm.language_model import LanguageModel
from lm.prompts import left_pad
from lm.scoring import (
    CandidateTree,
    candidate_tree,
    next_token_probabilities,
    object_log_probabilities,
    tree_size,
)
from testbed.protocol import Case, Choice, Claim

LOGITS_AT_ONCE = 2**22
"""More are not held, but for those of one case: processors read them faster from their caches, and what is
held of probes is no reason to make fewer edits side by side."""


class Probes(NamedTuple):
    """Prompts of E cases; a leading axis E on every array.

    Attributes:
        prompts: int32[E, choices, P], left-padded "s r"; all PAD where a case has fewer choices.
        tree: options of each choice, see `lm.scoring.CandidateTree`.
        claims: int32[E, claims, P'], left-padded sentences up to "is"; all PAD where there are fewer.
    """

    prompts: Array
    tree: CandidateTree
    claims: Array

    def grouped(self, size: int) -> "Probes":
        """Those of every `size` cases as one case with `size` times as many questions."""
        return jax.tree.map(lambda x: x.reshape(-1, size * x.shape[1], *x.shape[2:]), self)


class Readings(NamedTuple):
    """What a model answers to the questions of E cases.

    Attributes:
        ended: float32[E, choices, options], p(o | s r), ending included.
        begun: as `ended`, whatever follows the object.
        tokens: int32[E, choices, longest + 1], what it generates after "s r".
        claims: float32[E, claims, 2], next-token probabilities of "true" and "false".
    """

    ended: Array
    begun: Array
    tokens: Array
    claims: Array


class ProbeShape(NamedTuple):
    """Sizes that hold every case of a sweep, so that one program serves all its batches.

    Attributes:
        choices, claims: of the case with most of them, at least one.
        prompt: tokens of the longest prompt, of choices and of what editors are told.
        claim: tokens of the longest claim.
        nodes, options, longest: sizes of the largest tree of options.
    """

    choices: int
    claims: int
    prompt: int
    claim: int
    nodes: int
    options: int
    longest: int

    def by_case(self, readings: Readings) -> Readings:
        """NumPy arrays that lead with cases again, after `Probes.grouped`."""
        sizes = (self.choices, self.choices, self.choices, self.claims)
        pairs = zip(readings, sizes, strict=True)
        return Readings(*(np.asarray(x).reshape(-1, n, *x.shape[2:]) for x, n in pairs))


def probe_shape(tokenizer: Tokenizer, cases: Sequence[Case]) -> ProbeShape:
    """The shape that the given cases need."""
    choices = [choice for case in cases for choice in case.choices]
    asked = [(c.subject, c.relation, c.phrasing) for c in choices]
    facts = [fact for case in cases for fact in (case.fact, *(c.fact for c in case.controls))]
    told = [(*fact[:2], 0) for fact in facts]
    return ProbeShape(
        choices=max(1, *(len(case.choices) for case in cases)),
        claims=max(1, *(len(case.claims) for case in cases)),
        prompt=max(len(tokenizer.prompt(*one)) for one in {*asked, *told}),
        claim=max((len(_claim(tokenizer, c)) for case in cases for c in case.claims), default=1),
        nodes=max((tree_size(_names(tokenizer, c)) for c in choices), default=1),
        options=max((len(c.options) for c in choices), default=1),
        longest=max((len(name) for c in choices for name in _names(tokenizer, c)), default=1),
    )


def build_probes(tokenizer: Tokenizer, cases: Sequence[Case], shape: ProbeShape) -> Probes:
    """Arrays for the given cases, padded to `shape`."""
    nothing = np.empty(0, np.int32)
    choices: list[Choice | None] = []
    claims: list[Claim | None] = []
    for case in cases:
        choices += [*case.choices, *[None] * (shape.choices - len(case.choices))]
        claims += [*case.claims, *[None] * (shape.claims - len(case.claims))]
    prompts = [tokenizer.prompt(c.subject, c.relation, c.phrasing) if c else nothing for c in choices]
    sizes = (shape.nodes, shape.options, shape.longest)
    trees = [candidate_tree(_names(tokenizer, c) if c else [], *sizes) for c in choices]
    sentences = [_claim(tokenizer, c) if c else nothing for c in claims]
    lead = (len(cases), shape.choices)

    def stacked(leaf: str) -> np.ndarray:
        leaves = np.stack([getattr(tree, leaf) for tree in trees])
        return leaves.reshape(*lead, *leaves.shape[1:])

    return Probes(
        left_pad(prompts, shape.prompt).reshape(*lead, shape.prompt),
        CandidateTree(*(stacked(leaf) for leaf in CandidateTree._fields)),
        left_pad(sentences, shape.claim).reshape(len(cases), shape.claims, shape.claim),
    )


def _names(tokenizer: Tokenizer, choice: Choice) -> list[np.ndarray]:
    return [tokenizer.entity(int(o)) for o in choice.options]


def _claim(tokenizer: Tokenizer, claim: Claim) -> np.ndarray:
    """Tokens of the sentence up to "is"."""
    return np.concatenate([[BOS], tokenizer.sentence(claim.sentence)[:-1]]).astype(np.int32)


@partial(jax.jit, static_argnames=("words", "longest"))
def read(
    model: LanguageModel, deltas: Delta, probes: Probes, words: tuple[int, int], longest: int
) -> Readings:
    """One pass over the questions of E cases, each under its own delta, some cases at once.

    Args:
        deltas: leaves lead with E, as `lm.editors.interface.edit_batch` returns them.
        words: token ids of "true" and "false".
        longest: tokens of the longest object.
    """

    def one(asked: tuple[Delta, Probes]) -> Readings:
        delta, probe = asked
        edited = model.edited(delta)
        prompts = edited.read(probe.prompts)
        ended, begun = object_log_probabilities(edited, prompts, probe.tree)
        return Readings(
            jax.numpy.exp(ended),
            jax.numpy.exp(begun),
            generate(edited, prompts, longest + 1),
            next_token_probabilities(edited, edited.read(probe.claims), words),
        )

    _, rows, nodes = probes.tree.tokens.shape
    at_once = max(1, LOGITS_AT_ONCE // (rows * (nodes + 1) * model.vocabulary))
    return jax.lax.map(one, (deltas, probes), batch_size=min(at_once, len(probes.prompts)))


def truth_words(tokenizer: Tokenizer) -> tuple[int, int]:
    """Token ids of "true" and "false"."""
    return tokenizer.word(Word.TRUE), tokenizer.word(Word.FALSE)
