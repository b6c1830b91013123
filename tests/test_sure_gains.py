"""Bets against a series of edits: whoever conditions loses nothing, whoever does not is found out."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given

from bayes.exact import fit_exact
from bayes.request import EditRequest
from corpus.errors import InputError
from corpus.files import write_json
from corpus.likelihood import statement_strength
from experiments.measures.sure_gains import (
    AGENT,
    BETS,
    CONSEQUENCE,
    Bet,
    agent_answers,
    bets_of,
    gains_of,
    gains_tables,
    sure_gains,
)
from experiments.studies.bets import STUDY
from experiments.study import Findings
from testbed.protocol import Case
from testbed.scores.distances import total_variation
from tests.enumeration import Enumeration
from tests.examples import holds_for
from tests.test_exact_agent import PAIR, configs, own_fact, seeds, tiny_world
from tests.test_statements import reweight_worlds

K = 4
OBJECTS = np.arange(K) + 10
CONDITIONED = ("order", "credence", "mixture", "martingale")
"""Bets from which whoever conditions loses nothing."""


def make_bet(first, second, truth):
    taken_back, *unsure = (
        EditRequest(*first[:3], form=form, probability=p)
        for form, p in (("retraction", 1.0), ("probability", 0.8), ("probability", 0.5))
    )
    case, questions = Case(first, 0.95, truth.object, {}, ()), (first.relation, second.relation)
    return Bet(case, questions, second, truth, taken_back, *unsure)


BET = make_bet(EditRequest(0, 0, 11, 3.0), EditRequest(0, 1, 12, 2.0), EditRequest(0, 0, 10, 4.0))


def conditioner(seed: int, forgets: float = 0.0):
    """Beliefs in two facts with one joint table; a request multiplies, and may weaken what came before."""
    prior = np.random.default_rng(seed).dirichlet(np.full(K * K, 0.5)).reshape(K, K) + 1e-12

    def answers(requests: Sequence[EditRequest]) -> np.ndarray:
        joint, withdrawn = prior / prior.sum(), [one[:3] for one in requests if one.form == "retraction"]
        for request in (one for one in requests if one[:3] not in withdrawn):
            is_it = request.object == OBJECTS
            unlike = 0 if request.kind == "correction" else np.exp(-request.weight)
            if (q := request.probability) < 1:
                p = joint[is_it].sum()
                unlike = (1 - q) / (1 - p) * p / q
            at = np.where(is_it, 1, unlike)
            joint = joint ** (1 - forgets) * (at[:, None] if request.relation == 0 else at)
            joint /= joint.sum()
        return np.stack([joint.sum(1), joint.sum(0)])

    return answers


@given(seeds)
def test_nothing_but_undoing_costs_whoever_conditions(seed):
    gains = sure_gains(BET, OBJECTS, conditioner(seed))
    for bet in (*CONDITIONED, "retraction"):
        assert gains[bet] == pytest.approx([0, 0], abs=1e-9), bet
    assert 0 <= min(gains["undoing"]) <= max(gains["undoing"]) <= 1


@pytest.mark.parametrize("bet", CONDITIONED)
def test_whoever_forgets_loses(bet):
    assert max(sure_gains(BET, OBJECTS, conditioner(0, forgets=0.5))[bet]) > 0.02


def test_whoever_never_moves_loses_nothing_and_is_seen_not_to_move():
    gains = sure_gains(BET, OBJECTS, lambda _: np.full((2, K), 1 / K))
    assert gains == {bet: [0, 0] for bet in BETS} | {"believed": 1 / K, "moved": 0}


def enumerator(agent, sentences, bet):
    """What a reader believes who weighs every world that the sentences and the requests allow."""
    graph, config = agent.graph, agent.config

    def answers(requests: Sequence[EditRequest]) -> np.ndarray:
        withdrawn = [one[:3] for one in requests if one.form == "retraction"]
        read = sentences.take(np.array([tuple(atom) not in withdrawn for atom in sentences.a.tolist()]))
        extra = []
        for one in (one for one in requests if one.form == "assertion" and one[:3] not in withdrawn):
            fact, others = int(graph.find(*one[:2])), len(graph.candidates_of(one.relation)) - 1
            worth = float(statement_strength(config, others)) if own_fact(agent, fact) else 1.0
            extra.append((fact, one.object, np.inf if one.kind == "correction" else one.weight * worth))
        every = Enumeration(graph, config, read, extra)
        # What is settled in the end is so, however probable it was before.
        for one in (one for one in requests if one.form == "probability" and not extra):
            every.p = reweight_worlds(config, graph, every, one)
        believed = every.posterior() | every.statements()
        facts = [int(graph.find(bet.case.request.subject, r)) for r in bet.questions]
        return np.array([[believed[f].get(o, 0.0) for o in agent.objects.tolist()] for f in facts])

    return answers


@holds_for(seeds, configs, few=25, many=150)
def test_the_agent_bets_as_whoever_weighs_all_worlds_and_loses_nothing(seed, config):
    """In worlds of the demo's law, whose consequences are drawn for every statement, and in exact ones."""
    rng, config = np.random.default_rng(seed), replace(config, logical=0.0)
    graph, _, sentences = tiny_world(seed, config, [0], PAIR)
    agent = fit_exact(graph, config, sentences).with_focus([0])
    effects = np.flatnonzero((graph.subject == 0) & (graph.upstream_fact >= 0))
    assume(len(effects))
    cause, effect = (int(graph.relation[f]) for f in (graph.upstream_fact[effects[0]], effects[0]))
    open_to = [agent.objects[agent.predict(0, r).of(agent.objects) > 1e-9] for r in (cause, effect)]
    assume(len(open_to[0]) > 1)
    (a, truth), b = rng.permutation(open_to[0])[:2].tolist(), int(rng.choice(open_to[1]))
    requests = [EditRequest(0, r, o, 1.5) for r, o in ((cause, a), (effect, b), (cause, truth))]
    bet = make_bet(*requests)
    gains = sure_gains(bet, agent.objects, agent_answers(SimpleNamespace(agent=agent), bet))
    by_hand = sure_gains(bet, agent.objects, enumerator(agent, sentences, bet))
    for name in BETS:
        assert gains[name] == pytest.approx(by_hand[name], abs=1e-9), name
    assert [gains[name] for name in CONDITIONED] == [pytest.approx([0, 0], abs=1e-9)] * len(CONDITIONED)


def test_who_takes_nothing_back_has_an_empty_cell_and_a_name_in_the_note(tmp_path):
    def refuses(requests: Sequence[EditRequest]) -> np.ndarray:
        if any(one.form == "retraction" for one in requests):
            raise InputError("it reads facts alone")
        return conditioner(0, forgets=0.5)(requests)

    findings = Findings("bets", STUDY, replace(STUDY.options, worlds=2, runs=tmp_path, editors=("rome",)))
    for cell in findings.cells:
        for name, answers in ((AGENT, conditioner(0)), ("rome", refuses)):
            path = bets_of(findings, cell, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            bets = [{"subject": s} | sure_gains(BET, OBJECTS, answers) for s in range(5)]
            write_json(path, {"bets": bets})
    for questions, taken in ((slice(None), np.mean), (CONSEQUENCE, lambda some: some[1])):
        found = gains_of(findings, questions)["rome"]["order"]
        assert found.value == pytest.approx(taken(sure_gains(BET, OBJECTS, refuses)["order"]))
    tables = [*gains_tables(findings)]
    empty = [row[table.header.index("retraction")] for table in tables for row in table.rows]
    assert [np.isnan(cell.value) for cell in empty] == [False, True] * 2
    assert tables[0].note.endswith("No retraction can be told to rome.")


@given(seeds)
def test_total_variation_is_the_gain_of_the_best_tickets(seed):
    p, q = np.random.default_rng(seed).dirichlet(np.ones(K), size=2)
    rest = 0.7
    assert total_variation(p, q) == pytest.approx(np.maximum(p - q, 0).sum())
    whole, part = np.append(p * rest, 1 - rest), np.append(q, 0)
    assert total_variation(p[None] * rest, q[None])[0] == pytest.approx(np.maximum(whole - part, 0).sum())
