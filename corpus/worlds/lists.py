"""Several objects in one cell, such as en|fr: whether cells look like lists, and a fact for each object.

Ann  speaks  en|fr          Ann  speaks  en
                            Ann  speaks  fr
"""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus.arrays import concatenate_ranges
from corpus.config import WorldConfig
from corpus.errors import NAMED, InputError
from corpus.worlds.selection import SEVERAL
from corpus.worlds.unpacked import MOST_ROWS

SEPARATORS = ("|", ";", ",")
OF_LISTS = "\u2063"
"""What stands between the objects of a list in JSON here: the invisible separator."""
RECUR = 0.8
"""Share of what commas part that other cells have, too, where cells look like lists: Rome, Italy is none."""
LOOKED_AT = 50_000
"""Different cells of a relation by which that is told."""


def take_lists(
    triples: np.ndarray,
    entities: pa.Array,
    relations: pa.Array,
    has_lists: bool,
    config: WorldConfig,
    note: Callable[[str], None],
) -> tuple[np.ndarray, pa.Array]:
    """A fact for each object of cells with the sign that the user names, and of lists.

    Args:
        has_lists: whether cells of this kind of table may be lists.

    Raises:
        InputError: no object has this sign, or what is no object is a list.
    """
    is_list = pc.match_substring(entities, OF_LISTS).to_numpy(zero_copy_only=False)
    if has_lists and (
        is_list[triples[:, 0]].any() or pc.any(pc.match_substring(relations, OF_LISTS)).as_py()
    ):
        raise InputError(f"{config.path}: a subject or a relation is a list, and only objects may be several")
    separators = [OF_LISTS] * (has_lists and bool(is_list.any())) + [config.split] * bool(config.split)
    if separators:
        cells = len(triples)
        triples, entities = _split_objects(triples, entities, separators, config.path)
        if config.split and len(triples) == cells:
            raise InputError(f"{config.path}: no object has {config.split!r}; leave --world.split out")
        if len(triples) > cells:
            note(f"{config.path}: cells with several objects give {len(triples) - cells:,} facts more")
    if not config.split:
        for line in _describe_lists(triples, entities, relations):
            note(f"{config.path}: {line}")
    return triples, entities


def _describe_lists(triples: np.ndarray, entities: pa.Array, relations: pa.Array) -> list[str]:
    """Of each separator in words which relations have cells that look like lists parted by it."""
    times, lines = np.bincount(triples[:, 1], minlength=len(relations)), []
    for separator in SEPARATORS:
        has = pc.match_substring(entities, separator).to_numpy(zero_copy_only=False)
        mine = triples[has[triples[:, 2]]]
        often = np.bincount(mine[:, 1], minlength=len(relations)) > SEVERAL * times
        found = [
            r
            for r in np.flatnonzero(often).tolist()
            if separator != "," or _parts_recur(triples, r, entities)
        ]
        if found:
            example = entities[mine[mine[:, 1] == found[0], 2][0]].as_py()
            named = ", ".join(repr(relations[r].as_py()) for r in found[:NAMED])
            lines.append(
                f"cells of {named:.200} look like lists, such as {example!r:.80}: --world.split "
                f"'{separator}' takes each of their parts for an object"
            )
    return lines


def _parts_recur(triples: np.ndarray, relation: int, entities: pa.Array) -> bool:
    """Whether other cells of a relation have most of the parts that commas make of its cells."""
    cells = entities.take(pa.array(np.unique(triples[triples[:, 1] == relation, 2])[:LOOKED_AT]))
    parts = [{part.strip() for part in cell.split(",")} for cell in cells.to_pylist()]
    times = Counter(part for some in parts for part in some)
    of_lists = [part for some in parts if len(some) > 1 for part in some]
    return sum(times[part] > 1 for part in of_lists) > RECUR * len(of_lists)


def _split_objects(
    triples: np.ndarray, entities: pa.Array, separators: Sequence[str], source: str
) -> tuple[np.ndarray, pa.Array]:
    """A fact for each part of an object, in order, and the names with those of the parts behind them.

    Args:
        triples: int32[n, 3] of places in names and relations.

    Raises:
        InputError: too many facts.
    """
    for separator in separators:
        parts = pc.split_pattern(entities, separator)
        length, start = pc.list_value_length(parts).to_numpy(), parts.offsets.to_numpy()
        objects = triples[:, 2]
        count = int(length[objects].sum())
        if count > MOST_ROWS:
            raise InputError(f"{source}: with each part of its cells it has more than {MOST_ROWS:,} facts")
        names = pc.utf8_trim_whitespace(pa.concat_arrays([entities, parts.flatten()])).dictionary_encode()
        place = names.indices.to_numpy()
        triples = np.repeat(triples, length[objects], axis=0)
        triples[:, 0] = place[triples[:, 0]]
        triples[:, 2] = place[len(entities) :][concatenate_ranges(start[objects], length[objects])]
        entities = names.dictionary
    return triples, entities
