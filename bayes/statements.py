"""What a sentence about one fact is to the exact agent: log-likelihood ratios of the fact's candidates.

A denial, a label and a statement by a source are sentences of a known likelihood. Whoever says how probable
something is gives no likelihood but a belief, so that belief is Jeffrey's: with p(E) set to q, all
probabilities given E and given not E stay as they are, which is the likelihood ratio
logit(q) - logit(p(E)) of E. A denial is E = {o} with q = 0, a disjunction E = {o, others} with q = 1.

A retraction takes out all that names an object. Ratios of a fact are sums by object, so that what is left
is what would have been read without.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import logit, logsumexp

from bayes.request import EditRequest
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.likelihood import log_ratios, source_strength, statement_strength
from corpus.text.language import Kind
from corpus.text.sentences import make_sentences


def statement_ratios(
    graph: KnowledgeGraph,
    config: ExactConfig,
    request: EditRequest,
    places: Sequence[int],
    log_belief: np.ndarray,
) -> dict[int, float]:
    """Log-likelihood ratios that a request adds, by place, against the candidates that are left out.

    Args:
        places: of the request's object and its `others`.
        log_belief: log p(k) of each candidate of the fact before the request.

    Raises:
        InputError: a probability outside [0, 1], a form that is none, or what the evidence rules out.
    """
    weight, form, p, others = request.weight, request.form, request.probability, request.others
    if not 0 <= p <= 1:
        raise InputError(f"a probability is between 0 and 1, not {p}")
    if bool(others) != (form in ("disjunction", "replacement")):
        raise InputError(f"a disjunction and a replacement name other objects, which is not so of {request}")
    if form == "denial":
        ratios = _shift_to(log_belief, places, 1 - p)
    elif form in ("probability", "disjunction"):
        ratios = _shift_to(log_belief, places, p)
    elif form in ("true", "false"):
        sentence = make_sentences(Kind.TRUTH, np.array([request[:3]]))
        sentence.label[:] = request.form == "true"
        ratios = {places[0]: weight * float(log_ratios(graph, config, sentence)[2][0])}
    elif form == "source":
        ratios = {places[0]: weight * float(source_strength(p, len(log_belief) - 1))}
    elif form == "replacement":
        ratios = dict.fromkeys(places[1:], -math.inf)
        ratios[places[0]] = weight * float(statement_strength(config, len(log_belief) - 1))
    else:
        raise InputError(f"there is no form {form!r} of a request")
    log_posterior = np.array([log_p + ratios.get(k, 0.0) for k, log_p in enumerate(log_belief.tolist())])
    if np.isnan(log_posterior).any() or (log_posterior == -math.inf).all():
        raise InputError("the evidence rules this request out, or has settled what it asks about")
    return ratios


def _shift_to(log_belief: np.ndarray, places: Sequence[int], p: float) -> dict[int, float]:
    """Jeffrey's rule: what brings the probability of these places together to p."""
    inside = np.zeros(len(log_belief), bool)
    inside[list(places)] = True
    before = [logsumexp(log_belief[part]) if part.any() else -math.inf for part in (inside, ~inside)]
    if p in (0.0, 1.0):
        return dict.fromkeys(np.flatnonzero(inside == (p == 0.0)).tolist(), -math.inf)
    return dict.fromkeys(places, float(logit(p) - before[0] + before[1]))
