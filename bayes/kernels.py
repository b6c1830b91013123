"""The loops of the paper's agent's queries; see `corpus.compiled` for how they run.

Rows come as `bayes.counts.Rows`, those that edits replaced as `bayes.counts.ChangedRows`. The few lines that
choose between them are repeated: compiled on demand, a kernel cannot call a function that is not. The twin
of the first two is `DenseAgent` in tests/naive.py, of the third a sort.
"""

import numpy as np


def query_probabilities(
    low, high, direct, up, relation, place,
    observed, new_observed, tables, new_tables, background, mass, size, out,
):  # fmt: skip
    """p(o | s, r) of each query i in [low, high).

    Args:
        direct, up: rows of (s, r) and of (s, upstream of r); `up` is -1 to ask for the direct posterior.
        relation, place: of each query.
        background: float64[relations, K], sum of all K tables' posteriors.
        mass, size: prior mass, and K.
    """
    for i in range(low, high):
        key = up[i] if up[i] >= 0 else direct[i]
        at = np.searchsorted(new_observed.keys, key)
        if at < len(new_observed.keys) and new_observed.keys[at] == key:
            rows, row = new_observed.rows, at
        else:
            rows, row = observed, key
        first, last = rows.offsets[row], rows.offsets[row + 1]
        scale = 1.0 / (rows.total[row] + mass)
        remainder = (rows.base[row] + mass / size) * scale
        if up[i] < 0:
            p = remainder
            for entry in range(first, last):
                if rows.places[entry] == place[i]:
                    p += rows.excess[entry] * scale
            out[i] = p
            continue
        p = remainder * background[relation[i], place[i]]
        for entry in range(first, last):
            key = relation[i] * size + rows.places[entry]
            at = np.searchsorted(new_tables.keys, key)
            if at < len(new_tables.keys) and new_tables.keys[at] == key:
                table, t = new_tables.rows, at
            else:
                table, t = tables, key
            count = table.base[t] + mass / size
            left, right = table.offsets[t], table.offsets[t + 1]
            while left < right:
                middle = (left + right) // 2
                if table.places[middle] < place[i]:
                    left = middle + 1
                else:
                    right = middle
            if left < table.offsets[t + 1] and table.places[left] == place[i]:
                count += table.excess[left]
            p += rows.excess[entry] * scale * count / (table.total[t] + mass)
        out[i] = p


def query_distributions(
    low, high, direct, up, relation,
    observed, new_observed, tables, new_tables, background, floor, mass, size, out, rest,
):  # fmt: skip
    """p(o | s, r) of every o, for each query i in [low, high); arguments as in `query_probabilities`.

    Args:
        floor: float64[relations], the background of an object that no table names.
        out: float64[n, K].
        rest: float64[n], the probability of an object that nothing names.
    """
    for i in range(low, high):
        key = up[i] if up[i] >= 0 else direct[i]
        at = np.searchsorted(new_observed.keys, key)
        if at < len(new_observed.keys) and new_observed.keys[at] == key:
            rows, row = new_observed.rows, at
        else:
            rows, row = observed, key
        first, last = rows.offsets[row], rows.offsets[row + 1]
        scale = 1.0 / (rows.total[row] + mass)
        remainder = (rows.base[row] + mass / size) * scale
        if up[i] < 0:
            rest[i] = remainder
            out[i] = remainder
            for entry in range(first, last):
                out[i, rows.places[entry]] += rows.excess[entry] * scale
            continue
        # Before the row is filled: a further pass over all K costs more than to look a few tables up twice.
        even = 0.0
        for entry in range(first, last):
            key = relation[i] * size + rows.places[entry]
            at = np.searchsorted(new_tables.keys, key)
            if at < len(new_tables.keys) and new_tables.keys[at] == key:
                table, t = new_tables.rows, at
            else:
                table, t = tables, key
            even += rows.excess[entry] * scale * (table.base[t] + mass / size) / (table.total[t] + mass)
        rest[i] = remainder * floor[relation[i]] + even
        out[i] = remainder * background[relation[i]] + even
        for entry in range(first, last):
            key = relation[i] * size + rows.places[entry]
            at = np.searchsorted(new_tables.keys, key)
            if at < len(new_tables.keys) and new_tables.keys[at] == key:
                table, t = new_tables.rows, at
            else:
                table, t = tables, key
            weight = rows.excess[entry] * scale / (table.total[t] + mass)
            for inside in range(table.offsets[t], table.offsets[t + 1]):
                out[i, table.places[inside]] += weight * table.excess[inside]


def rank_most_probable(low, high, values, count, out):
    """The places of the `count` largest values of each row i in [low, high), largest first.

    Ties go to the lower place.

    Args:
        values: float64[n, K], with K at least `count`.
        out: int64[n, count].
    """
    for i in range(low, high):
        rank_count = 0
        for k in range(values.shape[1]):
            if rank_count == count and values[i, k] <= values[i, out[i, count - 1]]:
                continue
            at = min(rank_count, count - 1)
            while at > 0 and values[i, out[i, at - 1]] < values[i, k]:
                out[i, at] = out[i, at - 1]
                at -= 1
            out[i, at] = k
            rank_count = min(rank_count + 1, count)
