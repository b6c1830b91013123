"""Exclusive roles, exactly: the state of a crew is who of it has which role."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from bayes.mixture import Block, MixtureAgent
from corpus.worlds.roles import SAILS, SERVES, WEARS, RolesWorld


@dataclass(frozen=True, eq=False)
class RolesAgent(MixtureAgent):
    """Beliefs in a world of exclusive roles; see `bayes.mixture`."""

    world: RolesWorld

    def block_of(self, fact: int) -> Block:
        """All facts of a crew and its ship."""
        entities, relations = self.graph.entities, self.graph.relations
        name, world = entities[self.graph.subject[fact]], self.world
        ship, crew = next((s, c) for s, c in world.crews.items() if name == s or name in c)
        orders = np.array(list(permutations(range(len(crew)))))
        facts, rows = [], []
        for member in (*crew, ship):
            for f in self.graph.facts_of(entities.index(member)):
                relation = relations[self.graph.relation[f]]
                names = list(world.candidates[relation])
                if relation == SAILS:
                    table = np.broadcast_to(np.eye(len(names))[names.index(ship)], (len(orders), len(names)))
                elif relation == SERVES:
                    table = np.eye(len(names))[orders[:, crew.index(member)]]
                elif relation == WEARS:
                    table = world.rows[orders[:, crew.index(member)]]
                else:
                    role = [*world.named.values()].index(relation)
                    holder = np.argsort(orders, axis=1)[:, role]
                    table = np.eye(len(names))[[names.index(crew[i]) for i in holder]]
                facts.append(f)
                with np.errstate(divide="ignore"):
                    rows.append(np.log(table)[:, self.order_of(self.graph.relation[f])])
        return Block(facts, np.full(len(orders), -np.log(len(orders))), rows)
