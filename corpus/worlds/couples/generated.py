"""Worlds of coupled pairs, generated: what one entity has decides what another has, by a link (LEME).

    tower    located in -> country; style
    park     near a tower; lies in (where the tower is) -> state; planting
    writer   writes in -> published by; genre
    book     written by a writer; language (in which the writer writes) -> shelf; subject matter
    person   citizen of -> speaks; profession
    spouse   married to a person; lives in (of which the person is a citizen) -> votes for; hobby

Style and planting share their objects, as do genre and subject matter: what is alike is not yet coupled.
Every relation has two synonyms. In a share `unknown` of the pairs nobody says where the coupling starts from,
nor anything that depends on it, so that an edit of it is an injection; in a share `unstated` nobody says what
the coupled entity has by the coupling, so that it must follow an edit. Both are silent down to the last
dependent: a silent fact with stated ones below is outside what the exact agent proves.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from corpus.config import CoupledWorld
from corpus.graph import NO_LINK, NO_UPSTREAM, KnowledgeGraph, build_graph
from corpus.text.language import Phrasing
from corpus.worlds.builtin import FreshNames


class Relation(NamedTuple):
    """A relation of one kind of subject, what it depends on by which link, and where its objects are from.

    A link has the kind of subject to which it leads in place of a pool of objects.
    """

    kind: str
    name: str
    synonyms: tuple[str, str]
    pool: str
    upstream: str = ""
    via: str = ""


RELATIONS = (
    Relation("tower", "located in", ("stands in", "rises over"), "city"),
    Relation("tower", "country", ("belongs to", "flies the flag of"), "country", "located in"),
    Relation("tower", "style", ("built in the manner", "shows the manner"), "manner"),
    Relation("park", "near", ("close to", "seen from"), "tower"),
    Relation("park", "lies in", ("laid out in", "open to all of"), "city", "located in", "near"),
    Relation("park", "state", ("governed from", "pays taxes to"), "state", "lies in"),
    Relation("park", "planting", ("planted in the manner", "follows the manner"), "manner"),
    Relation("writer", "writes in", ("works in", "thinks in"), "language"),
    Relation("writer", "published by", ("under contract with", "printed by"), "press", "writes in"),
    Relation("writer", "genre", ("known for", "famed for"), "matter"),
    Relation("book", "written by", ("a work of", "comes from the pen of"), "writer"),
    Relation("book", "language", ("composed in", "to be read in"), "language", "writes in", "written by"),
    Relation("book", "shelf", ("kept on", "found on"), "shelf", "language"),
    Relation("book", "subject matter", ("deals with", "treats of"), "matter"),
    Relation("person", "citizen of", ("holds the passport of", "a national of"), "nation"),
    Relation("person", "speaks", ("fluent in", "dreams in"), "tongue", "citizen of"),
    Relation("person", "profession", ("employed as", "earns a living as"), "job"),
    Relation("spouse", "married to", ("the partner of", "shares a home with"), "person"),
    Relation("spouse", "lives in", ("resident of", "settled in"), "nation", "citizen of", "married to"),
    Relation("spouse", "votes for", ("supports", "canvasses for"), "party", "lives in"),
    Relation("spouse", "hobby", ("spends weekends on", "fond of"), "pastime"),
)
KINDS = ("tower", "park", "writer", "book", "person", "spouse")
"""Each first of two is the one to which the second one's link leads."""


def build_coupled_world(subjects: int, dials: CoupledWorld, rng: np.random.Generator) -> KnowledgeGraph:
    """A world of subjects // 6 pairs of each of the three couples, paired off one to one."""
    pairs, fresh = subjects // len(KINDS), FreshNames(rng)
    names = {kind: fresh.take(pairs, pattern) for kind, pattern in _subject_patterns(fresh).items()}
    names |= {pool: fresh.take(dials.objects, pattern) for pool, pattern in _object_patterns(fresh).items()}
    entities = [name for part in names.values() for name in part]
    first = dict(zip(names, np.cumsum([0, *map(len, names.values())]).tolist(), strict=False))
    members = {part: first[part] + np.arange(len(names[part])) for part in names}
    number = {relation.name: r for r, relation in enumerate(RELATIONS)}

    # Per relation, the object of each of the kind's subjects; and whether anybody says so.
    drawn: list[np.ndarray] = []
    silent: list[np.ndarray] = []
    fate = {KINDS[i]: rng.random(pairs) for i in range(0, len(KINDS), 2)}
    partner = {KINDS[i + 1]: rng.permutation(pairs) for i in range(0, len(KINDS), 2)}
    for relation in RELATIONS:
        pool, size = members[relation.pool], dials.objects
        if relation.pool in KINDS:
            drawn.append(pool[partner[relation.kind]])
            silent.append(np.zeros(pairs, bool))
            continue
        place = rng.integers(0, size, pairs)
        nobody_says = np.zeros(pairs, bool)
        if relation.upstream:
            above = number[relation.upstream]
            whose = partner[relation.kind] if relation.via else np.arange(pairs)
            upper = drawn[above][whose] - members[RELATIONS[above].pool][0]
            nobody_says = silent[above][whose].copy()
            if relation.via:
                lot = fate[RELATIONS[above].kind][whose]
                nobody_says |= (lot >= dials.unknown) & (lot < dials.unknown + dials.unstated)
                other = (upper + rng.integers(1, size, pairs)) % size
                place = np.where(rng.random(pairs) < dials.strength, upper, other)
            else:
                favourite = rng.integers(0, size, size)
                place = np.where(rng.random(pairs) < dials.dependence, favourite[upper], place)
        elif relation.name in {r.upstream for r in RELATIONS if r.via}:
            nobody_says = fate[relation.kind] < dials.unknown
        drawn.append(pool[place])
        silent.append(nobody_says)

    triples = np.concatenate(
        [
            np.column_stack([members[relation.kind], np.full(pairs, r), drawn[r]])
            for r, relation in enumerate(RELATIONS)
        ]
    )
    return build_graph(
        triples,
        entities,
        [relation.name for relation in RELATIONS],
        np.array([number.get(relation.upstream, NO_UPSTREAM) for relation in RELATIONS]),
        candidates=[members[relation.pool] for relation in RELATIONS],
        silent=np.concatenate(silent),
        phrasings=[Phrasing(r, words, False) for r, one in enumerate(RELATIONS) for words in one.synonyms],
        via=np.array([number.get(relation.via, NO_LINK) for relation in RELATIONS]),
    )


def _subject_patterns(fresh: FreshNames) -> dict[str, Callable[[], str]]:
    return {
        "tower": lambda: f"{fresh.word(2)} Tower",
        "park": lambda: f"{fresh.word(2)} Park",
        "writer": lambda: f"{fresh.word(1)} {fresh.word(2)}",
        "book": lambda: f"The {fresh.word(3)}",
        "person": lambda: f"{fresh.word(2)} {fresh.word(1)}",
        "spouse": lambda: f"{fresh.word(2)} {fresh.word(2)}",
    }


def _object_patterns(fresh: FreshNames) -> dict[str, Callable[[], str]]:
    return {
        "city": lambda: fresh.word(2),
        "country": lambda: f"{fresh.word(1)}land",
        "manner": lambda: f"{fresh.word(1)} manner",
        "state": lambda: f"{fresh.word(2)} State",
        "language": lambda: f"{fresh.word(1)}ish",
        "press": lambda: f"{fresh.word(2)} Press",
        "matter": lambda: f"{fresh.word(1)} tales",
        "shelf": lambda: f"bay {fresh.word(1)}",
        "nation": lambda: f"{fresh.word(1)}ia",
        "tongue": lambda: f"{fresh.word(1)}ese",
        "job": lambda: f"{fresh.word(1).lower()} smith",
        "party": lambda: f"{fresh.word(1)} Party",
        "pastime": lambda: f"{fresh.word(1).lower()} ball",
    }
