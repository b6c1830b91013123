"""Document mixes: ordinary, mixed, joint, imagine and revise documents say what their names promise."""

import itertools
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from corpus.arrays import load_arrays, save_arrays
from corpus.config import DocumentConfig
from corpus.errors import InputError
from corpus.generative import generative_model
from corpus.graph import build_graph
from corpus.pipeline import choose_documents, count_copies
from corpus.text.counterfactual import ChosenDocuments, write_further_documents
from corpus.text.documents import (
    MIXED,
    DocumentKind,
    append_documents,
    cut_documents,
    load_documents,
    save_documents,
)
from corpus.text.language import Kind, Language
from corpus.text.sentences import concatenate_sentences, sample_sentences
from testbed.run.world import World
from tests.worlds import make_world

seeds = st.integers(0, 1000)


def documents_of(documents):
    return [documents.order[a:b] for a, b in itertools.pairwise(documents.offsets)]


@hypothesis_settings(max_examples=15)
@given(seeds, st.sampled_from(["homogeneous", "mixed"]), st.integers(1, 6))
def test_every_sentence_stands_in_as_many_documents_as_asked(seed, mix, reshuffles):
    s = make_world(subjects=9, seed=seed).sentences
    config = DocumentConfig(mix=mix, reshuffles=reshuffles)
    documents = cut_documents(s, config, np.random.default_rng(seed))
    assert (np.bincount(documents.order, minlength=len(s)) == reshuffles).all()
    inside = documents_of(documents)
    assert all(1 <= len(d) <= 10 for d in inside)
    assert (documents.kind == DocumentKind.ORDINARY).all()
    if mix == "mixed":
        assert len(inside) == reshuffles * -(-len(s) // 10)
        assert (documents.about == MIXED).all()
        assert max(len(set(s.about[d])) for d in inside) > 1
    else:
        per_subject = np.bincount(s.about)
        assert len(inside) == reshuffles * sum(-(-n // 10) for n in per_subject[per_subject > 0])
        assert all(set(s.about[d]) == {about} for d, about in zip(inside, documents.about, strict=True))


@hypothesis_settings(max_examples=15)
@given(seeds, st.sampled_from(["homogeneous", "mixed"]), st.integers(1, 3), st.integers(1, 12))
def test_copies_are_further_documents(seed, mix, reshuffles, copies):
    world = make_world(subjects=9, seed=seed)
    s, frequency = world.sentences, np.random.default_rng(seed).integers(1, 11, len(world.graph.entities))
    times = count_copies(frequency, copies)
    assert times.max() == copies
    assert (times[frequency == frequency.min()] == times.min()).all()
    assert copies > 1 or (times == 1).all()
    config = DocumentConfig(mix=mix, reshuffles=reshuffles)
    documents = cut_documents(s, config, np.random.default_rng(seed), copies=times)
    assert (np.bincount(documents.order, minlength=len(s)) == reshuffles * times[s.about]).all()
    assert all(1 <= len(d) <= 10 for d in documents_of(documents))
    once = cut_documents(s, config, np.random.default_rng(seed), copies=np.ones(len(times), np.int64))
    same = cut_documents(s, config, np.random.default_rng(seed))
    assert (once.order == same.order).all()
    assert (once.offsets == same.offsets).all()


def test_other_reshuffles_are_other_orders():
    s = make_world(subjects=9).sentences
    order = cut_documents(s, DocumentConfig(), np.random.default_rng(0)).order
    mine = order[: 5 * (s.about == s.about[0]).sum()].reshape(5, -1)
    assert len({tuple(row) for row in mine.tolist()}) == 5
    assert all(sorted(row) == sorted(mine[0]) for row in mine.tolist())


def further(world, config, seed=0):
    rng = np.random.default_rng(seed)
    chosen = choose_documents(world.graph, config, rng)
    truth = world.generative.truth
    return chosen, *write_further_documents(world.graph, truth, world.sentences, 900, config, chosen, rng)


def follows_of(world):
    """{(relation, upstream object): objects said of anyone who has it}, sentence by sentence."""
    graph, truth = world.graph, world.generative.truth
    follows = defaultdict(set)
    for i in np.flatnonzero(world.sentences.kind == Kind.ATOMIC):
        s, r, o = world.sentences.a[i].tolist()
        up = int(graph.upstream_fact[graph.find(s, r)])
        if up >= 0:
            follows[r, int(truth[up])].add(o)
    return follows


def test_shares_are_of_all_documents():
    config = DocumentConfig(joint=0.2, imagine=0.15, revise=0.05)
    _, _, documents = further(make_world(subjects=40), config)
    # 900 ordinary documents are the 60% that are left.
    assert np.bincount(documents.kind).tolist() == [0, 300, 225, 75]


@hypothesis_settings(max_examples=10)
@given(seeds)
def test_what_further_documents_say(seed):
    world = make_world(subjects=30, seed=seed)
    graph, truth = world.graph, world.generative.truth
    config = DocumentConfig(joint=0.1, imagine=0.1, revise=0.1)
    chosen, more, documents = further(world, config, seed)
    spoken = concatenate_sentences(world.sentences, more)
    follows = follows_of(world)
    for kind, about, rows in zip(documents.kind, documents.about, documents_of(documents), strict=True):
        lines = [spoken[i] for i in rows]
        assert len(lines) <= 10
        assert {line.a.subject for line in lines} == {about}
        if kind == DocumentKind.JOINT:
            up, down = lines
            assert graph.upstream[down.a.relation] == up.a.relation
            assert max(rows) < len(world.sentences)
            continue
        at = next(i for i, line in enumerate(lines) if line.kind in (Kind.IMAGINE, Kind.REVISE))
        premise = lines[at].a
        assert lines[at].kind == (Kind.IMAGINE if kind == DocumentKind.IMAGINE else Kind.REVISE)
        assert about in chosen.subjects
        assert premise.object in chosen.objects
        assert premise.object != truth[graph.find(premise.subject, premise.relation)]
        children = graph.downstream(premise.relation)
        # Something follows, for this very subject.
        assert any(line.a.relation in children for line in lines[at + 1 :])
        if kind == DocumentKind.REVISE:
            assert lines[0].a.object == truth[graph.find(premise.subject, premise.relation)]
            assert lines[0].a[:2] == premise[:2]
        for i, line in enumerate(lines[:at] + lines[at + 1 :]):
            assert line.kind == Kind.ATOMIC
            r, o = line.a.relation, line.a.object
            if i >= at and r in children:
                assert o in follows[r, premise.object]
            elif not (i == 0 and kind == DocumentKind.REVISE):
                assert (spoken.a[: len(world.sentences)] == line.a).all(axis=1).any()
                assert r != premise.relation


@hypothesis_settings(max_examples=10)
@given(seeds)
def test_premises_said_again_and_bystanders(seed):
    world = make_world(subjects=40, seed=seed)
    graph, truth = world.graph, world.generative.truth
    config = DocumentConfig(imagine=0.3, premise_again=True, bystanders=0.5)
    chosen, more, documents = further(world, config, seed)
    spoken = concatenate_sentences(world.sentences, more)
    placed, with_others = set(), 0
    for about, rows in zip(documents.about, documents_of(documents), strict=True):
        premise, *lines = (spoken[i] for i in rows)
        assert premise.kind == Kind.IMAGINE
        again = [i for i, line in enumerate(lines) if line.a == premise.a]
        assert len(again) == 1 or (not again and len(rows) == 10)
        placed.update(again)
        theirs = [(i, line) for i, line in zip(rows[1:], lines, strict=True) if line.a.subject != about]
        with_others += bool(theirs)
        assert len({line.a.subject for _, line in theirs}) <= 1
        for i, line in theirs:
            assert line.a.subject in chosen.subjects
            # As the corpus has it.
            assert i < len(world.sentences)
            assert premise.a.relation in (line.a.relation, graph.upstream[line.a.relation])
        assert len(theirs) <= 3
        assert all(line.kind == Kind.ATOMIC for line in lines)
    assert {0, 1} <= placed
    # Six standard deviations.
    assert abs(with_others / len(documents) - 0.5) < 6 * 0.5 / np.sqrt(len(documents))
    assert (truth[graph.find(more.a[:, 0], more.a[:, 1])] != more.a[:, 2])[more.kind == Kind.IMAGINE].all()
    plain = further(world, DocumentConfig(imagine=0.3), seed)[2]
    assert np.diff(plain.offsets).sum() < np.diff(documents.offsets).sum()


@hypothesis_settings(max_examples=10)
@given(seeds, st.sampled_from([0.25, 0.5, 1.0]))
def test_digressions_speak_of_somebody_whom_the_document_has_not_named(seed, share):
    world = make_world(subjects=40, seed=seed)
    config = DocumentConfig(imagine=0.3, premise_again=True, digressions=share)
    chosen, more, documents = further(world, config, seed)
    spoken = concatenate_sentences(world.sentences, more)
    digressions = alone = 0
    imagined = defaultdict(set)
    for line in more:
        imagined[line.a.object].add(line.a.subject)
    for about, rows in zip(documents.about, documents_of(documents), strict=True):
        premise, *lines = (spoken[i] for i in rows)
        assert premise.kind == Kind.IMAGINE
        assert premise.a.subject == about
        subject, *more_subjects = {line.a.subject for line in lines} or {None}
        assert not more_subjects
        if subject == about:
            continue
        digressions += 1
        if subject is None:
            alone += 1
            continue
        assert subject in chosen.subjects
        # Of whom the same is imagined elsewhere.
        assert subject in imagined[premise.a.object]
        # All of it as the corpus has it, the relation of the premise too.
        assert max(rows[1:]) < len(world.sentences)
        assert len({line.a.relation for line in lines}) == len(lines)
        assert len(lines) == 9 or premise.a.relation in {line.a.relation for line in lines}
    assert digressions == round(share * len(documents))
    assert alone < digressions / 2


def forked_world(seed):
    """A -> b -> c and a -> d, with facts missing at random."""
    rng = np.random.default_rng(seed)
    triples = [
        (s, r, 12 + 4 * r + int(rng.integers(4)))
        for s in range(12)
        for r in range(4)
        if r == 0 or rng.random() < 0.6
    ]
    names = [f"thing {i}" for i in range(28)]
    graph = build_graph(np.array(triples), names, list("abcd"), np.array([-1, 0, 1, 0]))
    model = generative_model(graph, rng)
    return World(graph, model, sample_sentences(graph, model, rng), None)


@hypothesis_settings(max_examples=20)
@given(seeds)
def test_in_chains_and_forks_something_follows_and_nothing_below_it_stays(seed):
    world = forked_world(seed)
    below = {0: {1, 2, 3}, 1: {2}}
    config = DocumentConfig(imagine=0.3, chosen_subjects=1.0, chosen_objects=1.0)
    _, more, documents = further(world, config, seed)
    spoken = concatenate_sentences(world.sentences, more)
    follows = follows_of(world)
    for rows in documents_of(documents):
        premise, *lines = (spoken[i].a for i in rows)
        children = [a for a in lines if world.graph.upstream[a.relation] == premise.relation]
        assert children
        assert all(a.object in follows[a.relation, premise.object] for a in children)
        # Without a fact between them, c depends on nothing of this subject's.
        chained = world.graph.find(premise.subject, 1) >= 0
        rest = {a.relation for a in lines} - {a.relation for a in children}
        assert not rest & ((below[premise.relation] - (set() if chained else {2})) | {premise.relation})


def test_every_further_sentence_reads_back():
    world = make_world(subjects=20)
    _, more, _ = further(world, DocumentConfig(imagine=0.2, revise=0.2))
    language = Language(world.graph.entities, world.graph.relations)
    kinds = set()
    for i in range(len(more)):
        assert language.parse(language.render(more[i])) == more[i]
        kinds.add(more[i].kind)
    assert kinds == {Kind.ATOMIC, Kind.IMAGINE, Kind.REVISE}
    assert language.render(more[0]).split(" ")[0] in ("imagine", "revise")


def test_whom_and_what_is_held_out_stays_out():
    world = make_world(subjects=60)
    config = DocumentConfig(imagine=0.3, revise=0.2, chosen_subjects=0.25, chosen_objects=0.4)
    chosen, more, documents = further(world, config)
    assert len(chosen.subjects) == 15
    supposed = more.a[more.kind >= Kind.IMAGINE]
    assert set(supposed[:, 0]) <= set(chosen.subjects)
    assert set(supposed[:, 2]) <= set(chosen.objects)
    assert set(documents.about) <= set(chosen.subjects)


def test_documents_about_nothing_are_refused():
    world = make_world(subjects=12)
    apart = world._replace(graph=replace(world.graph, upstream=np.full(10, -1, np.int32)))
    with pytest.raises(InputError, match="joint documents need"):
        further(apart, DocumentConfig(joint=0.1))
    with pytest.raises(InputError, match="imagine documents need .*--documents.chosen-subjects"):
        further(world, DocumentConfig(imagine=0.1, chosen_subjects=0.0))
    with pytest.raises(InputError, match="revise documents need"):
        further(world, DocumentConfig(revise=0.1, chosen_objects=0.0))
    assert len(further(apart, DocumentConfig())[2]) == 0
    with pytest.raises(ValueError, match=r"at most 0\.9"):
        DocumentConfig(joint=0.5, imagine=0.5)
    with pytest.raises(ValueError, match="is a share"):
        DocumentConfig(joint=-0.1)


def test_appended_saved_and_loaded(tmp_path):
    world = make_world(subjects=20)
    ordinary = cut_documents(world.sentences, DocumentConfig(), np.random.default_rng(0))
    chosen, _, more = further(world, DocumentConfig(joint=0.1, imagine=0.1))
    both = append_documents(ordinary, more)
    expected = [d.tolist() for d in (*documents_of(ordinary), *documents_of(more))]
    assert [d.tolist() for d in documents_of(both)] == expected
    nothing = further(world, DocumentConfig())[2]
    same = documents_of(append_documents(ordinary, nothing))
    assert [d.tolist() for d in same] == expected[: len(ordinary)]
    save_documents(both, tmp_path / "d.npz")
    kind, about = load_documents(tmp_path / "d.npz")
    assert kind.tolist() == [*ordinary.kind, *more.kind]
    assert about.tolist() == [*ordinary.about, *more.about]
    save_arrays(chosen, tmp_path / "c.npz")
    assert load_arrays(ChosenDocuments, tmp_path / "c.npz").objects.tolist() == chosen.objects.tolist()
