"""Answers that nobody gave, drawn at random: by role, and as the flat results that they are laid out from."""

import numpy as np

from testbed.engine.results import Choices, Claims, Results
from testbed.evaluations.hase.evaluation import Hase
from testbed.evaluations.hase.exam import Exam
from testbed.evaluations.hase.roles import CELLS, CHILD, LOGIC, REQUEST
from testbed.protocol import ABSENT

HASE = Hase()
CASES, ROLES, OPTIONS = 11, len(CELLS), 4


def distributions(rng, *shape):
    p = rng.dirichlet(np.full(OPTIONS + 1, 0.4), shape)
    return p[..., :-1]


def exam_with(seed):
    rng = np.random.default_rng(seed)
    shape = (CASES, ROLES, 2)
    agent, lm, frequency, lm_open = (distributions(rng, *shape) for _ in range(4))
    objects = np.broadcast_to(np.arange(10, 10 + OPTIONS), (CASES, ROLES, OPTIONS)).copy()
    agent_answer, lm_answer = (10 + p.argmax(-1) for p in (agent, lm))
    absent = rng.random((CASES, ROLES)) < 0.2
    absent[:, REQUEST] = False
    agent_answer[absent] = lm_answer[absent] = ABSENT
    scalars = {
        "object": rng.integers(10, 10 + OPTIONS, CASES),
        "truth": rng.integers(10, 10 + OPTIONS, CASES),
        "reinforces": rng.random(CASES) < 0.5,
        "child": rng.random(CASES) < 0.7,
        "changes": (agent_answer[:, CHILD, 0] != agent_answer[:, CHILD, 1]),
        "cluster": rng.integers(0, 6, CASES),
        "support_new": rng.integers(0, 25, CASES),
        "stratum": rng.choice(["S0", "S1", "S2"], CASES),
        "seen_subject": np.zeros(CASES, bool),
        "seen_object": np.zeros(CASES, bool),
        "case": np.arange(CASES),
    }
    logic = rng.random((CASES, len(LOGIC), 2, 2)) / 2
    return Exam(scalars, objects, agent, frequency, lm, lm_open, agent_answer, lm_answer, logic)


def flat(exam, seed=0):
    """A row a question that a case has, in no order; the agent takes A and B for independent."""
    rng = np.random.default_rng(seed)
    case, role = rng.permutation(np.argwhere(exam.agent_answer[..., 0] != ABSENT)).T
    fields = {name: getattr(exam, name)[case, role] for name in Exam._fields[2:-1]}
    names = np.array(CELLS)[role]
    options = exam.objects[case, role]
    choices = Choices(case, names, names, 0 * case, 0 * case, options, offered=options != ABSENT, **fields)
    at = exam.objects[:, REQUEST] == exam.scalars["object"][:, None]
    a = exam.agent[:, REQUEST].sum(-1, where=at[:, None])
    b = rng.random(a.shape)
    both = a * b
    said = {"A": a, "not A": 1 - a, "A and B": both, "B and A": both, "A or B": a + b - both, "B": b}
    believed = np.stack([said[name] for name in LOGIC], axis=1)
    of, which = rng.permutation(np.argwhere(np.ones((len(exam.objects), len(LOGIC)), bool))).T
    words = np.array(LOGIC)[which]
    claims = Claims(of, words, words, believed[of, which], exam.logic[of, which])
    return Results(exam.scalars, choices, claims, ("before", "evidence"))


def scores(exam, reader="x"):
    """Every metric of the model, or of another reader, as results are scored."""
    results = flat(exam)
    return HASE.measure(results, HASE.readers(results, "x")[reader])
