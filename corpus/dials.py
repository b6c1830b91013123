"""Dials of worlds that are generated. Plain dataclasses, as in `corpus.config`."""

from dataclasses import dataclass
from typing import Literal

MOST_EACH, MOST_PLACES, MOST_ZIPF = 1000, 5000, 20


@dataclass(frozen=True)
class TaxonomyWorld:
    """Dials of a generated taxonomy; the last three are for TAXI's tables, too."""

    superordinates: int = 6
    """Kinds of thing, such as animal; each has categories and properties of its own."""
    categories: int = 7
    """Categories of each superordinate, such as dog."""
    members: int = 4
    """Members of each category; half of them typical, the others rare."""
    properties: int = 9
    """Properties of each superordinate."""
    has: float = 0.6
    """Probability that a category has a property."""
    shares: float = 0.5
    """Probability that it then has the value of another category, not one of its own."""
    alternatives: int = 4
    """Values at least among which that of a property is."""
    typical_frequency: int = 10
    """How often typical members are spoken of, where rare ones are once (see --documents.copies)."""
    categories_speak: bool = False
    """Let categories speak for themselves: a dog is a dog, and barks."""
    absent: bool = True
    """Keep the properties that a category lacks as facts nobody speaks of (kind exact)."""

    def __post_init__(self) -> None:
        if min(self.superordinates, self.members, self.properties, self.typical_frequency) < 1:
            raise ValueError("superordinates, members, properties and typical_frequency must be positive")
        if self.categories < 2 or self.alternatives < 2:
            raise ValueError("categories and alternatives must be at least 2")
        if not 0 < self.has <= 1 or not 0 <= self.shares <= 1:
            raise ValueError("has is a probability in (0, 1], shares one in [0, 1]")


@dataclass(frozen=True)
class CoupledWorld:
    """Dials of a world of coupled pairs: towers and parks, writers and books, people and spouses.

    Real couples know `objects`, `unstated` and `unknown`.
    """

    objects: int = 8
    """Objects of each relation; of real couples, of each that is coupled, the commonest. Fewer objects mean
    more support for each."""
    strength: float = 1.0
    """Probability that the coupled entity has the same object; else it has any other."""
    dependence: float = 0.9
    """Probability that what depends on a subject's own fact follows its object's favourite."""
    unstated: float = 0.25
    """Share of pairs in which nobody says what the coupled entity has by the coupling, nor what follows."""
    unknown: float = 0.15
    """Share of pairs in which nobody says what the coupling starts from, nor anything that depends on it."""

    def __post_init__(self) -> None:
        if self.objects < 3:
            raise ValueError("objects must be at least 3")
        for name in ("strength", "dependence", "unstated", "unknown"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a share, in [0, 1]; it is {getattr(self, name)}")
        if self.unstated + self.unknown > 0.9:
            raise ValueError("unstated and unknown together may be at most 0.9 of all pairs")


@dataclass(frozen=True)
class PeopleWorld:
    """Dials of a world of people in groups; real people know `by_gender`, `said`, `spoken` and `often`."""

    tags: str = ""
    """Folder of Seesaw-CF's tables, which tell race, region, field, continent and country (with a path)."""
    groups: int = 6
    """Groups, each called a race; people also have a region and a gender."""
    sizes: tuple[int, ...] = ()
    """People of each group, adding up to all subjects; by default the prevalence decides."""
    prevalence: float = 1.0
    """Exponent of the groups' sizes; 0 makes them alike."""
    shift: float = 0.9
    """How far groups differ in region, citizenship, language and work: 0 not at all, 1 in everything."""
    by_gender: float = 0.0
    """How far women and men differ in work. Above 0 work depends on gender, and on the group no longer."""
    native: float = 0.9
    """Probability that people are born in the country of which they are citizens; else it is any place."""
    zipf: float = 2.0
    """Exponent of the objects' popularity, in all and in each group; 0 is uniform."""
    regions: int = 4
    """Regions that groups may be from."""
    continents: int = 4
    """Continents, each with so many `countries`."""
    countries: int = 5
    """Countries of each continent, each with so many `places`."""
    places: int = 3
    """Places of birth in each country."""
    languages: int = 12
    """Languages."""
    works: int = 6
    """Kinds of work in each of the four fields: arts, humanities, science, social science."""
    said: float = 1.0
    """Share of people whose race and region the corpus says. Below 1 the exact agent has to be told the rows
    (--exact.rows given)."""
    spoken: Literal["alike", "crossed", "confounded"] = "crossed"
    """How often people are spoken of. crossed: half of each group `often`; confounded: the largest groups
    `often`, the others once; alike: everybody once. --documents.copies writes it."""
    often: int = 10
    """How often those are spoken of who are spoken of often; the others are once."""
    valenced: float = 0.5
    """Share of citizenships, languages, kinds of work and places of birth that are thought well of, or ill,
    in equal parts."""

    def __post_init__(self) -> None:
        for name in ("shift", "by_gender", "native", "said", "valenced"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a share, in [0, 1]; it is {getattr(self, name)}")
        for name in ("prevalence", "zipf"):
            if not 0 <= getattr(self, name) <= MOST_ZIPF:
                raise ValueError(f"{name} must be from 0 to {MOST_ZIPF}; it is {getattr(self, name)}")
        two = ("groups", "regions", "languages")
        for name in (*two, "continents", "countries", "places", "works", "often"):
            if not 1 + (name in two) <= getattr(self, name) <= MOST_EACH:
                least = 1 + (name in two)
                raise ValueError(f"{name} must be from {least} to {MOST_EACH}; it is {getattr(self, name)}")
        countries = self.continents * self.countries
        if countries < 2 or countries * self.places > MOST_PLACES:
            raise ValueError(
                "continents times countries must be at least 2, and with places at most "
                f"{MOST_PLACES:,}; they are {countries:,} and {countries * self.places:,}"
            )
        if self.native == 1:
            raise ValueError("native must be below 1: whoever is born elsewhere would be impossible")
        if self.sizes and min(self.sizes) < 1:
            raise ValueError(f"sizes holds {min(self.sizes)}: a group needs people; leave empty ones out")

    def sizes_of(self, people: int) -> tuple[int, ...]:
        """People of each group, in the order of the groups.

        Raises:
            ValueError: sizes that do not sum to all people, or fewer people than groups.
        """
        if self.sizes:
            if sum(self.sizes) != people:
                raise ValueError(f"people.sizes add up to {sum(self.sizes):,}, where subjects is {people:,}")
            return self.sizes
        if people < self.groups:
            raise ValueError(f"people.groups is {self.groups:,}, but there are only {people:,} subjects")
        share = [(i + 1) ** -self.prevalence for i in range(self.groups)]
        # One each, then in proportion; what rounding leaves goes to the first.
        sizes = [1 + int((people - self.groups) * one / sum(share)) for one in share]
        sizes[0] += people - sum(sizes)
        return tuple(sizes)
