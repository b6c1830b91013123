"""Gold from a file: what an exact agent believes, written as a table and read back, judges the same."""

import csv

import numpy as np
import pytest

from bayes.derived import read_likelihoods
from bayes.request import EditRequest
from bayes.types import TypesAgent
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.exact import draw_world, sample_exact
from corpus.seeds import generator
from corpus.worlds.own import build_own_graph, count_statements
from corpus.worlds.types import TypesWorld
from testbed.evaluations.kinds import SPOT, Kinds
from testbed.evaluations.kinds.cases import make_cases
from testbed.run.gold_file import COLUMNS, TIMES, read_gold_file
from testbed.run.own_world import Origin
from tests.test_kinds import CasesWorld


@pytest.fixture(scope="module")
def place():
    world, config = TypesWorld(1, 30, objects=4, relations=3), ExactConfig(rows="given")
    rng, graph = generator(1, "gold"), build_own_graph(world)
    graph, model = draw_world(graph, config, rng, redraw=False, often=count_statements(world, graph))
    sentences = sample_exact(graph, model, config, rng)[0]
    agent = TypesAgent(world, graph, config, read_likelihoods(graph, config, sentences))
    return CasesWorld(graph, model, sentences, Origin("types", 1, 30)), agent


def rows_of(place, count=6):
    """All that the agent believes of its own cases, as the table has it."""
    world, agent = place
    names, relations = world.graph.entities, world.graph.relations
    for case in make_cases(world, agent, count, 0.95, Kinds(), 0):
        edited, asked = agent.with_edit(case.request), [c for c in case.choices if c.role != SPOT]
        s1, r1, o1 = case.requested_fact
        for choice in asked:
            before, after = (a.predict(choice.subject, choice.relation) for a in (agent, edited))
            for o in before.support.tolist():
                of = [float(belief.of(np.array(o))) for belief in (before, after)]
                yield [
                    names[s1],
                    relations[r1],
                    names[o1],
                    names[choice.subject],
                    relations[choice.relation],
                    names[o],
                    *of,
                ]


def write_table(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([(*COLUMNS, *TIMES), *rows])
    return path


def test_cases_judged_by_a_file_are_those_of_the_agent_that_wrote_it(place, tmp_path):
    world, agent = place
    read = read_gold_file(write_table(tmp_path / "gold.csv", rows_of(place)), world.graph)
    ours = {c.requested_fact: c for c in make_cases(world, agent, 6, 0.95, Kinds(), 0)}
    theirs = list(make_cases(world, read, 100, 0.95, Kinds(), 0))
    assert [c.requested_fact for c in theirs] == [*ours]
    for case in theirs:
        expected = {c[:3]: c for c in ours[case.requested_fact].choices if c.role != SPOT}
        assert {c[:3] for c in case.choices} == {*expected}
        for choice in case.choices:
            np.testing.assert_allclose(choice.agent, expected[choice[:3]].agent, atol=1e-12)
            np.testing.assert_array_equal(choice.options, expected[choice[:3]].options)
    with pytest.raises(InputError, match="has no request"):
        read.with_edit(EditRequest(*theirs[0].request[:2], theirs[0].truth))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (0, "Nobody", "row 1: the world has no request_subject 'Nobody'"),
        (4, "flies", "row 1: the world has no relation 'flies'"),
        (6, -0.5, "row 1: before is -0.5, which is no probability"),
        (7, 1.5, "row 1: after is 1.5, which is no probability"),
        (6, 1.0, "sum to more than 1"),
    ],
)
def test_a_table_that_cannot_be_gold_is_refused(place, tmp_path, column, value, message):
    rows = list(rows_of(place, 1))
    rows[0][column] = value
    with pytest.raises(InputError, match=message):
        read_gold_file(write_table(tmp_path / "gold.csv", rows), place[0].graph)


def test_tables_without_the_request_or_with_two_pasts_are_refused(place, tmp_path):
    rows = list(rows_of(place, 2))
    without = [row for row in rows if row[:2] != row[3:5]]
    with pytest.raises(InputError, match="ask of the requested fact itself"):
        read_gold_file(write_table(tmp_path / "a.csv", without), place[0].graph)
    with pytest.raises(InputError, match="no such file"):
        read_gold_file(tmp_path / "none.csv", place[0].graph)
    (tmp_path / "b.csv").write_text("subject,relation\na,b\n")
    with pytest.raises(InputError, match="has no column 'request_subject'"):
        read_gold_file(tmp_path / "b.csv", place[0].graph)
