"""The authors' own requests, as far as a world of real people can pose them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from corpus.errors import InputError
from corpus.text.names import clean_label
from corpus.worlds.people.released import Request, read_requests
from testbed.evaluations.seesaw.population import Edit, Population
from testbed.run.world import World


class Poser:
    """Finds people and objects of requests in a world, by name.

    Args:
        population: of the world.
    """

    def __init__(self, population: Population) -> None:
        self.population = population

    def pose(self, request: Request) -> Edit | None:
        """The edit that a request asks for; None where there is none.

        Its subject is in the world, alone of that name, the corpus states the old object of it, and somebody
        in the world has the new one.
        """
        population, r = self.population, self.population.graph.relations.index(request.relation)
        person = self._people.get(clean_label(request.subject))
        objects = self._objects[r]
        old, new = (objects.get(clean_label(name)) for _, name in (request.old, request.new))
        if person is None or old is None or new is None or new == old:
            return None
        if population.object_of[r, person] != old or not population.is_stated[r, person]:
            return None
        if not len(population.people_with(r, new)):
            return None
        before = population.category_of(old)
        return Edit(person, r, old, new, not before or population.category_of(new) != before)

    @cached_property
    def _people(self) -> Mapping[str, int]:
        return self._by_name(self.population.people.tolist())

    @cached_property
    def _objects(self) -> Mapping[int, Mapping[str, int]]:
        graph = self.population.graph
        return {r: self._by_name(graph.candidates_of(r).tolist()) for r in self.population.edited_relations}

    def _by_name(self, entities: Iterable[int]) -> Mapping[str, int]:
        """Entities by name, and by the part of it before an addition in brackets; each alone of that name."""
        names = self.population.graph.entities
        whole = {names[i]: i for i in entities}
        short = {name.rpartition(" (")[0]: i for name, i in whole.items()}
        count = Counter(name.rpartition(" (")[0] for name in whole)
        return {name: i for name, i in short.items() if count[name] == 1} | whole


def read_world_requests(world: World) -> list[Request]:
    """The requests in the folder that a world's people, or their tags, come from.

    Raises:
        InputError: people are generated; or as `read_requests`.
    """
    folder: Path | None = world.tags or world.path
    if folder is None:
        raise InputError(
            "the people of this world are generated, so nobody released requests about them: leave out "
            "--seesaw.requests released, or build the world with --world.path"
        )
    return read_requests(folder)


def pose_released(population: Population, world: World, rng: np.random.Generator) -> Iterator[list[Edit]]:
    """Of each edited property all different requests that a world can pose, in an order drawn by lot.

    Of one fact several files may request several objects: second ones stand behind all first ones, so that
    edits made together seldom contradict each other.

    Raises:
        InputError: as `read_world_requests`.
    """
    poser = Poser(population)
    posed = [edit for request in read_world_requests(world) if (edit := poser.pose(request))]
    different = [*dict.fromkeys(posed)]
    by_lot = [different[i] for i in rng.permutation(len(different))]
    seen: Counter[tuple[int, int]] = Counter()
    turns: dict[Edit, int] = {}
    for edit in by_lot:
        seen[edit.person, edit.relation] += 1
        turns[edit] = seen[edit.person, edit.relation]
    for r in population.edited_relations:
        yield sorted((edit for edit in by_lot if edit.relation == r), key=turns.__getitem__)
