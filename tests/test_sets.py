"""What becomes of a set after a request adds to it or takes out of it: questions, and metrics by hand."""

import numpy as np
import pytest

from corpus.worlds.members import ANSWERS
from testbed import corpus
from testbed.evaluations.hase import Hase
from testbed.evaluations.kinds import Kinds
from testbed.evaluations.sets import ADDS, TAKES, SetSampler
from testbed.run.agents import agent_named
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.scores.summary import measure_reader
from tests.random_answers import results_of
from tests.runs import at
from tests.worlds import make_world

OWN = ("s1r1", "request")
"""The role of the question about the edited fact."""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Forty people, of whom each speaks some of thirty languages, the first three of them most often."""
    folder, rng = tmp_path_factory.mktemp("sets"), np.random.default_rng(0)
    rows = [f"p{i}\tlives in\ttown {i % 4}\n" for i in range(40)]
    spoken = rng.random((40, 30)) < np.repeat([0.5, 0.2], [3, 27])
    rows += [f"p{i}\tspeaks\tl{j}\n" for i, j in zip(*np.nonzero(spoken), strict=True)]
    (folder / "w.tsv").write_text("".join(rows))
    words = ["--world.path", str(folder / "w.tsv"), "--world.several", "set", "--kind", "exact"]
    assert corpus.main([*at(folder), *words, "--world.min-pair-subjects", "3"]) == 0
    return load_world(Run(folder, "x"))


def is_of_set(world, choice):
    return world.graph.relations[choice.relation].startswith("speaks: ")


@pytest.mark.parametrize("evaluation", [Hase(reinforce=0.3), Kinds(tries=2)])
def test_a_case_about_a_set_asks_of_its_other_objects(world, evaluation):
    names, agent = world.graph.entities, agent_named("exact", world)
    seen = set()
    for case in evaluation.make_cases(world, agent, 12, 0.95, 0):
        asked = [c for c in case.choices if is_of_set(world, c) and not c.is_spot_check]
        mine = [c for c in asked if c.subject == case.request.subject]
        groups = {c.group for c in case.choices} - {""}
        if not is_of_set(world, case.request):
            assert not groups
            continue
        assert groups == {ADDS if names[case.request.object] == "yes" else TAKES}
        seen |= groups
        assert [c for c in case.choices if c.group] == mine
        pairs = [c[1:3] for c in mine if c.role != "s1rx"]
        assert len({*pairs}) == len(pairs) > 20
        # All that the subject has are among them, and stay.
        facts = world.graph.facts_of(case.request.subject)
        has = {int(world.graph.relation[f]) for f in facts if names[world.generative.truth[f]] == "yes"}
        assert has <= {c.relation for c in mine}
        for c in mine:
            if c.relation != case.request.relation:
                np.testing.assert_allclose(c.agent[1], c.agent[0], atol=1e-9)
            else:
                assert c.answer[1] == case.request.object
    assert seen == {ADDS, TAKES}


def test_no_other_world_has_sets():
    world = make_world()
    sampler = SetSampler(world.graph, world.generative.truth, np.random.default_rng(0))
    subject, relation = int(world.graph.subject[0]), int(world.graph.relation[0])
    assert sampler.draw_others(subject, relation, ()) == []


def measure(evaluation, cases, p_yes, answers, reader="x"):
    """The metrics of sets of a model that believes of each object, in turn, that it is in the set.

    Args:
        answers: the objects yes and no.
    """
    yes, no = answers
    choices = [c for case in cases for c in case.choices]
    lm = [
        np.stack([np.where(c.options == yes, p, np.where(c.options == no, 1 - p, 0.0))] * 2)
        for c, p in zip(choices, p_yes, strict=True)
    ]
    results = results_of(cases, evaluation, lm, [(yes if p > 0.5 else no,) * 2 for p in p_yes])
    values = measure_reader(evaluation, results, evaluation.readers(results, "x")[reader])
    return {name: m for name, m in values.items() if name.startswith("set.")}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("evaluation", [Hase(reinforce=0.3), Kinds(tries=2)])
def test_metrics_are_those_of_a_slow_reader(world, seed, evaluation):
    rng, answers = np.random.default_rng(seed), [*map(world.graph.entities.index, ANSWERS)]
    cases = [*evaluation.make_cases(world, agent_named("exact", world), 6, 0.95, int(rng.integers(99)))]
    p_yes = rng.random(sum(len(case.choices) for case in cases))
    found, given_p = measure(evaluation, cases, p_yes, answers), iter(p_yes)
    for number, case in enumerate(cases):
        believed = {id(c): next(given_p) for c in case.choices}
        of_set = [c for c in case.choices if c.group]
        if not of_set:
            assert all(metric.denominator[number] == 0 for metric in found.values())
            continue
        adds = case.request.object == answers[0]
        p = [believed[id(c)] if adds else 1 - believed[id(c)] for c in of_set]
        agent = [float(c.agent[1][c.options == case.request.object].sum()) for c in of_set]
        of_agent = [q >= 0.5 for q in agent]
        right = [
            (x > 0.5) == q for x, q, c in zip(p, of_agent, of_set, strict=True) if c.role not in OWN
        ]  # fmt: skip
        own = next(x for x, c in zip(p, of_set, strict=True) if c.role in OWN)
        expected = {
            "set.others": np.mean(right),
            "set.likeliest": float(sorted(p, reverse=True).index(own) < sum(of_agent)),
            "set.share": sum(x for x, q in zip(p, of_agent, strict=True) if q) / sum(p),
            "set.tv": np.mean(np.abs(np.subtract(p, agent))),
        }
        assert {name: metric.by_case[number] for name, metric in found.items()} == pytest.approx(
            expected, abs=1e-9
        )


def test_whoever_becomes_the_agent_has_the_set_and_whoever_adds_everything_has_not(world):
    evaluation, answers = Hase(reinforce=0.0), [*map(world.graph.entities.index, ANSWERS)]
    cases = [*evaluation.make_cases(world, agent_named("exact", world), 30, 0.95, 1)]
    cases = [case for case in cases if any(c.group == ADDS for c in case.choices)]
    everything = np.full(sum(len(case.choices) for case in cases), 0.99)
    rational, flooded = (
        {name: m.value() for name, m in measure(evaluation, cases, everything, answers, who).items()}
        for who in ("Bayesian reader", "x")
    )
    assert (rational["set.others"], rational["set.likeliest"], rational["set.tv"]) == (1, 1, 0)
    assert rational["set.share"] > 0.95
    sizes = [sum(c.answer[1] == answers[0] for c in case.choices if c.group) for case in cases]
    asked = [sum(bool(c.group) for c in case.choices) for case in cases]
    assert flooded["set.share"] == pytest.approx(sum(sizes) / sum(asked))
    assert flooded["set.others"] == pytest.approx((sum(sizes) - len(cases)) / (sum(asked) - len(cases)))
