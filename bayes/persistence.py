"""Does a downstream fact persist? The posterior of rho, fact-world (1) against sentence-world (0).

In fact-world an object is drawn once per subject and its statements repeat it, but for noise; in
sentence-world every statement is a fresh draw from the row. Given the upstream objects, statements of a row
are Dirichlet-multinomial in sentence-world. In fact-world the objects z are summed out,

    p(said) = sum_z p(z) p(said | z),

and facts stated often leave one term standing: p(z) p(said | z) at their most stated objects is a lower
bound, and changing one object after another multiplies a term by at most (1 + doubt), so that the product
of these factors gives an upper one. Both are rigorous, and close where facts are stated eight times or
more; facts stated less often are left out, which is sound since how often a fact is stated says nothing
about it (design.md 5.3, point 4).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from bayes.structure import log_dirichlet_multinomial
from corpus.config import ExactConfig
from corpus.exact import FULLY_STATED
from corpus.graph import KnowledgeGraph
from corpus.likelihood import statement_strength
from corpus.text.language import Kind
from corpus.text.sentences import Sentences


class PersistencePosterior(NamedTuple):
    """p(rho = 1 | upstream facts, statements), both kinds of world being equally likely before.

    Attributes:
        log_odds_low, log_odds_high: nats for fact-world; the truth is between them.
        facts: how many downstream facts were judged.
    """

    log_odds_low: float
    log_odds_high: float
    facts: int

    @property
    def fact_world(self) -> tuple[float, float]:
        """p(rho = 1 | ...), at least and at most."""
        return float(expit(self.log_odds_low)), float(expit(self.log_odds_high))


def persistence_posterior(
    graph: KnowledgeGraph, config: ExactConfig, sentences: Sentences
) -> PersistencePosterior:
    """The posterior of rho given the graph's upstream objects as facts, and the atomic sentences.

    Args:
        config: row mass and noise; its own persistence is not read.
    """
    atomic = sentences.a[sentences.kind == Kind.ATOMIC]
    fact, objects = graph.find(atomic[:, 0], atomic[:, 1]), atomic[:, 2]
    often = np.bincount(fact, minlength=len(graph)) >= FULLY_STATED
    # A relation with one object is the same in both worlds.
    varied = np.diff(graph.candidate_offsets)[graph.relation] > 1
    can_vary = (graph.upstream_fact >= 0)[fact] & (often & varied)[fact]
    fact, objects = fact[can_vary], objects[can_vary].astype(np.int64)
    if not len(fact):
        return PersistencePosterior(0.0, 0.0, 0)
    judged, at = np.unique(fact, return_inverse=True)
    relation, size = graph.relation[judged], np.diff(graph.candidate_offsets)[graph.relation[judged]]
    row = graph.object[graph.upstream_fact[judged]]

    # How often each object was said of each fact; the likeliest is the one said most often.
    width = len(graph.entities)
    cells, count = np.unique(at * width + objects, return_counts=True)
    owner, named = cells // width, cells % width
    order = np.lexsort((-count, owner))
    best = order[np.unique(owner[order], return_index=True)[1]]
    most, z = count[best], named[best]
    total = np.bincount(at)
    ratio = statement_strength(config, size - 1)
    log_said = most * np.log(1 - config.noise) + (total - most) * np.log(config.noise / (size - 1))

    others = np.ones(len(cells), bool)
    others[best] = False
    doubt = (size - np.bincount(owner)) * np.exp(-ratio * most)
    doubt += np.bincount(
        owner[others], np.exp(ratio[owner] * (count - most[owner]))[others], minlength=len(judged)
    )
    key = relation.astype(np.int64) * width + row
    _, group, peers = np.unique(key, return_inverse=True, return_counts=True)
    # Another object is at most this much likelier under the row, whatever the other facts are.
    doubt *= 1 + (peers[group] - 1) * size / config.row_mass

    low = float(log_said.sum())
    for r in np.unique(relation):
        here, is_of_relation = relation == r, relation[at] == r
        k, mass = int(size[here][0]), config.row_mass
        low += log_dirichlet_multinomial(row[here], z[here], mass, k)
        low -= log_dirichlet_multinomial(row[at[is_of_relation]], objects[is_of_relation], mass, k)
    return PersistencePosterior(low, low + float(np.log1p(doubt).sum()), len(judged))
