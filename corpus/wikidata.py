"""Reader for the Wikidata5m layout: triples, entity names and relation names as three TSV files.

Real facts only: nothing here invents data. The layout (Hase A.1, DESIGN 2):
    *_all_triplet.txt   Q<TAB>P<TAB>Q
    *_entity.txt        Q<TAB>name<TAB>alias ...
    *_relation.txt      P<TAB>name<TAB>alias ...
UTF-8, no header. In Wikidata5m the first name is some alias, not the canonical label.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from corpus import pairing
from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph, build_graph, unique_names

DROPPED_RELATIONS = ("P735", "P131")
DROPPED_ENTITIES = ("Q16521", "Q5")
_IDS = {"entity": re.compile(r"Q\d+"), "relation": re.compile(r"P\d+")}


def build(config: WorldConfig, rng: np.random.Generator) -> KnowledgeGraph:
    """A graph of at most `config.subjects` subjects that have two or more of the chosen relations.

    Raises:
        InputError: a missing file, a malformed line (with file, number and content), an unknown
            relation, or nothing left after the filters.
    """
    folder = Path(config.path)
    names = read_names(_the_file(folder, "_entity.txt"), "entity")
    relation_names = read_names(_the_file(folder, "_relation.txt"), "relation")
    for dropped in DROPPED_ENTITIES:
        names.pop(dropped, None)
    for dropped in DROPPED_RELATIONS:
        relation_names.pop(dropped, None)
    ids, relation_ids = list(names), list(relation_names)
    triples = read_triples(
        _the_file(folder, "_all_triplet.txt"),
        {key: i for i, key in enumerate(ids)},
        {key: i for i, key in enumerate(relation_ids)},
        config.max_lines,
    )
    if not len(triples):
        raise InputError(f"{folder}: no triple has names for its subject, relation and object")

    pairs = pairing.read_pairs(config.pairs, relation_ids, str(folder))
    extra = [_known(relation, relation_ids, folder) for relation in config.relations]
    if pairs:
        chosen = np.array(sorted({r for pair in pairs for r in pair} | set(extra)))
    else:
        together = pairing.cooccurrence(triples, len(relation_ids))
        chosen = pairing.choose_relations(together, config.relation_count, config.min_pair_subjects)
        matched = pairing.match_relations(together[np.ix_(chosen, chosen)])
        pairs = [pairing.direct((int(chosen[i]), int(chosen[j])), triples) for i, j in matched]
        chosen = np.union1d(chosen, np.array(extra, np.int64)).astype(np.int64)

    kept = _subjects_with_two(triples[np.isin(triples[:, 1], chosen)])
    if not len(kept):
        raise InputError(f"{folder}: no subject has two of the relations {[relation_ids[r] for r in chosen]}")
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
    keys = [ids[i] for i in used]
    return build_graph(
        kept,
        unique_names([names[key] for key in keys], keys),
        unique_names([relation_names[relation_ids[r]] for r in chosen], [relation_ids[r] for r in chosen]),
        pairing.upstream_of(local, len(chosen)),
    )


def read_names(path: Path, what: str) -> dict[str, str]:
    """First name of every id in a names file; ids without a name are left out.

    Raises:
        InputError: a line whose id is not of the expected form, or text that is not UTF-8.
    """
    names: dict[str, str] = {}
    for number, line in _lines(path):
        key, *rest = line.split("\t")
        if not _IDS[what].fullmatch(key):
            raise InputError(f"{path}, line {number}: expected an {what} id and its names, got {line!r:.120}")
        if rest and rest[0].strip():
            names.setdefault(key, rest[0])
    return names


def read_triples(
    path: Path, entities: dict[str, int], relations: dict[str, int], max_lines: int
) -> np.ndarray:
    """int64[triples, 3] of indices, for the triples of the first `max_lines` whose three ids are known.

    Raises:
        InputError: a line that is not three ids separated by tabs.
    """
    found: list[tuple[int, int, int]] = []
    for number, line in _lines(path):
        if number > max_lines:
            break
        fields = line.split("\t")
        shapes = (_IDS["entity"], _IDS["relation"], _IDS["entity"])
        if len(fields) != 3 or not all(shape.fullmatch(f) for shape, f in zip(shapes, fields, strict=True)):
            raise InputError(f"{path}, line {number}: expected Q<tab>P<tab>Q, got {line!r:.120}")
        s, r, o = entities.get(fields[0]), relations.get(fields[1]), entities.get(fields[2])
        if s is not None and r is not None and o is not None:
            found.append((s, r, o))
    return np.array(found, np.int64).reshape(-1, 3)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines without their ending; blank lines are skipped."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                line = raw.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise InputError(f"{path}, line {number}: not UTF-8 ({error.reason}): {raw!r:.80}") from None
            if line:
                yield number, line


def _the_file(folder: Path, ending: str) -> Path:
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; --world.path should hold files in Wikidata5m's layout")
    found = sorted(folder.glob(f"*{ending}"))
    if len(found) != 1:
        raise InputError(f"{folder}: expected one file *{ending}, found {[p.name for p in found]}")
    return found[0]


def _known(relation: str, relation_ids: list[str], folder: Path) -> int:
    if relation not in relation_ids:
        raise InputError(f"unknown relation {relation!r}: {folder} has none such")
    return relation_ids.index(relation)


def _subjects_with_two(triples: np.ndarray) -> np.ndarray:
    pairs = np.unique(triples[:, :2], axis=0)
    subjects, count = np.unique(pairs[:, 0], return_counts=True)
    return triples[np.isin(triples[:, 0], subjects[count >= 2])]
