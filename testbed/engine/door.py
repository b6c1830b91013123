"""Ask an edited Hugging Face model what a testbed of model editing asks."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

CLOSE = 1e-5
"""Numbers of one edit made twice, at most."""


class DoorError(ValueError):
    """An editor that cannot be taken as it is; says what to do."""


def call_editor(editor: Any, model: Any, tokenizer: Any, request: Any, seed: int) -> Any:
    """One edit by a function or an object with `edit` and perhaps `reset`, from seeded random numbers."""
    if hasattr(editor, "reset"):
        editor.reset()
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (editors of others may draw from it)
    torch.manual_seed(seed)
    edited = getattr(editor, "edit", editor)(model, tokenizer, request)
    return model if edited is None else edited


def check_edits_apart(edit: Callable[[int], np.ndarray]) -> None:
    """Refuse an editor whose edit depends on the edits before it.

    Args:
        edit: what the edit of request 0 or 1 came to, as numbers.

    Raises:
        DoorError: the first edit comes out otherwise after the second.
    """
    first, _, again = edit(0), edit(1), edit(0)
    if not np.allclose(first, again, rtol=0, atol=CLOSE, equal_nan=True):
        raise DoorError(
            f"one request came out otherwise after another edit (by {np.abs(first - again).max():.2g}): "
            "something stays from edit to edit; give the editor reset(), which is called before every edit"
        )


def check_padding(edit: Callable[[str], np.ndarray]) -> None:
    """Refuse an editor whose edit depends on the tokenizer's padding side without saying which it needs.

    Args:
        edit: what an edit came to, as numbers, with the tokenizer padding "left" or "right".

    Raises:
        DoorError: both differ.
    """
    left, right = edit("left"), edit("right")
    if not np.allclose(left, right, rtol=0, atol=CLOSE, equal_nan=True):
        raise DoorError(
            "its edits depend on the side on which the tokenizer pads (by "
            f'{np.abs(left - right).max():.2g}); say which side it was written for: PADDING = "right" '
            '(most editors) or "left" in its class, or my_edit.PADDING = "right" behind a function'
        )
