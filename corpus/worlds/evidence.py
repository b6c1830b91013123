"""Does one relation tell about another? How well subjects' facts are predicted by subjects met before.

Subjects are met in a random order. Each one's effect is predicted from its cause, by the effects that went
with this cause before; a mass `m` of belief stays with how common each effect is among the subjects to come:

    p(effect | cause) = (seen(cause, effect) + m share(effect)) / (seen(cause) + m)

The gain is the logarithm of how much likelier this makes all effects than `share` alone does, averaged over
`MASSES`. Where the cause tells nothing, effects are dealt among the subjects as cards are, each next one
with chance `share`, so the mean of that factor is at most 1 whatever the number of causes and effects, and it
exceeds 1 / p with a chance of at most p (Ville's inequality). Nothing is gained by a cause that nobody
shares.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

MASSES = np.geomspace(0.1, 1000, 13)
SHUFFLES = 9
SURE = 3.0
"""A direction is taken to be seen in the data from so many standard errors on."""


class Evidence(NamedTuple):
    """What a cause tells about an effect.

    Attributes:
        subjects: how many have both.
        shared: how many of them have a cause that another one has.
        followed: share of these for whom the others with their cause foretell the effect: it is commoner
            among them than any other. NaN where there are none.
        gain: nats a subject by which the cause makes effects likelier, each foretold by subjects met before.
        chance: the largest gain of `SHUFFLES` tables in which effects are dealt anew among the subjects.
        direction: see `compare_directions`; from minus `SURE` to `SURE` it may be the other way round.
    """

    subjects: int
    shared: int
    followed: float
    gain: float
    chance: float
    direction: float


def weigh_evidence(causes: np.ndarray, effects: np.ndarray) -> Evidence:
    """What the causes of subjects, int[n], tell about their effects, int[n]."""
    rng = np.random.default_rng(0)
    followed, sizes = count_followers(causes, effects)
    shared = int(sizes[sizes > 1].sum())
    chance = max((log_gain(causes, rng.permutation(effects), rng) for _ in range(SHUFFLES)), default=0.0)
    subjects = max(len(causes), 1)
    return Evidence(
        len(causes),
        shared,
        float(followed.sum() / shared) if shared else float("nan"),
        log_gain(causes, effects, rng) / subjects,
        chance / subjects,
        compare_directions(causes, effects),
    )


def log_gain(causes: np.ndarray, effects: np.ndarray, rng: np.random.Generator) -> float:
    """Nats by which the causes of subjects, int[n], make all their effects, int[n], likelier."""
    order = rng.permutation(len(causes))
    cause = np.unique(causes[order], return_inverse=True)[1]
    effect, times = np.unique(effects[order], return_inverse=True, return_counts=True)[1:]
    share = (times[effect] - _count_earlier(effect)) / np.arange(len(causes), 0, -1)
    together = _count_earlier(cause * len(times) + effect) / share
    mass, seen = MASSES[:, None], _count_earlier(cause)
    gains = (np.log(together + mass) - np.log(seen + mass)).sum(axis=1)
    return float(logsumexp(gains) - np.log(len(MASSES)))


def compare_directions(causes: np.ndarray, effects: np.ndarray) -> float:
    """Standard errors by which causes decide effects more than effects decide causes.

    Each cause that subjects share counts once, so that many rare effects, each had by chance, say nothing.
    0 where either side has none.
    """
    means, variances = [], []
    for one, other in ((causes, effects), (effects, causes)):
        followed, sizes = count_followers(one, other)
        shares = (followed / sizes)[sizes > 1]
        if not len(shares):
            return 0.0
        means.append(shares.mean())
        # As if there were one more cause, which is followed or not as a coin falls: few causes prove little.
        variances.append((len(shares) * shares.var() + 0.25) / (len(shares) + 1) / len(shares))
    return float((means[0] - means[1]) / np.sqrt(sum(variances)))


def count_followers(causes: np.ndarray, effects: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each cause, subjects whose effect the others with it foretell, and subjects; int64[causes] both.

    An effect is foretold where it is, among the others, commoner than any other.
    """
    cells, times = np.unique(np.column_stack([causes, effects]), axis=0, return_counts=True)
    order = np.lexsort((-times, cells[:, 0]))
    cause, times = cells[order, 0], times[order]
    starts = np.flatnonzero(np.append(True, cause[1:] != cause[:-1])[: len(cause)])
    sizes = np.add.reduceat(times, starts) if len(starts) else times
    runner_up = np.append(times[1:], 0)[starts] * (np.diff(np.append(starts, len(times))) > 1)
    return np.where(times[starts] - 1 > runner_up, times[starts], 0), sizes


def _count_earlier(values: np.ndarray) -> np.ndarray:
    """int64[n]: how often each value stands before its place."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.append(True, ordered[1:] != ordered[:-1])[: len(values)]
    place = np.arange(len(values))
    count = np.empty(len(values), np.int64)
    count[order] = place - np.maximum.accumulate(np.where(starts, place, 0))
    return count
