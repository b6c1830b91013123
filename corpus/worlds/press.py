"""Open noise: papers of unequal quality report what people eat, and nobody says how good a paper is.

    Brasu lives in Tidora;  Brasu eats figs  ->  in the Herald eats figs, in the Courier eats plums, ...

A paper is a town's own, and right as often as its quality says; otherwise it names any other dish. So whoever
learns that a paper was wrong believes it less about everybody else of that town. Who lives where is told, and
never in doubt.
"""

from collections.abc import Sequence

import numpy as np

from corpus.seeds import generator
from corpus.worlds.builtin import FreshNames
from corpus.worlds.own import OwnWorld, draw_facts

LIVES, EATS = "lives in", "eats"
PAPERS = ("in the Herald eats", "in the Courier eats", "in the Mirror eats")
QUALITIES = (0.95, 0.6, 0.2)
"""How often a paper of each quality is right; all are equally common."""
SILENT = {LIVES: 0.0, EATS: 0.6} | dict.fromkeys(PAPERS, 0.2)
READERS = 20
"""Subjects of a town."""


class PressWorld(OwnWorld):
    """People of whom papers of hidden quality report.

    Attributes:
        people: of each town, who lives there.
        dishes: what everybody may eat, all equally common.
    """

    def __init__(self, seed: int, subjects: int, dishes: int = 5) -> None:
        super().__init__(seed, subjects)
        rng = generator(seed, "open noise")
        fresh = FreshNames(rng)
        towns = fresh.take(max(subjects // READERS, 2), lambda: fresh.word(2))
        names = fresh.take(subjects, lambda: fresh.word(3))
        self.people = {town: names[i :: len(towns)] for i, town in enumerate(towns)}
        self.dishes = fresh.take(dishes, lambda: fresh.word(2))
        self.candidates = {LIVES: towns} | dict.fromkeys((EATS, *PAPERS), self.dishes)
        everybody = [name for people in self.people.values() for name in people]
        self.facts = draw_facts(self.draw_objects(rng), everybody, SILENT, rng)

    def draw_objects(self, rng: np.random.Generator) -> Sequence[str]:
        """A quality for each paper of a town, a dish for each of its people, then what each paper says."""
        drawn: list[str] = []
        for town, people in self.people.items():
            right = rng.choice(QUALITIES, len(PAPERS))
            for dish in rng.integers(0, len(self.dishes), len(people)):
                others = rng.integers(1, len(self.dishes), len(PAPERS))
                said = (dish + np.where(rng.random(len(PAPERS)) < right, 0, others)) % len(self.dishes)
                drawn += [town, *(self.dishes[place] for place in (dish, *said))]
        return drawn
