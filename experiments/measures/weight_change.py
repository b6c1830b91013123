"""What an edit did to weight matrices: norms, ranks, and the energy of neurons on a sphere."""

from collections.abc import Mapping

import numpy as np

NEAREST = 1e-4
"""Least distance between two directions, so that equal ones have a finite energy."""


def describe_change(
    before: Mapping[str, np.ndarray], energy: Mapping[str, float], change: Mapping[str, np.ndarray]
) -> dict[str, float]:
    """Numbers of the change of some matrices, of which those that are all zero are not changed.

    Effective rank is exp of the entropy of singular values as shares of their sum (Roy & Vetterli 2007),
    stable rank their squares' sum over the largest one's; both are means over the changed matrices.

    Args:
        before: float[inputs, neurons] by name; those that are missing have no energy.
        energy: `hyperspherical_energy` of each of these.
        change: what is added, of the same shapes.
    """
    changed = {name: matrix for name, matrix in change.items() if matrix.any()}
    singular = [np.linalg.svd(matrix, compute_uv=False) for matrix in changed.values()]
    shares = [values / values.sum() for values in singular]
    entropies = [-np.sum(p[p > 0] * np.log(p[p > 0])) for p in shares]
    energies = [
        (energy[name], hyperspherical_energy(before[name] + matrix))
        for name, matrix in changed.items()
        if name in before
    ]
    return {
        "Frobenius norm": float(np.sqrt(sum(np.sum(values**2) for values in singular))),
        "spectral norm": float(max((values[0] for values in singular), default=0.0)),
        "effective rank": float(np.mean(np.exp(entropies))) if changed else 0.0,
        "stable rank": float(np.mean([np.sum((s / s[0]) ** 2) for s in singular])) if changed else 0.0,
        "hyperspherical energy, moved": float(sum(abs(now / old - 1) for old, now in energies)),
    }


def hyperspherical_energy(matrix: np.ndarray) -> float:
    """Mean over pairs of columns, scaled to length 1, of one over their distance (Liu et al. 2018)."""
    unit = matrix / np.maximum(np.linalg.norm(matrix, axis=0), np.finfo(float).tiny)
    cosine = (unit.T @ unit)[np.triu_indices(matrix.shape[1], 1)]
    return float(np.mean(1 / np.maximum(np.sqrt(np.maximum(2 - 2 * cosine, 0)), NEAREST)))
