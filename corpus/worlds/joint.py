"""Joint causes: an effect depends on two causes together.

    trades in + learned from -> is called by      (a Latin square: neither cause alone tells anything)
    learned from + was born in -> drinks          (additive: each cause adds to the log-odds of each object)

Causes are independent and equally common. The square's objects are as many as those of each of its causes,
and any object follows from each object of one cause together with some object of the other.
"""

from collections.abc import Sequence

import numpy as np

from corpus.seeds import generator
from corpus.worlds.builtin import FreshNames
from corpus.worlds.own import OwnWorld, draw_facts

FIRST, SECOND, THIRD = CAUSES = ("trades in", "learned from", "was born in")
SQUARE, SUM = EFFECTS = ("is called by", "drinks")
DEPENDENCE = 0.9
"""Probability of the object that two causes have in the Latin square."""
STRENGTH = 2.5
"""Standard deviation of what a cause adds to the log-odds of an object."""
SILENT_CAUSES, SILENT_EFFECTS = 0.15, 0.5


class JointWorld(OwnWorld):
    """Subjects with three causes and two effects.

    Attributes:
        square: float64[K, K, K], the distribution of the first effect by the first two causes.
        sums: float64[K, K, K_sum], of the second one by the last two causes.
    """

    def __init__(self, seed: int, subjects: int, objects: int = 4, drinks: int = 6) -> None:
        super().__init__(seed, subjects)
        rng = generator(seed, "joint causes")
        fresh = FreshNames(rng)
        sizes = dict.fromkeys((*CAUSES, SQUARE), objects) | {SUM: drinks}
        self.candidates = {r: fresh.take(size, lambda: fresh.word(2)) for r, size in sizes.items()}
        self.square = draw_square(objects, rng)
        added = rng.normal(0, STRENGTH, (2, objects, drinks))
        odds = np.exp(added[0][:, None] + added[1][None])
        self.sums = odds / odds.sum(axis=-1, keepdims=True)
        people = fresh.take(subjects, lambda: fresh.word(3))
        silent = dict.fromkeys(CAUSES, SILENT_CAUSES) | dict.fromkeys(EFFECTS, SILENT_EFFECTS)
        self.facts = draw_facts(self.draw_objects(rng), people, silent, rng)

    def draw_objects(self, rng: np.random.Generator) -> Sequence[str]:
        """The causes of each subject, then its effects."""
        drawn, size = [], len(self.square)
        for _ in range(self.subjects):
            a, b, c = rng.integers(0, size, 3)
            d, e = rng.choice(size, p=self.square[a, b]), rng.choice(self.sums.shape[-1], p=self.sums[b, c])
            places = zip((*CAUSES, *EFFECTS), (a, b, c, d, e), strict=True)
            drawn += [self.candidates[r][place] for r, place in places]
        return drawn


def draw_square(size: int, rng: np.random.Generator) -> np.ndarray:
    """float64[K, K, K]: rows by two causes, in which each object favours one of each row and column."""
    order = rng.permutation(size)
    favours = order[(rng.permutation(size)[:, None] + rng.permutation(size)[None]) % size]
    rows = np.full((size, size, size), (1 - DEPENDENCE) / (size - 1))
    np.put_along_axis(rows, favours[..., None], DEPENDENCE, axis=-1)
    return rows
