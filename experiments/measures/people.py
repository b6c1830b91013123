"""Kinds of worlds of people: whether groups differ, who is spoken of often, what work depends on."""

from itertools import product
from typing import NamedTuple

from corpus.config import PeopleWorld
from corpus.seeds import generator
from experiments.study import Values
from testbed.run.settings import Changes

SHARES = (8, 6, 4, 3, 2, 1)
"""Sizes of the groups, in 24ths of all people."""


class WorldKind(NamedTuple):
    """Worlds of one kind.

    Attributes:
        shift: groups differ.
        frequency: half of each group is spoken of often.
        states_groups: the corpus says who is in which group.
        by_gender: work depends on gender, and on the group no longer.
    """

    shift: bool
    frequency: bool
    states_groups: bool = True
    by_gender: bool = False

    def __str__(self) -> str:
        properties = (("shift", self.shift), ("frequency", self.frequency), ("said", self.states_groups))
        name = "-".join(f"{'' if on else 'no-'}{what}" for what, on in properties)
        return f"{name}-by-gender" if self.by_gender else name


FACTORIAL = [WorldKind(*switches) for switches in product((True, False), repeat=2)]
HIDDEN, BY_GENDER = WorldKind(True, True, states_groups=False), WorldKind(True, True, by_gender=True)
CELLS = [*FACTORIAL, HIDDEN, BY_GENDER]
KINDS = {
    "groups differ": [kind for kind in FACTORIAL if kind.shift],
    "groups alike": [kind for kind in FACTORIAL if not kind.shift],
    "groups differ, hidden": [HIDDEN],
    "groups differ, work by gender": [BY_GENDER],
}
"""Worlds that are alike in what facts depend on."""


def corpus_of_people(cell: Values) -> Changes:
    """The people of a world, so many and of a `world_kind`; sizes are permuted among groups by its seed."""
    kind, people, seed = cell["world_kind"], cell["people"], cell["seed"]
    if people % sum(SHARES):
        raise ValueError(f"people must be a multiple of {sum(SHARES)}; they are {people}")
    sizes = generator(seed, "sizes of groups").permutation(
        [people // sum(SHARES) * share for share in SHARES]
    )
    world = PeopleWorld(
        sizes=tuple(sizes.tolist()),
        shift=PeopleWorld().shift if kind.shift else 0.0,
        spoken="crossed" if kind.frequency else "alike",
        said=1.0 if kind.states_groups else 0.0,
        by_gender=PeopleWorld().shift if kind.by_gender else 0.0,
    )
    hidden = {} if kind.states_groups else {"exact.rows": "given"}
    return {"world.subjects": people, "world.people": world} | hidden


def training_of_people(cell: Values) -> Changes:
    """So many steps, four checkpoints."""
    return {"train.steps": cell["steps"], "train.checkpoint-every": cell["steps"] // 4 or 1}
