"""Tiny models as transformers saves and computes them, for the tests.

Command (with the extra `bench` installed):
    python -m experiments.huggingface_golden

Writes tests/golden/huggingface, which the default tests read because they have no torch: per architecture the
folder that `save_pretrained` makes, and the logits of a few tokens. Takes ten seconds.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, MistralConfig

from experiments.command import launch_module

GOLDEN = Path(__file__).parents[2] / "tests" / "golden" / "huggingface"
VOCABULARY = 29
COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "intermediate_size": 13,
    "num_hidden_layers": 2,
    "pad_token_id": 0,
}
SCALED = {
    "rope_type": "llama3",
    "rope_theta": 50.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 3.0,
    "original_max_position_embeddings": 12,
}
MODELS: dict[str, dict[str, Any]] = {
    "mistral": {
        "hidden_size": 14,
        "num_attention_heads": 6,
        "num_key_value_heads": 3,
        "head_dim": 4,
        "sliding_window": 5,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0},
    },
    "llama": {
        "hidden_size": 12,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "rope_parameters": SCALED,
    },
    "tied": {
        "hidden_size": 10,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "sliding_window": None,
        "tie_word_embeddings": True,
    },
}


@dataclass(frozen=True)
class Settings:
    """Where they go."""

    folder: Path = GOLDEN
    """Folder of the architectures."""


def run_study(options: Settings) -> None:
    """Save each model with weights large enough that attention is far from uniform, and its logits."""
    for name, settings in MODELS.items():
        torch.manual_seed(0)
        config = (LlamaConfig if name == "llama" else MistralConfig)(**COMMON, **settings)
        model = AutoModelForCausalLM.from_config(config).eval()
        with torch.no_grad():
            for x in model.parameters():
                x.copy_(torch.randn_like(x) * 0.5 if x.ndim > 1 else torch.rand_like(x) + 0.5)
        model.save_pretrained(options.folder / name)
        (options.folder / name / "generation_config.json").unlink()
        tokens = np.random.default_rng(0).integers(5, VOCABULARY, (2, 11))
        with torch.no_grad():
            logits = model(torch.from_numpy(tokens)).logits.numpy()
        np.savez(options.folder / name / "expected.npz", tokens=tokens, logits=logits)


if __name__ == "__main__":
    launch_module()
