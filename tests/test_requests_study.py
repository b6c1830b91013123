"""The study of requests: which settings it chooses, and who is asked what."""

import numpy as np
import pytest

from corpus.text.documents import Documents
from corpus.text.store import TokenFile, document_lengths, join_documents, spell_sentences
from experiments.measures.request_aims import measure_trial
from experiments.measures.untold import AT_ONCE, choose_batch, cut_sentences, sentences_about
from testbed.engine.controls.forms import ModelBelief
from testbed.evaluations.requests import Requests
from tests.worlds import HEDGED, make_hedged


def test_who_believes_what_the_agent_believes_aims_at_a_slope_of_one():
    world, agent = make_hedged()
    world, graph = world._replace(exact=(HEDGED, None, True)), world.graph
    stated = world.generative.statements > 0
    pairs = zip(graph.subject.tolist(), graph.relation.tolist(), strict=True)
    beliefs = {
        fact: ModelBelief(agent.predict(*pair).dense_probabilities() + 1e-12, 1.0 if stated[fact] else 0.0)
        for fact, pair in enumerate(pairs)
    }
    cases = list(Requests(forms=("source",), others=1).make_cases(world, agent, 60, 0.95, 0))
    ours = measure_trial([(world, beliefs, cases)], "keyed-forms", 0.15)
    rival = measure_trial([(world, beliefs, cases)], "keyed-face-value", 0.9)
    assert ours.slope == pytest.approx(1.0, abs=0.15)
    assert ours.distance < 0.1 < rival.distance


def test_a_corpus_without_sentences_says_all_else_in_the_same_order():
    world, _ = make_hedged()
    said, tokenizer = world.sentences, world.tokenizer
    count = len(said.kind)
    # The last sentence stands alone in the second document.
    order = np.array([0, count - 1, *range(1, count - 1)], np.int32)
    documents = Documents(order, np.array([0, 1, 2, count]), np.zeros(3), np.zeros(3))
    spelled = spell_sentences(said, tokenizer)

    def write(documents):
        offsets = np.append(0, np.cumsum(document_lengths(documents, spelled)))
        return TokenFile(np.concatenate([x for _, x in join_documents(documents, spelled, offsets)]), offsets)

    gone = sentences_about(world, world.graph.find(*said.a[-1:, :2].T).tolist())
    assert gone[-1]
    assert 1 < gone.sum() < count - 1
    left = cut_sentences(write(documents), world, said.take(gone))
    kept = order[~gone[order]]
    expected = Documents(kept, np.array([0, 1, len(kept)]), np.zeros(2), np.zeros(2))
    np.testing.assert_array_equal(left.tokens, write(expected).tokens)
    np.testing.assert_array_equal(left.offsets, write(expected).offsets)


def test_facts_that_a_model_is_not_told_are_of_different_subjects():
    world, agent = make_hedged()
    whole = Requests(forms=("retraction",), claims=("own",), withdrawn="fact", others=1, texts=0)
    batch = choose_batch(list(whole.make_cases(world, agent, 40, 0.95, 0)))
    subjects = [case.request.subject for case in batch]
    assert len(subjects) == len({*subjects}) == AT_ONCE
