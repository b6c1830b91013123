"""Are sentences of a published corpus drawn as design.md 3 says? Chi-square tests of each kind of draw."""

import numpy as np
from scipy.stats import binom, chi2

from corpus.generative import GenerativeModel
from corpus.text.language import Kind
from testbed.run.world import World

FALSE_ALARM = 1e-3
LEAST_EXPECTED = 5.0


def chi_square_p_value(observed: np.ndarray, expected: np.ndarray, fixed_sums: int) -> float:
    """p-value of counts against their expectation; `fixed_sums` totals were given. Small cells are pooled."""
    small = expected < LEAST_EXPECTED
    observed = np.append(observed[~small], observed[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    is_large = expected >= LEAST_EXPECTED
    statistic = ((observed[is_large] - expected[is_large]) ** 2 / expected[is_large]).sum()
    return float(chi2.sf(statistic, max(is_large.sum() - fixed_sums, 1)))


def uniformity_p_value(places: np.ndarray, sizes: np.ndarray | int, bins: int = 40) -> float:
    """p-value of integers, each in [0, its size), against uniform draws.

    A random fraction is added to each, so that bins are equally likely whatever the sizes.
    """
    spread = np.random.default_rng(0).random(len(places))
    counts = np.bincount(((places + spread) / sizes * bins).astype(int), minlength=bins)
    return chi_square_p_value(counts, np.full(bins, len(places) / bins), 1)


def p_values_by_draw(world: World) -> dict[str, float]:
    """A p-value for each thing that is drawn; a world of kind `published`."""
    graph, model, s = world.graph, world.generative, world.sentences
    assert isinstance(model, GenerativeModel), "only a published world has these distributions"
    fact = graph.find(s.a[:, 0], s.a[:, 1])
    objects, truth = graph.objects, model.truth
    root = model.distractor >= 0
    percent = np.round(100 * model.mode_share).astype(int)

    def among_others(stated_objects: np.ndarray, excluded_objects: np.ndarray) -> float:
        place, avoid = np.searchsorted(objects, stated_objects), np.searchsorted(objects, excluded_objects)
        return uniformity_p_value(place - (place > avoid), len(objects) - 1)

    atomic = s.kind == Kind.ATOMIC
    right = s.a[:, 2] == truth[fact]
    hits = np.bincount(fact[atomic & right], minlength=len(graph))
    # True samples out of ten, given at least six, for each share of the truth.
    shares = np.arange(60, 100)
    counts = np.stack([np.bincount(hits[root & (percent == g)], minlength=11)[6:] for g in shares])
    k = np.arange(6, 11)
    binomial = binom.pmf(k, 10, shares[:, None] / 100)
    expected = binomial / binomial.sum(axis=1, keepdims=True) * counts.sum(axis=1, keepdims=True)

    labelled = s.kind == Kind.TRUTH
    honest = s.label[labelled] == right[labelled]
    m = model.mode_share[fact[labelled]]
    bin_of_m = np.minimum((m * 50).astype(int), 49)
    honest_seen = np.stack([np.bincount(bin_of_m[honest == x], minlength=50) for x in (True, False)])
    honest_expected = np.stack([np.bincount(bin_of_m, weights=w, minlength=50) for w in (m, 1 - m)])

    pairs = np.flatnonzero(s.b[:, 0] >= 0)
    # The first subject joins its own facts, so which of the two is the earlier one is not seen there.
    pairs = pairs[s.about[pairs] != graph.subjects[0]]
    own_first = s.a[pairs, 0] == s.about[pairs]
    own_atom = np.where(own_first[:, None], s.a[pairs], s.b[pairs])
    other_atom = np.where(own_first[:, None], s.b[pairs], s.a[pairs])
    own_fact, other_fact = (
        graph.find(own_atom[:, 0], own_atom[:, 1]),
        graph.find(other_atom[:, 0], other_atom[:, 1]),
    )
    earlier = np.searchsorted(graph.subject, own_atom[:, 0])
    coins = 2 * (own_atom[:, 2] == truth[own_fact]) + (other_atom[:, 2] == truth[other_fact])
    false_down = (s.kind == Kind.NOT) & ~right & ~root[fact]
    ends = np.concatenate([own_atom, other_atom]), np.concatenate([own_fact, other_fact])
    lies = (ends[0][:, 2] != truth[ends[1]]) & ~root[ends[1]]

    return {
        "share of a root's truth": chi_square_p_value(
            np.bincount(percent[root] - 60, minlength=41), np.full(41, root.sum() / 41), 1
        ),
        "distractors": among_others(model.distractor[root], truth[root]),
        "true samples of roots, at least 6 of 10": chi_square_p_value(
            counts.ravel(), expected.ravel(), len(shares)
        ),
        "false samples of downstream facts": _false_sample_p_value(world, model, fact, atomic & ~right),
        "truth labels": chi_square_p_value(
            honest_seen.ravel(), honest_expected.ravel(), int((honest_seen.sum(axis=0) > 0).sum())
        ),
        "false objects of not": among_others(s.a[false_down, 2], truth[fact[false_down]]),
        "false objects of and, or": among_others(ends[0][lies, 2], truth[ends[1][lies]]),
        "coins of and, or": chi_square_p_value(
            np.bincount(coins, minlength=4), np.full(4, len(coins) / 4), 1
        ),
        "order of and, or": chi_square_p_value(
            np.bincount(own_first, minlength=2), np.full(2, len(pairs) / 2), 1
        ),
        "earlier facts": uniformity_p_value(other_fact, earlier),
    }


def _false_sample_p_value(world: World, model: GenerativeModel, fact: np.ndarray, wrong: np.ndarray) -> float:
    """What is drawn beside the truth has the probabilities of its table, the truth left out."""
    wrong = wrong & (model.distractor[fact] < 0)
    table_of_entry = np.repeat(np.arange(len(model.offsets) - 1), np.diff(model.offsets))
    key = table_of_entry * len(world.graph.entities) + model.objects
    stated_keys = model.table[fact[wrong]] * len(world.graph.entities) + world.sentences.a[wrong, 2]
    observed = np.bincount(np.searchsorted(key, stated_keys), minlength=len(key))
    mode = np.zeros(len(key), bool)
    mode[np.searchsorted(key, model.table * len(world.graph.entities) + model.truth)] = True
    rest = np.where(mode, 0.0, model.probability)
    tables = len(model.offsets) - 1
    total = np.bincount(table_of_entry, weights=rest, minlength=tables)
    draws = np.bincount(table_of_entry, weights=observed, minlength=tables)
    expected = rest * (draws / np.maximum(total, 1e-300))[table_of_entry]
    # Tables in which every cell is expected often enough; their totals are given.
    least = np.full(tables, np.inf)
    np.minimum.at(least, table_of_entry[rest > 0], expected[rest > 0])
    is_tested = (least >= LEAST_EXPECTED)[table_of_entry] & (rest > 0)
    return chi_square_p_value(
        observed[is_tested], expected[is_tested], len(np.unique(table_of_entry[is_tested]))
    )
