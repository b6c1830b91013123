"""Any TSV of subject<TAB>relation<TAB>object labels as a world."""

from pathlib import Path

import numpy as np

from corpus import pairing
from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph, build_graph, unique_names


def build(config: WorldConfig, rng: np.random.Generator) -> KnowledgeGraph:
    """A graph of the labels in `config.path`; `config.pairs` names dependencies by relation label.

    Raises:
        InputError: a missing file, a malformed line, a second object for one (subject, relation), a
            subject with a single relation, an unknown relation in a pair, or an empty file.
    """
    path = Path(config.path)
    try:
        raw = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); convert it") from None
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    line_of: dict[tuple[int, int], int] = {}
    triples: list[tuple[int, int, int]] = []
    for number, line in enumerate(raw.replace("\r\n", "\n").split("\n"), start=1):
        if not line:
            continue
        fields = [" ".join(field.split()) for field in line.split("\t")]
        if len(fields) != 3 or not all(fields):
            raise InputError(
                f"{path}, line {number}: expected subject<tab>relation<tab>object, got {line!r:.120}"
            )
        s = entities.setdefault(fields[0], len(entities))
        r = relations.setdefault(fields[1], len(relations))
        o = entities.setdefault(fields[2], len(entities))
        if (s, r) in line_of:
            raise InputError(
                f"{path}, line {number}: {fields[0]!r} has {fields[1]!r} already on line "
                f"{line_of[s, r]}; one object each, so drop one of the two"
            )
        line_of[s, r] = number
        triples.append((s, r, o))
    if not triples:
        raise InputError(f"{path}: the graph is empty; expected lines subject<tab>relation<tab>object")

    array = np.array(triples)
    names = list(entities)
    subjects, count = np.unique(array[:, 0], return_counts=True)
    if (count < 2).any():
        lonely = int(subjects[count < 2][0])
        row = int(np.flatnonzero(array[:, 0] == lonely)[0])
        number = line_of[lonely, int(array[row, 1])]
        raise InputError(
            f"{path}, line {number}: the subject {names[lonely]!r} has one relation only, and an edit "
            "needs a second one to be judged by; give it another fact or drop it"
        )
    if len(subjects) > config.subjects:
        chosen = rng.choice(subjects, config.subjects, replace=False)
        array = array[np.isin(array[:, 0], chosen)]
    pairs = pairing.read_pairs(config.pairs, list(relations), str(path))
    return build_graph(
        array,
        unique_names(names, [f"entity {i + 1}" for i in range(len(names))]),
        unique_names(list(relations), [f"relation {i + 1}" for i in range(len(relations))]),
        pairing.upstream_of(pairs, len(relations)),
    )
