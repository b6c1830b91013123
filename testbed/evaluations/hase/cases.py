"""Test cases: one edit request each, its probes, and what the agent believes before and after (DESIGN 6).

Probes of a request (s1, r1, o*) are *cells*, (subject, relation) pairs in the fixed order of `CELLS`:
s1r1 the request itself; s1r2 what depends on it (or else another relation of s1); s1r0 what it depends
on; s1rx an independent relation; and r1 and r2 of three other subjects, who share s1's old object, the
new one, or are drawn at random.
"""

from typing import NamedTuple

import numpy as np

from bayes.interface import RequestKind
from corpus.language import Atom

CELLS = (
    "s1r1", "s1r2", "s1r0", "s1rx",
    "old.r1", "old.r2", "new.r1", "new.r2", "random.r1", "random.r2",
)  # fmt: skip
REQUEST, CHILD, PARENT, INDEPENDENT = range(4)
SUPPORT_BINS = ("0", "1", "2-4", "5-19", "20+")
_BIN_STARTS = (1, 2, 5, 20)
STRATA = ("S0", "S1", "S2")
_STRATUM_STARTS = (1, 4)
ABSENT = -1


def support_bin(support: np.ndarray) -> np.ndarray:
    """Index into SUPPORT_BINS of each support n_u."""
    return np.searchsorted(_BIN_STARTS, support, side="right")


def stratum(stated: int) -> str:
    """One of STRATA: how often a fact is stated."""
    return STRATA[int(np.searchsorted(_STRATUM_STARTS, stated, side="right"))]


class Cell(NamedTuple):
    """One probe of one case.

    Attributes:
        subject, relation: what is asked.
        candidates: int64[c], objects whose probability is recorded.
        agent: float64[2, c], p(o | s, r) under the agent before and after the edit.
        answer: int64[2], the agent's most probable object before and after.
        frequency: float64[2, c], share of the corpus's atomic sentences, before and after adding the
            request with its weight.
    """

    subject: int
    relation: int
    candidates: np.ndarray
    agent: np.ndarray
    answer: np.ndarray
    frequency: np.ndarray


class Case(NamedTuple):
    """One request and everything about it that does not depend on the model.

    Attributes:
        subject, relation, object: the request.
        truth: the ground truth of (subject, relation).
        kind: further evidence, a correction, or a change of the world.
        reinforces: whether the request repeats the truth.
        weight: evidence weight of the request; infinite where it is certain.
        child: whether s1r2 depends on r1.
        changes: whether the agent's answer to s1r2 changes.
        support_new, support_old: how many subjects have the requested, the old object as truth.
        stratum: how often s1r2 was stated: S0 never, S1 one to three times, S2 more.
        seen_subject, seen_object: whether imagine and revise documents may be about the subject, may imagine
            the requested object; neither where there are no such documents.
        cells: in the order of CELLS, None where there is no such probe.
        other: a statement about another subject, the B of logical probes.
    """

    subject: int
    relation: int
    object: int
    truth: int
    kind: RequestKind
    reinforces: bool
    weight: float
    child: bool
    changes: bool
    support_new: int
    support_old: int
    stratum: str
    seen_subject: bool
    seen_object: bool
    cells: tuple[Cell | None, ...]
    other: Atom

    @property
    def credence(self) -> float:
        """The agent's belief in the request after the edit."""
        asked = self.cells[REQUEST]
        assert asked is not None, "the request is always a probe"
        return float(asked.agent[1][asked.candidates == self.object][0])
