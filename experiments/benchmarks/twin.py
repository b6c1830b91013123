"""The same model, batches and AdamW in PyTorch, by Hugging Face's MistralForCausalLM; for comparisons.

Nothing of it is imported where torch and transformers (the extra `bench`) are not installed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from transformers import MistralConfig, MistralForCausalLM

from lm.config import ModelConfig, TrainConfig


def build_twin(model: ModelConfig, vocabulary: int, seed: int = 0) -> MistralForCausalLM:
    """A model of the same shapes with weights of its own, on the GPU where there is one."""
    torch.manual_seed(seed)
    config = MistralConfig(
        vocab_size=vocabulary,
        hidden_size=model.hidden,
        intermediate_size=model.mlp,
        num_hidden_layers=model.layers,
        num_attention_heads=model.heads,
        num_key_value_heads=model.kv_heads,
        head_dim=model.head_width,
        sliding_window=model.window or None,
        rms_norm_eps=model.norm_epsilon,
        tie_word_embeddings=False,
        use_cache=False,
    )
    twin: Any = MistralForCausalLM(config)
    return twin.to("cuda" if torch.cuda.is_available() else "cpu")


def build_optimizer(twin: MistralForCausalLM, recipe: TrainConfig) -> torch.optim.Optimizer:
    """Fused AdamW."""
    return torch.optim.AdamW(
        twin.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True
    )


def build_step(
    twin: MistralForCausalLM,
    optimizer: torch.optim.Optimizer,
    model: ModelConfig,
    recipe: TrainConfig,
    compiled: bool,
) -> Callable[..., torch.Tensor]:
    """A step on inputs as MistralForCausalLM takes them; mixed precision where the model has bfloat16."""
    forward: Callable[..., Any] = torch.compile(twin.forward) if compiled else twin.forward
    device, narrow = twin.device.type, model.precision == "bfloat16"

    def take_step(**inputs: np.ndarray) -> torch.Tensor:
        placed = {name: torch.from_numpy(x).to(device) for name, x in inputs.items()}
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=narrow):
            loss = forward(**placed).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(twin.parameters(), recipe.clip)
        optimizer.step()
        return loss.detach()

    return take_step
