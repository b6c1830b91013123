"""Arrays as text that a page can read from disk, where browsers load scripts and nothing else.

A script calls `receive(NAME, TEXT)`. TEXT is base64 of gzip of: the length of a header in bytes (uint32), the
header (JSON), and the arrays one after another, each from a multiple of 8 bytes, little-endian. The header
says under "arrays" of each its type, where it begins behind the header, and how many numbers it has.
"""

import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

TYPES = ("uint8", "uint16", "uint32", "int32")
PARTS = 10_000
"""Numbers that are not whole are written as int32 or uint16: so many parts of 1."""
NOTHING = -(2**31)
"""Stands for no number among int32."""
_STEP = 8


def pack_arrays(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """A header and arrays of TYPES, flattened, as one text; the same for the same content."""
    where, pieces, start = {}, [], 0
    for name, array in arrays.items():
        kind = str(array.dtype)
        if kind not in TYPES:
            raise TypeError(f"array {name} is of {kind}; use {', '.join(TYPES)}")
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        where[name] = [kind, start, array.size]
        pieces += [data, bytes(-len(data) % _STEP)]
        start += len(data) + -len(data) % _STEP
    text = json.dumps({**header, "arrays": where}, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 4) % _STEP)
    packed = gzip.compress(b"".join([len(text).to_bytes(4, "little"), text, *pieces]), 6, mtime=0)
    return base64.b64encode(packed).decode()


def write_script(path: Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a script that hands a header and arrays to the page, under the file's name."""
    path.write_text(f'receive("{path.name}", "{pack_arrays(header, arrays)}");\n', encoding="ascii")


def count_parts(values: np.ndarray) -> np.ndarray:
    """int32: numbers in parts of 1, rounded, at most what int32 holds; NOTHING where there is none."""
    values = np.asarray(values, float)
    most = -(NOTHING + 1)
    parts = np.clip(np.rint(np.clip(np.nan_to_num(values), -most, most) * PARTS), -most, most)
    return np.where(np.isnan(values), NOTHING, parts).astype(np.int32)


def count_parts_of_probability(values: np.ndarray) -> np.ndarray:
    """uint16: probabilities in parts of 1, rounded."""
    return np.rint(np.clip(values, 0, 1) * PARTS).astype(np.uint16)
