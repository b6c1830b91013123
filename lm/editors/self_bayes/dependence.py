"""Which of a model's beliefs depend on which others, found in the beliefs alone.

Two things are read. What the model holds most probable of each subject is taken for data: if a relation
depends on another, its objects fall into rows, one for each object of the other, each drawn from a
Dirichlet, and a Bayes factor compares these rows with one table for all. The other is what the model holds
possible *besides* the most probable object. If every statement is a draw of its row, this rest looks like
the beliefs about others in the row; if a fact is drawn once and repeated, it looks like noise. So the rest
tells a cause from its effect, and whether facts persist. Neither is decided, both are averaged:

    log weight of a dependence = b + log(s exp(d) + (1 - s) exp(x)),
    p(persists | it is there) = s exp(d) / (s exp(d) + (1 - s) exp(x)),

b being the log Bayes factor of the modes, mean of both directions; d half of what this direction has more
than the other, times the share of rows among subjects; x nats a subject by which the rest looks like the
row, times the number of rows: subjects who share a row are no independent witnesses. Where statements are
draws, modes are not asked which is the cause: if hardly anybody shares one, they favour the effect. All
forests of dependences are equally likely before.

s is the share of a world's relations whose facts persist. Facts of one world mostly persist alike, so that it
is near 1 or near 0, each as likely before; the weights of all forests sum to how well each explains the
beliefs. So what one relation shows counts for all, and a cause that would make one relation persist where no
other does is seldom the true one.

Whether facts persist shows in how much doubt there is, too: if statements are draws, a subject is as unsure
as two who share a row differ; if facts persist, those differ and each is sure. Who shares a row is told by
the modes of the cause, and a cause that is itself drawn afresh is often not its mode, so that this counts as
far as the cause depends on nothing.
"""

from typing import NamedTuple

import jax
import numpy as np
from scipy.special import expit, gammaln, logsumexp, softmax

from corpus.forests import forest_posterior, likeliest_forest
from lm.attention import Array
from lm.editors.self_bayes import DependenceConfig
from lm.editors.self_bayes.beliefs import Beliefs
from lm.progress import tell_progress

MASSES = np.geomspace(0.03, 300.0, 17)
"""Masses that a row's Dirichlet may have, equally likely."""
FEWEST = 4
"""Subjects with both facts, below which nothing is inferred from them."""
LIKELY = 0.01
"""A relation that depends on others less probably than this counts as one that depends on nothing."""
SHARES = np.array([0.02, 0.98])
"""Shares of a world's relations whose facts persist: where statements are draws, and where they are not."""
LOW, TIMES, MOST = 0.3, 2.0, 0.25
"""Relations that a model mentions at less than the first share of the subject's most frequent one are mostly
unread or hardly read. At so many times their median, but at most at the last share, a fact counts as read
with probability one half. Chosen on models of development worlds."""
OWN_DOUBT, NATS = 0.7, 3.0
"""Share of a row's doubt that each subject has, from which on statements look like draws, and the nats that
the whole of it is worth. In readers of development worlds it is .33 to .59 where facts persist, and .83 to
.95 of draws."""
_LEAST = 1e-9


class Dependence(NamedTuple):
    """How the facts of one subject hang together in a model's mind.

    Attributes:
        parent: int32[R], the relation that each depends on in the likeliest forest, or -1.
        depends: float64[R, R], p(the second relation depends on the first), over all forests.
        gain: float64[R, R], log Bayes factor of rows by the first relation for the second's objects; nan
            where too few subjects have both.
        rest_likeness: float64[R, R], nats a subject by which the second's beliefs, their most probable
        object left     out, look like the row of others with the same object of the first.
        kappa: float32[R, R], how many subjects the prior of a row weighs as much as, for rows of the second
            relation by objects of the first.
        persists: float32[R], p(a subject's fact is drawn once, not with every statement | it depends on
            another), averaged over what it may depend on; 1 where it depends on nothing.
    """

    parent: np.ndarray
    depends: np.ndarray
    gain: np.ndarray
    rest_likeness: np.ndarray
    kappa: np.ndarray
    persists: np.ndarray

    @property
    def link_probability(self) -> np.ndarray:
        """float64[R, R]: p(either of two relations depends on the other)."""
        return self.depends + self.depends.T


class SomeBeliefs(NamedTuple):
    """The C most probable objects of n subjects, the most probable one first.

    Attributes:
        objects: int[n, C], from 0; of no meaning where the probability is 0.
        p: float64[n, C], sums to 1.
        size: how many objects any of the subjects may have.
    """

    objects: np.ndarray
    p: np.ndarray
    size: int

    def sum_in_rows(self, rows: np.ndarray) -> np.ndarray:
        """float64[n, C]: the probability that all subjects of a row, int[n], together give each object."""
        cells = rows[:, None] * self.size + self.objects
        return np.bincount(cells.ravel(), self.p.ravel())[cells]


def normalise(top: np.ndarray, p: np.ndarray) -> SomeBeliefs:
    """Beliefs that sum to 1, with their objects numbered.

    Args:
        top: int[n, C], objects, the most probable one first.
        p: float[n, C], their probability.
    """
    named, place = np.unique(np.where(p > 0, top, top[:, :1]), return_inverse=True)
    total = np.maximum(p.sum(axis=1, keepdims=True, dtype=np.float64), _LEAST)
    return SomeBeliefs(place.reshape(top.shape), p / total, len(named))


def reading_probability(mention_probability: Array, seldom: float | jax.Array) -> tuple[Array, Array]:
    """How often the model has read each fact, and whether it has at all, by how readily it says it.

    Args:
        mention_probability: float[R, ...], as in `Beliefs`.
        seldom: share of what is said most readily at which a fact is as likely as not to have been read.

    Returns:
        float[R, ...] twice: the share of what it says most readily of that subject, and a probability.
    """
    share = mention_probability / (mention_probability.max(axis=0) + _LEAST)
    return share, share**2 / (share**2 + seldom**2)


def seldom_share(beliefs: Beliefs, least: float) -> float:
    """The share at which a fact is as likely as not to have been read, in this model.

    A model blurs how often it speaks of each relation, and the more tokens names have, the more it does. So
    what it says of relations that it hardly mentions tells where those begin that it has read. What it is in
    doubt of it may have read all the same, so that the object does not count here.

    Args:
        least: what a model without blur needs.
    """
    relation_probability = beliefs.mention_probability / np.maximum(beliefs.p[:, :, 0], _LEAST)
    share = np.asarray(reading_probability(relation_probability, least)[0])
    low = share[share < LOW]
    return float(np.clip(TIMES * np.median(low), least, MOST)) if len(low) >= FEWEST else least


def find_dependence(beliefs: Beliefs, config: DependenceConfig) -> Dependence:
    """The forest of dependences among the relations, and what governs its rows."""
    relations = len(beliefs.p)
    seldom = seldom_share(beliefs, config.seldom)
    is_known = np.asarray(reading_probability(beliefs.mention_probability, seldom)[1] > 0.5)
    modes = beliefs.top[:, :, 0]
    gain, rest = (np.full((relations, relations), np.nan) for _ in range(2))
    kappa = np.ones((relations, relations))
    several, share, doubt = (np.zeros((relations, relations)) for _ in range(3))
    for down in tell_progress("dependences of relations", range(relations)):
        if is_known[down].sum() < FEWEST:
            continue
        known = normalise(beliefs.top[down, is_known[down]], beliefs.p[down, is_known[down]])
        modes_down = known.objects[:, 0]
        size = len(np.unique(modes_down))
        for up in range(relations):
            has_both = is_known[up] & is_known[down]
            if up == down or has_both.sum() < FEWEST:
                continue
            rows = np.unique(modes[up][has_both], return_inverse=True)[1]
            in_both = has_both[is_known[down]]
            evidence = _log_evidence(rows, modes_down[in_both], size)
            kappa[up, down] = MASSES[evidence.argmax()]
            no_rows_evidence = _log_evidence(0 * rows, modes_down[in_both], size)
            gain[up, down] = logsumexp(evidence) - logsumexp(no_rows_evidence)
            belief = SomeBeliefs(known.objects[in_both], known.p[in_both], known.size)
            rest[up, down] = _rest_likeness(rows, belief)
            several[up, down] = (np.bincount(rows) > 1).sum()
            share[up, down] = several[up, down] / len(rows)
            doubt[up, down] = share_of_doubt(rows, belief) - OWN_DOUBT
    rest_nats = several * np.nan_to_num(rest)
    # Whether a relation depends on nothing is found without the doubt, and tells where the doubt counts.
    without = average_worlds(gain, share, rest_nats, config.given)
    is_root = np.maximum(1 - without.depends.sum(axis=0), 0)
    doubt_nats = NATS * several * doubt * is_root[:, None]
    found = average_worlds(gain, share, rest_nats + doubt_nats, config.given)
    persists = found.persists
    if config.persistence is not None:
        persists = np.where(found.parent >= 0, config.persistence, 1.0)
    return Dependence(
        found.parent.astype(np.int32),
        found.depends,
        gain,
        rest,
        kappa.astype(np.float32),
        persists.astype(np.float32),
    )


class Forests(NamedTuple):
    """Dependences, averaged over worlds whose facts persist and others; `Dependence` says what each is."""

    parent: np.ndarray
    depends: np.ndarray
    persists: np.ndarray


def average_worlds(
    gain: np.ndarray, share: np.ndarray, fresh: np.ndarray, given: tuple[int, ...] | None = None
) -> Forests:
    """What depends on what, and whether it persists.

    Args:
        gain: float64[R, R], see `Dependence`.
        share: float64[R, R], rows among subjects.
        fresh: float64[R, R], nats by which the second's beliefs look like draws rather than like facts.
        given: the cause of each relation, or -1; found if left out.
    """
    scores, each = zip(*(_log_weights(gain, share, fresh, persistent) for persistent in SHARES), strict=True)
    if given is None:
        forests = [forest_posterior(weights) for weights in scores]
        depends, totals = [one.depends for one in forests], [one.log_total for one in forests]
    else:
        causes, effects = np.array(given), np.flatnonzero(np.array(given) >= 0)
        known = np.zeros_like(gain)
        known[causes[effects], effects] = 1
        depends = [known] * len(SHARES)
        totals = [weights[(known > 0) & np.isfinite(weights)].sum() for weights in scores]
    likely = softmax(totals)[:, None, None]
    parent = likeliest_forest(logsumexp(scores, b=likely, axis=0)) if given is None else causes
    total = (likely * depends).sum(axis=(0, 1))
    persists = (likely * depends * each).sum(axis=(0, 1)) / np.maximum(total, _LEAST)
    return Forests(parent, (likely * depends).sum(axis=0), np.where(total > LIKELY, persists, 1.0))


def share_of_doubt(rows: np.ndarray, belief: SomeBeliefs) -> float:
    """How unsure each is, of how unlike those in a row are: 1 if all draw from it, 0 if each is sure.

    Both are probabilities that two draws differ: of one belief, or of a belief and another's in its row.

    Args:
        rows: int[n], from 0 without gaps.
        belief: of n subjects.

    Returns:
        OWN_DOUBT, which says nothing, where nobody shares a row or all who do are sure of the same.
    """
    others = np.bincount(rows)[rows] - 1
    peers = (belief.sum_in_rows(rows) - belief.p) / np.maximum(others, 1)[:, None]
    own, row = (float((1 - (belief.p * x).sum(axis=1))[others > 0].sum()) for x in (belief.p, peers))
    return own / row if row > _LEAST else OWN_DOUBT


def _log_weights(
    gain: np.ndarray, share: np.ndarray, fresh: np.ndarray, persistent: float
) -> tuple[np.ndarray, np.ndarray]:
    """What speaks for the second relation depending on the first, and p(its facts persist | it does).

    Args:
        persistent: share of relations whose facts persist; the module says the rest.

    Returns:
        float64[R, R] twice; the first is -inf where too few subjects have both facts.
    """
    as_facts = np.log(persistent) + share * np.nan_to_num(gain - gain.T) / 2
    as_draws = np.log1p(-persistent) + fresh
    weight = (gain + gain.T) / 2 + np.logaddexp(as_facts, as_draws)
    return np.where(np.isnan(weight), -np.inf, weight), expit(as_facts - as_draws)


def _log_evidence(rows: np.ndarray, objects: np.ndarray, size: int) -> np.ndarray:
    """float64[MASSES]: log-probability of what was drawn from rows that are Dirichlet over `size` objects."""
    cells = np.unique(rows.astype(np.int64) * (int(objects.max()) + 1) + objects, return_counts=True)[1]
    totals = np.unique(rows, return_counts=True)[1]
    alpha, mass = MASSES[:, None] / size, MASSES[:, None]
    inside = (gammaln(alpha + cells) - gammaln(alpha)).sum(axis=1)
    return inside + (gammaln(mass) - gammaln(mass + totals)).sum(axis=1)


def _rest_likeness(rows: np.ndarray, belief: SomeBeliefs) -> float:
    """Nats a subject by which beliefs without their most probable object look like the row of others.

    Compared with the better of two: all objects alike, and everybody's beliefs. The row counts everybody's
    beliefs as one more subject.

    Args:
        rows: int[n], from 0 without gaps.
        belief: of n subjects.
    """
    n, size = len(rows), belief.size
    if size < 3:
        return 0.0
    p, own = belief.p, belief.p.sum(axis=1)
    count = np.bincount(rows)[rows]
    everybody = (belief.sum_in_rows(0 * rows) - p + 1 / size) / n
    all_everybody = (own.sum() - own + 1) / n
    peers = (belief.sum_in_rows(rows) - p + everybody) / count[:, None]
    all_peers = (np.bincount(rows, weights=own)[rows] - own + all_everybody) / count

    def without_mode(p: np.ndarray, total: np.ndarray) -> np.ndarray:
        return p[:, 1:] / np.maximum(total - p[:, 0], _LEAST)[:, None]

    rest_belief = without_mode(p, own)

    def mean_likeness(p: np.ndarray, total: np.ndarray) -> float:
        return float((rest_belief * np.log(np.maximum(without_mode(p, total), _LEAST))).sum(axis=1).mean())

    likeness = mean_likeness(everybody, all_everybody)
    return mean_likeness(peers, all_peers) - max(likeness, -np.log(size - 1))
