"""Checkpoints made to harm: whatever lies in the files of Orbax, one message or the same parameters.

Every checksum of the run fits, so nothing but reading them can tell.
"""

import json
import os
import random

import jax
import numpy as np
import pytest

from corpus.errors import InputError
from corpus.files import CHECKSUMS, read_json, read_record, seal_folder, write_record
from lm.checkpoint_files import latest_checkpoint
from testbed.run.model import load_model
from testbed.run.runs import Run, folder_digest
from testbed.run.world import load_world
from tests.runs import copied

FORGERIES = 60
VALUES = (
    None,
    -1,
    10**15,
    1e308,
    "",
    "../../../../etc/passwd",
    "\u202e<script>",
    [],
    {},
    [[]],
    True,
    "float99",
)


def forge_json(content, rng):
    """JSON with one value, key or length anywhere in it changed."""
    places = []

    def walk(node, path):
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                walk(node[key], [*path, key])

    walk(content, [])
    if not places:
        return rng.choice(VALUES)
    node, key = rng.choice(places)
    way = rng.randrange(4)
    if way == 0:
        node[key] = rng.choice(VALUES)
    elif way == 1:
        node.pop(key)
    elif way == 2 and isinstance(node, dict):
        node[rng.choice(["", "..", "/etc", "a" * 5000])] = node.pop(key)
    else:
        deep = []
        for _ in range(200):
            deep = [deep]
        node[key] = deep
    return content


def forge_file(path, rng):
    """One file of a checkpoint as somebody might leave it who knows what reads it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        content = None
    way = rng.randrange(8)
    if content is not None and way < 6:
        path.write_text(json.dumps(forge_json(content, rng)), encoding="utf-8")
    elif way == 6:
        other = rng.choice([p for p in path.parent.rglob("*") if p.is_file()])
        path.write_bytes(other.read_bytes())
    elif way == 7:
        path.unlink()
        path.symlink_to("/etc/hostname")
    else:
        whole = bytearray(path.read_bytes() or b"\0")
        for _ in range(rng.randrange(1, 20)):
            whole[rng.randrange(len(whole))] = rng.randrange(256)
        path.write_bytes(bytes(whole) * rng.choice([1, 1, 3]))


def seal_all(run, checkpoint):
    """Checksums of checkpoint and training that fit."""
    seal_folder(
        checkpoint, [name for name in read_json(checkpoint / CHECKSUMS) if (checkpoint / name).exists()]
    )
    training = read_record(run.finished_file)
    training["checkpoints"][str(int(checkpoint.name))] = folder_digest(checkpoint)
    write_record(run.finished_file, training)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_forged_checkpoint_ends_in_a_message_or_changes_nothing(trained, tmp_path, capsys):
    run = Run(copied(trained, tmp_path), "x")
    world = load_world(run)
    whole = load_model(run, world)[0].params
    checkpoint = latest_checkpoint(run.checkpoints)
    rng, refused, same = random.Random(0), 0, 0
    files = sorted(p for p in (checkpoint / "state").rglob("*") if p.is_file())
    kept = {path: path.read_bytes() for path in files}
    for _ in range(int(os.environ.get("FORGERIES", FORGERIES))):
        path = rng.choice(files)
        forge_file(path, rng)
        seal_all(run, checkpoint)
        try:
            model, _ = load_model(run, world)
        except (InputError, OSError) as error:
            refused += 1
            assert str(error).count("\n") == 0, error
        else:
            same += 1
            for mine, theirs in zip(jax.tree.leaves(whole), jax.tree.leaves(model.params), strict=True):
                assert mine.dtype == theirs.dtype
                np.testing.assert_array_equal(mine, theirs, path)
        path.unlink(missing_ok=True)
        path.write_bytes(kept[path])
        seal_all(run, checkpoint)
    jax.tree.map(np.testing.assert_array_equal, whole, load_model(run, world)[0].params)
    with capsys.disabled():
        print(f"\nforged checkpoints: {refused + same} tried, {refused} refused, {same} read")
