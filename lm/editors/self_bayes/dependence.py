"""Which of a model's beliefs depend on which others, found in the beliefs alone.

What the model holds most probable of each subject is taken for data. Objects of a relation that depends on
another fall into rows, one for each object of the other, and each row is a draw from a Dirichlet: the facts
are then likelier than from one table, by their marginal likelihood, and beyond chance by a permutation test.
The same evidence tells the direction, together with how sure the model is: a cause is one object for each
subject, while what it causes may be drawn with every statement. That persistence (rho) is judged by how far
two statements of one fact would repeat it.
"""

from typing import NamedTuple

import jax
import numpy as np
from scipy.special import gammaln

from lm.attention import Array
from lm.editors.self_bayes import DependenceConfig
from lm.editors.self_bayes.beliefs import Beliefs

MASSES = np.geomspace(0.03, 300.0, 17)
FEWEST = 20
"""Subjects with both facts, below which nothing is inferred from them."""
RARE = 1e-3
"""Objects that a subject has with less than this probability are left out of its statements."""
_LEAST = 1e-9


class Dependence(NamedTuple):
    """How the facts of one subject hang together in a model's mind.

    Attributes:
        parent: int32[R], the relation that each depends on, or -1.
        gain: float64[R, R], nats a subject by which rows of the first relation make the second's objects
            likelier than one table does; nan where too few subjects have both.
        kappa: float32[R, R], how many subjects the prior of a row weighs as much as, for rows of the second
            relation by objects of the first.
        persists: float32[R], p(a subject's fact is drawn once, not with every statement).
    """

    parent: np.ndarray
    gain: np.ndarray
    kappa: np.ndarray
    persists: np.ndarray


def read_often(said: Array, seldom: float | jax.Array) -> tuple[Array, Array]:
    """How often the model has read each fact, and whether it has at all, by how readily it says it.

    Args:
        said: float[R, ...], as in `Beliefs`.
        seldom: share of what is said most readily at which a fact is as likely as not to have been read.

    Returns:
        float[R, ...] twice: the share of what it says most readily of that subject, and a probability.
    """
    share = said / (said.max(axis=0) + _LEAST)
    return share, share**2 / (share**2 + seldom**2)


def find_dependence(beliefs: Beliefs, config: DependenceConfig) -> Dependence:
    """The forest of dependences among the relations, and what governs its rows."""
    relations, rng = len(beliefs.p), np.random.default_rng(config.seed)
    known = read_often(beliefs.said, config.seldom)[1] > 0.5
    best, sure = beliefs.top[:, :, 0], beliefs.p[:, :, 0]
    sizes = [max(1, len(np.unique(one[there]))) for one, there in zip(best, known, strict=True)]
    sureness = [
        float(np.median(p[there])) if there.any() else 0.0 for p, there in zip(sure, known, strict=True)
    ]
    gain = np.full((relations, relations), np.nan)
    score, kappa = np.zeros((relations, relations)), np.ones((relations, relations))
    for up in range(relations):
        for down in range(relations):
            both = known[up] & known[down]
            if up == down or both.sum() < FEWEST:
                continue
            rows, drawn = best[up][both], best[down][both]
            evidence = _evidence(rows, drawn, sizes[down])
            kappa[up, down] = MASSES[evidence.argmax()]
            gain[up, down] = (evidence.max() - _evidence(0 * rows, drawn, sizes[down]).max()) / len(rows)
            if gain[up, down] > 0 and _beyond_chance(rows, drawn, sizes[down], config, rng):
                score[up, down] = gain[up, down] * sureness[up]
    parent = _forest(score) if config.given is None else np.array(config.given)
    persists = np.ones(relations)
    for down in np.flatnonzero(parent >= 0).tolist():
        both = np.flatnonzero(known[parent[down]] & known[down])[: config.judged]
        noise = float(np.clip(1 - sureness[parent[down]], 1e-3, 0.5))
        mass = kappa[parent[down], down]
        odds = _persistence(best[parent[down]], beliefs, down, both, mass, sizes[down], noise)
        persists[down] = 1 / (1 + np.exp(-np.clip(odds, -50, 50)))
    if config.persistence is not None:
        persists = np.where(parent >= 0, config.persistence, persists)
    return Dependence(parent.astype(np.int32), gain, kappa.astype(np.float32), persists.astype(np.float32))


def _evidence(rows: np.ndarray, drawn: np.ndarray, size: int) -> np.ndarray:
    """float64[MASSES]: log-probability of what was drawn from rows that are Dirichlet over `size` objects."""
    cells = np.unique(rows.astype(np.int64) * (int(drawn.max()) + 1) + drawn, return_counts=True)[1]
    totals = np.unique(rows, return_counts=True)[1]
    alpha, mass = MASSES[:, None] / size, MASSES[:, None]
    inside = (gammaln(alpha + cells) - gammaln(alpha)).sum(axis=1)
    return inside + (gammaln(mass) - gammaln(mass + totals)).sum(axis=1)


def _beyond_chance(
    rows: np.ndarray, drawn: np.ndarray, size: int, config: DependenceConfig, rng: np.random.Generator
) -> bool:
    """Whether fewer than a share `significance` of shuffled worlds are as likely; stops once it is not."""
    observed, as_good = _evidence(rows, drawn, size).max(), 0
    for _ in range(config.permutations):
        as_good += bool(_evidence(rng.permutation(rows), drawn, size).max() >= observed)
        if 1 + as_good > config.significance * (1 + config.permutations):
            return False
    return True


def _forest(score: np.ndarray) -> np.ndarray:
    """int[R]: parents, the strongest dependences first, at most one for each relation, without cycles."""
    parent = np.full(len(score), -1)
    for place in np.argsort(-score, axis=None).tolist():
        up, down = divmod(place, len(score))
        above = up
        while above >= 0 and above != down:
            above = int(parent[above])
        if score[up, down] > 0 and parent[down] < 0 and above < 0:
            parent[down] = up
    return parent


def _persistence(
    row_of: np.ndarray,
    beliefs: Beliefs,
    relation: int,
    subjects: np.ndarray,
    mass: float,
    size: int,
    noise: float,
) -> float:
    """Log-odds that two statements of one fact repeat it, rather than being two draws of its row.

    The two statements are drawn from each subject's own belief. All other subjects make its row: by the
    objects they most probably have, if facts persist, or else by what would be stated of them.
    """
    objects, place = np.unique(beliefs.top[relation, subjects], return_inverse=True)
    stated = np.zeros((len(subjects), len(objects)))
    p = beliefs.p[relation, subjects]
    np.add.at(stated, (np.arange(len(subjects))[:, None], place.reshape(p.shape)), p)
    stated /= stated.sum(axis=1, keepdims=True)
    facts = np.eye(len(objects))[stated.argmax(axis=1)]
    row_of, total = row_of[subjects], 0.0
    other = noise / max(size - 1, 1)
    right = 1 - noise - other
    for s, own in enumerate(stated):
        peers = (row_of == row_of[s]) & (np.arange(len(subjects)) != s)
        likely = np.flatnonzero(own > RARE)
        fact_row, row = (
            (mass / size + x[peers][:, likely].sum(axis=0)) / (mass + peers.sum()) for x in (facts, stated)
        )
        # Of statements that repeat a fact z: p(o) = other + right [o = z].
        both = other**2 + other * right * (fact_row[:, None] + fact_row) + np.diag(right**2 * fact_row)
        total += float(own[likely] @ (np.log(both) - np.log(row[:, None]) - np.log(row)) @ own[likely])
    return total
