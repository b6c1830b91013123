"""Sources of unknown reliability: who is how often right, by a Beta prior and by what they said.

A source says of a fact what it is with probability rho, else one of the others evenly; rho ~ Beta(a, b) is
its own. Statements about settled facts are right or wrong: rho ~ Beta(a + right, b + wrong). What it said of
one open fact is then Beta-binomial, a likelihood of that fact. What it said of several joins them, since all
depend on one rho. Given rho they are evidence like any other, so that beliefs are an average over rho. The
probability of n statements is a polynomial in rho of degree n, and of such the Gauss-Jacobi quadrature with
n // 2 + 1 nodes gives exact means.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, roots_jacobi

from bayes.exact import ExactAgent
from bayes.request import EditRequest
from corpus.errors import InputError
from corpus.text.language import Atom


class Reliability(NamedTuple):
    """Beta(right, wrong): how often a source is right, in numbers of statements."""

    right: float
    wrong: float

    @property
    def mean(self) -> float:
        """Probability that the next statement is right."""
        return self.right / (self.right + self.wrong)


class Saying(NamedTuple):
    """A statement by a source."""

    source: int
    atom: Atom


WeightedAgents = list[tuple[float, ExactAgent]]
"""Agents, each sure of all reliabilities, and the probabilities of these."""


def learn_reliability(
    agent: ExactAgent, sayings: Sequence[Saying], priors: Mapping[int, Reliability]
) -> dict[int, Reliability]:
    """The reliability of each source by what it said of facts that the agent's evidence settles."""
    right, wrong = dict.fromkeys(priors, 0), dict.fromkeys(priors, 0)
    for source, atom in sayings:
        if _is_settled(agent, atom):
            count = right if agent.probability(*atom) == 1 else wrong
            count[source] += 1
    return {
        source: Reliability(prior.right + right[source], prior.wrong + wrong[source])
        for source, prior in priors.items()
    }


def likelihood_of_sayings(reliability: Reliability, counts: np.ndarray) -> np.ndarray:
    """Log-likelihood of each candidate of one fact, of which a source named each `counts` times."""
    a, b, n, others = *reliability, counts.sum(), len(counts) - 1
    return betaln(a + counts, b + n - counts) - betaln(a, b) - (n - counts) * math.log(others)


def hear_sources(
    agent: ExactAgent, sayings: Sequence[Saying], priors: Mapping[int, Reliability]
) -> WeightedAgents:
    """The agent after all that sources said, as agents that each know how reliable these are.

    Args:
        priors: of each source, before it said anything.

    Raises:
        InputError: a source without a prior, or a statement that the agent cannot read.
    """
    if strangers := {saying.source for saying in sayings} - priors.keys():
        raise InputError(f"source {min(strangers)} has no prior of its reliability")
    reliability = learn_reliability(agent, sayings, priors)
    open_sayings = [saying for saying in sayings if not _is_settled(agent, saying.atom)]
    said_by = [saying.source for saying in open_sayings]
    nodes = [_quadrature(reliability[s], said_by.count(s)) for s in sorted(priors)]
    log_weights, agents = [], []
    for states in itertools.product(*nodes):
        chance = dict(zip(sorted(priors), (rho for rho, _ in states), strict=True))
        log_weight, heard = sum(math.log(weight) for _, weight in states), agent
        for source, (s, r, o) in open_sayings:
            rho, p = chance[source], float(heard.probability(s, r, o))
            others = len(agent.graph.candidates_of(r)) - 1
            log_weight += math.log(rho * p + (1 - rho) / others * (1 - p))
            heard = heard.with_edit(EditRequest(s, r, o, form="source", probability=rho))
        log_weights.append(log_weight)
        agents.append(heard)
    weights = np.exp(np.array(log_weights) - max(log_weights))
    return list(zip((weights / weights.sum()).tolist(), agents, strict=True))


def mix_distributions(agents: WeightedAgents, subjects: np.ndarray, relations: np.ndarray) -> np.ndarray:
    """float64[n, K]: p(o | s, r) of each pair, averaged over what reliabilities may be."""
    return np.sum([weight * agent.distributions(subjects, relations) for weight, agent in agents], axis=0)


def _is_settled(agent: ExactAgent, atom: Atom) -> bool:
    return agent.known.is_settled(int(agent.graph.find(atom.subject, atom.relation)))


def _quadrature(reliability: Reliability, statements: int) -> list[tuple[float, float]]:
    """Values of rho and their weights, by which means of polynomials of this degree are exact."""
    a, b = reliability
    x, weight = roots_jacobi(statements // 2 + 1, b - 1, a - 1)
    return list(zip(((1 + x) / 2).tolist(), (weight / weight.sum()).tolist(), strict=True))
