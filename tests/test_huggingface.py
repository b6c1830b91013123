"""Models in Hugging Face's format: against logits of transformers, there and back, and what is refused."""

import json
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import jax
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from corpus.errors import InputError
from corpus.text.tokenizer import BOS, EOS, PAD, SEP
from lm.config import ModelConfig
from lm.decoding import generate
from lm.delta import LowRank
from lm.huggingface import export_model, import_model
from lm.language_model import LanguageModel
from lm.model import parameter_shapes
from lm.prompts import left_pad
from tests.examples import replace_spans
from tests.toys import read_whole

GOLDEN = Path(__file__).parent / "golden" / "huggingface"
NAMES = sorted(p.name for p in GOLDEN.iterdir())
TINY = ModelConfig(hidden=14, mlp=11, layers=3, heads=7, kv_heads=7, head_width=2)
SCALING = (4.0, 1.0, 3.0, 20.0)
CONFIGS = {
    "plain": TINY,
    "grouped queries": replace(TINY, heads=6, kv_heads=2, rope_theta=100.0),
    "a window": replace(TINY, window=3),
    "biases": replace(TINY, heads=6, kv_heads=2, head_width=4, biases=True),
    "norms of heads": replace(TINY, heads=6, kv_heads=3, head_width=6, head_norms=True),
    "a head width of its own": replace(TINY, heads=3, kv_heads=3, head_width=6),
    "stretched waves": replace(TINY, head_width=10, rope_theta=10.0, rope_scaling=SCALING),
    "all of it": replace(
        TINY, heads=6, kv_heads=3, head_width=4, window=4, rope_theta=10.0, rope_scaling=(8.0, 1.0, 4.0, 8.0)
    ),
}
VOCABULARY = 19


def random_model(config, vocabulary=VOCABULARY, seed=0):
    """Weights so large that attention is far from uniform and answers differ, and norms that are not one."""
    rng = np.random.default_rng(seed)

    def drawn(x):
        large = x.shape[-2:] != (config.layers, config.hidden) and x.ndim > 1
        return np.float32(rng.normal(size=x.shape) * 0.4 if large else rng.uniform(0.5, 1.5, x.shape))

    return LanguageModel(config, jax.tree.map(drawn, parameter_shapes(config, vocabulary)))


def logits_of(model, tokens):
    return np.asarray(read_whole(model, tokens))


def assert_same(one, other):
    assert one.config == other.config
    jax.tree.map(np.testing.assert_array_equal, one.params, other.params)


@pytest.mark.parametrize("name", NAMES)
def test_imports_compute_what_transformers_computed(name):
    with np.load(GOLDEN / name / "expected.npz") as expected:
        got = logits_of(import_model(GOLDEN / name), expected["tokens"])
        np.testing.assert_allclose(got, expected["logits"], rtol=1e-4, atol=1e-4)
        assert np.ptp(expected["logits"]) > 1


@pytest.mark.parametrize("name", NAMES)
def test_an_import_is_exported_tensor_for_tensor(name, tmp_path):
    export_model(import_model(GOLDEN / name), tmp_path / "x")
    original = load_file(GOLDEN / name / "model.safetensors")
    ours = load_file(tmp_path / "x" / "model.safetensors")
    if name == "tied":
        np.testing.assert_array_equal(ours.pop("lm_head.weight"), original["model.embed_tokens.weight"])
    assert ours.keys() == original.keys()
    for key, tensor in original.items():
        np.testing.assert_array_equal(ours[key], tensor)
    configs = [
        json.loads((folder / name / "config.json").read_text(encoding="utf-8"))
        for folder, name in ((GOLDEN, name), (tmp_path, "x"))
    ]
    told = configs[0].keys() & configs[1].keys() - {"tie_word_embeddings", "max_position_embeddings"}
    assert {key: configs[0][key] for key in told} == {key: configs[1][key] for key in told}
    assert len(told) > 12


configs = st.builds(
    lambda group, half, scaling, own, **rest: ModelConfig(
        heads=rest["kv_heads"] * group, head_width=2 * half, rope_scaling=scaling, **own, **rest
    ),
    group=st.integers(1, 3),
    half=st.integers(1, 3),
    scaling=st.none() | st.tuples(*(st.floats(a, b) for a, b in ((1, 9), (0.1, 2), (2.5, 9), (1, 99)))),
    hidden=st.integers(1, 9),
    mlp=st.integers(1, 9),
    layers=st.integers(1, 3),
    kv_heads=st.integers(1, 3),
    own=st.sampled_from([{"window": n} for n in range(6)] + [{"biases": True}, {"head_norms": True}]),
    norm_epsilon=st.floats(1e-9, 1e-2),
    rope_theta=st.floats(1, 1e6),
)


@hypothesis_settings(max_examples=12)
@given(configs, st.integers(5, 31), st.integers(0, 99))
def test_there_and_back_is_bit_identical(tmp_path_factory, config, vocabulary, seed):
    model = random_model(config, vocabulary, seed)
    folder = tmp_path_factory.mktemp("x") / "x"
    export_model(model, folder)
    assert_same(import_model(folder), model)


def test_an_edit_is_merged(tmp_path):
    a, b = (np.float32(0.3 * np.random.default_rng(0).normal(size=s)) for s in [(3, 11, 2), (3, 2, 14)])
    model = random_model(TINY)
    edited = model.with_delta({"down": LowRank(a, b)})
    export_model(edited, tmp_path / "x")
    tokens = np.array([[BOS, 7, 8, 9, 6]])
    got = logits_of(import_model(tmp_path / "x"), tokens)
    np.testing.assert_allclose(got, logits_of(edited, tokens), rtol=1e-4, atol=1e-4)
    assert np.abs(got - logits_of(model, tokens)).max() > 0.1


def test_an_export_is_whole_or_absent(tmp_path):
    with pytest.raises(TypeError):
        export_model(random_model(TINY), tmp_path / "x", {"odd.json": object()})
    assert not list(tmp_path.iterdir())


# What is read -----------------------------------------------------------------------------------------------


def copied(tmp_path, name="mistral"):
    return Path(shutil.copytree(GOLDEN / name, tmp_path / "x"))


def rewritten(folder, tensors=None, **changes):
    """The folder with other settings (... removes one) and other tensors."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8")) | changes
    config = {key: value for key, value in config.items() if value is not ...}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if tensors is not None:
        save_file(tensors, folder / "model.safetensors")
    return folder


def sharded(folder, **changes):
    """The folder with its weights in two files and an index, in which `changes` are made."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    files = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, inside in files.items():
        save_file({name: tensors[name] for name in inside}, folder / file)
    places = {name: file for file, inside in files.items() for name in inside} | changes
    places = {name: file for name, file in places.items() if file is not ...}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}), encoding="utf-8")
    return folder


def test_several_files(tmp_path):
    assert_same(import_model(sharded(copied(tmp_path))), import_model(GOLDEN / "mistral"))


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_half_precision(kind, tmp_path):
    tensors = {k: x.astype(kind) for k, x in load_file(GOLDEN / "mistral" / "model.safetensors").items()}
    got = import_model(rewritten(copied(tmp_path), tensors))
    kept = got.params["layers"]["mlp"]["up"]["kernel"][1].T
    assert kept.dtype == np.float32
    np.testing.assert_array_equal(kept, tensors["model.layers.1.mlp.up_proj.weight"].astype(np.float32))


def test_both_spellings_of_rotary_positions(tmp_path):
    new = import_model(GOLDEN / "llama")
    old = json.loads((GOLDEN / "llama" / "config.json").read_text(encoding="utf-8"))["rope_parameters"]
    theta, kind = old.pop("rope_theta"), old.pop("rope_type")
    spelt = {"rope_parameters": ..., "rope_theta": theta, "rope_scaling": {"type": kind, **old}}
    assert_same(import_model(rewritten(copied(tmp_path, "llama"), **spelt)), new)
    assert new.config.rope_scaling == (4, 1, 3, 12)
    assert new.config.rope_theta == 50


def test_what_a_file_leaves_out_is_what_transformers_takes(tmp_path):
    left_out = ("sliding_window", "rope_parameters", "rms_norm_eps", "head_dim", "tie_word_embeddings")
    folder = rewritten(copied(tmp_path, "tied"), num_key_value_heads=None, **dict.fromkeys(left_out, ...))
    tensors = load_file(folder / "model.safetensors")
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"] * 2
    config = import_model(rewritten(folder, tensors)).config
    assert (config.window, config.rope_theta, config.norm_epsilon) == (4096, 10_000, 1e-6)
    assert (config.kv_heads, config.head_width, config.rope_scaling) == (1, 10, None)


def test_saved_wavelengths_are_passed_over(tmp_path):
    tensors = load_file(GOLDEN / "mistral" / "model.safetensors")
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = np.ones(2, np.float32)
    assert_same(import_model(rewritten(copied(tmp_path), tensors)), import_model(GOLDEN / "mistral"))


# What is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "gpt2"}, "model_type 'gpt2'"),
        ({"model_type": ["mistral"]}, "not supported"),
        ({"architectures": ["MistralModel"]}, "MistralModel"),
        ({"architectures": ...}, "architectures None"),
        ({"hidden_act": "gelu"}, "hidden_act 'gelu'"),
        ({"attention_bias": True}, "attention_bias True"),
        ({"mlp_bias": True}, "mlp_bias True"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"layer_types": ["sliding_attention"]}, "layer_types"),
        ({"model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"]}, "model_type 'gpt_neox'"),
        (
            {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]},
            "no tensor model.layers.0.self_attn.q_norm",
        ),
        (
            {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "use_sliding_window": True},
            "use_sliding",
        ),
        ({"tie_word_embeddings": "yes"}, "true or false"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 2}}, "'yarn'"),
        ({"rope_scaling": {"type": "linear", "factor": 2}}, "'linear'"),
        ({"rope_scaling": {"rope_type": ["llama3"]}}, "not supported"),
        ({"rope_parameters": {"full_attention": {"rope_theta": 1.0}}}, "full_attention"),
        ({"rope_parameters": "x"}, "should be an object"),
        ({"rope_parameters": {"rope_theta": 0}}, "rope_theta should be a positive number, not 0"),
        ({"rope_parameters": {"rope_theta": float("nan")}}, "positive number, not nan"),
        ({"rope_scaling": {"type": "llama3", "factor": 2}}, "low_freq_factor"),
        (
            {"rope_scaling": {"type": "llama3", "factor": 2, "low_freq_factor": 2, "high_freq_factor": 2}},
            "should be below",
        ),
        ({"rms_norm_eps": "small"}, "rms_norm_eps"),
        ({"hidden_size": ...}, "hidden_size should be a positive integer"),
        ({"hidden_size": True}, "not True"),
        ({"hidden_size": 14.0}, "not 14.0"),
        ({"vocab_size": 2**40}, "vocab_size"),
        ({"sliding_window": 0}, "sliding_window"),
        ({"head_dim": 3}, "head_width 3 must be even"),
        ({"num_key_value_heads": 4}, "must be a multiple"),
        ({"num_key_value_heads": ...}, "6 heads must be a multiple of kv_heads 8"),
        ({"num_hidden_layers": 2**31 - 1}, "has no tensor model.layers.2."),
        ({"num_hidden_layers": 1}, "model.layers.1."),
        ({"vocab_size": 31}, "model.embed_tokens.weight has shape (29, 14)"),
        ({"intermediate_size": 14}, "mlp.gate_proj.weight has shape (13, 14)"),
        ({"num_key_value_heads": 2}, "self_attn.k_proj.weight has shape (12, 14)"),
        ({"tie_word_embeddings": True}, "lm_head.weight is in no"),
    ],
)
def test_settings_that_are_refused(changes, message, tmp_path):
    with pytest.raises(InputError) as refused:
        import_model(rewritten(copied(tmp_path), **changes))
    assert message in str(refused.value)
    assert str(tmp_path / "x") in str(refused.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("model.norm.weight"), "has no tensor model.norm.weight"),
        (lambda t: t.update(odd=np.ones(1, np.float32)), "odd is in no model of this config.json"),
        (lambda t: t.update({"lm_head.weight": np.ones((29, 14), np.int8)}), "lm_head.weight is I8"),
        (lambda t: t.update({"lm_head.weight": np.ones((29, 14), np.float64)}), "lm_head.weight is F64"),
        (lambda t: t.update({"lm_head.weight": np.ones((14, 29), np.float32)}), "(14, 29)"),
    ],
)
def test_tensors_that_are_refused(change, message, tmp_path):
    tensors = load_file(GOLDEN / "mistral" / "model.safetensors")
    change(tensors)
    with pytest.raises(InputError) as refused:
        import_model(rewritten(copied(tmp_path), tensors))
    assert message in str(refused.value)


@given(st.sampled_from(["config.json", "model.safetensors"]), st.data())
def test_what_is_read_of_a_mutated_folder_is_what_safetensors_reads(tmp_path_factory, name, data):
    folder = copied(tmp_path_factory.mktemp("mutated"))
    raw = (folder / name).read_bytes()
    # Of the weights, the head alone.
    head = raw[: 4000 if name.endswith("safetensors") else None]
    pieces = (b"", b"0", b"9" * 9, b'"', b"F16", b"\xff\xff", b"null")
    (folder / name).write_bytes(replace_spans(data.draw, head, pieces, 3, 5) + raw[len(head) :])
    with suppress(InputError):
        found = import_model(folder).params["embedding"]
        theirs = load_file(folder / "model.safetensors")["model.embed_tokens.weight"]
        np.testing.assert_array_equal(found, theirs.astype(np.float32))


@pytest.mark.parametrize("size", [0, 7, 100, 5000, -1])
def test_weights_that_were_cut_off(size, tmp_path):
    weights = copied(tmp_path) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:size])
    with pytest.raises(InputError, match="missing or damaged"):
        import_model(weights.parent)


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b"[" * 100_000])
def test_configurations_that_are_no_json_object(content, tmp_path):
    config = copied(tmp_path) / "config.json"
    config.write_bytes(content)
    with pytest.raises(InputError, match="JSON"):
        import_model(config.parent)


def test_folders_without_weights_to_read(tmp_path):
    with pytest.raises(InputError, match="config.json is missing"):
        import_model(tmp_path / "nowhere")
    folder = copied(tmp_path)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(InputError, match="such as .bin, may run code"):
        import_model(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lm_head.weight": "../secret.safetensors"}, "should be the plain name"),
        ({"lm_head.weight": "/etc/passwd"}, "should be the plain name"),
        ({"lm_head.weight": "weights.bin"}, "should be the plain name"),
        ({"lm_head.weight": 3}, "no weight_map"),
        ({"lm_head.weight": "c.safetensors"}, "c.safetensors is missing or damaged"),
        ({"lm_head.weight": "b.safetensors"}, "lm_head.weight is not in the file"),
        ({"lm_head.weight": ...}, "lm_head.weight is not in the file"),
        ({"nothing": "a.safetensors"}, "nothing is not in the file"),
    ],
)
def test_indexes_that_are_refused(changes, message, tmp_path):
    (tmp_path / "secret.safetensors").write_bytes((GOLDEN / "tied" / "model.safetensors").read_bytes())
    with pytest.raises(InputError) as refused:
        import_model(sharded(copied(tmp_path), **changes))
    assert message in str(refused.value)


def test_an_index_without_a_map_is_refused(tmp_path):
    folder = sharded(copied(tmp_path))
    (folder / "model.safetensors.index.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="no weight_map"):
        import_model(folder)


# Beside transformers itself, where it is installed ----------------------------------------------------------


@pytest.fixture(scope="module")
def transformers():
    pytest.importorskip("torch")
    return pytest.importorskip("transformers")


def opened(transformers, folder):
    model, report = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not any(report.values())
    return model.eval()


def their_logits(model, tokens):
    import torch

    with torch.no_grad():
        return model(torch.from_numpy(tokens)).logits.numpy()


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_transformers_opens_our_exports(config, transformers, tmp_path):
    model = random_model(config)
    export_model(model, tmp_path / "x")
    theirs = opened(transformers, tmp_path / "x")
    tokens = np.random.default_rng(0).integers(5, VOCABULARY, (3, 13))
    tokens[:, 0] = BOS
    np.testing.assert_allclose(logits_of(model, tokens), their_logits(theirs, tokens), rtol=1e-4, atol=1e-4)
    assert theirs.config.architectures == [type(theirs).__name__]


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_we_open_what_transformers_saves(config, transformers, tmp_path):
    """Their configuration is written by hand, so that it does not come from our export."""
    import torch

    torch.manual_seed(0)
    rope = {"rope_type": "default", "rope_theta": config.rope_theta}
    if config.rope_scaling:
        names = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
        rope |= {"rope_type": "llama3", **dict(zip(names, config.rope_scaling, strict=True))}
        rope[names[3]] = int(rope[names[3]])
    family = "Qwen2" if config.biases else "Qwen3" if config.head_norms else "Mistral"
    theirs = getattr(transformers, f"{family}ForCausalLM")(
        getattr(transformers, f"{family}Config")(
            vocab_size=VOCABULARY,
            hidden_size=config.hidden,
            intermediate_size=config.mlp,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.kv_heads,
            head_dim=config.head_width,
            **({"sliding_window": config.window or None} if family == "Mistral" else {}),
            rms_norm_eps=config.norm_epsilon,
            rope_parameters=rope,
        )
    ).eval()
    with torch.no_grad():
        for x in theirs.parameters():
            x.copy_(torch.randn_like(x) * 0.4 if x.ndim > 1 else torch.rand_like(x) + 0.5)
    assert config.biases == any("q_proj.bias" in name for name, _ in theirs.named_parameters())
    theirs.save_pretrained(tmp_path / "x", max_shard_size="4KB")
    assert (tmp_path / "x" / "model.safetensors.index.json").exists()
    ours = import_model(tmp_path / "x")
    assert ours.config == config
    tokens = np.random.default_rng(0).integers(5, VOCABULARY, (3, 13))
    np.testing.assert_allclose(logits_of(ours, tokens), their_logits(theirs, tokens), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["grouped queries", "a window", "stretched waves", "all of it"])
def test_a_thousand_greedy_generations_are_theirs(name, transformers, tmp_path):
    import torch

    model, rng = random_model(CONFIGS[name]), np.random.default_rng(0)
    export_model(model, tmp_path / "x")
    prompts = [np.array([BOS, *rng.integers(5, VOCABULARY, rng.integers(1, 9))]) for _ in range(1000)]
    padded, longest = left_pad(prompts, 9), 12
    ours = np.asarray(jax.jit(lambda m, p: generate(m, m.read_prompts(p), longest))(model, padded))
    theirs = opened(transformers, tmp_path / "x").generate(
        torch.from_numpy(padded).long(),
        attention_mask=torch.from_numpy(padded != PAD),
        max_new_tokens=longest,
    )
    said = theirs.numpy()[:, 9:]
    said = np.pad(said, ((0, 0), (0, longest - said.shape[1])))
    ended = np.logical_or.accumulate((said == SEP) | (said == EOS), axis=1)
    np.testing.assert_array_equal(ours, np.where(ended, PAD, said))
    assert len(np.unique(ours, axis=0)) > 50
    assert 0 < ended[:, -1].mean() < 1


def test_the_golden_files_are_what_transformers_computes(transformers):
    for name in NAMES:
        with np.load(GOLDEN / name / "expected.npz") as expected:
            got = their_logits(opened(transformers, GOLDEN / name), expected["tokens"])
            np.testing.assert_allclose(got, expected["logits"], rtol=1e-4, atol=1e-4)
