"""The exact agent: Bayes' rule for the model W of worlds of kind `exact` (DESIGN 5.3).

Everybody but the subject asked about is resolved: their facts count as what their evidence makes them,
which the corpus builder bounds (`corpus.exact.Resolution`). Other subjects then enter only through counts
of rows, p(k | row) = (mass / K + N[row, k]) / (mass + N[row]), and a subject's own facts form trees, over
which a pass up and a pass down are exact:

    up     message[a] = sum_k p(k | row a) h(k),   h(k) = likelihood(k) * messages of what depends on it
    down   p(k) = h(k) * sum_a p(a) / message[a] * p(k | row a)

Under persistence "sentence" rows hold statements, and what was said of a subject is
Dirichlet-multinomial given its row. An edited subject is no longer resolved: answers about others sum over
the states of its tree as well, by enumeration.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.special import gammaln, logit

from bayes.interface import DEFAULT_TARGET, Belief, Distribution, EditRequest, Exactness, RequestKind, goal
from corpus.arrays import ranges
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.exact import has_truths, log_ratios, strength
from corpus.graph import KnowledgeGraph
from corpus.sentences import Sentences

MOST_STATES = 2_000_000
# A state of other trees whose weight, in logs, is this far below that of one state is left out. Even two
# million of them together change no answer by more than 1e-13.
NEGLIGIBLE = -45.0
UNRESOLVED = -1
# The row of facts that depend on none.
NO_ROW = -2
UNBOUNDED = Exactness("approximation", None, "nobody has bounded the doubt that the evidence leaves")


class Drawn(NamedTuple):
    """Resolved draws of a relation's rows.

    Attributes:
        by_row: csr[K_up, K].
        by_place: csr[K, K_up], the same transposed.
        totals: float64[K_up], draws of each row.
    """

    by_row: csr_array
    by_place: csr_array
    totals: np.ndarray


class Draw(NamedTuple):
    """A draw of one row: relation, place of the upstream object (or NO_ROW), and what was drawn."""

    relation: int
    row: int
    place: int


@dataclass(frozen=True, eq=False)
class ExactAgent:
    """Beliefs after reading a corpus of kind `exact`. Fit with `fit_exact`; never changed afterwards.

    Places are indices into the candidates of a relation.

    Attributes:
        graph, config: subjects, relations and candidates, and the model's constants. The graph's objects
            are never read.
        offsets, places, ratios: per fact, log-likelihood ratios of its own evidence: of the objects at
            `places` against those never named. Minus infinity where ruled out. For a fact without a
            truth of its own, the counts of its statements instead.
        resolved: int64[facts], the likeliest place of each fact that was spoken of, else UNRESOLVED.
        rows: per relation, resolved draws of facts with an upstream fact.
        roots: per relation, float64[K], resolved draws of facts without one.
        exactness: how far the facts of everybody but who is asked about are resolved.
        edited: {fact: {place: further log-likelihood ratio, or count of statements}}.
        focus: facts not to be taken as resolved.
        done: {fact: (place it was set to, probability of drawing again what depends on it)}.
    """

    graph: KnowledgeGraph
    config: ExactConfig
    offsets: np.ndarray
    places: np.ndarray
    ratios: np.ndarray
    resolved: np.ndarray
    rows: Mapping[int, Drawn]
    roots: Mapping[int, np.ndarray]
    exactness: Exactness = UNBOUNDED
    edited: Mapping[int, Mapping[int, float]] = field(default_factory=dict)
    focus: frozenset[int] = frozenset()
    done: Mapping[int, tuple[int, float]] = field(default_factory=dict)

    @property
    def objects(self) -> np.ndarray:
        """int[K]: the objects of the world, ascending."""
        return self.graph.objects

    @property
    def evidence_multiplicity(self) -> float:
        """Copies of a sentence are not evidence."""
        return 1.0

    def predict(
        self,
        subject: int,
        relation: int,
        belief: Belief = "best",  # noqa: ARG002
    ) -> Distribution:
        """p(z[s, r] = o | evidence, edits) of each candidate o of the relation, whatever the `belief`.

        For a downstream relation under persistence "sentence": p(o | ...) of its next statement.

        Raises:
            InputError: the subject has no such fact, or too many states are to be enumerated.
        """
        belief_in = self._belief(self._fact(subject, relation))
        candidates = self.graph.candidates_of(relation)
        return Distribution(candidates, belief_in, 0.0, candidates)

    def probability(
        self,
        subject: np.ndarray | int,
        relation: np.ndarray | int,
        objects: np.ndarray | int,
        belief: Belief = "best",
    ) -> np.ndarray:
        """p(o | s, r, evidence, edits) as in `predict`, of each triple; the arguments broadcast."""
        subject, relation, objects = np.broadcast_arrays(subject, relation, objects)
        asked = subject.astype(np.int64) * len(self.graph.relations) + relation
        found = np.empty(objects.shape)
        for key in np.unique(asked):
            here = asked == key
            found[here] = self.predict(*divmod(int(key), len(self.graph.relations)), belief).of(objects[here])
        return found

    def distributions(
        self, subjects: np.ndarray, relations: np.ndarray, belief: Belief = "best"
    ) -> np.ndarray:
        """float64[n, K]: p(o | s, r, evidence, edits) of each pair; 0 for objects that are no candidates."""
        found = np.zeros((len(subjects), len(self.objects)))
        for row, s, r in zip(found, subjects, relations, strict=True):
            belief_in = self.predict(int(s), int(r), belief)
            row[np.searchsorted(self.objects, belief_in.support)] = belief_in.probability
        return found

    def with_edit(self, request: EditRequest) -> "ExactAgent":
        """The agent after one further observation: a view that shares everything unchanged.

        Raises:
            InputError: no such fact, an object that the relation cannot have, a weight that is not
                positive and finite, a correction that the evidence rules out, or anything after a `do`
                about the same tree of facts.
        """
        s, r, target, weight, kind, redraw = request
        fact, place = self._fact(s, r), self._place(r, target)
        if kind == "evidence" and not 0 < weight < math.inf:
            raise InputError(f"an edit's weight should be positive and finite, not {weight}")
        if self.done.keys() & set(self._tree(fact)):
            raise InputError(
                f"{self.graph.entities[s]} changed already; what came after a change is not modelled"
            )
        if kind != "evidence" and not self.has_truth(fact):
            raise InputError(
                f"{self.named(s, r)!r} is drawn with every statement, so it takes no request of kind {kind!r}"
            )
        if kind == "do":
            if not 0 <= redraw <= 1:
                raise InputError(f"redraw is a probability; {redraw} is not in [0, 1]")
            return replace(self, done={**self.done, fact: (place, redraw)})
        if kind == "correction":
            own = self._own(fact)
            if own.get(place, 0.0) == -math.inf or math.inf in [v for k, v in own.items() if k != place]:
                raise InputError(
                    f"the evidence rules out {self.named(s, r, target)!r}, so no correction can say it"
                )
            step = math.inf
        else:
            step = weight * (self.strength(r) if self.has_truth(fact) else 1.0)
        added = dict(self.edited.get(fact, {}))
        added[place] = added.get(place, 0.0) + step
        return replace(self, edited={**self.edited, fact: added})

    def with_focus(self, subjects: Iterable[int]) -> "ExactAgent":
        """The agent that takes none of these subjects' facts as resolved, but sums over what they may be.

        For subjects whom their evidence leaves in doubt: answers about anybody who shares rows with them
        are then exact, at the price of an enumeration.
        """
        facts = np.flatnonzero(np.isin(self.graph.subject, list(subjects)))
        return replace(self, focus=self.focus | frozenset(facts.tolist()))

    def weight_for(self, subject: int, relation: int, target: int, credence: float = DEFAULT_TARGET) -> float:
        """The weight of evidence that brings p(z[s, r] = target) to `credence`, downstream evidence included.

        Evidence of weight w multiplies the odds of the target by exp(w * strength), which solves for w. Of
        a fact without a truth of its own, w statements bring p(next statement = target) there, by root
        finding. A belief that has the credence already is brought halfway to 1.

        Raises:
            InputError: the evidence rules the target out, or settles it.
        """
        fact, place = self._fact(subject, relation), self._place(relation, target)
        before = float(self._belief(fact)[place])
        if before == 0.0 or not self.accepts(subject, relation, "evidence"):
            raise InputError(
                f"no evidence can change the belief in {self.named(subject, relation, target)!r}, which a "
                "sentence settled; a request of kind 'do' changes the world instead"
            )
        if not self.has_truth(fact):
            wanted = goal(credence, before)

            def missing(weight: float) -> float:
                edited = self.with_edit(EditRequest(subject, relation, target, weight))
                return float(edited._belief(fact)[place]) - wanted

            most = 1.0
            while missing(most) < 0:
                most *= 2
            return float(brentq(missing, 1e-12, most))
        if before >= credence:
            # Halfway to 1 in odds, for which 1 - before may be too small to be a number.
            return float(np.log((1 + before) / before) / self.strength(relation))
        return float((logit(credence) - logit(before)) / self.strength(relation))

    def accepts(self, subject: int, relation: int, kind: RequestKind) -> bool:
        """Whether a request of this kind can change anything.

        No evidence moves what a sentence has settled, and only a fact with a truth of its own can be
        corrected, or change.
        """
        fact = self._fact(subject, relation)
        settled = math.inf in self._own(fact).values()
        return (kind == "do" or not settled) and (kind == "evidence" or self.has_truth(fact))

    def strength(self, relation: int) -> float:
        """lambda: log-likelihood ratio of one statement, of the object it names against any other."""
        return float(strength(self.config, len(self.graph.candidates_of(relation)) - 1))

    def has_truth(self, fact: int) -> bool:
        """Whether a fact is drawn once, not once per statement."""
        return bool(self.graph.upstream_fact[fact] < 0 or self.config.persistence == "fact")

    def _fact(self, subject: int, relation: int) -> int:
        fact = int(self.graph.find(subject, relation))
        if fact < 0:
            raise InputError(f"there is no fact {self.named(subject, relation)!r} in this world")
        return fact

    def _place(self, relation: int, target: int) -> int:
        candidates = self.graph.candidates_of(relation)
        place = int(np.searchsorted(candidates, target))
        if place == len(candidates) or candidates[place] != target:
            name = self.graph.entities[target]
            raise InputError(
                f"{name!r} cannot be the object of {self.graph.relations[relation]!r} in this world"
            )
        return place

    def named(self, *ids: int) -> str:
        """Subject, relation and perhaps object as their names, or as numbers where there are none."""
        columns = (self.graph.entities, self.graph.relations, self.graph.entities)
        return " ".join(
            names[i] if i < len(names) else str(i) for i, names in zip(ids, columns, strict=False)
        )

    def _belief(self, fact: int) -> np.ndarray:
        """p(k) of each candidate of a fact's relation."""
        tree = self._tree(fact)
        family = self._family(fact)
        trees = {t[0]: t for t in map(self._tree, (*self.edited, *self.focus)) if t[0] != tree[0]}
        others = [t for t in trees.values() if self._family(t[0]) == family]
        total = np.zeros(len(self.graph.candidates_of(int(self.graph.relation[fact]))))
        best = -math.inf
        for log_state, draws in self._states(others, tree):
            asked = _Tree(self, tree, draws)
            log_z, log_belief = asked.marginals()
            answer = np.exp(log_belief[fact])
            for changed in self.done.keys() & set(tree):
                answer = asked.after_do(changed, fact, {f: np.exp(p) for f, p in log_belief.items()})
            weight = log_state + log_z
            if weight > best:
                total, best = total * math.exp(best - weight), weight
            total += math.exp(weight - best) * answer
        return total / total.sum()

    def _family(self, fact: int) -> int:
        """The relation that a fact's relation depends on in the end; only families share rows."""
        relation = int(self.graph.relation[fact])
        while self.graph.upstream[relation] >= 0:
            relation = int(self.graph.upstream[relation])
        return relation

    def _tree(self, fact: int) -> list[int]:
        """All facts joined with this one by dependence, each after the one it depends on."""
        while self.graph.upstream_fact[fact] >= 0:
            fact = int(self.graph.upstream_fact[fact])
        facts = [fact]
        for one in facts:
            facts += self.graph.dependents.get(one, [])
        return facts

    def _own(self, fact: int) -> dict[int, float]:
        """Evidence about a fact, edits included, by place."""
        part = slice(self.offsets[fact], self.offsets[fact + 1])
        found = dict(zip(self.places[part].tolist(), self.ratios[part].tolist(), strict=True))
        for place, more in self.edited.get(fact, {}).items():
            found[place] = found.get(place, 0.0) + more
        return found

    def _draws(self, tree: list[int]) -> list[tuple[Draw, float]]:
        """What the resolved facts of a tree add to rows; nothing where the row is not known."""
        found = []
        for fact in tree:
            up = int(self.graph.upstream_fact[fact])
            row = NO_ROW if up < 0 else int(self.resolved[up])
            relation = int(self.graph.relation[fact])
            if row == UNRESOLVED:
                continue
            if not self.has_truth(fact):
                part = slice(self.offsets[fact], self.offsets[fact + 1])
                for place, count in zip(self.places[part], self.ratios[part], strict=True):
                    found.append((Draw(relation, row, int(place)), float(count)))
            elif self.resolved[fact] != UNRESOLVED:
                found.append((Draw(relation, row, int(self.resolved[fact])), 1.0))
        return found

    def _states(
        self, trees: list[list[int]], asked: list[int]
    ) -> Iterator[tuple[float, list[tuple[Draw, float]]]]:
        """Log-weights and changed draws of every state of the given trees; `asked` is taken out too.

        What a state weighs is known only when all trees have been seen, since one tree may make likely what
        another alone does not. A tree never weighs more than its ceiling, though, so that a state of the
        others is left out only where even this could not lift it.
        """
        without = [(draw, -n) for tree in (*trees, asked) for draw, n in self._draws(tree)]
        if not trees:
            yield 0.0, without
            return
        least = self._weight_of_a_likely_state(trees, asked, without) + NEGLIGIBLE
        ceilings = [_Tree(self, tree, without).ceiling() for tree in (*trees, asked)]
        options = [
            _Tree(self, tree, without).options(least - sum(ceilings) + ceiling)
            for tree, ceiling in zip(trees, ceilings, strict=False)
        ]
        states = math.prod(len(places) for tree in options for places in tree.values())
        if states > MOST_STATES:
            raise InputError(
                f"{states:,} states of subjects in doubt are more than {MOST_STATES:,}; "
                "ask about the edited subject, edit fewer facts at once, or focus on fewer subjects"
            )
        # What the weight of the trees seen must reach at least, given the ceilings of those that follow.
        floors = least - np.cumsum(ceilings[:0:-1])[::-1]
        yield from self._extend(0.0, without, list(zip(trees, options, floors, strict=True)))

    def _extend(
        self,
        log_weight: float,
        draws: list[tuple[Draw, float]],
        trees: list[tuple[list[int], dict[int, np.ndarray], float]],
    ) -> Iterator[tuple[float, list[tuple[Draw, float]]]]:
        if not trees:
            yield log_weight, draws
            return
        (facts, options, floor), *rest = trees
        for weight, added in _Tree(self, facts, draws).states(options):
            if log_weight + weight >= floor:
                yield from self._extend(log_weight + weight, [*draws, *added], rest)

    def _weight_of_a_likely_state(
        self, trees: list[list[int]], asked: list[int], draws: list[tuple[Draw, float]]
    ) -> float:
        """Log-weight of one state: of each tree in turn the likely one, given those before it."""
        log_weight = 0.0
        for facts in trees:
            weight, added = _Tree(self, facts, draws).likely_state()
            log_weight, draws = log_weight + weight, [*draws, *added]
        return log_weight + _Tree(self, asked, draws).marginals()[0]

    def _counts(self, fact: int) -> bool:
        """Whether a fact, or one that depends on it, was spoken of; others sum out of everything."""
        return bool(self._own(fact)) or any(self._counts(f) for f in self.graph.dependents.get(fact, []))


class _Tree:
    """One subject's tree of facts against rows of everybody else.

    Args:
        draws: changes to the resolved rows: the tree's own draws are to be among them, with -1.
    """

    def __init__(self, agent: ExactAgent, facts: list[int], draws: list[tuple[Draw, float]]) -> None:
        self.agent, self.facts = agent, facts
        self.graph = agent.graph
        self.changes: dict[int, list[tuple[Draw, float]]] = {}
        for draw, by in draws:
            self.changes.setdefault(draw.relation, []).append((draw, by))

    def marginals(self) -> tuple[float, dict[int, np.ndarray]]:
        """Log-probability of all that was said of the tree, and log p(k) of the candidates of each fact."""
        log_z, log_inside, _, messages = self._up()
        log_belief: dict[int, np.ndarray] = {}
        for fact in self.facts:
            up = int(self.graph.upstream_fact[fact])
            if not self.agent.has_truth(fact):
                log_belief[fact] = np.log(self._next_statement(fact, np.exp(log_belief[up])))
                continue
            if up < 0:
                outside = self._prior(fact)
            else:
                outside = self._mix(fact, np.exp(log_belief[up]) / messages[fact])
            log_p = log_inside[fact] + np.log(outside)
            log_p -= log_p.max()
            log_belief[fact] = log_p - np.log(np.exp(log_p).sum())
        return log_z, log_belief

    def after_do(self, changed: int, asked: int, before: dict[int, np.ndarray]) -> np.ndarray:
        """p(k) of one fact after another was set, given beliefs before that.

        What depends on the changed fact is drawn again from the row of its new object. Had the subject been
        in that row before, its earlier draws are draws of it too.

        Raises:
            InputError: a fact further down, whose old and new rows are not independent.
        """
        place, redraw = self.agent.done[changed]
        if asked == changed:
            settled = np.zeros(len(before[changed]))
            settled[place] = 1.0
            return settled
        up = int(self.graph.upstream_fact[asked])
        if up != changed:
            while up >= 0:
                up = int(self.graph.upstream_fact[up])
                if up == changed:
                    raise InputError("after a change, only what depends on it directly can be asked")
            return before[asked]
        mass = self.agent.config.row_mass
        total, elsewhere, there = self._totals(asked)[place], self._row(asked, place), before[up][place]
        if self.agent.has_truth(asked):
            _, _, inside, _ = self._up()
            own = elsewhere * inside[asked] / (elsewhere @ inside[asked])
        else:
            own = np.zeros(len(elsewhere))
            for k, count in self.agent._own(asked).items():
                own[k] = count
        same = ((mass + total) * elsewhere + own) / (mass + total + own.sum())
        fresh = (1 - there) * elsewhere + there * same
        return redraw * fresh + (1 - redraw) * before[asked]

    def ceiling(self) -> float:
        """Log of the most that what was said of the tree can weigh, whatever is in its rows.

        Statements that are draws of a row have a probability, which is at most 1.
        """
        return float(sum(self._log_likelihood(f).max() for f in self.facts if self.agent.has_truth(f)))

    def options(self, least: float) -> dict[int, np.ndarray]:
        """Places of the facts to be enumerated that leave the tree a log-weight of at least `least`."""
        log_z, log_belief = self.marginals()
        return {f: np.flatnonzero(log_z + log_belief[f] >= least) for f in self._enumerated()}

    def likely_state(self) -> tuple[float, list[tuple[Draw, float]]]:
        """Log-weight and draws of one state, each of its places being the likeliest by itself."""
        _, log_belief = self.marginals()
        modes = {f: np.array([log_belief[f].argmax()]) for f in self._enumerated()}
        return next(self.states(modes), (-math.inf, []))

    def states(self, options: Mapping[int, np.ndarray]) -> Iterator[tuple[float, list[tuple[Draw, float]]]]:
        """Log-probability of every possible state of the enumerated facts, with the draws it makes."""
        counted = [f for f in self.facts if self.agent._counts(f)]
        row_of, said_of, likely = cache(self._row), cache(self._log_said), cache(self._log_likelihood)
        for places in itertools.product(*(o.tolist() for o in options.values())):
            state = dict(zip(options, places, strict=True))
            log_p = 0.0
            draws: list[tuple[Draw, float]] = []
            for fact in counted:
                up = int(self.graph.upstream_fact[fact])
                row = NO_ROW if up < 0 else state[up]
                relation = int(self.graph.relation[fact])
                if fact in state:
                    log_p += math.log(row_of(fact, row)[state[fact]]) + likely(fact)[state[fact]]
                    draws.append((Draw(relation, row, state[fact]), 1.0))
                else:
                    log_p += float(said_of(fact)[row])
                    said = self.agent._own(fact).items()
                    draws += [(Draw(relation, row, place), count) for place, count in said]
            if log_p > -math.inf:
                yield log_p, draws

    def _enumerated(self) -> list[int]:
        """Facts whose places make up a state: those with truths of which anything was said, or below them."""
        return [f for f in self.facts if self.agent._counts(f) and self.agent.has_truth(f)]

    def _up(
        self,
    ) -> tuple[float, dict[int, np.ndarray], dict[int, np.ndarray], dict[int, np.ndarray]]:
        """Log-probability of the tree; log h(k), h(k) scaled to 1 at most, and the message of each fact."""
        log_z = 0.0
        inside: dict[int, np.ndarray] = {}
        messages: dict[int, np.ndarray] = {}
        log_inside = {f: self._log_likelihood(f) for f in self.facts if self.agent.has_truth(f)}
        for fact in reversed(self.facts):
            if self.agent.has_truth(fact):
                most = log_inside[fact].max()
                inside[fact] = np.exp(log_inside[fact] - most)
                log_z += most
            up = int(self.graph.upstream_fact[fact])
            if up < 0:
                log_z += math.log(self._prior(fact) @ inside[fact])
                continue
            if self.agent.has_truth(fact):
                messages[fact] = self._message(fact, inside[fact])
                log_inside[up] = log_inside[up] + np.log(messages[fact])
            else:
                # In logs: many statements may say of a row what no float holds.
                log_inside[up] = log_inside[up] + self._log_said(fact)
        return log_z, log_inside, inside, messages

    def _candidates(self, fact: int) -> np.ndarray:
        return self.graph.candidates_of(int(self.graph.relation[fact]))

    def _log_likelihood(self, fact: int) -> np.ndarray:
        log_p = np.zeros(len(self._candidates(fact)))
        for place, ratio in self.agent._own(fact).items():
            if ratio == math.inf:
                settled = np.full(len(log_p), -math.inf)
                settled[place] = 0.0
                return settled
            log_p[place] = ratio
        return log_p

    def _prior(self, root: int) -> np.ndarray:
        """p(k) of a fact that depends on none."""
        size, mass = len(self._candidates(root)), self.agent.config.root_mass
        relation = int(self.graph.relation[root])
        counts = self.agent.roots.get(relation, np.zeros(size)).copy()
        for draw, by in self.changes.get(relation, []):
            if draw.row == NO_ROW:
                counts[draw.place] += by
        return (mass / size + counts) / (mass + counts.sum())

    def _totals(self, fact: int) -> np.ndarray:
        """Draws in each row that a downstream fact may belong to."""
        relation = int(self.graph.relation[fact])
        totals = self.agent.rows[relation].totals.copy()
        for draw, by in self.changes.get(relation, []):
            if draw.row != NO_ROW:
                totals[draw.row] += by
        return totals

    def _message(self, fact: int, inside: np.ndarray) -> np.ndarray:
        """sum_k p(k | row a) inside[k] for every row a."""
        relation, mass = int(self.graph.relation[fact]), self.agent.config.row_mass
        summed = self.agent.rows[relation].by_row @ inside
        for draw, by in self.changes.get(relation, []):
            if draw.row != NO_ROW:
                summed[draw.row] += by * inside[draw.place]
        return (mass * inside.mean() + summed) / (mass + self._totals(fact))

    def _mix(self, fact: int, part: np.ndarray) -> np.ndarray:
        """sum_a part[a] p(k | row a) for every k."""
        relation, mass = int(self.graph.relation[fact]), self.agent.config.row_mass
        size = len(self._candidates(fact))
        scaled = part / (mass + self._totals(fact))
        mixed = mass / size * scaled.sum() + self.agent.rows[relation].by_place @ scaled
        for draw, by in self.changes.get(relation, []):
            if draw.row != NO_ROW:
                mixed[draw.place] += by * scaled[draw.row]
        return mixed

    def _row(self, fact: int, row: int) -> np.ndarray:
        """p(k | row)."""
        if row == NO_ROW:
            return self._prior(fact)
        part = np.zeros(len(self._totals(fact)))
        part[row] = 1.0
        return self._mix(fact, part)

    def _column(self, fact: int, place: int) -> np.ndarray:
        """Draws of one object in each row."""
        relation = int(self.graph.relation[fact])
        column = self.agent.rows[relation].by_place[[place]].toarray().ravel()
        for draw, by in self.changes.get(relation, []):
            if draw.row != NO_ROW and draw.place == place:
                column[draw.row] += by
        return column

    def _log_said(self, fact: int) -> np.ndarray:
        """Log-probability of what was stated, Dirichlet-multinomial, under every row."""
        mass, alpha = self.agent.config.row_mass, self.agent.config.row_mass / len(self._candidates(fact))
        said, totals = self.agent._own(fact), self._totals(fact)
        log_p = gammaln(mass + totals) - gammaln(mass + totals + sum(said.values()))
        for place, count in said.items():
            column = self._column(fact, place)
            log_p += gammaln(alpha + column + count) - gammaln(alpha + column)
        return log_p

    def _next_statement(self, fact: int, above: np.ndarray) -> np.ndarray:
        """p(k) of a further statement, its row distributed as `above`."""
        mass, size = self.agent.config.row_mass, len(self._candidates(fact))
        said = self.agent._own(fact)
        scaled = above / (mass + self._totals(fact) + sum(said.values()))
        relation = int(self.graph.relation[fact])
        p = mass / size * scaled.sum() + self.agent.rows[relation].by_place @ scaled
        for draw, by in self.changes.get(relation, []):
            if draw.row != NO_ROW:
                p[draw.place] += by * scaled[draw.row]
        for place, count in said.items():
            p[place] += count * scaled.sum()
        return p


def fit_exact(
    graph: KnowledgeGraph, config: ExactConfig, sentences: Sentences, exactness: Exactness = UNBOUNDED
) -> ExactAgent:
    """The agent that has read the sentences of a world of kind `exact`.

    Args:
        graph: subjects, relations and candidates; its objects are not read.
        exactness: what the corpus's builder knows about how far facts are resolved.
    """
    n = len(graph)
    by_sentence = ~has_truths(graph, config)
    fact, said, ratio = log_ratios(graph, config, sentences)
    ratio = np.where(by_sentence[fact], 1.0, ratio)
    width = len(graph.entities)
    cells, cell = np.unique(fact * width + said.astype(np.int64), return_inverse=True)
    ratios = np.zeros(len(cells))
    np.add.at(ratios, cell, ratio)
    owner = cells // width
    offsets = np.searchsorted(owner, np.arange(n + 1))
    relation = graph.relation[owner]
    first = graph.candidate_offsets[relation]
    key = np.repeat(np.arange(len(graph.relations)), np.diff(graph.candidate_offsets)) * width
    places = np.searchsorted(key + graph.candidates, relation * np.int64(width) + cells % width) - first

    resolved = np.full(n, UNRESOLVED)
    order = np.lexsort((-ratios, owner))
    spoken, at = np.unique(owner[order], return_index=True)
    best = order[at]
    sure = ratios[best] > 0
    resolved[spoken[sure]] = places[best[sure]]
    resolved[by_sentence] = UNRESOLVED

    agent = ExactAgent(graph, config, offsets, places, ratios, resolved, {}, {}, exactness)
    rows, roots = {}, {}
    for r in range(len(graph.relations)):
        up, size = int(graph.upstream[r]), len(graph.candidates_of(r))
        mine = np.flatnonzero(graph.relation == r)
        above = graph.upstream_fact[mine]
        alone = resolved[mine[above < 0]]
        roots[r] = np.bincount(alone[alone != UNRESOLVED], minlength=size).astype(float)
        if up < 0:
            continue
        below = mine[above >= 0]
        entries = np.repeat(below, np.diff(offsets)[below]) if config.persistence == "sentence" else below
        if config.persistence == "sentence":
            cell_of = ranges(offsets[below], np.diff(offsets)[below])
            place, weight = places[cell_of], ratios[cell_of]
        else:
            place, weight = resolved[below], np.ones(len(below))
        row = resolved[graph.upstream_fact[entries]]
        known = (row != UNRESOLVED) & (place != UNRESOLVED)
        shape = (len(graph.candidates_of(up)), size)
        draws = csr_array((weight[known], (row[known], place[known])), shape=shape)
        rows[r] = Drawn(draws, draws.T.tocsr(), draws.sum(axis=1))
    return replace(agent, rows=rows, roots=roots)
