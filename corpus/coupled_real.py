"""Real couples: facts from Wikidata, of which one has by a link what the other has; see `corpus.coupled`.

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

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from corpus import wikidata
from corpus.account import Account
from corpus.config import WorldConfig
from corpus.couples import (
    COUPLINGS,
    LINKED_TO,
    LINKS,
    RELATIONS,
    Couples,
    Relation,
    couples_of,
    upstream_relation,
)
from corpus.dials import CoupledWorld
from corpus.graph import NO_UPSTREAM, KnowledgeGraph, build_graph
from corpus.language import Phrasing
from corpus.links import NO_LINK
from corpus.names import readable
from corpus.people_categories import Objects, objects_of
from corpus.rawfiles import Watch
from corpus.selection import Facts
from corpus.wikidata_files import relation_names

SYNONYMS = 2
"""So many further ways to say a relation, where Wikidata knows so many."""


def read_coupled_people(
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
    held = {p: objects_of(facts, p) for p in {r.property for r in RELATIONS}}
    if config.several == "drop":
        held = {p: {s: o for s, o in of.items() if len({*o}) == 1} for p, of in held.items()}
    graph = _graph(couples_of(facts, held, config, account), held, facts, config, rng, account, watch)
    if config.strict:
        account.check_totals(config.path)
    return graph


def _graph(
    taken: Couples,
    held: Mapping[int, Objects],
    facts: Facts,
    config: WorldConfig,
    rng: np.random.Generator,
    account: Account,
    watch: Watch,
) -> KnowledgeGraph:
    stated = _stated(taken, held, account)
    silent = _silent(stated, config.coupled, rng)
    entities = dict.fromkeys(chain(*stated.values(), *(of.values() for of in stated.values())))
    place = {one: i for i, one in enumerate(entities)}
    number = {(r.kind, r.property): i for i, r in enumerate(stated)}
    names, relations, phrasings = _names([*entities], [*stated], facts, account, watch)
    return build_graph(
        np.array([(place[s], i, place[o]) for i, of in enumerate(stated.values()) for s, o in of.items()]),
        names,
        relations,
        np.array([number.get(upstream_relation(r), NO_UPSTREAM) for r in stated]),
        silent=np.array([s in silent[r.kind, r.property] for r, of in stated.items() for s in of]),
        phrasings=phrasings,
        via=np.array([number.get((r.kind, r.via), NO_LINK) for r in stated]),
    )


def _stated(taken: Couples, held: Mapping[int, Objects], account: Account) -> dict[Relation, dict[int, int]]:
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


def _silent(
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


def _names(
    ids: Sequence[int], stated: Sequence[Relation], facts: Facts, account: Account, watch: Watch
) -> tuple[list[str], list[str], list[Phrasing]]:
    """What entities and relations are called such that every sentence parses back, and their synonyms."""
    known = relation_names(Path(facts.source), {r.property for r in stated}, watch)
    first_names = facts.relations.of(np.array([r.property for r in stated]))
    labels, keys, ways = [], [], []
    for i, ((kind, p, *_), name) in enumerate(zip(stated, first_names, strict=True)):
        said = [*dict.fromkeys([name, *known[p]])][: 1 + SYNONYMS]
        labels += [words if (kind, p) in LINKS else f"{words} ({kind})" for words in said]
        keys += [f"P{p}-{kind}-{j}" for j in range(len(said))]
        ways += [i] * len(said)
    entities, spoken, renamed = readable(
        facts.entities.of(np.array(ids)), [f"Q{one}" for one in ids], labels, keys
    )
    account.renamed += renamed
    first = [j for j in range(len(ways)) if not j or ways[j] != ways[j - 1]]
    phrasings = [Phrasing(ways[j], spoken[j], False) for j in range(len(ways)) if j not in first]
    return entities, [spoken[j] for j in first], phrasings
