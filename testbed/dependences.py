"""Which relation tells about which, and how much: a world's dependences, and the likeliest forest of them.

A dependence's gain is how much likelier the downstream facts are when each upstream object has a row of its
own than when all share one table: a log Bayes factor (`bayes.structure`), here in nats per subject.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bayes.structure import log_gain, log_scores
from corpus.arrays import find_modes
from corpus.config import ExactConfig
from corpus.forests import likeliest_forest
from corpus.graph import NO_UPSTREAM, KnowledgeGraph
from corpus.worlds.pairing import count_cooccurrence
from testbed.cells import show_number
from testbed.console import print_table, say

NAMED = 10


class Dependence(NamedTuple):
    """What one relation tells about another.

    Attributes:
        upstream, downstream: relation ids.
        subjects: how many have both facts.
        followed: share of them whose downstream object is the commonest one under their upstream object.
        gain: nats per subject by which rows make the downstream facts likelier than one table does.
    """

    upstream: int
    downstream: int
    subjects: int
    followed: float
    gain: float


def find_dependences(graph: KnowledgeGraph, prior: ExactConfig) -> list[Dependence]:
    """The dependences of a world, the strongest first.

    Args:
        prior: its `root_mass` and `row_mass` are the masses of the Dirichlet priors.
    """
    pairs = []
    for down in np.flatnonzero(graph.upstream != NO_UPSTREAM).tolist():
        facts = np.flatnonzero((graph.relation == down) & (graph.upstream_fact >= 0) & ~graph.silent)
        rows, objects = graph.object[graph.upstream_fact[facts]], graph.object[facts]
        followed, gain = float("nan"), float("nan")
        if len(facts):
            size = len(graph.candidates_of(down))
            gain = log_gain(rows, objects, prior.root_mass, prior.row_mass, size) / len(facts)
            followed = float((find_modes(rows, objects, len(graph.entities))[rows] == objects).mean())
        pairs.append(Dependence(int(graph.upstream[down]), down, len(facts), followed, gain))
    return sorted(pairs, key=lambda one: -one.gain * one.subjects)


def with_likeliest_forest(graph: KnowledgeGraph, prior: ExactConfig, least: int) -> KnowledgeGraph:
    """The graph with the dependences that together make its facts likeliest, chains and forks included.

    The maximum of `bayes.structure`'s posterior over forests, by Edmonds' algorithm, among dependences of
    relations that at least `least` subjects have both.
    """
    scores = log_scores(graph, prior.root_mass, prior.row_mass)
    together = count_cooccurrence(np.column_stack([graph.subject, graph.relation]), len(graph.relations))
    if not ((scores > 0) & (together >= least)).any():
        say(
            f"this world has NO DEPENDENCES: of relations that share {least:,} subjects none predicts "
            "another. So no edit has a consequence to judge; try a lower --world.min-pair-subjects"
        )
    upstream = likeliest_forest(np.where(together >= least, scores, 0.0)).astype(graph.upstream.dtype)
    return replace(graph, upstream=upstream)


def show_dependences(graph: KnowledgeGraph, prior: ExactConfig) -> None:
    """Print them, and which relations tell nothing about any other."""
    pairs = find_dependences(graph, prior)
    if pairs:
        rows = [
            (
                f"{graph.relations[one.upstream]} -> {graph.relations[one.downstream]}",
                one.subjects,
                show_number(one.followed, ".2f"),
                show_number(one.gain, ".2f"),
                "" if one.gain > 0 else "tells nothing",
            )
            for one in pairs
        ]
        print_table("dependences", ("", "subjects", "followed", "nats/subject", ""), rows)
    telling = {one.upstream for one in pairs if one.gain > 0}
    silent = [name for r, name in enumerate(graph.relations) if r not in telling]
    if silent:
        more = f" and {len(silent) - NAMED:,} more" if len(silent) > NAMED else ""
        say(f"relations that determine no other: {', '.join(silent[:NAMED])}{more}")
