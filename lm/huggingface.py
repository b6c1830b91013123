"""Models in Hugging Face's format, both ways: config.json and safetensors (nothing pickled, nothing run)."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from corpus.errors import InputError
from corpus.files import require_regular, staged_folder, write_json
from corpus.text.tokenizer import BOS, EOS, PAD, SEP
from lm.config import ModelConfig
from lm.delta import fold_delta
from lm.huggingface_config import Architecture, read_config, write_config
from lm.language_model import LanguageModel
from lm.model import Params, add_weights, parameter_shapes

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"
FLOATS = ("F32", "F16", "BF16")
OUTER = {EMBEDDING: ("embedding",), "model.norm.weight": ("norm", "scale"), HEAD: ("head", "kernel")}
LAYER = {
    "input_layernorm.weight": ("attention_norm", "scale"),
    "self_attn.q_proj.weight": ("attention", "query", "kernel"),
    "self_attn.k_proj.weight": ("attention", "key", "kernel"),
    "self_attn.v_proj.weight": ("attention", "value", "kernel"),
    "self_attn.o_proj.weight": ("attention", "out", "kernel"),
    "post_attention_layernorm.weight": ("mlp_norm", "scale"),
    "mlp.gate_proj.weight": ("mlp", "gate", "kernel"),
    "mlp.up_proj.weight": ("mlp", "up", "kernel"),
    "mlp.down_proj.weight": ("mlp", "down", "kernel"),
}
BIASES = {
    "self_attn.q_proj.bias": ("attention", "query", "bias"),
    "self_attn.k_proj.bias": ("attention", "key", "bias"),
    "self_attn.v_proj.bias": ("attention", "value", "bias"),
}
HEAD_NORMS = {
    "self_attn.q_norm.weight": ("attention", "query_norm", "scale"),
    "self_attn.k_norm.weight": ("attention", "key_norm", "scale"),
}


class Tensor(NamedTuple):
    """Where a tensor lies, and as what."""

    path: Path
    dtype: str
    shape: tuple[int, ...]


def export_model(
    model: LanguageModel,
    folder: Path,
    beside: Mapping[str, dict] | None = None,
    order: np.ndarray | None = None,
) -> None:
    """Write a model as a folder that `AutoModelForCausalLM.from_pretrained` opens, whole or not at all.

    An edit is merged into the weights. Left to itself, `generate` is greedy and ends where our decoding
    does, at the end of a sentence or a document.

    Args:
        folder: must not exist.
        beside: further JSON files by name, such as the tokenizer's.
        order: int[V], the id that each of ours has in the files; by default the same.

    Raises:
        OSError: the folder cannot be written.
    """
    ids = np.arange(model.vocabulary) if order is None else order
    special = {f"{role}_token_id": int(ids[i]) for role, i in (("bos", BOS), ("eos", EOS), ("pad", PAD))}
    generation = special | {"eos_token_id": [int(ids[EOS]), int(ids[SEP])], "do_sample": False}
    config = write_config(model.config, model.vocabulary) | special
    with staged_folder(folder) as aside:
        for name, content in {CONFIG: config, "generation_config.json": generation, **(beside or {})}.items():
            write_json(aside / name, content)
        try:
            save_file(
                dict(_export_tensors(model, np.argsort(ids))), aside / WEIGHTS, metadata={"format": "pt"}
            )
        except SafetensorError as error:
            raise OSError(f"{folder} could not be written: {error}") from None


def import_model(folder: Path, order: np.ndarray | None = None) -> LanguageModel:
    """Read a Mistral, Llama, Qwen2 or Qwen3 from config.json and safetensors, in one file or several.

    Weights in float16 and bfloat16 become float32; a tied head becomes a copy of the embedding.

    Args:
        order: int[V], the id that each of ours has in the files; by default the same.

    Raises:
        InputError: no such folder, a damaged file, or an architecture that `lm.model` does not compute.
    """
    architecture = read_architecture(folder)
    tensors = _find_tensors(folder)
    _check_tensors(folder, architecture, tensors)
    params = _load_params(architecture.config, architecture.tied, tensors)
    return LanguageModel(architecture.config, params if order is None else _reorder_ids(params, order))


def _reorder_ids(params: Params, order: np.ndarray) -> Params:
    """The same parameters with row order[i] of the embedding, and column of the head, as the i-th."""
    head = params["head"] | {"kernel": params["head"]["kernel"][:, order]}
    return params | {"embedding": params["embedding"][order], "head": head}


def read_architecture(folder: Path) -> Architecture:
    """What the config.json of a folder says.

    Raises:
        InputError: as `import_model`.
    """
    return read_config(_read_json(folder / CONFIG), folder / CONFIG)


def find_weights(folder: Path) -> list[Path]:
    """The safetensors files of a folder.

    Raises:
        InputError: as `import_model`.
    """
    return sorted({tensor.path for tensor in _find_tensors(folder).values()})


def name_tensors(config: ModelConfig, params: Params) -> Iterator[tuple[str, np.ndarray]]:
    """Every tensor of NumPy parameters under Hugging Face's name, float32, kernels as [out, in]."""
    for name, path in OUTER.items():
        yield name, _turn_kernel(_get_leaf(params, path), path)
    for name, path in _tensors_of_layer(config).items():
        for i, one in enumerate(_get_leaf(params["layers"], path)):
            yield f"model.layers.{i}.{name}", _turn_kernel(one, path)


def stack_tensors(config: ModelConfig, read: Callable[[str], np.ndarray]) -> Params:
    """The NumPy parameters whose tensors `read` gives by Hugging Face's name; undoes `name_tensors`."""
    params: Params = {"layers": {}}
    for name, path in OUTER.items():
        _put_leaf(params, path, _turn_kernel(read(name), path))
    for name, path in _tensors_of_layer(config).items():
        tensors = [read(f"model.layers.{i}.{name}") for i in range(config.layers)]
        _put_leaf(params["layers"], path, np.stack([_turn_kernel(tensor, path) for tensor in tensors]))
    return params


def _tensors_of_layer(config: ModelConfig) -> dict[str, tuple[str, ...]]:
    return LAYER | (BIASES if config.biases else {}) | (HEAD_NORMS if config.head_norms else {})


def _export_tensors(model: LanguageModel, order: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Every tensor under Hugging Face's name, the edit merged, and the order[i]-th of our ids as the i-th.

    Raises:
        InputError: a part of the edit is looked up or read, and is no weight.
    """
    folded = fold_delta(model.delta or {}, model.vocabulary)
    unfolded = sorted(folded.keys() - {"weights"})
    if unfolded:
        raise InputError(
            f"weights cannot hold what an edit keeps beside them ({', '.join(unfolded)}); export an edit of "
            "low rank, or one stored in the row of the subject's last token (--keyed.fit.storage row)"
        )
    params = jax.device_get(add_weights(model.params, folded))
    return name_tensors(model.config, _reorder_ids(params, order))


def _load_params(config: ModelConfig, tied: bool, tensors: Mapping[str, Tensor]) -> Params:
    """The parameters of `lm.model`, from tensors that `_check_tensors` has seen."""
    with ExitStack() as stack:
        opened = {
            path: stack.enter_context(_open_tensors(path)) for path in {t.path for t in tensors.values()}
        }

        def read(weight: str) -> np.ndarray:
            if tied and weight == HEAD:
                weight = EMBEDDING
            tensor = np.asarray(opened[tensors[weight].path].get_tensor(weight), np.float32)
            if not np.isfinite(tensor).all():
                raise InputError(f"{tensors[weight].path}: {weight} holds NaN or infinity; fetch it again")
            return tensor

        return jax.tree.map(jnp.asarray, stack_tensors(config, read))


def _turn_kernel(x: np.ndarray, path: tuple[str, ...]) -> np.ndarray:
    """Their kernels are [out, in], ours [in, out]; contiguous, as safetensors writes memory as it lies."""
    return np.ascontiguousarray(x.T if path[-1] == "kernel" else x, np.float32)


def _get_leaf(tree: Params, path: tuple[str, ...]) -> Any:
    return reduce(getitem, path, tree)


def _put_leaf(tree: Params, path: tuple[str, ...], value: np.ndarray) -> None:
    for key in path[:-1]:
        tree = tree.setdefault(key, {})
    tree[path[-1]] = value


def _check_tensors(folder: Path, architecture: Architecture, tensors: Mapping[str, Tensor]) -> None:
    """Refuse tensors that are missing, superfluous, of another shape, or no plain floats."""
    remaining = dict(tensors)
    for name, shape in _expected_tensors(*architecture):
        tensor = remaining.pop(name, None)
        if tensor is None:
            raise InputError(f"{folder} has no tensor {name}, which its {CONFIG} asks for; fetch it again")
        if tensor.shape != shape:
            raise InputError(
                f"{tensor.path}: {name} has shape {tensor.shape} where {CONFIG} means {shape}; one is wrong"
            )
        if tensor.dtype not in FLOATS:
            raise InputError(
                f"{tensor.path}: {name} is {tensor.dtype}; convert weights of {', '.join(FLOATS)} instead"
            )
    # Old files keep the rotary wavelengths, which follow from the configuration.
    extra = [name for name in remaining if not name.endswith(".rotary_emb.inv_freq")]
    if extra:
        raise InputError(f"{remaining[extra[0]].path}: {extra[0]} is in no model of this {CONFIG}; remove it")


def _expected_tensors(
    config: ModelConfig, vocabulary: int, tied: bool
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of their tensors, one by one: a configuration may claim any number of layers."""
    params = parameter_shapes(config, vocabulary)

    def theirs(shape: tuple[int, ...], path: tuple[str, ...]) -> tuple[int, ...]:
        return shape[::-1] if path[-1] == "kernel" else shape

    for name, path in OUTER.items():
        if not (tied and name == HEAD):
            yield name, theirs(_get_leaf(params, path).shape, path)
    for i in range(config.layers):
        for name, path in _tensors_of_layer(config).items():
            yield f"model.layers.{i}.{name}", theirs(_get_leaf(params["layers"], path).shape[1:], path)


def _find_tensors(folder: Path) -> dict[str, Tensor]:
    """Every tensor of a folder by name, from one file or from those that the index lists."""
    if (folder / WEIGHTS).exists():
        return _list_tensors(folder / WEIGHTS)
    index = folder / INDEX
    if not index.exists():
        raise InputError(
            f"{folder} has neither {WEIGHTS} nor {INDEX}; other formats, such as .bin, may run code "
            "when opened and are not read: save the model again as safetensors"
        )
    promised = _read_json(index).get("weight_map")
    if not isinstance(promised, dict) or not all(isinstance(file, str) for file in promised.values()):
        raise InputError(f"{index} has no weight_map from tensors to files; fetch it again")
    tensors: dict[str, Tensor] = {}
    for file in sorted(set(promised.values())):
        if Path(file).name != file or not file.endswith(".safetensors"):
            raise InputError(f"{index}: {file!r} should be the plain name of a .safetensors file beside it")
        tensors |= _list_tensors(folder / file)
    for name in tensors.keys() | promised.keys():
        if name not in tensors or tensors[name].path.name != promised.get(name):
            raise InputError(
                f"{index}: {name} is not in the file that the index says; fetch the folder again"
            )
    return tensors


def _list_tensors(path: Path) -> dict[str, Tensor]:
    with _open_tensors(path) as file:
        views = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        return {name: Tensor(path, v.get_dtype(), tuple(v.get_shape())) for name, v in views.items()}


@contextmanager
def _open_tensors(path: Path) -> Iterator[Any]:
    """A safetensors file, whose header and length were checked."""
    require_regular(path)
    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is missing or damaged ({error}); fetch it again") from None


def _read_json(path: Path) -> dict:
    require_regular(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is missing or no JSON ({error}); fetch it again") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no JSON object; fetch it again")
    return content
