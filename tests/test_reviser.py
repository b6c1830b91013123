"""The learned reviser: what it may not depend on, what it learned, and how its weights are kept."""

import dataclasses
from contextlib import suppress

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.errors import InputError
from experiments import train_reviser
from experiments.measures.drawn_tables import KINDS, OBJECTS, QUERIES, draw_table
from experiments.train_reviser import draw_from, mean_loss, stack
from lm.editors.self_bayes import reviser
from lm.editors.self_bayes.reasoning import Mind, RequestContext, ask_reviser, read_everybody
from lm.editors.self_bayes.reviser import conclude, initialise_weights, load_weights, read_table, read_weights

SIZE = 4
NOBODY = jnp.zeros((1, 1), jnp.int32)
WEIGHTS = {name: jnp.asarray(x) for name, x in initialise_weights(jax.random.key(3)).items()}
read, conclude_all = jax.jit(read_table), jax.jit(conclude)


def ask(table, weights=WEIGHTS):
    """float[QUERIES, OBJECTS]: what it concludes from a drawn table."""
    reading = read(weights, table.facts, jnp.arange(len(table.facts)))
    return np.exp(conclude_all(weights, reading, *table[:-1]))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6))
def test_names_and_order_mean_nothing(seed):
    rng = np.random.default_rng(seed)
    table = draw_from(seed, KINDS)
    people, columns = rng.permutation(len(table.facts)), np.append(0, 1 + rng.permutation(9))
    code, places = np.append(rng.permutation(400), -1), rng.permutation(OBJECTS)
    turned = table._replace(
        facts=code[table.facts][people][:, columns],
        place=np.argsort(places)[table.place][people],
        own=code[table.own][:, columns],
        requested=np.argsort(columns)[table.requested],
        objects=np.where(table.objects < 0, -2, code[table.objects])[places],
    )
    np.testing.assert_allclose(ask(turned), ask(table)[:, places], atol=1e-4)


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 10**6))
def test_who_has_nothing_counts_for_nothing(seed):
    """Neither subjects nor relations of whom nothing is known, nor objects that nobody has."""
    table = draw_from(seed, KINDS)
    people = (table.facts >= 0).any(axis=1)
    columns = (table.facts >= 0).any(axis=0)
    own, objects = table.own[:, columns], table.objects[table.objects >= 0]
    requested = np.cumsum(columns)[table.requested] - 1
    few = table._replace(
        facts=table.facts[people][:, columns], place=table.place[people], own=own, requested=requested,
        objects=objects,
    )  # fmt: skip
    said = ask(table)
    np.testing.assert_allclose(ask(few), said[:, : len(objects)], atol=1e-4)
    np.testing.assert_allclose(said.sum(axis=1), 1, atol=1e-5)
    assert not said[:, len(objects) :].any()


def test_all_are_read_by_a_sample_as_they_are_read_together():
    table = draw_from(1, KINDS)
    keys = jnp.arange(len(table.facts))
    more = np.append(table.facts, table.facts[:5], axis=0)
    together, apart = read_table(WEIGHTS, table.facts, keys), read_table(WEIGHTS, more, keys)
    np.testing.assert_allclose(apart.states[:, : len(keys)], together.states, atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_a_drawn_table_hides_what_it_asks(seed):
    table = draw_table(np.random.default_rng(seed))
    assert (table.own[:, 0] == -1).all()
    assert (table.own[np.arange(QUERIES), table.requested] >= 0).all()
    assert (table.requested > 0).all()
    known = table.facts[:, 0] >= 0
    assert (table.objects[table.place[known]] == table.facts[known, 0]).all()
    assert set(table.objects[table.answer]) <= set(table.facts[known, 0])


def count_peers(table):
    """float[QUERIES, OBJECTS]: what those have who have the requested object, beside what all have."""
    requested = table.own[np.arange(QUERIES), table.requested]
    has = (table.facts[:, :1] == table.objects) & (table.facts[:, :1] >= 0)
    real = table.objects >= 0
    peers = requested[:, None] == table.facts[:, table.requested].T
    everybody = (has.sum(axis=0) + 0.5 * real) / (has.sum() + 0.5 * real.sum())
    counts = peers @ has + 2 * everybody
    return counts / counts.sum(axis=1, keepdims=True)


def test_it_foretells_better_than_counting_those_who_have_the_requested_object():
    """On a hundred tables that it was not trained on, and so by much."""
    tables = [draw_from(train_reviser.OF_HELD_OUT + 500 + i, KINDS) for i in range(100)]
    by_counting = [-np.log(count_peers(t)[np.arange(QUERIES), t.answer]).mean() for t in tables]
    learned = jax.jit(jax.vmap(lambda t: mean_loss(load_weights(), jax.tree.map(lambda x: x[None], t))))
    gain = np.array(by_counting) - np.asarray(learned(stack(tables)))
    assert gain.mean() > 0.1
    assert gain.mean() > 3 * gain.std() / 10


def square_world(seed, subjects=96):
    """int[4, S]: two causes, what both decide in a Latin square, and a fact on which nothing depends."""
    rng = np.random.default_rng(seed)
    first, second, other = rng.integers(0, SIZE, (3, subjects))
    return np.stack([first, SIZE + second, 2 * SIZE + (first + second) % SIZE, 3 * SIZE + other])


def mind_of(facts, known):
    relations, objects = len(facts), 4 * SIZE
    possible = np.arange(objects) // SIZE == np.arange(relations)[:, None]
    read = jnp.asarray(known, jnp.float32)
    mind = Mind(
        relations=NOBODY, words=NOBODY, subjects=NOBODY, objects=1 + jnp.arange(objects)[:, None],
        possible=jnp.asarray(possible), top=jnp.asarray(facts)[..., None],
        p=jnp.ones((*facts.shape, 1)), reading_probability=read, share=read, counts=read,
        kappa=jnp.ones((relations, relations)), persists=jnp.ones(relations), seldom=jnp.float32(0.1),
        depends=jnp.zeros((relations, relations)), reach=jnp.zeros((relations, 1, 2), jnp.int32),
    )  # fmt: skip
    return mind._replace(reviser=read_everybody(mind, load_weights()))


def request_of(facts, known, subject, relation, new):
    is_subject = jnp.arange(facts.shape[1]) == subject
    read, holds = jnp.asarray(known[:, subject], jnp.float32), jnp.asarray(facts[relation] == new)
    return RequestContext(
        jnp.int32(relation), NOBODY, is_subject, jnp.arange(4 * SIZE) == new, holds & ~is_subject, None, read,
        read, 1 + jnp.asarray(facts[:, subject], jnp.int32), jnp.zeros(len(facts)),
    )  # fmt: skip


def test_two_causes_that_tell_nothing_alone_tell_their_effect_together():
    """Nothing else moves, and what is stated of the effect stays."""
    facts = square_world(0)
    known = np.ones(facts.shape, bool)
    silent = np.arange(24)
    known[2, silent] = False
    mind, right = mind_of(facts, known), 0
    asks = jax.jit(ask_reviser)
    for s in silent.tolist():
        new = (facts[0, s] + 1) % SIZE
        said = asks(mind, request_of(facts, known, s, 0, new))
        assert np.asarray(said.relation)[np.asarray(said.real)].tolist() == [2]
        right += int(said.objects[0, 0]) == 2 * SIZE + (new + facts[1, s]) % SIZE
    assert right >= 22
    said = asks(mind, request_of(facts, known, 50, 0, (facts[0, 50] + 1) % SIZE))
    assert not said.real.any()


def test_weights_that_were_changed_are_refused(tmp_path, monkeypatch):
    changed = tmp_path / "reviser.npz"
    changed.write_bytes(reviser.WEIGHTS.read_bytes()[:-1] + b"x")
    monkeypatch.setattr(reviser, "WEIGHTS", changed)
    load_weights.cache_clear()
    with pytest.raises(InputError, match=r"reviser\.npz is missing or was changed"):
        load_weights()
    load_weights.cache_clear()


@given(st.integers(0, 10**6), st.binary(max_size=4))
def test_a_file_without_weights_is_refused(tmp_path_factory, at, put):
    path = tmp_path_factory.mktemp("weights") / "some.npz"
    whole = reviser.WEIGHTS.read_bytes()
    at %= len(whole)
    np.savez(path, **{name: x for name, x in WEIGHTS.items() if name != "target"})
    other = path.read_bytes()
    for damaged in (whole[:at], put, other):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="some.npz"):
            read_weights(path)
    # A byte that no checksum covers, such as of a date, may be another; nothing else happens.
    path.write_bytes(whole[:at] + bytes([255 - whole[at]]) + whole[at + 1 :])
    with suppress(InputError):
        assert read_weights(path).keys() == WEIGHTS.keys()


def test_a_killed_training_goes_on(tmp_path, monkeypatch):
    """One that is killed behind its first saving ends at the weights of one that was not."""
    settings = train_reviser.Settings(into=tmp_path / "whole.npz", tables=1, every=2, steps=4)
    train_reviser.run_study(settings)
    write = train_reviser.write_arrays

    def write_and_die(path, arrays):
        write(path, arrays)
        raise KeyboardInterrupt

    broken = dataclasses.replace(settings, into=tmp_path / "broken.npz")
    monkeypatch.setattr(train_reviser, "write_arrays", write_and_die)
    with pytest.raises(KeyboardInterrupt):
        train_reviser.run_study(broken)
    monkeypatch.setattr(train_reviser, "write_arrays", write)
    assert not broken.into.exists()
    train_reviser.run_study(broken)
    with np.load(settings.into) as whole, np.load(broken.into) as again:
        for name in whole.files:
            np.testing.assert_array_equal(again[name], whole[name])
