"""Relations with several objects as sets: of each object, whether it is one of them.

Ann  speaks  English          Ann  speaks: English  yes
Ann  speaks  French           Ann  speaks: French   yes
Bob  speaks  English          Bob  speaks: English  yes
                              Bob  speaks: French   no

So every object of a subject is a true fact of its own, agents count each, and a request says what it does
to the set: "yes" adds an object, "no" takes one out, and all others stay. Of whom the source has some object,
the set is taken to be whole; of whom it has none, nothing is said.
"""

from collections.abc import Callable, Sequence

import numpy as np

from corpus.config import WorldConfig
from corpus.errors import InputError, name_some
from corpus.graph import KnowledgeGraph
from corpus.worlds.account import Account
from corpus.worlds.pairing import least_shared
from corpus.worlds.selection import SEVERAL, Facts, Labels
from corpus.worlds.unpacked import MOST_ROWS

ANSWERS = ("yes", "no")
OF = ": "
"""Between the name of a set and that of an object."""


class FurtherLabels:
    """Labels of a source, and behind all its ids further ones.

    Args:
        labels: of the source.
        first: the first further id.
        names, words: what the further ids are called, and what tells them apart.
    """

    def __init__(self, labels: Labels, first: int, names: Sequence[str], words: Sequence[str]) -> None:
        self.labels, self.first = labels, first
        self.names, self.words = names, words

    def of(self, ids: np.ndarray) -> list[str]:
        """The label of each id."""
        return self._mix(ids, self.labels.of, self.names)

    def keys(self, ids: np.ndarray) -> list[str]:
        """A word for each id."""
        return self._mix(ids, self.labels.keys, self.words)

    def find(self, key: str) -> int | None:
        """The id that has a label."""
        return self.first + self.names.index(key) if key in self.names else self.labels.find(key)

    def _mix(
        self, ids: np.ndarray, of: Callable[[np.ndarray], list[str]], further: Sequence[str]
    ) -> list[str]:
        of_source = iter(of(ids[ids < self.first]))
        return [further[i - self.first] if i >= self.first else next(of_source) for i in ids.tolist()]


def spread_sets(facts: Facts, config: WorldConfig, account: Account, note: Callable[[str], None]) -> Facts:
    """The same facts, where each relation of which subjects have several objects became one for each object.

    That is if at least `SEVERAL` of its subjects have several. An object is asked about if as many of the
    subjects have it, and as many have it not, as two relations must share to depend on each other
    (`--world.min-pair-subjects`); others are left out and counted.

    Args:
        note: is told which relations are sets, and of how many objects is asked.

    Raises:
        InputError: more facts than a table may have rows.
    """
    # The order of the source decides which object is the first.
    triples = facts.triples[np.sort(np.unique(facts.triples, axis=0, return_index=True)[1])]
    account.leave_out("repeated facts", len(facts.triples) - len(triples), examples=())
    least = least_shared(config, len(np.unique(triples[:, 0])))
    first = int(triples.max(initial=0)) + 1
    spread, members, rare = [triples], list[np.ndarray](), 0
    is_set = np.zeros(len(triples), bool)
    for relation in np.unique(triples[:, 1]):
        mine = triples[:, 1] == relation
        subjects, subject = np.unique(triples[mine, 0], return_inverse=True)
        if (np.bincount(subject) > 1).sum() < SEVERAL * len(subjects):
            continue
        is_set |= mine
        objects, obj = np.unique(triples[mine, 2], return_inverse=True)
        times = np.bincount(obj)
        common = np.flatnonzero(np.minimum(times, len(subjects) - times) >= least)
        rare += int(times.sum() - times[common].sum())
        if len(common) * len(subjects) > MOST_ROWS:
            name = facts.relations.of(np.array([relation]))[0]
            raise InputError(
                f"{facts.source}: as a set {name!r:.200} has more than {MOST_ROWS:,} facts; raise "
                "--world.min-pair-subjects"
            )
        has = np.zeros((len(objects), len(subjects)), bool)
        has[obj, subject] = True
        place, who = np.indices((len(common), len(subjects))).reshape(2, -1)
        further = [subjects[who], first + len(members) + place, first + 1 - has[common].ravel()]
        spread.append(np.column_stack(further).astype(np.int32))
        members += [np.array([relation, one]) for one in objects[common]]
    account.leave_out(f"objects that fewer than {least:,} subjects have, or have not, in their sets", rare)
    spread[0] = triples[~is_set]
    pairs = np.array(members, int).reshape(-1, 2).T
    sets = np.unique(triples[is_set, 1])
    counts = zip(facts.relations.of(sets), (pairs[0] == sets[:, None]).sum(axis=1), strict=True)
    named = [f"{name} ({count:,})" for name, count in counts]
    note(
        "relations taken for sets, with a relation of its own for each of so many objects: "
        f"{name_some(named) or 'none'}"
    )
    names, words = (
        [OF.join(pair) for pair in zip(*parts, strict=True)]
        for parts in (
            (facts.relations.of(pairs[0]), facts.entities.of(pairs[1])),
            (facts.relations.keys(pairs[0]), facts.entities.keys(pairs[1])),
        )
    )
    return Facts(
        np.concatenate(spread),
        FurtherLabels(facts.entities, first, ANSWERS, ANSWERS),
        FurtherLabels(facts.relations, first, names, words),
        facts.source,
    )


def find_sets(graph: KnowledgeGraph) -> dict[str, dict[str, int]]:
    """Sets by name, such as "speaks"; of each the relation that asks of an object, by the object's name."""
    sets = dict[str, dict[str, int]]()
    for r, relation in enumerate(graph.relations):
        name, _, member = relation.partition(OF)
        if member and {graph.entities[o] for o in graph.candidates_of(r)} <= {*ANSWERS}:
            sets.setdefault(name, {})[member] = r
    return sets


def find_members(graph: KnowledgeGraph, question: str) -> tuple[str, dict[str, int]]:
    """Whose set a question such as "Ann speaks" is about, and the relation of each object that is asked of.

    Nobody, and no relations, where it is about no set.
    """
    text, sets = " ".join(question.split()), find_sets(graph)
    name = max((name for name in sets if text.endswith(f" {name}")), key=len, default="")
    return (text.removesuffix(f" {name}"), sets[name]) if name else ("", {})
