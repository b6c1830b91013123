"""One subject's facts as a tree, against the rows of everybody else: exact passes, and states to enumerate.

    up     message[a] = sum_k p(k | row a) h(k),   h(k) = likelihood(k) * messages of what depends on it
    down   p(k) = h(k) * sum_a p(a) / message[a] * p(k | row a)

Rows are p(k | row) = (mass / K + N[row, k]) / (mass + N[row]). Under persistence "sentence" they hold
statements, and what was said of a subject is Dirichlet-multinomial given its row.
"""

import itertools
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from bayes.known import NO_ROW, Draw, KnownEvidence, dense_row


class Changes(NamedTuple):
    """Draws added to rows of one relation, or taken out: rows, places, and how many."""

    row: np.ndarray
    place: np.ndarray
    by: np.ndarray

    @classmethod
    def of(cls, changes: Sequence[tuple[int, int, float]]) -> "Changes":
        """As arrays."""
        row, place, by = zip(*changes, strict=True) if changes else ((), (), ())
        return cls(np.array(row, int), np.array(place, int), np.array(by, float))


NONE = Changes.of([])


def log_sum(log_p: np.ndarray) -> float:
    """Log of the sum of exp(log_p); as `scipy.special.logsumexp` has it, at a tenth of the time."""
    most = log_p.max()
    return float(most + np.log(np.exp(log_p - most).sum()))


def normalise_rows(log_p: np.ndarray) -> np.ndarray:
    """Log-probabilities that sum to 1."""
    # In two steps, since what is far below 0 loses its digits in the sum of both.
    log_p = log_p - log_p.max()
    return log_p - np.log(np.exp(log_p).sum())


class Tree:
    """One subject's tree of facts against rows of everybody else.

    Args:
        draws: changes to the resolved rows: the tree's own draws are to be among them, with -1.
    """

    def __init__(self, known: KnownEvidence, facts: list[int], draws: list[tuple[Draw, float]]) -> None:
        self.known, self.facts = known, facts
        self.graph = known.graph
        listed: dict[tuple[int, bool], list[tuple[int, int, float]]] = {}
        for draw, by in draws:
            listed.setdefault((draw.relation, draw.row == NO_ROW), []).append((draw.row, draw.place, by))
        self._changes = {where: Changes.of(changes) for where, changes in listed.items()}

    def compute_marginals(self, asked: Iterable[int] | None = None) -> tuple[float, dict[int, np.ndarray]]:
        """Log-probability of all that was said of the tree, and log p(k) of the candidates of facts.

        Args:
            asked: some of the tree's facts; what they depend on is answered too. All of them by default.
        """
        log_z, log_inside, _, messages = self._pass_up
        result_facts = set(
            self.facts if asked is None else itertools.chain(*map(self.known.upstream_facts, asked))
        )
        log_belief: dict[int, np.ndarray] = {}
        for fact in filter(result_facts.__contains__, self.facts):
            up = int(self.graph.upstream_fact[fact])
            if not self.known.has_truth(fact):
                log_belief[fact] = np.log(self._next_statement(fact, np.exp(log_belief[up])))
                continue
            if up < 0:
                outside = self._root_distribution(fact)
            else:
                sums = self.known.row_mass + self.row_totals(fact)
                outside = self.spread_shares(fact, np.exp(log_belief[up]) / messages[fact] / sums)
            log_belief[fact] = normalise_rows(log_inside[fact] + np.log(outside))
        return log_z, log_belief

    @property
    def log_weight(self) -> float:
        """Log-probability of all that was said of the tree."""
        return self._pass_up[0]

    def bound_weight(self) -> float:
        """Log of the most that what was said of the tree can weigh, whatever is in its rows.

        Statements that are draws of a row have a probability, which is at most 1.
        """
        return float(sum(self._log_likelihood(f).max() for f in self.facts if self.known.has_truth(f)))

    def likely_places(self, least: float) -> dict[int, np.ndarray]:
        """Places of the facts to be enumerated that leave the tree a log-weight of at least `least`."""
        log_z, log_belief = self._all_marginals
        return {f: np.flatnonzero(log_z + log_belief[f] >= least) for f in self._enumerated_facts()}

    def likely_state(self) -> tuple[float, list[tuple[Draw, float]]]:
        """Log-weight and draws of one state, each of its places being the likeliest by itself."""
        _, log_belief = self._all_marginals
        modes = {f: np.array([log_belief[f].argmax()]) for f in self._enumerated_facts()}
        return next(self.weigh_states(modes), (-math.inf, []))

    @cached_property
    def _all_marginals(self) -> tuple[float, dict[int, np.ndarray]]:
        return self.compute_marginals()

    def last_facts(self) -> frozenset[int]:
        """Enumerated facts on which nothing depends of which anything was said."""
        below = self.graph.dependents
        return frozenset(
            f for f in self._enumerated_facts() if not any(map(self.known.is_spoken_of, below.get(f, [])))
        )

    def weigh_states(
        self, options: Mapping[int, np.ndarray], summed: Container[int] = ()
    ) -> Iterator[tuple[float, list[tuple[Draw, float]]]]:
        """Log-probability of every possible state of the enumerated facts, with the draws it makes.

        Args:
            options: places of each of them.
            summed: those of `last_facts` whose places are no states: each state sums over them, and draws of
                each place the share that is its probability.
        """
        counted = [f for f in self.facts if self.known.is_spoken_of(f)]
        row_of, said_of, likely = (
            cache(self._row_distribution),
            cache(self._log_said),
            cache(self._log_likelihood),
        )
        told_apart = {fact: places.tolist() for fact, places in options.items() if fact not in summed}
        for places in itertools.product(*told_apart.values()):
            state = dict(zip(told_apart, places, strict=True))
            log_p = 0.0
            draws: list[tuple[Draw, float]] = []
            for fact in counted:
                up = int(self.graph.upstream_fact[fact])
                row = NO_ROW if up < 0 else state[up]
                relation = int(self.graph.relation[fact])
                if fact in options and fact not in state:
                    some = options[fact]
                    log_each = np.log(row_of(fact, row)[some]) + likely(fact)[some]
                    log_all = log_sum(log_each) if len(some) else -math.inf
                    log_p += log_all
                    if log_all > -math.inf:
                        shares = np.exp(log_each - log_all)
                        cells = (Draw(relation, row, place) for place in some.tolist())
                        draws += zip(cells, shares.tolist(), strict=True)
                elif fact in state:
                    log_p += math.log(row_of(fact, row)[state[fact]]) + likely(fact)[state[fact]]
                    draws.append((Draw(relation, row, state[fact]), 1.0))
                else:
                    log_p += float(said_of(fact)[row])
                    evidence = self.known.evidence_about(fact).items()
                    draws += [(Draw(relation, row, place), count) for place, count in evidence]
            if log_p > -math.inf:
                yield log_p, draws

    def _enumerated_facts(self) -> list[int]:
        """Facts whose places make up a state: those with truths of which anything was said, or below them."""
        return [f for f in self.facts if self.known.is_spoken_of(f) and self.known.has_truth(f)]

    def inside_and_messages(self, fact: int) -> tuple[np.ndarray, np.ndarray]:
        """What was said of a fact and below: h(k) of each candidate, scaled; its message to each row."""
        _, _, inside, messages = self._pass_up
        return inside[fact], messages[fact]

    @cached_property
    def _pass_up(self) -> tuple[float, dict[int, np.ndarray], dict[int, np.ndarray], dict[int, np.ndarray]]:
        """Log-probability of the tree; log h(k), h(k) scaled to 1 at most, and the message of each fact."""
        log_z = 0.0
        inside: dict[int, np.ndarray] = {}
        messages: dict[int, np.ndarray] = {}
        log_inside = {f: self._log_likelihood(f) for f in self.facts if self.known.has_truth(f)}
        for fact in reversed(self.facts):
            if self.known.has_truth(fact):
                most = log_inside[fact].max()
                inside[fact] = np.exp(log_inside[fact] - most)
                log_z += most
            up = int(self.graph.upstream_fact[fact])
            if up < 0:
                log_z += math.log(self._root_distribution(fact) @ inside[fact])
                continue
            if self.known.has_truth(fact):
                messages[fact] = self._pass_message(fact, inside[fact])
                log_inside[up] = log_inside[up] + np.log(messages[fact])
            else:
                # In logs: many statements may say of a row what no float holds.
                log_inside[up] = log_inside[up] + self._log_said(fact)
        return log_z, log_inside, inside, messages

    def _log_likelihood(self, fact: int) -> np.ndarray:
        log_p = np.zeros(self.known.count_candidates(fact))
        for place, ratio in self.known.evidence_about(fact).items():
            if ratio == math.inf:
                settled = np.full(len(log_p), -math.inf)
                settled[place] = 0.0
                return settled
            log_p[place] = ratio
        return log_p

    def _root_distribution(self, root: int) -> np.ndarray:
        """p(k) of a fact that depends on none."""
        size, mass = self.known.count_candidates(root), self.known.root_mass
        relation = int(self.graph.relation[root])
        counts = self.known.roots.get(relation, np.zeros(size)).copy()
        changes = self._changes.get((relation, True), NONE)
        np.add.at(counts, changes.place, changes.by)
        return (mass / size + counts) / (mass + counts.sum())

    def _row_changes(self, relation: int) -> Changes:
        """Changes to the rows of a relation's facts with an upstream fact."""
        return self._changes.get((relation, False), NONE)

    def row_totals(self, fact: int) -> np.ndarray:
        """Draws in each row that a downstream fact may belong to."""
        relation = int(self.graph.relation[fact])
        totals = self.known.rows[relation].totals.copy()
        changes = self._row_changes(relation)
        np.add.at(totals, changes.row, changes.by)
        return totals

    def _pass_message(self, fact: int, inside: np.ndarray) -> np.ndarray:
        """sum_k p(k | row a) inside[k] for every row a."""
        relation, mass = int(self.graph.relation[fact]), self.known.row_mass
        summed = self.known.rows[relation].by_row @ inside
        changes = self._row_changes(relation)
        np.add.at(summed, changes.row, changes.by * inside[changes.place])
        return (mass * inside.mean() + summed) / (mass + self.row_totals(fact))

    def spread_shares(self, fact: int, share: np.ndarray) -> np.ndarray:
        """sum_a share[a] (mass / K + draws of k in row a) for every k, of each column of `share`."""
        relation, mass = int(self.graph.relation[fact]), self.known.row_mass
        mixed = mass / self.known.count_candidates(fact) * share.sum(axis=0)
        mixed = mixed + self.known.rows[relation].by_place @ share
        changes = self._row_changes(relation)
        by = changes.by.reshape(-1, *[1] * (share.ndim - 1))
        np.add.at(mixed, changes.place, by * share[changes.row])
        return mixed

    def _row_distribution(self, fact: int, row: int) -> np.ndarray:
        """p(k | row)."""
        if row == NO_ROW:
            return self._root_distribution(fact)
        relation, mass = int(self.graph.relation[fact]), self.known.row_mass
        counts = dense_row(self.known.rows[relation].by_row, row)
        changes = self._row_changes(relation)
        np.add.at(counts, changes.place, changes.by * (changes.row == row))
        return (mass / len(counts) + counts) / (mass + counts.sum())

    def _log_said(self, fact: int) -> np.ndarray:
        """Log-probability of what was stated, Dirichlet-multinomial, under every row."""
        mass, alpha = self.known.row_mass, self.known.row_mass / self.known.count_candidates(fact)
        evidence, totals = self.known.evidence_about(fact), self.row_totals(fact)
        log_p = gammaln(mass + totals) - gammaln(mass + totals + sum(evidence.values()))
        for place, count in evidence.items():
            relation = int(self.graph.relation[fact])
            column = dense_row(self.known.rows[relation].by_place, place)
            changes = self._row_changes(relation)
            np.add.at(column, changes.row, changes.by * (changes.place == place))
            log_p += gammaln(alpha + column + count) - gammaln(alpha + column)
        return log_p

    def _next_statement(self, fact: int, above: np.ndarray) -> np.ndarray:
        """p(k) of a further statement, its row distributed as `above`."""
        evidence = self.known.evidence_about(fact)
        share = above / (self.known.row_mass + self.row_totals(fact) + sum(evidence.values()))
        p = self.spread_shares(fact, share)
        for place, count in evidence.items():
            p[place] += count * share.sum()
        return p
