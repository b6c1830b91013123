"""Kinds of objects: graduates of a college are like those of other colleges of its kind.

    Brasu comes from Tidora;  Brasu studied at Velm  ->  works as, hums      (by the kind of the college)

No sentence speaks of a college's kind. Some colleges have many graduates, some one or none: what follows from
such a college is what follows from a college of unknown kind, and one graduate tells much of the next. Who
comes from where is told, and never in doubt; each country has colleges of its own.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from corpus.seeds import generator
from corpus.worlds.builtin import FreshNames
from corpus.worlds.own import OwnWorld, draw_facts

COMES, STUDIED = "comes from", "studied at"
EFFECTS = ("works as", "hums")
ROW_MASS = 0.6
"""Total mass of the Dirichlet prior of what graduates of a kind of college have."""
SILENT = {COMES: 0.0, STUDIED: 0.15} | dict.fromkeys(EFFECTS, 0.5)
GRADUATES = 20
"""Subjects of a country."""


class CollegesWorld(OwnWorld):
    """Graduates of colleges of hidden kinds.

    Attributes:
        people: of each country, who comes from it.
        colleges: of each country, its colleges, the most popular first.
        shares: float64[C], how popular they are, in every country.
        kinds: how many kinds of colleges there are, all equally common.
        rows: by effect float64[kinds, K], what graduates of each kind have.
    """

    def __init__(self, seed: int, subjects: int, colleges: int = 4, kinds: int = 3, objects: int = 6) -> None:
        super().__init__(seed, subjects)
        rng = generator(seed, "kinds of objects")
        fresh = FreshNames(rng)
        countries = fresh.take(max(subjects // GRADUATES, 2), lambda: fresh.word(2))
        names = fresh.take(subjects, lambda: fresh.word(3))
        self.people = {country: names[i :: len(countries)] for i, country in enumerate(countries)}
        self.colleges = {country: fresh.take(colleges, lambda: fresh.word(2)) for country in countries}
        self.shares = 1 / np.arange(1, colleges + 1)
        self.shares /= self.shares.sum()
        self.kinds = kinds
        self.rows = {
            r: rng.dirichlet(np.full(objects, ROW_MASS / objects), kinds) * 0.97 + 0.03 / objects
            for r in EFFECTS
        }
        self.candidates = {COMES: countries, STUDIED: [*chain(*self.colleges.values())]}
        self.candidates |= {r: fresh.take(objects, lambda: fresh.word(2)) for r in EFFECTS}
        everybody = [name for people in self.people.values() for name in people]
        self.facts = draw_facts(self.draw_objects(rng), everybody, SILENT, rng)

    def draw_objects(self, rng: np.random.Generator) -> Sequence[str]:
        """A kind for each college, a college for each of its country's people, then what its kind has."""
        drawn: list[str] = []
        for country, people in self.people.items():
            kinds = rng.integers(0, self.kinds, len(self.shares))
            for college in rng.choice(len(self.shares), len(people), p=self.shares):
                drawn += [country, self.colleges[country][college]]
                for r, rows in self.rows.items():
                    drawn.append(self.candidates[r][rng.choice(rows.shape[1], p=rows[kinds[college]])])
        return drawn
