"""The paper's agent: Categorical-Dirichlet beliefs with one shared table per upstream object (design.md 5.2).

Direct belief p(o | s, r) counts what was said about (s, r). Where s was also seen with r's upstream
relation u, the marginal belief sums over the upstream object, p(o | s, r) = sum_a p(a | s, u) p(o | r, a),
with tables p(o | r, a) filled by every subject in proportion to how often its sentences mention a.

Write p(a | s, u) as a remainder, which every a has, plus a surplus, which only mentioned a have. The
remainder meets the sum of all tables, the background, which is kept; so a query costs what was mentioned.

The paper knows dependences between facts of one subject only. Through links this agent sees none: of a
fact that depends on another subject's it believes what was said of it, whatever is said of the other.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayes import kernels
from bayes.counts import (
    ChangedRows,
    Row,
    Rows,
    add_statement,
    count_statements,
    observation_counts,
    stack_rows,
)
from bayes.interface import DEFAULT_TARGET, Belief, Distribution, Exactness
from bayes.request import EditRequest, RequestKind
from bayes.tables import Tables, fill_tables
from corpus.compiled import choose_kernels
from corpus.errors import InputError
from corpus.graph import NO_UPSTREAM
from corpus.text.language import Kind
from corpus.text.sentences import Sentences

# The posterior of a component with an even, independent prior: true in a true "or", in a false "and".
TRUE_IN_OR = 2 / 3
TRUE_IN_AND = 1 / 3


class Evidence(NamedTuple):
    """Observations as columns of equal length.

    A weight of 1 or more observes the object that often; -1 observes that it is not this object; a
    weight between 0 and 1 is the probability that it is.
    """

    weight: np.ndarray
    subject: np.ndarray
    relation: np.ndarray
    object: np.ndarray


def evidence_from(sentences: Sentences) -> Evidence:
    """The observations in a corpus: one per atomic, truth or not sentence, two per and/or sentence."""
    kind, label = sentences.kind, sentences.label
    weight = np.ones(len(sentences))
    weight[(kind == Kind.TRUTH) & ~label] = -1
    weight[(kind == Kind.NOT) & label] = -1
    weight[kind == Kind.OR] = np.where(label[kind == Kind.OR], TRUE_IN_OR, -1)
    weight[kind == Kind.AND] = np.where(label[kind == Kind.AND], 1, TRUE_IN_AND)
    joined = (kind == Kind.AND) | (kind == Kind.OR)
    atoms = np.concatenate([sentences.a, sentences.b[joined]])
    return Evidence(np.concatenate([weight, weight[joined]]), *atoms.T)


@dataclass(frozen=True, eq=False)
class PaperAgent:
    """Beliefs after reading a corpus. Fit with `fit_paper`; never changed afterwards.

    Attributes:
        objects: int[K], the objects of the world, ascending. Places are indices into it.
        upstream: int[relations], NO_UPSTREAM where a relation depends on none.
        prior_mass: total mass of the symmetric Dirichlet prior.
        evidence_multiplicity: how often each sentence of the corpus was counted.
        observed: counts of (s, r), row s * relations + r.
        mentions: float64[entries of observed], how many observations named the object, whatever their
            weight.
        tables: p(o | r, upstream object a), and their sums over a.
        changed_observed: rows of `observed` that edits replaced, by their number.
        extra_mentions: mentions that edits added, {row of (s, r): {place: mentions}}.
        edit_weight: what `weight_for` gives of every edit, such as the paper's n = 1000; None for n'.
        reverse: the inverse of each relation that has one; a symmetric relation is its own.
    """

    objects: np.ndarray
    upstream: np.ndarray
    prior_mass: float
    evidence_multiplicity: float
    observed: Rows
    mentions: np.ndarray
    tables: Tables
    changed_observed: Mapping[int, Row] = field(default_factory=dict)
    extra_mentions: Mapping[int, Mapping[int, float]] = field(default_factory=dict)
    edit_weight: float | None = None
    reverse: Mapping[int, int] = field(default_factory=dict)

    def accepts(self, subject: int, relation: int, kind: RequestKind) -> bool:  # noqa: ARG002
        """Counts are never certain and never change with the world: evidence it is, about anything."""
        return kind == "evidence"

    def rules_out(self, subject: int, relation: int, objects: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Counts rule nothing out."""
        return np.zeros(np.shape(objects), bool)

    @property
    def exactness(self) -> Exactness:
        """Bayes' rule for counts that no corpus here is drawn from; see design.md 5.2 for chains."""
        why = "exact for the paper's own counts, which are not how the corpus came about"
        inner = self.upstream[self.upstream != NO_UPSTREAM]
        if (self.upstream[inner] != NO_UPSTREAM).any():
            why += (
                "; it misjudges chains: others who share the cause of an edited inner fact are believed "
                "to have the requested object too, however often theirs was stated"
            )
        return Exactness("approximation", None, why)

    def predict(self, subject: int, relation: int, belief: Belief = "best") -> Distribution:
        """p(o | s, r, evidence): marginal over the upstream object where s was seen with it, else direct.

        `belief="direct"` asks for the direct posterior even then.
        """
        (dense,), (rest,) = self._fill_distributions(np.array([subject]), np.array([relation]), belief)
        named = np.flatnonzero(dense != rest)
        return Distribution(self.objects[named], dense[named], float(rest), self.objects)

    def probability(
        self,
        subject: np.ndarray | int,
        relation: np.ndarray | int,
        objects: np.ndarray | int,
        belief: Belief = "best",
    ) -> np.ndarray:
        """p(o | s, r, evidence) as in `predict`, of each triple; the arguments broadcast.

        Raises:
            InputError: a number that is not an entity, relation or object of the world.
        """
        arrays = np.broadcast_arrays(subject, relation, objects)
        shape, (subject, relation, objects) = arrays[0].shape, (x.ravel().astype(np.int64) for x in arrays)
        places = self._find_places(objects)
        direct, up = self._query_rows(subject, relation, belief)
        out = np.empty(len(places))
        self._choose_kernel(kernels.query_probabilities, len(places))(
            0, len(places), direct, up, relation, places,
            self.observed, self._changed_observed, self.tables.filled, self.tables.changed_rows,
            self.tables.background, self.prior_mass, len(self.objects), out,
        )  # fmt: skip
        return out.reshape(shape)

    def distributions(
        self, subjects: np.ndarray, relations: np.ndarray, belief: Belief = "best"
    ) -> np.ndarray:
        """float64[n, K]: p(o | s, r, evidence) as in `predict`, of each pair, columns as in `objects`."""
        return self._fill_distributions(subjects, relations, belief)[0]

    def conditional(self, relation: int, upstream_object: int) -> Distribution:
        """p(o | r, upstream object, evidence), the shared table."""
        place = int(self._find_places(np.array([upstream_object]))[0])
        row = self.tables.row(relation * len(self.objects) + place)
        scale = 1.0 / (row.total + self.prior_mass)
        remainder = (row.base + self.prior_mass / len(self.objects)) * scale
        return Distribution(self.objects[row.places], remainder + row.excess * scale, remainder, self.objects)

    def has_seen(self, subject: np.ndarray | int, relation: np.ndarray | int) -> np.ndarray:
        """Whether any evidence is about (subject, relation); any shape."""
        self._check_ids(subject, relation)
        return self._is_seen(self._row_key(subject, relation))

    def weight_for(self, subject: int, relation: int, target: int, credence: float = DEFAULT_TARGET) -> float:
        """n': the weight of an edit that brings the direct belief in `target` to `credence` (Hase 6.3).

        A belief that has the credence already is brought halfway to 1. The weight is the rest's count,
        rounded up as published, so that the credence is reached and hardly passed. An agent with an
        `edit_weight` gives that instead.

        Raises:
            InputError: a credence that is not inside (0, 1), or numbers that are not of the world.
        """
        if not 0 < credence < 1:
            raise InputError(f"a credence is a probability inside (0, 1), not {credence}")
        self._check_ids(subject, relation)
        row, place = (
            self._observed_row(self._row_key(subject, relation)),
            self._find_places(np.array([target]))[0],
        )
        if self.edit_weight is not None:
            return self.edit_weight
        mass = self.prior_mass
        for_target = row.base + float(row.excess[row.places == place].sum()) + mass / len(self.objects)
        rest = row.total + mass - for_target
        if for_target >= credence * (for_target + rest):
            # Halfway to 1 doubles the odds and a little more: (for_target + (for_target + rest)) / rest.
            return math.ceil(2 * for_target + rest) - for_target
        return math.ceil(rest * credence / (1 - credence)) - for_target

    def with_edit(self, request: EditRequest) -> "PaperAgent":
        """The agent after one further item of evidence: a view that shares everything unchanged.

        The item adds `weight` to the object's count and is one mention of it, however small its weight.

        Another form than an assertion is what such a sentence is in a corpus: `weight` items, each of the
        weight of `evidence_from`. "With probability p" is an item of weight p. How certain a denial is, or a
        disjunction, is to this agent how often it is said.

        Of a relation with an inverse an assertion is one of the other side, too, of which anything was seen:
        of the weight that brings it to the same direct belief. Counts have no rule for what is no longer so.

        Raises:
            InputError: a weight that is not positive and finite, an object that is not one of the world's, or
                a request that is not evidence, or of a form that this agent has no rule for.
        """
        s, r, target, weight, kind, *_ = request
        if kind != "evidence":
            raise InputError(f"the paper's agent takes requests of kind 'evidence' only, not {kind!r}")
        if not 0 < weight < math.inf:
            raise InputError(f"an edit's weight should be positive and finite, not {weight}")
        self._check_ids(s, r)
        if request.form == "assertion":
            agent = self._with_item(s, r, target, float(weight), 0.0, float(weight))
            back = self.reverse.get(r)
            if back is None or s not in self.objects or not self.has_seen(target, back):
                return agent
            here, there = (
                float(agent.probability(*one, "direct")) for one in ((s, r, target), (target, back, s))
            )
            if here <= there:
                return agent
            more = float(agent.weight_for(target, back, s, here))
            return agent._with_item(target, back, s, more, 0.0, more)
        agent = self
        for o, item_weight in _items_of(request):
            counts = observation_counts(np.array([item_weight]), len(self.objects))
            agent = agent._with_item(s, r, o, *(weight * float(count[0]) for count in counts))
        return agent

    def _with_item(self, s: int, r: int, target: int, *counts: float) -> "PaperAgent":
        """The agent after one item, of these counts: excess, base, and total (`bayes.counts`)."""
        key, place = self._row_key(s, r), int(self._find_places(np.array([target]))[0])
        excess, base, total = counts
        item = Row(np.array([place], np.int32), np.array([excess]), base, total)

        # What is added to which tables: (row to add, {upstream place: how often}) per relation.
        moved: dict[int, tuple[Row, Mapping[int, float]]] = {}
        up = int(self.upstream[r])
        if up != NO_UPSTREAM and self.has_seen(s, up):
            # A downstream fact: its tables receive the item in proportion to the mention share.
            moved[r] = (item, self._mention_share(self._row_key(s, up)))
        old_share = self._mention_share(key)
        mentions_of_key = self.extra_mentions.get(key, {})
        mentions = {
            **self.extra_mentions,
            key: {**mentions_of_key, place: mentions_of_key.get(place, 0.0) + 1.0},
        }
        agent = replace(
            self,
            changed_observed={**self.changed_observed, key: add_statement(self._observed_row(key), item)},
            extra_mentions=mentions,
        )
        new_share = agent._mention_share(key)
        for down in np.flatnonzero(self.upstream == r).tolist():
            # An upstream fact: the subject's downstream counts move between tables with its share.
            if self.has_seen(s, down):
                change = {a: share - old_share.get(a, 0.0) for a, share in new_share.items()}
                moved[down] = (self._observed_row(self._row_key(s, down)), change)
        return replace(agent, tables=self.tables.with_changes(moved))

    def _choose_kernel(self, kernel: Callable, work: int) -> Callable:
        """A kernel as it stands for a few questions about a small world, else compiled."""
        return choose_kernels(kernel, max(work, len(self.observed.places)))

    @cached_property
    def _changed_observed(self) -> ChangedRows:
        return stack_rows(self.changed_observed)

    def _row_key(self, subject: Any, relation: Any) -> Any:
        """Row of (s, r); numbers or arrays."""
        return subject * len(self.upstream) + relation

    def _check_ids(self, subject: Any, relation: Any) -> None:
        """Refuse numbers that are no entity or no relation; indexing would take some for others."""
        entities = len(self.observed.total) // len(self.upstream)
        for name, ids, most in (("entity", subject, entities), ("relation", relation, len(self.upstream))):
            wrong = np.extract((np.asarray(ids) < 0) | (np.asarray(ids) >= most), ids)
            if len(wrong):
                raise InputError(f"there is no {name} {wrong[0]} in this world, which has {most:,} from 0 on")

    def _find_places(self, objects: np.ndarray) -> np.ndarray:
        return find_places(self.objects, objects)

    def _query_rows(
        self, subject: np.ndarray, relation: np.ndarray, belief: Belief
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows of each (s, r), and of (s, upstream) where the belief is marginal, else -1."""
        self._check_ids(subject, relation)
        above = self.upstream[relation].astype(np.int64)
        up = np.where(above != NO_UPSTREAM, self._row_key(subject, above), -1)
        marginal = (up >= 0) & self._is_seen(up) & (belief == "best")
        return self._row_key(subject, relation), np.where(marginal, up, -1)

    def _fill_distributions(
        self, subjects: np.ndarray, relations: np.ndarray, belief: Belief
    ) -> tuple[np.ndarray, np.ndarray]:
        subjects, relations = np.array(subjects, np.int64), np.array(relations, np.int64)
        direct, up = self._query_rows(subjects, relations, belief)
        size = len(self.objects)
        out, rest = np.empty((len(subjects), size)), np.empty(len(subjects))
        self._choose_kernel(kernels.query_distributions, out.size)(
            0, len(out), direct, up, relations,
            self.observed, self._changed_observed, self.tables.filled, self.tables.changed_rows,
            self.tables.background, self.tables.floor, self.prior_mass, size, out, rest,
        )  # fmt: skip
        return out, rest

    def _is_seen(self, key: Any) -> Any:
        """Whether anything was observed in each row; the last one's answer for -1, which is not a row."""
        seen = self.observed.total[key] > 0
        return seen | np.isin(key, self._changed_observed.keys) if self.changed_observed else seen

    def _observed_row(self, key: int) -> Row:
        return self.changed_observed[key] if key in self.changed_observed else self.observed.row(key)

    def _mention_share(self, key: int) -> dict[int, float]:
        """q_s(a): share of the evidence in a row that names a, whatever its weight, by place."""
        part = slice(self.observed.offsets[key], self.observed.offsets[key + 1])
        named = dict(zip(self.observed.places[part].tolist(), self.mentions[part].tolist(), strict=True))
        for place, n in self.extra_mentions.get(key, {}).items():
            named[place] = named.get(place, 0.0) + n
        total = sum(named.values())
        return {place: n / total for place, n in named.items()}


def _items_of(request: EditRequest) -> list[tuple[int, float]]:
    """The objects and weights of the items that a request is (design.md 5.1).

    Raises:
        InputError: a form that the paper has no rule for.
    """
    o, p, form = request.object, request.probability, request.form
    if not 0 <= p <= 1:
        raise InputError(f"a probability is between 0 and 1, not {p}")
    if form == "probability":
        return [(o, p if p > 0 else -1.0)]
    if form in ("true", "false", "denial"):
        return [(o, 1.0 if form == "true" else -1.0)]
    if form == "disjunction" and len(request.others) == 1:
        return [(o, TRUE_IN_OR), (request.others[0], TRUE_IN_OR)]
    raise InputError(
        f"the paper's agent has no rule for a request of form {form!r}"
        + (" of more than two objects" if form == "disjunction" else "")
        + "; use --agent exact"
    )


def fit_paper(
    evidence: Evidence,
    upstream: np.ndarray,
    entities: int,
    objects: np.ndarray,
    prior_mass: float = 1.0,
    evidence_multiplicity: float = 5.0,
) -> PaperAgent:
    """The agent that has read `evidence` (design.md 5.2).

    Args:
        upstream: int[relations], NO_UPSTREAM where a relation depends on none.
        entities: how many there are; subjects are numbers below it.
        objects: int[K], the objects of the world, ascending.
        prior_mass: total mass of the symmetric prior; 1 reproduces the published numbers.
        evidence_multiplicity: how often each sentence counts; 5 because each stands in five
            documents, 1 is the honest value.

    Raises:
        InputError: evidence of no meaning: its weight, or an object that is not one of the world's.
    """
    upstream, relations, size = np.asarray(upstream), len(upstream), len(objects)
    # Answers hand this array out.
    objects = np.array(objects)
    objects.flags.writeable = False
    key = evidence.subject.astype(np.int64) * relations + evidence.relation
    places = find_places(objects, evidence.object)
    observed, mentions = count_statements(
        key, places, evidence.weight, entities * relations, size, evidence_multiplicity
    )
    tables = fill_tables(observed, mentions, upstream, size, prior_mass)
    return PaperAgent(objects, upstream, prior_mass, evidence_multiplicity, observed, mentions, tables)


def find_places(objects: np.ndarray, wanted_objects: np.ndarray) -> np.ndarray:
    """int64[n]: where each object stands among the world's, by a table rather than by bisection.

    Raises:
        InputError: an object that is not one of the world's.
    """
    table = np.full(int(objects[-1]) + 2, -1)
    table[objects] = np.arange(len(objects))
    places = table[np.clip(wanted_objects, -1, len(table) - 1)]
    if (places < 0).any():
        raise InputError(
            f"{wanted_objects[places < 0][0]} is not one of the world's {len(objects):,} objects"
        )
    return places
