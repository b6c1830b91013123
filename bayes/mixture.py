"""Facts that are independent once a hidden state is known: exact beliefs by a sum over the states.

A block is a set of facts that nothing outside depends on. Its state z has a prior p(z), and given the state
each fact x_f has a distribution p(x_f | z). With log-likelihoods l of what was said, up to a constant,

    p(x_f = k | said) = e^{l_f(k)} sum_z p(z) p(k | z) prod_{g != f} sum_j p(j | z) e^{l_g(j)}

A state may be a type, the causes of a subject taken together, or who of a crew has which role.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from bayes.derived import DerivedAgent, normalise_logs
from bayes.interface import Belief, Distribution, Exactness


class Block(NamedTuple):
    """Facts with a hidden state in common.

    Attributes:
        facts: indices in the graph.
        log_prior: float64[S], of the states.
        log_rows: of each fact float64[S, K], log p(object | state), candidates as in the graph.
    """

    facts: Sequence[int]
    log_prior: np.ndarray
    log_rows: Sequence[np.ndarray]


@dataclass(frozen=True, eq=False)
class MixtureAgent(DerivedAgent):
    """Exact beliefs of a world of blocks. A subclass says `block_of`.

    The law is told, so that blocks say nothing of each other: every state is inferred, none is given, and
    nothing needs to be resolved.
    """

    blocks: dict[int, Block] = field(default_factory=dict)
    """Those that were asked for, by each of their facts; all agents of a world share them."""
    _heard: dict[int, list[np.ndarray]] = field(default_factory=dict, init=False)

    @property
    def exactness(self) -> Exactness:
        """Exact for whoever knows the law of the world."""
        why = "the agent is told the law by which facts are drawn, and infers every hidden state"
        return Exactness("exact, rows given", 0.0, why)

    def block_of(self, fact: int) -> Block:
        """The block of a fact."""
        raise NotImplementedError(f"{type(self).__name__} needs a method block_of(fact)")

    def find_block(self, fact: int) -> Block:
        """The block of a fact, made once."""
        if fact not in self.blocks:
            block = self.block_of(fact)
            self.blocks.update(dict.fromkeys(block.facts, block))
        return self.blocks[fact]

    def predict(self, subject: int, relation: int, belief: Belief = "best") -> Distribution:  # noqa: ARG002
        """p(o | s, r, evidence) of each candidate, whatever the `belief`."""
        fact = self.find_fact(subject, relation)
        block = self.find_block(fact)
        at = list(block.facts).index(fact)
        heard = self._hear_block(block)
        log_state = block.log_prior + sum(heard[:at] + heard[at + 1 :])
        log_object = logsumexp(log_state[:, None] + block.log_rows[at], axis=0)
        return self.make_distribution(relation, normalise_logs(log_object + self.evidence_about(fact)))

    def relate_facts(self, subject: int, relation: int) -> np.ndarray:
        """The facts of the block."""
        return np.array(self.find_block(self.find_fact(subject, relation)).facts)

    def _hear_block(self, block: Block) -> list[np.ndarray]:
        """Of each fact float64[S]: log-likelihood of what was said of it, by state."""
        first = block.facts[0]
        if first not in self._heard:
            self._heard[first] = [
                logsumexp(rows + self.evidence_about(fact), axis=1)
                if fact in self.evidence
                else np.zeros(len(rows))
                for fact, rows in zip(block.facts, block.log_rows, strict=True)
            ]
        return self._heard[first]
