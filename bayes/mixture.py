"""Facts that are independent once hidden things are known: exact beliefs by a sum over these.

A community has a hidden thing t with a prior p(t), such as how good the papers of a town are; it may be
nothing. Given it, its members are independent of each other. Each is a block of facts with a state z of its
own, such as a type, the causes of a subject together, or who of a crew has which role; given both, each fact
x_f has a distribution. With log-likelihoods l of what was said, and L_n(t) of all that was said of the facts
of member n, up to a constant,

    p(x_f = k | said) = e^{l_f(k)} sum_t p(t) prod_{n != m} L_n(t)
                        sum_z p(z) p(k | z, t) prod_{g != f} sum_j p(j | z, t) e^{l_g(j)}
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
from scipy.special import logsumexp

from bayes.derived import DerivedAgent, normalise_logs
from bayes.interface import Belief, Distribution, Exactness
from bayes.request import EditRequest


class Block(NamedTuple):
    """Facts with a hidden state in common.

    Attributes:
        facts: indices in the graph.
        log_prior: float64[S], of the states.
        log_rows: of each fact float64[S, K], log p(object | state), candidates as in the graph; in a
            community [T or 1, S, K].
    """

    facts: Sequence[int]
    log_prior: np.ndarray
    log_rows: Sequence[np.ndarray]


class Community(NamedTuple):
    """Members with a hidden thing in common.

    Attributes:
        log_prior: float64[T], of the thing.
    """

    log_prior: np.ndarray
    members: Sequence[Block]


class Place(NamedTuple):
    """Where a fact is: its community, and which member it belongs to."""

    community: Community
    member: int


@dataclass(frozen=True, eq=False)
class MixtureAgent(DerivedAgent):
    """Exact beliefs of a world of blocks or communities. A subclass says `block_of` or `community_of`.

    The law is told, that is, priors and rows. Every hidden thing and state is inferred, and none is given.
    """

    places: dict[int, Place] = field(default_factory=dict)
    """Of each fact that was asked for; all agents of a world share them."""
    _heard: dict[int, np.ndarray] = field(default_factory=dict, init=False)
    """Of a member, by its first fact, float64[T]: log-likelihood of what was said of it."""

    @property
    def exactness(self) -> Exactness:
        """Exact for whoever knows the law of the world."""
        why = "the agent is told the law by which facts are drawn, and infers everything hidden"
        return Exactness("exact, rows given", 0.0, why)

    def block_of(self, fact: int) -> Block:
        """The block of a fact, where nothing is in common."""
        raise NotImplementedError(f"{type(self).__name__} needs a method block_of(fact)")

    def community_of(self, fact: int) -> Community:
        """The community of a fact; by default its block alone."""
        return Community(np.zeros(1), [self.block_of(fact)])

    def find_group(self, fact: int, groups: Mapping[str, Sequence[str]]) -> tuple[str, list[int]]:
        """The group that the subject of a fact is in, and the subjects who are in it.

        Args:
            groups: by name, the names of who is in each.
        """
        entities = {name: i for i, name in enumerate(self.graph.entities)}
        name = self.graph.entities[self.graph.subject[fact]]
        group = next(group for group, names in groups.items() if name in names)
        return group, [entities[one] for one in groups[group]]

    def find_place(self, fact: int) -> Place:
        """Where a fact is, found once."""
        if fact not in self.places:
            community = self.community_of(fact)
            for n, member in enumerate(community.members):
                self.places.update(dict.fromkeys(member.facts, Place(community, n)))
        return self.places[fact]

    def predict(self, subject: int, relation: int, belief: Belief = "best") -> Distribution:  # noqa: ARG002
        """p(o | s, r, evidence) of each candidate, whatever the `belief`."""
        fact = self.find_fact(subject, relation)
        (log_prior, members), own = self.find_place(fact)
        log_thing = log_prior + sum(
            self._hear(of, len(log_prior)) for n, of in enumerate(members) if n != own
        )
        member = members[own]
        at = list(member.facts).index(fact)
        log_state = log_thing[:, None] + self._weigh(member, len(log_prior), at)
        log_object = logsumexp(log_state[..., None] + member.log_rows[at], axis=(0, 1))
        return self.make_distribution(relation, normalise_logs(log_object + self.evidence_about(fact)))

    def with_edit(self, request: EditRequest) -> Self:
        """As any agent's; what was said of other members is not weighed again."""
        edited = super().with_edit(request)
        (_, members), own = self.find_place(self.find_fact(*request[:2]))
        changed = members[own].facts[0]
        edited._heard.update({first: heard for first, heard in self._heard.items() if first != changed})
        return edited

    def relate_facts(self, subject: int, relation: int) -> np.ndarray:
        """The facts of the community."""
        (_, members), _ = self.find_place(self.find_fact(subject, relation))
        return np.unique([fact for member in members for fact in member.facts])

    def _hear(self, member: Block, things: int) -> np.ndarray:
        first = member.facts[0]
        if first not in self._heard:
            self._heard[first] = logsumexp(self._weigh(member, things), axis=1)
        return self._heard[first]

    def _weigh(self, member: Block, things: int, without: int = -1) -> np.ndarray:
        """float64[T, S]: log p(z) and what was said of the member's facts, but for the fact at one place."""
        weight = np.tile(member.log_prior, (things, 1))
        for i, (fact, rows) in enumerate(zip(member.facts, member.log_rows, strict=True)):
            if i != without and fact in self.evidence:
                weight = weight + logsumexp(rows + self.evidence_about(fact), axis=-1)
        return weight
