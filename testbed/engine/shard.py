"""Which of a sweep's edits one of several processes makes. Importing this loads no NumPy and no JAX."""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Shard(NamedTuple):
    """Every `of`-th batch of edits, from the `number`-th on."""

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def batches_of(self, batches: Sequence[int]) -> Sequence[int]:
        """Those of some batches that belong to this shard."""
        return batches[self.number - 1 :: self.of]


ALL = Shard()


def shard_from(text: str) -> Shard:
    """The shard that is written so, such as 2/8; all edits where nothing is written.

    Raises:
        ValueError: it is not a number of a number that is at least as large.
    """
    found = re.fullmatch(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})", text)
    if text and (not found or int(found[1]) > int(found[2])):
        raise ValueError(f"shard is which part of how many, from 1/8 to 8/8; {text!r} is not")
    return Shard(int(found[1]), int(found[2])) if found else ALL
