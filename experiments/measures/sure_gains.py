"""Bets against edits: what is surely won from a model whose answers depend on what is no evidence.

A model's probabilities of a question's objects are prices of tickets that pay 1 if the object is the answer.
Whoever can make it quote two prices for one ticket buys at the lower and sells at the higher one. With a
ticket of each object, the sure gain is the total variation between two distributions of answers
(de Finetti 1937; for conditional bets Teller 1973):

    order      A and then B, or B and then A: the same two requests
    undoing    A and then the true fact, or nothing
    retraction A and then that it is taken back, or nothing
    credence   A with a credence of 0.8 and then with 0.5, or with 0.5 at once
    mixture    after "A, perhaps" (credence 0.5), or the mean of what is believed after that and "it is o"
               over the objects o, weighed by how probable they then were: bets called off unless it is o
    martingale before any edit, or the mean of what is believed after "it is o", weighed in the same way

Whoever conditions has 0 of order, credence, mixture and martingale, but for objects that are left out; of
undoing the agent has what the credence leaves open, of retraction what else was read of A's object. A model
that no edit changes has 0 of all, so that two columns stand beside them: how probable A's object is after A,
and how far A moves its consequence. To editors a credence is the least that is to be believed; who reads none
is given A twice, or once.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from bayes.interface import Agent
from bayes.request import EditRequest
from corpus.errors import InputError
from corpus.files import read_json, write_json
from corpus.seeds import generator, integer
from experiments.study import Findings, Stage, Values
from lm.delta import Delta, compose_deltas
from lm.editors.interface import edit_batch
from testbed.engine.checks import prepare_editor
from testbed.engine.evidence import evidence_of
from testbed.engine.requests import sentences_of, tell_method
from testbed.open_run import OpenRun, open_run
from testbed.protocol import Case
from testbed.run.model import corpus_sample
from testbed.scores.distances import total_variation
from testbed.scores.metric import mean_of
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import Cell, Table

LIKELY, PERHAPS = 0.8, 0.5
AGENT = "the agent"
BETS = ("order", "undoing", "retraction", "credence", "mixture", "martingale")
DONE = {"believed": "A believed", "moved": "consequence moved"}
"""What A does, as tables call it."""
ALL, CONSEQUENCE = slice(None), slice(1, 2)
"""Questions of a bet on which there is a stake."""
MOST_SUBJECTS = 10**9
"""Of one world."""
MOST_OBJECTS = 4
"""Objects that mixture and martingale are over, the likeliest; on others nobody bets."""
Answers = Callable[[Sequence[EditRequest]], np.ndarray]
"""Requests, one on top of the other -> float64[R, K]: what is then believed of each question of a bet.

InputError: somebody who can be told no such request."""


class Bet(NamedTuple):
    """What is bet on.

    Attributes:
        case: whose request is A.
        questions: relations of its subject: A's, its consequence's, and the others.
        second: B, about the consequence.
        truth: what A contradicts, as evidence to whoever heard A.
        retraction: that A is taken back; to editors, who have no words for it, its denial.
        likely, perhaps: A with a credence of 0.8, of 0.5.
    """

    case: Case
    questions: tuple[int, ...]
    second: EditRequest
    truth: EditRequest
    retraction: EditRequest
    likely: EditRequest
    perhaps: EditRequest


def bets_of(findings: Findings, cell: Values, name: str) -> Path:
    """The file of what is won from an editor in a world, question by question."""
    return findings.run_of(cell).folder / f"stakes-{findings.options.edits}-{name.replace(' ', '-')}.json"


def betting_stages(findings: Findings) -> Iterator[Stage]:
    """Every world's model, and then the bets against every editor."""

    def bet(cell: Values, name: str) -> None:
        if not (path := bets_of(findings, cell, name)).exists():
            run = open_run(findings.run_of(cell).folder, "exact")
            seed = cell["seed"]
            bets, objects = draw_bets(run, findings.options.edits, seed), run.world.graph.objects
            if name == AGENT:
                answers = [agent_answers(run, bet) for bet in bets]
            else:
                edited = EditedAnswers(run, name, bets, seed)
                answers = [edited.of(bet) for bet in bets]
            subjects = [bet.case.request.subject for bet in bets]
            write_json(
                path,
                {
                    "bets": [
                        {"subject": subject} | sure_gains(bet, objects, of)
                        for subject, bet, of in zip(subjects, bets, answers, strict=True)
                    ]
                },
            )

    for cell in findings.cells:
        yield from findings.model_stages(cell)
        for name in (AGENT, *findings.options.editors):
            yield f"bets against {name} in {findings.run_of(cell).name}", partial(bet, cell, name)


def gains_of(findings: Findings, questions: slice = ALL) -> dict[str, dict[str, Estimate]]:
    """What is won, by editor, with a stake on some questions of each bet."""
    return {
        name: estimate_gains(
            [read_json(bets_of(findings, cell, name))["bets"] for cell in findings.cells], questions
        )
        for name in (AGENT, *findings.options.editors)
    }


def gains_tables(findings: Findings) -> Iterator[Table]:
    """A row an editor: with a stake on every question of a subject, and on the consequence alone."""
    gains = gains_of(findings)
    untold = [name for name, of in gains.items() if not of["retraction"].cases]
    note = (
        "Of each bet: what is surely won for each unit at stake, a mean over a subject's questions. ± is "
        "half of a 95% interval over worlds and subjects. Editors lower no credence: it is the least to be "
        "believed, or they read none. "
    )
    note += f"No retraction can be told to {', '.join(untold)}." if untold else ""
    rows: list[list[Cell]] = [[name, *of.values()] for name, of in gains.items()]
    yield Table("bets", "Bets against two edits", ["editor", *DONE.values(), *BETS], rows, note)
    alone = gains_of(findings, CONSEQUENCE).items()
    rows = [[name, *(of[bet] for bet in BETS)] for name, of in alone]
    yield Table("consequence", "Bets on the consequence alone", ["editor", *BETS], rows)


def estimate_gains(by_world: Sequence[Sequence[dict[str, Any]]], questions: slice) -> dict[str, Estimate]:
    """Means over the bets of all worlds, with intervals over worlds and subjects; nan where none was made."""
    rows = [*chain.from_iterable(by_world)]
    world = np.repeat(np.arange(len(by_world)), [*map(len, by_world)])
    clusters = {"subject": world * MOST_SUBJECTS + [row["subject"] for row in rows], "world": world}
    values = {name: np.array([row[name] for row in rows]) for name in DONE}
    values |= {name: np.array([np.mean(row[name][questions] or np.nan) for row in rows]) for name in BETS}
    metrics = {name: mean_of(of, among=~np.isnan(of))._replace(limits=(0, 1)) for name, of in values.items()}
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
        second = evidence_of(run.agent, second, case.credence)
        retraction = EditRequest(*case.requested_fact, form="retraction")
        unsure = (retraction._replace(form="probability", probability=p) for p in (LIKELY, PERHAPS))
        bets.append(Bet(case, (r, consequence, *others), second, truth, retraction, *unsure))
    return bets


def sure_gains(bet: Bet, objects: np.ndarray, answers: Answers) -> dict[str, Any]:
    """What is surely won for each unit at stake, by bet a list over its questions; and what A does.

    The list of a bet that cannot be made is empty.

    Args:
        objects: int[K], the columns of answers.
    """
    first, second, perhaps = bet.case.request, bet.second, bet.perhaps
    before, after, unsure = answers([]), answers([first]), answers([perhaps])

    def settle(believed: np.ndarray, *told: EditRequest) -> np.ndarray:
        likeliest = np.argsort(-believed[0], kind="stable")[:MOST_OBJECTS]
        likeliest = likeliest[believed[0, likeliest] > 0]
        weights = believed[0, likeliest] / believed[0, likeliest].sum()
        settled = [EditRequest(*first[:2], int(o), kind="correction") for o in objects[likeliest]]
        return np.tensordot(weights, [answers([*told, one]) for one in settled], 1)

    pairs = {
        "order": (answers([first, second]), answers([second, first])),
        "undoing": (before, answers([first, bet.truth])),
        "credence": (unsure, answers([bet.likely, perhaps])),
        "mixture": (unsure, settle(unsure, perhaps)),
        "martingale": (before, settle(before)),
    }
    with suppress(InputError):
        pairs["retraction"] = (before, answers([first, bet.retraction]))
    gains = {name: total_variation(*pairs[name]).tolist() if name in pairs else [] for name in BETS}
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
            credence = latest.probability if latest.form == "probability" else bet.case.credence
            case = bet.case._replace(request=latest, credence=credence)
            if latest.form == "retraction":
                denial = sentences_of(latest._replace(form="denial"))
                case = case._replace(told=tuple(denial), learned="sentence")
            told = tell_method(self.run.world.tokenizer, [case], self.method)
            model = self.run.model.with_delta(carried)
            made, _ = edit_batch(self.method.editor, model, self.state, told[""].batch, self.key[None])
            deltas[requests] = compose_deltas(carried, jax.tree.map(lambda x: x[0], made))
        return deltas[requests]
