"""Work of a small model on all cores of a CPU: one of its programs keeps little more than one busy."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np


def over_cores(function: jax.stages.Wrapped, cores: int, **static: Any) -> Callable:
    """The function with its edits shared out among threads, which give what it gives.

    Each thread takes as many edits as the others, so that one program serves all: of five edits, five
    threads take one each, and four cores are left to one thread.

    Args:
        function: jitted, of a model and of trees whose leaves lead with edits.
        cores: at most so many threads.
        static: arguments by name that the function is compiled for.
    """

    def share_edits(model: Any, *split: Any) -> Any:
        edits = len(jax.tree.leaves(split)[0])
        threads = max(n for n in range(1, cores + 1) if edits % n == 0)
        if threads == 1:
            return function(model, *split, **static)
        each = edits // threads
        on_host = jax.tree.map(np.asarray, split)
        parts = [jax.tree.map(lambda x, at=at: x[at : at + each], on_host) for at in range(0, edits, each)]
        # Compiled before, since each thread would do it for itself.
        program = function.lower(model, *parts[0], **static).compile()
        with ThreadPoolExecutor(threads) as pool:
            returned = list(pool.map(lambda part: jax.device_get(program(model, *part)), parts))
        return jax.tree.map(lambda *x: np.concatenate(x), *returned)

    return share_edits
