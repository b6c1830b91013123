"""Which relation depends on which: choosing relations, and finding their dependences (design.md 2).

A dependence is believed where the evidence for it (`corpus.worlds.evidence`) would come by chance in at most
one table of twenty, however many pairs of relations the table has. Its direction is what the data say, if
they do; else the one that makes the facts likelier.
"""

from collections.abc import Callable, Sequence

import numpy as np
import scipy
from scipy.sparse import coo_array, csr_array

from corpus.arrays import rank_values
from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.forests import likeliest_forest
from corpus.graph import NO_UPSTREAM, KnowledgeGraph
from corpus.worlds.evidence import SURE, compare_directions, count_followers, log_gain

FALSE_ALARMS = 0.05
"""In so many tables in which nothing depends on anything some dependence is found."""
MOST_PAIRED = 200
"""Of a table with more relations, so many are paired."""
MOST_COMPARED = 20_000
"""So many subjects, drawn at random, are looked at to find dependences."""
BALANCED = 1000
"""So often rows and columns are scaled in turn."""


def read_pairs(pairs: Sequence[str], find: Callable[[str], int | None], source: str) -> list[tuple[int, int]]:
    """(upstream, downstream) relation ids from "upstream:downstream" strings.

    A name may itself hold a colon, as long as there is one way to read the pair.

    Args:
        find: the id of a relation by its name, or None.

    Raises:
        InputError: a string without a colon, an unknown relation, or a second upstream.
    """
    id_pairs: list[tuple[int, int]] = []
    for pair in pairs:
        parts = pair.split(":")
        splits = [(":".join(parts[:i]).strip(), ":".join(parts[i:]).strip()) for i in range(1, len(parts))]
        ids = [(find(up), find(down)) for up, down in splits]
        ids_known = [(up, down) for up, down in ids if up is not None and down is not None]
        if len(splits) != 1 and len(ids_known) != 1:
            raise InputError(f"the pair {pair!r} should be upstream:downstream, such as P69:P106")
        if not ids_known:
            for name in splits[0]:
                find_relation(name, find, source)
        up, down = ids_known[0]
        if up == down or any(down == d for _, d in id_pairs):
            raise InputError(f"the pair {pair!r} gives its second relation a second upstream, or itself")
        id_pairs.append((up, down))
    return id_pairs


def find_relation(relation: str, find: Callable[[str], int | None], source: str) -> int:
    """The id of a relation that an option names.

    Raises:
        InputError: there is none.
    """
    found = find(relation)
    if found is None:
        raise InputError(f"unknown relation {relation!r}: {source} has no such relation")
    return found


def upstream_of(pairs: Sequence[tuple[int, int]], relations: int) -> np.ndarray:
    """int32[relations]: each relation's upstream or NO_UPSTREAM."""
    upstream = np.full(relations, NO_UPSTREAM, np.int32)
    for up, down in pairs:
        upstream[down] = up
    return upstream


def count_cooccurrence(triples: np.ndarray, relations: int) -> np.ndarray:
    """int64[relations, relations]: subjects that have both relations (the diagonal: that have it)."""
    row = rank_values(triples[:, 0])
    ones = np.ones(len(row), np.int32)
    has = csr_array((ones, (row, triples[:, 1])), shape=(row.max(initial=0) + 1, relations))
    # Several objects of one relation were added up.
    has.data[:] = 1
    return (has.T @ has).toarray()


def choose_relations(together: np.ndarray, count: int, min_subjects: int) -> np.ndarray:
    """Relations of the most frequent co-occurring pairs until there are `count` (Hase A.1), ascending.

    Raises:
        InputError: no two relations share `min_subjects` subjects.
    """
    up, down = np.triu_indices(len(together), k=1)
    shared = together[up, down]
    chosen: set[int] = set()
    for i in np.argsort(-shared, kind="stable"):
        if shared[i] < min_subjects or len(chosen) >= count:
            break
        if len(chosen | {int(up[i]), int(down[i])}) <= count:
            chosen |= {int(up[i]), int(down[i])}
    if not chosen:
        most = int(shared.max()) if len(shared) else 0
        raise InputError(
            f"no two relations share {min_subjects} subjects (the most is {most}); "
            "lower --world.min-pair-subjects or name the --world.pairs"
        )
    return np.array(sorted(chosen))


def count_wanted(config: WorldConfig) -> int:
    """How many relations to choose where no pairs are given."""
    if config.relation_count != "auto":
        return config.relation_count
    return MOST_PAIRED if config.every_relation else 10


def least_shared(config: WorldConfig, subjects: int) -> int:
    """How many of so many subjects two relations must share."""
    return max(10, subjects // 100) if config.min_pair_subjects == "auto" else config.min_pair_subjects


def find_dependences(graph: KnowledgeGraph, config: WorldConfig) -> np.ndarray:
    """int32[relations]: what each relation depends on as far as the facts tell, or NO_UPSTREAM.

    Among the `MOST_PAIRED` commonest relations, those that enough subjects have both.
    """
    if config.dependences not in ("pairs", "forest"):
        return graph.upstream
    weights = weigh_dependences(graph, least_shared(config, len(graph.subjects)))
    if config.dependences == "forest":
        return likeliest_forest(weights).astype(np.int32)
    return upstream_of(match_relations(weights), len(weights))


def weigh_dependences(graph: KnowledgeGraph, least: int) -> np.ndarray:
    """float64[cause, effect]: nats by which all facts are likelier by a dependence that is believed; else 0.

    Args:
        least: number of subjects that must have both, with a cause that they share with others.
    """
    relations = len(graph.relations)
    weights = np.zeros((relations, relations))
    rng = np.random.default_rng(0)
    common = np.argsort(-np.bincount(graph.relation, minlength=relations), kind="stable")[:MOST_PAIRED]
    among = np.isin(graph.relation, common)
    facts = np.column_stack([graph.subject, graph.relation])[among]
    ups, downs = np.nonzero(np.triu(count_cooccurrence(facts, relations) >= least, k=1))
    subjects = rng.permutation(graph.subjects)[:MOST_COMPARED]
    least_here = least * len(subjects) / len(graph.subjects)
    threshold = np.log(2 * max(len(ups), 1) / FALSE_ALARMS)
    for pair in zip(ups.tolist(), downs.tolist(), strict=True):
        fact = graph.find(subjects[:, None], np.array(pair))
        first, second = graph.object[fact[(fact >= 0).all(axis=1)]].T
        gains = np.zeros(2)
        for way, (cause, effect) in enumerate(((first, second), (second, first))):
            sizes = count_followers(cause, effect)[1]
            if sizes[sizes > 1].sum() >= least_here:
                gains[way] = log_gain(cause, effect, rng)
        if gains.max() >= threshold:
            direction = compare_directions(first, second)
            if abs(direction) > SURE:
                gains = np.where([direction > 0, direction < 0], gains.max(), 0.0)
            weights[pair], weights[pair[::-1]] = np.where(gains >= threshold, gains, 0.0)
    return weights


def match_relations(weights: np.ndarray) -> list[tuple[int, int]]:
    """(cause, effect) pairs of the largest sum of weights [cause, effect] in which no relation is in two."""
    import networkx as nx

    best = np.maximum(weights, weights.T)
    graph = nx.Graph()
    graph.add_weighted_edges_from((i, j, best[i, j]) for i, j in np.argwhere(np.triu(best) > 0).tolist())
    pairs = [(min(pair), max(pair)) for pair in nx.max_weight_matching(graph)]
    return sorted(pair if weights[pair] >= weights[pair[::-1]] else pair[::-1] for pair in pairs)


def pair_as_published(together: np.ndarray) -> list[tuple[int, int]]:
    """Unordered pairs by a linear program over co-occurrence counts of which all rows and columns sum to 1.

    No relation is in two pairs, and the pairs' shares sum to the most (Hase A.1). Pairs are whole: a program
    that may halve them does so on the real slice, and `match_published` is the same without a program.
    """
    share = balance_counts(together)
    up, down = np.nonzero(np.triu(share + share.T))
    places = np.arange(len(up))
    in_pair = coo_array((np.ones(2 * len(up)), (np.append(up, down), np.tile(places, 2))))
    worth = share[up, down] + share[down, up]
    solved = scipy.optimize.linprog(
        -worth, in_pair.tocsr(), np.ones(in_pair.shape[0]), bounds=(0, 1), integrality=1
    )
    chosen = solved.x > 0.5
    return list(zip(up[chosen].tolist(), down[chosen].tolist(), strict=True))


def match_published(together: np.ndarray) -> list[tuple[int, int]]:
    """Unordered pairs by maximum-weight matching on co-occurrence counts of which all rows sum to 1."""
    import networkx as nx

    share = balance_counts(together, rounds=1)
    graph = nx.Graph()
    for i, j in np.argwhere(np.triu(share + share.T)).tolist():
        graph.add_edge(i, j, weight=share[i, j] + share[j, i])
    matching = nx.max_weight_matching(graph, maxcardinality=True)
    return sorted((min(pair), max(pair)) for pair in matching)


def balance_counts(together: np.ndarray, rounds: int = BALANCED) -> np.ndarray:
    """Counts of different relations together, with rows and columns scaled in turn to sum to 1."""
    share = together * (1.0 - np.eye(len(together)))
    for turn in range(rounds):
        share /= np.maximum(share.sum(axis=1 - turn % 2, keepdims=True), np.finfo(float).tiny)
    return share


def direct_as_published(pair: tuple[int, int], triples: np.ndarray) -> tuple[int, int]:
    """The pair as (upstream, downstream).

    Upstream is the relation that removes the larger share of the other's entropy. Mutual information
    is symmetric, so that is the one with the larger entropy.
    """
    entropies = [_measure_entropy(triples[triples[:, 1] == r, 2]) for r in pair]
    return pair if entropies[0] >= entropies[1] else (pair[1], pair[0])


def _measure_entropy(values: np.ndarray) -> float:
    share = np.unique(values, return_counts=True)[1] / max(len(values), 1)
    return float(-(share * np.log(share)).sum())
