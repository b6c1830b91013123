"""Cases by the exact agent: of every kind of request, in worlds that leave little to ask."""

import math

import numpy as np
import pytest

from bayes.request import EditRequest
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.exact import draw_world, sample_exact
from corpus.graph import build_graph
from corpus.text.tokenizer import entity_tokenizer
from testbed.evaluations.hase import CHILD, REQUEST, Hase
from testbed.protocol import has_answer_changed
from testbed.run.agents import exact_agent
from testbed.run.world import ExactWorld, World
from tests.edited import hase_cases
from tests.test_exact import world_of


def as_world(graph, model, sentences, resolution, config):
    return World(graph, model, sentences, entity_tokenizer(graph), ExactWorld(config, resolution, True))


def small_world(config, subjects=40, seed=0):
    return as_world(*world_of(config, subjects, seed), config)


def chain_world(config, subjects=30):
    """Relations a, b that depends on a, c that depends on b, and d apart."""
    names = [f"s{i}" for i in range(subjects)] + [f"o{i}" for i in range(12)]
    triples = [(s, r, subjects + 3 * r + (s + r) % 3) for s in range(subjects) for r in range(4)]
    graph = build_graph(np.array(triples), names, ["a", "b", "c", "d"], np.array([-1, 0, 1, -1]))
    rng = np.random.default_rng(0)
    graph, model = draw_world(graph, config, rng, redraw=True)
    return as_world(graph, model, *sample_exact(graph, model, config, rng), config)


def asked(case, role):
    """The choice of that role, None where there is none."""
    return next((choice for choice in case.choices if choice.role == role), None)


def test_the_bound_is_about_anybody():
    world = small_world(ExactConfig(logical=0.0, statements=12), subjects=60)
    bound = exact_agent(world).exactness.bound
    assert bound == pytest.approx(world.exact.resolution.bound.sum(), rel=1e-12)
    assert bound > world.exact.resolution.bound.max()


@pytest.mark.parametrize("request_kind", ["evidence", "correction", "do"])
@pytest.mark.parametrize("sampler", ["stratified", "published"])
def test_every_kind_of_request_has_its_gold(request_kind, sampler):
    config = ExactConfig(logical=0.2, statements=16)
    world = small_world(config)
    agent = exact_agent(world)
    drawn = hase_cases(world, agent, 15, sampler=sampler, request=request_kind)
    assert len(drawn) == 15
    for case in drawn:
        assert case.request.kind == request_kind
        assert math.isinf(case.request.weight) == (request_kind != "evidence")
        edited = agent.with_edit(EditRequest(*case.requested_fact, case.request.weight, case.request.kind))
        for choice in case.choices:
            for t, who in enumerate((agent, edited)):
                p = who.predict(choice.subject, choice.relation)
                np.testing.assert_allclose(choice.agent[t], p.of(choice.options), atol=1e-12)
                assert choice.answer[t] == p.mode()
            # Of what was never stated, objects that are no options have the rest.
            assert (choice.frequency.sum(1) <= 1 + 1e-12).all()
        if request_kind == "evidence":
            believed = agent.probability(*case.requested_fact)
            goal = 0.95 if believed < 0.95 else (1 + believed) / 2
            assert edited.probability(*case.requested_fact) == pytest.approx(goal, abs=1e-9)
            assert case.credence == 0.95
        else:
            assert edited.probability(*case.requested_fact) == pytest.approx(1, abs=1e-12)
            assert case.credence == 1


def test_an_independent_fact_depends_on_nothing_that_is_edited():
    """In a chain a grandchild is no independent fact."""
    world = chain_world(ExactConfig(strata=(0, 0, 1)))
    seen = set()
    for case in hase_cases(world, exact_agent(world), 60, sampler="published", request="do"):
        if independent := asked(case, "s1rx"):
            edited = world.graph.relations[case.request.relation]
            assert (world.graph.relations[independent.relation] == "d") != (edited == "d")
            seen.add(edited)
    assert {"a", "b", "c"} <= seen


def test_a_world_with_little_to_ask_is_asked_again_and_again():
    # Nearly everything is settled by logical sentences.
    world = small_world(ExactConfig(logical=1.0, strata=(0.03, 0, 0.97)))
    agent, graph = exact_agent(world), world.graph
    pairs = zip(graph.subject.tolist(), graph.relation.tolist(), strict=True)
    able = {s for s, r in pairs if agent.accepts(s, r, "evidence")}
    assert 0 < len(able) < 10
    drawn = hase_cases(world, agent, 50)
    assert {case.request.subject for case in drawn} == able


def test_a_world_with_nothing_to_ask_says_so():
    world = small_world(ExactConfig(logical=1.0, strata=(0, 0, 1)))
    with pytest.raises(InputError, match="no fact takes a request of kind 'evidence'"):
        hase_cases(world, exact_agent(world), 5)


@pytest.mark.parametrize("sampler", ["stratified", "published"])
def test_causes_and_effects_can_be_asked_for_alone(sampler):
    world = chain_world(ExactConfig(strata=(0.3, 0.3, 0.4)))
    agent, upstream = exact_agent(world), world.graph.upstream
    for edits, expected in (("upstream", {0, 1}), ("downstream", {1, 2})):
        drawn = hase_cases(world, agent, 20, sampler=sampler, edits=edits)
        assert {case.request.relation for case in drawn} == expected
        for case in drawn:
            relation = case.request.relation
            assert edits != "upstream" or (
                case.facets["child"] and upstream[asked(case, "s1r2").relation] == relation
            )
            assert edits != "downstream" or asked(case, "s1r0").relation == upstream[relation]
            same = world.graph.relation == relation
            assert case.facets["support_new"] == (world.generative.truth[same] == case.request.object).sum()


@pytest.mark.parametrize("edits", ["upstream", "downstream"])
def test_a_world_in_which_nothing_depends_on_anything_has_neither_causes_nor_effects(edits):
    names = ["s0", "s1", "s2", "o0", "o1", "o2"]
    graph = build_graph(np.array([(s, 0, 3 + s) for s in range(3)]), names, ["a"], np.array([-1]))
    config, rng = ExactConfig(logical=0.0), np.random.default_rng(0)
    graph, model = draw_world(graph, config, rng, redraw=True)
    world = as_world(graph, model, *sample_exact(graph, model, config, rng), config)
    assert hase_cases(world, exact_agent(world), 5)
    with pytest.raises(InputError, match=f"edits {edits}"):
        hase_cases(world, exact_agent(world), 5, edits=edits)


@pytest.mark.parametrize("config", [{"statements": 120}, {"noise": 1e-9, "statements": 20}])
def test_beliefs_too_small_to_be_numbers_can_still_be_changed(config):
    world = small_world(ExactConfig(logical=0.0, **config), subjects=12)
    agent = exact_agent(world)
    for case in hase_cases(world, agent, 10, reinforce=0.0):
        assert case.request.object != case.truth
        assert 0 < case.request.weight < math.inf
        edited = agent.with_edit(case.request)
        assert edited.probability(*case.requested_fact) == pytest.approx(0.95, abs=1e-9)


def test_requests_name_what_is_possible():
    """Without noise in labels a false one rules its object out."""
    world = small_world(ExactConfig(label_noise=0.0, logical=0.0), subjects=60)
    agent = exact_agent(world)
    impossible = {"evidence": 0, "correction": 0, "do": 0}
    for kind in impossible:
        for case in hase_cases(world, agent, 40, reinforce=0.0, request=kind):
            impossible[kind] += agent.rules_out(*case.requested_fact[:2], np.array(case.request.object))
    assert impossible["evidence"] == impossible["correction"] == 0
    # What was impossible in the world as it was may be so after a change.
    assert impossible["do"] > 0


def test_the_request_is_always_among_its_candidates():
    world = small_world(ExactConfig(logical=0.0, noise=0.4, statements=30), subjects=30)
    for case in hase_cases(world, exact_agent(world), 40, candidates=8, credence=0.05):
        assert case.request.object in asked(case, "s1r1").options
        assert case.credence == 0.05


def test_only_requests_that_change_a_consequence_if_so_asked():
    config = ExactConfig(persistence="fact", statements=16, strata=(0.6, 0.2, 0.2), row_mass=0.1)
    world = small_world(config, subjects=60)
    agent = exact_agent(world)
    usual, changing = (
        hase_cases(world, agent, 20, edits="upstream", reinforce=0.0, changing=only) for only in (False, True)
    )
    assert 0 < sum(case.facets["changes"] for case in usual) < 20
    assert [case.facets["changes"] for case in changing] == [True] * 20
    for case in changing:
        child = asked(case, CHILD)
        assert has_answer_changed(child)


@pytest.mark.slow
def test_where_no_request_changes_a_consequence_none_is_drawn():
    config = ExactConfig(persistence="fact", statements=16, strata=(0.0, 0.0, 1.0), logical=0.0)
    world = small_world(config)
    with pytest.raises(InputError, match=r"--hase\.edits upstream, --hase\.changing"):
        hase_cases(world, exact_agent(world), 5, edits="upstream", reinforce=0.0, changing=True)


def test_no_request_is_drawn_twice_and_a_small_world_has_no_more():
    world = chain_world(ExactConfig(), subjects=6)
    agent = exact_agent(world)
    cases = hase_cases(world, agent, 1000)
    requests = [case.requested_fact for case in cases]
    assert len({*requests}) == len(requests)
    # Six subjects have four facts each, and each relation three objects.
    assert 6 < len(requests) <= 6 * 4 * 3
    assert [case.requested_fact for case in hase_cases(world, agent, 6)] == requests[:6]


def test_requests_of_a_file_have_the_gold_of_the_same_requests_drawn(tmp_path):
    world = small_world(ExactConfig(logical=0.2, statements=16))
    agent, graph = exact_agent(world), world.graph
    drawn = hase_cases(world, agent, 12)
    names = [
        (
            graph.entities[c.request.subject],
            graph.relations[c.request.relation],
            graph.entities[c.request.object],
        )
        for c in drawn
    ]
    path = tmp_path / "mine.tsv"
    lines = [" \t ".join(one) if i % 2 else "{} {} = {}".format(*one) for i, one in enumerate(names)]
    path.write_text("\ufeff" + "\n".join([*lines, "", lines[0]]) + "\n", encoding="utf-8")
    given = hase_cases(world, agent, 50, requests=(str(path),))
    assert [c.request for c in given] == [c.request for c in drawn]
    for one, other in zip(given, drawn, strict=True):
        assert (one.truth, one.facets) == (other.truth, other.facets)
        mine, theirs = asked(one, REQUEST), asked(other, REQUEST)
        np.testing.assert_array_equal(mine.answer, theirs.answer)
        np.testing.assert_array_equal(mine.agent, theirs.agent)
    assert Hase(requests=(str(path),)) == Hase(requests=tuple("{} {} = {}".format(*one) for one in names))
    assert [c.request for c in hase_cases(world, agent, 3, requests=(str(path),))] == [
        c.request for c in drawn[:3]
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no file"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"s1 r0 = o1\nnothing\n", r"line 2: expected 'subject relation = object', got 'nothing'"),
        (b"a\tb\n", "line 1: expected"),
        (b"a\t\tb\n", "line 1: expected"),
    ],
)
def test_files_of_requests_that_are_none_are_refused(content, message, tmp_path):
    path = tmp_path / "mine.tsv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        Hase(requests=(str(path),))


def test_a_request_about_nothing_in_the_world_is_refused():
    world = small_world(ExactConfig(logical=0.2, statements=16))
    agent, graph = exact_agent(world), world.graph
    subject, obj = graph.entities[graph.subjects[0]], graph.entities[graph.objects[0]]
    with pytest.raises(InputError, match="Nobody"):
        hase_cases(world, agent, 5, requests=(f"Nobody {graph.relations[0]} = {obj}",))
    with pytest.raises(InputError, match="is not the object of any fact"):
        hase_cases(world, agent, 5, requests=(f"{subject} {graph.relations[0]} = {subject}",))


def test_a_request_that_the_agent_cannot_take_names_the_kinds_that_it_takes():
    world = small_world(ExactConfig(label_noise=0.0, logical=0.2))
    agent, graph = exact_agent(world), world.graph
    pairs = zip(graph.subject.tolist(), graph.relation.tolist(), graph.object.tolist(), strict=True)
    s, r, o = next(fact for fact in pairs if not agent.accepts(*fact[:2], "evidence"))
    text = f"{graph.entities[s]} {graph.relations[r]} = {graph.entities[o]}"
    with pytest.raises(InputError, match="none of kind 'evidence'.*take --hase.request do"):
        hase_cases(world, agent, 5, requests=(text,))
