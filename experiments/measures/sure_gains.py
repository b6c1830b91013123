"""Bets against edits: what is surely won from a model whose answers depend on what is no evidence.

A model's probabilities of a question's objects are prices of tickets that pay 1 if the object is the answer.
Whoever can make it quote two prices for one ticket buys at the lower and sells at the higher one. With a
ticket of each object, the sure gain is the total variation between two distributions of answers
(de Finetti 1937; for conditional bets Teller 1973):

    order      A and then B, or B and then A: the same two requests
    undoing    A and then the true fact, or nothing
    mixture    after "A, perhaps" (credence 0.5), or the mean of what is believed after that and "it is o"
               over the objects o, weighed by how probable they then were: bets called off unless it is o

Whoever conditions has 0 of the first and the last, but for objects that are left out; of the second the agent
has what the credence leaves open. A model that no edit changes has 0 of all three, so that two columns stand
beside them: how probable A's object is after A, and how far A moves its consequence.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from bayes.interface import Agent
from bayes.request import EditRequest
from corpus.files import read_json, write_json
from corpus.seeds import generator, integer
from experiments.study import Findings, Stage, Values
from lm.delta import Delta, compose_deltas
from lm.editors.interface import edit_batch
from testbed.engine.checks import prepare_editor
from testbed.engine.evidence import evidence_of
from testbed.engine.requests import tell_method
from testbed.open_run import OpenRun, open_run
from testbed.protocol import Case
from testbed.run.model import corpus_sample
from testbed.scores.distances import total_variation
from testbed.scores.metric import Metric
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import Cell, Table

PERHAPS = 0.5
AGENT = "the agent"
COLUMNS = {
    "believed": "A believed", "moved": "consequence moved", "order": "order", "undoing": "undoing",
    "mixture": "mixture",
}  # fmt: skip
"""What each bet comes to, as tables call it."""
MOST_SUBJECTS = 10**9
"""Of one world."""
MOST_OBJECTS = 4
"""Objects that the mixture is over, the likeliest; on others nobody bets."""
Answers = Callable[[Sequence[EditRequest]], np.ndarray]
"""Requests, one on top of the other -> float64[R, K]: what is then believed of each question of a bet."""


class Bet(NamedTuple):
    """What is bet on.

    Attributes:
        case: whose request is A.
        questions: relations of its subject: A's, its consequence's, and the others.
        second: B, about the consequence.
        truth: what A contradicts, as evidence to whoever heard A.
        perhaps: A with a credence of 0.5.
    """

    case: Case
    questions: tuple[int, ...]
    second: EditRequest
    truth: EditRequest
    perhaps: EditRequest


def bets_of(findings: Findings, cell: Values, name: str) -> Path:
    """The file of what is won from an editor in a world."""
    return findings.run_of(cell).folder / f"bets-{findings.options.edits}-{name.replace(' ', '-')}.json"


def betting_stages(findings: Findings) -> Iterator[Stage]:
    """Every world's model, and then the bets against every editor."""

    def bet(cell: Values, name: str) -> None:
        if not (path := bets_of(findings, cell, name)).exists():
            run = open_run(findings.run_of(cell).folder, "exact")
            write_json(path, {"bets": bet_against(run, name, findings.options.edits, cell["seed"])})

    for cell in findings.cells:
        yield from findings.model_stages(cell)
        for name in (AGENT, *findings.options.editors):
            yield f"bets against {name} in {findings.run_of(cell).name}", partial(bet, cell, name)


def gains_of(findings: Findings) -> dict[str, dict[str, Estimate]]:
    """What is won, by editor."""
    return {
        name: estimate_gains([read_json(bets_of(findings, cell, name))["bets"] for cell in findings.cells])
        for name in (AGENT, *findings.options.editors)
    }


def gains_table(findings: Findings) -> Iterator[Table]:
    """A row an editor."""
    rows: list[list[Cell]] = [[name, *gains.values()] for name, gains in gains_of(findings).items()]
    note = (
        "The last three: what is surely won for each unit at stake, a mean over a subject's questions. "
        "± is half of a 95% interval over worlds and subjects."
    )
    yield Table("bets", "Bets against two edits", ["editor", *COLUMNS.values()], rows, note)


def bet_against(run: OpenRun, name: str, count: int, seed: int) -> list[dict[str, float]]:
    """Edit by one editor, or ask the agent itself, and say what is won in each of some bets."""
    bets, objects = draw_bets(run, count, seed), run.world.graph.objects
    if name == AGENT:
        answers = [agent_answers(run, bet) for bet in bets]
    else:
        edited = EditedAnswers(run, name, bets, seed)
        answers = [edited.of(bet) for bet in bets]
    subjects = [bet.case.request.subject for bet in bets]
    return [
        {"subject": subject} | sure_gains(bet, objects, of)
        for subject, bet, of in zip(subjects, bets, answers, strict=True)
    ]


def estimate_gains(by_world: Sequence[Sequence[dict[str, float]]]) -> dict[str, Estimate]:
    """Means over the bets of all worlds, with intervals over worlds and subjects."""
    rows = [*chain.from_iterable(by_world)]
    world = np.repeat(np.arange(len(by_world)), [*map(len, by_world)])
    clusters = {"subject": world * MOST_SUBJECTS + [row["subject"] for row in rows], "world": world}
    values = {name: np.array([row[name] for row in rows]) for name in COLUMNS}
    metrics = {name: Metric(of, np.ones(len(of)), limits=(0, 1)) for name, of in values.items()}
    return estimate_metrics(metrics, clusters, np.ones(len(rows), bool))


def draw_bets(run: OpenRun, count: int, seed: int) -> list[Bet]:
    """Requests that should change a consequence, drawn as in Hase's evaluation, and second ones about it."""
    graph, rng, bets = run.world.graph, generator(seed, "bets"), []
    for case in run.cases("hase", count, seed=seed, edits="upstream", reinforce=0.0, changing=True):
        s, r = case.request.subject, case.request.relation
        own = graph.relation[graph.subject == s]
        consequence = next(int(q) for q in own if graph.upstream[q] == r)
        others = (int(q) for q in own if q not in (r, consequence))
        objects = graph.candidates_of(consequence)
        second = EditRequest(s, consequence, int(rng.choice(objects)))
        heard = run.agent.with_edit(case.request)
        truth = evidence_of(heard, EditRequest(s, r, case.truth), case.credence)
        perhaps = evidence_of(run.agent, EditRequest(s, r, case.request.object), PERHAPS)
        second = evidence_of(run.agent, second, case.credence)
        bets.append(Bet(case, (r, consequence, *others), second, truth, perhaps))
    return bets


def sure_gains(bet: Bet, objects: np.ndarray, answers: Answers) -> dict[str, float]:
    """What is surely won for each unit at stake, the mean over a bet's questions; and what A does.

    Args:
        objects: int[K], the columns of answers.
    """
    first, second, truth, perhaps = bet.case.request, bet.second, bet.truth, bet.perhaps
    before, after, unsure = answers([]), answers([first]), answers([perhaps])
    likeliest = np.argsort(-unsure[0], kind="stable")[:MOST_OBJECTS]
    weights = unsure[0, likeliest] / unsure[0, likeliest].sum()
    settled = [EditRequest(*first[:2], int(o), kind="correction") for o in objects[likeliest]]
    mixed = np.tensordot(weights, [answers([perhaps, one]) for one in settled], 1)
    pairs = {
        "order": (answers([first, second]), answers([second, first])),
        "undoing": (before, answers([first, truth])),
        "mixture": (unsure, mixed),
    }
    gains = {name: float(total_variation(*pair).mean()) for name, pair in pairs.items()}
    believed = float(after[0, np.searchsorted(objects, first.object)])
    return gains | {"believed": believed, "moved": float(total_variation(before, after)[1])}


def agent_answers(run: OpenRun, bet: Bet) -> Answers:
    """Those of the agent."""

    def answer(requests: Sequence[EditRequest]) -> np.ndarray:
        agent: Agent = run.agent
        for request in requests:
            agent = agent.with_edit(request)
        return agent.distributions(
            np.full(len(bet.questions), bet.case.request.subject), np.array(bet.questions)
        )

    return answer


class EditedAnswers:
    """Those of a run's model, edited by an editor that is prepared once.

    Args:
        name: an editor that is told the request alone.
    """

    def __init__(self, run: OpenRun, name: str, bets: Sequence[Bet], seed: int) -> None:
        self.run, self.key = run, jax.random.key(integer(seed, "editor"))
        _, self.method = run.method_of(name, run.settings)
        sample = corpus_sample(run.run, run.world, [bet.case for bet in bets], seed)
        self.state = prepare_editor(self.method.editor, run.model, sample)

    def of(self, bet: Bet) -> Answers:
        """Its answers to a bet's questions; what requests have in common is edited once."""
        objects = self.run.world.graph.objects
        deltas: dict[tuple[EditRequest, ...], Delta | None] = {(): None}

        def answer(requests: Sequence[EditRequest]) -> np.ndarray:
            delta = self._delta_after(bet, tuple(requests), deltas)
            ask = self.run.answers.model_answers(delta)
            rows = [sorted(ask(bet.case.request.subject, r, len(objects))) for r in bet.questions]
            return np.array([[p for _, p in row] for row in rows])

        return answer

    def _delta_after(
        self, bet: Bet, requests: tuple[EditRequest, ...], deltas: dict[tuple[EditRequest, ...], Delta | None]
    ) -> Delta | None:
        if requests not in deltas:
            *earlier, latest = requests
            carried = self._delta_after(bet, tuple(earlier), deltas)
            credence = PERHAPS if latest == bet.perhaps else bet.case.credence
            case = bet.case._replace(request=latest, credence=credence)
            told = tell_method(self.run.world.tokenizer, [case], self.method)
            model = self.run.model.with_delta(carried)
            made, _ = edit_batch(self.method.editor, model, self.state, told[""].batch, self.key[None])
            deltas[requests] = compose_deltas(carried, jax.tree.map(lambda x: x[0], made))
        return deltas[requests]
