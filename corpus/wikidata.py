"""A world from files in Wikidata5m's layout: which facts, relations and pairs are taken (Hase A.1, DESIGN 2).

Real facts only: nothing here invents data.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from corpus import pairing
from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph, build_graph, unique_names
from corpus.rawfiles import Watch, unwatched
from corpus.wikidata_files import Names, described_names, read_folder


def build(
    config: WorldConfig,
    rng: np.random.Generator,
    cache: Path | None = None,
    watch: Watch = unwatched,
    note: Callable[[str], None] = lambda _: None,
) -> KnowledgeGraph:
    """A graph of at most `config.subjects` subjects that have enough of the chosen relations.

    Args:
        cache: folder for a binary copy of the files.
        watch, note: show progress, and remarks about the files.

    Raises:
        InputError: a missing file, a malformed line (with file, number and content), an unknown
            relation, or nothing left after the filters.
    """
    folder = Path(config.path)
    raw = read_folder(folder, cache, watch)
    for remark in raw.notes:
        note(remark)
    triples = raw.triples[: config.max_lines]
    triples = triples[_named(triples, raw.entities, raw.relations)]
    dropped = [_number(i, "P", "--world.drop-relations") for i in config.drop_relations]
    gone = [_number(i, "Q", "--world.drop-entities") for i in config.drop_entities]
    out = np.isin(triples[:, 1], dropped) | np.isin(triples[:, 0], gone) | np.isin(triples[:, 2], gone)
    triples = triples[~out]
    if not len(triples):
        raise InputError(f"{folder}: no triple has names for its subject, relation and object")

    # Relations as indices into those that occur or are asked for.
    asked = {name.strip() for pair in (*config.pairs, *config.relations) for name in pair.split(":")}
    known = [i for i in np.setdiff1d(raw.relations.ids, dropped).tolist() if f"P{i}" in asked]
    relation_ids = np.union1d(triples[:, 1], np.array(known, np.int32))
    keys = [f"P{i}" for i in relation_ids]
    triples[:, 1] = np.searchsorted(relation_ids, triples[:, 1])
    pairs = pairing.read_pairs(config.pairs, keys, str(folder))
    extra = [_known(relation, keys, folder) for relation in config.relations]
    if pairs:
        chosen = np.array(sorted({r for pair in pairs for r in pair} | set(extra)))
    else:
        together = pairing.cooccurrence(triples, len(keys))
        chosen = pairing.choose_relations(together, config.relation_count, config.min_pair_subjects)
        matched = pairing.match_relations(together[np.ix_(chosen, chosen)])
        pairs = [pairing.direct((int(chosen[i]), int(chosen[j])), triples) for i, j in matched]
        chosen = np.union1d(chosen, np.array(extra, np.int64)).astype(np.int64)

    kept = triples[np.isin(triples[:, 1], chosen)]
    if config.several == "drop":
        kept = _single_valued(kept)
    kept = _subjects_with(kept, config.min_relations)
    if not len(kept):
        least = {2: "two", 3: "three"}.get(config.min_relations, str(config.min_relations))
        raise InputError(f"{folder}: no subject has {least} of the relations {[keys[r] for r in chosen]}")
    subjects = np.unique(kept[:, 0])
    if len(subjects) > config.subjects:
        subjects = rng.choice(subjects, config.subjects, replace=False)
        kept = kept[np.isin(kept[:, 0], subjects)]

    # Only the entities that are left need unique names.
    used = np.unique(kept[:, [0, 2]])
    kept = np.column_stack(
        [
            np.searchsorted(used, kept[:, 0]),
            np.searchsorted(chosen, kept[:, 1]),
            np.searchsorted(used, kept[:, 2]),
        ]
    )
    local = [(int(np.searchsorted(chosen, u)), int(np.searchsorted(chosen, d))) for u, d in pairs]
    return build_graph(
        kept,
        unique_names(_entity_names(config, raw.entities, used, watch), [f"Q{i}" for i in used]),
        unique_names(raw.relations.of(relation_ids[chosen]), [keys[r] for r in chosen]),
        pairing.upstream_of(local, len(chosen)),
    )


def _entity_names(config: WorldConfig, names: Names, used: np.ndarray, watch: Watch) -> list[str]:
    first = names.of(used)
    if config.names == "first":
        return first
    return described_names(Path(config.path), dict(zip(used.tolist(), first, strict=True)), watch)


def _named(triples: np.ndarray, entities: Names, relations: Names) -> np.ndarray:
    """bool[n]: triples whose three ids all have names."""
    return (
        np.isin(triples[:, 0], entities.ids)
        & np.isin(triples[:, 1], relations.ids)
        & np.isin(triples[:, 2], entities.ids)
    )


def _number(identifier: str, letter: str, option: str) -> int:
    if identifier[:1] != letter or not identifier[1:].isdecimal():
        raise InputError(f"{option}: {identifier!r} is no id such as {letter}131")
    return int(identifier[1:])


def _known(relation: str, keys: list[str], folder: Path) -> int:
    if relation not in keys:
        raise InputError(f"unknown relation {relation!r}: {folder} has none such")
    return keys.index(relation)


def _cells(triples: np.ndarray) -> np.ndarray:
    """int64[n]: one key for each (subject, relation)."""
    return triples[:, 0].astype(np.int64) * (int(triples[:, 1].max(initial=0)) + 1) + triples[:, 1]


def _single_valued(triples: np.ndarray) -> np.ndarray:
    """Triples whose subject has one object of the relation."""
    objects = np.unique(triples, axis=0)
    keys, count = np.unique(_cells(objects), return_counts=True)
    return triples[np.isin(_cells(triples), keys[count == 1])]


def _subjects_with(triples: np.ndarray, relations: int) -> np.ndarray:
    """Triples of subjects that have at least so many relations."""
    cells = np.unique(_cells(triples), return_index=True)[1]
    subjects, count = np.unique(triples[cells, 0], return_counts=True)
    return triples[np.isin(triples[:, 0], subjects[count >= relations])]
