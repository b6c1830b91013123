"""keyed: vectors at names, which nothing else sees; the gate, what is stored, and whom an edit reaches."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from corpus.errors import InputError
from corpus.text.tokenizer import BOS, EOS, PAD, SEP
from lm import memory as memory_module
from lm.attention import left_padded_layout, packed_layout
from lm.delta import add_to_carry, empty_carry, fold_delta, scale_delta
from lm.editors.interface import Request, edit_once
from lm.editors.keyed import AT_THE_NAME
from lm.editors.self_bayes import BeliefConfig, SelfBayesConfig
from lm.editors.self_bayes.method import SelfBayes
from lm.editors.self_bayes.reasoning import locate_request
from lm.editors.self_bayes.storage import open_storage, subjects_of
from lm.huggingface import export_model
from lm.memory import Memory, find_slots, hash_names, names_so_far
from lm.prompts import left_pad
from lm.scoring import candidate_tree, object_log_probabilities
from testbed import edit
from testbed.evaluations.hase import REQUEST
from tests import naive
from tests.runs import at as at_run
from tests.runs import copied
from tests.toys import SMALL, at, probability, random_model, read_whole, requests_of

VOCABULARY, WIDTH = 12, 3
BEFORE = np.array([BOS, EOS, SEP, 5])
words = st.lists(st.integers(3, VOCABULARY - 1), max_size=9)
documents = st.lists(words.map(lambda text: [BOS, *text]), min_size=1, max_size=3)
names = st.lists(st.integers(6, VOCABULARY - 1), min_size=1, max_size=WIDTH)


LENGTH = 40


@jax.jit
def names_of(rows, layout):
    return names_so_far(rows, layout.positions, layout.mask, BEFORE, WIDTH)


def names_in(text):
    """The names in a row of documents."""
    row = np.zeros((1, LENGTH), np.int32)
    row[0, : len(text)] = text
    return np.asarray(names_of(row, packed_layout(row, BOS)))[0, : len(text)]


def key_of(name):
    return [PAD] * (WIDTH - len(name)) + list(name)


@hypothesis_settings(deadline=None)
@given(documents)
def test_names_are_those_of_a_loop_over_words_in_packed_rows_and_alone(texts):
    expected = np.concatenate([naive.names_so_far(text, BEFORE, WIDTH) for text in texts])
    np.testing.assert_array_equal(names_in(np.concatenate(texts)), expected)
    alone = left_pad([np.array(text) for text in texts] + [np.array([BOS])] * (3 - len(texts)), 10)
    for padded, text in zip(np.asarray(names_of(alone, left_padded_layout(alone))), texts, strict=False):
        np.testing.assert_array_equal(padded[10 - len(text) :], naive.names_so_far(text, BEFORE, WIDTH))
        assert (padded[: 10 - len(text)] == PAD).all()


@hypothesis_settings(deadline=None)
@given(names, names, words)
def test_a_longer_name_that_ends_in_a_key_is_another_name(key, more, behind):
    """As "Rome" is found after a boundary, whatever comes behind, and not in "New Rome"."""
    for opening, is_found in (([BOS], True), ([BOS, *more, 5], True), ([BOS, *more], False)):
        end = len(opening) + len(key) - 1
        names = names_in([*opening, *key, *behind])
        assert bool(find_slots(names, np.array([key_of(key)]))[1][end]) is is_found


@hypothesis_settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(names, st.integers(-9, 9)), min_size=5, max_size=5))
def test_a_name_has_one_slot_which_edits_add_to(edits):
    """Stored one by one, and joined, against a dictionary."""
    memories = [
        Memory(jnp.array([key_of(name)]), jnp.asarray(BEFORE), jnp.full((2, 1, 4), float(value)))
        for name, value in edits
    ]
    carried = empty_carry({"memory": memories[0]}, VOCABULARY, len(edits))["memory"]
    joined, expected = memories[0], {}
    for i, (name, value) in enumerate(edits):
        carried = memories[i].settle(carried, i)
        joined = memories[i].on_top_of(joined) if i else joined
        expected[tuple(key_of(name))] = expected.get(tuple(key_of(name)), 0.0) + value
    real = np.flatnonzero((np.asarray(carried.keys) != PAD).any(axis=1))
    stored = [tuple(np.asarray(carried.keys)[i].tolist()) for i in real]
    assert len(stored) == len(set(stored)), "every name stands once"
    values = {key: float(carried.values[1, i, 2]) for key, i in zip(stored, real, strict=True)}
    assert values == pytest.approx(expected)
    for key, value in expected.items():
        in_each = [(m, *find_slots(np.array(key), m.keys, m.order)) for m in joined.list_all()]
        assert sum(float(m.values[1, slot, 2]) for m, slot, found in in_each if found) == pytest.approx(value)
        slot, found = find_slots(np.array(key), carried.keys, carried.order)
        assert found
        assert slot == real[stored.index(key)]


@hypothesis_settings(deadline=None, max_examples=20)
@given(st.lists(names, min_size=1, max_size=30, unique_by=tuple), st.randoms(use_true_random=False), names)
def test_a_name_is_found_by_its_hash_where_comparing_finds_it(known, order_of, other):
    """Among empty slots and in any order; one shape, so that nothing is compiled again."""
    nothing = [PAD] * WIDTH
    rows = [*map(key_of, known), *[nothing] * (40 - len(known))]
    order_of.shuffle(rows)
    keys = jnp.array(rows)
    asked = jnp.array([*map(key_of, known), key_of(other), *[nothing] * (31 - len(known))])
    order = jnp.argsort(hash_names(keys))
    for found, expected in zip(find_slots(asked, keys, order), find_slots(asked, keys), strict=True):
        there = np.asarray(find_slots(asked, keys)[1])
        np.testing.assert_array_equal(np.asarray(found)[there], np.asarray(expected)[there])
    np.testing.assert_array_equal(find_slots(asked, keys, order)[1], there)


def test_names_of_one_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr(memory_module, "hash_names", lambda rows: jnp.where((rows != PAD).any(-1), 7, 9))
    keys = jnp.array([*map(key_of, ([6], [7], [8], [9])), [PAD] * WIDTH])
    slots, found = memory_module.find_slots(keys, keys, jnp.array([2, 0, 3, 1, 4]))
    np.testing.assert_array_equal(slots[:4], np.arange(4))
    np.testing.assert_array_equal(found, [True] * 4 + [False])


@pytest.fixture(scope="module")
def edited_model():
    """A random model with vectors at names of one, two and three tokens, in every layer."""
    keys = jnp.array([key_of(name) for name in ([6], [7, 8], [9, 10, 11])])
    values = jax.random.normal(jax.random.key(3), (SMALL.layers, 3, SMALL.hidden))
    delta = {"memory": Memory(keys, jnp.asarray(BEFORE), values)}
    return random_model(VOCABULARY).with_delta(delta)


TEXTS = [[BOS, 6, 8, 3], [BOS, 8, 7, 8, SEP, 7, 8, 11, 6], [BOS, 9, 10, 11, 5, 6, 7], [BOS, 10, 11, 8]]


def test_it_adds_what_a_loop_adds(edited_model):
    """Against `shift`: what enters a layer is what the one before returned."""
    memory, plain = edited_model.delta["memory"], replace(edited_model, delta=None)
    for text in TEXTS:
        row = np.array([text])
        entering = naive.recall_memory(text, *map(np.asarray, memory[:3]))
        first = plain.params["embedding"][row] + entering[0]
        table = {"weights": {"embedding": jnp.zeros_like(plain.params["embedding"])}}
        # Each place a token of its own, so that the first layer reads what is to be read.
        places = jnp.arange(len(text))
        table["weights"]["embedding"] = (
            table["weights"]["embedding"].at[places].set(first[0] - plain.params["embedding"][places])
        )
        later = jnp.concatenate([entering[1:], jnp.zeros_like(entering[:1])])[:, None]
        twin = plain.with_delta(table | {"shift": later})
        layout = packed_layout(row, BOS)
        np.testing.assert_allclose(
            edited_model.logits(row, layout), twin.logits(places[None], layout), rtol=1e-4, atol=1e-4
        )


def test_packed_rows_are_single_rows_and_what_names_nobody_is_bit_equal(edited_model):
    alone = [np.asarray(read_whole(edited_model, np.array([text])))[0] for text in TEXTS]
    packed = np.asarray(read_whole(edited_model, np.concatenate(TEXTS)[None]))[0]
    np.testing.assert_allclose(packed, np.concatenate(alone), rtol=1e-4, atol=1e-4)
    plain = replace(edited_model, delta=None)
    untouched = np.array([TEXTS[-1]])
    np.testing.assert_array_equal(read_whole(edited_model, untouched), read_whole(plain, untouched))
    for text, logits in zip(TEXTS[:-1], alone[:-1], strict=True):
        assert np.abs(logits[-1] - np.asarray(read_whole(plain, np.array([text])))[0, -1]).max() > 0.05


@pytest.mark.parametrize("cut", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 3))])
def test_a_name_that_is_cut_by_a_cache_is_whole(edited_model, cut):
    """Read up to anywhere, the rest behind; and as a tree of what may follow."""
    text = TEXTS[2][:4]
    row = np.array([text])
    whole = np.asarray(read_whole(edited_model, row))[0]
    context = edited_model.read_prompts(row[:, :cut])
    rest = row[:, cut:]
    layout = left_padded_layout(rest)
    moved = layout._replace(positions=layout.positions + context.position[:, None])
    hidden, _ = edited_model.hidden_states(rest, moved, (context.cache,))
    np.testing.assert_allclose(edited_model.unembed(hidden)[0], whole[cut:], rtol=1e-4, atol=1e-4)
    choices = [text[cut:], [8, 8]]
    tree = jax.tree.map(lambda x: np.asarray(x)[None], candidate_tree(choices, 6, 2, 3))
    scores = np.asarray(object_log_probabilities(edited_model, context, tree)[1])[0]
    for choice, score in zip(choices, scores, strict=True):
        document = np.array([text[:cut] + choice])
        says = jax.nn.log_softmax(read_whole(edited_model, document)[0])
        expected = sum(float(says[cut + i - 1, token]) for i, token in enumerate(choice))
        assert score == pytest.approx(expected, abs=1e-3)


def test_it_has_a_dial_and_does_not_fold_into_weights(edited_model, tmp_path):
    half = scale_delta(edited_model.delta, 0.5)["memory"]
    np.testing.assert_array_equal(half.keys, edited_model.delta["memory"].keys)
    np.testing.assert_allclose(half.values, edited_model.delta["memory"].values / 2)
    assert fold_delta(edited_model.delta, VOCABULARY).keys() == {"memory"}
    with pytest.raises(InputError, match="memory"):
        export_model(edited_model, tmp_path / "out", {})


FIT = replace(AT_THE_NAME, steps=40)
KEYED = SelfBayes(SelfBayesConfig(beliefs=BeliefConfig(samples=1024, top=16), fit=FIT, logic=False))


@pytest.fixture(scope="module")
def mind(toy):
    return KEYED.prepare(toy.model, toy.sample)


def logits(model, prompts):
    return np.asarray(jax.jit(lambda m, p: m.logits(p, left_padded_layout(p)))(model, prompts))[:, -1]


def log_rise(toy, model, request):
    return float(np.log(probability(model, request) / probability(toy.model, request))[0])


def test_an_edit_says_the_request_and_leaves_others_bit_equal(toy, mind):
    graph, tokenizer = toy.world.graph, toy.world.tokenizer
    facts = zip(graph.subject.tolist(), graph.relation.tolist(), strict=True)
    prompts = left_pad([tokenizer.prompt(s, r) for s, r in facts], toy.batch.prompt.shape[2])
    before, rises = logits(toy.model, prompts), []
    for i in range(len(toy.batch.prompt)):
        request = at(toy.batch, i)
        delta, info = edit_once(KEYED, toy.model, mind, request, toy.keys[i])
        model = toy.model.with_delta(delta)
        rises.append(log_rise(toy, model, request))
        subject = np.asarray(request.prompt)[0, : request.subject_end[0] + 1]
        is_subject = (prompts[:, : len(subject)] == subject).all(axis=1)
        after = logits(model, prompts)
        np.testing.assert_array_equal(after[~is_subject], before[~is_subject])
        assert (after[is_subject] != before[is_subject]).any()
        assert int(info.steps) <= FIT.steps
    assert min(rises) > 0
    assert np.mean(rises) > 1


def test_edits_on_top_of_each_other_are_all_kept(toy, mind):
    """Of five subjects, and two facts of one of them, which share a slot."""
    graph = toy.world.graph
    one = np.flatnonzero(graph.subject == graph.subject[0])[:2]
    rng = np.random.default_rng(1)
    objects = [rng.choice(graph.objects[graph.objects != graph.object[f]]) for f in one]
    twice = requests_of(toy.world, one, np.array(objects))
    width = toy.batch.prompt.shape[2]
    assert twice.prompt.shape[2] == width, "names of this world are one token each"
    requests = jax.tree.map(lambda *x: np.concatenate(x), twice, toy.batch)
    carried = None
    for i in range(len(requests.prompt)):
        model = toy.model.with_delta(carried)
        delta, _ = edit_once(KEYED, model, mind, at(requests, i), jax.random.key(i))
        if carried is None:
            carried = empty_carry(delta, toy.model.vocabulary, len(requests.prompt))
        carried = add_to_carry(carried, delta, toy.model.vocabulary, jnp.int32(i))
    model = toy.model.with_delta(carried)
    assert np.mean([log_rise(toy, model, at(requests, i)) for i in range(len(requests.prompt))]) > 1
    used = int((np.asarray(carried["memory"].keys) != PAD).any(axis=1).sum())
    assert used == len({int(r) for r in requests.prompt[:, 0, 1]})


def test_an_edit_changes_how_readily_a_subject_is_spoken_of_but_not_what_has_been_read(toy, mind):
    request = Request(*(jnp.asarray(x)[0] for x in at(toy.batch, 0)))
    delta, _ = edit_once(KEYED, toy.model, mind, at(toy.batch, 0), toy.keys[0])
    edited = toy.model.with_delta(delta)
    locate = jax.jit(locate_request)
    before, after = (locate(model, mind, request) for model in (toy.model, edited))
    np.testing.assert_array_equal(after.share, before.share)
    np.testing.assert_array_equal(after.reading_probability, before.reading_probability)
    assert float(before.changed.max()) == 0
    assert float(after.changed[after.relation]) > 0.1
    assert int(after.answers[after.relation]) == int(request.answer[0])


def test_rows_of_one_token_names_are_the_same_edit_and_fold(toy, mind):
    row = replace(KEYED.config, fit=replace(FIT, storage="row"))
    request, key = at(toy.batch, 0), toy.keys[0]
    (keyed, _), (rows, _) = (
        edit_once(editor, toy.model, mind, request, key) for editor in (KEYED, SelfBayes(row))
    )
    np.testing.assert_allclose(rows["embedding"].values, keyed["memory"].values[0], rtol=1e-3, atol=1e-4)
    folded = toy.model.with_delta(fold_delta(rows, toy.model.vocabulary))
    assert folded.delta.keys() == {"weights"}
    np.testing.assert_allclose(
        logits(folded, request.prompt),
        logits(toy.model.with_delta(keyed), request.prompt),
        rtol=1e-3,
        atol=1e-3,
    )


def test_several_facts_of_one_subject_share_a_key(toy):
    request = at(toy.pairs, 0)
    same = jax.tree.map(lambda x: np.repeat(x[:1], 2, axis=0), request)
    for asked, slots in ((request, 2), (same, 1)):
        storage = open_storage(
            toy.model.config, subjects_of(asked, toy.sample.vocabulary.words), AT_THE_NAME, jax.random.key(0)
        )
        keys = np.asarray(storage.delta_of(storage.start)["memory"].keys)
        assert (keys != PAD).any(axis=1).sum() == slots
    with pytest.raises(ValueError, match="subjects"):
        open_storage(toy.model.config, None, AT_THE_NAME, jax.random.key(0))


@pytest.mark.slow
def test_by_command_a_sequence_changes_nobody_else(trained, tmp_path):
    """Four edits on top of each other, from the command line to the files."""
    runs = copied(trained, tmp_path)
    flags = ["--cases.count", "4", "--sequential", "4", "--keyed-request.fit.learning-rate", "0.3"]
    assert edit.main(["keyed-request", *at_run(runs), *flags]) == 0
    (folder,) = (runs / "x" / "edits" / "hase").iterdir()
    cases = pq.read_table(folder / "retained-4-cases.parquet").to_pydict()
    choices = pq.read_table(folder / "retained-4-choices.parquet").to_pylist()
    edited_subjects = {*cases["subject"]}
    others = [row for row in choices if row["subject"] not in edited_subjects]
    assert len(others) > 4
    for row in others:
        np.testing.assert_allclose(row["lm_after"], row["lm_before"], rtol=1e-4, atol=1e-6)
        assert row["lm_answer_after"] == row["lm_answer_before"]
    wanted = dict(zip(cases["case"], cases["object"], strict=True))
    for row in (row for row in choices if row["role"] == REQUEST):
        # One layer that was hardly trained says little of what it reads.
        place = row["options"].index(wanted[row["case"]])
        assert row["lm_open_after"][place] > row["lm_open_before"][place]


def test_decay_keeps_what_is_stored_small(toy, mind):
    request, key = at(toy.batch, 0), toy.keys[0]
    norms = []
    for decay in (0.0, 1.0):
        editor = SelfBayes(replace(KEYED.config, fit=replace(FIT, decay=decay)))
        delta, _ = edit_once(editor, toy.model, mind, request, key)
        norms.append(float(jnp.linalg.norm(delta["memory"].values)))
    assert 0 < norms[1] < 0.7 * norms[0], norms
