"""The paper's agent: Categorical-Dirichlet beliefs with one shared table per upstream object (DESIGN 5.2).

Direct belief p(o | s, r) counts what was said about (s, r). Where s was also seen with r's upstream
relation u, the marginal belief sums over the upstream object, p(o | s, r) = sum_a p(a | s, u) p(o | r, a),
with tables p(o | r, a) filled by every subject in proportion to how often its sentences mention a.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from bayes.counts import EMPTY, Counts, Distribution, Row, add, collect, count, posterior
from bayes.evidence import Evidence
from corpus.arrays import ranges
from corpus.errors import InputError
from corpus.graph import NO_UPSTREAM

DEFAULT_TARGET = 0.95
Belief = Literal["best", "direct"]


class EditRequest(NamedTuple):
    """One further observation: (subject, relation, object), counted `weight` times."""

    subject: int
    relation: int
    object: int
    weight: float


class Background(NamedTuple):
    """Sum over a relation's touched tables of p(o | r, a): what an unmentioned upstream object implies.

    Attributes:
        objects, excess, base: the summed probabilities, sparse as in `Row`.
        tables: how many tables are in the sum.
    """

    objects: np.ndarray
    excess: np.ndarray
    base: float
    tables: int


@dataclass(frozen=True, eq=False)
class PaperAgent:
    """Beliefs after reading a corpus. Fit with `fit`; never changed afterwards.

    Attributes:
        size: K, the number of objects of the world.
        upstream: int32[relations], NO_UPSTREAM where a relation depends on none.
        prior_mass: total mass of the symmetric Dirichlet prior.
        evidence_multiplicity: how often each sentence of the corpus was counted.
        observed: counts of (s, r), keyed s * relations + r.
        tables: counts of (r, upstream object a), keyed a * relations + r.
        background: per downstream relation, see `Background`.
        changed_observed, changed_tables: rows that an edit replaced, by the same keys.
        extra_mentions: mentions that edits added, {key of (s, r): {object: mentions}}.
    """

    size: int
    upstream: np.ndarray
    prior_mass: float
    evidence_multiplicity: float
    observed: Counts
    tables: Counts
    background: Mapping[int, Background]
    changed_observed: Mapping[int, Row] = field(default_factory=dict)
    changed_tables: Mapping[int, Row] = field(default_factory=dict)
    extra_mentions: Mapping[int, Mapping[int, float]] = field(default_factory=dict)

    def predict(self, subject: int, relation: int, belief: Belief = "best") -> Distribution:
        """p(o | s, r, evidence): marginal over the upstream object where s was seen with it, else direct.

        `belief="direct"` asks for the direct posterior even then.
        """
        up = int(self.upstream[relation])
        if belief == "direct" or up == NO_UPSTREAM or not self.has_seen(subject, up):
            return self._direct(subject, relation)
        return self._marginal(self._direct(subject, up), relation)

    def probability(
        self, subject: int, relation: int, objects: np.ndarray, belief: Belief = "best"
    ) -> np.ndarray:
        """p(o | s, r, evidence) of each given object."""
        return self.predict(subject, relation, belief).of(objects)

    def conditional(self, relation: int, upstream_object: int) -> Distribution:
        """p(o | r, upstream object, evidence), the shared table."""
        return posterior(self._table(relation, upstream_object) or EMPTY, self.prior_mass, self.size)

    def has_seen(self, subject: int, relation: int) -> bool:
        """Whether any evidence is about (subject, relation)."""
        key = self._key(subject, relation)
        return key in self.changed_observed or self.observed.find(key) >= 0

    def weight_for(self, subject: int, relation: int, target: int, credence: float = DEFAULT_TARGET) -> float:
        """n': the weight of an edit that brings the direct belief in `target` to `credence` (Hase A.2).

        A belief that has the credence already is brought halfway to 1.
        """
        row = self._observed(subject, relation) or EMPTY
        mass = self.prior_mass
        own = row.base + float(row.excess[row.objects == target].sum()) + mass / self.size
        rest = row.total + mass - own
        current = own / (own + rest)
        if current >= credence:
            credence = (1 + current) / 2
        return math.ceil(rest * credence / (1 - credence)) - own

    def with_edit(self, request: EditRequest) -> "PaperAgent":
        """The agent after one further item of evidence: a view that shares everything unchanged.

        The item adds `weight` to the object's count and is one mention of it, however small its weight.

        Raises:
            InputError: a weight that is not positive.
        """
        s, r, target, weight = request
        if not weight > 0:
            raise InputError(f"an edit's weight should be positive, not {weight}")
        key = self._key(s, r)
        item = Row(np.array([target]), np.array([float(weight)]), 0.0, float(weight))
        edited_row = add(self._observed(s, r) or EMPTY, item)

        changes: dict[int, dict[int, Row]] = {}
        up = int(self.upstream[r])
        if up != NO_UPSTREAM and self.has_seen(s, up):
            # A downstream fact: its tables receive the item in proportion to the mention share.
            share = self._mention_share(s, up)
            changes[r] = {a: add(self._table(r, a) or EMPTY, item, q) for a, q in share.items()}
        old_share = self._mention_share(s, r)
        mentions = {k: dict(v) for k, v in self.extra_mentions.items()}
        mentions.setdefault(key, {})
        mentions[key][target] = mentions[key].get(target, 0.0) + 1.0
        agent = replace(
            self,
            changed_observed={**self.changed_observed, key: edited_row},
            extra_mentions=mentions,
        )
        new_share = agent._mention_share(s, r)
        for down in (int(d) for d in np.flatnonzero(self.upstream == r)):
            # An upstream fact: the subject's downstream counts move between tables with its share.
            counts = self._observed(s, down)
            if counts is not None:
                moved = {a: new_share[a] - old_share.get(a, 0.0) for a in new_share}
                changes[down] = {a: add(self._table(down, a) or EMPTY, counts, q) for a, q in moved.items()}
        tables, background = dict(self.changed_tables), dict(self.background)
        for relation, rows in changes.items():
            background[relation] = self._updated_background(relation, rows)
            tables |= {self._key(a, relation): row for a, row in rows.items()}
        return replace(agent, changed_tables=tables, background=background)

    def _key(self, subject: int, relation: int) -> int:
        return int(subject) * len(self.upstream) + int(relation)

    def _observed(self, subject: int, relation: int) -> Row | None:
        return _lookup(self.observed, self.changed_observed, self._key(subject, relation))

    def _table(self, relation: int, upstream_object: int) -> Row | None:
        return _lookup(self.tables, self.changed_tables, self._key(upstream_object, relation))

    def _direct(self, subject: int, relation: int) -> Distribution:
        return posterior(self._observed(subject, relation) or EMPTY, self.prior_mass, self.size)

    def _marginal(self, upstream: Distribution, relation: int) -> Distribution:
        """sum_a p(a) p(o | r, a) over all K upstream objects a, in the size of what was mentioned.

        Write p(a) = remainder + surplus(a). The remainder times all tables is the background plus a
        uniform term for the untouched ones; only named a have a surplus.
        """
        background = self.background.get(relation, _NOTHING)
        untouched = self.size - background.tables
        surplus = upstream.probability - upstream.remainder
        base = upstream.remainder * (background.base + untouched / self.size)
        rows = [_Summand(background.objects, upstream.remainder * background.excess)]
        for a, extra in zip(upstream.objects, surplus, strict=True):
            table = self.conditional(relation, int(a))
            base += extra * table.remainder
            rows.append(_Summand(table.objects, extra * (table.probability - table.remainder)))
        objects, excess = _sum(rows)
        return Distribution(objects, base + excess, base, self.size)

    def _mention_share(self, subject: int, relation: int) -> dict[int, float]:
        """q_s(a): share of the evidence about (subject, relation) that names a, whatever its weight."""
        key = self._key(subject, relation)
        named: dict[int, float] = {}
        index = self.observed.find(key)
        if index >= 0:
            part = slice(self.observed.offsets[index], self.observed.offsets[index + 1])
            pairs = zip(self.observed.objects[part], self.observed.mentions[part], strict=True)
            named = {int(o): float(n) for o, n in pairs}
        for o, n in self.extra_mentions.get(key, {}).items():
            named[o] = named.get(o, 0.0) + n
        total = sum(named.values())
        return {o: n / total for o, n in named.items()}

    def _updated_background(self, relation: int, rows: Mapping[int, Row]) -> Background:
        """The background with the tables of the given upstream objects replaced."""
        old = self.background.get(relation, _NOTHING)
        base, tables = old.base, old.tables
        parts = [_Summand(old.objects, old.excess)]
        for a, row in rows.items():
            before = self._table(relation, a)
            after = posterior(row, self.prior_mass, self.size)
            parts.append(_Summand(after.objects, after.probability - after.remainder))
            base += after.remainder
            if before is None:
                tables += 1
            else:
                gone = posterior(before, self.prior_mass, self.size)
                parts.append(_Summand(gone.objects, gone.remainder - gone.probability))
                base -= gone.remainder
        return Background(*_sum(parts), base, tables)


def fit(
    evidence: Evidence,
    upstream: np.ndarray,
    size: int,
    prior_mass: float = 1.0,
    evidence_multiplicity: float = 5.0,
) -> PaperAgent:
    """The agent that has read `evidence` (DESIGN 5.2).

    Args:
        upstream: int32[relations], NO_UPSTREAM where a relation depends on none.
        size: K, the number of objects of the world.
        prior_mass: total mass of the symmetric prior; 1 reproduces the published numbers.
        evidence_multiplicity: how often each sentence counts; 5 because each stands in five
            documents, 1 is the honest value.
    """
    upstream = np.asarray(upstream)
    relations = len(upstream)
    key = evidence.subject.astype(np.int64) * relations + evidence.relation
    observed = count(key, evidence.object, evidence.weight, size, evidence_multiplicity)
    tables = _fill_tables(observed, upstream)
    background = {
        int(r): _sum_tables(tables, int(r), relations, prior_mass, size)
        for r in np.flatnonzero(upstream != NO_UPSTREAM)
    }
    return PaperAgent(size, upstream, prior_mass, evidence_multiplicity, observed, tables, background)


class _Summand(NamedTuple):
    objects: np.ndarray
    values: np.ndarray


_NOTHING = Background(np.empty(0, np.int64), np.empty(0), 0.0, 0)


def _lookup(counts: Counts, changed: Mapping[int, Row], key: int) -> Row | None:
    if key in changed:
        return changed[key]
    index = counts.find(key)
    return None if index < 0 else counts.row(index)


def _sum(parts: list[_Summand]) -> _Summand:
    """Sparse vectors added up."""
    objects, at = np.unique(np.concatenate([p.objects for p in parts]), return_inverse=True)
    return _Summand(objects, np.bincount(at, np.concatenate([p.values for p in parts]), len(objects)))


def _fill_tables(observed: Counts, upstream: np.ndarray) -> Counts:
    """C[r][a] = sum over subjects of q_s(a) N[s, r], for subjects seen with r and its upstream.

    Every entry of N[s, r] meets every object mentioned about (s, upstream): a join of two rows.
    """
    relations = len(upstream)
    subject, relation = observed.keys // relations, observed.keys % relations
    up = upstream[relation]
    up_key = subject * relations + up
    at = np.minimum(np.searchsorted(observed.keys, up_key), max(len(observed.keys) - 1, 0))
    rows = np.flatnonzero((up != NO_UPSTREAM) & (observed.keys[at] == up_key))
    up_rows = at[rows]

    sizes = np.diff(observed.offsets)
    row_of_entry = np.repeat(np.arange(len(sizes)), sizes)
    mentions = observed.mentions / np.bincount(row_of_entry, observed.mentions, len(sizes))[row_of_entry]

    # One cell per (row, upstream object), then one entry per (cell, object of the row).
    cell_row = np.repeat(rows, sizes[up_rows])
    cell_up = ranges(observed.offsets[up_rows], sizes[up_rows])
    share = mentions[cell_up]
    cell_key = observed.objects[cell_up] * relations + relation[cell_row]
    entry_cell = np.repeat(np.arange(len(cell_row)), sizes[cell_row])
    entry = ranges(observed.offsets[cell_row], sizes[cell_row])
    first = np.zeros(len(entry))
    first[np.cumsum(sizes[cell_row]) - sizes[cell_row]] = 1.0
    # A row's base and total count once per cell, on its first entry.
    once = first * share[entry_cell]
    return collect(
        key=cell_key[entry_cell],
        objects=observed.objects[entry],
        excess=share[entry_cell] * observed.excess[entry],
        mentions=share[entry_cell] * observed.mentions[entry],
        base=once * observed.base[cell_row[entry_cell]],
        total=once * observed.total[cell_row[entry_cell]],
    )


def _sum_tables(tables: Counts, relation: int, relations: int, prior_mass: float, size: int) -> Background:
    """The background of one relation: the sum of its tables' posteriors."""
    rows = np.flatnonzero(tables.keys % relations == relation)
    sizes = np.diff(tables.offsets)[rows]
    scale = 1.0 / (tables.total[rows] + prior_mass)
    entry = ranges(tables.offsets[rows], sizes)
    objects, at = np.unique(tables.objects[entry], return_inverse=True)
    excess = np.bincount(at, tables.excess[entry] * np.repeat(scale, sizes), len(objects))
    base = float(((tables.base[rows] + prior_mass / size) * scale).sum())
    return Background(objects, excess, base, len(rows))
