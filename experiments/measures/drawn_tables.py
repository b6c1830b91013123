"""Tables of who has what, drawn from a broad prior over what facts depend on, for a reviser to learn from.

A world has 3 to RELATIONS relations. Each is of one kind: it depends on nothing (`root`), on one other
relation (`pair`), on two together (`joint`), on a hidden type of the subject (`type`), on the hidden kind of
what another relation says (`group`), or repeats another one with errors (`copy`). Which kinds there are is
drawn by world, and so are sizes, rows, and which facts are known. Some known facts are wrong, as beliefs
that are read from a model are.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

RELATIONS, SUBJECTS, QUERIES, OBJECTS = 10, 112, 24, 32
"""At most, in a table; of queries as many are always drawn."""
PEOPLE = 280
"""Subjects of a world; some make the table, of some is asked."""
FEWEST = 5
"""Subjects of a table whose object of the target is known, at least."""
LAWS: dict[str, dict[str, float]] = {
    "types": {"root": 1, "pair": 1, "type": 8},
    "pairs": {"root": 4, "pair": 5, "copy": 0.5, "group": 0.5},
    "joints": {"root": 5, "pair": 1, "joint": 4},
    "mixed": {"root": 6, "pair": 5, "joint": 3, "type": 2, "copy": 2, "group": 2},
}
"""How common each kind of relation is, by kind of world."""
KINDS = ("root", "pair", "joint", "type", "group", "copy")


class Table(NamedTuple):
    """A table and what is asked about its first relation, the target; -1 is unknown.

    Attributes:
        facts: int32[SUBJECTS, RELATIONS].
        place: int32[SUBJECTS], where each one's object of the target stands among `objects`; 0 if unknown.
        own: int32[QUERIES, RELATIONS], facts of others, of whom the table says nothing.
        requested: int32[QUERIES], which of them is a request: it is true, and often surprises.
        objects: int32[OBJECTS], those of the target that anybody has, -2 as padding.
        answer: int32[QUERIES], the place of the true one among them.
    """

    facts: np.ndarray
    place: np.ndarray
    own: np.ndarray
    requested: np.ndarray
    objects: np.ndarray
    answer: np.ndarray


class Columns:
    """The relations of a world as they are drawn: objects of each from 0, and where their numbers begin."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.objects: list[np.ndarray] = []
        self.sizes: list[int] = []
        self.first: list[int] = []
        self.hidden = [self.draw_type() for _ in range(rng.integers(1, 3))]

    def draw_type(self) -> np.ndarray:
        """int[PEOPLE], of two to six types, none of them rare."""
        kinds = int(self.rng.integers(2, 7))
        return self.rng.choice(kinds, PEOPLE, p=self.rng.dirichlet(np.full(kinds, 5.0)))

    def pick(self) -> int:
        """A relation that is there."""
        return int(self.rng.integers(len(self.sizes)))

    def add(self, rows: np.ndarray, cause: np.ndarray) -> None:
        """A new relation, drawn by the row of each subject's cause, and now and then whatever it may be."""
        errors = self.rng.choice([0.0, 0.01, 0.05])
        rows = (1 - errors) * rows + errors / rows.shape[1]
        bounds = rows.cumsum(axis=1)
        draw = self.rng.random(PEOPLE) * bounds[:, -1][cause]
        self.append((draw[:, None] > bounds[cause, :-1]).sum(axis=1), rows.shape[1], sum(self.sizes))

    def append(self, objects: np.ndarray, size: int, first: int) -> None:
        """A new relation, whose objects are numbered from `first` on."""
        self.objects.append(objects)
        self.sizes.append(size)
        self.first.append(first)

    def draw_rows(self, count: int, size: int) -> np.ndarray:
        """float64[count, size]: distributions that are alike or not, all of one Dirichlet."""
        mass = np.exp(self.rng.uniform(np.log(0.05), np.log(3.0)))
        return self.rng.dirichlet(np.full(size, max(mass / size, 1e-3)), count)


def add_root(table: Columns, size: int) -> None:
    """A relation that depends on nothing."""
    share = table.rng.dirichlet(np.full(size, np.exp(table.rng.uniform(-1, 3))))
    table.add(share[None], np.zeros(PEOPLE, int))


def add_pair(table: Columns, size: int) -> None:
    """A relation that depends on one other."""
    cause = table.pick()
    table.add(table.draw_rows(table.sizes[cause], size), table.objects[cause])


def add_type(table: Columns, size: int) -> None:
    """A relation that depends on a hidden type of the subject."""
    cause = table.hidden[table.rng.integers(len(table.hidden))]
    table.add(table.draw_rows(cause.max() + 1, size), cause)


def add_group(table: Columns, size: int) -> None:
    """A relation that depends on the hidden kind of another one's object."""
    cause, groups = table.pick(), int(table.rng.integers(2, 5))
    group_of = table.rng.integers(groups, size=table.sizes[cause])
    table.add(table.draw_rows(groups, size), group_of[table.objects[cause]])


def add_joint(table: Columns, size: int) -> None:
    """A relation that depends on two together: a Latin square, a sum of log-odds, or a row for each pair."""
    rng = table.rng
    if len(table.sizes) < 2:
        return add_root(table, size)
    causes = rng.choice(len(table.sizes), 2, replace=False)
    n, m = (table.sizes[cause] for cause in causes)
    form = rng.choice(["square", "sum", "free"], p=[0.4, 0.4, 0.2])
    if form == "square":
        sure = rng.uniform(0.6, 1.0)
        favours = rng.permutation(size)[(rng.permutation(n)[:, None] + rng.permutation(m)) % size]
        rows = (1 - sure) / size + sure * np.eye(size)[favours]
    elif form == "sum":
        strength = rng.uniform(1, 3)
        odds = rng.normal(0, strength, (n, 1, size)) + rng.normal(0, strength, (1, m, size))
        rows = np.exp(odds - odds.max(axis=-1, keepdims=True))
        rows /= rows.sum(axis=-1, keepdims=True)
    else:
        rows = table.draw_rows(n * m, size)
    first, second = (table.objects[cause] for cause in causes)
    return table.add(rows.reshape(n * m, size), first * m + second)


def add_copy(table: Columns, size: int) -> None:
    """A relation that says what another one says, with errors."""
    del size
    source = table.pick()
    is_right = table.rng.random(PEOPLE) < table.rng.uniform(0.5, 1.0)
    wrong = table.rng.integers(table.sizes[source], size=PEOPLE)
    objects = np.where(is_right, table.objects[source], wrong)
    table.append(objects, table.sizes[source], table.first[source])


ADDERS: dict[str, Callable[[Columns, int], None]] = dict(
    zip(KINDS, (add_root, add_pair, add_joint, add_type, add_group, add_copy), strict=True)
)


def draw_world(rng: np.random.Generator, kinds: tuple[str, ...] = KINDS) -> np.ndarray:
    """int[PEOPLE, R]: what everybody has, by relation, which stand in random order.

    Args:
        kinds: kinds of relations that there may be.
    """
    law = {kind: weight for kind, weight in LAWS[str(rng.choice([*LAWS]))].items() if kind in kinds}
    share = np.array([*law.values()]) / sum(law.values())
    columns = Columns(rng)
    for relation in range(rng.integers(3, RELATIONS + 1)):
        kind = rng.choice([*law], p=share)
        is_first = not relation and kind != "type"
        size = int(np.exp(rng.uniform(np.log(3), np.log(24))))
        ADDERS["root" if is_first else str(kind)](columns, size)
    table = np.stack(columns.objects, axis=1) + np.array(columns.first)
    return table[:, rng.permutation(table.shape[1])]


def draw_known(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """bool[PEOPLE, R]: what is known: from one fact to all of each subject, or a share of each relation."""
    if rng.random() < 0.4:
        return rng.random(shape).argsort(axis=1) <= rng.integers(shape[1], size=shape[0])[:, None]
    return rng.random(shape) < rng.uniform(0.25, 1.0, shape[1])


def draw_table(rng: np.random.Generator, kinds: tuple[str, ...] = KINDS) -> Table:
    """A table and its questions."""
    while True:
        truth = draw_world(rng, kinds)
        known = draw_known(rng, truth.shape)
        # Beliefs that are wrong are those of somebody else.
        is_wrong = rng.random(truth.shape) < rng.choice([0.0, rng.uniform(0, 0.15)])
        facts = np.where(is_wrong, truth[rng.permutation(PEOPLE)], truth)
        facts = np.where(known, facts, -1)
        size = int(np.exp(rng.uniform(np.log(30), np.log(SUBJECTS))))
        objects = np.unique(facts[:size, 0][facts[:size, 0] >= 0])
        rest = size + np.flatnonzero(np.isin(truth[size:, 0], objects))
        many = np.count_nonzero(facts[:size, 0] >= 0)
        if many >= FEWEST and 2 <= len(objects) <= OBJECTS and len(rest) >= QUERIES:
            break
    requested = rng.integers(1, truth.shape[1], size=len(rest))
    own = facts[rest]
    own[:, 0] = -1
    own[np.arange(len(rest)), requested] = -1
    wanted = truth[rest, requested]
    few = choose_queries(rng, measure_expected(facts[:size], own, requested, wanted))
    own[np.arange(len(rest)), requested] = wanted
    return Table(
        pad(facts[:size], (SUBJECTS, RELATIONS)),
        pad(np.where(facts[:size, 0] < 0, 0, np.searchsorted(objects, facts[:size, 0])), (SUBJECTS,), 0),
        pad(own[few], (QUERIES, RELATIONS)),
        requested[few].astype(np.int32),
        pad(objects, (OBJECTS,), -2),
        np.searchsorted(objects, truth[rest[few], 0]).astype(np.int32),
    )


def measure_expected(
    facts: np.ndarray, own: np.ndarray, requested: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """float64[n]: roughly how probable each request is, by those who agree with the subject elsewhere."""
    agree = ((facts == own[:, None]) & (own[:, None] >= 0)).sum(axis=2)
    weight = np.exp(1.5 * agree) * (facts.T[requested] >= 0)
    right = weight * (facts.T[requested] == wanted[:, None])
    return (right.sum(axis=1) + 0.2) / (weight.sum(axis=1) + 1)


def choose_queries(rng: np.random.Generator, expected: np.ndarray) -> np.ndarray:
    """int[QUERIES]: half of them among the requests that surprise most, half from all."""
    half = QUERIES // 2
    surprising = np.argsort(expected + 1e-6 * rng.random(len(expected)))[: 3 * half]
    few = rng.choice(surprising, half, replace=False)
    return np.append(
        few, rng.choice(np.setdiff1d(np.arange(len(expected)), few), QUERIES - half, replace=False)
    )


def pad(x: np.ndarray, shape: tuple[int, ...], value: int = -1) -> np.ndarray:
    """int32[shape]: filled up by a value."""
    fill = [(0, want - have) for want, have in zip(shape, x.shape, strict=True)]
    return np.pad(x, fill, constant_values=value).astype(np.int32)
