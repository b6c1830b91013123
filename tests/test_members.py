"""Relations with several objects as sets: each object is a fact of its own, which requests add or remove."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes.exact import fit_exact
from bayes.interface import tell_agent
from bayes.paper import evidence_from, fit_paper
from bayes.request import EditRequest
from corpus.config import ExactConfig, WorldConfig
from corpus.errors import InputError
from corpus.text.language import Kind
from corpus.text.sentences import make_sentences
from corpus.world import build_world
from corpus.worlds.account import Account
from testbed import corpus
from testbed.engine.request_parser import parse_fact, parse_request
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.run_parts import answer_question, parse_question
from tests.enumeration import Enumeration
from tests.runs import at

SPEAKERS = (("Ann", "English"), ("Ann", "French"), ("Bob", "English"), ("Cy", "Danish"), ("Cy", "French"))
SPEAKS = "".join(f"{who}\tspeaks\t{language}\n" for who, language in SPEAKERS)
HOMES = (
    "Ann\tlives in\tRome\nBob\tlives in\tOslo\nCy\tlives in\tRome\nDi\tlives in\tParis\nDi\tborn in\tRome\n"
)


def set_world(path, text, account=None, least=1, note=lambda _: None, **options):
    path.write_text(text, encoding="utf-8")
    config = WorldConfig(
        path=str(path), several="set", min_pair_subjects=least, dependences="none", **options
    )
    return build_world(config, 0, account=account or Account(), note=note)


def name_facts(graph):
    columns = graph.subject, graph.relation, graph.object
    names = graph.entities, graph.relations, graph.entities
    return [tuple(n[i] for n, i in zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def test_each_object_of_a_set_is_a_fact_of_its_own(tmp_path):
    account, said = Account(), []
    facts = {
        (s, r.removeprefix("speaks: "), o)
        for s, r, o in name_facts(set_world(tmp_path / "w.tsv", SPEAKS + HOMES, account, note=said.append))
    }
    languages = {"Ann": ("yes", "yes", "no"), "Bob": ("yes", "no", "no"), "Cy": ("no", "yes", "yes")}
    spoken = {
        (s, language, answer)
        for s, answers in languages.items()
        for language, answer in zip(("English", "French", "Danish"), answers, strict=True)
    }
    # Of Di nobody says what she speaks.
    homes = {tuple(line.split("\t")) for line in HOMES.splitlines()}
    assert facts == spoken | homes
    assert account.left_out == {}
    assert said[0].endswith("of so many objects: speaks (3)")
    # Danish is spoken by one.
    account = Account()
    graph = set_world(
        tmp_path / "w.tsv", SPEAKS + HOMES + "Ann\tspeaks\tFrench\n", account, least=2, min_relations=1
    )
    assert not [r for r in graph.relations if r.startswith("speaks")]
    assert account.left_out == {
        "repeated facts": 1,
        "objects that fewer than 2 subjects have, or have not, in their sets": 5,
    }


@settings(max_examples=40)
@given(
    st.lists(st.tuples(*map(st.integers, (0, 0, 0), (5, 2, 3))), min_size=30, max_size=60), st.integers(1, 3)
)
def test_sets_are_those_of_a_slow_reader(tmp_path_factory, rows, least):
    facts = dict.fromkeys((f"s{s}", f"r{r}", f"o{o}") for s, r, o in rows)
    expected = {}
    for relation in sorted({r for _, r, _ in facts}):
        of = {s: [o for t, r, o in facts if (t, r) == (s, relation)] for s, r, _ in facts if r == relation}
        if sum(len(objects) > 1 for objects in of.values()) < 0.05 * len(of):
            expected |= {(s, relation): objects[0] for s, objects in of.items()}
            continue
        for one in sorted({o for objects in of.values() for o in objects}):
            has = {s: "yes" if one in objects else "no" for s, objects in of.items()}
            if min(Counter(has.values()).get(answer, 0) for answer in ("yes", "no")) >= least:
                expected |= {(s, f"{relation}: {one}"): answer for s, answer in has.items()}
    text = "".join("\t".join(fact) + "\n" for fact in facts)
    try:
        graph = set_world(tmp_path_factory.getbasetemp() / "sets.tsv", text, least=least, min_relations=1)
    except InputError as error:
        assert re.search("distinct objects|one subject|graph is empty", str(error))
        return
    assert {(s, r): o for s, r, o in name_facts(graph)} == expected


def test_a_request_adds_to_a_set_or_takes_out_of_it(tmp_path):
    """The exact agent is the enumeration of all sets, and other objects stay as they were for every agent."""
    graph = set_world(tmp_path / "w.tsv", SPEAKS + "".join(HOMES.splitlines(keepends=True)[:3]))
    ann, yes, no = (graph.entities.index(name) for name in ("Ann", "yes", "no"))
    danish, french = (graph.relations.index(f"speaks: {name}") for name in ("Danish", "French"))
    stated = np.column_stack([graph.subject, graph.relation, graph.object])
    sentences = make_sentences(Kind.ATOMIC, np.repeat(stated, 1 + np.arange(len(stated)) % 3, axis=0))
    config = ExactConfig()
    agents = (
        fit_exact(graph, config, sentences).with_focus(graph.subjects.tolist()),
        fit_paper(evidence_from(sentences), graph.upstream, len(graph.entities), graph.objects),
    )
    for relation, answer in ((danish, yes), (french, no)):
        for agent in agents:
            assert agent.predict(ann, relation).mode() != answer
            weight = agent.weight_for(ann, relation, answer)
            edited = agent.with_edit(EditRequest(ann, relation, answer, weight))
            assert edited.probability(ann, relation, answer) >= 0.95 - 1e-9
            others = [r for r in range(len(graph.relations)) if r != relation]
            kept, before = (one.distributions(np.full(3, ann), np.array(others)) for one in (edited, agent))
            np.testing.assert_allclose(kept, before, atol=1e-12)
    agent = agents[0]
    adds = EditRequest(ann, danish, yes, 1.5)
    # A request that replaces is evidence of two facts, in any order.
    replaces = adds._replace(further=(EditRequest(ann, french, no, 0.7),))
    swapped = replaces.further[0]._replace(further=(adds,))
    for request in (adds, replaces, swapped):
        edited = tell_agent(agent, request)
        said = [
            (
                int(graph.find(*part[:2])),
                part.object,
                part.weight * agent.known.statement_strength(part.relation),
            )
            for part in request.parts
        ]
        for fact, belief in Enumeration(graph, config, sentences, said).posterior().items():
            s, r = int(graph.subject[fact]), int(graph.relation[fact])
            np.testing.assert_allclose(
                edited.probability(s, r, np.array([*belief])), [*belief.values()], atol=1e-10
            )


def test_a_world_of_sets_is_written_down_and_takes_requests_by_name(tmp_path, capsys):
    rows = [f"p{i}\tspeaks\tl{j}\n" for i in range(40) for j in {i % 4, i % 3}]
    (tmp_path / "w.tsv").write_text("".join(rows))
    words = [*at(tmp_path), "--world.path", str(tmp_path / "w.tsv"), "--world.several", "set"]
    assert corpus.main(words) == 2
    assert "choose --distractors same-relation, or --kind exact" in capsys.readouterr().err
    assert corpus.main([*words, "--distractors", "same-relation"]) == 0
    world = load_world(Run(tmp_path, "x"))
    fact = parse_fact(world, "p0 speaks: l3 = yes")
    assert [world.graph.entities[fact[0]], world.graph.relations[fact[1]]] == ["p0", "speaks: l3"]
    assert parse_fact(world, " p0  speaks = l3") == fact
    with pytest.raises(InputError, match="speaks"):
        parse_fact(world, "p0 speaks = nobody")
    p0, l0, l3 = (fact[0], world.graph.relations.index("speaks: l0"), fact[1])
    yes, no = (world.graph.entities.index(answer) for answer in ("yes", "no"))
    assert parse_request(world, "p0 speaks = l3, not l0") == EditRequest(
        p0, l3, yes, further=(EditRequest(p0, l0, no),)
    )
    for wrong in ("p0 speaks = l3, not l3", "p0 speaks = l3 or l0", "p0 speaks = l3, not Rome"):
        with pytest.raises(InputError, match="a request about a set names one"):
            parse_request(world, wrong)
    stated = world.sentences.a[(world.sentences.kind == Kind.ATOMIC) & (world.sentences.a[:, 1] == fact[1])]
    said = {*stated[:, 2].tolist()}
    assert {world.graph.entities[o] for o in said} == {"yes", "no"}
    with pytest.raises(InputError, match="several set is for sources wikidata and tsv, not people"):
        build_world(WorldConfig(source="people", several="set"), 0)


def test_a_set_is_asked_about_as_a_whole(tmp_path):
    """Whoever knows each of its facts names the set, and says so of every object."""
    rows = [f"p{i}\tspeaks\tl{j}\n" for i in range(40) for j in {i % 4, i % 3}]
    (tmp_path / "w.tsv").write_text("".join(rows))
    words = ["--world.path", str(tmp_path / "w.tsv"), "--world.several", "set", "--kind", "exact"]
    assert corpus.main([*at(tmp_path), *words]) == 0
    world = load_world(Run(tmp_path, "x"))
    graph, p5 = world.graph, world.graph.entities.index("p5")
    members = {f"l{j}": graph.relations.index(f"speaks: l{j}") for j in range(4)}
    assert parse_question(world, " p5  speaks") == (p5, members)
    assert parse_question(world, "p5 speaks: l3") == (p5, {"": members["l3"]})
    for unknown in ("p5 listens", "nobody speaks"):
        with pytest.raises(InputError, match="no relation|unknown entity"):
            parse_question(world, unknown)

    def know(s, r, top):
        truth = int(world.generative.truth[graph.find(s, r)])
        return [(truth, 0.9), *((o, 0.1) for o in graph.candidates_of(r) if o != truth)][:top]

    grid = answer_question(world, "p5 speaks", {"who knows": know}, 3)
    assert [str(row[0]) for row in grid.rows] == ["0.90 l1", "0.90 l2", "0.10 l0"]
    assert grid.title.endswith("(the world says: l1, l2)")
