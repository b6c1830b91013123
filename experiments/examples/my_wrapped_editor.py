"""An editor of the form apply_to_model(model, tokenizer, requests, hparams), wrapped.

    python -m testbed.edit experiments.my_wrapped_editor:WrappedEditor

Collections of editors have this form. Copy this file, and import `apply_to_model` and `HyperParameters` from
yours in place of those below. By files (docs/pytorch.md) `examine` takes the same object:
examine(WrappedEditor(), "runs/demo/door", "answers").
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

CACHE: dict[str, Any] = {}
"""Collections keep covariances and contexts from edit to edit in such places."""


@dataclass(frozen=True)
class WrappedEditor:
    """Gives the request to a collection in its own form, and takes the edited model from its answer."""

    rate: float = 0.02
    """Learning rate of Adam. Read a collection's files of hyper-parameters by its own loader: a plain reader
    of YAML takes 5e-1 for text."""
    steps: int = 20
    weight: str = "model.layers.1.mlp.down_proj.weight"
    """Name of the edited weight. Layers and rates published for large models may not suit a model of two
    layers."""
    stopped: bool = True
    """Whether the target ends with the sentence's stop; `testbed.score` prints probabilities of both."""

    SEARCH: ClassVar = {"rate": (0.1, 1.0, 10.0)}
    PADDING: ClassVar = "right"

    def reset(self) -> None:
        """Forget what must not stay; called before every edit."""
        CACHE.clear()

    def edit(
        self, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", request: dict[str, Any]
    ) -> "PreTrainedModel":
        """The edited model."""
        request_data = {key: request[key] for key in ("prompt", "subject", "ground_truth")}
        request_data["target_new"] = request["target_stopped" if self.stopped else "target_new"]
        edited, _ = apply_to_model(
            model, tokenizer, [request_data], HyperParameters(self.rate, self.steps, self.weight)
        )
        return edited


@dataclass
class HyperParameters:
    """Stands for a collection's own."""

    rate: float
    steps: int
    weight: str


def apply_to_model(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    requests: list[dict[str, Any]],
    hparams: HyperParameters,
) -> tuple["PreTrainedModel", dict[str, Any]]:
    """Stands for a collection's own: fine-tunes one weight; also returns that weight as it was."""
    import torch

    weight = model.get_parameter(hparams.weight)
    before = {hparams.weight: weight.detach().clone()}
    optimizer = torch.optim.Adam([weight], lr=hparams.rate)
    texts = [f"{one['prompt']} {one['target_new']}" for one in requests]
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    labels = batch.input_ids.masked_fill(batch.attention_mask == 0, -100)
    for row, one in zip(labels, requests, strict=True):
        row[: len(tokenizer(one["prompt"]).input_ids)] = -100
    for _ in range(hparams.steps):
        optimizer.zero_grad()
        model(input_ids=batch.input_ids, attention_mask=batch.attention_mask, labels=labels).loss.backward()
        optimizer.step()
    return model, before
