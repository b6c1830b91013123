"""An editor of your own in PyTorch, whole: a few steps of gradient descent on a Hugging Face model.

    python -m testbed.edit experiments.my_torch_editor:MyTorchEditor --my-torch-editor.steps 20
    python -m testbed.edit experiments.my_torch_editor:edit_last_layer

Copy this file, and change what `edit` does: docs/pytorch.md. A class is a frozen dataclass with defaults: its
fields become options of the command line. A function has none.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class MyTorchEditor:
    """Fine-tunes the last down-projection on the request."""

    learning_rate: float = 1e-2
    """Learning rate of Adam."""
    steps: int = 20
    """Gradient steps."""

    # Factors on fields that `testbed.tune` tries, from the least to the greatest.
    SEARCH: ClassVar = {"learning_rate": (0.1, 1.0, 10.0)}
    # The side on which the tokenizer pads, if your code depends on it.
    PADDING: ClassVar = "right"

    def edit(
        self, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", request: dict[str, Any]
    ) -> "PreTrainedModel":
        """The model, changed in place; it belongs to this edit alone."""
        import torch

        prompt, target = request["prompt_ids"], request["target_ids"]
        ids = torch.tensor([prompt + target])
        labels = torch.tensor([[-100] * len(prompt) + target])
        weight = model.model.layers[-1].mlp.down_proj.weight
        optimizer = torch.optim.Adam([weight], lr=self.learning_rate)
        for _ in range(self.steps):
            optimizer.zero_grad()
            model(input_ids=ids, labels=labels).loss.backward()
            optimizer.step()
        return model


def edit_last_layer(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", request: dict[str, Any]
) -> "PreTrainedModel":
    """The same as a function, with the defaults above."""
    return MyTorchEditor().edit(model, tokenizer, request)
