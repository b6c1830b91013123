"""ModelConfig as the config.json of a Mistral, Llama, Qwen2 or Qwen3, and back."""

import math
from pathlib import Path
from typing import Any, NamedTuple

from corpus.errors import InputError
from corpus.text.tokenizer import BOS, EOS, PAD
from lm.config import ModelConfig

ARCHITECTURES = {
    "mistral": "MistralForCausalLM",
    "llama": "LlamaForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}
SIZES = {
    "hidden": "hidden_size",
    "mlp": "intermediate_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
}
SCALING = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
POSITIONS = 131_072
LARGEST = 2**31
# What we compute; the first value is what a file that says nothing means.
ONLY: dict[str, tuple] = {
    "hidden_act": ("silu",),
    "attention_bias": (False, None),
    "mlp_bias": (False, None),
    "quantization_config": (None,),
    "use_sliding_window": (False, None),
    "partial_rotary_factor": (None, 1),
}


class Architecture(NamedTuple):
    """What a config.json says of a model; `tied` where the head is the embedding."""

    config: ModelConfig
    vocabulary: int
    tied: bool


def write_config(config: ModelConfig, vocabulary: int) -> dict:
    """The content of config.json, for transformers 4 (rope_theta, rope_scaling) and 5 (rope_parameters).

    Biases make a Qwen2, norms of heads a Qwen3. Scaled waves without a window make a Llama, which has always
    known them; all else is a Mistral, which scales them in transformers 4.57 and 5. `precision`, `remat` and
    `unroll` have no place there.
    """
    scaled = config.rope_scaling is not None and not config.window and config.hidden % config.heads == 0
    kind = "qwen2" if config.biases else "qwen3" if config.head_norms else "llama" if scaled else "mistral"
    scaling = None
    if config.rope_scaling is not None:
        numbers = dict(zip(SCALING, config.rope_scaling, strict=True))
        length = numbers[SCALING[3]]
        # transformers wants the length as an integer.
        whole = {SCALING[3]: int(length)} if length == int(length) else {}
        scaling = {"rope_type": "llama3"} | numbers | whole
    return {
        "architectures": [ARCHITECTURES[kind]],
        "model_type": kind,
        "vocab_size": vocabulary,
        **{theirs: getattr(config, ours) for ours, theirs in SIZES.items()},
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_width,
        "hidden_act": "silu",
        "rms_norm_eps": config.norm_epsilon,
        **({"sliding_window": config.window or None} if kind == "mistral" else {}),
        # The model knows no limit, but readers want one.
        "max_position_embeddings": POSITIONS,
        "rope_theta": config.rope_theta,
        "rope_scaling": scaling,
        "rope_parameters": {"rope_type": "default", **(scaling or {}), "rope_theta": config.rope_theta},
        "tie_word_embeddings": False,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "pad_token_id": PAD,
        "torch_dtype": "float32",
    }


def read_config(content: dict, path: Path) -> Architecture:
    """The architecture that a config.json describes; what it leaves out is what transformers would take.

    Args:
        path: of the file, for messages.

    Raises:
        InputError: something that `lm.model` does not compute, or no size.
    """
    kind = content.get("model_type")
    if (kind, content.get("architectures")) not in [(k, [name]) for k, name in ARCHITECTURES.items()]:
        raise InputError(
            f"{path}: model_type {kind!r} with architectures {content.get('architectures')!r} is not "
            f"supported; only {', '.join(ARCHITECTURES.values())} are"
        )
    for key, known in ONLY.items():
        if content.get(key, known[0]) not in known:
            raise InputError(
                f"{path}: {key} {content[key]!r} is not supported; convert a model with {known[0]!r}"
            )
    types = content.get("layer_types")
    full = isinstance(types, list) and all(one == "full_attention" for one in types)
    if types is not None and not (full and kind in ("qwen2", "qwen3")):
        raise InputError(f"{path}: layer_types {types!r} is not supported; only full attention is")
    tied = content.get("tie_word_embeddings", False)
    if not isinstance(tied, bool):
        raise InputError(f"{path}: tie_word_embeddings should be true or false, not {tied!r}")
    sizes = {ours: _read_size(path, content, theirs) for ours, theirs in SIZES.items()}
    heads, window = sizes["heads"], 0
    if kind == "mistral" and content.get("sliding_window", 4096) is not None:
        window = _read_size(path, content, "sliding_window", 4096)
    # A Mistral that does not say has eight heads of keys, a Qwen 32; null, or a Llama, means no grouping.
    unsaid = {"mistral": 8, "llama": heads}.get(str(kind), 32)
    grouped = heads if "num_key_value_heads" in content else unsaid
    theta, scaling = _read_rope(path, content)
    kv_heads = _read_size(path, content, "num_key_value_heads", grouped)
    head_width = _read_size(path, content, "head_dim", 128 if kind == "qwen3" else sizes["hidden"] // heads)
    epsilon = _read_positive(path, content, "rms_norm_eps", 1e-6)
    try:
        config = ModelConfig(
            hidden=sizes["hidden"],
            mlp=sizes["mlp"],
            layers=sizes["layers"],
            heads=heads,
            kv_heads=kv_heads,
            head_width=head_width,
            window=window,
            norm_epsilon=epsilon,
            rope_theta=theta,
            rope_scaling=scaling,
            biases=kind == "qwen2",
            head_norms=kind == "qwen3",
        )
    except ValueError as error:
        raise InputError(f"{path} describes no model of ours: {error}") from None
    return Architecture(config, _read_size(path, content, "vocab_size"), tied)


def _read_rope(path: Path, content: dict) -> tuple[float, tuple[float, float, float, float] | None]:
    """Base and Llama 3's scaling, from either spelling."""
    name = "rope_scaling" if content.get("rope_scaling") else "rope_parameters"
    rope = content.get(name) or {}
    if not isinstance(rope, dict):
        raise InputError(f"{path}: {name} should be an object, not {rope!r}")
    kind = rope.get("rope_type", rope.get("type", "default"))
    known = {"rope_type", "type", "rope_theta"}
    if kind == "llama3":
        known |= set(SCALING)
    if kind not in ("default", "llama3") or not rope.keys() <= known:
        raise InputError(f"{path}: {name} {rope!r} is not supported; only rope_type default and llama3 are")
    theta = _read_positive(path, content | rope, "rope_theta", 10_000.0)
    if kind == "default":
        return theta, None
    original = {SCALING[3]: content.get("max_position_embeddings")}
    factor, low, high, length = (_read_positive(path, original | rope, key) for key in SCALING)
    if low >= high:
        raise InputError(f"{path}: low_freq_factor {low} should be below high_freq_factor {high}")
    return theta, (factor, low, high, length)


def _read_size(path: Path, content: dict, key: str, otherwise: int | None = None) -> int:
    value = _value_or_default(content, key, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < LARGEST:
        raise InputError(f"{path}: {key} should be a positive integer below 2**31, not {value!r}")
    return value


def _read_positive(path: Path, content: dict, key: str, otherwise: float | None = None) -> float:
    value = _value_or_default(content, key, otherwise)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise InputError(f"{path}: {key} should be a positive number, not {value!r}")
    return float(value)


def _value_or_default(content: dict, key: str, otherwise: Any) -> Any:
    value = content.get(key)
    return otherwise if value is None else value
