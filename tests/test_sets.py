"""What becomes of a set after a request adds to it or takes out of it: questions, and metrics by hand."""

import numpy as np
import pytest

from corpus.errors import InputError
from corpus.worlds.members import ANSWERS
from testbed import corpus
from testbed.engine.methods import the_request
from testbed.engine.trace import stale_parts, version_in_world
from testbed.engine.versions import versions_of_cases
from testbed.evaluations.hase import Hase
from testbed.evaluations.kinds import Kinds
from testbed.evaluations.sets import ADDS, REPLACES, TAKES, SetSampler
from testbed.examination import CaseList
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
def run(tmp_path_factory):
    """Forty people, of whom each speaks some of thirty languages, the first three of them most often."""
    folder, rng = tmp_path_factory.mktemp("sets"), np.random.default_rng(0)
    rows = [f"p{i}\tlives in\ttown {i % 4}\n" for i in range(40)]
    spoken = rng.random((40, 30)) < np.repeat([0.5, 0.2], [3, 27])
    rows += [f"p{i}\tspeaks\tl{j}\n" for i, j in zip(*np.nonzero(spoken), strict=True)]
    (folder / "w.tsv").write_text("".join(rows))
    words = ["--world.path", str(folder / "w.tsv"), "--world.several", "set", "--kind", "exact"]
    assert corpus.main([*at(folder), *words, "--world.min-pair-subjects", "3"]) == 0
    return Run(folder, "x")


@pytest.fixture(scope="module")
def world(run):
    return load_world(run)


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


def test_edits_in_a_world_of_sets_are_stale_once_and_others_are_not(run, tmp_path):
    versions = versions_of_cases(Hase.version, "exact")
    config = {"versions": versions, "settings": {"agent": {"name": "exact"}}, "editor": "none"} | {
        "method": {"version": 1}
    }
    assert stale_parts(config, version_in_world(run, Hase.version)) == ["the cases"]
    assert stale_parts(config, version_in_world(Run(tmp_path, "x"), Hase.version)) == []


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
    return {name: m for name, m in values.items() if name.startswith(("set.", "right.replaced"))}


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
        assert {name: found[name].by_case[number] for name in expected} == pytest.approx(expected, abs=1e-9)


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


def name_replacements(world, agent):
    """Requests that replace an object of a set by another one, where no sentence has settled either."""
    graph, requests = world.graph, []
    for s in graph.subjects.tolist():
        languages = {"yes": [], "no": []}
        for fact in graph.facts_of(s):
            relation = graph.relations[r := int(graph.relation[fact])]
            if relation.startswith("speaks: ") and agent.accepts(s, r, "evidence"):
                languages[graph.entities[world.generative.truth[fact]]].append(
                    relation.removeprefix("speaks: ")
                )
        if all(languages.values()):
            requests.append(f"{graph.entities[s]} speaks = {languages['no'][0]}, not {languages['yes'][0]}")
    return requests


def test_a_request_that_replaces_is_one_case_about_both_objects(world):
    """The agent is told both; of a model that only adds it is seen that the former object is still there."""
    yes, no = map(world.graph.entities.index, ANSWERS)
    agent = agent_named("exact", world)
    evaluation = Hase(requests=tuple(name_replacements(world, agent)[:8]))
    cases = [*evaluation.make_cases(world, agent, 99, 0.95, 0)]
    assert len(cases) == 8
    for case in cases:
        adds, leaves = case.request.parts
        assert (adds.object, leaves.object) == (yes, no)
        assert the_request(case) == [(adds[:3], 0.95, 0.0), (leaves[:3], 0.95, 0.0)]
        asked = {c.role: c for c in case.choices if c.group == REPLACES}
        assert [c.relation for c in case.choices if c.role == "replaced"] == [leaves.relation]
        for role, answer in (("s1r1", yes), ("replaced", no)):
            assert (asked[role].answer[0], asked[role].answer[1]) == (yes + no - answer, answer)
            believed = asked[role].agent[1][asked[role].options == answer]
            np.testing.assert_allclose(believed, 0.95, atol=1e-9)
        stays = [c for c in case.choices if c.role == "same set"]
        assert stays
        assert all(c.answer[0] == c.answer[1] for c in stays)
        assert not case.facets["reinforces"]
    rows = CaseList(world, "hase", evaluation, cases).to_arrow().to_pylist()
    names, relations = world.graph.entities, world.graph.relations
    leaves = cases[0].request.further[0]
    assert rows[0]["further"] == [f"{names[leaves.subject]} {relations[leaves.relation]} = no"]
    everywhere = [c for case in cases for c in case.choices]
    for still, replaced in ((1.0, 0.0), (0.0, 1.0)):
        p_yes = np.array([still if c.role == "replaced" else float(c.answer[1] == yes) for c in everywhere])
        values = measure(evaluation, cases, p_yes, (yes, no))
        assert values["right.replaced_object"].value() == replaced
        assert values["set.others"].value() == values["set.likeliest"].value() == 1
        assert (values["set.share"].value() == 1) == bool(replaced)
    mixed = Hase(requests=(*evaluation.requests, "p0 speaks = l0"))
    with pytest.raises(InputError, match="a file of their own"):
        next(mixed.make_cases(world, agent, 99, 0.95, 0))
    denied = Hase(requests=("not p0 speaks = l0",))
    with pytest.raises(InputError, match="of form 'denial'"):
        next(denied.make_cases(world, agent, 99, 0.95, 0))
