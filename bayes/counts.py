"""Sparse Dirichlet counts over K objects: named objects, and one base amount shared by all.

An observation that is not simply "it is o" spreads mass over the K - 1 other objects. Kept as
`base` (what every object has) plus `excess` (what a named object has besides), a row costs what was
mentioned, never K. Objects are given by their place among the K.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from corpus.errors import InputError


class Row(NamedTuple):
    """Counts of one categorical variable.

    Attributes:
        places: int32[named], ascending.
        excess: float64[named], a named object's count above `base`.
        base: count that each of the K objects has.
        total: sum of the counts over all K objects.
    """

    places: np.ndarray
    excess: np.ndarray
    base: float
    total: float


class Rows(NamedTuple):
    """Many rows in compressed form; a row that nothing was counted in has the total 0.

    Attributes:
        offsets: int64[rows + 1] into `places` and `excess`.
        places: int32[entries], ascending within a row.
        excess: float64[entries].
        base, total: float64[rows].
    """

    offsets: np.ndarray
    places: np.ndarray
    excess: np.ndarray
    base: np.ndarray
    total: np.ndarray

    def row(self, index: int) -> Row:
        """One row."""
        part = slice(self.offsets[index], self.offsets[index + 1])
        return Row(self.places[part], self.excess[part], float(self.base[index]), float(self.total[index]))


class ChangedRows(NamedTuple):
    """Rows that stand for others, found by their key.

    Attributes:
        keys: int64[rows], ascending; which rows these stand for.
        rows: the rows.
    """

    keys: np.ndarray
    rows: Rows


def observation_counts(weight: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What one observation of each weight adds to (excess, base, total) of its row (design.md 5.1).

    Raises:
        InputError: a weight that is neither -1, nor in (0, 1), nor at least 1.
    """
    weight = np.asarray(weight, float)
    sure, negative = (weight >= 1) & np.isfinite(weight), weight == -1
    partial = (weight > 0) & (weight < 1)
    if not (sure | negative | partial).all():
        wrong = weight[~(sure | negative | partial)][0]
        raise InputError(f"evidence weight {wrong} should be -1, between 0 and 1, or at least 1 and finite")
    believed = np.where(negative, 0.0, np.where(partial, weight, 1.0))
    base = (1.0 - believed) / (size - 1)
    excess = np.where(sure, weight, believed - base)
    return excess, np.where(sure, 0.0, base), np.where(sure, weight, 1.0)


def count_statements(
    key: np.ndarray, places: np.ndarray, weight: np.ndarray, rows: int, size: int, copies: float
) -> tuple[Rows, np.ndarray]:
    """Sum observations into rows, each counted `copies` times.

    Args:
        key: int[n], the row of each observation, below `rows`.
        places: int[n], the object each names.
        weight: float[n], see `bayes.paper.Evidence`.
        size: K.

    Returns:
        The rows, and float64[entries]: how many observations named each entry's object, whatever their
        weight.
    """
    excess, base, total = observation_counts(weight, size)
    # Excess and mentions share their cells; as one complex number they are sorted into them once.
    cells = coo_array((copies * excess + 1j * copies, (key, places)), shape=(rows, size)).tocsr()
    cells.sort_indices()
    summed = Rows(
        *sparse_structure(cells),
        cells.data.real.copy(),
        copies * np.bincount(key, base, rows),
        copies * np.bincount(key, total, rows),
    )
    return summed, cells.data.imag.copy()


def sparse_structure(cells: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and places of a sparse matrix whose rows are sorted, in the types of `Rows`."""
    return cells.indptr.astype(np.int64), cells.indices.astype(np.int32)


def stack_rows(rows: Mapping[int, Row]) -> ChangedRows:
    """Rows by their key, as arrays."""
    ordered = [rows[key] for key in sorted(rows)]
    sizes = [len(row.places) for row in ordered]
    return ChangedRows(
        np.array(sorted(rows), np.int64),
        Rows(
            offsets=np.cumsum([0, *sizes], dtype=np.int64),
            places=np.concatenate([np.empty(0, np.int32), *(row.places for row in ordered)]),
            excess=np.concatenate([np.empty(0), *(row.excess for row in ordered)]),
            base=np.array([row.base for row in ordered]),
            total=np.array([row.total for row in ordered]),
        ),
    )


def add_statement(row: Row, other: Row, factor: float = 1.0) -> Row:
    """`row + factor * other`, as a new row."""
    places = np.concatenate([row.places, other.places])
    excess = np.concatenate([row.excess, factor * other.excess])
    order = np.argsort(places, kind="stable")
    first = np.flatnonzero(np.diff(places[order], prepend=-1))
    return Row(
        places[order][first],
        np.add.reduceat(excess[order], first) if len(first) else excess,
        row.base + factor * other.base,
        row.total + factor * other.total,
    )
