"""The facts of a folder in Wikidata5m's layout, whose ids all have names (Hase A.1, design.md 2)."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from corpus.account import Account
from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.rawfiles import LONGEST_NAME, Watch
from corpus.selection import Facts
from corpus.wikidata_files import Names, described_names, read_folder


class Numbered:
    """Labels of ids such as Q42, kept as the numbers behind their letter.

    Args:
        letter: Q or P.
        of: the label of each id.
        known: int32, the ids that have a label, ascending.
    """

    def __init__(self, letter: str, of: Callable[[np.ndarray], list[str]], known: np.ndarray) -> None:
        self.letter = letter
        self.of = of
        self.known = known

    def keys(self, ids: np.ndarray) -> list[str]:
        """Ids as Wikidata writes them."""
        return [f"{self.letter}{i}" for i in ids]

    def find(self, key: str) -> int | None:
        """The number of an id that has a label."""
        if key[:1] != self.letter or not key[1:].isdecimal():
            return None
        number = int(key[1:])
        return number if np.isin(number, self.known) else None


def read_wikidata(
    config: WorldConfig, cache: Path | None, watch: Watch, note: Callable[[str], None], account: Account
) -> Facts:
    """The first `config.max_lines` facts of a folder, less those with an id that has no name.

    Args:
        cache: folder for a binary copy of the files.
        watch, note: show progress, and remarks about the files.

    Raises:
        InputError: a missing file, a malformed line (with file, number and content), or an option that
            names no id.
    """
    folder = Path(config.path)
    for option, keys, letter in (
        ("--world.drop-relations", config.drop_relations, "P"),
        ("--world.drop-entities", config.drop_entities, "Q"),
    ):
        for key in keys:
            if key[:1] != letter or not key[1:].isdecimal():
                raise InputError(f"{option}: {key!r} is not an id such as {letter}131")
    raw = read_folder(folder, cache, watch)
    for remark in raw.notes:
        note(remark)
    triples = raw.triples[: config.max_lines]
    account.leave_out("facts beyond --world.max-lines", len(raw.triples) - len(triples))
    entities, relations = _sensible(raw.entities), _sensible(raw.relations)
    named = (
        np.isin(triples[:, 0], entities)
        & np.isin(triples[:, 1], relations)
        & np.isin(triples[:, 2], entities)
    )
    nameless = (
        " ".join(f"{letter}{i}" for letter, i in zip("QPQ", triples[row], strict=True))
        for row in np.flatnonzero(~named)
    )
    account.leave_out("facts with an id that has no name", len(named) - named.sum(), nameless)
    if not named.any():
        raise InputError(f"{folder}: no triple has names for its subject, relation and object")
    of = raw.entities.of if config.names == "first" else partial(_described, folder, raw.entities, watch)
    return Facts(
        triples[named],
        Numbered("Q", of, entities),
        Numbered("P", raw.relations.of, relations),
        str(folder),
    )


def _sensible(names: Names) -> np.ndarray:
    """Ids whose name can stand in a sentence."""
    return names.ids[np.diff(names.offsets) <= LONGEST_NAME]


def _described(folder: Path, names: Names, watch: Watch, ids: np.ndarray) -> list[str]:
    return described_names(folder, dict(zip(ids.tolist(), names.of(ids), strict=True)), watch)
