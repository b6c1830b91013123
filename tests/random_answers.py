"""Answers that nobody gave, drawn at random: by case and role, and as the results that these would be."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from testbed.engine.results import Choices, Claims, Results
from testbed.evaluations.dutch_book import LOGIC
from testbed.evaluations.hase import OTHER_SIDE, REPLACED, SAME_SET, Hase
from testbed.evaluations.hase import ROLES as ALL_ROLES
from testbed.protocol import ABSENT
from testbed.scores.summary import measure_reader
from testbed.scores.temperature import temper

HASE = Hase()
ROLES = tuple(role for role in ALL_ROLES if role not in (OTHER_SIDE, SAME_SET, REPLACED))
"""Those of worlds in which no relation is another one from the other side, or a set."""
CASES, OPTIONS = 11, 4
REQUEST, CHILD = ROLES.index("s1r1"), ROLES.index("s1r2")


class RandomAnswers(NamedTuple):
    """One question of every role for each of E cases: Q roles, C options, S claims.

    `scalars` are the columns of cases. `objects` [E, Q, C]; `agent`, `frequency`, `lm` and `lm_open`
    [E, Q, 2, C]; `agent_answer`, `lm_answer` [E, Q, 2], ABSENT where a case has no such question; `logic`
    [E, S, 2, 2], claim, before and after, true and false; `stated` [E, Q].
    """

    scalars: dict
    objects: np.ndarray
    agent: np.ndarray
    frequency: np.ndarray
    lm: np.ndarray
    lm_open: np.ndarray
    agent_answer: np.ndarray
    lm_answer: np.ndarray
    logic: np.ndarray
    stated: np.ndarray

    @property
    def present(self):
        """bool[E, Q]: which questions there are."""
        return self.agent_answer[..., 0] != ABSENT


def distributions(rng, *shape):
    p = rng.dirichlet(np.full(OPTIONS + 1, 0.4), shape)
    return p[..., :-1]


def draw_answers(seed):
    rng = np.random.default_rng(seed)
    shape = (CASES, len(ROLES), 2)
    agent, lm, frequency, lm_open = (distributions(rng, *shape) for _ in range(4))
    objects = np.broadcast_to(np.arange(10, 10 + OPTIONS), (*shape[:2], OPTIONS)).copy()
    agent_answer, lm_answer = (10 + p.argmax(-1) for p in (agent, lm))
    absent = rng.random(shape[:2]) < 0.2
    absent[:, REQUEST] = False
    agent_answer[absent] = lm_answer[absent] = ABSENT
    scalars = {
        "object": rng.integers(10, 10 + OPTIONS, CASES),
        "truth": rng.integers(10, 10 + OPTIONS, CASES),
        "reinforces": rng.random(CASES) < 0.5,
        "child": rng.random(CASES) < 0.7,
        "changes": (agent_answer[:, CHILD, 0] != agent_answer[:, CHILD, 1]),
        "cluster": rng.integers(0, 6, CASES),
        "position": np.zeros(CASES, int),
        "support_new": rng.integers(0, 25, CASES),
        "stratum": rng.choice(["S0", "S1", "S2"], CASES),
        "seen_subject": np.zeros(CASES, bool),
        "seen_object": np.zeros(CASES, bool),
        "case": np.arange(CASES),
    }
    logic = rng.random((CASES, len(LOGIC), 2, 2)) / 2
    stated = rng.integers(0, 12, shape[:2])
    return RandomAnswers(
        scalars, objects, agent, frequency, lm, lm_open, agent_answer, lm_answer, logic, stated
    )


def flat(answers, seed=0):
    """A row a question that a case has, in no order; the agent takes A and B for independent."""
    rng = np.random.default_rng(seed)
    case, role = rng.permutation(np.argwhere(answers.present)).T
    named = ("agent", "frequency", "lm", "lm_open", "agent_answer", "lm_answer", "stated")
    fields = {name: getattr(answers, name)[case, role] for name in named}
    names = np.array(ROLES)[role]
    options = answers.objects[case, role]
    choices = Choices(
        case=case,
        role=names,
        group=names,
        subject=0 * case,
        relation=0 * case,
        options=options,
        offered=options != ABSENT,
        is_told=np.zeros(len(case), bool),
        **fields,
    )
    at = answers.objects[:, REQUEST] == answers.scalars["object"][:, None]
    a = answers.agent[:, REQUEST].sum(-1, where=at[:, None])
    b = answers.agent[:, CHILD, :, 0]
    both, either = a * b, a + b - a * b
    said = {"A": a, "not A": 1 - a, "A and B": both, "B and A": both, "A or B": either, "B or A": either}
    said |= {"B": b, "not B": 1 - b}
    believed = np.stack([said[name] for name in LOGIC], axis=1)
    of, which = rng.permutation(np.argwhere(np.ones((len(answers.objects), len(LOGIC)), bool))).T
    words = np.array(LOGIC)[which]
    claims = Claims(of, words, words, believed[of, which], answers.logic[of, which])
    results = Results(answers.scalars, choices, claims, ("before", "evidence"))
    softer = temper(choices.lm[:, 0], 1.5)
    return replace(results, recalibrated=np.stack([softer, softer], axis=1))


def rows_of_choices(answers, seed=0):
    """Case and role, int[N] each, of the rows of `flat`."""
    return np.random.default_rng(seed).permutation(np.argwhere(answers.present)).T


def scores(answers, reader="x"):
    """Every metric of the model, or of another reader, as results are scored."""
    results = flat(answers)
    return measure_reader(HASE, results, HASE.readers(results, "x")[reader])


def results_of(cases, evaluation, lm, said=None):
    """Cases as results of a model that gives its options `lm`, [2, options] for each choice in turn.

    It says what `said` has, or nothing, and finds every claim as likely true as false.
    """
    flat = [(i, choice) for i, case in enumerate(cases) for choice in case.choices]
    width, times = max(len(choice.options) for _, choice in flat), len(flat[0][1].agent)

    def column(name):
        return np.array([getattr(choice, name) for _, choice in flat])

    def pad_options(values, fill=0):
        rows = np.full((len(values), *np.shape(values[0])[:-1], width), fill, np.asarray(values[0]).dtype)
        for row, value in zip(rows, values, strict=True):
            row[..., : np.shape(value)[-1]] = value
        return rows

    ones = [np.ones(len(c.options), bool) if c.offered is None else c.offered for _, c in flat]
    choices = Choices(
        case=np.array([i for i, _ in flat]),
        **{name: column(name) for name in ("role", "group", "subject", "relation", "stated")},
        **{name: pad_options([getattr(c, name) for _, c in flat]) for name in ("agent", "frequency")},
        options=pad_options([c.options for _, c in flat], ABSENT),
        lm=pad_options(lm), lm_open=pad_options(lm),
        agent_answer=column("answer"),
        lm_answer=np.full((len(flat), 2), ABSENT) if said is None else np.array(said),
        is_told=np.zeros(len(flat), bool), offered=pad_options(ones, False),
        facets={name: np.array([c.facets[name] for _, c in flat]) for name in evaluation.choice_facets},
    )  # fmt: skip
    asked = [(i, claim) for i, case in enumerate(cases) for claim in case.claims]
    claims = Claims(
        np.array([i for i, _ in asked], int),
        *(np.array([getattr(claim, name) for _, claim in asked], str) for name in ("role", "group")),
        np.array([claim.agent for _, claim in asked]).reshape(-1, times),
        np.full((len(asked), 2, 2), 0.5),
    )
    facts, nothing = np.array([case.requested_fact for case in cases]), np.zeros(len(cases), int)
    columns = {name: np.array([case.facets[name] for case in cases]) for name in evaluation.facets}
    columns |= dict(zip(("subject", "relation", "object"), facts.T, strict=True))
    columns |= {"truth": np.array([case.truth for case in cases]), "case": np.arange(len(cases))}
    columns |= {"cluster": facts[:, 0], "position": nothing, "run": nothing}
    return Results(columns, choices, claims, ("before", *evaluation.interpretations)[:times])
