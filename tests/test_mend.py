"""mend: what an untrained network does, and what training it is for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from corpus.text.tokenizer import PAD
from lm.delta import LowRank
from lm.editors.interface import CorpusSample, vocabulary_of
from lm.editors.mend import MendConfig
from lm.editors.mend.method import FIRST_STEP, Mend
from lm.language_model import LanguageModel
from tests.toys import (
    at,
    documents_loss,
    doubled,
    merged,
    probability,
    random_model,
    some_requests,
    some_text,
    spelt_world,
)

MEND = Mend(MendConfig(rank=5, steps=1, batch=2))


@pytest.fixture(scope="module")
def spelt(world):
    words = spelt_world(world)
    sample = CorpusSample(
        some_text(words, 9), some_requests(words, 1, seed=7), vocabulary_of(words.tokenizer)
    )
    return random_model(words.tokenizer.vocabulary), sample, at(some_requests(words, 2), 0)


@pytest.mark.slow
def test_untrained_it_is_a_step_down_the_gradient(spelt):
    """Also for padded prompts: minus a rate times the gradient of the loss by the weights themselves."""
    model, sample, request = spelt
    state = MEND.prepare(model, sample)
    state["network"] |= {"out": jnp.zeros_like(state["network"]["out"]), "rate": jnp.zeros(3)}
    with jax.enable_x64(True):
        model, state = doubled(model), doubled(state)
        delta, info = MEND.edit(model, state, request, jax.random.key(0))
        weight = model.params["layers"]["mlp"]["down"]["kernel"]

        def loss_of(change):
            return documents_loss(
                LanguageModel(model.config, merged(model.params, {"down": change})), request
            )

        loss, gradient = jax.value_and_grad(loss_of)(jnp.zeros_like(weight))
        sizes = np.sqrt(np.mean(np.asarray(weight) ** 2, axis=(1, 2), keepdims=True))
        rate = FIRST_STEP * sizes / (state["scale"]["input"] * state["scale"]["gradient"])
        np.testing.assert_allclose(
            jnp.einsum("lir,lro->lio", *delta["down"]), -rate * gradient, rtol=1e-7, atol=1e-12
        )
        assert float(info.loss[0]) == pytest.approx(float(loss))


@pytest.mark.slow
def test_only_chosen_layers_change(spelt):
    model, sample, request = spelt
    early = Mend(MendConfig(layers="early", rank=5, steps=1, batch=2))
    delta, _ = early.edit(model, early.prepare(model, sample), request, jax.random.key(0))
    assert isinstance(delta["down"], LowRank)
    changed = np.abs(np.einsum("lir,lro->lio", *delta["down"])).max((1, 2)) > 0
    assert changed.tolist() == [True, False, False]


@pytest.mark.slow
def test_training_makes_unseen_edits_work(toy):
    """On edits that it never practised, whose facts are not among those it did."""
    recipes = (MendConfig(rank=7, learning_rate=0.01, steps=steps, batch=8) for steps in (1, 200))
    short, long = map(Mend, recipes)
    practised = {tuple(p) for p in np.asarray(toy.sample.practice.prompt)[:, 0].tolist()}
    asked = {tuple(p) for p in np.asarray(toy.batch.prompt)[:, 0].tolist()}
    assert not practised & asked
    losses = []
    for editor in (short, long):
        state = editor.prepare(toy.model, toy.sample)
        edit = jax.jit(editor.edit)
        deltas = [edit(toy.model, state, at(toy.batch, i), toy.keys[i])[0] for i in range(3)]
        probabilities = [
            probability(toy.model.with_delta(d), at(toy.batch, i))[0] for i, d in enumerate(deltas)
        ]
        losses.append(-np.log(probabilities).mean())
    assert losses[1] < 0.8 * losses[0]


@pytest.mark.slow
def test_padding_says_nothing(spelt):
    """However a network transforms tokens, those that are padding add nothing to the edit."""
    model, sample, request = spelt
    state = MEND.prepare(model, sample)
    state["network"] |= {
        "out": 0.1 * jax.random.normal(jax.random.key(0), state["network"]["out"].shape),
        "bias": jnp.ones_like(state["network"]["bias"]),
    }
    wide = request._replace(prompt=np.pad(request.prompt, ((0, 0), (3, 0)), constant_values=PAD))
    narrow, padded = (
        np.einsum("lir,lro->lio", *MEND.edit(model, state, r, jax.random.key(0))[0]["down"])
        for r in (request, wide)
    )
    np.testing.assert_allclose(padded, narrow, rtol=1e-3, atol=1e-4 * np.abs(narrow).max())
