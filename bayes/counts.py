"""Sparse Dirichlet counts over K objects: named objects, and one base amount shared by all.

An observation that is not simply "it is o" spreads mass over the K - 1 other objects. Kept as
`base` (what every object has) plus `excess` (what a named object has besides), a row costs what was
mentioned, never K.
"""

from typing import NamedTuple

import numpy as np

from corpus.errors import InputError


class Row(NamedTuple):
    """Counts of one categorical variable.

    Attributes:
        objects: int64[named], ascending.
        excess: float64[named], a named object's count above `base`.
        base: count that each of the K objects has.
        total: sum of the counts over all K objects.
    """

    objects: np.ndarray
    excess: np.ndarray
    base: float
    total: float


class Distribution(NamedTuple):
    """A categorical distribution over K objects: named ones, and one value shared by the others.

    Attributes:
        objects: int64[named], ascending.
        probability: float64[named].
        remainder: probability of each single object that is not named.
        size: K.
    """

    objects: np.ndarray
    probability: np.ndarray
    remainder: float
    size: int

    def of(self, objects: np.ndarray) -> np.ndarray:
        """Probability of each given object; same shape as `objects`."""
        objects = np.asarray(objects)
        at = np.minimum(np.searchsorted(self.objects, objects), max(len(self.objects) - 1, 0))
        if not len(self.objects):
            return np.full(objects.shape, self.remainder)
        return np.where(self.objects[at] == objects, self.probability[at], self.remainder)

    def mode(self) -> int:
        """The most probable named object; ties go to the lower id."""
        return int(self.objects[np.argmax(self.probability)])

    def top(self, count: int) -> np.ndarray:
        """The most probable named objects, most probable first."""
        return self.objects[np.lexsort((self.objects, -self.probability))[:count]]


class Counts(NamedTuple):
    """Many rows in compressed form, found by their key.

    Attributes:
        keys: int64[rows], ascending.
        offsets: int64[rows + 1] into `objects`, `excess` and `mentions`.
        objects: int64[entries], ascending within a row.
        excess: float64[entries].
        mentions: float64[entries], how many observations named the object, whatever their weight.
        base, total: float64[rows].
    """

    keys: np.ndarray
    offsets: np.ndarray
    objects: np.ndarray
    excess: np.ndarray
    mentions: np.ndarray
    base: np.ndarray
    total: np.ndarray

    def find(self, key: int) -> int:
        """Index of a row, or -1."""
        at = int(np.searchsorted(self.keys, key))
        return at if at < len(self.keys) and self.keys[at] == key else -1

    def row(self, index: int) -> Row:
        """One row."""
        part = slice(self.offsets[index], self.offsets[index + 1])
        return Row(self.objects[part], self.excess[part], float(self.base[index]), float(self.total[index]))


EMPTY = Row(np.empty(0, np.int64), np.empty(0), 0.0, 0.0)


def contributions(weight: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What one observation of each weight adds to (excess, base, total) of its row (DESIGN 5.1).

    Raises:
        InputError: a weight that is neither -1, nor in (0, 1), nor at least 1.
    """
    weight = np.asarray(weight, float)
    sure, negative = weight >= 1, weight == -1
    partial = (weight > 0) & (weight < 1)
    if not (sure | negative | partial).all():
        wrong = weight[~(sure | negative | partial)][0]
        raise InputError(f"evidence weight {wrong} should be -1, between 0 and 1, or at least 1")
    believed = np.where(negative, 0.0, np.where(partial, weight, 1.0))
    base = (1.0 - believed) / (size - 1)
    excess = np.where(sure, weight, believed - base)
    return excess, np.where(sure, 0.0, base), np.where(sure, weight, 1.0)


def count(key: np.ndarray, objects: np.ndarray, weight: np.ndarray, size: int, copies: float) -> Counts:
    """Sum observations into rows, each counted `copies` times.

    Args:
        key: int64[n], the row of each observation.
        objects: int[n], the object each names.
        weight: float[n], see `bayes.evidence.Evidence`.
        size: K.
    """
    excess, base, total = contributions(weight, size)
    return collect(key, objects, copies * excess, np.full(len(key), copies), copies * base, copies * total)


def collect(
    key: np.ndarray,
    objects: np.ndarray,
    excess: np.ndarray,
    mentions: np.ndarray,
    base: np.ndarray,
    total: np.ndarray,
) -> Counts:
    """Group entries by (key, object) and their base and total by key, summing each."""
    order = np.lexsort((objects, key))
    key, objects = key[order], objects[order]
    new_row = np.diff(key, prepend=key[:1] - 1) != 0
    new_cell = new_row | (np.diff(objects, prepend=objects[:1] - 1) != 0)
    row = np.cumsum(new_row) - 1
    cell = np.cumsum(new_cell) - 1

    def per(index: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.bincount(index, weights=values[order], minlength=int(index[-1]) + 1 if len(index) else 0)

    cells_per_row = np.bincount(row[new_cell], minlength=int(row[-1]) + 1 if len(row) else 0)
    return Counts(
        keys=key[new_row],
        offsets=np.concatenate([[0], np.cumsum(cells_per_row)]),
        objects=objects[new_cell].astype(np.int64),
        excess=per(cell, excess),
        mentions=per(cell, mentions),
        base=per(row, base),
        total=per(row, total),
    )


def add(row: Row, other: Row, factor: float = 1.0) -> Row:
    """`row + factor * other`, as a new row."""
    objects, at = np.unique(np.concatenate([row.objects, other.objects]), return_inverse=True)
    excess = np.zeros(len(objects))
    np.add.at(excess, at, np.concatenate([row.excess, factor * other.excess]))
    return Row(objects, excess, row.base + factor * other.base, row.total + factor * other.total)


def posterior(row: Row, prior_mass: float, size: int) -> Distribution:
    """Posterior predictive p(o | row) under a symmetric Dirichlet prior of total mass `prior_mass`."""
    scale = 1.0 / (row.total + prior_mass)
    remainder = (row.base + prior_mass / size) * scale
    return Distribution(row.objects, remainder + row.excess * scale, remainder, size)
