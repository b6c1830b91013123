"""A pretrained model's tokenizer under our ids, and training that goes on from its weights."""

import json
from dataclasses import replace

import jax
import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from corpus.text.language import Language
from corpus.text.pretrained import exchange_ids, read_pretrained
from corpus.text.tokenizer import (
    BOS,
    EOS,
    PAD,
    SEP,
    UNK,
    load_tokenizer,
    pretrained_tokenizer,
    save_tokenizer,
)
from lm.attention import packed_layout
from lm.config import TrainConfig
from lm.huggingface import import_model
from testbed import corpus, edit, export, train
from testbed.run.earlier import FACTS, check_names, compare_to_earlier, read_earlier
from testbed.run.model import load_trained
from testbed.run.pretrained import load_pretrained
from testbed.run.settings import TrainSettings
from testbed.scores.gather import read_cost
from tests.pretrained_folders import names_of, train_tokenizer, write_folder
from tests.worlds import make_world


@pytest.fixture(scope="module")
def world():
    return make_world()


@pytest.fixture(scope="module")
def folder(world, tmp_path_factory):
    tokenizer = train_tokenizer(names_of(world.graph))
    return write_folder(tmp_path_factory.mktemp("hub") / "model", tokenizer)


def logits_of(model, tokens):
    return np.asarray(model.logits(tokens, packed_layout(tokens, -1)))


@given(st.data())
def test_ids_change_places(data):
    vocabulary = data.draw(st.integers(5, 40))
    specials = data.draw(st.lists(st.integers(0, vocabulary - 1), min_size=5, max_size=5, unique=True))
    order = exchange_ids(specials, vocabulary)
    assert order[:5].tolist() == specials
    assert sorted(order.tolist()) == list(range(vocabulary))
    moved = np.flatnonzero(order != np.arange(vocabulary))
    assert {*moved.tolist()} <= {*specials, *range(5)}
    rows = np.random.default_rng(0).normal(size=(vocabulary, 3))
    np.testing.assert_array_equal(rows[order][np.argsort(order)], rows)


def test_specials_are_tokens_that_play_their_part(folder):
    theirs = read_pretrained(folder)
    named = tokenizers.Tokenizer.from_str(json.dumps(theirs.content))
    said = [named.id_to_token(i) for i in theirs.specials]
    assert said[BOS] == "<|start|>"
    assert said[EOS] == "<|end|>"
    assert said[SEP] == "."
    assert {said[PAD], said[UNK]} == {"<|mask|>", "<|tool|>"}


def test_a_corpus_keeps_its_tokenizer(world, folder, tmp_path):
    ours = pretrained_tokenizer(world.graph, read_pretrained(folder))
    save_tokenizer(ours, tmp_path / "t.json")
    again = load_tokenizer(tmp_path / "t.json", world.graph)
    np.testing.assert_array_equal(again.tokens, ours.tokens)
    assert again.pretrained.checksum == ours.pretrained.checksum
    assert again.vocabulary == import_model(folder).vocabulary


def test_logits_are_those_of_the_folder(world, folder):
    ours = pretrained_tokenizer(world.graph, read_pretrained(folder))
    tokens = np.array([ours.prompt(0, 0), np.arange(len(ours.prompt(0, 0)))])
    order = ours.pretrained.order
    got = logits_of(load_pretrained(folder, ours), tokens)
    np.testing.assert_array_equal(got, logits_of(import_model(folder), order[tokens])[..., order])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.update(model={"type": "Unigram"}), "kind 'Unigram' is not supported; only BPE is"),
        (lambda t: t["added_tokens"].pop(), "has 3 special tokens, where four are needed"),
        (lambda t: t["model"].update(vocab={}), "tokenizer.json"),
    ],
)
def test_tokenizers_that_are_refused(change, message, folder, tmp_path):
    content = json.loads((folder / "tokenizer.json").read_text())
    change(content)
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(InputError) as refused:
        read_pretrained(tmp_path)
    assert message in str(refused.value)


def test_names_that_are_refused(world, folder, tmp_path):
    for entities, message in (
        (["Ann", "St. Louis"], "the word 'St.' has a token in it by which this tokenizer stops"),
        (["Ann", "<|mask|>"], "the word '<|mask|>' has a token in it"),
    ):
        with pytest.raises(InputError) as refused:
            pretrained_tokenizer(Language(entities, ["likes"]), read_pretrained(folder))
        assert message in str(refused.value)
    merging = write_folder(tmp_path / "m", train_tokenizer(names_of(world.graph), splits_words=False))
    with pytest.raises(InputError, match="merges letters of different words"):
        pretrained_tokenizer(world.graph, read_pretrained(merging))
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"]["merges"] = []
    (tmp_path / "m" / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="the word '\"' takes 2 tokens; take another model"):
        pretrained_tokenizer(world.graph, read_pretrained(tmp_path / "m"))


def make_run(folder, runs, *more):
    """A corpus with the folder's tokenizer, and two steps of a training that goes on from `more`."""
    written = "--world.subjects 24 --documents.reshuffles 1 --tokenizer.kind pretrained".split()
    assert not corpus.main(["tiny", "--runs", str(runs), *written, "--tokenizer.path", str(folder)])
    return train.main(["tiny", "--runs", str(runs), *STEPS, *more])


STEPS = "--train.steps 2 --train.rows 1 --train.row-length 500 --train.optimizer adamw".split()
HARDLY = ["--train.learning-rate", "1e-9"]


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    assert not make_run(folder, runs, "--model.from", str(folder), *HARDLY)
    return load_trained(runs, "demo")


def test_training_goes_on_from_the_weights(run, folder):
    begun = load_pretrained(folder, run.world.tokenizer)
    assert run.model.config == replace(begun.config, unroll=run.model.config.unroll)
    for ours, theirs in zip(jax.tree.leaves(run.model.params), jax.tree.leaves(begun.params), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_an_export_has_the_ids_and_the_tokenizer_of_the_folder(run, folder, tmp_path):
    arguments = ["tiny", "--runs", str(run.run.root), "--folder"]
    assert not export.main([*arguments, str(tmp_path / "hub")])
    tokens = np.arange(12)[None]
    got, want = (logits_of(import_model(x), tokens) for x in (tmp_path / "hub", folder))
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)
    contents = [json.loads((x / "tokenizer.json").read_text()) for x in (tmp_path / "hub", folder)]
    assert contents[0] == contents[1]
    config = json.loads((tmp_path / "hub" / "config.json").read_text())
    assert (config["bos_token_id"], config["eos_token_id"]) == (1, 0)
    # Questions are asked under our ids, so a door has these.
    assert not export.main([*arguments, str(tmp_path / "door"), "--cases", "--cases.count", "2"])
    order = run.world.tokenizer.pretrained.order
    got = logits_of(import_model(tmp_path / "door"), tokens)
    np.testing.assert_allclose(got, logits_of(import_model(folder), order[tokens])[..., order], rtol=1e-3)


def test_transformers_reads_an_export(run, folder, tmp_path):
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    assert not export.main(["tiny", "--runs", str(run.run.root), "--folder", str(tmp_path / "x")])
    tokens = np.arange(12)[None]
    for one in (folder, tmp_path / "x"):
        theirs = transformers.AutoModelForCausalLM.from_pretrained(one).eval()
        with torch.no_grad():
            got = theirs(torch.from_numpy(tokens)).logits.numpy()
        np.testing.assert_allclose(got, logits_of(import_model(folder), tokens), rtol=1e-3, atol=1e-3)


def test_another_tokenizer_than_the_corpus_has_is_refused(run, folder, world, tmp_path, capsys):
    names = [*names_of(world.graph), "Zaphod"] * 2
    other = write_folder(tmp_path / "other", train_tokenizer(names, size=600))
    assert make_run(folder, tmp_path, "--model.from", str(other)) == 2
    assert "has another tokenizer than" in capsys.readouterr().err
    again = ["tiny", "--runs", str(tmp_path), "--run", "entities", "--world.subjects", "24"]
    assert not corpus.main(again)
    assert train.main([*again[:5], *STEPS, "--model.from", str(folder)]) == 2
    assert "--tokenizer.kind pretrained --tokenizer.path" in capsys.readouterr().err


def test_a_model_says_what_it_said_until_it_changes(run):
    found = json.loads((run.run.checkpoints.parent / "earlier.json").read_text())
    assert found["read"]["same"] > 0.99
    assert abs(found["read"]["nats"]) < 1e-4
    earlier = read_earlier(run.run)
    noisy = {"kernel": run.model.params["head"]["kernel"][:, ::-1]}
    other = compare_to_earlier(replace(run.model, params=run.model.params | {"head": noisy}), earlier)
    assert other.same < 0.9
    assert other.nats > 0.01


def test_a_model_learns_in_its_layers_beside_texts_of_its_own(folder, tmp_path):
    more = ["--model.from", str(folder), "--train.own-rows", "2", "--train.learns", "layers"]
    assert not make_run(folder, tmp_path, *more)
    run = load_trained(tmp_path, "demo")
    texts = np.load(run.run.checkpoints.parent / "own_texts.npz")["texts"]
    assert np.all(texts[:, 0] == BOS)
    assert np.all(np.diff((texts == PAD).astype(int), axis=1) >= 0)
    assert len(np.unique(texts, axis=0)) > 1
    begun = load_pretrained(folder, run.world.tokenizer).params
    for name in begun.keys() - {"layers"}:
        jax.tree.map(np.testing.assert_array_equal, run.model.params[name], begun[name])
    down = [params["layers"]["mlp"]["down"]["kernel"] for params in (run.model.params, begun)]
    assert np.abs(np.subtract(*down)).max() > 1e-3


def test_own_texts_are_a_pretrained_model_s():
    with pytest.raises(ValueError, match=r"name its folder by --model\.from"):
        TrainSettings(train=TrainConfig(own_rows=1))


def test_names_that_nobody_knows_cost_as_much_as_a_guess(run):
    params = run.model.params
    flat = replace(run.model, params=params | {"head": {"kernel": 0 * params["head"]["kernel"]}})
    checked = check_names(flat, run.world)
    lengths = run.world.tokenizer.row_length[run.world.graph.objects]
    assert checked.facts == min(FACTS, len(run.world.graph))
    assert checked.chance < 0.5
    assert abs(checked.model - checked.uniform) < np.log(run.model.vocabulary) * np.ptp(lengths)
    assert 0.8 < checked.marginal / checked.uniform < 1.2
    assert abs(checked.right - checked.chance) < 0.15


def test_every_edit_is_asked_what_the_model_knew(run):
    assert not edit.main(["tiny", "lora-down", "--runs", str(run.run.root), "--cases.count", "2"])
    (cost,) = run.run.edits.glob("hase/*/cost.json")
    figures = json.loads(cost.read_text())
    assert 0 <= figures["knew"] <= 1
    assert figures["knew_nats"] > -1e-4
    assert read_cost(cost.parent)["knew"] == figures["knew"]
