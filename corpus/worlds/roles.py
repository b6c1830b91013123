"""Exclusive roles: each role of a crew has one holder, so that giving it to one takes it from another.

    Brasu sails on Tidora;  Brasu serves as captain  <=>  Tidora has as captain Brasu;  captains wear ...

Every member of a crew has one role and every role one member, all orders equally likely. A ship names its
members by role, which is the inverse. Who sails where is told, and never in doubt.
"""

from collections.abc import Sequence

import numpy as np

from corpus.seeds import generator
from corpus.worlds.builtin import FreshNames
from corpus.worlds.own import Fact, OwnWorld

SAILS, SERVES, WEARS = "sails on", "serves as", "wears"
ROLES = ("captain", "cook", "pilot", "smith")
COATS = 6
ROW_MASS = 0.6
"""Total mass of the Dirichlet prior of what a role wears."""
SILENT = {SERVES: 0.3, WEARS: 0.4, "inverse": 0.4}


class RolesWorld(OwnWorld):
    """Crews of as many members as there are roles; `subjects` counts members and ships.

    Attributes:
        crews: of each ship, its members.
        rows: float64[roles, coats], what holders of each role wear.
        named: the relation of ships by role.
    """

    def __init__(self, seed: int, subjects: int, roles: Sequence[str] = ROLES) -> None:
        super().__init__(seed, subjects)
        rng = generator(seed, "exclusive roles")
        fresh = FreshNames(rng, taken=roles)
        ships = fresh.take(max(subjects // (len(roles) + 1), 2), lambda: fresh.word(2))
        people = fresh.take(len(ships) * len(roles), lambda: fresh.word(3))
        coats = fresh.take(COATS, lambda: fresh.word(1))
        self.roles = tuple(roles)
        self.crews = {ship: people[i :: len(ships)] for i, ship in enumerate(ships)}
        self.rows = rng.dirichlet(np.full(COATS, ROW_MASS / COATS), len(roles)) * 0.97 + 0.03 / COATS
        self.named = {role: f"has as {role}" for role in roles}
        self.candidates = {SAILS: ships, SERVES: self.roles, WEARS: coats}
        self.candidates |= dict.fromkeys(self.named.values(), people)
        self.facts = []
        for ship, crew in self.crews.items():
            self.facts += [Fact(name, SAILS, ship) for name in crew]
            self.facts += [Fact(name, r, "", _draw_count(r, rng)) for name in crew for r in (SERVES, WEARS)]
            self.facts += [Fact(ship, r, "", _draw_count("inverse", rng)) for r in self.named.values()]
        objects = self.draw_objects(rng)
        self.facts = [f._replace(object=o) for f, o in zip(self.facts, objects, strict=True)]

    def draw_objects(self, rng: np.random.Generator) -> Sequence[str]:
        """An order of each crew, then what its members wear."""
        drawn: list[str] = []
        for ship, crew in self.crews.items():
            drawn += [ship] * len(crew)
            role_of = rng.permutation(len(crew))
            for role in role_of:
                coat = rng.choice(COATS, p=self.rows[role])
                drawn += [self.roles[role], self.candidates[WEARS][coat]]
            drawn += [crew[member] for member in np.argsort(role_of)]
        return drawn


def _draw_count(what: str, rng: np.random.Generator) -> int:
    return 10 * int(rng.random() >= SILENT[what])
