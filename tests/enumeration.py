"""All worlds of a tiny corpus of kind `exact`, one by one: what every agent that is exact must believe."""

import math
from collections import Counter

import numpy as np
from scipy.special import gammaln

from corpus.rows import rows_of
from corpus.text.language import Kind
from tests.naive import mentions_truth


class Enumeration:
    """Every world that the sentences allow under the model W of design.md 5.3, and how probable it is.

    Args:
        extra: further evidence as (fact, object, log-likelihood ratio), infinite where it settles the fact,
            or (fact, object, count of statements) for a fact without a truth of its own: downstream facts
            under persistence "sentence", whose statements are draws of their rows.

    Attributes:
        z: {fact: int[worlds], its object} of every fact with a truth of its own.
        p: float[worlds].
    """

    def __init__(self, graph, config, sentences, extra=()):
        self.graph, self.config, self.extra = graph, config, extra
        pairs = zip(graph.subject.tolist(), graph.relation.tolist(), strict=True)
        self.fact = {pair: f for f, pair in enumerate(pairs)}
        self.said = Counter(sentences[i] for i in range(len(sentences)))
        with_truth = [
            f for f in range(len(graph)) if config.persistence == "fact" or graph.upstream_fact[f] < 0
        ]
        options = [self._possible(f) for f in with_truth]
        states = np.stack([m.ravel() for m in np.meshgrid(*options, indexing="ij")])
        self.z = dict(zip(with_truth, states, strict=True))
        log_p = np.zeros(states.shape[1])
        for sentence, times in self.said.items():
            log_p += times * self._log_likelihood(sentence)
        for f, o, ratio in extra:
            if f in self.z and ratio < math.inf:
                log_p += ratio * (self.z[f] == o)
        for relation in range(len(graph.relations)) if config.rows == "learned" else ():
            counts, mass = self._draws(relation)
            alpha = mass / counts.shape[-1]
            log_p += (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=(1, 2))
            log_p += (gammaln(mass) - gammaln(mass + counts.sum(axis=2, keepdims=True))).sum(axis=(1, 2))
        for f in self.z if config.rows == "given" else ():
            log_p += np.log(self._given(f))
        p = np.exp(log_p - log_p.max())
        self.p = p / p.sum()

    def posterior(self):
        """{fact: {object: probability}} of every fact with a truth of its own."""
        return {f: {o: float(self.p[z == o].sum()) for o in self._objects(f)} for f, z in self.z.items()}

    def statements(self):
        """{fact: {object: probability}} of the next statement of every fact without a truth of its own."""
        statements = {}
        for f in sorted(set(range(len(self.graph))) - set(self.z)):
            row = self._row(f, self.z[int(self.graph.upstream_fact[f])])
            drawn = self.p @ self._next_draw(self.graph.relation[f])[np.arange(len(self.p)), row]
            statements[f] = dict(zip(self._objects(f), drawn.tolist(), strict=True))
        return statements

    def after_do(self, changed, value, redraw):
        """{fact: {object: probability}} of a fact that was set and all below it: every old and new world.

        What depends on a fact that was set or drawn again is drawn again with probability `redraw`, from the
        row of the new object, else it stays. Every fact of the old world, spoken of or not, is a draw of its
        row.
        """
        z, up = self.z, self.graph.upstream_fact
        # Ways in which the world may go on: how probable in each old world, and what was set or drawn again.
        ways, after = [(self.p, {changed: np.full(len(self.p), value)})], {}
        below = [changed]
        for f in below:
            below += [g for g in range(len(self.graph)) if up[g] == f]
            if f != changed:
                ways = [w for way in ways for w in self._ways_on(f, int(up[f]), way, redraw)]
            after[f] = {
                o: sum(float(chance[new.get(f, z.get(f)) == o].sum()) for chance, new in ways)
                for o in self._objects(f)
            }
        return after

    def _ways_on(self, fact, up, way, redraw):
        """The ways in which a world may go on where this fact is drawn again, and where it stays."""
        chance, new = way
        rows, objects = self._next_draw(self.graph.relation[fact]), self._objects(fact)

        def drawn(share, above):
            drawn = share * rows[np.arange(len(share)), self._row(fact, above)].T
            return [(p, {**new, fact: np.full(len(p), o)}) for p, o in zip(drawn, objects, strict=True)]

        # A fact without a truth of its own is no state: its next statement is a draw, whatever its row.
        if fact not in self.z:
            return drawn(chance * redraw, new[up]) + drawn(chance * (1 - redraw), self.z[up])
        if up not in new:
            return [way]
        return [(chance * (1 - redraw), new), *drawn(chance * redraw, new[up])]

    def _objects(self, fact):
        return self.graph.candidates_of(self.graph.relation[fact]).tolist()

    def _row(self, fact, above):
        """int[worlds]: the row of a fact whose upstream object in each world is `above`."""
        up = self.graph.upstream[self.graph.relation[fact]]
        return np.searchsorted(self.graph.candidates_of(up), above)

    def _given(self, fact):
        """float[worlds]: probability of a fact under the row that is given."""
        up, relation = int(self.graph.upstream_fact[fact]), self.graph.relation[fact]
        rows = self._next_draw(relation)[0]
        row = self._row(fact, self.z[up]) if up >= 0 else np.full(self.z[fact].shape, -1)
        return rows[row, np.searchsorted(self.graph.candidates_of(relation), self.z[fact])]

    def _possible(self, fact):
        """Objects of a fact that no sentence about it alone rules out with certainty."""
        left = set(self._objects(fact))
        # Links are given.
        if self.graph.relation[fact] in self.graph.via:
            left = {int(self.graph.object[fact])}
        for kind, label, (s, r, o), _, _ in self.said:
            certain = kind == Kind.NOT or (kind == Kind.TRUTH and self.config.label_noise == 0)
            if certain and self.fact[s, r] == fact:
                holds = label == (kind == Kind.TRUTH)
                left = left & {o} if holds else left - {o}
        for f, o, ratio in self.extra:
            if f == fact and ratio == math.inf:
                left = left & {o}
        return sorted(left)

    def _log_likelihood(self, sentence):
        """float[worlds]: log-probability of a sentence about facts with truths of their own, else 0."""
        kind, label, *atoms, _ = sentence
        log_p, holds = 0.0, []
        for s, r, o in filter(None, atoms):
            f, others = self.fact[s, r], len(self.graph.candidates_of(r)) - 1
            if f not in self.z:
                return 0.0
            is_it = self.z[f] == o
            atomic = kind == Kind.ATOMIC
            right = 1 - self.config.noise if atomic else mentions_truth(self.config, self.graph, f)
            log_p = log_p + np.where(is_it, math.log(right), math.log((1 - right) / others))
            holds.append(is_it)
        if kind == Kind.ATOMIC:
            return log_p
        a, b = holds[0], holds[-1]
        says = {Kind.TRUTH: a, Kind.NOT: ~a, Kind.AND: a & b, Kind.OR: a | b}[kind]
        wrong = self.config.label_noise if kind == Kind.TRUTH else 0.0
        with np.errstate(divide="ignore"):
            return log_p + np.where(says == label, *np.log([1 - wrong, wrong]))

    def _draws(self, relation):
        """float[worlds, rows, K], what was drawn from each row of a relation; and float[rows, 1], its mass.

        A row per upstream object, then one for facts without an upstream fact.
        """
        graph, z = self.graph, self.z
        objects, up = graph.candidates_of(relation), graph.upstream[relation]
        rows = np.append(graph.candidates_of(up) if up >= 0 else [], -1)
        mass = np.where(rows < 0, self.config.root_mass, self.config.row_mass)[:, None]
        counts = np.zeros((len(next(iter(z.values()))), len(rows), len(objects)))
        for f in np.flatnonzero(graph.relation == relation).tolist():
            above = int(graph.upstream_fact[f])
            row = z[above][:, None] == rows if above >= 0 else rows[None] == -1
            drawn = z[f][:, None] == objects if f in z else self._stated(f)[None]
            counts += row[:, :, None] * drawn[:, None, :]
        return counts, mass

    def _stated(self, fact):
        """float[K]: how often each object of a fact was stated."""
        objects = self.graph.candidates_of(self.graph.relation[fact])
        counts = np.zeros(len(objects))
        for (kind, _, (s, r, o), _, _), times in self.said.items():
            if kind == Kind.ATOMIC and self.fact[s, r] == fact:
                counts += times * (objects == o)
        for f, o, count in self.extra:
            if f == fact:
                counts += count * (objects == o)
        return counts

    def _next_draw(self, relation):
        """float[worlds, rows, K]: probability of the next draw from each row of a relation."""
        if self.config.rows == "given":
            shares, table = rows_of(self.graph, self.config)[relation]
            rows = shares[None] if table is None else np.vstack([table, shares])
            return np.broadcast_to(rows, (len(next(iter(self.z.values()))), *rows.shape))
        counts, mass = self._draws(relation)
        return (mass / counts.shape[-1] + counts) / (mass + counts.sum(axis=2, keepdims=True))
