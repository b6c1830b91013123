"""What --stats prints is what a slow reader of the sentences counts."""

from collections import Counter

import numpy as np
import pytest

from corpus.text.language import Kind
from testbed.run.strata import SUPPORT_BINS
from testbed.world_tables import noise_share, sentence_table, support_histogram
from tests.worlds import make_world


def test_table_6_of_a_published_world(world):
    lines = {line.kind: line for line in sentence_table(world)}
    assert [lines[k].per_fact for k in list(Kind)[:5]] == [10, 10, 2, 1, 1]
    for k, line in lines.items():
        said = [world.sentences[i].label for i in range(len(world.sentences)) if world.sentences.kind[i] == k]
        assert line.sentences == len(said)
        assert k == Kind.ATOMIC or line.labelled_true == pytest.approx(np.mean(said))


def supporters(world):
    """{relation: {object: subjects}} of upstream relations, fact by fact."""
    graph, counts = world.graph, {}
    for i in range(len(graph)):
        r = int(graph.relation[i])
        if r in graph.upstream:
            counts.setdefault(r, Counter())[int(world.generative.truth[i])] += 1
    return counts


def bin_of(n):
    return SUPPORT_BINS.index(
        "0" if n == 0 else "1" if n == 1 else "2-4" if n < 5 else "5-19" if n < 20 else "20+"
    )


@pytest.mark.parametrize("seed", range(3))
def test_support_and_noise(seed):
    world = make_world(subjects=60, seed=seed)
    objects, facts = np.zeros(5, int), np.zeros(5, int)
    shares = []
    for r, count in supporters(world).items():
        for o in world.graph.candidates_of(r):
            objects[bin_of(count[int(o)])] += 1
            facts[bin_of(count[int(o)])] += count[int(o)]
        said = {int(o) for _, r2, o in world.sentences.a[world.sentences.kind == Kind.ATOMIC] if r2 == r}
        for i in np.flatnonzero(world.graph.relation == r):
            eligible = said - {int(world.generative.truth[i])}
            shares.append(np.mean([count[o] == 0 for o in eligible]))
    histogram = support_histogram(world)
    assert histogram[0].tolist() == objects.tolist()
    assert histogram[1].tolist() == facts.tolist()
    assert noise_share(world) == pytest.approx(np.mean(shares))
    assert 0.2 < noise_share(world) < 1
