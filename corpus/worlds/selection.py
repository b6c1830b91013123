"""Which facts of a source become the world, whatever files it came from (Hase A.1, design.md 2).

What does not fit is left out and counted; real facts only, nothing here invents data.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from corpus.arrays import rank_values
from corpus.config import WorldConfig
from corpus.errors import NAMED, InputError
from corpus.graph import NO_UPSTREAM, KnowledgeGraph, build_graph
from corpus.text.names import find_lookalikes, make_readable
from corpus.worlds import pairing
from corpus.worlds.account import Account

MOST_COMPARED = 2000
"""So many relations, the most common ones, are counted against each other."""
MOST_NAMES = 200_000
"""Subjects among whom names that look alike are looked for."""
UNPAIRED = ("dependences", "min_pair_subjects", "relation_count")
"""Options that say how pairs are found."""
SEVERAL = 0.05
"""Relations of which so many of the subjects have several objects are named."""
SECONDS = (
    "relations with several objects of a subject (share of subjects); the first in the file is taken for the "
    "truth, so that an edit to another one counts as false (--world.several drop leaves these facts out, and "
    "set asks of each object whether it is one of them)"
)


class Labels(Protocol):
    """What the ids of a source are called."""

    def of(self, ids: np.ndarray) -> list[str]:
        """The label of each id."""
        ...

    def keys(self, ids: np.ndarray) -> list[str]:
        """A word for each id that tells it from all others."""
        ...

    def find(self, key: str) -> int | None:
        """The id that an option such as --world.pairs means, if there is one."""
        ...


class Facts(NamedTuple):
    """What a source says.

    Attributes:
        triples: int32[n, 3], ids of subject, relation and object, in the order of the source.
        entities, relations: their labels.
        source: its name in messages.
    """

    triples: np.ndarray
    entities: Labels
    relations: Labels
    source: str


def select_facts(
    facts: Facts,
    config: WorldConfig,
    rng: np.random.Generator,
    account: Account,
    note: Callable[[str], None],
    two_objects: bool = False,
) -> KnowledgeGraph:
    """A graph of at most `config.subjects` subjects that have enough of the chosen relations.

    Args:
        account: is told what was left out and renamed.
        note: is told where the world has no dependences.
        two_objects: leave out relations that have a single object.

    Raises:
        InputError: an unknown relation, nothing left after the filters, or, if `config.strict`, anything
            that was left out without being asked for.
    """
    for option in UNPAIRED if config.pairs else ():
        if getattr(config, option) != getattr(WorldConfig, option):
            name = f"--world.{option.replace('_', '-')}"
            raise InputError(f"{name} does nothing where --world.pairs are given: leave one of them out")
    dropped = _find_dropped("drop_relations", facts.relations, config, facts.source)
    triples = _drop_unwanted(facts, dropped, config, account)

    def find(relation: str) -> int | None:
        found = facts.relations.find(relation)
        return None if found in dropped else found

    # Relations as indices into those that occur or are asked for.
    pair_ids = pairing.read_pairs(config.pairs, find, facts.source)
    further = [pairing.find_relation(relation.strip(), find, facts.source) for relation in config.relations]
    relations_of_settings = np.array([r for pair in pair_ids for r in pair] + further, np.int32)
    relation_ids = np.union1d(triples[:, 1], relations_of_settings)
    triples[:, 1] = np.searchsorted(relation_ids, triples[:, 1])
    pairs = [(int(up), int(down)) for up, down in np.searchsorted(relation_ids, pair_ids).reshape(-1, 2)]
    extra = np.searchsorted(relation_ids, np.array(further, np.int32))

    cells = triples[:, 0].astype(np.int64) * len(relation_ids) + triples[:, 1]
    triples = _take_rows(triples, np.argsort(cells, kind="stable"))
    chosen, pairs = _choose_relations(triples, relation_ids, config, pairs, facts, note)
    chosen = np.union1d(chosen, extra).astype(np.int64)
    selection = _keep_relations(triples, chosen, len(relation_ids), account)
    selection = _keep_one_object(selection, relation_ids, config, facts, account)
    selection = _keep_subjects(selection, config.min_relations, facts, account)
    selection = _sample_subjects(selection, config.subjects, rng, account)
    if two_objects:
        selection = _keep_two_objects(selection, len(relation_ids), config.min_relations, facts, account)
    if not len(selection):
        least = {2: "two", 3: "three"}.get(config.min_relations, str(config.min_relations))
        names = ", ".join(facts.relations.of(relation_ids[chosen[:NAMED]]))
        more = ", ..." if len(chosen) > NAMED else ""
        hint = "; if these are none, --world.columns says which columns are what" * (config.source == "tsv")
        left_out = ", ".join(f"{what} {count:,}" for what, count in account.left_out.items())
        raise InputError(
            f"{facts.source}: no subject has {least} of the relations {names}{more} (left out: "
            f"{left_out or 'nothing'}); --world.min-relations says how many a subject should have{hint}"
        )
    if config.every_relation or two_objects:
        chosen = chosen[np.isin(chosen, selection[:, 1])]
        pairs = [pair for pair in pairs if {*pair} <= {*chosen.tolist()}]
    graph = _build_selected_graph(selection, chosen, pairs, relation_ids, facts, config, account)
    if not config.pairs:
        graph = replace(graph, upstream=pairing.find_dependences(graph, config))
    if (graph.upstream == NO_UPSTREAM).all():
        shared = pairing.least_shared(config, len(graph.subjects))
        note(
            "this world has NO DEPENDENCES, so no edit has a consequence to judge: of relations that share "
            f"{shared:,} subjects (--world.min-pair-subjects) none tells about another more than chance would"
        )
    return graph


def _find_dropped(option: str, labels: Labels, config: WorldConfig, source: str) -> list[int]:
    """The ids that such an option names; those of its default may be missing.

    Raises:
        InputError: the source has no such id.
    """
    found = {key: labels.find(key) for key in getattr(config, option)}
    unknown = [key for key, i in found.items() if i is None and key not in getattr(WorldConfig, option)]
    if unknown:
        name = f"--world.{option.replace('_', '-')}"
        raise InputError(f"{name}: {source} has no {unknown[0]!r:.200}; leave it out")
    return [i for i in found.values() if i is not None]


def _drop_unwanted(facts: Facts, dropped: list[int], config: WorldConfig, account: Account) -> np.ndarray:
    """A copy of the triples, column by column, without relations and entities that are to be dropped."""
    gone = _find_dropped("drop_entities", facts.entities, config, facts.source)
    out = np.isin(facts.triples[:, 1], dropped)
    account.leave_out("facts of dropped relations", out.sum())
    about = ~out & (np.isin(facts.triples[:, 0], gone) | np.isin(facts.triples[:, 2], gone))
    account.leave_out("facts of dropped entities", about.sum())
    triples = _take_rows(facts.triples, ~(out | about) if dropped or gone else slice(None))
    if not len(triples):
        parts = "; ".join(f"{count:,} {what}" for what, count in account.left_out.items())
        raise InputError(f"{facts.source}: the graph is empty; left out were {parts or 'no facts'}")
    return triples


def _choose_relations(
    triples: np.ndarray,
    relation_ids: np.ndarray,
    config: WorldConfig,
    pairs: list[tuple[int, int]],
    facts: Facts,
    note: Callable[[str], None],
) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """The relations to keep, and which depends on which; triples sorted by subject and relation."""
    relations = len(relation_ids)
    everything = np.arange(relations)
    if pairs:
        return (everything if config.every_relation else np.unique(pairs)), pairs
    published = config.dependences == "published"
    if config.every_relation and not published:
        return everything, []
    count = np.bincount(triples[:, 1], minlength=relations)
    common = np.sort(np.argsort(-count, kind="stable")[:MOST_COMPARED])
    among = _take_rows(triples, _find_starts(triples) & np.isin(triples[:, 1], common))
    among[:, 1] = np.searchsorted(common, among[:, 1])
    together = pairing.count_cooccurrence(among, len(common))
    least = pairing.least_shared(config, len(_list_subjects(among)))
    chosen = pairing.choose_relations(together, pairing.count_wanted(config), least)
    if published:
        counts = together[np.ix_(chosen, chosen)]
        matched, others = pairing.pair_as_published(counts), pairing.match_published(counts)
        names = facts.relations.of(relation_ids[common[chosen]])
        for way, found in (("a linear program", matched), ("a matching of the same counts", others)):
            note(f"{way} pairs " + "; ".join(f"{names[i]} with {names[j]}" for i, j in found))
        undirected = [(int(common[chosen[i]]), int(common[chosen[j]])) for i, j in matched]
        order = np.argsort(triples[:, 1], kind="stable")
        ends = np.cumsum(count)
        of = {r: order[ends[r] - count[r] : ends[r]] for pair in undirected for r in pair}
        pairs = [pairing.direct_as_published((a, b), triples[np.append(of[a], of[b])]) for a, b in undirected]
    return (everything if config.every_relation else common[chosen]), pairs


def _keep_relations(triples: np.ndarray, chosen: np.ndarray, relations: int, account: Account) -> np.ndarray:
    is_chosen = np.zeros(relations, bool)
    is_chosen[chosen] = True
    inside = is_chosen[triples[:, 1]]
    account.leave_out("facts of relations that were not chosen", len(triples) - inside.sum())
    return triples if inside.all() else _take_rows(triples, inside)


def _keep_one_object(
    triples: np.ndarray, relation_ids: np.ndarray, config: WorldConfig, facts: Facts, account: Account
) -> np.ndarray:
    """The first object of each subject and relation; triples sorted by them."""
    new = _find_starts(triples)
    cell = np.cumsum(new, dtype=np.int32) - 1
    first = _take_rows(triples, new)
    other = triples[:, 2] != first[cell, 2]
    account.leave_out("repeated facts", len(triples) - new.sum() - other.sum(), examples=())
    if config.several == "drop":
        several = np.zeros(len(first), bool)
        several[cell[other]] = True
        account.leave_out("facts of subjects with several objects", several[cell].sum())
        return _take_rows(first, ~several)
    seconds = np.flatnonzero(other)
    subjects = np.bincount(first[:, 1], minlength=len(relation_ids))
    with_several = np.bincount(first[np.unique(cell[other]), 1], minlength=len(relation_ids))
    share = with_several / np.maximum(subjects, 1)
    most = [r for r in np.argsort(-share, kind="stable").tolist() if share[r] >= SEVERAL]
    labels = facts.relations.of(relation_ids[most])
    if most:
        account.named[SECONDS] = [f"{name} ({share[r]:.0%})" for name, r in zip(labels, most, strict=True)]
    examples = (_describe_second(facts, triples[i], first[cell[i]]) for i in seconds)
    account.leave_out("second objects", len(seconds), examples)
    return first


def _keep_subjects(triples: np.ndarray, least: int, facts: Facts, account: Account) -> np.ndarray:
    """Triples, one of each subject and relation, of subjects that have at least so many relations."""
    row = rank_values(triples[:, 0])
    count = np.bincount(row)
    subjects = _list_subjects(triples)
    few = subjects[count < least]
    what = "subjects with one relation" if least == 2 else f"subjects with fewer than {least} relations"
    account.leave_out(what, len(few), (repr(facts.entities.of(few[i : i + 1])[0]) for i in range(len(few))))
    if len(few) and len(subjects) <= MOST_NAMES:
        names = facts.entities.of(subjects)
        alike = {name for group in find_lookalikes(names) for name in group}
        if twins := [name for name, n in zip(names, count, strict=True) if n < least and name in alike]:
            account.named[f"{what}, whose names look like another subject's"] = twins
    return _take_rows(triples, (count >= least)[row])


def _sample_subjects(
    triples: np.ndarray, most: int, rng: np.random.Generator, account: Account
) -> np.ndarray:
    """Triples of at most so many subjects, drawn at random; triples sorted by them."""
    subjects = _list_subjects(triples)
    if len(subjects) <= most:
        return triples
    account.leave_out("subjects beyond --world.subjects", len(subjects) - most)
    return _take_rows(triples, np.isin(triples[:, 0], rng.choice(subjects, most, replace=False)))


def _keep_two_objects(
    triples: np.ndarray, relations: int, least: int, facts: Facts, account: Account
) -> np.ndarray:
    """Triples of relations that have at least two objects, and of subjects that have enough of these."""
    while True:
        objects = np.unique(triples[:, 1:], axis=0)[:, 0]
        lone = np.bincount(objects, minlength=relations) == 1
        out = lone[triples[:, 1]]
        if not out.any():
            return triples
        account.leave_out("facts of relations with a single object", out.sum())
        triples = _keep_subjects(triples[~out], least, facts, account)


def _build_selected_graph(
    selection: np.ndarray,
    chosen: np.ndarray,
    pairs: list[tuple[int, int]],
    relation_ids: np.ndarray,
    facts: Facts,
    config: WorldConfig,
    account: Account,
) -> KnowledgeGraph:
    """The graph of these facts; only the entities that are left need readable names."""
    used = np.unique(selection[:, [0, 2]])
    entities, relations, renamed = make_readable(
        facts.entities.of(used),
        facts.entities.keys(used),
        facts.relations.of(relation_ids[chosen]),
        facts.relations.keys(relation_ids[chosen]),
    )
    account.renamed += renamed
    if config.strict:
        account.check_totals(facts.source)
    columns = [np.searchsorted(ids, selection[:, i]) for i, ids in enumerate((used, chosen, used))]
    local = [(int(np.searchsorted(chosen, u)), int(np.searchsorted(chosen, d))) for u, d in pairs]
    upstream = pairing.upstream_of(local, len(chosen))
    fewest = 2 if config.several == "set" else 3
    return build_graph(np.column_stack(columns), entities, relations, upstream, fewest_objects=fewest)


def _take_rows(triples: np.ndarray, which: np.ndarray | slice) -> np.ndarray:
    """A copy of some triples whose columns are contiguous, which is what everything here reads."""
    return np.array([column[which] for column in triples.T]).T


def _list_subjects(triples: np.ndarray) -> np.ndarray:
    """The different subjects of triples sorted by them."""
    subject = triples[:, 0]
    return subject[np.append(True, subject[1:] != subject[:-1])[: len(subject)]]


def _find_starts(triples: np.ndarray) -> np.ndarray:
    """bool[n]: where a new subject or relation begins; triples sorted by them."""
    new = np.ones(len(triples), bool)
    new[1:] = (triples[1:, 0] != triples[:-1, 0]) | (triples[1:, 1] != triples[:-1, 1])
    return new


def _describe_second(facts: Facts, second: np.ndarray, first: np.ndarray) -> str:
    """What a second object is second to, for a message."""
    subject, new, old = facts.entities.of(np.array([second[0], second[2], first[2]]))
    return f"{new!r:.80} of {subject!r:.80}, who has {old!r:.80}"
