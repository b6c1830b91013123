"""A world of your own, with its agent: twins, of whom each has what the other has, most of the time.

    python -m testbed.example my_world                                   (copies this file)
    python -m testbed.battery my_world:MyWorld my_world:MyAgent          (is the agent rational?)
    python -m testbed.corpus --run mine --world.source my_world:MyWorld
    python -m testbed.train --run mine
    python -m testbed.edit lora-down --run mine --evaluation kinds --agent my_world:MyAgent
    python -m testbed.report --run mine

Change how facts are drawn, and what the agent says of them. Both know the law, only the world the facts.
"""

from dataclasses import dataclass

import numpy as np

from bayes.derived import DerivedAgent, normalise_logs
from bayes.interface import Belief, Distribution
from corpus.worlds.own import Fact, OwnWorld

RELATIONS = {
    "works as": ("a baker", "a smith", "a weaver", "a tailor"),
    "likes": ("chess", "opera", "rowing", "poetry", "cards"),
}
ALIKE = 0.85
"""How often the second twin has what the first one has; otherwise it has any object."""


class MyWorld(OwnWorld):
    """Pairs of twins; of some facts nobody speaks."""

    def __init__(self, seed: int, subjects: int) -> None:
        super().__init__(seed, subjects)
        rng = np.random.default_rng(seed)
        self.candidates = RELATIONS
        names = [f"{which} twin {i}" for i in range(subjects // 2) for which in ("Elder", "Younger")]
        objects = iter(self.draw_objects(rng))
        self.facts = [
            Fact(name, relation, next(objects), statements=int(rng.choice([0, 10], p=[0.4, 0.6])))
            for name in names
            for relation in RELATIONS
        ]

    def draw_objects(self, rng: np.random.Generator) -> list[str]:
        """Objects of all facts, in the order of `facts`: with it the battery can simulate worlds."""
        drawn = []
        for _ in range(self.subjects // 2):
            first = [str(rng.choice(pool)) for pool in RELATIONS.values()]
            second = [
                one if rng.random() < ALIKE else str(rng.choice(pool))
                for one, pool in zip(first, RELATIONS.values(), strict=True)
            ]
            drawn += [*first, *second]
        return drawn


@dataclass(frozen=True, eq=False)
class MyAgent(DerivedAgent):
    """Bayes' rule for twins: what was said of one's own fact, and of the twin's as far as they are alike."""

    def predict(self, subject: int, relation: int, belief: Belief = "best") -> Distribution:  # noqa: ARG002
        """p(object | evidence), in the order of the graph's candidates."""
        fact, twin = self.find_fact(subject, relation), self._find_twin(subject, relation)
        mine, theirs = self.evidence_about(fact), self.evidence_about(twin)
        size = len(mine)
        alike = ALIKE * np.eye(size) + (1 - ALIKE) / size
        return self.make_distribution(relation, normalise_logs(mine + np.log(alike @ normalise_logs(theirs))))

    def relate_facts(self, subject: int, relation: int) -> np.ndarray:
        """The facts that an edit of this one may move; without this method all are asked, which is slower."""
        return np.array([self.find_fact(subject, relation), self._find_twin(subject, relation)])

    def _find_twin(self, subject: int, relation: int) -> int:
        which, _, rest = self.graph.entities[subject].partition(" ")
        other = "Younger" if which == "Elder" else "Elder"
        return self.find_fact(self.graph.entities.index(f"{other} {rest}"), relation)
