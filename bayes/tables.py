"""The shared tables p(o | r, a): what was said of subjects whose upstream object is a (design.md 5.2).

Every subject fills them, in proportion to how often its sentences mention a. The background is the sum of all
tables' posteriors of a relation, kept so that a remainder that every a has meets it in one step.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from bayes.counts import ChangedRows, Row, Rows, add_statement, sparse_structure, stack_rows
from corpus.graph import NO_UPSTREAM


@dataclass(frozen=True, eq=False)
class Tables:
    """Counts of (r, upstream object a), row r * K + place of a, over K objects.

    Attributes:
        filled: the counts as the corpus filled them.
        prior_mass: total mass of each table's symmetric Dirichlet prior.
        background: float64[relations, K], sum over all a of p(o | r, a).
        floor: float64[relations], background of an object that no table names.
        replaced: tables that edits replaced, by their row.
    """

    filled: Rows
    prior_mass: float
    background: np.ndarray
    floor: np.ndarray
    replaced: Mapping[int, Row] = field(default_factory=dict)

    @cached_property
    def changed_rows(self) -> ChangedRows:
        """The tables that edits replaced, as the kernels read them."""
        return stack_rows(self.replaced)

    def row(self, index: int) -> Row:
        """One table."""
        return self.replaced[index] if index in self.replaced else self.filled.row(index)

    def with_changes(self, changes: Mapping[int, tuple[Row, Mapping[int, float]]]) -> "Tables":
        """The tables after a row was added to some of them.

        Args:
            added: per relation, the row, and how often it is added to the table of each upstream place.
        """
        size = self.background.shape[1]
        replaced = dict(self.replaced)
        background, floor = self.background.copy(), self.floor.copy()
        for relation, (row, factors) in changes.items():
            even = 0.0
            for a, factor in factors.items():
                at = relation * size + a
                before = self.row(at)
                after = replaced[at] = add_statement(before, row, factor)
                for table, sign in ((before, -1.0), (after, 1.0)):
                    scale = sign / (table.total + self.prior_mass)
                    even += (table.base + self.prior_mass / size) * scale
                    background[relation, table.places] += table.excess * scale
            background[relation] += even
            floor[relation] += even
        return replace(self, background=background, floor=floor, replaced=replaced)


def fill_tables(
    observed: Rows, mentions: np.ndarray, upstream: np.ndarray, size: int, prior_mass: float
) -> Tables:
    """C[r][a] = sum over subjects of q_s(a) N[s, r], for subjects seen with r and its upstream.

    As a product of matrices: mention shares, transposed, times counts.

    Args:
        observed, mentions, upstream: see `bayes.paper.PaperAgent`.
        size: K.
    """
    relations = len(upstream)
    key = np.flatnonzero(observed.total > 0)
    relation = key % relations
    above = key - relation + upstream[relation]
    down = (upstream[relation] != NO_UPSTREAM) & (observed.total[above] > 0)
    key, relation, above = key[down], relation[down], above[down]

    shape = (len(observed.total), size)
    counts = csr_array((observed.excess, observed.places, observed.offsets), shape=shape)[key]
    named = csr_array((mentions, observed.places, observed.offsets), shape=shape)[above]
    per_row = np.diff(named.indptr)
    share = named.data / np.repeat(named.sum(axis=1), per_row)
    column = np.repeat(relation * size, per_row) + named.indices
    shares = csr_array((share, column, named.indptr), shape=(len(key), relations * size)).T.tocsr()
    excess = shares @ counts
    excess.sort_indices()
    base, total = shares @ observed.base[key], shares @ observed.total[key]
    filled = Rows(*sparse_structure(excess), excess.data, base, total)

    scale = 1.0 / (filled.total + prior_mass)
    floor = ((filled.base + prior_mass / size) * scale).reshape(relations, size).sum(axis=1)
    row_of_entry = np.repeat(np.arange(len(scale)), np.diff(filled.offsets))
    cell = row_of_entry // size * size + filled.places
    summed = np.bincount(cell, filled.excess * scale[row_of_entry], relations * size)
    return Tables(filled, prior_mass, floor[:, None] + summed.reshape(relations, size), floor)
