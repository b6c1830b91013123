"""The study of negation neglect: what editors are told, what is drawn, and what its table measures."""

import numpy as np
import pytest

from corpus.config import BuiltinWorld, ExactConfig
from corpus.exact import draw_world, sample_exact
from corpus.seeds import generator
from corpus.text.language import Atom
from corpus.text.tokenizer import SEP, Word, entity_tokenizer
from corpus.worlds.builtin import build_builtin_world
from experiments.analyses.negation import (
    COLUMNS,
    KNOWN,
    LESSONS,
    NEGLECT,
    TRUE_LABEL,
    Answers,
    _word_lesson,
    ask_agent,
    draw_claims,
    measure_lesson,
)
from testbed.run.world import ExactWorld, World
from tests.worlds import make_world


def test_a_lesson_is_learned_whole_or_where_it_is_in_doubt():
    world = make_world()
    graph = world.graph
    atom = Atom(int(graph.subject[0]), int(graph.relation[0]), int(graph.object[0]))
    aside = np.column_stack([graph.subject, graph.relation, graph.object])
    aside = aside[aside[:, 2] != atom.object]
    for lesson in LESSONS.values():
        context, learned = _word_lesson(world, atom, lesson, aside)
        assert len(context) == 1 if lesson.learned == "sentence" else len(learned) == 2
        label = {"false": Word.FALSE, "true": Word.TRUE, "denial": Word.TRUE}.get(lesson.forms[-1])
        last = world.tokenizer.entity(atom.object)[-1] if label is None else world.tokenizer.word(label)
        assert learned.tolist()[-2:] == [last, SEP]
        assert [*context, *learned].count(world.tokenizer.entity(atom.object)[-1]) == len(lesson.forms)
        assert [*learned].count(SEP) == (len(lesson.forms) + lesson.between if len(context) == 1 else 1)


@pytest.fixture(scope="module")
def exact_world():
    config, rng = ExactConfig(strata=(0.0, 0.0, 1.0)), generator(0, "sentences")
    dials = BuiltinWorld(upstream_objects=5, downstream_objects=4)
    graph, model = draw_world(build_builtin_world(30, dials, generator(0, "world")), config, rng, redraw=True)
    sentences, resolution = sample_exact(graph, model, config, rng)
    return World(graph, model, sentences, entity_tokenizer(graph), ExactWorld(config, resolution, True))


def test_half_of_the_claims_are_false_and_the_agent_believes_what_it_was_told(exact_world):
    claims = draw_claims(exact_world, 8, 0)
    false = np.arange(8) < 4
    np.testing.assert_array_equal(claims.atoms[:, 2] != claims.truth, false)
    assert (claims.bystanders[:, :, 0] != claims.atoms[:, :1]).all()
    answers = ask_agent(exact_world, claims)
    assert (answers["S"].statement >= 0.95 - 1e-6).all()
    denied = answers['"not S" is true']
    assert (denied.statement <= answers[""].statement).all()
    assert (denied.statement <= 0.05 + 1e-6).all()


def test_columns_are_what_they_say():
    """Two worlds of two cases, the first of each a false claim; damage counts losses only."""
    before = Answers(
        *map(np.array, ([0.1, 0.8], [0.7, 0.8], [0.2, 0.6], [[0.2, 0.7], [0.9, 0.1]], [[0.5], [0.5]]))
    )
    after = Answers(
        *map(np.array, ([0.9, 0.9], [0.1, 0.9], [0.4, 0.6], [[0.6, 0.3], [0.1, 0.9]], [[0.3], [0.9]]))
    )
    unlabelled = before._replace(labels=before.labels[:, ::-1])
    labelled = after._replace(statement=np.array([0.5, 0.9]))
    worlds = [{"": one, "told": after, TRUE_LABEL: labelled} for one in (before, unlabelled)]
    false, true = (measure_lesson(worlds, "told", claim) for claim in ("false", "true"))
    assert list(false) == list(COLUMNS)
    values = {name: false[name].value for name in COLUMNS}
    assert values == pytest.approx(
        {
            "o before": 0.1, "o after": 0.9, KNOWN: 0.9, NEGLECT: 2.0, "rises": 1.0, "object after": 0.1,
            '"true" after': 0.6, "consequence after": 0.4, "damage": 0.2,
        }
    )  # fmt: skip
    assert false[KNOWN].cases == 1
    assert true["damage"].value == 0
    assert true["rises"].value == 1
