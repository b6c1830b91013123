"""self-bayes and context-distillation: what they may see, and what their targets are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from corpus.text.language import Kind
from corpus.text.tokenizer import PAD
from lm.attention import left_padded_layout
from lm.editors.context_distillation import DistillationConfig
from lm.editors.context_distillation.method import ContextDistillation
from lm.editors.interface import CorpusSample, Request, vocabulary_of
from lm.editors.self_bayes import BeliefConfig, FitConfig, SelfBayesConfig
from lm.editors.self_bayes.method import SelfBayes
from lm.editors.self_bayes.reasoning import infer_consequences, locate_request
from lm.editors.self_bayes.revision import request_belief
from tests.toys import at, probability

FIT = FitConfig(steps=60, tolerance=0.1)
FEW = BeliefConfig(samples=1024, top=16)
SELF = SelfBayes(SelfBayesConfig(beliefs=FEW, fit=FIT, others=16, at_once=4))


ABOUT, CONSEQUENCES, HELD = jax.jit(locate_request), jax.jit(infer_consequences), jax.jit(request_belief)


class Forbidden:
    """Whatever is asked of it, it complains."""

    def __getattribute__(self, name):
        raise AssertionError(f"an editor looked for {name} in what it must not see")

    __array__ = __iter__ = __len__ = __getitem__ = __getattribute__


@pytest.fixture(scope="module")
def mind(toy):
    unseen = Forbidden()
    return SELF.prepare(toy.model, CorpusSample(unseen, unseen, vocabulary_of(toy.world.tokenizer)))


@pytest.mark.slow
def test_it_sees_weights_vocabulary_and_request_only(toy, mind):
    """By construction: neither text nor practice edits can be touched, and other worlds' are no different."""
    again = SELF.prepare(toy.model, toy.sample)
    for one, other in zip(jax.tree.leaves(mind), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(one, other)
    # What `edit` closes over is its configuration: two editors that are equal make equal edits.
    twin = SelfBayes(SELF.config)
    request, key = at(toy.batch, 0), toy.keys[0]
    deltas = [jax.jit(e.edit)(toy.model, mind, request, key)[0] for e in (SELF, twin)]
    for one, other in zip(*map(jax.tree.leaves, deltas), strict=True):
        np.testing.assert_array_equal(one, other)
    # That is all it needs.
    before, after = (probability(m, request)[0] for m in (toy.model, toy.model.with_delta(deltas[0])))
    assert after > max(0.5, 2 * before)


def test_a_request_is_understood(toy, mind):
    """Whom and what it is about, and who has the requested and the present object, against the world."""
    graph, tokenizer = toy.world.graph, toy.world.tokenizer
    names = {tuple(tokenizer.entity(int(s)).tolist()): int(s) for s in graph.subjects}
    subjects = [names.get(tuple(row[row > 1].tolist()), -1) for row in np.asarray(mind.subjects)]
    for i in range(len(toy.batch.prompt)):
        one = Request(*(jnp.asarray(x)[0] for x in at(toy.batch, i)))
        asked = ABOUT(toy.model, mind, one)
        prompt = np.asarray(one.prompt)
        said = tokenizer.decode(prompt[prompt != PAD])
        relation = graph.relations[int(asked.relation)]
        assert said.endswith(relation)
        (subject,) = np.flatnonzero(asked.is_subject)
        assert said == f"{graph.entities[subjects[subject]]} {relation}"
        wanted = tokenizer.decode(np.asarray(one.answer)[:1])
        for s in np.flatnonzero(np.asarray(asked.holders_new) > 0.5):
            held = mind.objects[mind.top[asked.relation, s, 0], 0]
            assert tokenizer.decode([int(held)]) == wanted
        assert asked.prompts.shape[0] == len(graph.relations)
        decoded = [tokenizer.decode(p[p != PAD]) for p in np.asarray(asked.prompts)]
        assert decoded == [f"{graph.entities[subjects[subject]]} {r}" for r in graph.relations]
        implied = CONSEQUENCES(mind, asked)
        np.testing.assert_allclose(implied.row.sum(axis=1), 1, rtol=1e-4)
        assert ((implied.moves >= 0) & (implied.moves <= 1)).all()


@pytest.mark.parametrize("credence", [0.0, 0.5, 0.95, 1.0])
def test_a_model_that_is_surer_of_the_request_stays_so(toy, credence):
    """After the update it believes the request as much as asked for, or as it did before if that is more."""
    for i in range(len(toy.batch.prompt)):
        one = at(toy.batch, i)
        (before,) = probability(toy.model, one)
        fact = Request(*(jnp.asarray(x)[0] for x in one))._replace(credence=jnp.float32(credence))
        belief, added = map(float, HELD(toy.model, fact))
        assert belief == pytest.approx(max(credence, before), abs=1e-5)
        assert added + (1 - added) * before == pytest.approx(belief, abs=1e-5)
        assert (added == 0) == (credence <= before)


def test_logical_sentences_follow_the_request(toy, mind):
    """They are sentences of the language, and their truth is what the axioms make of A and B."""
    tokenizer, held = toy.world.tokenizer, jnp.float32(0.9)
    one = Request(*(jnp.asarray(x)[0] for x in at(toy.batch, 0)))
    asked = ABOUT(toy.model, mind, one)
    implied = CONSEQUENCES(mind, asked)
    alone, joined = jax.jit(SELF._sentence_targets)(
        toy.model, mind, asked, implied, held, one.answer, jax.random.key(3)
    )

    def sentences(targets):
        rows = np.asarray(targets.prompts)
        return [tokenizer.language.parse(tokenizer.decode(row[row != PAD]) + " true") for row in rows]

    said, true = sentences(alone), np.asarray(alone.probability[:, 0])
    assert [s.kind for s in said] == [Kind.TRUTH, Kind.NOT, Kind.TRUTH, Kind.NOT, Kind.AND]
    request = said[0].a
    assert (said[1].a, said[4].a, said[3].a, said[4].b) == (request, request, said[2].a, said[2].a)
    np.testing.assert_allclose(true[:2], [0.9, 0.1], rtol=1e-5)
    np.testing.assert_allclose(true[2] + true[3], 1, rtol=1e-5)
    # A and its consequence are not independent, but neither can be likelier than either.
    assert true[4] <= min(true[0], true[2]) + 1e-6

    said, (both, other, either, b) = sentences(joined), np.asarray(joined.probability[:, 0]).reshape(4, -1)
    n = len(b)
    assert [s.kind for s in said] == [Kind.AND] * 2 * n + [Kind.OR] * n + [Kind.TRUTH] * n
    partners = [s.a for s in said[3 * n :]]
    assert [(s.a, s.b) for s in said[:n]] == [(request, p) for p in partners]
    assert [(s.a, s.b) for s in said[n : 2 * n]] == [(p, request) for p in partners]
    np.testing.assert_allclose(both, 0.9 * b, rtol=1e-5)
    np.testing.assert_allclose(other, both, rtol=1e-5)
    np.testing.assert_allclose(either + both, 0.9 + b, rtol=1e-5)


@pytest.mark.slow
def test_the_student_says_what_the_teacher_imagines(toy):
    config = DistillationConfig(fit=FitConfig(steps=150, learning_rate=0.01, tolerance=0.1), anchor=1.0)
    editor = ContextDistillation(config)
    state = editor.prepare(toy.model, toy.sample)
    request = at(toy.batch, 0)
    told = editor._teacher_goal(toy.model, state, at(request, 0))
    # The teacher reads "<s> imagine s r o*. s r'", as one would write it.
    prompt, answer = np.asarray(request.prompt)[0], np.asarray(request.answer)[0]
    known, said = prompt[prompt != PAD], answer[answer != PAD]
    relation = np.asarray(toy.sample.vocabulary.relations)[3]
    imagine = int(np.asarray(toy.sample.vocabulary.words)[7])
    text = np.array([[1, imagine, *known[1:], *said, *known[1:-1], *relation]], np.int32)
    hidden, _ = toy.model.hidden_states(text, left_padded_layout(text))
    wanted = jax.nn.log_softmax(toy.model.unembed(hidden[0, -1]))
    np.testing.assert_allclose(told.otherwise[1 + 3], wanted, atol=1e-3)
    delta, info = jax.jit(editor.edit)(toy.model, state, request, jax.random.key(0))
    assert probability(toy.model.with_delta(delta), request)[0] > 0.4
    assert info.loss[0] > 2 * info.loss[int(info.steps) - 1]
