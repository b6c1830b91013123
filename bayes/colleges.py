"""Kinds of objects, exactly: a country has the kinds of its colleges in common, and a graduate a college."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from bayes.mixture import Block, Community, MixtureAgent
from corpus.worlds.colleges import COMES, STUDIED, CollegesWorld


@dataclass(frozen=True, eq=False)
class CollegesAgent(MixtureAgent):
    """Beliefs in a world of kinds of objects; see `bayes.mixture`."""

    world: CollegesWorld

    def community_of(self, fact: int) -> Community:
        """A country; its kinds are one of all ways to give each college a kind."""
        size = len(self.world.shares)
        kinds = np.array([*product(range(self.world.kinds), repeat=size)])
        prior = np.full(len(kinds), -np.log(len(kinds)))
        country, people = self.find_group(fact, self.world.people)
        return Community(prior, [self._member_of(subject, country, kinds) for subject in people])

    def _member_of(self, subject: int, country: str, kinds: np.ndarray) -> Block:
        world, size = self.world, kinds.shape[1]
        facts, log_rows = self.graph.facts_of(subject), []
        for fact in facts:
            relation = int(self.graph.relation[fact])
            name = self.graph.relations[relation]
            pool = list(world.candidates[name])
            if name == COMES:
                rows = np.broadcast_to(np.eye(len(pool))[pool.index(country)], (1, size, len(pool)))
            elif name == STUDIED:
                rows = np.eye(len(pool))[[pool.index(college) for college in world.colleges[country]]][None]
            else:
                rows = world.rows[name][kinds]
            with np.errstate(divide="ignore"):
                log_rows.append(np.log(rows)[..., self.order_of(relation)])
        return Block(facts, np.log(world.shares), log_rows)
