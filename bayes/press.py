"""Open noise, exactly: a town has the qualities of its papers in common, and everybody a dish."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from bayes.mixture import Block, Community, MixtureAgent
from corpus.worlds.press import EATS, LIVES, PAPERS, QUALITIES, PressWorld


@dataclass(frozen=True, eq=False)
class PressAgent(MixtureAgent):
    """Beliefs in a world of open noise; see `bayes.mixture`."""

    world: PressWorld

    def community_of(self, fact: int) -> Community:
        """A town; its qualities are one of all ways to give each paper a quality."""
        right = np.array([*product(QUALITIES, repeat=len(PAPERS))])
        prior = np.full(len(right), -np.log(len(right)))
        town, people = self.find_group(fact, self.world.people)
        return Community(prior, [self._member_of(subject, town, right) for subject in people])

    def _member_of(self, subject: int, town: str, right: np.ndarray) -> Block:
        size = len(self.world.dishes)
        facts, log_rows = self.graph.facts_of(subject), []
        for fact in facts:
            relation = int(self.graph.relation[fact])
            name = self.graph.relations[relation]
            if name == LIVES:
                towns = list(self.world.candidates[LIVES])
                rows = np.broadcast_to(np.eye(len(towns))[towns.index(town)], (1, size, len(towns)))
            elif name == EATS:
                rows = np.eye(size)[None]
            else:
                says = right[:, PAPERS.index(name), None, None]
                rows = np.where(np.eye(size), says, (1 - says) / (size - 1))
            with np.errstate(divide="ignore"):
                log_rows.append(np.log(rows)[..., self.order_of(relation)])
        return Block(facts, np.full(size, -np.log(size)), log_rows)
