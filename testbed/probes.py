"""The probes of many cases as arrays, and one vectorised pass of an edited model over them."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from corpus.language import Atom, Kind, Sentence
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
from testbed.cases import CELLS, Case, Cell

LOGITS_AT_ONCE = 2**26
"""More are never held; what is held of probes is then no reason to make fewer edits side by side."""
LOGIC = ("A", "not A", "A and B", "B and A", "A or B", "B")


class Probes(NamedTuple):
    """Prompts of E cases; a leading axis E on every array.

    Attributes:
        prompts: int32[E, cells, P], left-padded "s r"; all PAD where a case lacks the cell.
        tree: candidates of each cell, see `lm.scoring.CandidateTree`.
        logic: int32[E, len(LOGIC), P'], left-padded quoted statements up to "is".
    """

    def grouped(self, size: int) -> "Probes":
        """Those of every `size` cases as one case with `size` times as many cells and statements."""
        return jax.tree.map(lambda x: x.reshape(-1, size * x.shape[1], *x.shape[2:]), self)

    prompts: Array
    tree: CandidateTree
    logic: Array


class Readings(NamedTuple):
    """What a model answers to the probes of E cases.

    Attributes:
        objects: float32[E, cells, candidates], p(o | s r), ending included.
        begun: as objects, whatever follows the object.
        tokens: int32[E, cells, longest + 1], what it generates after "s r".
        logic: float32[E, len(LOGIC), 2], next-token probabilities of "true" and "false".
    """

    objects: Array
    begun: Array
    tokens: Array
    logic: Array

    def by_case(self) -> "Readings":
        """NumPy arrays that lead with cases again, after `Probes.grouped`."""
        sizes = (len(CELLS), len(CELLS), len(CELLS), len(LOGIC))
        return Readings(
            *(np.asarray(x).reshape(-1, n, *x.shape[2:]) for x, n in zip(self, sizes, strict=True))
        )


class ProbeShape(NamedTuple):
    """Sizes that hold every case of a sweep, so that one program serves all its batches.

    Attributes:
        prompt, logic: tokens of the longest prompt and of the longest quoted statement.
        nodes, candidates, longest: sizes of the largest candidate tree.
    """

    prompt: int
    logic: int
    nodes: int
    candidates: int
    longest: int


def probe_shape(tokenizer: Tokenizer, cases: Sequence[Case]) -> ProbeShape:
    """The shape that the given cases need."""
    cells = [cell for case in cases for cell in case.cells if cell]
    return ProbeShape(
        prompt=max(len(tokenizer.prompt(c.subject, c.relation)) for c in cells),
        logic=max(len(s) for case in cases for s in logical_prompts(tokenizer, case)),
        nodes=max(tree_size(_names(tokenizer, c)) for c in cells),
        candidates=max(len(c.candidates) for c in cells),
        longest=max(len(name) for c in cells for name in _names(tokenizer, c)),
    )


def build_probes(tokenizer: Tokenizer, cases: Sequence[Case], shape: ProbeShape) -> Probes:
    """Arrays for the given cases, padded to `shape`."""
    cells = [cell for case in cases for cell in case.cells]
    nothing = np.empty(0, np.int32)
    prompts = [tokenizer.prompt(c.subject, c.relation) if c else nothing for c in cells]
    sizes = (shape.nodes, shape.candidates, shape.longest)
    trees = [candidate_tree(_names(tokenizer, c) if c else [], *sizes) for c in cells]
    logic = [statement for case in cases for statement in logical_prompts(tokenizer, case)]
    lead = (len(cases), len(CELLS))

    def stacked(leaf: str) -> np.ndarray:
        leaves = np.stack([getattr(tree, leaf) for tree in trees])
        return leaves.reshape(*lead, *leaves.shape[1:])

    return Probes(
        left_pad(prompts, shape.prompt).reshape(*lead, shape.prompt),
        CandidateTree(*(stacked(leaf) for leaf in CandidateTree._fields)),
        left_pad(logic, shape.logic).reshape(len(cases), len(LOGIC), shape.logic),
    )


def _names(tokenizer: Tokenizer, cell: Cell) -> list[np.ndarray]:
    return [tokenizer.entity(int(o)) for o in cell.candidates]


def logical_prompts(tokenizer: Tokenizer, case: Case) -> list[np.ndarray]:
    """Tokens of the quoted statements of LOGIC up to "is", with A the request and B another statement."""
    a, b = Atom(case.subject, case.relation, case.object), case.other
    statements = [
        Sentence(Kind.TRUTH, True, a),
        Sentence(Kind.NOT, True, a),
        Sentence(Kind.AND, True, a, b),
        Sentence(Kind.AND, True, b, a),
        Sentence(Kind.OR, True, a, b),
        Sentence(Kind.TRUTH, True, b),
    ]
    return [np.concatenate([[BOS], tokenizer.sentence(s)[:-1]]).astype(np.int32) for s in statements]


@partial(jax.jit, static_argnames=("words", "longest"))
def read(
    model: LanguageModel, deltas: Delta, probes: Probes, words: tuple[int, int], longest: int
) -> Readings:
    """One pass over the probes of E cases, each under its own delta, some cases at once.

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
            next_token_probabilities(edited, edited.read(probe.logic), words),
        )

    _, rows, nodes = probes.tree.tokens.shape
    at_once = max(1, LOGITS_AT_ONCE // (rows * (nodes + 1) * model.vocabulary))
    return jax.lax.map(one, (deltas, probes), batch_size=min(at_once, len(probes.prompts)))


def truth_words(tokenizer: Tokenizer) -> tuple[int, int]:
    """Token ids of "true" and "false"."""
    return tokenizer.word(Word.TRUE), tokenizer.word(Word.FALSE)
