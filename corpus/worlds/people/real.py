"""Real people, from Wikidata or Seesaw-CF's released requests; `corpus.worlds.people` says what there is.

Of Wikidata's is kept who has a citizenship, and an ethnic group and an occupation, or a birthplace and a
gender. Fields of work and native languages are known of few, so that occupations and languages spoken stand
in for them. Of the requests' people everybody is kept (`corpus.worlds.people.released`). A person has the
race and the region on which the tags of all their ethnic groups agree, perhaps none.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.graph import NO_UPSTREAM, KnowledgeGraph, build_graph
from corpus.text.language import Phrasing
from corpus.text.names import make_readable
from corpus.worlds import wikidata
from corpus.worlds.account import Account
from corpus.worlds.people import (
    BORN,
    CITIZENSHIP,
    FIELDS,
    GENDER,
    HIDDEN,
    LANGUAGE,
    NONE,
    RACE,
    REGION,
    RELATIONS,
    SYNONYMS,
    WORK,
    draw_frequency,
    draw_hidden,
    upstream_of,
)
from corpus.worlds.people.released import EDITED_PROPERTIES, ETHNIC_GROUP, read_released
from corpus.worlds.people.tags import Category, Objects, Tags, categories_of, labels_of, objects_of, read_tags
from corpus.worlds.rawfiles import Watch
from corpus.worlds.selection import Facts

ETHNICITY = "ethnic group"
PROPERTIES = {GENDER: 21, CITIZENSHIP: 27, LANGUAGE: 1412, WORK: 106, BORN: 19}
GENDERS = (6581072, 6581097)
"""Women and men; the paper's tables know no others."""

Note = Callable[[str], None]
Person = dict[str, int | str]
"""Of each relation the object: an id, or a tag."""


def rank_people(
    people: Sequence[int], known: Mapping[int, Mapping[str, int | str]], edited: Collection[int]
) -> list[int]:
    """Those whom requests are about, then in turn one of all who have the same.

    So in any part of them every new object is had by somebody, and by women and men alike.

    Args:
        people: in any order.
        known: what each has.
    """
    so_far = Counter[tuple[int | str, ...]]()
    turns = []
    for s in people:
        has = tuple(known[s].values())
        so_far[has] += 1
        turns.append(0 if s in edited else so_far[has])
    return [s for _, s in sorted(zip(turns, people, strict=True), key=lambda one: one[0])]


def read_people_world(
    config: WorldConfig,
    rng: np.random.Generator,
    cache: Path | None,
    watch: Watch,
    note: Note,
    account: Account,
) -> KnowledgeGraph:
    """At most `config.subjects` people: those first of whom most is known, or whom requests are about.

    Raises:
        InputError: a missing or malformed file, nobody left, or, if `config.strict`, anything left out
            without being asked for.
    """
    tags = read_tags(Path(config.people.tags or config.path))
    if config.people.tags:
        properties, edited = PROPERTIES, frozenset[int]()
        facts = wikidata.read_wikidata(config, cache, watch, note, account)
    else:
        properties = EDITED_PROPERTIES
        facts, edited = read_released(Path(config.path))
    held = {r: objects_of(facts, p) for r, p in (properties | {ETHNICITY: ETHNIC_GROUP}).items()}
    if config.several == "drop":
        held = {r: {s: o for s, o in of.items() if len(o) == 1} for r, of in held.items()}
    everybody = _collect_people(facts, held, tags, account, has_all=not config.people.tags)
    if not everybody:
        raise InputError(
            f"{config.path}: nobody has a citizenship, and an ethnic group and an occupation, or a "
            "birthplace and a gender; these are P27, P172 and P106, P19 and P21"
        )
    lot = rng.permutation(len(everybody))
    by_lot = [s for _, s in sorted(zip(lot.tolist(), everybody, strict=True))]
    if edited:
        order = rank_people(by_lot, everybody, edited)
    else:
        order = sorted(by_lot, key=lambda s: -len(everybody[s]))
    people = {s: everybody[s] for s in sorted(order[: config.subjects])}
    account.leave_out("people beyond --world.subjects", len(everybody) - len(people))
    having = {
        r: Counter(int(one[r]) for one in people.values() if r in one) for r in (CITIZENSHIP, WORK, BORN)
    }
    categories = categories_of(having, facts, tags, account)
    graph = _build_people_graph(people, facts, config, rng, account, categories)
    if config.strict:
        account.check_totals(config.path)
    return graph


def _collect_people(
    facts: Facts, held: Mapping[str, Objects], tags: Tags, account: Account, has_all: bool
) -> dict[int, Person]:
    """What is known of everybody who is kept.

    Args:
        held: by relation, and by ETHNICITY, who has what.
        has_all: keep whoever has anything, not only citizens of whom enough is known.
    """
    people: dict[int, Person] = {}
    unknown: Counter[int] = Counter()
    lost: Counter[str] = Counter()
    citizens = held[CITIZENSHIP]
    countries = {country for of_one in citizens.values() for country in of_one}
    for s in sorted({*chain(*held.values())} if has_all else citizens):
        objects = {r: held[r][s] for r in PROPERTIES if s in held[r]}
        groups = held[ETHNICITY].get(s, [])
        if not has_all and not (groups and WORK in objects) and not (BORN in objects and GENDER in objects):
            lost["citizens of whom too little is known"] += 1
            continue
        if not {*objects.get(GENDER, [])} <= {*GENDERS}:
            del objects[GENDER]
            lost["genders that are neither of the paper's two"] += 1
        if objects.get(BORN, [NONE])[0] in countries:
            del objects[BORN]
            lost["birthplaces that are countries of citizenship"] += 1
        person: Person = {r: of_one[0] for r, of_one in objects.items()}
        lost["further objects, of people with several"] += sum(map(len, objects.values())) - len(objects)
        for r, of in ((RACE, tags.race), (REGION, tags.region)):
            tagged = {of[g] for g in groups if of.get(g)}
            if len(tagged) == 1:
                person[r] = tagged.pop()
            lost["races and regions of people whose ethnic groups differ in them"] += len(tagged) > 1
        unknown.update(g for g in groups if g not in tags.race)
        people[s] = person
    for what, count in lost.items():
        account.leave_out(what, count, None if what.startswith("citizens") else ())
    called = labels_of(facts, [g for g, _ in unknown.most_common()])
    named = [f"{name} ({unknown[g]:,})" for g, name in called.items()]
    account.leave_out_named("ethnic groups of people that the tags do not know", named, unknown.total())
    return people


def _build_people_graph(
    people: Mapping[int, Person],
    facts: Facts,
    config: WorldConfig,
    rng: np.random.Generator,
    account: Account,
    categories: Mapping[int, Category],
) -> KnowledgeGraph:
    pools = [sorted({person[r] for person in people.values() if r in person}, key=str) for r in RELATIONS]
    place = {one: i for i, one in enumerate(dict.fromkeys([*people, *chain(*pools)]))}
    ways = [Phrasing(RELATIONS.index(r), words, False) for r in SYNONYMS for words in SYNONYMS[r]]
    entities = _make_names([*place], ways, facts, account)
    triples = [
        (place[s], i, place[person[r]])
        for s, person in people.items()
        for i, r in enumerate(RELATIONS)
        if r in person
    ]
    subjects, relations, _ = np.array(triples).T
    race = np.array([place.get(person.get(RACE, NONE), NONE) for person in people.values()])
    frequency = np.ones(len(place), int)
    frequency[: len(people)] = draw_frequency(race, config.people, rng)
    hidden = draw_hidden(len(people), config.people, rng)
    upstream = upstream_of(config.people)
    graph = build_graph(
        np.array(triples),
        entities,
        RELATIONS,
        np.array([RELATIONS.index(upstream[r]) if r in upstream else NO_UPSTREAM for r in RELATIONS]),
        candidates=[np.array(sorted(place[one] for one in pool), int) for pool in pools],
        frequency=frequency,
        silent=hidden[subjects] & np.isin(relations, [RELATIONS.index(r) for r in HIDDEN]),
        phrasings=ways,
    )
    return _with_categories(graph, [*place], categories)


def _make_names(
    ids: Sequence[int | str], ways: Sequence[Phrasing], facts: Facts, account: Account
) -> list[str]:
    """What entities are called such that every sentence parses back; tags are called what they are."""
    numbers = [one for one in ids if isinstance(one, int)]
    called = labels_of(facts, numbers)
    keys = dict(zip(numbers, facts.entities.keys(np.array(numbers, int)), strict=True))
    phrasings = [*RELATIONS, *(way.words for way in ways)]
    entities, readable_phrasings, renamed = make_readable(
        [called[one] if isinstance(one, int) else one for one in ids],
        [keys[one] if isinstance(one, int) else f"group-{i}" for i, one in enumerate(ids)],
        phrasings,
        [f"relation-{i}" for i in range(len(phrasings))],
    )
    if readable_phrasings != phrasings:
        changed = next(old for old, new in zip(phrasings, readable_phrasings, strict=True) if old != new)
        raise InputError(f"{facts.source}: with its names {changed!r} could not be read; leave some out")
    account.renamed += renamed
    return entities


def _with_categories(
    graph: KnowledgeGraph, ids: Sequence[int | str], categories: Mapping[int, Category]
) -> KnowledgeGraph:
    part_of = {one.name: one.wider for one in categories.values() if one.wider}
    called = [*dict.fromkeys([*sorted({*part_of.values()}), *FIELDS, *(c.name for c in categories.values())])]
    number = {name: i for i, name in enumerate(called)}
    group = [number[categories[i].name] if isinstance(i, int) and i in categories else NONE for i in ids]
    return replace(
        graph.with_names(called, ()),
        group=np.array(group, np.int32),
        wider=np.array([number.get(part_of.get(name, ""), NONE) for name in called], np.int32),
    )
