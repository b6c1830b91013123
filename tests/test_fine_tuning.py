"""Editors that learn by gradient, against loops that change the weights themselves."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from corpus.text.tokenizer import PAD
from lm.delta import MATRICES, fold_delta
from lm.editors.embeddings import EmbeddingsConfig
from lm.editors.embeddings.method import Embeddings
from lm.editors.ft_constrained import ConstrainedConfig
from lm.editors.ft_constrained.method import Constrained
from lm.editors.full import FullConfig
from lm.editors.full.method import Full
from lm.editors.lora import LoraConfig
from lm.editors.lora.method import lora_all, lora_down
from lm.language_model import LanguageModel
from tests.toys import SMALL, at, documents_loss, doubled, learned, merged, random_model, some_requests
from tests.toys import spelt_world as spelt

STEPS = 4
SLOW = pytest.mark.slow


@pytest.fixture(scope="module")
def setup(world, double):
    words = spelt(world)
    return doubled(random_model(words.tokenizer.vocabulary)), at(some_requests(words, 2), 0)


def edited(editor, model, request):
    return jax.jit(editor.edit)(model, {}, request, jax.random.key(5))[0]


def assert_same(got, expected):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9), got, expected)


def with_weights(model, params):
    return LanguageModel(model.config, params)


# By default tests/test_peft.py says it of lora_down, beside another's implementation.
@SLOW
@pytest.mark.parametrize(("make", "matrices"), [(lora_down, ("down",)), (lora_all, MATRICES)])
def test_lora_equals_training_a_merged_weight(make, matrices, setup):
    """The naive twin: merge W + scale * A B, differentiate through the merge, step by step."""
    model, request = setup
    config = LoraConfig(rank=2, alpha=6.0, learning_rate=0.02, steps=STEPS)
    delta, scale = edited(make(config), model, request), 3.0
    assert delta.keys() == set(matrices)

    def loss_of(adapters):
        change = {name: scale * jnp.einsum("lir,lro->lio", a, b) for name, (a, b) in adapters.items()}
        return documents_loss(with_weights(model, merged(model.params, change)), request)

    # Where the twin starts is the editor's choice; that it is small and half zero is checked.
    start = make(config).start_adapter(SMALL, jax.random.key(5))
    for name in matrices:
        a, b = start[name]
        assert np.abs(a).max() <= a.shape[1] ** -0.5
        assert not np.asarray(b).any()
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.02, weight_decay=1e-4))
    adapters = learned(loss_of, start, rule, STEPS)
    for name in matrices:
        assert_same(delta[name].a, adapters[name].a)
        assert_same(delta[name].b, scale * adapters[name].b)


def test_embeddings_equal_a_dense_update_of_the_rows_that_were_read(setup):
    model, request = setup
    config = EmbeddingsConfig(learning_rate=0.01, steps=STEPS)
    delta = edited(Embeddings(config), model, request)
    read = np.concatenate([request.prompt, request.answer[:, :-1]], axis=1)
    rows = np.setdiff1d(read, [PAD])
    assert len(rows) < read.size, "a token stands twice"
    table = model.params["embedding"]

    def loss_of(change):
        return documents_loss(with_weights(model, model.params | {"embedding": table + change}), request)

    # The gradient of any other row is zero, or is of a token that is only padding to the editor.
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.01))
    change = learned(loss_of, jnp.zeros_like(table), rule, STEPS)
    got = fold_delta(delta, model.vocabulary)["weights"]["embedding"]
    assert_same(got, change)
    others = np.setdiff1d(np.arange(model.vocabulary), rows)
    assert not np.asarray(got)[others].any()


@pytest.mark.parametrize(
    ("optimizer", "layers"),
    [
        ("sgd", "all"),
        *(
            pytest.param(*x, marks=SLOW)
            for x in [
                ("sgd", "early"),
                ("sgd", "late"),
                ("adamw", "all"),
                ("adamw", "early"),
                ("adamw", "late"),
            ]
        ),
    ],
)
def test_full_equals_optax_on_the_weights_themselves(optimizer, layers, setup):
    """Also on top of an earlier edit: decay pulls the weights as they have become."""
    model, request = setup
    config = FullConfig(optimizer, layers, learning_rate=0.05, weight_decay=0.3, steps=STEPS)
    earlier = jax.tree.map(lambda x: 0.1 * jnp.ones_like(x), model.params)
    delta = edited(Full(config), model.with_delta({"weights": earlier}), request)
    start = jax.tree.map(jnp.add, model.params, earlier)
    whole = layers == "all"
    third = {"all": slice(None), "early": slice(0, 1), "late": slice(2, 3)}[layers]
    matrices = {block: start["layers"][block] for block in ("attention", "mlp")}
    chosen = start if whole else jax.tree.map(lambda x: x[third], matrices)

    def params_of(chosen):
        if whole:
            return chosen
        blocks = jax.tree.map(lambda x, part: x.at[third].set(part), matrices, chosen)
        return start | {"layers": start["layers"] | blocks}

    def loss_of(chosen):
        return documents_loss(with_weights(model, params_of(chosen)), request)

    steps = optax.sgd(0.05) if optimizer == "sgd" else optax.adamw(0.05, weight_decay=0.3)
    after = params_of(learned(loss_of, chosen, optax.chain(optax.clip_by_global_norm(1.0), steps), STEPS))
    got = with_weights(model, start).with_delta(delta)
    assert_same(jax.tree.map(jnp.add, start, complete(got.delta["weights"], start)), after)


def complete(part, whole):
    """A part of a tree with zeros where the whole has more."""
    return {
        name: complete(part.get(name, {}), x) if isinstance(x, dict) else part.get(name, jnp.zeros_like(x))
        for name, x in whole.items()
    }


@pytest.mark.parametrize("layers", ["early", *(pytest.param(x, marks=SLOW) for x in ("all", "late"))])
def test_constrained_equals_projected_adam(layers, setup):
    """In units of the radius, so that a step is the same share of it in every layer."""
    model, request = setup
    config = ConstrainedConfig(radius=0.2, layers=layers, rate=0.6, steps=STEPS)
    delta = edited(Constrained(config), model, request)
    weight = model.params["layers"]["mlp"]["down"]["kernel"]
    third = {"all": slice(None), "early": slice(0, 1), "late": slice(2, 3)}[layers]
    radius = np.zeros((3, 1, 1))
    for i in range(3)[third]:
        radius[i] = 0.2 * np.sqrt(np.mean(np.asarray(weight[i]) ** 2))

    def loss_of(share):
        return documents_loss(with_weights(model, merged(model.params, {"down": share * radius})), request)

    share = learned(loss_of, jnp.zeros_like(weight), optax.adam(0.6), STEPS, lambda x: jnp.clip(x, -1, 1))
    got = delta["weights"]["layers"]["mlp"]["down"]["kernel"]
    assert_same(got, share * radius)
    # Never outside the ball, and at its border somewhere.
    assert (np.abs(got) <= radius * (1 + 1e-12)).all()
    assert (np.abs(got)[third] >= radius[third] * (1 - 1e-12)).any()
