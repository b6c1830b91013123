"""Models and tokenizers of Hugging Face's that a user's editor edits, and what is asked of the edited ones.

Importing this needs PyTorch and transformers.
"""

import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from corpus.errors import InputError
from lm.huggingface_config import write_config
from testbed.engine.file_exchange.door import watch_tokenizer

BY_FILES = "ask it by files: python -m testbed.export --cases (docs/pytorch.md)"
SMALL = 512
"""Width of a model that gains nothing by threads, which wait for each other on a busy machine."""
FARTHEST = 1e-4
"""Between probabilities of one model computed twice."""


@cache
def load_skeleton(config: Any, vocabulary: int, tokenizer: str) -> tuple[Callable[[dict], Any], Any]:
    """A function from tensors by name to a new model of Hugging Face's, float32, and the tokenizer.

    Args:
        tokenizer: its files as JSON.
    """
    files = json.loads(tokenizer) | {"config.json": write_config(config, vocabulary)}
    with tempfile.TemporaryDirectory(prefix="credence-") as folder:
        for name, content in files.items():
            Path(folder, name).write_text(json.dumps(content), encoding="utf-8")
        shape, theirs = (
            AutoConfig.from_pretrained(folder),
            watch_tokenizer(AutoTokenizer.from_pretrained(folder)),
        )

    if shape.hidden_size <= SMALL:
        torch.set_num_threads(1)

    def build_model(tensors: dict[str, np.ndarray]) -> Any:
        model = AutoModelForCausalLM.from_config(shape, dtype=torch.float32)
        model.load_state_dict({name: torch.from_numpy(tensor.copy()) for name, tensor in tensors.items()})
        return model.eval()

    return build_model, theirs


def read_weights(edited: Any, named: dict[str, np.ndarray], editor: str) -> dict[str, np.ndarray]:
    """The tensors of an edited model by name.

    Args:
        named: of the model before.

    Raises:
        InputError: they are others than those of the model before, or not float32.
    """
    if not isinstance(edited, torch.nn.Module):
        raise InputError(f"editor {editor} returned {type(edited).__name__}; return the model, or nothing")
    tensors = {name: tensor.detach().cpu() for name, tensor in edited.state_dict().items()}
    other = sorted(tensors.keys() ^ named.keys()) or [n for n in named if tensors[n].shape != named[n].shape]
    if other:
        raise InputError(
            f"editor {editor}: the edited model has other weights than the model had ({other[0]}); merge "
            f"what it adds into them (peft: merge_and_unload()); {BY_FILES}"
        )
    kinds = {tensor.dtype for tensor in tensors.values()} - {torch.float32}
    if kinds:
        raise InputError(f"editor {editor}: weights are {kinds.pop()}; edit in float32, as they were given")
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def check_answers(edited: Any, plain: Any, request: dict[str, Any], editor: str) -> None:
    """Refuse a model that answers otherwise than a plain one of the same weights.

    Raises:
        InputError: says how far apart they are.
    """
    ids = torch.tensor([request["prompt_ids"] + request["target_ids"]])
    with torch.no_grad():
        logits = [model.eval()(input_ids=ids, use_cache=False).logits.float() for model in (edited, plain)]
    p, q = (torch.softmax(x, -1) for x in logits)
    distance = (p - q).abs().max().item()
    if distance > FARTHEST:
        raise InputError(
            f"editor {editor}: the edited model answers otherwise than its weights do (by {distance:.2g}); "
            f"it is not a change of weights but a wrapper, hook or prefix; {BY_FILES}"
        )
