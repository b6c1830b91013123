"""Independent random streams from one root seed.

World, sentences, initial weights, data order and edits each have a stream of their own, so that
changing how one is drawn never shuffles another.
"""

import zlib

import numpy as np


def _seed_sequence(root: int, purpose: str) -> np.random.SeedSequence:
    return np.random.SeedSequence(entropy=root, spawn_key=(zlib.crc32(purpose.encode()),))


def generator(root: int, purpose: str) -> np.random.Generator:
    """A NumPy generator for one purpose ("world", "sentences", ...) under a root seed.

    Streams of different purposes are independent, and the same again:

    >>> generator(0, "world").random() == generator(0, "world").random() != generator(0, "cases").random()
    True
    """
    return np.random.default_rng(_seed_sequence(root, purpose))


def integer(root: int, purpose: str) -> int:
    """A 31-bit seed for libraries that take an integer, such as jax.random."""
    return int(_seed_sequence(root, purpose).generate_state(1)[0] >> 1)
