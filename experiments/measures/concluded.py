"""What `keyed` has read of a world, and what it concludes from that before it fits anything."""

import jax
import numpy as np

from corpus.text.tokenizer import BOS, PAD, SEP
from lm.editors.interface import make_requests
from lm.editors.self_bayes.reasoning import Consequences, Mind, infer_consequences, locate_request
from lm.language_model import LanguageModel
from testbed.engine.results import Results
from testbed.evaluations.hase import CHILD
from testbed.evaluations.hase.metrics import rows_of_role
from testbed.protocol import ABSENT
from testbed.run.world import World
from testbed.scores.metric import Metric, mean_of
from testbed.scores.readers import has_to_change, is_as_good
from testbed.scores.tables import Cell, Table

FACTS, NOBODY, RIGHT = "facts that it takes for read", "nobody has, taken for read", "modes that are right"


def answered_metric(results: Results, answers: np.ndarray) -> Metric:
    """Of consequences that must change, those to which an object is the right answer: int[E], -1 for none."""
    c, row = results.choices, rows_of_role(results, CHILD)
    there, answer = (row != ABSENT) & results.cases["child"], np.full(len(c.case), -1)
    answer[row[there]] = answers[there]
    return mean_of(is_as_good(c, answer, 1)[row] & (answers >= 0), there & has_to_change(c)[row])


def find_named(subjects: np.ndarray, world: World) -> np.ndarray:
    """int64[...]: a world's subjects that are among some names, int[S, N], "<s> s" padded on the left."""
    there = {tuple(world.tokenizer.entity(int(s)).tolist()): int(s) for s in world.graph.subjects}
    names = (tuple(row[(row != PAD) & (row != BOS)].tolist()) for row in subjects)
    return np.array([there[name] for name in names if name in there], int)


def infer_answers(
    model: LanguageModel, mind: Mind, world: World, results: Results
) -> tuple[np.ndarray, np.ndarray]:
    """The first part of each edit by `self-bayes`, about the consequence that is asked for.

    Returns:
        int64[E], the likeliest object, -1 where it sees no dependence or knows no such name; and float64[E],
        p(the consequence changes).
    """
    cases, tokenizer = results.cases, world.tokenizer
    facts = [*zip(*(cases[name].tolist() for name in ("subject", "relation", "object")), strict=True)]
    requests = make_requests(tokenizer, facts, np.zeros(len(facts)), np.ones(len(facts)))

    @jax.jit
    def infer_batch(model: LanguageModel, mind: Mind, batch: object) -> Consequences:
        return jax.lax.map(
            lambda request: infer_consequences(mind, locate_request(model, mind, request)), batch
        )

    inferred = infer_batch(model, mind, jax.tree.map(lambda x: x[:, 0], requests))
    inferred = jax.tree.map(np.asarray, inferred)
    relation = results.choices.relation[rows_of_role(results, CHILD)]
    there = inferred.real & (inferred.relation == relation[:, None])
    where = np.arange(len(facts)), there.argmax(1)
    objects = {(*tokenizer.entity(int(o)), SEP): int(o) for o in world.graph.objects}
    names = np.asarray(mind.objects)[inferred.objects[*where, 0]]
    answers = np.array([objects.get(tuple(name[name != PAD].tolist()), -1) for name in names])
    some = there.any(1)
    return np.where(some, answers, -1), np.where(some, inferred.moves[where], 0.0)


def read_table(mind: Mind, world: World) -> Table:
    """By relation: facts it takes for read, and whose answer it has right; what it believes of nobody."""
    graph, spell = world.graph, world.tokenizer.entity
    subjects, objects = np.asarray(mind.subjects), np.asarray(mind.objects)
    taken = np.asarray(mind.reading_probability) >= 0.5
    place = {tuple(row[(row != PAD) & (row != BOS)].tolist()): i for i, row in enumerate(subjects)}
    at = np.array([place.get(tuple(spell(int(s))), -1) for s in graph.subject])
    said = objects[np.asarray(mind.top)[graph.relation, at, 0]]
    right = np.array([
        tuple(row[row != PAD].tolist()) == (*spell(int(o)), SEP)
        for row, o in zip(said, graph.object, strict=True)
    ])  # fmt: skip
    has = np.zeros(taken.shape, bool)
    has[graph.relation[at >= 0], at[at >= 0]] = True
    known = np.isin(np.arange(len(subjects)), at)
    rows: list[list[Cell]] = []
    for r, name in enumerate(graph.relations):
        of = (graph.relation == r) & (at >= 0)
        nobody = int((taken[r] & known & ~has[r]).sum())
        rows.append([name, float(taken[r, at[of]].mean()), nobody, float(right[of].mean())])
    return Table("read", "What it has read", ["relation", FACTS, NOBODY, RIGHT], rows)
