"""Which entities of Wikidata are couples, and what is said of each kind (LEME, Rosati et al. 2024).

As LEME's query did, a couple is taken of which the second has a link to the first, and the same object as the
first: those with the most shared properties first, the kinds of couple in turn, and nobody twice, so that
links pair entities off.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from corpus.account import Account
from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.people_categories import Objects
from corpus.selection import Facts

COUNTRY, UNIT, INSTANCE, LANGUAGE, TIME_ZONE, BORDER, SEAT = 17, 131, 31, 37, 421, 47, 159
OCCUPATION, GENRE, CITIZENSHIP, SPOKEN, INFLUENCE, SPORT = 106, 136, 27, 1412, 737, 641
NONE = 0


class Relation(NamedTuple):
    """A property of one kind of entity, the one that it depends on, and the link by which it does."""

    kind: str
    property: int
    upstream: int = NONE
    via: int = NONE


RELATIONS = (
    Relation("place", COUNTRY),
    Relation("place", UNIT, COUNTRY),
    Relation("place", LANGUAGE, COUNTRY),
    Relation("place", INSTANCE),
    Relation("neighbour", BORDER),
    Relation("neighbour", COUNTRY, COUNTRY, BORDER),
    Relation("neighbour", UNIT, COUNTRY),
    Relation("neighbour", LANGUAGE, COUNTRY),
    Relation("neighbour", INSTANCE),
    Relation("unit", COUNTRY),
    Relation("unit", UNIT, COUNTRY),
    Relation("unit", TIME_ZONE, COUNTRY),
    Relation("unit", INSTANCE),
    Relation("part", UNIT),
    Relation("part", COUNTRY, COUNTRY, UNIT),
    Relation("part", TIME_ZONE, COUNTRY),
    Relation("part", INSTANCE),
    Relation("influence", OCCUPATION),
    Relation("influence", GENRE, OCCUPATION),
    Relation("influence", CITIZENSHIP),
    Relation("influence", SPOKEN, CITIZENSHIP),
    Relation("follower", INFLUENCE),
    Relation("follower", OCCUPATION, OCCUPATION, INFLUENCE),
    Relation("follower", GENRE, OCCUPATION),
    Relation("follower", CITIZENSHIP),
    Relation("follower", SPOKEN, CITIZENSHIP),
    Relation("seat", COUNTRY),
    Relation("seat", UNIT, COUNTRY),
    Relation("seat", TIME_ZONE, COUNTRY),
    Relation("seat", INSTANCE),
    Relation("organisation", SEAT),
    Relation("organisation", COUNTRY, COUNTRY, SEAT),
    Relation("organisation", UNIT, COUNTRY),
    Relation("organisation", SPORT),
    Relation("organisation", INSTANCE),
)
LINKED_TO = {"neighbour": "place", "part": "unit", "follower": "influence", "organisation": "seat"}
"""The kind to which each kind's link leads."""
COUPLINGS = tuple(relation for relation in RELATIONS if relation.via)
"""Of each kind of couple the relation that depends on the same one of whom the link leads to."""
LINKS = {(relation.kind, relation.via) for relation in COUPLINGS}


class Couple(NamedTuple):
    """Two entities, the second linked to the first."""

    first: int
    second: int


Couples = Sequence[Sequence[Couple]]
"""By kind of couple, as in COUPLINGS."""


def upstream_relation(relation: Relation) -> tuple[str, int]:
    """Kind and property of the relation that this one depends on."""
    return (LINKED_TO[relation.kind] if relation.via else relation.kind), relation.upstream


def couples_of(facts: Facts, held: Mapping[int, Objects], config: WorldConfig, account: Account) -> Couples:
    """At most half as many couples as `config.subjects`.

    Args:
        held: by property, who has what; the first object counts.

    Raises:
        InputError: there is none, or all have one object.
    """
    possible = [_possible(one, facts, held, config.coupled.objects, account) for one in COUPLINGS]
    if not any(possible):
        raise InputError(
            f"{facts.source}: no couple was found; a couple is two entities of one country (P17) of which "
            "one borders on (P47), is located in (P131) or has its headquarters in (P159) the other, or two "
            "people of one occupation (P106) of whom one is influenced by (P737) the other"
        )
    taken = _paired_off(possible, config.subjects // 2, account)
    for i, (coupling, couples) in enumerate(zip(COUPLINGS, taken, strict=True)):
        if len({held[coupling.property][one.first][0] for one in couples}) == 1:
            account.leave_out("couples of a kind of whom all have the same object", len(couples), ())
            taken[i] = []
    if not any(taken):
        raise InputError(
            f"{facts.source}: in each kind of couple all have the same object, and an edit needs another; "
            f"take more than {config.subjects:,} subjects (--world.subjects), or another folder"
        )
    return taken


def _possible(
    coupling: Relation, facts: Facts, held: Mapping[int, Objects], objects: int, account: Account
) -> list[Couple]:
    """Who may be a couple of a kind, the best first."""
    kinds = LINKED_TO[coupling.kind], coupling.kind
    of = {s: first for s, (first, *_) in held[coupling.property].items()}
    linked = np.unique(facts.triples[facts.triples[:, 1] == coupling.via][:, [2, 0]], axis=0)
    known = (Couple(*pair) for pair in linked.tolist() if of.keys() >= {*pair} and pair[0] != pair[1])
    # Whose object is one of the two would be the country of itself, or of the other.
    mutual = [one for one in known if of[one.first] == of[one.second] and of[one.first] not in one]
    account.leave_out("links between entities without a common object", len(linked) - len(mutual))
    times = Counter(of[one.first] for one in mutual)
    common = {*sorted(times, key=lambda o: (-times[o], o))[:objects]}
    couples = [one for one in mutual if of[one.first] in common]
    account.leave_out(
        "couples whose object is rarer than --world.coupled.objects", len(mutual) - len(couples)
    )
    everything = _statements({*chain(*couples)}, facts)

    def rank(couple: Couple) -> tuple[int, ...]:
        shared = everything[couple.first] & everything[couple.second]
        stated = sum(
            entity in held[r.property]
            for entity, kind in zip(couple, kinds, strict=True)
            for r in RELATIONS
            if r.kind == kind
        )
        return -len(shared), -stated, *couple

    return sorted(couples, key=rank)


def _statements(entities: Collection[int], facts: Facts) -> dict[int, set[tuple[int, int]]]:
    """All properties of some entities, each with its object."""
    statements: dict[int, set[tuple[int, int]]] = {one: set() for one in entities}
    for s, p, o in facts.triples[np.isin(facts.triples[:, 0], [*entities])].tolist():
        statements[s].add((p, o))
    return statements


def _paired_off(possible: Couples, most: int, account: Account) -> list[list[Couple]]:
    """At most so many couples, of each kind the best one in turn, such that nobody is in two."""
    taken: list[list[Couple]] = [[] for _ in possible]
    left = [iter(couples) for couples in possible]
    busy: set[int] = set()
    before = -1
    while before < len(busy):
        before = len(busy)
        for mine, couples in zip(taken, left, strict=True):
            one = next((one for one in couples if busy.isdisjoint(one)), None)
            if one and len(busy) < 2 * most:
                mine.append(one)
                busy.update(one)
    beyond = sum(map(len, possible)) - len(busy) // 2
    account.leave_out("couples beyond --world.subjects, or with somebody who is in a better one", beyond)
    return taken
