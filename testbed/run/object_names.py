"""Generated tokens back into objects."""

import numpy as np

from corpus.text.tokenizer import Tokenizer
from testbed.protocol import ABSENT


class ObjectNames:
    """The names of objects as tokens.

    Args:
        objects: the entities that an answer may be.

    Attributes:
        longest: tokens of the longest name.
    """

    def __init__(self, tokenizer: Tokenizer, objects: np.ndarray) -> None:
        self.language = tokenizer.language
        self._object = {tuple(tokenizer.entity(int(o)).tolist()): int(o) for o in objects}
        self.longest = max(map(len, self._object))

    def objects_of(self, tokens: np.ndarray) -> np.ndarray:
        """int64: the object that each row of generated tokens spells, ABSENT where it is none.

        Args:
            tokens: int[..., longest + 1], PAD from the ending on; a row without an ending is none.
        """
        flat = tokens.reshape(-1, tokens.shape[-1])
        objects = [self._object.get(tuple(t for t in row if t), ABSENT) for row in flat.tolist()]
        return np.array(objects).reshape(tokens.shape[:-1])
