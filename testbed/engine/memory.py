"""How many edits fit side by side."""

import math
import os
import sys
from collections.abc import Callable
from typing import Any

import jax

from lm.language_model import LanguageModel
from testbed.engine.questions import ProbeShape

SHARE = 0.25
"""Of the free memory that edits may take."""
COPIES = 5
"""Of what an edit changes: itself, its gradient, two moments, and one to spare."""

ON_PROCESSORS = 1e13
"""Arithmetic of edits side by side: a minute or two of two cores."""


def edits_that_fit(model: LanguageModel, changed: Any, shape: ProbeShape, facts: int, most: int) -> int:
    """How many edits to compute side by side: as many as surely fit, and no more than is worth it.

    Args:
        changed: what an edit, or a sequence of them, adds to the model; shapes are enough.
        facts: that one edit is told.
        most: more are never taken.
    """
    return affordable_edits(bytes_of_an_edit(model, changed, shape, facts), most)


def affordable_edits(bytes_of_one: float, most: int) -> int:
    """How many of so many bytes each fit into the share of what is free: at least 1, at most `most`."""
    return max(1, min(most, int(SHARE * free_bytes() / bytes_of_one)))


def compiled_edits_that_fit(bytes_of_one: Callable[[int], float], most: int) -> int:
    """How many edits fit by what was compiled for as many: `most`, or fewer until it does.

    Args:
        bytes_of_one: what an edit takes beside others, given how many there are; nan where nobody knows.
    """
    while most > 1:
        taken = bytes_of_one(most)
        fewer = most if math.isnan(taken) else affordable_edits(taken, most)
        if fewer == most:
            break
        most = fewer
    return most


def edits_in_short_time(flops: float) -> int:
    """How many edits of so much arithmetic a processor makes before long; elsewhere any number is.

    What is not finished is lost when a sweep is killed, and until then nobody knows how long it takes.
    """
    return int(ON_PROCESSORS / flops) if flops and jax.default_backend() == "cpu" else sys.maxsize


def bytes_of_an_edit(model: LanguageModel, changed: Any, shape: ProbeShape, facts: int) -> int:
    """An estimate from shapes alone of what an edit takes beside others.

    That is what it changes, with its optimiser, and what its backward pass keeps. Probes are asked in pieces,
    whatever there is side by side. An editor may read more than shapes show, each request behind several
    openings, or what others believe: what was compiled tells.
    """
    config = model.config
    numbers = sum(math.prod(x.shape) for x in jax.tree.leaves(changed))
    answer = shape.longest + 1
    seen = config.heads * (shape.prompt + answer)
    inside = config.layers * (12 * config.hidden + 8 * config.mlp + 3 * seen)
    floats = COPIES * numbers + facts * ((shape.prompt + answer) * inside + 3 * answer * model.vocabulary)
    return 4 * floats


def free_bytes() -> float:
    """Memory that is free on the device that edits run on."""
    stats = jax.local_devices()[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return stats["bytes_limit"] - stats["bytes_in_use"]
    # Devices that are a machine's processors share its memory.
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") / jax.local_device_count()
