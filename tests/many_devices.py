"""Train the same steps under several layouts of eight devices; a process of its own, for test_mesh.py.

    XLA_FLAGS=--xla_force_host_platform_device_count=8 python -m tests.many_devices FOLDER muon-1x1 muon-4x2

FOLDER/losses.json    losses, programs compiled, and the shape of each array's part on one device
FOLDER/muon-4x2/      a checkpoint, and what its arrays hold, as muon-4x2.npz
FOLDER/restored.json  whether checkpoints of one layout were read on another bit for bit
"""

import json
import sys
from itertools import permutations
from pathlib import Path

import jax
import numpy as np

from corpus.text.tokenizer import BOS, PAD
from lm.checkpoints import load_checkpoint, save_checkpoint
from lm.config import MeshConfig, ModelConfig, TrainConfig
from lm.mesh import local_copy, make_mesh, place_rows
from lm.training import abstract_state, start_training, train_step

# Eight devices divide mlp and vocabulary, but not the heads; two divide all but the width itself.
MODEL = ModelConfig(hidden=11, mlp=24, layers=2, heads=3, kv_heads=3, head_width=4)
VOCABULARY = 24
ROWS, LENGTH, STEPS = 8, 17, 10
LAYOUTS = ("adamw-1x1", "adamw-4x2", "muon-1x1", "muon-4x2", "muon-8x1", "muon-1x8")


def named(layout):
    """Optimizer, and how many devices share the rows and the matrices."""
    optimizer, shape = layout.split("-")
    return (optimizer, *map(int, shape.split("x")))


def recipe(optimizer):
    return TrainConfig(steps=12, rows=ROWS, row_length=LENGTH, optimizer=optimizer, warmup=2)


def batch(step):
    """Rows of different lengths, so that a mean of the devices' means is not the mean."""
    rng = np.random.default_rng(step)
    tokens = rng.integers(5, VOCABULARY, (ROWS, LENGTH), dtype=np.int32)
    tokens[:, 0] = tokens[::2, 11] = BOS
    tokens[np.arange(LENGTH) > rng.integers(2, LENGTH, ROWS)[:, None]] = PAD
    return tokens


def arrays(tree):
    """Every array of a tree by the path to it."""
    return {
        jax.tree_util.keystr(key, simple=True, separator="."): leaf
        for key, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def like(optimizer, data, model):
    return abstract_state(MODEL, recipe(optimizer), VOCABULARY, make_mesh(MeshConfig(data, model)))


def same(state, other):
    return all(np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (state, other)), strict=True))


def main(folder, layouts):
    by_layout, restored, states = {}, {}, {}
    for name in layouts:
        optimizer, data, model = named(name)
        mesh = make_mesh(MeshConfig(data, model))
        state = start_training(MODEL, recipe(optimizer), VOCABULARY, 0, mesh)
        take = train_step(MODEL, recipe(optimizer), VOCABULARY, mesh)
        losses = []
        for step in range(STEPS):
            tokens = place_rows(mesh, batch(step))
            state, loss = take(state, tokens)
            losses.append(float(loss))
        parts = arrays(state) | {"tokens": tokens}
        by_layout[name] = {
            "losses": losses,
            "programs": take._cache_size(),
            "parts": {key: x.addressable_shards[0].data.shape for key, x in parts.items()},
        }
        np.savez(folder / f"{name}.npz", **arrays(local_copy(mesh, state)))
        states[name] = state
    for source, target in permutations((name for name in layouts if name.endswith(("1x1", "4x2"))), 2):
        if named(source)[0] == named(target)[0]:
            path = save_checkpoint(folder / source, states[source], [{"step": 10, "accuracy": 0.5}])
            again = load_checkpoint(path, like(*named(target)))
            wanted = [x.sharding for x in jax.tree.leaves(like(*named(target)))]
            laid_out = [x.sharding for x in jax.tree.leaves(again)] == wanted
            restored[f"{source} on {target}"] = same(states[source], again) and laid_out
    (folder / "losses.json").write_text(json.dumps(by_layout), encoding="utf-8")
    (folder / "restored.json").write_text(json.dumps(restored), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
