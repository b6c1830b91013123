"""Names that a reader could take for one another, though they are spelt otherwise."""

import unicodedata
from collections.abc import Sequence

INVISIBLE = "Cf"
"""The Unicode category of characters without width."""


def find_lookalikes(names: Sequence[str]) -> list[list[str]]:
    """Groups of names that differ only in case, in how Unicode composes them, or in characters without width.

    >>> find_lookalikes(["Paris", "Rome", "PARIS"])
    [['Paris', 'PARIS']]
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        visible = "".join(c for c in name if unicodedata.category(c) != INVISIBLE)
        groups.setdefault(unicodedata.normalize("NFKC", visible).casefold(), []).append(name)
    return [group for group in groups.values() if len(group) > 1]
