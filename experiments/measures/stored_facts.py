"""Worlds whose facts a model can only store: attributes, and couples stated from one side or both."""

import numpy as np

from corpus.seeds import generator
from corpus.worlds.builtin import FreshNames
from corpus.worlds.own import Fact, OwnWorld

RELATIONS, OBJECTS, STATEMENTS = 16, 32, 5
FORWARD, BACKWARD, NAME = "teaches", "learns from", "is called"


class Attributes(OwnWorld):
    """People with 16 attributes, each drawn evenly from the same 32 objects.

    Attributes:
        follows: how often the second, fourth, ... attribute is the one that the attribute before implies.
        zipf: exponent of how often people are spoken of; the mean is STATEMENTS for each fact.
        implied: int64[OBJECTS], the object that each object implies.
    """

    follows = zipf = 0.0

    def __init__(self, seed: int, subjects: int) -> None:
        super().__init__(seed, subjects)
        rng = generator(seed, "attributes")
        fresh = FreshNames(rng)
        objects = fresh.take(OBJECTS, lambda: fresh.word(1))
        people = fresh.take(subjects, lambda: fresh.word(2))
        self.candidates = {f"trait {n:02}": objects for n in range(RELATIONS)}
        self.implied = rng.permutation(OBJECTS)
        drawn = rng.integers(0, OBJECTS, (subjects, RELATIONS))
        does_follow = rng.random((subjects, RELATIONS // 2)) < self.follows
        drawn[:, 1::2] = np.where(does_follow, self.implied[drawn[:, ::2]], drawn[:, 1::2])
        share = np.arange(1, subjects + 1) ** -self.zipf
        often = np.maximum(1, np.rint(STATEMENTS * share / share.mean())).astype(int)
        self.facts = [
            Fact(name, relation, objects[place], int(times))
            for name, mine, times in zip(people, drawn, often, strict=True)
            for relation, place in zip(self.candidates, mine, strict=True)
        ]


class Dependent(Attributes):
    """Half of the attributes follow from another one in nine of ten people."""

    follows = 0.9


class Skewed(Attributes):
    """The n-th person is spoken of in proportion to 1/n."""

    zipf = 1.0


class Couples(OwnWorld):
    """Teachers and pupils: of half of the couples only whom the teacher teaches is stated.

    Of the other half it is stated of whom the pupil learns, so that both relations are read.

    Attributes:
        both: of this other half both are stated.
        bridge: it is stated that everybody is called by their name (the identity bridge of Ma et al. 2026).
    """

    both = bridge = False

    def __init__(self, seed: int, subjects: int) -> None:
        super().__init__(seed, subjects)
        fresh = FreshNames(generator(seed, "couples"))
        names = fresh.take(subjects, lambda: fresh.word(3))
        self.candidates = {FORWARD: names[1::2], BACKWARD: names[::2], NAME: names}
        self.facts = [Fact(name, NAME, name, STATEMENTS * self.bridge) for name in names]
        for i, (teacher, pupil) in enumerate(zip(names[::2], names[1::2], strict=True)):
            forward = i % 2 == 0 or self.both
            self.facts.append(Fact(teacher, FORWARD, pupil, STATEMENTS * forward))
            self.facts.append(Fact(pupil, BACKWARD, teacher, STATEMENTS * (i % 2)))


class Both(Couples):
    """With the first."""

    both = True


class Bridge(Couples):
    """With the second."""

    bridge = True


class BothAndBridge(Both, Bridge):
    """With the two."""
