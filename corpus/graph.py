"""KnowledgeGraph: the one in-memory form of a world, whatever file it came from (design.md 2)."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from corpus.arrays import read_arrays
from corpus.errors import InputError
from corpus.files import read_json
from corpus.text.language import Phrasing
from corpus.text.names import check_readable

NO_LINK = -1
NO_UPSTREAM = -1
NAMED = ("entities", "relations", "groups", "properties")


def check_links(
    triples: np.ndarray,
    entities: Sequence[str],
    relations: Sequence[str],
    upstream: np.ndarray,
    via: np.ndarray,
) -> None:
    """Refuse links that do not lead to one other subject, or by which two subjects meet.

    A park is near a tower, and lies in the city where the tower is: "lies in" depends on "located in" of
    another subject, which "near" names. Links are part of what the agent is given, as dependences are, so
    they are true, and no edit is about one. A subject may have several links, and others may depend on what
    depends on a link; but a link leads to one subject, and of one relation only one fact may depend on it
    there: two parks near one tower would be two draws of a row that nobody knows, which a pass over a tree
    cannot join.

    Args:
        triples: int[facts, 3], subject, relation and object.

    Raises:
        InputError: a link that depends on a relation itself, or leads to nobody, to oneself, to several
            subjects, or to where another one leads already.
    """
    subjects = np.unique(triples[:, 0])
    for link in np.unique(via[via != NO_LINK]).tolist():
        name = relations[link]
        if upstream[link] >= 0 or via[link] != NO_LINK:
            raise InputError(
                f"the link {name!r} depends on another relation; links are given, so remove that dependence"
            )
        facts = triples[triples[:, 1] == link]
        for s, _, o in facts[facts[:, 0] == facts[:, 2]].tolist():
            raise InputError(
                f"{entities[s]!r} {name} itself ({entities[o]!r}); a link leads to another subject"
            )
        for s, _, o in facts[~np.isin(facts[:, 2], subjects)].tolist():
            raise InputError(
                f"{entities[s]!r} {name} {entities[o]!r}, about which the world has no fact; remove the link"
            )
        once, times = np.unique(facts[:, 0], return_counts=True)
        for s in once[times > 1].tolist():
            raise InputError(f"{entities[s]!r} has several objects of the link {name!r}; keep one of them")
        below = np.flatnonzero((via == link) & (upstream >= 0)).tolist()
        for r in below:
            followed = facts[np.isin(facts[:, 0], triples[triples[:, 1] == r, 0])]
            for o in _find_repeated(followed[:, 2]):
                first, second = (entities[s] for s in followed[followed[:, 2] == o, 0][:2].tolist())
                raise InputError(
                    f"{first!r} and {second!r} both have {relations[r]!r} from {entities[o]!r} by the link "
                    f"{name!r}; beliefs are exact only where one subject has, so keep one of the links"
                )


def _find_repeated(values: np.ndarray) -> list[int]:
    distinct, times = np.unique(values, return_counts=True)
    return distinct[times > 1].tolist()


@dataclass(frozen=True, eq=False)
class KnowledgeGraph:
    """Facts (subject, relation, object), at most one object per (subject, relation).

    Attributes:
        entities: rendered name of each entity; unique.
        relations: rendered name of each relation; unique.
        subject, relation, object: int32[facts], sorted by (subject, relation).
        upstream: int32[relations], the relation that each relation depends on, or NO_UPSTREAM.
        via: int32[relations], the link by which a relation depends on another subject's: the subject's object
            under this relation is whose fact it depends on. NO_LINK where it depends on the subject's own.
        group: int32[entities], the kind or category of an entity, an index into `groups` or -1 (0 where the
            world has none).
        candidates, candidate_offsets: the objects that relation r may have are
            candidates[candidate_offsets[r] : candidate_offsets[r + 1]], ascending.
        frequency: int32[entities], how often each subject is spoken of beside the others, which is no
            evidence (1 where the world does not say).
        silent: bool[facts], facts nobody speaks of; in a taxonomy their objects mean nothing.
        groups: what each group is called; empty where groups have no names.
        wider: int32[groups], the group of which each is part, or -1; empty where none is part of another.
        valence: int8[entities], whether an object is thought ill of (-1), well (1), or neither.
        rows: float64, the distributions that the facts were drawn from (`corpus.rows`); empty where there
            were none, or nobody knows them.
        properties: what each relation is called in its source, where several share a name there; else empty.
        phrasings: other ways to say the relations.
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]
    subject: np.ndarray
    relation: np.ndarray
    object: np.ndarray
    upstream: np.ndarray
    via: np.ndarray
    group: np.ndarray
    candidates: np.ndarray
    candidate_offsets: np.ndarray
    frequency: np.ndarray
    silent: np.ndarray
    wider: np.ndarray
    valence: np.ndarray
    rows: np.ndarray
    groups: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    phrasings: tuple[Phrasing, ...] = ()

    def __len__(self) -> int:
        return len(self.subject)

    @cached_property
    def subjects(self) -> np.ndarray:
        """Entities that are the subject of at least one fact, ascending."""
        return np.unique(self.subject)

    @cached_property
    def objects(self) -> np.ndarray:
        """The K objects of the world, all relations pooled, ascending (design.md 3)."""
        return np.unique(self.candidates)

    def candidates_of(self, relation: int) -> np.ndarray:
        """int32: the objects that a relation may have, ascending."""
        return self.candidates[self.candidate_offsets[relation] : self.candidate_offsets[relation + 1]]

    @cached_property
    def among_objects(self) -> list[np.ndarray]:
        """By relation, where its candidates stand among all `objects`."""
        relations = range(len(self.relations))
        return [np.searchsorted(self.objects, self.candidates_of(r)) for r in relations]

    def place_of(self, objects: np.ndarray) -> np.ndarray:
        """int64[facts]: where the given object of each fact stands in `candidates`."""
        width = len(self.entities)
        of = np.repeat(np.arange(len(self.relations)), np.diff(self.candidate_offsets))
        return np.searchsorted(of * width + self.candidates, self.relation.astype(np.int64) * width + objects)

    def with_names(self, groups: Sequence[str], properties: Sequence[str]) -> "KnowledgeGraph":
        """The same graph with names of its groups, and of its relations in their source."""
        return replace(self, groups=tuple(groups), properties=tuple(properties))

    @cached_property
    def keys(self) -> np.ndarray:
        """int64[facts]: subject * relations + relation, ascending, so that facts can be bisected."""
        return self.subject.astype(np.int64) * len(self.relations) + self.relation

    def facts_of(self, subject: int) -> range:
        """Indices of the facts of a subject."""
        # Bisected among keys, which are of the type that is looked for: else all would be converted first.
        ends = np.array([subject, subject + 1], np.int64) * len(self.relations)
        return range(*np.searchsorted(self.keys, ends).tolist())

    def find(self, subject: np.ndarray | int, relation: np.ndarray | int) -> np.ndarray:
        """Index of the fact of each (subject, relation), or -1 where there is none; any shape."""
        key = np.asarray(subject, np.int64) * len(self.relations) + relation
        at = np.minimum(np.searchsorted(self.keys, key), len(self) - 1)
        return np.where(self.keys[at] == key, at, -1)

    def downstream(self, relation: int) -> list[int]:
        """The relations that depend on this one."""
        return [int(r) for r in np.flatnonzero(self.upstream == relation)]

    def root_of(self, relation: int) -> int:
        """The relation that this one depends on in the end: itself, where it depends on none."""
        while self.upstream[relation] != NO_UPSTREAM:
            relation = int(self.upstream[relation])
        return relation

    @cached_property
    def upstream_relations(self) -> list[int]:
        """The relations that others depend on, ascending."""
        return np.unique(self.upstream[self.upstream != NO_UPSTREAM]).tolist()

    @cached_property
    def links(self) -> np.ndarray:
        """The relations that say on whose facts others depend, ascending; their facts are never in doubt."""
        return np.unique(self.via[self.via != NO_LINK])

    @cached_property
    def is_link(self) -> np.ndarray:
        """bool[facts]: whether a fact is a link."""
        return np.isin(self.relation, self.links)

    @property
    def outlines(self) -> bool:
        """Whether its language says of what a document will speak, as essays about linked subjects do."""
        return len(self.links) > 0

    @cached_property
    def upstream_fact(self) -> np.ndarray:
        """int64[facts]: the fact of the upstream relation, the subject's own or a linked one's, or -1."""
        up, via = self.upstream[self.relation], self.via[self.relation]
        link = self.find(self.subject, via)
        whose = np.where(via == NO_LINK, self.subject, np.where(link < 0, -1, self.object[link]))
        return np.where((up == NO_UPSTREAM) | (whose < 0), -1, self.find(whose, up))

    @cached_property
    def dependents(self) -> dict[int, list[int]]:
        """The facts that depend on each fact on which any depend."""
        dependents: dict[int, list[int]] = {}
        for fact in np.flatnonzero(self.upstream_fact >= 0).tolist():
            dependents.setdefault(int(self.upstream_fact[fact]), []).append(fact)
        return dependents


def build_graph(
    triples: np.ndarray,
    entity_names: Sequence[str],
    relation_names: Sequence[str],
    upstream: np.ndarray,
    group: np.ndarray | None = None,
    candidates: Sequence[np.ndarray] | None = None,
    frequency: np.ndarray | None = None,
    silent: np.ndarray | None = None,
    phrasings: Sequence[Phrasing] = (),
    via: np.ndarray | None = None,
    fewest_objects: int = 3,
) -> KnowledgeGraph:
    """A graph from int triples [facts, 3], keeping the first object of each (subject, relation).

    Entities that are in no kept fact and no candidates are dropped, the rest renumbered in their order.

    Args:
        candidates: objects that each relation may have; by default those it has.
        frequency: int[entities], how often each subject is spoken of; by default once.
        silent: bool[facts], facts nobody speaks of; by default none.
        phrasings: other ways to say the relations.
        via: links, see `KnowledgeGraph`; by default there are none.
        fewest_objects: that the noise of its sentences takes.

    Raises:
        InputError: no facts, a repeated relation name, a relation that depends on itself through
            any chain, links that are none (see `corpus.graph`), or names that would make a sentence
            ambiguous.
    """
    if len(triples) == 0:
        raise InputError("the graph is empty: no fact is left; check the source and its filters")
    repeated = [name for name, n in Counter(relation_names).items() if n > 1]
    if repeated:
        raise InputError(f"name clash: more than one relation is called {repeated[0]!r}")
    for r in range(len(relation_names)):
        seen, at = set(), r
        while at != NO_UPSTREAM:
            if at in seen:
                raise InputError(f"relation {relation_names[r]!r} depends on itself; check the pairs")
            seen.add(at)
            at = int(upstream[at])

    via = np.full(len(relation_names), NO_LINK) if via is None else via
    triples = np.asarray(triples, np.int64)
    check_links(triples, entity_names, relation_names, np.asarray(upstream), via)
    keys = triples[:, 0] * len(relation_names) + triples[:, 1]
    first = np.unique(keys, return_index=True)[1]
    s, r, o = triples[first].T
    if candidates is None:
        candidates = [np.unique(o[r == relation]) for relation in range(len(relation_names))]
    pool = np.concatenate(candidates)
    used = np.unique(np.concatenate([s, o, pool]))
    graph = KnowledgeGraph(
        entities=tuple(entity_names[i] for i in used),
        relations=tuple(relation_names),
        subject=np.searchsorted(used, s).astype(np.int32),
        relation=r.astype(np.int32),
        object=np.searchsorted(used, o).astype(np.int32),
        upstream=np.asarray(upstream, np.int32),
        via=np.asarray(via, np.int32),
        group=np.zeros(len(used), np.int32) if group is None else group[used].astype(np.int32),
        candidates=np.searchsorted(used, pool).astype(np.int32),
        candidate_offsets=np.cumsum([0, *map(len, candidates)]),
        frequency=np.ones(len(used), np.int32) if frequency is None else frequency[used].astype(np.int32),
        silent=np.zeros(len(first), bool) if silent is None else silent[first],
        wider=np.empty(0, np.int32),
        valence=np.zeros(len(used), np.int8),
        rows=np.empty(0),
        phrasings=tuple(phrasings),
    )
    if len(graph.objects) < fewest_objects:
        raise InputError(
            f"the graph names only {len(graph.objects)} distinct objects; noise needs at least "
            f"{fewest_objects}"
        )
    if len(graph.subjects) < 2:
        raise InputError(
            "the graph has only one subject; edits are judged by other subjects as well, so add one"
        )
    check_readable(graph.entities, [*graph.relations, *(way.words for way in phrasings)])
    return graph


def save_graph(graph: KnowledgeGraph, folder: Path) -> None:
    """Write `graph.npz` (integers) and `names.json` (text) into an existing folder."""
    columns = {f.name: getattr(graph, f.name) for f in fields(graph)}
    names = {name: columns.pop(name) for name in (*NAMED, "phrasings")}
    np.savez(folder / "graph.npz", **columns)
    (folder / "names.json").write_text(json.dumps(names, ensure_ascii=False), encoding="utf-8")


def load_graph(folder: Path) -> KnowledgeGraph:
    """Read what `save_graph` wrote.

    Raises:
        InputError: another version of this project wrote it.
    """
    names, arrays = read_json(folder / "names.json"), read_arrays(folder / "graph.npz")
    known = {f.name for f in fields(KnowledgeGraph)}
    lists = all(isinstance(one, list) for one in names.values())
    if names.keys() | arrays.keys() != known or names.keys() != {*NAMED, "phrasings"} or not lists:
        raise InputError(f"{folder} was written by an older version; choose another --run")
    parts: dict[str, Any] = arrays | {name: tuple(map(str, names[name])) for name in NAMED}
    return KnowledgeGraph(**parts, phrasings=tuple(Phrasing(*way) for way in names["phrasings"]))
