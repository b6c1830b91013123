"""Where does `self-bayes` lose consequences at twelve layers: in reading, in reasoning, or in its fit?

Command:
    python -m experiments.fit_rate

Two models learn the demo's world in documents of three sentences: the demo's, of two layers, and one as wide
of twelve, by the recipe of `experiments.twelve_layers`. Of each the beliefs are read once, and every request
is worked out and compared with the agent. Then edits that are worked out rightly are fitted, those of twelve
layers at several rates of Adam, so that whatever is lost there is lost by the fit alone:

follows            the consequence has the agent's new answer, of those worked out rightly
stated             the request is the model's answer
others' answers    share of the model's answers about random facts of others that stay as they were
nats left          what the last step still found between the model and all it should say; an edit ends early
                   once no answer is further than the editor's tolerance from its target

Twelve layers take four minutes of one core to train, and two for the edits of each rate. Writes
experiments/records/<date>-fit-rate.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from corpus.seeds import generator
from corpus.text.tokenizer import PAD
from experiments.command import launch_module
from experiments.measures.dependence_search import Search, search_dependence
from experiments.measures.worked_out import consequence_questions, infer_consequences_of
from experiments.studies import twelve_layers
from experiments.study import (
    Changes,
    Edits,
    Findings,
    Study,
    StudyOptions,
    Values,
    finish_stages,
    record_tables,
)
from lm.config import ModelConfig
from lm.editors.interface import Request, edit_once, make_requests, vocabulary_of
from lm.editors.self_bayes import SelfBayesConfig
from lm.editors.self_bayes.beliefs import Beliefs, read_beliefs
from lm.editors.self_bayes.dependence import find_dependence
from lm.editors.self_bayes.method import SelfBayes
from lm.editors.self_bayes.reasoning import Mind, build_mind
from lm.editors.self_bayes.revision import next_log_probabilities
from lm.language_model import LanguageModel
from testbed.console import say, show_progress
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.hase import CHILD
from testbed.evaluations.hase.metrics import rows_of_role
from testbed.presets import EDIT
from testbed.run.model import load_model
from testbed.run.runs import Run
from testbed.run.runtime import prepare_jax
from testbed.run.world import World, load_world
from testbed.scores.metric import DISTANCE, Metric, mean_of
from testbed.scores.readers import has_to_change, is_as_good
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import Cell, Table

Depth = Literal[2, 12]
FOLLOWS, STATED, OTHERS, LEFT, STEPS = "follows", "stated", "others' answers", "nats left", "steps"
OTHER_FACTS = 150
"""Facts whose answers are compared before and after."""
WIDTH = 128
OWN_RATE = SelfBayesConfig().fit.learning_rate
COLUMNS = (FOLLOWS, STATED, OTHERS, LEFT, STEPS)
WORKED_OUT = "worked out rightly"


@dataclass(frozen=True)
class Settings(StudyOptions):
    """Which models, and how many edits at which rates."""

    depths: tuple[Depth, ...] = (2, 12)
    """Layers of the models."""
    rates: tuple[float, ...] = (0.01, 0.003, 0.001)
    """Learning rates of the fit at twelve layers; two take 0.003, the editor's own."""
    requests: int = 40
    """Requests that are worked out."""
    edits: Edits = 8
    """Of those worked out rightly, so many are fitted at each rate."""
    steps: int = 180
    """Training steps of twelve layers."""
    seed: int = 8
    """Of world, models and requests; a rate may be chosen on 7 only."""

    def run(self, depth: Depth) -> Run:
        """Where the model of a depth is."""
        return Run(self.runs, f"fit-rate-{depth}-{self.seed}")


class Reading(NamedTuple):
    """What the editor makes of a model before it fits anything.

    Attributes:
        results: the requests, with what the agent makes of them.
        right: of the world's facts, the share that it reads as the corpus has them.
        search: the dependences that it finds.
        must, worked_out: bool[E], consequences that must change, and of these the ones that it works out
            rightly.
    """

    model: LanguageModel
    world: World
    results: Results
    mind: Mind
    right: float
    search: Search
    must: np.ndarray
    worked_out: np.ndarray


def training_of(cell: Values) -> Changes:
    """The model of a depth, as wide as the demo's, and how it is trained."""
    narrow = ModelConfig(hidden=WIDTH, mlp=4 * WIDTH, layers=12, heads=2, kv_heads=2, unroll=12)
    own = {
        "model": narrow, "train.adam-learning-rate": 0.01, "train.evaluate-every": 60,
        "train.checkpoint-every": 100,
    }  # fmt: skip
    return twelve_layers.training_of(cell) | (own if cell["layers"] == 12 else {})


def draw_requests(settings: Settings, depth: Depth) -> Results:
    """A model that is made where it is missing, and requests with what the agent makes of them."""
    cell = {"layers": depth, "seed": settings.seed, "editors": ("none",), "edits": settings.requests}
    unedited = Study(
        options=settings,
        cells=lambda _: [cell],
        run="fit-rate-{layers}-{seed}",
        corpus=lambda _: {"documents.length": 3},
        train=training_of,
        edit=lambda _: {"hase.edits": "upstream", "hase.reinforce": 0.0},
    )
    findings = Findings("fit_rate", unedited, settings)
    finish_stages(findings.stages(), findings.clock)
    return findings.results()[0].results


def share_read_right(beliefs: Beliefs, world: World) -> float:
    """Of the world's facts, the share whose object is the most probable one that was read."""
    graph, tokenizer = world.graph, world.tokenizer
    subjects = {tuple(row[row != PAD].tolist()[1:]): i for i, row in enumerate(beliefs.subjects)}
    objects = [tuple(row[row != PAD].tolist()[:-1]) for row in beliefs.objects]
    right = 0
    for s, r, o in zip(graph.subject.tolist(), graph.relation.tolist(), graph.object.tolist(), strict=True):
        place = subjects.get(tuple(tokenizer.entity(s)))
        right += place is not None and objects[beliefs.top[r, place, 0]] == tuple(tokenizer.entity(o))
    return right / len(graph)


def fit_edits(reading: Reading, which: np.ndarray, rate: float) -> dict[str, Metric]:
    """What edits at one rate came to: COLUMNS.

    Args:
        which: int[N], the cases that are edited.
    """
    model, world, results = reading.model, reading.world, reading.results
    config = SelfBayesConfig()
    editor = SelfBayes(replace(config, fit=replace(config.fit, learning_rate=rate)))
    questions, graph = consequence_questions(results), world.graph
    requests = _requests_of(world, questions[:, :3])
    followers = _requests_of(world, questions[:, [0, 3, 2]]).prompt
    facts = np.stack([graph.subject, graph.relation, graph.object], axis=1)
    drawn = generator(len(facts), "others").permutation(len(facts))[:OTHER_FACTS]
    prompts = _requests_of(world, facts[drawn]).prompt[:, 0]
    before = np.asarray(_ask(model, prompts))
    objects = {world.tokenizer.entity(int(o))[0]: int(o) for o in graph.objects}
    count, answers = len(results), np.full(len(results.choices.case), -1)
    stated = np.zeros(count, bool)
    others, left, steps = (np.zeros(count) for _ in range(3))
    with show_progress(f"edits at {rate:g}", len(which)) as advance:
        for i in which.tolist():
            request = jax.tree.map(lambda x, i=i: jnp.asarray(x[i]), requests)
            delta, info = edit_once(editor, model, reading.mind, request, jax.random.key(i))
            edited = model.with_delta(delta)
            asked = np.concatenate([request.prompt, followers[i]])
            requested, following = np.asarray(_ask(edited, asked)).tolist()
            row = rows_of_role(results, CHILD)[i]
            answers[row] = objects.get(following, -1)
            stated[i] = requested == int(request.answer[0, 0])
            stays = np.asarray(_ask(edited, prompts)) == before
            others[i] = stays[facts[drawn, 0] != questions[i, 0]].mean()
            steps[i] = info.steps
            left[i] = info.loss[info.steps - 1]
            advance(1)
    among = np.isin(np.arange(count), which)
    follows = is_as_good(results.choices, answers, 1)[rows_of_role(results, CHILD)]
    return {
        FOLLOWS: mean_of(follows, among),
        STATED: mean_of(stated, among),
        OTHERS: mean_of(others, among)._replace(limits=DISTANCE),
        LEFT: mean_of(left, among),
        STEPS: mean_of(steps, among),
    }


def _requests_of(world: World, facts: np.ndarray) -> Request:
    """Requests for facts int[n, 3], as sure as the editors' own are by default."""
    credence = EDIT["tiny"].cases.credence
    return make_requests(
        world.tokenizer, list(map(tuple, facts.tolist())), np.zeros(len(facts)), np.full(len(facts), credence)
    )


@jax.jit
def _ask(model: LanguageModel, prompts: jax.Array) -> jax.Array:
    """int32[n]: the first token of what a model answers."""
    return next_log_probabilities(model, prompts).argmax(axis=1)


def read_model(settings: Settings, depth: Depth) -> Reading:
    """What the editor reads in a model, finds in that and works out."""
    results = draw_requests(settings, depth)
    world = load_world(settings.run(depth))
    model, _ = load_model(settings.run(depth), world)
    config, vocabulary = SelfBayesConfig(), vocabulary_of(world.tokenizer)
    beliefs = read_beliefs(model, vocabulary, config.beliefs)
    dependence = find_dependence(beliefs, config.dependence)
    mind = build_mind(beliefs, dependence, vocabulary, config.dependence.seldom)
    inferred = infer_consequences_of(model, mind, world, consequence_questions(results))
    choices, row = results.choices, rows_of_role(results, CHILD)
    answers = np.full(len(choices.case), -1)
    answers[row] = inferred.answer
    must = results.cases["child"] & has_to_change(choices)[row]
    worked_out = is_as_good(choices, answers, 1)[row] & (inferred.moves >= 0.5)
    right = share_read_right(beliefs, world)
    search = search_dependence(beliefs, world.graph.upstream)
    return Reading(model, world, results, mind, right, search, must, must & worked_out)


def run_study(settings: Settings) -> None:
    """Models, edits, tables, record."""
    prepare_jax()
    parts: list[list[Cell]] = []
    fits: list[list[Cell]] = []
    for depth in settings.depths:
        reading = read_model(settings, depth)
        worked_out = _estimate(reading, {WORKED_OUT: mean_of(reading.worked_out, reading.must)})[WORKED_OUT]
        search = reading.search
        dependences = f"{search.found} of {search.pairs[0]}", search.false, search.right
        share = f"{reading.right:.3f}"
        parts.append([str(depth), share, *dependences, worked_out.cases, worked_out])
        say(f"{depth} layers: {share} of the facts read rightly, {search}")
        which = np.flatnonzero(reading.worked_out)[: settings.edits]
        for rate in (OWN_RATE,) if depth == 2 else settings.rates:
            row = _estimate(reading, fit_edits(reading, which, rate))
            fits.append([str(depth), f"{rate:g}", *row.values()])
            say(f"{depth} layers, {rate:g}: {', '.join(f'{k} {v.value:.3f}' for k, v in row.items())}")
    dependence_columns = ["dependences found", "false", "cause right"]
    tables = [
        Table(
            "parts",
            "What is read and worked out",
            ["layers", "facts read", *dependence_columns, "must change", WORKED_OUT],
            parts,
        ),
        Table("fits", f"{settings.edits} of those, fitted", ["layers", "rate", *COLUMNS], fits),
    ]
    record_tables(settings, settings.run(settings.depths[-1]), tables)


def _estimate(reading: Reading, metrics: Mapping[str, Metric]) -> dict[str, Estimate]:
    results = reading.results
    return estimate_metrics(metrics, cluster_levels(results), np.ones(len(results), bool))


if __name__ == "__main__":
    launch_module()
