"""What two processes say to each other: JSON with arrays behind it, and nothing that is executed.

A message is a tree, written as nested lists whose first entry says what they are: a dictionary, one of the
named tuples KINDS, a plain tuple or list, an array, by its number among the arrays, the shape of one, or a
number or word.
"""

import json
import struct
from typing import IO, Any

import jax
import numpy as np
from safetensors.numpy import load, save

from lm.cache import Cache
from lm.delta import Codebook, Ledger, LowRank, Prefix, Rows
from lm.editors.interface import CorpusSample, Info, Request, Vocabulary
from lm.memory import Memory

KINDS = {
    kind.__name__: kind
    for kind in (
        Cache, Codebook, CorpusSample, Info, Ledger, LowRank, Memory, Prefix, Request, Rows, Vocabulary,
    )
}  # fmt: skip
MOST_BYTES = 2**40
LENGTHS = struct.Struct("<QQ")
"""Before each message: bytes of its JSON, and of its arrays."""


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    """Write a message: a tree of arrays, numbers and words."""
    arrays: dict[str, np.ndarray] = {}
    head = json.dumps(_write_tree(message, arrays)).encode()
    tail = save(arrays) if arrays else b""
    stream.write(LENGTHS.pack(len(head), len(tail)) + head + tail)
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, Any]:
    """The next message.

    Raises:
        EOFError: the other process has ended.
        ValueError: this is no message.
    """
    head_length, tail_length = LENGTHS.unpack(_read(stream, LENGTHS.size))
    if max(head_length, tail_length) > MOST_BYTES:
        raise ValueError(f"a message of {head_length + tail_length:,} bytes")
    head, tail = _read(stream, head_length), _read(stream, tail_length)
    try:
        return _read_tree(json.loads(head), load(tail) if tail else {})
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def _read(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError("the other process has ended")
    return data


def _write_tree(tree: Any, arrays: dict[str, np.ndarray]) -> list[Any]:
    if isinstance(tree, dict):
        return ["dict", {name: _write_tree(below, arrays) for name, below in tree.items()}]
    if isinstance(tree, tuple | list):
        kind = type(tree).__name__
        return [kind, [_write_tree(below, arrays) for below in tree]]
    if isinstance(tree, jax.ShapeDtypeStruct):
        return ["shape", [list(tree.shape), str(tree.dtype)]]
    if tree is None or isinstance(tree, bool | int | float | str):
        return ["plain", tree]
    if isinstance(tree, jax.Array | np.ndarray | np.generic):
        # Not an array of JAX's: a program that waits for this message may hold its threads.
        arrays[str(len(arrays))] = np.asarray(tree)
        return ["array", len(arrays) - 1]
    raise TypeError(f"{type(tree).__name__} cannot be told to another process")


def _read_tree(written: list[Any], arrays: dict[str, np.ndarray]) -> Any:
    kind, inside = written
    if kind == "plain":
        return inside
    if kind == "array":
        return arrays[str(inside)]
    if kind == "shape":
        return jax.ShapeDtypeStruct(tuple(inside[0]), jax.numpy.dtype(inside[1]))
    if kind == "dict":
        return {name: _read_tree(below, arrays) for name, below in inside.items()}
    below = [_read_tree(one, arrays) for one in inside]
    if kind in KINDS:
        return KINDS[kind](*below)
    return {"tuple": tuple, "list": list}[kind](below)
