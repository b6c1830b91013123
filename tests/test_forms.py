"""keyed-forms: what requests make of beliefs, beside the exact agent whose beliefs they are."""

import numpy as np
import pytest

from bayes.request import EditRequest
from corpus.errors import InputError
from corpus.text.tokenizer import BOS, PAD, SEP, Word
from lm.editors.self_bayes.revision import Targets
from testbed.engine.controls import FormsConfig, forms
from testbed.engine.controls.forms import ModelBelief, Reasoner, keyed_forms, label_targets
from testbed.engine.evidence import evidence_of
from testbed.evaluations.requests import Requests
from testbed.settings import EditSettings
from tests.worlds import HEDGED, make_hedged, make_world


@pytest.fixture(scope="module")
def place():
    world, agent = make_hedged()
    return world._replace(exact=(HEDGED, None, True)), agent


@pytest.fixture(scope="module")
def beliefs(place):
    """A model that believes what the agent believes, and speaks of what was stated."""
    world, agent = place
    graph, stated = world.graph, world.generative.statements > 0
    pairs = zip(graph.subject.tolist(), graph.relation.tolist(), strict=True)
    beliefs = [agent.predict(s, r).dense_probabilities() for s, r in pairs]
    return {f: ModelBelief(np.maximum(p, 1e-300), 1.0 if stated[f] else 0.0) for f, p in enumerate(beliefs)}


def facts_in_doubt(place, count=12):
    """Facts that no sentence settles, each with an object that is possible and one that is another."""
    world, agent = place
    graph, found = world.graph, []
    for f, (s, r) in enumerate(zip(graph.subject.tolist(), graph.relation.tolist(), strict=True)):
        objects = graph.candidates_of(r)
        able = objects[~agent.rules_out(s, r, objects)]
        if agent.accepts(s, r, "evidence") and len(able) > 2:
            found.append((f, s, r, *able[[0, -1]].tolist()))
    return found[:count]


FORMS = {
    "assertion": {},
    "true": {},
    "false": {},
    "denial": {},
    "disjunction": {"others": True},
    "source": {"probability": 0.9},
    "probability": {"probability": 0.3},
}


@pytest.mark.parametrize("form", FORMS)
def test_of_a_fact_that_was_read_it_makes_what_the_agent_makes(place, beliefs, form):
    world, agent = place
    reasoner, graph = Reasoner(world, beliefs, FormsConfig(sharpness=1.0)), world.graph
    seen = 0
    for f, s, r, o, other in facts_in_doubt(place, 60):
        if beliefs[f].mention == 0:
            continue
        details = {name: (other,) if name == "others" else value for name, value in FORMS[form].items()}
        request = EditRequest(s, r, o, form=form, **details)
        after = reasoner.beliefs_after(request, 0.95)
        expected = agent.with_edit(evidence_of(agent, request, 0.95)).predict(s, r).dense_probabilities()
        np.testing.assert_allclose(after[f], expected, atol=1e-6)
        assert next(iter(after)) == f
        assert {*after} == {*graph.facts_of(s)}
        for belief in after.values():
            np.testing.assert_allclose(belief.sum(), 1.0, atol=1e-9)
        seen += 1
    assert seen > 5


def test_what_was_never_read_is_what_its_cause_implies(place, beliefs, monkeypatch):
    """Near the agent, which knows how facts are drawn; the model's own word about it counts for nothing."""
    world, agent = place
    graph = world.graph
    unread = [f for f in beliefs if beliefs[f].mention == 0 and graph.upstream_fact[f] >= 0]
    nonsense = beliefs | {f: ModelBelief(np.eye(len(beliefs[f].p))[0] + 1e-12, 0.0) for f in unread}
    monkeypatch.setattr(forms, "ROOT_PRIOR", 0.5)
    reasoner, far = Reasoner(world, nonsense, FormsConfig(prior=0.5)), []
    for f in unread[:20]:
        s, r = int(graph.subject[f]), int(graph.relation[f])
        cause = int(graph.upstream_fact[f])
        implied = reasoner.imply(f, {cause: reasoner.join(f, cause)})
        far.append(abs(implied - agent.predict(s, r).dense_probabilities()).sum() / 2)
    assert np.mean(far) < 0.15


def test_what_is_taken_back_as_a_whole_leaves_what_others_imply(place, beliefs, monkeypatch):
    world, agent = place
    monkeypatch.setattr(forms, "ROOT_PRIOR", 0.5)
    reasoner, graph, far = Reasoner(world, beliefs, FormsConfig(prior=0.5)), world.graph, []
    for f, s, r, o, _ in facts_in_doubt(place, 60):
        others = tuple(x for x in graph.candidates_of(r).tolist() if x != o)
        request = EditRequest(s, r, o, form="retraction", others=others)
        never = agent.with_edit(request).predict(s, r).dense_probabilities()
        far.append(abs(reasoner.beliefs_after(request, 0.95)[f] - never).sum() / 2)
    assert np.mean(far) < 0.15


def test_at_face_value_the_object_has_what_is_said_and_nothing_follows(place, beliefs):
    world, _ = place
    reasoner, graph = Reasoner(world, beliefs, FormsConfig(at_face_value=True, trust=1.0)), world.graph
    for f, s, r, o, _ in facts_in_doubt(place):
        after = reasoner.beliefs_after(EditRequest(s, r, o, form="source", probability=0.7), 0.95)
        assert after[f][np.searchsorted(graph.candidates_of(r), o)] == pytest.approx(0.7)
        assert all((after[g] == reasoner.model_belief[g]).all() for g in after if g != f)


def test_a_corpus_whose_sentences_have_no_likelihoods_is_refused():
    with pytest.raises(InputError, match="--kind exact"):
        keyed_forms(FormsConfig(), EditSettings(), make_world())


def test_what_is_withdrawn_of_a_whole_fact_names_all_objects():
    world, agent = make_hedged()
    whole = Requests(forms=("retraction",), claims=("own",), withdrawn="fact", others=1)
    for case in whole.make_cases(world, agent, 5, 0.95, 0):
        named = {case.request.object, *case.request.others}
        assert named == {*world.graph.candidates_of(case.request.relation).tolist()}


def test_labels_are_told_as_far_as_their_objects_are_believed():
    """Of a belief in two objects; the place that has none weighs nothing."""
    words = np.arange(50, 50 + len(Word)).astype(np.int32)
    objects = np.array([[[7, SEP], [8, SEP], [8, SEP]]], np.int32)
    share, p = np.ones(1, np.float32), np.array([[0.75, 0.25, 0.0]], np.float32)
    beliefs = Targets(np.array([[PAD, BOS, 5, 6]], np.int32), share, objects, p, share)
    labels = label_targets(beliefs, words, 3)
    quote, verb, true, false = (words[w] for w in (Word.QUOTE, Word.IS, Word.TRUE, Word.FALSE))
    first, second, _ = ([int(t) for t in row if t != PAD] for row in np.asarray(labels.prompts))
    assert first == [BOS, quote, 5, 6, 7, quote, verb]
    assert second == [BOS, quote, 5, 6, 8, quote, verb]
    assert np.asarray(labels.objects)[0, :, 0].tolist() == [true, false]
    np.testing.assert_allclose(labels.probability[:, 0], [0.75, 0.25, 0.0])
    np.testing.assert_allclose(labels.weight, [1, 1, 0])
