"""Facts that depend on facts of linked subjects: the exact agent against enumeration; what is not a link."""

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from bayes.exact import fit_exact
from bayes.request import EditRequest
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.exact import draw_world, sample_exact
from corpus.graph import build_graph, load_graph, save_graph
from corpus.text.language import Kind
from corpus.text.sentences import concatenate_sentences
from tests import naive
from tests.examples import holds_for
from tests.test_exact_agent import (
    assert_a_change_equals_enumeration,
    assert_equals_enumeration,
    certificates,
    configs,
    edit,
    facts_of,
    own_fact,
)

# Random worlds that each comparison with enumeration sees: by default, and among the slow tests.
RESOLVED = {"few": 30, "many": 150}
EDITED = {"few": 60, "many": 300}
CHANGED = {"few": 40, "many": 150}
# Relations of every shape: kind of subject, relation it depends on, link. Kinds are 0 tower, 1 park, 2 pub.
SHAPES = {
    "pair": ([0, 1, 1], [-1, -1, 0], [-1, -1, 1]),
    "fork over the link": ([0, 1, 1, 1], [-1, -1, 0, 0], [-1, -1, 1, 1]),
    "fork at the parent": ([0, 0, 1, 1], [-1, 0, -1, 0], [-1, -1, -1, 2]),
    "chain behind the link": ([0, 1, 1, 1], [-1, -1, 0, 2], [-1, -1, 1, -1]),
    "chain before the link": ([0, 0, 1, 1], [-1, 0, -1, 1], [-1, -1, -1, 2]),
    "chain of links": ([0, 1, 1, 2, 2], [-1, -1, 0, -1, 2], [-1, -1, 1, -1, 3]),
    "two links to one": ([0, 1, 1, 2, 2], [-1, -1, 0, -1, 0], [-1, -1, 1, -1, 3]),
}
DEEP = ("chain behind the link", "chain before the link", "chain of links")
worlds = st.tuples(st.integers(0, 10**6), configs, st.sampled_from([*SHAPES])).filter(
    lambda w: w[1].persistence == "fact" or w[2] not in DEEP
)


def linked_graph(rng, shape, per_kind=2, size=2):
    """`per_kind` subjects of every kind, links paired off at random, objects drawn, some facts missing."""
    kinds, upstream, via = (np.array(x) for x in SHAPES[shape])
    links = set(via[via >= 0].tolist())
    subjects = [np.arange(k * per_kind, (k + 1) * per_kind) for k in range(max(kinds) + 1)]
    first, triples, candidates = per_kind * len(subjects), [], []
    for r, kind in enumerate(kinds):
        if r in links:
            child = int(np.flatnonzero(via == r)[0])
            towards = subjects[kinds[upstream[child]]]
            candidates.append(towards)
            triples += [(s, r, o) for s, o in zip(subjects[kind], rng.permutation(towards), strict=True)]
        else:
            candidates.append(np.arange(first, first + size))
            first += size
            triples += [(s, r, rng.choice(candidates[-1])) for s in subjects[kind]]
    kept = [t for t in triples if t[1] in links or rng.random() < 0.9]
    names = [f"thing {i}" for i in range(first)]
    relations = [f"rel{r}" for r in range(len(kinds))]
    assume({s for s, _, _ in kept} == {s for s, _, _ in triples})
    return build_graph(np.array(kept), names, relations, upstream, None, candidates, via=via)


def linked_world(seed, config, shape, open_subjects):
    """A world whose facts are settled but for those of the open subjects, which say little."""
    rng = np.random.default_rng(seed)
    # A link to one of two is half right by chance, so that noise is to be less.
    graph = linked_graph(rng, shape, size=(2, 3)[seed % 2])
    graph, model = draw_world(graph, config, rng, redraw=True)
    sentences, _ = sample_exact(graph, model, config, rng)
    touched = np.isin(sentences.a[:, 0], open_subjects) | np.isin(sentences.b[:, 0], open_subjects)
    few = (rng.random(len(sentences)) < rng.choice([0.05, 0.15, 0.4])) & (sentences.kind <= Kind.NOT)
    sentences = sentences.take(few | ~touched)
    shut = ~np.isin(graph.subject, open_subjects)
    spoken = np.unique(graph.find(sentences.a[:, 0], sentences.a[:, 1]))
    has_truth = (graph.upstream_fact < 0) | (config.persistence == "fact")
    settled = spoken[has_truth[spoken] & shut[spoken]]
    above = graph.upstream_fact[np.flatnonzero(shut)]
    above = above[above >= 0]
    # What a settled fact hangs on is settled too, be it of an open subject.
    return graph, concatenate_sentences(sentences, certificates(graph, np.union1d(settled, above)))


def group_of(graph, subject):
    """A subject and all whom links join with it."""
    group = {subject}
    pairs = [(int(graph.subject[f]), int(graph.object[f])) for f in np.flatnonzero(graph.is_link)]
    while more := {x for pair in pairs if group & {*pair} for x in pair} - group:
        group |= more
    return sorted(group)


@holds_for(st.integers(0, 10**6), st.sampled_from([*SHAPES]), few=60, many=200)
def test_facts_depend_on_whom_the_link_names(seed, shape):
    graph = linked_graph(np.random.default_rng(seed), shape)
    assert graph.upstream_fact.tolist() == [naive.upstream_fact(graph, f) for f in range(len(graph))]
    assert not graph.upstream_fact[graph.is_link].max(initial=-1) >= 0
    # Of one relation, a tree has one fact.
    for fact in np.flatnonzero(graph.upstream_fact < 0).tolist():
        tree = [fact]
        for one in tree:
            tree += graph.dependents.get(one, [])
        assert len({*graph.relation[tree].tolist()}) == len(tree)


@holds_for(worlds, **RESOLVED)
def test_beliefs_in_a_resolved_world_equal_enumeration(world):
    seed, config, shape = world
    graph, sentences = linked_world(seed, config, shape, [])
    assert_equals_enumeration(fit_exact(graph, config, sentences), sentences, range(len(graph)))


@holds_for(worlds, st.integers(0, 2), **EDITED)
def test_edits_of_linked_subjects_in_doubt_equal_enumeration(world, count):
    """All whom links join are in doubt, any is edited by evidence or correction, and everybody is asked."""
    seed, config, shape = world
    rng = np.random.default_rng(seed)
    graph = linked_graph(np.random.default_rng(seed), shape, size=(2, 3)[seed % 2])
    open_subjects = group_of(graph, 0)
    graph, sentences = linked_world(seed, config, shape, open_subjects)
    agent = fit_exact(graph, config, sentences).with_focus(open_subjects)
    free = [f for f in facts_of(graph, open_subjects) if not graph.is_link[f]]
    agent, extra = edit(rng, agent, free, count)
    assert_equals_enumeration(agent, sentences, range(len(graph)), extra)


@holds_for(worlds, st.sampled_from([0.0, 0.4, 1.0]), st.integers(0, 1), **CHANGED)
def test_a_change_carried_through_links_equals_enumeration(world, redraw, before):
    """The world changes in a fact of a tower; what depends on it, of whomever, is drawn again."""
    seed, config, shape = world
    rng = np.random.default_rng(seed)
    graph = linked_graph(np.random.default_rng(seed), shape, size=(2, 3)[seed % 2])
    open_subjects = group_of(graph, 0)
    graph, sentences = linked_world(seed, config, shape, open_subjects)
    assume(any(own_fact(fit_exact(graph, config, sentences), f) for f in facts_of(graph, [0])))
    agent = fit_exact(graph, config, sentences).with_focus(open_subjects)
    free = [f for f in facts_of(graph, open_subjects) if not graph.is_link[f]]
    agent, extra = edit(rng, agent, free, before)
    assert_a_change_equals_enumeration(rng, agent, sentences, extra, redraw)


NAMES = ["Old Tower", "New Tower", "Park", "Garden", "York", "Rome", "Bath"]
RELATIONS = ["located in", "near", "lies in"]
TOWERS = [(0, 0, 4), (1, 0, 5), (2, 1, 0), (3, 1, 1), (2, 2, 4), (3, 2, 5)]


def built(triples=TOWERS, upstream=(-1, -1, 0), via=(-1, -1, 1)):
    candidates = [np.array([4, 5, 6]), np.array([0, 1]), np.array([4, 5, 6])]
    return build_graph(
        np.array(triples), NAMES, RELATIONS, np.array(upstream), None, candidates, via=np.array(via)
    )


def test_links_are_kept_on_disk(tmp_path):
    graph = built()
    save_graph(graph, tmp_path)
    np.testing.assert_array_equal(load_graph(tmp_path).upstream_fact, graph.upstream_fact)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"triples": [*TOWERS[:2], (2, 1, 4), *TOWERS[3:]]},
            "Park' near 'York', about which the world has no fact",
        ),
        ({"triples": [*TOWERS[:2], (2, 1, 2), *TOWERS[3:]]}, "Park' near itself"),
        ({"triples": [*TOWERS, (2, 1, 1)]}, "Park' has several objects of the link 'near'"),
        ({"triples": [*TOWERS[:3], (3, 1, 0), *TOWERS[4:]]}, "'Park' and 'Garden' both have 'lies in'"),
        ({"upstream": (-1, 0, 0)}, "the link 'near' depends on another relation"),
        ({"upstream": (2, -1, 0), "via": (1, -1, 1)}, "depends on itself"),
    ],
)
def test_what_is_no_link_is_refused(changed, message):
    with pytest.raises(InputError, match=message):
        built(**changed)


@pytest.mark.parametrize("kind", ["evidence", "correction", "do"])
def test_links_are_given_and_take_no_edit(kind):
    graph = built()
    config = ExactConfig(noise=0.1)
    agent = fit_exact(graph, config, certificates(graph, np.array([], int)))
    np.testing.assert_array_equal(agent.predict(2, 1).dense_probabilities(), [1.0, 0.0])
    assert not agent.accepts(2, 1, kind)
    assert agent.accepts(0, 0, kind)
    with pytest.raises(InputError, match="'Park near' is a link"):
        agent.with_edit(EditRequest(2, 1, 1, kind=kind))
