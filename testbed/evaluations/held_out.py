"""Edits that imagine and revise documents could speak of, and edits that they could not."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from testbed.protocol import Facet
    from testbed.run.world import World

HELD_OUT_FACETS: dict[str, type] = {"seen_subject": bool, "seen_object": bool}
"""Columns of cases: whether imagine and revise documents may be about the subject, and may imagine the
requested object (neither where there are no such documents)."""
SUBJECT_HELD_OUT, OBJECT_HELD_OUT, HELD_OUT = "held-out subject", "held-out object", "held out both"
SEEN = "seen both"
HELD_OUT_PARTS = (SUBJECT_HELD_OUT, OBJECT_HELD_OUT, HELD_OUT, SEEN)
"""Parts of the edits, by what such documents could not be about."""


def held_out_facets(world: "World", subject: int, requested: int) -> "dict[str, Facet]":
    """The columns HELD_OUT_FACETS of a request to make `requested` the object of a fact about `subject`."""
    documents = world.chosen
    return {
        "seen_subject": documents is not None and subject in documents.subjects,
        "seen_object": documents is not None and requested in documents.objects,
    }


def held_out_subsets(cases: "Mapping[str, np.ndarray]") -> "dict[str, np.ndarray]":
    """bool[E] of each part by what was held out; nothing where there are no such documents."""
    subject, requested = cases["seen_subject"].astype(bool), cases["seen_object"].astype(bool)
    if not (subject | requested).any():
        return {}
    parts = (~subject, ~requested, ~subject & ~requested, subject & requested)
    return dict(zip(HELD_OUT_PARTS, parts, strict=True))
