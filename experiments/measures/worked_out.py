"""What `self-bayes` works out about a request before anything is fitted, and what becomes of it."""

from typing import NamedTuple

import jax
import numpy as np

from corpus.text.tokenizer import PAD, SEP
from lm.editors.interface import make_requests
from lm.editors.self_bayes.reasoning import Consequences, Mind, infer_consequences, locate_request
from lm.language_model import LanguageModel
from testbed.engine.results import Results
from testbed.evaluations.hase import CHILD
from testbed.evaluations.hase.metrics import rows_of_role
from testbed.run.world import World
from testbed.scores.metric import Metric, mean_of
from testbed.scores.readers import has_to_change, is_as_good

ROW, MOVES, BOTH_RIGHT = "the row's answer is right", "it is taken to move", "worked out rightly"
FOLLOWS_THEN, FOLLOWS_ELSE = "follows, worked out rightly", "follows, otherwise"
FOLLOWS = "follows"


class InferredConsequences(NamedTuple):
    """What the editor makes of the consequence of each edit, before anything is fitted.

    Attributes:
        answer: int64[E], the likeliest object of its row; -1 where the editor sees no dependence or knows no
            such name.
        moves: float64[E], p(it is drawn from that row).
    """

    answer: np.ndarray
    moves: np.ndarray


def infer_consequences_of(
    model: LanguageModel, mind: Mind, world: World, questions: np.ndarray
) -> InferredConsequences:
    """The first part of an edit by `self-bayes`, for requests and the relation asked about: int[E, 4]."""
    tokenizer = world.tokenizer
    facts = [(int(s), int(r), int(o)) for s, r, o in questions[:, :3]]
    encoded_requests = make_requests(tokenizer, facts, np.zeros(len(facts)), np.ones(len(facts)))
    one_each = jax.tree.map(lambda x: x[:, 0], encoded_requests)

    @jax.jit
    def infer_batch(model: LanguageModel, mind: Mind, batch: object) -> Consequences:
        return jax.lax.map(
            lambda request: infer_consequences(mind, locate_request(model, mind, request)), batch
        )

    inferred = jax.tree.map(np.asarray, infer_batch(model, mind, one_each))
    there = inferred.real & (inferred.relation == questions[:, 3:])
    where = np.arange(len(questions)), there.argmax(1)
    objects = {(*tokenizer.entity(int(o)), SEP): int(o) for o in world.graph.objects}
    names = np.asarray(mind.objects)[inferred.objects[*where, 0]]
    answers = [objects.get(tuple(x for x in name.tolist() if x != PAD), -1) for name in names]
    some = there.any(1)
    return InferredConsequences(np.where(some, answers, -1), np.where(some, inferred.moves[where], 0.0))


def following_metrics(results: Results, inferred: InferredConsequences) -> dict[str, Metric]:
    """ROW to FOLLOWS_ELSE, over the consequences that must change."""
    c, row = results.choices, rows_of_role(results, CHILD)
    must = results.cases["child"] & has_to_change(c)[row]
    everything = np.full(len(c.case), -1)
    everything[row] = inferred.answer
    right = is_as_good(c, everything, 1)[row]
    moves = inferred.moves >= 0.5
    follows = is_as_good(c, c.lm_answer[:, 1], 1)[row]
    both = right & moves
    return {
        FOLLOWS: mean_of(follows, must),
        ROW: mean_of(right, must),
        MOVES: mean_of(moves, must),
        BOTH_RIGHT: mean_of(both, must),
        FOLLOWS_THEN: mean_of(follows, must & both),
        FOLLOWS_ELSE: mean_of(follows, must & ~both),
    }


def consequence_questions(results: Results) -> np.ndarray:
    """int[E, 4]: each request, and the relation of its consequence."""
    cases, relation = results.cases, results.choices.relation[rows_of_role(results, CHILD)]
    return np.stack([cases["subject"], cases["relation"], cases["object"], relation], axis=1)
