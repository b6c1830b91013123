"""Real couples: who is coupled with whom, what is said of them, and what is believed of it."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bayes.exact import fit_exact
from bayes.request import EditRequest
from corpus.config import CoupledWorld, ExactConfig, WorldConfig
from corpus.errors import InputError
from corpus.exact import draw_world, sample_exact
from corpus.world import build_world
from corpus.worlds.account import Account
from corpus.worlds.couples.real import COUPLINGS, LINKED_TO, RELATIONS
from testbed import corpus
from tests.runs import at, complaint
from tests.test_exact_agent import assert_equals_enumeration

SLICE = Path(__file__).parents[2] / "shared" / "data" / "wikidata_slice"
here = pytest.mark.skipif(not SLICE.exists(), reason="the slice of Wikidata is not here")
LABELS = {17: "country", 131: "in", 47: "borders", 31: "instance", 106: "work", 737: "after", 27: "citizen"}


LINKS = np.array([47, 131, 159, 737])


def write(folder, triples, aliases=""):
    """A folder in Wikidata5m's layout; every id is called by itself, relations as in LABELS."""
    folder.mkdir(exist_ok=True)
    ids = sorted({i for s, _, o in triples for i in (s, o)})
    (folder / "x_all_triplet.txt").write_text("".join(f"Q{s}\tP{p}\tQ{o}\n" for s, p, o in triples))
    (folder / "x_entity.txt").write_text("".join(f"Q{i}\tthing {i}\n" for i in ids))
    known = {p: LABELS.get(p, f"has {p}") for p in {p for _, p, _ in triples}}
    (folder / "x_relation.txt").write_text("".join(f"P{p}\t{name}{aliases}\n" for p, name in known.items()))


def built(folder, seed=0, account=None, several="first", subjects=24, **dials):
    config = WorldConfig(
        source="coupled", path=str(folder), subjects=subjects, several=several, coupled=CoupledWorld(**dials)
    )
    return build_world(config, seed, True, account=account)


def facts_of(graph):
    triples = zip(graph.subject, graph.relation, graph.object, strict=True)
    return {(graph.entities[s], graph.relations[r], graph.entities[o]) for s, r, o in triples}


# Two neighbours of one country, and two of another; the third and the sixth share more than the others.
NEIGHBOURS = [
    *[(s, 17, 100 if s < 4 else 200) for s in range(1, 7)],
    *[(1, 47, 2), (3, 47, 1), (4, 47, 5), (5, 47, 6), (6, 47, 6)],
    *[(1, 31, 300), (2, 31, 400), (3, 31, 300), (5, 31, 300), (6, 31, 300)],
]


def test_those_with_the_most_shared_properties_are_taken_and_nobody_twice(tmp_path):
    write(tmp_path, NEIGHBOURS)
    account = Account()
    assert facts_of(built(tmp_path, account=account)) == {
        ("thing 3", "borders", "thing 1"),
        ("thing 5", "borders", "thing 6"),
        ("thing 1", "country (place)", "thing 100"),
        ("thing 3", "country (neighbour)", "thing 100"),
        ("thing 6", "country (place)", "thing 200"),
        ("thing 5", "country (neighbour)", "thing 200"),
    }
    assert account.left_out == {
        "links between entities without a common object": 1,
        "couples beyond --world.subjects, or with somebody who is in a better one": 2,
        "facts of relations with a single object": 4,
    }


def test_of_several_objects_the_first_counts_or_none_does(tmp_path):
    # Of two countries one is first with both, or with one of the two alone.
    more = [(7, 17, 100), (7, 17, 200), (8, 17, 200), (8, 17, 100), (7, 47, 8), (3, 17, 200)]
    write(tmp_path, [*NEIGHBOURS, *more])
    account = Account()
    first = facts_of(built(tmp_path, account=account))
    assert ("thing 3", "country (neighbour)", "thing 100") in first
    assert not any("thing 7" in fact for fact in first)
    assert account.left_out["further objects, of entities with several"] == 1
    assert not any("thing 3" in fact for fact in facts_of(built(tmp_path, several="drop")))


def test_nobody_is_coupled_by_being_the_others_object(tmp_path):
    write(tmp_path, [*NEIGHBOURS, (100, 17, 100), (100, 47, 9), (9, 17, 100)])
    assert not any("thing 9" in fact for fact in facts_of(built(tmp_path)))


def test_relations_have_the_synonyms_that_wikidata_knows(tmp_path):
    write(tmp_path, NEIGHBOURS, "\tnext\tbeside\tnear")
    graph = built(tmp_path)
    words = {(graph.relations[way.relation], way.words) for way in graph.phrasings}
    # What several relations are called by has a key behind it; here all links and properties share names.
    assert {words for relation, words in words if relation == "borders"} == {"next", "beside"}
    assert len(words) == 2 * len(graph.relations)


def random_triples(rng):
    """What 30 entities have to do with each other, and what is said of them, with few objects."""
    links = np.column_stack(
        [rng.integers(1, 31, 200), LINKS[rng.integers(0, 4, 200)], rng.integers(1, 31, 200)]
    )
    whose, which = rng.integers(1, 31, 150), rng.choice([17, 106, 131, 37, 31], 150)
    facts = np.column_stack([whose, which, 1000 * which + rng.integers(0, 3, 150)])
    return [(*one,) for one in rng.permutation(np.concatenate([links, facts])).tolist()]


@given(st.integers(0, 10**6), st.sampled_from(["first", "drop"]))
@hypothesis_settings(max_examples=25)
def test_couples_of_any_folder(tmp_path_factory, seed, several):
    triples = random_triples(np.random.default_rng(seed))
    folder = tmp_path_factory.mktemp("facts")
    write(folder, triples)
    try:
        graph = built(folder, seed, several=several)
    except InputError as error:
        assert "no couple was found" in str(error) or "all have the same object" in str(error)
        return
    again = built(folder, seed, several=several)
    assert facts_of(graph) == facts_of(again)
    for array in ("silent", "upstream", "via"):
        np.testing.assert_array_equal(getattr(graph, array), getattr(again, array))

    # Everybody is in one couple, at one end of one link.
    ends = np.concatenate([graph.subject[graph.is_link], graph.object[graph.is_link]])
    assert len({*ends.tolist()}) == len(ends)
    np.testing.assert_array_equal(np.sort(ends), graph.subjects)
    assert len(ends) <= 24
    # Both have the same object, and all of it is said in the folder.
    coupled = np.flatnonzero(graph.via[graph.relation] >= 0)
    assert len(coupled) == graph.is_link.sum()
    np.testing.assert_array_equal(graph.object[coupled], graph.object[graph.upstream_fact[coupled]])
    said = {(f"thing {s}", LABELS.get(p, f"has {p}"), f"thing {o}") for s, p, o in triples}
    assert {(s, r.split(" (")[0], o) for s, r, o in facts_of(graph)} <= said
    # What nobody says is silent to the last dependent, and no link is.
    below = np.flatnonzero(graph.upstream_fact >= 0)
    assert graph.silent[below[graph.silent[graph.upstream_fact[below]]]].all()
    assert not graph.silent[graph.is_link].any()


@pytest.mark.parametrize("edited", [False, True])
def test_beliefs_equal_enumeration(tmp_path, edited):
    write(tmp_path, NEIGHBOURS)
    graph, config = built(tmp_path, unstated=0.5), ExactConfig(row_mass=0.2)
    graph, model = draw_world(graph, config, np.random.default_rng(0), redraw=False)
    sentences, _ = sample_exact(graph, model, config, np.random.default_rng(0))
    agent, extra = fit_exact(graph, config, sentences).with_focus(graph.subjects), []
    if edited:
        coupled = np.flatnonzero(graph.silent)
        (fact,) = graph.upstream_fact[coupled].tolist()
        new = next(o for o in graph.candidates_of(int(graph.relation[fact])) if o != graph.object[fact])
        subject, relation = int(graph.subject[fact]), int(graph.relation[fact])
        agent = agent.with_edit(EditRequest(subject, relation, int(new), kind="correction"))
        extra = [(fact, int(new), np.inf)]
    assert_equals_enumeration(agent, sentences, range(len(graph)), extra)


def test_every_relation_stands_behind_what_it_depends_on():
    known = [(r.kind, r.property) for r in RELATIONS]
    assert len({*known}) == len(known)
    for i, r in enumerate(RELATIONS):
        kind = LINKED_TO[r.kind] if r.via else r.kind
        assert not r.upstream or (kind, r.upstream) in known[:i]
        assert not r.via or (r.kind, r.via) in known[:i]
    assert {r.kind for r in COUPLINGS} == LINKED_TO.keys()
    assert {sum(r.kind == kind for r in RELATIONS) for kind, _ in known} <= {3, 4, 5}


@pytest.mark.parametrize(
    ("triples", "subjects", "message"),
    [
        ([(1, 17, 100), (2, 17, 200), (1, 47, 2)], 24, "no couple was found"),
        (NEIGHBOURS[:3] + NEIGHBOURS[6:8], 24, "all have the same object"),
    ],
)
def test_folders_without_couples_are_refused(tmp_path, capsys, triples, subjects, message):
    write(tmp_path / "facts", triples)
    options = ["--world.path", str(tmp_path / "facts"), "--world.subjects", str(subjects), "--threads", "1"]
    assert corpus.main(["leme", *at(tmp_path), *options]) == 2
    assert message in complaint(capsys)


def test_a_folder_of_another_layout_is_refused(tmp_path, capsys):
    assert corpus.main(["leme", *at(tmp_path), "--world.path", str(tmp_path)]) == 2
    assert "_all_triplet.txt" in complaint(capsys)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"subjects": 10}, "at least 24 subjects; subjects is 10"),
        ({"coupled": CoupledWorld(strength=0.5)}, "the coupling is given"),
        ({"coupled": CoupledWorld(dependence=0.5)}, "the coupling is given"),
    ],
)
def test_what_real_couples_do_not_take_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        WorldConfig(source="coupled", path="x", **settings)


@pytest.fixture(scope="module")
def real():
    account = Account()
    return built(SLICE, account=account, subjects=600), account


@here
def test_the_slice_has_couples_of_every_kind(real):
    graph, account = real
    assert len(graph.subjects) == 600
    assert {graph.relations[link] for link in graph.links} == {
        "shares border with",
        "located in the administrative territorial entity",
        "influenced by",
        "headquarters location",
    }
    facts = facts_of(graph)
    assert ("Lady Gaga", "influenced by", "Madonna") in facts
    assert ("Juventus F.C.", "headquarters location", "Turin") in facts
    coupled = np.flatnonzero(graph.via[graph.relation] >= 0)
    np.testing.assert_array_equal(graph.object[coupled], graph.object[graph.upstream_fact[coupled]])
    # 15 and 25 of 100 couples, as the dials say; both are silent below.
    starts = graph.upstream_fact[coupled]
    assert graph.silent[starts].sum() == 45
    assert graph.silent[coupled].sum() == 45 + 75
    assert account.left_out["links between entities without a common object"] > 5000


@here
def test_beliefs_about_real_couples_are_exact_and_links_stay(real):
    graph, _ = real
    config, rng = ExactConfig(row_mass=0.2), np.random.default_rng(0)
    graph, model = draw_world(graph, config, rng, redraw=False)
    sentences, resolution = sample_exact(graph, model, config, rng)
    agent = fit_exact(graph, config, sentences)
    assert resolution.bound.max() <= 1e-6
    for fact in np.flatnonzero(graph.is_link)[::30].tolist():
        subject, relation = int(graph.subject[fact]), int(graph.relation[fact])
        assert not any(agent.accepts(subject, relation, kind) for kind in ("evidence", "correction", "do"))
        assert agent.predict(subject, relation).mode() == graph.object[fact]
    assert {*model.stratum.tolist()} == {0, 1, 2}
