"""lora-down against Hugging Face's peft, by what peft made of the same requests (experiments.peft_twin)."""

import json
from pathlib import Path

import jax
import numpy as np

from corpus.text.tokenizer import PAD
from lm.delta import LowRank
from lm.editors.fitting import request_loss
from lm.editors.interface import Request, edit_batch
from lm.editors.lora import LoraConfig
from lm.editors.lora.method import Lora
from lm.huggingface import import_model

GOLDEN = Path(__file__).parent / "golden" / "peft"


class FromPeft(Lora):
    """Begins with the factors that peft began with, handed over as the key."""

    def start_adapter(self, model, key):
        a = key
        return {"down": LowRank(a, jax.numpy.zeros((model.layers, self.config.rank, model.hidden)))}


def edited(alpha_times=1.0):
    """Losses before each step, and probabilities of the answers before and after: ours and peft's."""
    recipe = json.loads((GOLDEN / "recipe.json").read_text(encoding="utf-8"))
    recipe["alpha"] *= alpha_times
    model = import_model(GOLDEN)
    with np.load(GOLDEN / "expected.npz") as file:
        peft = dict(file)
    plain = np.zeros(peft["answer"].shape[:2])
    request = Request(peft["prompt"], peft["answer"], plain, plain, plain)
    deltas, info = edit_batch(FromPeft(LoraConfig(**recipe), ("down",)), model, {}, request, peft["start"])
    after = jax.vmap(lambda delta, one: request_loss(model.with_delta(delta), one))(deltas, request)
    lengths = (peft["answer"] != PAD).sum((1, 2))
    before, after = (np.exp(-np.asarray(nats) * lengths) for nats in (info.loss[:, 0], after))
    return {"losses": np.asarray(info.loss), "before": before, "after": after}, peft


def test_edits_equal_pefts():
    ours, peft = edited()
    for what, figures in ours.items():
        np.testing.assert_allclose(figures, peft[what], atol=1e-3, err_msg=what)
    # What is compared are edits: of answers of several lengths, and each made more probable.
    assert len(peft["after"]) >= 20
    assert len(set((peft["answer"] != PAD).sum((1, 2)))) > 1
    assert (peft["after"] > 10 * peft["before"]).all()


def test_another_scale_would_be_noticed():
    ours, peft = edited(alpha_times=0.9)
    assert np.abs(ours["losses"] - peft["losses"]).max() > 1e-2
