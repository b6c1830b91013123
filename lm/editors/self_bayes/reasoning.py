"""Bayes' rule on a model's own beliefs: what a request implies about its subject (design.md 5.3).

The exact agent of worlds whose facts are drawn from rows, with beliefs as data. Everybody but the subject
is resolved, so that a row is a count of peers; the subject's own facts follow the row that the request puts
it in, unless the model has read of them. All of it is pure, for one request, so that edits can be vmapped.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from corpus.text.tokenizer import PAD
from lm.attention import Array, left_padded_layout
from lm.editors.asking import compact_rows, relations_of, side_by_side, stem_of
from lm.editors.interface import Request, Vocabulary
from lm.editors.self_bayes import SelfBayesConfig
from lm.editors.self_bayes.beliefs import Beliefs
from lm.editors.self_bayes.dependence import Dependence, find_dependence, reading_probability, seldom_share
from lm.editors.self_bayes.recall import recall_beliefs
from lm.editors.self_bayes.reviser import UNKNOWN, Reading, Weights, conclude, load_weights, read_table
from lm.language_model import LanguageModel

MOST_PEERS = 256
"""Of those who have the requested object, as many make its row."""
DOUBT = 0.1
"""A dependence that is at least so probable is acted on, as counting does without asking."""
SLIGHT = 0.02
"""What moves with less probability is to stay."""
FEW = 24
"""Objects of a row that are named."""
ENOUGH = 256
"""Subjects whom a reviser reads all others by; of more, those at equal distances."""
ELSE = np.int32(2**31 - 1)
"""A token that none is: of a name that begins as the requested object does."""
MOST_TOLD = 0.95
"""An earlier edit counts as at most so many of a fact's own statements: the credence of most requests."""
_LEAST = 1e-9


class Mind(NamedTuple):
    """What `prepare` found; R relations, S subjects, K objects, of which each belief keeps C.

    Attributes:
        relations: int32[R, W], names, padded on the left.
        words: int32[len(Word)].
        subjects: int32[S, N], "<s> s", padded on the left.
        objects: int32[K, A], names with their ending, padded on the right.
        possible: bool[R, K], whether the model names an object with a relation.
        top: int32[R, S, C], objects of each belief, the most probable one first.
        p: float32[R, S, C], their probability; for facts that persist all of it is the first one's.
        reading_probability: float32[R, S], p(the model has read about this fact).
        share: float32[R, S], how often it has, as a share of what it has read most of that subject.
        counts: float32[R, S], how much a peer's fact weighs in its row.
        kappa, persists: float32[R, R] and float32[R], see `lm.editors.self_bayes.dependence`.
        seldom: float32[], see `lm.editors.self_bayes.dependence.reading_probability`.
        depends: float32[R, R], p(the second relation depends on the first).
        reach: int32[R, D, 2], what an edit of each relation may bear on, the nearest first: a relation, and
            the one next to it on the way; -1 as padding.
        reviser: what a learned reviser has read; None where one cause is asked.
    """

    relations: jax.Array
    words: jax.Array
    subjects: jax.Array
    objects: jax.Array
    possible: jax.Array
    top: jax.Array
    p: jax.Array
    reading_probability: jax.Array
    share: jax.Array
    counts: jax.Array
    kappa: jax.Array
    persists: jax.Array
    seldom: jax.Array
    depends: jax.Array
    reach: jax.Array
    reviser: "Reviser | None" = None


class Reviser(NamedTuple):
    """A learned reviser that has read what everybody has.

    Attributes:
        weights: those of the reviser.
        facts: int32[S, R], the first token of each known fact's object, or UNKNOWN.
        order: int32[R, R], for each relation itself and then all others.
        readings: what the table says of each relation, with a leading axis.
    """

    weights: Weights
    facts: jax.Array
    order: jax.Array
    readings: Reading


class RequestContext(NamedTuple):
    """A request as the mind sees it.

    Attributes:
        relation: int32[], which relation it is about.
        prompts: int32[R, P], its subject with every relation.
        is_subject: bool[S].
        requested_object: float32[K], 1 at the requested object; all 0 where the mind does not know it.
        holders_new, holders_old: float32[S], those who have the requested object, or what the model says now.
        share, reading_probability: float32[R], how often the model has read each fact of the subject, and
        whether at all.
        answers: int32[R], the first token of what the model says of each fact now.
        changed: float32[R], its probability where the mind has read another answer, else 0.
    """

    relation: jax.Array
    prompts: jax.Array
    is_subject: jax.Array
    requested_object: jax.Array
    holders_new: jax.Array
    holders_old: jax.Array
    share: Array
    reading_probability: Array
    answers: Array
    changed: Array


class Consequences(NamedTuple):
    """What Bayes' rule says of one request; Q relations that it bears on, some of them only padding.

    Attributes:
        relation: int32[Q], those that there are come first.
        real: bool[Q], whether there is such a relation.
        moves: float32[Q], p(the object is drawn from the new row | the request is true).
        objects: int32[Q, n], the FEW likeliest objects of the row.
        row: float32[Q, n], their probability in it, made to sum to 1.
    """

    relation: jax.Array
    real: jax.Array
    moves: jax.Array
    objects: jax.Array
    row: jax.Array


def read_mind(model: LanguageModel, vocabulary: Vocabulary, config: SelfBayesConfig) -> Mind:
    """What a model believes, and what depends on what, from nothing but the model and its language."""
    beliefs = recall_beliefs(model, vocabulary, config.beliefs)
    dependence = find_dependence(beliefs, config.dependence)
    mind = build_mind(beliefs, dependence, vocabulary, config.dependence.seldom)
    if config.asks == "one cause":
        return mind
    return mind._replace(reviser=read_everybody(mind, load_weights()))


def build_mind(beliefs: Beliefs, dependence: Dependence, vocabulary: Vocabulary, seldom: float) -> Mind:
    """Beliefs and how they depend on each other, as `edit` needs them.

    Args:
        seldom: at least; see `lm.editors.self_bayes.dependence.seldom_share`.
    """
    seldom = seldom_share(beliefs, seldom)
    share, probability_read = reading_probability(beliefs.mention_probability, seldom)
    persists = dependence.persists[:, None]
    # Everybody else is resolved: what persists is what it most probably is.
    first = np.arange(beliefs.p.shape[2]) == 0
    p = beliefs.p / np.maximum(beliefs.p.sum(axis=2, keepdims=True), 1e-9)
    possible = np.zeros((len(beliefs.top), len(beliefs.objects)), bool)
    for row, top, weight in zip(possible, beliefs.top, beliefs.p, strict=True):
        row[top[weight > 0]] = True
    return Mind(
        relations=jnp.asarray(relations_of(vocabulary)),
        words=jnp.asarray(vocabulary.words),
        subjects=jnp.asarray(beliefs.subjects),
        objects=jnp.asarray(beliefs.objects),
        possible=jnp.asarray(possible),
        top=jnp.asarray(beliefs.top),
        p=jnp.asarray(persists[..., None] * first + (1 - persists[..., None]) * p, jnp.float32),
        reading_probability=jnp.asarray(probability_read, jnp.float32),
        share=jnp.asarray(share, jnp.float32),
        counts=jnp.asarray(persists * probability_read + (1 - persists) * share, jnp.float32),
        kappa=jnp.asarray(dependence.kappa),
        persists=jnp.asarray(dependence.persists),
        seldom=jnp.float32(seldom),
        depends=jnp.asarray(dependence.depends, jnp.float32),
        reach=jnp.asarray(dependence_walks(dependence.parent, dependence.link_probability)),
    )


def locate_request(model: LanguageModel, mind: Mind, request: Request) -> RequestContext:
    """Whom and what one fact of a request is about, and what the model says of its subject now.

    Args:
        request: without leading axis.
    """
    length = request.prompt.shape[0]
    stem = stem_of(request)
    name = jnp.where(jnp.arange(length) <= request.subject_end, PAD, request.prompt)
    relation = jnp.argmax(_rows_equal(name, mind.relations))
    is_subject = _rows_equal(stem[0], mind.subjects)
    prompts = side_by_side(stem, mind.relations)

    # Names of relations padded on the right here, so that each token stands behind the one before.
    names = compact_rows(mind.relations)
    tokens = side_by_side(stem, names)
    hidden, _ = model.hidden_states(tokens, left_padded_layout(tokens))
    says = jax.nn.log_softmax(model.unembed(hidden[:, length - 1 :]))
    real = names != PAD
    name_log_probability = jnp.take_along_axis(says[:, :-1], names[..., None], axis=2)[..., 0]
    after = jnp.take_along_axis(says, real.sum(axis=1)[:, None, None], axis=1)[:, 0]
    mention_probability = jnp.exp(jnp.sum(name_log_probability, axis=1, where=real) + after.max(axis=1))
    share, read = reading_probability(mention_probability, mind.seldom)
    # An earlier edit also changes how readily the model speaks of the subject, but not what it has read.
    is_known, place = is_subject.any(), is_subject.argmax()
    share = jnp.where(is_known, mind.share[:, place], share)
    read = jnp.where(is_known, mind.reading_probability[:, place], read)
    answers, certainty = after.argmax(axis=1), jnp.exp(after.max(axis=1))
    answers_read = mind.objects[mind.top[:, place, 0], 0]
    modes = mind.top[relation, :, 0]
    known_of = mind.reading_probability[relation] * ~is_subject
    has_new = _rows_equal(request.answer, mind.objects, on_left=False)
    has_old = mind.objects[:, 0] == answers[relation]
    requested = has_new.astype(jnp.float32)
    return RequestContext(
        relation,
        prompts,
        is_subject,
        requested,
        known_of * has_new[modes],
        known_of * has_old[modes],
        share,
        read,
        answers,
        jnp.where(is_known & (answers != answers_read), certainty, 0.0),
    )


def dependence_walks(parent: np.ndarray, link_probability: np.ndarray) -> np.ndarray:
    """int32[R, D, 2]: what hangs together with each relation, walked from it (`Mind.reach`).

    First what may hang on it directly, though the likeliest forest say otherwise; then along that forest,
    what depends on a relation before what it depends on.
    """
    walks = []
    for start in range(len(parent)):
        walk, seen = [(start, start)], {start}
        for at, _ in walk:
            near = [*np.flatnonzero(parent == at).tolist(), int(parent[at])]
            if at == start:
                near += np.flatnonzero(link_probability[start] >= DOUBT).tolist()
            walk += [(r, at) for r in dict.fromkeys(near) if r >= 0 and r not in seen]
            seen |= {*near}
        walks.append(walk[1:])
    table = np.full((len(parent), max(1, *map(len, walks)), 2), -1, np.int32)
    for row, walk in zip(table, walks, strict=True):
        if walk:
            row[: len(walk)] = walk
    return table


def read_everybody(mind: Mind, weights: Weights) -> Reviser:
    """Have a reviser read what everybody has, for each relation once."""
    relations, subjects, _ = mind.top.shape
    modes = mind.objects[mind.top[:, :, 0], 0]
    facts = jnp.where(mind.reading_probability > 0.5, modes, UNKNOWN).T
    keys = jnp.asarray(np.unique(np.linspace(0, subjects - 1, ENOUGH).astype(int)))
    order = np.stack([[r, *np.delete(np.arange(relations), r)] for r in range(relations)])
    read = jax.jit(read_table)
    readings = [read(weights, facts[:, columns], keys) for columns in order]
    return Reviser(weights, facts, jnp.asarray(order), jax.tree.map(lambda *x: jnp.stack(x), *readings))


def ask_reviser(mind: Mind, request: RequestContext) -> Consequences:
    """What a learned reviser concludes, once the request is true, of all that it changes by it.

    A fact stays as it was read; of statements that are draws, the subject's own stay as far as they weigh
    beside those of everybody who has the requested object.
    """
    assert mind.reviser is not None
    weights, facts, order, readings = mind.reviser
    kinds, objects = mind.possible.shape
    every = jnp.arange(kinds)
    is_request = every == request.relation
    # The request's own object is told apart from others by its whole name.
    token = jnp.where(
        request.requested_object.any(), mind.objects[request.requested_object.argmax(), 0], ELSE
    )
    holds = request.requested_object[mind.top[request.relation, :, 0]] > 0
    column = facts[:, request.relation]
    told = facts.at[:, request.relation].set(jnp.where((column == token) & ~holds, ELSE, column))
    told = jnp.where(request.is_subject[:, None], UNKNOWN, told)
    before = jnp.where((request.reading_probability > 0.5) & ~is_request, request.answers, UNKNOWN)
    after = before.at[request.relation].set(token)

    def revise(relation: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        columns, reading = order[relation], jax.tree.map(lambda x: x[relation], readings)
        own = jnp.stack([before, after])[:, columns].at[:, 0].set(UNKNOWN)
        requested = jnp.stack([-1, jnp.argmax(columns == request.relation)])
        place = mind.top[relation, :, 0]
        log_p = conclude(weights, reading, told[:, columns], place, own, requested, mind.objects[:, 0])
        p, few = jax.lax.top_k(jnp.exp(log_p[1]), min(FEW, objects))
        changed = jnp.abs(jnp.exp(log_p[1]) - jnp.exp(log_p[0])).sum() / 2
        return changed, (few, p / jnp.maximum(p.sum(), _LEAST))

    changed, (few, p) = jax.lax.map(revise, every)
    weight = (request.holders_new * mind.counts).sum(axis=1)
    own = request.share / (request.share + weight + 1)
    persists = mind.persists
    moves = 1 - persists * request.reading_probability - (1 - persists) * own
    moves = jnp.where(is_request, 0.0, moves * jnp.minimum(changed / DOUBT, 1.0))
    first = jnp.argsort(-moves)
    return Consequences(first, moves[first] > SLIGHT, moves[first], few[first], p[first])


def infer_consequences(mind: Mind, request: RequestContext) -> Consequences:
    """What follows from the request for all that hangs together with it, one dependence after another.

    The object of a relation is drawn from the row that the object next to it on the way makes, a sum over
    what that may be, unless it stays as it was read.
    """
    kinds, objects = mind.possible.shape
    sure = jnp.zeros((kinds, objects)).at[request.relation].set(request.requested_object)
    start = sure, jnp.zeros(kinds).at[request.relation].set(1.0)

    def follow(carry: tuple, step: jax.Array) -> tuple:
        drawn_from, moved = carry
        real, (relation, near) = step[0] >= 0, jnp.maximum(step, 0)
        cause_belief, holds = drawn_from[near], mind.top[near, :, 0]
        weight = mind.reading_probability[near] * mind.counts[relation] * ~request.is_subject
        told = _told_probability(mind, request, relation, near, weight)
        total = mind.kappa[near, relation] + jnp.zeros(objects).at[holds].add(weight)
        unknown = jnp.maximum(1 - cause_belief.sum(), 0.0)
        # What no object that the mind knows would imply is the prior.
        prior = mind.kappa[near, relation] * jnp.vdot(cause_belief, 1 / total) + unknown
        possible = mind.possible[relation]
        weight, peers = jax.lax.top_k(weight * (cause_belief / total)[holds], min(MOST_PEERS, len(weight)))
        row = jnp.where(possible, prior / jnp.maximum(possible.sum(), 1), 0.0)
        row = row.at[mind.top[relation, peers]].add(weight[:, None] * mind.p[relation, peers])
        # What persists stays as it was read, as a cause does; own statements that are draws join the new row.
        own = request.share[relation] / jnp.maximum(1 - told, 1 - MOST_TOLD)
        drawn = jnp.vdot(cause_belief, own / (total + own)) + unknown * own / (
            mind.kappa[near, relation] + own
        )
        persists = mind.persists[relation]
        read = jnp.maximum(request.reading_probability[relation], told)
        depends = mind.depends[near, relation]
        depends = jnp.where(depends >= DOUBT, 1.0, depends)
        as_effect = depends * (1 - persists * read - (1 - persists) * drawn)
        as_cause = jnp.minimum(mind.depends[relation, near], 1 - depends) * (1 - read)
        moves = moved[near] * (as_effect + as_cause)
        p, few = jax.lax.top_k(row / row.sum(), min(FEW, objects))
        after = (
            jnp.where(real, drawn_from.at[relation].set(row / row.sum()), drawn_from),
            jnp.where(real, moved.at[relation].set(moves), moved),
        )
        return after, (relation, real & (moves > SLIGHT), moves, few, p / p.sum())

    return Consequences(*jax.lax.scan(follow, start, mind.reach[request.relation])[1])


def _told_probability(
    mind: Mind, request: RequestContext, relation: jax.Array, near: jax.Array, weight: jax.Array
) -> jax.Array:
    """float32[]: p(an earlier edit has told the model what it says of a relation of the subject now).

    What it says has probability told + (1 - told) row(o), if `row` is that of the object that `near` has now:
    what only follows from an earlier edit is as probable as its row makes it.

    Args:
        weight: float32[S], how much each other subject counts in that row if it has the object.
    """
    first_token = mind.objects[:, 0]
    has_cause = first_token[mind.top[near, :, 0]] == request.answers[near]
    has_answer = first_token[mind.top[relation, :, 0]] == request.answers[relation]
    weight = weight * has_cause
    row = jnp.vdot(weight, has_answer) / (mind.kappa[near, relation] + weight.sum())
    return jnp.maximum(request.changed[relation] - row, 0.0) / jnp.maximum(1 - row, _LEAST)


def sharpen_consequences(consequences: Consequences, sharpness: float) -> Consequences:
    """The odds that each fact moves raised to a power, so that little is left in the middle."""
    moves = jnp.clip(consequences.moves, _LEAST, 1 - 1e-6)
    odds = sharpness * (jnp.log(moves) - jnp.log1p(-moves))
    return consequences._replace(moves=jax.nn.sigmoid(odds))


def _rows_equal(row: Array, rows: jax.Array, on_left: bool = True) -> jax.Array:
    """bool[n]: whether tokens are those of each of n rows, all padded on the left, or on the right."""
    width = max(len(row), rows.shape[1])

    def fill(tokens: Array) -> jax.Array:
        missing = width - tokens.shape[-1]
        sides = [(0, 0)] * (tokens.ndim - 1) + [(missing, 0) if on_left else (0, missing)]
        return jnp.pad(tokens, sides, constant_values=PAD)

    return (fill(rows) == fill(row)).all(axis=1)
