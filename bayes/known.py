"""What the exact agent keeps of a corpus: what was said of each fact, and what resolved facts drew from rows.

Places are indices into the candidates of a relation.
"""

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from corpus.arrays import concatenate_ranges
from corpus.config import ExactConfig
from corpus.graph import KnowledgeGraph
from corpus.likelihood import check_noise, has_truths, log_ratios, statement_strength
from corpus.rows import rows_of
from corpus.text.sentences import Sentences

UNRESOLVED = -1
# The row of facts that depend on none.
NO_ROW = -2


class DrawnState(NamedTuple):
    """Resolved draws of a relation's rows.

    Attributes:
        by_row: csr[K_up, K].
        by_place: csr[K, K_up], the same transposed.
        totals: float64[K_up], draws of each row.
    """

    by_row: csr_array
    by_place: csr_array
    totals: np.ndarray


def dense_row(matrix: csr_array, row: int) -> np.ndarray:
    """One row of a sparse matrix, without the cost of indexing one."""
    dense = np.zeros(matrix.shape[1])
    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    dense[matrix.indices[part]] = matrix.data[part]
    return dense


class Draw(NamedTuple):
    """A draw of one row: relation, place of the upstream object (or NO_ROW), and what was drawn."""

    relation: int
    row: int
    place: int


@dataclass(frozen=True, eq=False)
class KnownEvidence:
    """Evidence about every fact, and the rows of resolved ones.

    Attributes:
        graph, config: subjects, relations and candidates, and the model's constants. The graph's objects
            are never read but for links, which are given.
        offsets, places, ratios: per fact, log-likelihood ratios of its own evidence: of the objects at
            `places` against those never named. Minus infinity where ruled out. For a fact without a
            truth of its own, the counts of its statements instead.
        resolved: int64[facts], the likeliest place of each fact that was spoken of, else UNRESOLVED.
        rows: per relation, resolved draws of facts with an upstream fact; where rows are given, the rows.
        roots: per relation, float64[K], likewise of facts without one.
        edited: {fact: {place: further log-likelihood ratio, or count of statements}}.
        reread: what is left of a fact's own evidence where some of it was withdrawn. What resolved facts
            drew from rows is as it was read first, so that a tree takes out what it had put in.
    """

    graph: KnowledgeGraph
    config: ExactConfig
    offsets: np.ndarray
    places: np.ndarray
    ratios: np.ndarray
    resolved: np.ndarray
    rows: Mapping[int, DrawnState]
    roots: Mapping[int, np.ndarray]
    edited: Mapping[int, Mapping[int, float]] = field(default_factory=dict)
    reread: Mapping[int, Mapping[int, float]] = field(default_factory=dict)

    @property
    def has_given_rows(self) -> bool:
        """Whether rows are told, not learned: then no draw tells of a row, and all trees are independent."""
        return self.config.rows == "given"

    @property
    def row_mass(self) -> float:
        """What the prior adds to the draws of a row."""
        return 0.0 if self.has_given_rows else self.config.row_mass

    @property
    def root_mass(self) -> float:
        """What the prior adds to the draws of facts without an upstream fact."""
        return 0.0 if self.has_given_rows else self.config.root_mass

    def with_evidence(self, fact: int, place: int, more: float) -> "KnownEvidence":
        """The same after further evidence: a log-likelihood ratio, or a count of statements."""
        edit_evidence = dict(self.edited.get(fact, {}))
        edit_evidence[place] = edit_evidence.get(place, 0.0) + more
        return replace(self, edited={**self.edited, fact: edit_evidence})

    def without_evidence(self, fact: int, places: Container[int]) -> "KnownEvidence":
        """The same as if nothing had been said of a fact that names one of these places."""

        def drop_places(evidence: Mapping[int, float]) -> dict[int, float]:
            return {place: ratio for place, ratio in evidence.items() if place not in places}

        return replace(
            self,
            reread={**self.reread, fact: drop_places(self._own_evidence(fact))},
            edited={**self.edited, fact: drop_places(self.edited.get(fact, {}))},
        )

    def evidence_about(self, fact: int) -> dict[int, float]:
        """Evidence about a fact, edits included, by place."""
        evidence = dict(self._own_evidence(fact))
        for place, more in self.edited.get(fact, {}).items():
            evidence[place] = evidence.get(place, 0.0) + more
        return evidence

    def _own_evidence(self, fact: int) -> Mapping[int, float]:
        return self.reread[fact] if fact in self.reread else dict(self._stored_evidence(fact))

    def _stored_evidence(self, fact: int) -> list[tuple[int, float]]:
        part = slice(self.offsets[fact], self.offsets[fact + 1])
        return list(zip(self.places[part].tolist(), self.ratios[part].tolist(), strict=True))

    def has_truth(self, fact: int) -> bool:
        """Whether a fact is drawn once, not once per statement."""
        return bool(self.graph.upstream_fact[fact] < 0 or self.config.persistence == "fact")

    def is_settled(self, fact: int) -> bool:
        """Whether sentences say for certain what a fact is, be it by excluding everything else."""
        ratios = list(self.evidence_about(fact).values())
        return math.inf in ratios or ratios.count(-math.inf) == self.count_candidates(fact) - 1

    def is_spoken_of(self, fact: int) -> bool:
        """Whether anything was said of a fact or of one below it; others sum out of everything."""
        return bool(self.evidence_about(fact)) or any(
            map(self.is_spoken_of, self.graph.dependents.get(fact, []))
        )

    def statement_strength(self, relation: int) -> float:
        """lambda: log-likelihood ratio of one statement, of the object it names against any other."""
        return float(statement_strength(self.config, len(self.graph.candidates_of(relation)) - 1))

    def count_candidates(self, fact: int) -> int:
        """How many objects a fact may have."""
        return len(self.graph.candidates_of(int(self.graph.relation[fact])))

    def root_relation(self, fact: int) -> int:
        """The relation that a fact's relation depends on in the end; only families share rows."""
        return self.graph.root_of(int(self.graph.relation[fact]))

    def upstream_facts(self, fact: int) -> list[int]:
        """A fact and all that it depends on, nearest first."""
        facts = [fact]
        while (up := int(self.graph.upstream_fact[facts[-1]])) >= 0:
            facts.append(up)
        return facts

    def tree_of(self, fact: int) -> list[int]:
        """All facts joined with this one by dependence, each after the one it depends on."""
        facts = [self.upstream_facts(fact)[-1]]
        for one in facts:
            facts += self.graph.dependents.get(one, [])
        return facts

    def draws_of(self, tree: list[int]) -> list[tuple[Draw, float]]:
        """What the resolved facts of a tree add to rows; nothing where the row is not known."""
        draws = []
        for fact in tree:
            up = int(self.graph.upstream_fact[fact])
            row = NO_ROW if up < 0 else int(self.resolved[up])
            relation = int(self.graph.relation[fact])
            if row == UNRESOLVED:
                continue
            if not self.has_truth(fact):
                draws += [(Draw(relation, row, place), count) for place, count in self._stored_evidence(fact)]
            elif self.resolved[fact] != UNRESOLVED:
                draws.append((Draw(relation, row, int(self.resolved[fact])), 1.0))
        return draws


def read_evidence(graph: KnowledgeGraph, config: ExactConfig, sentences: Sentences) -> KnownEvidence:
    """What is known after reading the sentences of a world of kind `exact`.

    Raises:
        InputError: a relation in which a statement would be no evidence for what it states.
    """
    check_noise(graph, config)
    n = len(graph)
    by_sentence = ~has_truths(graph, config)
    fact, objects, ratio = log_ratios(graph, config, sentences)
    ratio = np.where(by_sentence[fact], 1.0, ratio)
    # Links are given, as the dependences are that go through them.
    links = np.flatnonzero(graph.is_link)
    fact, objects = np.append(fact, links), np.append(objects, graph.object[links])
    ratio = np.append(ratio, np.full(len(links), math.inf))
    width = len(graph.entities)
    cells, cell = np.unique(fact * width + objects.astype(np.int64), return_inverse=True)
    ratios = np.zeros(len(cells))
    np.add.at(ratios, cell, ratio)
    owner = cells // width
    offsets = np.searchsorted(owner, np.arange(n + 1))
    relation = graph.relation[owner]
    first = graph.candidate_offsets[relation]
    key = np.repeat(np.arange(len(graph.relations)), np.diff(graph.candidate_offsets)) * width
    places = np.searchsorted(key + graph.candidates, relation * np.int64(width) + cells % width) - first

    resolved = np.full(n, UNRESOLVED)
    order = np.lexsort((-ratios, owner))
    with_evidence, at = np.unique(owner[order], return_index=True)
    best = order[at]
    sure = ratios[best] > 0
    resolved[with_evidence[sure]] = places[best[sure]]
    # Where every object but one was spoken against, it is that one.
    size = np.diff(graph.candidate_offsets)[graph.relation]
    named, sum_named = np.bincount(owner, minlength=n), np.bincount(owner, places, n).astype(int)
    lone = np.zeros(n, bool)
    lone[with_evidence] = (ratios[best] < 0) & (size - named == 1)[with_evidence]
    resolved[lone] = (size * (size - 1) // 2 - sum_named)[lone]
    resolved[by_sentence] = UNRESOLVED
    if config.rows == "given":
        rows, roots = _pack_given_rows(graph, config)
        return KnownEvidence(graph, config, offsets, places, ratios, np.full(n, UNRESOLVED), rows, roots)

    rows, roots = {}, {}
    for r in range(len(graph.relations)):
        up, size = int(graph.upstream[r]), len(graph.candidates_of(r))
        mine = np.flatnonzero(graph.relation == r)
        above = graph.upstream_fact[mine]
        alone = resolved[mine[above < 0]]
        roots[r] = np.bincount(alone[alone != UNRESOLVED], minlength=size).astype(float)
        if up < 0:
            continue
        below = mine[above >= 0]
        if config.persistence == "sentence":
            named = np.diff(offsets)[below]
            cell_of, below = concatenate_ranges(offsets[below], named), np.repeat(below, named)
            place, weight = places[cell_of], ratios[cell_of]
        else:
            place, weight = resolved[below], np.ones(len(below))
        row = resolved[graph.upstream_fact[below]]
        known = (row != UNRESOLVED) & (place != UNRESOLVED)
        shape = (len(graph.candidates_of(up)), size)
        draws = csr_array((weight[known], (row[known], place[known])), shape=shape)
        rows[r] = DrawnState(draws, draws.T.tocsr(), draws.sum(axis=1))
    return KnownEvidence(graph, config, offsets, places, ratios, resolved, rows, roots)


def _pack_given_rows(
    graph: KnowledgeGraph, config: ExactConfig
) -> tuple[dict[int, DrawnState], dict[int, np.ndarray]]:
    """Rows and shares as they are, each a draw in all."""
    rows, roots = {}, {}
    for r, (shares, table) in enumerate(rows_of(graph, config)):
        roots[r] = shares
        if table is not None:
            by_row = csr_array(table)
            rows[r] = DrawnState(by_row, by_row.T.tocsr(), np.ones(len(table)))
    return rows, roots
