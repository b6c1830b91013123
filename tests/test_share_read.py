"""An ideal reader concludes from what it knows of others alone; and its answers are judged as an editor's."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from experiments.measures.concluded import answered_metric, find_named
from experiments.studies.share_read import conclude_ideally
from testbed.evaluations.hase import CHILD
from testbed.evaluations.hase.metrics import FOLLOWS, rows_of_role
from tests.random_answers import draw_answers, flat, scores

SEEDS = st.integers(0, 2**31)


def requests_of(world, rng, count):
    """Of relations that others depend on: int[count, 4], subject, relation, object, dependent relation."""
    child = rng.choice(np.flatnonzero(world.graph.upstream >= 0), count)
    relation = world.graph.upstream[child]
    objects = [rng.choice(world.graph.object[world.graph.relation == r]) for r in relation]
    return np.column_stack([rng.choice(world.graph.subjects, count), relation, objects, child])


@given(SEEDS, st.floats(0, 1))
def test_an_ideal_reader_takes_what_most_of_those_have_whom_it_knows(world, seed, share):
    graph, rng = world.graph, np.random.default_rng(seed)
    known = graph.subjects[rng.random(len(graph.subjects)) < share]
    cases = requests_of(world, rng, 8)
    facts = {(s, r): o for s, r, o in zip(graph.subject, graph.relation, world.generative.truth, strict=True)}
    for answer, (s, r, o, child) in zip(conclude_ideally(world, known, cases.T), cases, strict=True):
        peers = [one for one in known if one != s and facts.get((one, r)) == o and (one, child) in facts]
        counts = Counter(facts[one, child] for one in peers)
        assert counts.get(answer, 0) == max(counts.values(), default=0)
        assert (answer == -1) == (not peers)


def test_who_is_named_is_found(world):
    wanted = world.graph.subjects[2:5]
    rows = [[0, 1, *world.tokenizer.entity(int(s))] for s in wanted]
    rows[1][-1] = 1_000_000
    assert find_named(np.array(rows), world).tolist() == [wanted[0], wanted[2]]


@given(SEEDS)
def test_answers_are_judged_as_those_of_an_editor(seed):
    drawn = draw_answers(seed)
    results = flat(drawn)
    said = results.choices.lm_answer[rows_of_role(results, CHILD), 1]
    mine, theirs = answered_metric(results, said), scores(drawn)[FOLLOWS]
    np.testing.assert_array_equal(mine.numerator, theirs.numerator)
    np.testing.assert_array_equal(mine.denominator, theirs.denominator)
    assert not answered_metric(results, np.full(len(results), -1)).numerator.any()
