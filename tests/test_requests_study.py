"""The study of requests: which settings it chooses, and who is asked what."""

import numpy as np
import pytest

from corpus.files import write_json
from corpus.text.documents import Documents
from corpus.text.store import TokenFile, document_lengths, join_documents, spell_sentences
from experiments.studies.requests import (
    DEVELOPMENT,
    EVALUATIONS,
    SETTINGS,
    TEXT_EDITORS,
    Settings,
    edit_settings,
    measure_trial,
    run_of,
)
from experiments.studies.untold import AT_ONCE, choose_batch, cut_sentences, sentences_about
from testbed.engine.controls.forms import ModelBelief
from testbed.evaluations.requests import Requests
from tests.worlds import HEDGED, make_hedged


def test_the_setting_whose_slope_is_nearest_to_one_is_taken_on_worlds_of_its_own(tmp_path):
    options = Settings(runs=tmp_path)
    assert not {*DEVELOPMENT} & {*options.seeds}
    folder = run_of(tmp_path, DEVELOPMENT[0]).folder
    folder.mkdir(parents=True)
    slopes = {"keyed-forms": (0.5, 1.1, 0.95), "keyed-face-value": (1.2, 0.9, 0.7)}
    trials = {
        name: {str(v): [v, slope, 0.1] for v, slope in zip(SETTINGS[name][1], slopes[name], strict=False)}
        for name in SETTINGS
    }
    write_json(folder / "requests-settings.json", trials)
    by_part = {part: edit_settings(options, 12, part) for part in EVALUATIONS}
    claims, doubt, retractions = (by_part[name] for name in ("claims", "doubt", "retractions"))
    assert claims.configs["keyed-forms"].prior == SETTINGS["keyed-forms"][1][2]
    assert claims.configs["keyed-face-value"].trust == SETTINGS["keyed-face-value"][1][1]
    for parts in (("claims", "more claims"), ("retractions", "more retractions")):
        assert {*TEXT_EDITORS, "keyed-forms"} <= {name for part in parts for name in by_part[part].editors}
    assert {len(options.seeds_of(part)) for part in EVALUATIONS} == {options.worlds, options.some}
    assert doubt.chosen_evaluation.learn == "doubt"
    assert retractions.chosen_evaluation.withdrawn == "fact"


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
