"""From sentences to weighted observations, as the paper's agent reads them (design.md 5.1)."""

from typing import NamedTuple

import numpy as np

from corpus.text.language import Kind
from corpus.text.sentences import Sentences

# The posterior of a component with an even, independent prior: true in a true "or", in a false "and".
TRUE_IN_OR = 2 / 3
TRUE_IN_AND = 1 / 3


class Evidence(NamedTuple):
    """Observations as columns of equal length.

    A weight of 1 or more observes the object that often; -1 observes that it is not this object; a
    weight between 0 and 1 is the probability that it is.
    """

    weight: np.ndarray
    subject: np.ndarray
    relation: np.ndarray
    object: np.ndarray


def evidence_from(sentences: Sentences) -> Evidence:
    """The observations in a corpus: one per atomic, truth or not sentence, two per and/or sentence."""
    kind, label = sentences.kind, sentences.label
    weight = np.ones(len(sentences))
    weight[(kind == Kind.TRUTH) & ~label] = -1
    weight[(kind == Kind.NOT) & label] = -1
    weight[kind == Kind.OR] = np.where(label[kind == Kind.OR], TRUE_IN_OR, -1)
    weight[kind == Kind.AND] = np.where(label[kind == Kind.AND], 1, TRUE_IN_AND)
    joined = (kind == Kind.AND) | (kind == Kind.OR)
    atoms = np.concatenate([sentences.a, sentences.b[joined]])
    return Evidence(np.concatenate([weight, weight[joined]]), *atoms.T)
