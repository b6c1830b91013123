"""Hidden types: what a subject has depends on its type alone, of which no sentence speaks.

    guild (hidden) -> lives in, eats, sings, keeps, fears, wears

Of some subjects one fact is stated, of others all. So one further statement may tell the type of the first,
and is explained away by the other facts of the second.
"""

from collections.abc import Sequence

import numpy as np

from corpus.seeds import generator
from corpus.worlds.builtin import FreshNames
from corpus.worlds.own import Fact, OwnWorld

RELATIONS = ("lives in", "eats", "sings", "keeps", "fears", "wears")
TYPES, OBJECTS = 4, 8
ROW_MASS = 0.8
"""Total mass of the Dirichlet prior of a row; the smaller, the more alike are subjects of a type."""


class TypesWorld(OwnWorld):
    """Subjects of hidden types.

    Attributes:
        shares: float64[T], how common each type is.
        rows: by relation float64[T, K], the distribution of each type's objects.
    """

    def __init__(
        self, seed: int, subjects: int, types: int = TYPES, objects: int = OBJECTS, relations: int = 6
    ) -> None:
        super().__init__(seed, subjects)
        rng = generator(seed, "types")
        fresh = FreshNames(rng)
        self.shares = rng.dirichlet(np.full(types, 20.0))
        self.rows = {
            r: rng.dirichlet(np.full(objects, ROW_MASS / objects), types) * 0.99 + 0.01 / objects
            for r in RELATIONS[:relations]
        }
        self.candidates = {r: fresh.take(objects, lambda: fresh.word(2)) for r in self.rows}
        people = fresh.take(subjects, lambda: fresh.word(3))
        # From one fact to all are stated, of as many subjects each.
        stated = [rng.permutation(relations) < 1 + i % relations for i in range(subjects)]
        self.facts = [
            Fact(name, r, self.candidates[r][0], 10 * int(is_stated))
            for name, mine in zip(people, stated, strict=True)
            for r, is_stated in zip(self.rows, mine, strict=True)
        ]
        objects_drawn = self.draw_objects(rng)
        self.facts = [f._replace(object=o) for f, o in zip(self.facts, objects_drawn, strict=True)]

    def draw_objects(self, rng: np.random.Generator) -> Sequence[str]:
        """A type for each subject, then each fact by its type's row."""
        drawn = []
        for _ in range(self.subjects):
            kind = rng.choice(len(self.shares), p=self.shares)
            drawn += [
                self.candidates[r][rng.choice(len(row[kind]), p=row[kind])] for r, row in self.rows.items()
            ]
        return drawn
