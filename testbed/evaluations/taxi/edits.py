"""Edits and their multiple-choice questions for any taxonomy, built as TAXI builds its own."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from testbed.evaluations.taxi.kinds import Taxonomy
from testbed.protocol import ABSENT

FURTHER = (2, 4)
"""Least and most options of a property besides the new and the old value."""


class Query(NamedTuple):
    """A multiple-choice question about an edited subject.

    Attributes:
        options: the objects to choose from.
        label, old: the right one, and the right one before the edit.
        changed: whether it counts as one that the edit changes.
        subjects: whom to choose from when it is asked inversely; the edited subject is right.
    """

    relation: int
    options: tuple[int, ...]
    label: int
    old: int
    changed: bool
    subjects: tuple[int, ...]


class Edit(NamedTuple):
    """A subject that becomes a member of another category; the first query asks for that."""

    subject: int
    old: int
    new: int
    queries: tuple[Query, ...]


def build_edits(kinds: Taxonomy, rng: np.random.Generator) -> Iterator[Edit]:
    """Every subject with every other category of its superordinate.

    A property is asked where both categories have it. Inversely, the options are the subject, and those of
    its superordinate that are spoken of as often and whose category does not have the asked value.
    """
    for subject, old in kinds.category_by_member.items():
        siblings, peers = kinds.sibling_categories(old), kinds.peer_subjects(subject)
        for new in siblings:
            if new == old:
                continue
            outside = [s for s in peers if kinds.category_by_member[s] not in (old, new)]
            queries = [Query(kinds.root, tuple(siblings), new, old, True, (subject, *outside))]
            for relation in kinds.property_relations(subject):
                before, after = kinds.value_of(old, relation), kinds.value_of(new, relation)
                if ABSENT in (before, after):
                    continue
                other_subjects = [
                    s for s in peers if kinds.value_of(kinds.category_by_member[s], relation) != after
                ]
                options = _draw_options(kinds, relation, {after, before}, rng)
                changed = before != after
                queries.append(Query(relation, options, after, before, changed, (subject, *other_subjects)))
            yield Edit(subject, old, new, tuple(queries))


def _draw_options(
    kinds: Taxonomy, relation: int, first: set[int], rng: np.random.Generator
) -> tuple[int, ...]:
    """Some objects, and a few others that the relation may have."""
    others = [o for o in kinds.graph.candidates_of(relation).tolist() if o not in first]
    count = int(rng.integers(FURTHER[0], FURTHER[1] + 1))
    return (*first, *rng.permutation(others)[:count].tolist())


def draw_stratified(edits: list[Edit], kinds: Taxonomy, count: int, rng: np.random.Generator) -> list[Edit]:
    """`count` edits, as equally as may be of all superordinates and of typical and rare subjects.

    All of them where there are fewer.
    """
    parts: dict[tuple[str, bool], list[Edit]] = {}
    for i in rng.permutation(len(edits)):
        subject = edits[i].subject
        parts.setdefault((kinds.superordinate_of(subject), kinds.is_typical(subject)), []).append(edits[i])
    # The n-th of every part before the n+1-th of any.
    turns = [(turn, part) for part in sorted(parts) for turn in range(len(parts[part]))]
    return [parts[part][turn] for turn, part in sorted(turns)[:count]]
