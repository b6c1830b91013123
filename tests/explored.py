"""What a written explorer says, read by a decoder of its own; and edits of many editors that nobody made."""

import base64
import gzip
import json
import re
from dataclasses import replace

import numpy as np

from testbed.scores.metric import Metric

PARTS = 10_000


def decode(path):
    """The header and the arrays of one script of the explorer."""
    text = path.read_text(encoding="ascii")
    [(name, packed)] = re.findall(r'^receive\("([\w.-]+)", "([\w+/=]*)"\);\n$', text)
    assert name == path.name
    return unpack(packed)


def unpack(packed):
    data = gzip.decompress(base64.b64decode(packed))
    length = int.from_bytes(data[:4], "little")
    assert (4 + length) % 8 == 0
    header = json.loads(data[4 : 4 + length])
    arrays = {}
    for name, (kind, start, size) in header.pop("arrays").items():
        assert start % 8 == 0
        arrays[name] = np.frombuffer(data, np.dtype(kind).newbyteorder("<"), size, 4 + length + start)
    return header, arrays


def names_in(folder):
    return decode(folder / "names.js")[0]["names"]


def multiply(editor, cases, editors, seed=0):
    """Editors of the same many cases: one's cases again and again, in which each moves otherwise."""
    rng = np.random.default_rng(seed)
    base = editor.edits.results
    times = -(-cases // len(base))
    first = np.arange(times).repeat(len(base))[:cases] * len(base)

    def repeat(table, count, noise):
        kept = np.concatenate([table.case + k * len(base) for k in range(times)]) < cases
        columns = []
        for name in table._fields:
            column = getattr(table, name)
            if name == "facets":
                columns.append({k: np.concatenate([v] * times)[kept] for k, v in column.items()})
                continue
            column = np.concatenate([column] * times)[kept]
            if name == "case":
                column = column + np.arange(times).repeat(count)[kept] * len(base)
            elif name in noise:
                column = column * rng.uniform(0.5, 1, column.shape)
            columns.append(column)
        return table._make(columns)

    choices = repeat(base.choices, len(base.choices.case), ("agent", "lm"))
    claims = repeat(base.claims, len(base.claims.case), ("agent", "lm"))
    columns = {name: np.concatenate([column] * times)[:cases] for name, column in base.cases.items()}
    columns["subject"] = columns["subject"] + first
    columns["object"] = rng.permutation(columns["object"])
    results = replace(base, cases=columns, choices=choices, claims=claims, lost=None, recalibrated=None)
    copies = []
    for number in range(editors):
        name = f"editor {number}"
        models = [np.stack([t.lm[:, 0], t.lm[:, 1] * rng.uniform(0.3, 1, t.lm[:, 1].shape)], 1)
                  for t in (choices, claims)]  # fmt: skip
        mine = replace(results, choices=choices._replace(lm=models[0]), claims=claims._replace(lm=models[1]))
        values = {}
        for metric, value in editor.values[editor.name].items():
            numerator = np.concatenate([value.numerator] * times)[:cases]
            denominator = np.concatenate([value.denominator] * times)[:cases]
            if metric.startswith("falsely_changed"):
                numerator = np.where(rng.random(cases) < 0.1, denominator, 0.0)
            elif not value.share:
                numerator = numerator * rng.uniform(0.2, 1, cases)
            values[metric] = Metric(numerator, denominator, value.share, value.limits)
        copies.append(
            editor._replace(edits=editor.edits._replace(name=name, results=mine), values={name: values})
        )
    return copies
