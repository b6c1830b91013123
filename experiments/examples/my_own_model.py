"""A model of another architecture: trained on an exported corpus, edited by fine-tuning, scored like any.

    python -m testbed.export --cases --corpus --folder text
    python my_own_model.py
    python -m testbed.score gpt2-answers --name my-gpt2 --own-model

Needs torch, transformers and pyarrow; door.py stands in the exported folder.
"""

import shutil
from typing import Any

import pyarrow.parquet as pq
import torch
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

STEPS, ROWS, LENGTH, PAD = 200, 16, 128, 0
EDIT_STEPS = 20


def train_model() -> GPT2LMHeadModel:
    """GPT-2's architecture at toy size, which has read the corpus."""
    torch.manual_seed(0)
    ids = torch.tensor(pq.read_table("text/train.parquet")["input_ids"].combine_chunks().values.to_numpy())
    config = GPT2Config(
        vocab_size=len(AutoTokenizer.from_pretrained("text")), n_positions=LENGTH, n_embd=64, n_layer=2,
        n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=1, eos_token_id=2, pad_token_id=PAD,
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(STEPS):
        begin = torch.randint(len(ids) - LENGTH, (ROWS,)).tolist()
        rows = torch.stack([ids[i : i + LENGTH] for i in begin]).long()
        optimizer.zero_grad()
        model(input_ids=rows, labels=rows).loss.backward()
        optimizer.step()
    return model.eval()


def edit(model: Any, _: Any, request: dict) -> Any:
    """Fine-tune the last layer on the request."""
    ids = torch.tensor([request["prompt_ids"] + request["target_ids"]])
    labels = ids.clone()
    labels[:, : len(request["prompt_ids"])] = -100
    optimizer = torch.optim.Adam(model.transformer.h[-1].parameters(), lr=1e-3)
    for _ in range(EDIT_STEPS):
        optimizer.zero_grad()
        model(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    shutil.copy("text/door.py", ".")
    from door import examine  # type: ignore[import-not-found]

    examine(edit, "text", "gpt2-answers", model=train_model())
