"""A small world with a fork and a chain, and what a model might answer about it."""

import numpy as np

from corpus.config import ExactConfig
from corpus.exact import draw_world, sample_exact
from corpus.graph import build_graph
from corpus.text.tokenizer import entity_tokenizer
from lm.editors.interface import Info
from testbed.engine.questions import ModelAnswers
from testbed.engine.records import Circumstances, rows_of_cases, write_rows
from testbed.engine.results import read_results
from testbed.run.object_names import ObjectNames
from testbed.run.world import ExactWorld, World
from tests.edited import COLUMNS

UPSTREAM = {"a": None, "b": "a", "c": "a", "d": "b", "e": "d", "x": None, "y": "x"}
"""a has the children b and c; d depends on b, e on d; x and its child y are apart."""
NAMES = list(UPSTREAM)


def fork_world(subjects=30, config=ExactConfig(strata=(0.5, 0.2, 0.3))):  # noqa: B008
    names = [f"s{i}" for i in range(subjects)] + [f"o{i}" for i in range(3 * len(NAMES))]
    triples = [(s, r, subjects + 3 * r + (s + r) % 3) for s in range(subjects) for r in range(len(NAMES))]
    upstream = np.array([NAMES.index(up) if up else -1 for up in UPSTREAM.values()])
    graph = build_graph(np.array(triples), names, NAMES, upstream)
    rng = np.random.default_rng(0)
    graph, model = draw_world(graph, config, rng, redraw=True)
    sentences, resolution = sample_exact(graph, model, config, rng)
    return World(graph, model, sentences, entity_tokenizer(graph), ExactWorld(config, resolution, True))


def write_random_answers(world, cases, folder, seed=0, told=()):
    """Results, written and read, of a model that often answers as the agent does, and often anything else.

    Args:
        told: see `rows_of_cases`.
    """
    rng = np.random.default_rng(seed)
    names = ObjectNames(world.tokenizer, world.graph.objects)
    choices, claims = max(len(c.choices) for c in cases), max(len(c.claims) for c in cases)
    wide = max(len(choice.options) for case in cases for choice in case.choices)
    p = np.zeros((2, len(cases), choices, wide))
    tokens = np.zeros((2, len(cases), choices, names.longest + 1), np.int32)
    for i, case in enumerate(cases):
        for q, choice in enumerate(case.choices):
            n = len(choice.options)
            for t in range(2):
                noise = 0.8 * rng.dirichlet(np.full(n, 0.3))
                p[t, i, q, :n] = choice.agent[t] if rng.random() < 0.4 else noise
                said = choice.answer[t] if rng.random() < 0.5 else rng.choice(choice.options)
                name = world.tokenizer.entity(int(said))
                tokens[t, i, q, : len(name)] = name
    said = rng.random((2, len(cases), claims, 2)) / 2
    number, nothing = np.arange(len(cases)), np.zeros(len(cases), int)
    subjects = np.array([case.request.subject for case in cases])
    info = Info(np.zeros((len(cases), 1)), nothing, nothing, nothing)
    how = Circumstances(number, subjects, nothing, info, nothing.astype(float))
    before, after = (ModelAnswers(p[t], p[t], tokens[t], said[t]) for t in (0, 1))
    write_rows(rows_of_cases(cases, before, after, how, names, COLUMNS, told), folder, COLUMNS)
    return read_results(folder, COLUMNS)
