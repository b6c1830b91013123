"""Probes are asked in pieces that no answer shows."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.text.tokenizer import BOS
from lm.config import ModelConfig
from lm.decoding import generate
from lm.delta import LowRank
from lm.editors.in_context import InContextConfig
from lm.editors.in_context.method import InContext
from lm.editors.interface import edit_once
from lm.prompts import left_pad
from lm.scoring import candidate_tree, object_log_probabilities, tree_size
from testbed.engine import questions
from testbed.engine.questions import pack_case
from testbed.protocol import ControlRequest
from testbed.run.agents import paper_agent
from tests.edited import hase_cases
from tests.toys import at, random_model, some_requests, spelt_world

SMALL = ModelConfig(hidden=14, mlp=11, layers=2, heads=7, kv_heads=7, head_width=2)
CASES = 5


def probes_of(tokenizer, cases):
    """Every case as an edit of its own."""
    packed = [pack_case(tokenizer, case) for case in cases]
    shape = questions.probe_shape(tokenizer, cases, packed)
    return shape, jax.tree.map(lambda x: x[:, None], questions.build_probes(packed, shape))


@pytest.mark.parametrize("edits", [CASES, 1])
def test_pieces_equal_the_whole(world, monkeypatch, edits):
    """Five cases, each under its own edit or all under one, two at once; the last piece is smaller."""
    tokenizer = world.tokenizer
    cases = hase_cases(world, paper_agent(world), CASES)
    shape, asked = probes_of(tokenizer, cases)
    asked = jax.tree.map(lambda x: x.reshape(edits, CASES // edits, *x.shape[2:]), asked)
    model = random_model(tokenizer.vocabulary, SMALL, times=9)
    keys = jax.random.split(jax.random.key(0), 2)
    a, b = (jax.random.normal(k, (edits, 2, *s)) for k, s in zip(keys, [(11, 1), (1, 14)], strict=True))
    deltas = {"down": LowRank(a, b)}

    def compile_answers():
        # Compiled anew, so that it notices how much it may hold.
        words, longest = questions.truth_words(tokenizer), shape.longest
        answer = jax.jit(lambda *given: questions.answer_probes.__wrapped__(*given, words, longest))
        return answer.lower(model, deltas, asked).compile()

    at_once = compile_answers()
    monkeypatch.setattr(questions, "LOGITS_AT_ONCE", 2 * shape.places * model.vocabulary)
    in_pieces = compile_answers()
    whole = at_once(model, deltas, asked)
    for some, every in zip(in_pieces(model, deltas, asked), whole, strict=True):
        np.testing.assert_allclose(some, every, rtol=1e-4, atol=1e-6)
    assert np.ptp(jnp.asarray(whole.ended), axis=1 if edits == 1 else 0).max() > 1e-3
    memory = [program.memory_analysis().temp_size_in_bytes for program in (in_pieces, at_once)]
    assert memory[0] < 0.7 * memory[1]


@given(st.integers(1, 400), st.integers(0, 64))
def test_pieces_leave_no_rest_where_that_costs_less_than_half(count, most):
    size, most = questions.share_evenly(count, most), max(1, min(most, count))
    even = [n for n in range(most // 2 + 1, most + 1) if count % n == 0]
    assert size == max(even, default=most)


def test_there_is_room_for_what_nobody_asks_about(world):
    """Editors are told requests and controls, whose prompts may be longer than those of any choice."""
    spelt = spelt_world(world)
    graph, tokenizer = spelt.graph, spelt.tokenizer
    pairs = list(zip(graph.subject.tolist(), graph.relation.tolist(), graph.object.tolist(), strict=True))
    short, *_, long = sorted(pairs, key=lambda fact: len(tokenizer.prompt(*fact[:2])))
    most = len(tokenizer.prompt(*long[:2]))
    assert most > len(tokenizer.prompt(*short[:2]))
    (case,) = hase_cases(spelt, paper_agent(spelt), 1)

    def asked_about(fact, told, controls=()):
        request = case.request._replace(subject=told[0], relation=told[1], object=told[2])
        choice = case.choices[0]._replace(subject=fact[0], relation=fact[1])
        return case._replace(request=request, choices=(choice,), controls=controls)

    for one in (
        asked_about(long, short),
        asked_about(short, long),
        asked_about(short, short, (ControlRequest("somebody else", long),)),
        asked_about(short, long)._replace(choices=()),
    ):
        assert probes_of(tokenizer, [one])[0].prompt == most
    assert probes_of(tokenizer, [asked_about(short, short)])[0].prompt < most


def test_cases_ask_as_much_as_they_like(world):
    """Whatever others ask, and be it nothing of a kind: each question is answered as if asked alone."""
    cases = [
        case._replace(choices=case.choices[:choices], claims=case.claims[:claims])
        for case, choices, claims in zip(
            hase_cases(world, paper_agent(world), 3), (9, 0, 3), (6, 3, 0), strict=True
        )
    ]
    model = random_model(world.tokenizer.vocabulary, SMALL, times=9)
    words = questions.truth_words(world.tokenizer)

    def answers(some):
        answers = questions.answer_probes(model, {}, probes_of(world.tokenizer, some)[1], words, 3)
        return jax.tree.map(lambda x: x[:, 0], answers)

    together = answers(cases)
    assert together.ended.shape[:2] == (3, len(cases[0].choices))
    assert together.claims.shape[:2] == (3, 6)
    for i, case in [*enumerate(cases)][1:]:
        alone = answers([case])
        for q, choice in enumerate(case.choices):
            size = len(choice.options)
            for name in ("ended", "begun"):
                mine, other = (getattr(x, name)[k, q, :size] for x, k in ((together, i), (alone, 0)))
                np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-7)
            np.testing.assert_array_equal(together.tokens[i, q], alone.tokens[0, q])
        for q in range(len(case.claims)):
            np.testing.assert_allclose(together.claims[i, q], alone.claims[0, q], rtol=1e-4, atol=1e-7)


@partial(jax.jit, static_argnames="longest")
def answer_alone(model, prompt, tree, longest):
    read = model.read_prompts(prompt)
    return object_log_probabilities(model, read, tree), generate(model, read, longest)


@partial(jax.jit, static_argnames="words")
def claim_alone(model, sentence, words):
    return jax.nn.softmax(model.unembed(model.read_prompts(sentence).hidden), axis=-1)[:, jnp.array(words)]


@pytest.mark.parametrize("prefixed", [False, True])
@pytest.mark.parametrize("nodes", [12, 4000])
def test_questions_that_share_trees_are_answered_as_if_asked_alone(world, monkeypatch, nodes, prefixed):
    """Two cases of one edit, in trees for a question each or for many, and behind a prefix."""
    monkeypatch.setattr(questions, "NODES", nodes)
    spelt = spelt_world(world)
    tokenizer = spelt.tokenizer
    cases = hase_cases(spelt, paper_agent(spelt), 2)
    model, words, longest = random_model(tokenizer.vocabulary), questions.truth_words(tokenizer), 4
    delta = {}
    if prefixed:
        editor, request = InContext(InContextConfig(copies=2)), at(some_requests(spelt, 1), 0)
        delta, _ = edit_once(editor, model, {}, request, jax.random.key(0))
    shape, asked = probes_of(tokenizer, cases)
    assert shape.trees > 2 if nodes == 12 else shape.trees == 1
    asked = jax.tree.map(lambda x: x.swapaxes(0, 1), asked)
    got = questions.answer_probes(model, jax.tree.map(lambda x: x[None], delta), asked, words, longest)
    edited = model.with_delta(delta)
    names_of = [[[tokenizer.entity(int(o)) for o in q.options] for q in case.choices] for case in cases]
    every = [names for of_case in names_of for names in of_case]
    # One shape for all, so that what is asked alone is compiled once.
    room = (
        max(map(tree_size, every)),
        max(map(len, every)),
        max(len(name) for names in every for name in names),
    )
    longest_sentence = max(len(tokenizer.sentence(claim.sentence)) for case in cases for claim in case.claims)
    for i, case in enumerate(cases):
        for q, choice in enumerate(case.choices):
            names = names_of[i][q]
            tree = candidate_tree(names, *room)
            row = tokenizer.prompt(choice.subject, choice.relation, choice.phrasing)
            prompt = left_pad([row], shape.prompt)
            alone, said = answer_alone(edited, prompt, jax.tree.map(lambda x: x[None], tree), longest + 1)
            for name, wanted in zip(("ended", "begun"), alone, strict=True):
                mine = getattr(got, name)[0, i, q]
                np.testing.assert_allclose(
                    mine[: len(names)], np.exp(wanted[0, : len(names)]), rtol=1e-4, atol=1e-7
                )
                assert (mine[len(names) :] == 0).all()
            np.testing.assert_array_equal(got.tokens[0, i, q], said[0])
        for q, claim in enumerate(case.claims):
            sentence = np.concatenate([[BOS], tokenizer.sentence(claim.sentence)[:-1]])
            wanted = claim_alone(edited, left_pad([sentence], longest_sentence), words)
            np.testing.assert_allclose(got.claims[0, i, q], wanted[0], rtol=1e-4, atol=1e-7)
