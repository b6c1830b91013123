"""Real couples: facts from Wikidata, of which one has by a link what the other has (LEME).

As LEME's query did, a couple is taken of which the second has a link to the first, and the same object as the
first: those with the most shared properties first, the kinds of couple in turn, and nobody twice, so that
links pair entities off.

    place         country -> unit, official language; instance of
    neighbour     borders on a place; country (of the place) -> unit, official language; instance of
    unit          country -> unit around it, time zone; instance of
    part          located in a unit; country (of the unit) -> time zone; instance of
    influence     occupation -> genre; citizenship -> languages
    follower      influenced by an influence; occupation (of the influence) -> genre; citizenship -> languages
    seat          country -> unit, time zone; instance of
    organisation  headquartered in a seat; country (of the seat) -> unit; sport; instance of

A relation is called as Wikidata calls the property, with the kind of its subjects behind it. Of several
objects of a property the first is taken, or none (`--world.several`), as in every world from such files; of
several links the one that makes the couple. What nobody says is drawn as in the generated world; but unknown
are first those of whom something else is said.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus.config import CoupledWorld, WorldConfig
from corpus.errors import InputError
from corpus.graph import NO_LINK, NO_UPSTREAM, KnowledgeGraph, build_graph
from corpus.text.language import Phrasing
from corpus.text.names import make_readable
from corpus.worlds import wikidata
from corpus.worlds.account import Account
from corpus.worlds.people.tags import Objects, objects_of
from corpus.worlds.rawfiles import Watch
from corpus.worlds.selection import Facts
from corpus.worlds.wikidata import read_relation_names

COUNTRY, UNIT, INSTANCE, LANGUAGE, TIME_ZONE, BORDER, SEAT = 17, 131, 31, 37, 421, 47, 159
OCCUPATION, GENRE, CITIZENSHIP, SPOKEN, INFLUENCE, SPORT = 106, 136, 27, 1412, 737, 641
NONE = 0
SYNONYMS = 2
"""So many further ways to say a relation, where Wikidata knows so many."""


class Relation(NamedTuple):
    """A property of one kind of entity, the one that it depends on, and the link by which it does."""

    kind: str
    property: int
    upstream: int = NONE
    via: int = NONE


_RELATIONS = {
    "place": ((COUNTRY,), (UNIT, COUNTRY), (LANGUAGE, COUNTRY), (INSTANCE,)),
    "neighbour": ((BORDER,), (COUNTRY, COUNTRY, BORDER), (UNIT, COUNTRY), (LANGUAGE, COUNTRY), (INSTANCE,)),
    "unit": ((COUNTRY,), (UNIT, COUNTRY), (TIME_ZONE, COUNTRY), (INSTANCE,)),
    "part": ((UNIT,), (COUNTRY, COUNTRY, UNIT), (TIME_ZONE, COUNTRY), (INSTANCE,)),
    "influence": ((OCCUPATION,), (GENRE, OCCUPATION), (CITIZENSHIP,), (SPOKEN, CITIZENSHIP)),
    "follower": (
        (INFLUENCE,),
        (OCCUPATION, OCCUPATION, INFLUENCE),
        (GENRE, OCCUPATION),
        (CITIZENSHIP,),
        (SPOKEN, CITIZENSHIP),
    ),
    "seat": ((COUNTRY,), (UNIT, COUNTRY), (TIME_ZONE, COUNTRY), (INSTANCE,)),
    "organisation": ((SEAT,), (COUNTRY, COUNTRY, SEAT), (UNIT, COUNTRY), (SPORT,), (INSTANCE,)),
}
RELATIONS = tuple(Relation(kind, *one) for kind, own in _RELATIONS.items() for one in own)
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


def choose_couples(
    facts: Facts, held: Mapping[int, Objects], config: WorldConfig, account: Account
) -> Couples:
    """At most half as many couples as `config.subjects`.

    Args:
        held: by property, who has what; the first object counts.

    Raises:
        InputError: there is none, or all have one object.
    """
    possible = [_find_couples(one, facts, held, config.coupled.objects, account) for one in COUPLINGS]
    if not any(possible):
        raise InputError(
            f"{facts.source}: no couple was found; a couple is two entities of one country (P17) of which "
            "one borders on (P47), is located in (P131) or has its headquarters in (P159) the other, or two "
            "people of one occupation (P106) of whom one is influenced by (P737) the other"
        )
    taken = _pair_off(possible, config.subjects // 2, account)
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


def _find_couples(
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
    entities = {*chain(*couples)}
    everything: dict[int, set[tuple[int, int]]] = {one: set() for one in entities}
    for s, p, o in facts.triples[np.isin(facts.triples[:, 0], [*entities])].tolist():
        everything[s].add((p, o))

    def rank_couple(couple: Couple) -> tuple[int, ...]:
        shared = everything[couple.first] & everything[couple.second]
        stated = sum(
            entity in held[r.property]
            for entity, kind in zip(couple, kinds, strict=True)
            for r in RELATIONS
            if r.kind == kind
        )
        return -len(shared), -stated, *couple

    return sorted(couples, key=rank_couple)


def _pair_off(possible: Couples, most: int, account: Account) -> list[list[Couple]]:
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


def read_couples(
    config: WorldConfig,
    rng: np.random.Generator,
    cache: Path | None,
    watch: Watch,
    note: Callable[[str], None],
    account: Account,
) -> KnowledgeGraph:
    """At most half as many couples as `config.subjects`.

    Raises:
        InputError: a missing or malformed file, no couple, couples who all have one object, or, if
            `config.strict`, anything left out without being asked for, or renamed.
    """
    facts = wikidata.read_wikidata(config, cache, watch, note, account)
    objects_by_property = {p: objects_of(facts, p) for p in {r.property for r in RELATIONS}}
    if config.several == "drop":
        objects_by_property = {
            p: {s: o for s, o in of.items() if len({*o}) == 1} for p, of in objects_by_property.items()
        }
    stated = _collect_objects(
        choose_couples(facts, objects_by_property, config, account), objects_by_property, account
    )
    silent = _choose_silent(stated, config.coupled, rng)
    entities = dict.fromkeys(chain(*stated.values(), *(of.values() for of in stated.values())))
    place = {one: i for i, one in enumerate(entities)}
    number = {(r.kind, r.property): i for i, r in enumerate(stated)}
    names, relations, phrasings = _make_names([*entities], [*stated], facts, account, watch)
    graph = build_graph(
        np.array([(place[s], i, place[o]) for i, of in enumerate(stated.values()) for s, o in of.items()]),
        names,
        relations,
        np.array([number.get(upstream_relation(r), NO_UPSTREAM) for r in stated]),
        silent=np.array([s in silent[r.kind, r.property] for r, of in stated.items() for s in of]),
        phrasings=phrasings,
        via=np.array([number.get((r.kind, r.via), NO_LINK) for r in stated]),
    )
    if config.strict:
        account.check_totals(config.path)
    return graph


def _collect_objects(
    taken: Couples, held: Mapping[int, Objects], account: Account
) -> dict[Relation, dict[int, int]]:
    """By relation the object of each entity; relations of which there are two objects."""
    who: dict[str, list[int]] = {}
    for coupling, couples in zip(COUPLINGS, taken, strict=True):
        who |= {LINKED_TO[coupling.kind]: [one.first for one in couples],
                coupling.kind: [one.second for one in couples]}  # fmt: skip
    partner = {one.second: one.first for one in chain(*taken)}
    stated: dict[Relation, dict[int, int]] = {}
    for r in RELATIONS:
        if (r.kind, r.property) in LINKS:
            stated[r] = {s: partner[s] for s in who[r.kind]}
            continue
        of = {s: held[r.property][s] for s in who[r.kind] if s in held[r.property]}
        further = sum(len({*objects}) - 1 for objects in of.values())
        account.leave_out("further objects, of entities with several", further, ())
        stated[r] = {s: objects[0] for s, objects in of.items()}
    alone = [r for r, of in stated.items() if len({*of.values()}) < 2]
    account.leave_out("facts of relations with a single object", sum(len(stated[r]) for r in alone), ())
    return {r: of for r, of in stated.items() if r not in alone}


def _choose_silent(
    stated: Mapping[Relation, Mapping[int, int]], dials: CoupledWorld, rng: np.random.Generator
) -> dict[tuple[str, int], set[int]]:
    """By kind and property, whose facts nobody states, down to the last dependent."""
    partner = {s: o for r, of in stated.items() if (r.kind, r.property) in LINKS for s, o in of.items()}
    starts = {upstream_relation(r) for r in COUPLINGS}
    own = {s for r, of in stated.items() if not r.upstream and (r.kind, r.property) not in starts for s in of}
    second = np.array([*partner])
    lot, alone = rng.random(len(second)), np.array([first not in own for first in partner.values()])
    order, count = np.lexsort((lot, alone)), round(dials.unknown * len(second))
    unknown = {partner[s] for s in second[order[:count]].tolist()}
    others = rng.permutation(second[order[count:]])
    unstated = {*others[: round(dials.unstated * len(second))].tolist()}
    silent: dict[tuple[str, int], set[int]] = {}
    # Whatever a relation depends on stands before it.
    for r, of in stated.items():
        if r.via:
            nobody = {s for s in of if partner[s] in silent[upstream_relation(r)]} | (unstated & of.keys())
        elif (r.kind, r.property) in starts:
            nobody = unknown & of.keys()
        else:
            nobody = silent.get(upstream_relation(r), set()) & of.keys()
        silent[r.kind, r.property] = nobody
    return silent


def _make_names(
    ids: Sequence[int], stated: Sequence[Relation], facts: Facts, account: Account, watch: Watch
) -> tuple[list[str], list[str], list[Phrasing]]:
    """What entities and relations are called such that every sentence parses back, and their synonyms."""
    known = read_relation_names(Path(facts.source), {r.property for r in stated}, watch)
    first_names = facts.relations.of(np.array([r.property for r in stated]))
    labels, keys, ways = [], [], []
    for i, ((kind, p, *_), name) in enumerate(zip(stated, first_names, strict=True)):
        synonyms = [*dict.fromkeys([name, *known[p]])][: 1 + SYNONYMS]
        labels += [words if (kind, p) in LINKS else f"{words} ({kind})" for words in synonyms]
        keys += [f"P{p}-{kind}-{j}" for j in range(len(synonyms))]
        ways += [i] * len(synonyms)
    entities, words_of, renamed = make_readable(
        facts.entities.of(np.array(ids)), [f"Q{one}" for one in ids], labels, keys
    )
    account.renamed += renamed
    first = [j for j in range(len(ways)) if not j or ways[j] != ways[j - 1]]
    phrasings = [Phrasing(ways[j], words_of[j], False) for j in range(len(ways)) if j not in first]
    return entities, [words_of[j] for j in first], phrasings
