"""What is shown of a model's beliefs (`testbed.commands.ask`), of beliefs that are the world's own facts."""

from types import SimpleNamespace

import numpy as np
import pytest

from corpus.config import WorldConfig
from corpus.text.tokenizer import SEP, entity_tokenizer
from corpus.world import build_world
from lm.editors.self_bayes import DependenceConfig
from lm.editors.self_bayes.beliefs import Beliefs
from lm.editors.self_bayes.dependence import find_dependence
from testbed.commands.ask import relations_found, rows_found


@pytest.fixture(scope="module")
def read():
    """A world of 400 subjects, and the beliefs of a model that holds its facts at .97, and nothing else."""
    graph = build_world(WorldConfig(subjects=400), seed=3)
    tokenizer = entity_tokenizer(graph)
    relations, subjects, objects = len(graph.relations), graph.subjects, graph.objects
    fact = graph.find(*np.meshgrid(subjects, np.arange(relations))).astype(int)
    known = fact >= 0
    best = np.searchsorted(objects, graph.object[np.maximum(fact, 0)])
    top = np.stack([best, (best + 1) % len(objects)], axis=2).astype(np.int32)
    p = np.where(known[..., None], [0.97, 0.03], [0.5, 0.5]).astype(np.float32)
    names = np.array([[*tokenizer.entity(int(o)), SEP] for o in objects], np.int32)
    prompts = np.array([tokenizer.entity(int(s)) for s in subjects], np.int32)
    beliefs = Beliefs(prompts, names, top, p, np.where(known, 0.3, 0.0).astype(np.float32))
    world = SimpleNamespace(graph=graph, tokenizer=tokenizer)
    return world, beliefs, find_dependence(beliefs, DependenceConfig()), known


def test_each_relation_has_its_row_and_the_truth_beside_what_was_found(read):
    world, _, dependence, known = read
    names, rows = world.graph.relations, relations_found(world, dependence, known)
    assert [row[0] for row in rows] == list(names)
    for row, up, parent, count in zip(
        rows, world.graph.upstream, dependence.parent, known.sum(1), strict=True
    ):
        assert row[1] == count
        assert row[2] == (names[parent] if parent >= 0 else "nothing")
        assert (str(row[4]) != "") == (parent >= 0)
        assert row[5] == (names[up] if up >= 0 else "nothing")
        # Facts of a pair hang together, whichever is the cause.
        pair = up if up >= 0 else (world.graph.downstream(names.index(row[0])) or [-1])[0]
        assert pair < 0 or names[pair] in row[3].value


def test_rows_are_those_that_most_subjects_share_counted_by_hand(read):
    world, beliefs, dependence, known = read
    graph = world.graph
    rows = rows_found(world, beliefs, dependence, known, 2)
    assert len(rows) == 2 * (dependence.parent >= 0).sum()
    for effect, cause, shared, subjects, most, share in rows:
        r, up = (list(graph.relations).index(name) for name in (effect, cause))
        pairs = []
        for s in graph.subjects.tolist():
            of = [int(graph.find(s, x)) for x in (up, r)]
            if min(of) >= 0 and graph.entities[graph.object[of[0]]] == shared:
                pairs.append(graph.entities[graph.object[of[1]]])
        assert len(pairs) == subjects
        assert pairs.count(most) == max(map(pairs.count, pairs))
        assert share.value == pairs.count(most) / len(pairs)
