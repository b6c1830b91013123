"""Seesaw-CF's released requests: the world of their people, and the requests posed in it."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes.exact import fit_exact
from corpus.config import ExactConfig, WorldConfig
from corpus.errors import InputError
from corpus.exact import draw_world, sample_exact
from corpus.seeds import generator
from corpus.text.tokenizer import entity_tokenizer
from corpus.world import build_world
from corpus.worlds.people import BORN, CITIZENSHIP, GENDER, LANGUAGE, RACE, REGION, WORK
from corpus.worlds.people.real import rank_people
from corpus.worlds.people.released import MAN, REQUESTS, WOMAN, find_women, read_released, read_requests
from testbed.evaluations.seesaw import NEW_HOLDERS, Seesaw
from testbed.evaluations.seesaw.population import Population
from testbed.evaluations.seesaw.released import Poser, read_world_requests
from testbed.run.world import World
from tests.test_people import TABLES, facts_of
from tests.worlds import make_people

SHARED = Path(__file__).parents[2] / "shared" / "data"
FILES, SLICE = SHARED / "seesaw_cf", SHARED / "wikidata_slice"
real = pytest.mark.skipif(not (FILES.exists() and SLICE.exists()), reason="the authors' files are not here")

NAMES = {
    "Q60": "New York",
    "Q61": "Boston",
    "Q145": "United Kingdom",
    "Q30": "United States",
    "Q901": "scientist",
    "Q33999": "actor",
    "Q77": "prophet",
    "Q150": "French",
    "Q1860": "English ",
    f"Q{WOMAN}": "female",
    f"Q{MAN}": "male",
}
PEOPLE = {1: "Ann", 2: "Bea", 3: "Cid", 4: "Dan", 5: "Eve", 6: "Eve"}


def case(relation, subject, old, new, asked=()):
    """A case as in the files."""
    old, new = ({"id": f"Q{q}", "str": NAMES[f"Q{q}"]} for q in (old, new))
    rewrite = {"relation_id": relation, "subject": subject, "target_true": old, "target_new": new}
    return {
        "requested_rewrite": rewrite,
        "attribute_aux_info": [f"Q{q}" for q in asked],
        "attribute_aux_ent": [PEOPLE[q] for q in asked],
    }


CASES = {
    # Bea and Ann are women: no other first part is shared by both lists.
    "P19_P21": [case("P19", "Sam", 61, 60, (1, 2, 3, 4)), case("P19", "Ann", 60, 61)],
    "P19_P101": [case("P19", "Sam", 61, 60, (2, 1, 4, 3))],
    "P21_P101": [case("P21", "Sam", MAN, WOMAN, (5,))],
    "P27_P21": [case("P27", "Sam", 145, 30, (6,)), case("P27", "Eve", 30, 145)],
    "P101_eff": [case("P101", "Sam", 901, 77), case("P101", "Tom", 33999, 901)],
    "P103_eff": [case("P103", "Sam", 150, 1860), case("P103", "Tom", 1860, 150)],
}
INFORMATION = {
    "Q9": {"name": "Tom", "properties": {"P21": [f"Q{MAN}"], "P172": ["Q81"]}},
    "Q1": {"name": "Ann", "properties": {"P172": ["Q82"]}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small folder as the authors'."""
    place = tmp_path_factory.mktemp("released") / "data"
    place.mkdir()
    for name in REQUESTS:
        (place / f"seesaw_cf_{name}.json").write_text(json.dumps(CASES.get(name, [])))
    (place / "P101_subject_info.json").write_text(json.dumps(INFORMATION))
    (place / "P103_subject_info.json").write_text("{}")
    for name, text in TABLES.items():
        (place / name).write_text(text.replace("Kelts,West", "Kelts,East"))
    return place.parent


@pytest.fixture(scope="module")
def place(folder):
    """The world of these people, in which every fact is stated."""
    config = ExactConfig(row_mass=0.2, strata=(0.0, 0.0, 1.0), logical=0.0, correctable=True)
    graph = build_world(WorldConfig(source="people", path=str(folder)), 0, True)
    rng = generator(0, "sentences")
    graph, model = draw_world(graph, config, rng, redraw=False)
    sentences, _ = sample_exact(graph, model, config, rng)
    world = World(graph, model, sentences, entity_tokenizer(graph), path=folder)
    return world, fit_exact(graph, config, sentences)


# The world.


def test_the_world_has_what_requests_say_of_their_people(place):
    assert facts_of(place[0].graph) == {
        ("Sam", BORN, "Boston"),
        ("Sam", GENDER, "male"),
        ("Sam", CITIZENSHIP, "United Kingdom"),
        ("Sam", WORK, "scientist"),
        ("Sam", LANGUAGE, "French"),
        ("Ann", BORN, "New York"),
        ("Ann", GENDER, "female"),
        ("Ann", RACE, "Black"),
        ("Ann", REGION, "East"),
        ("Bea", BORN, "New York"),
        ("Bea", GENDER, "female"),
        ("Cid", BORN, "New York"),
        ("Cid", GENDER, "male"),
        ("Dan", BORN, "New York"),
        ("Dan", GENDER, "male"),
        # Two of one name: whom the request about Eve means is not known, so that she is a third.
        ("Eve (Q5)", GENDER, "female"),
        ("Eve (Q6)", CITIZENSHIP, "United States"),
        ("Eve (subject-2)", CITIZENSHIP, "United States"),
        ("Tom", WORK, "actor"),
        ("Tom", LANGUAGE, "English"),
        ("Tom", GENDER, "male"),
        ("Tom", RACE, "white"),
        ("Tom", REGION, "West"),
    }


def test_in_part_of_the_world_are_all_whom_requests_are_about(folder):
    graph = build_world(WorldConfig(source="people", path=str(folder), subjects=4), 0, True)
    assert {graph.entities[s] for s in graph.subjects} == {"Sam", "Ann", "Eve", "Tom"}


@given(st.integers(1, 120), st.integers(1, 120), st.integers(0, 10**6))
def test_women_are_found_as_far_as_lists_tell_them(women, men, seed):
    """Lists are drawn as the authors draw them: of women and then of men at most a hundred."""
    rng = np.random.default_rng(seed)
    pools = np.arange(women), women + np.arange(men)
    lists = [np.concatenate([rng.permutation(p)[:100] for p in pools]).tolist() for _ in range(12)]
    if min(women, men) >= 100:
        assert find_women(lists) == 100
    elif max(women, men) > 100:
        assert find_women(lists) == 0
    else:
        assert find_women(lists) in ({women} if women + men > 30 else {women, 0})


@pytest.mark.parametrize(
    ("lists", "women"),
    [
        ([[1, 2, 3], [2, 1, 3]], 2),
        # One list, or lists of different people, tell nothing; nor do two that share several first parts.
        ([[1, 2, 3]], 0),
        ([[1, 2, 3], [1, 2, 4]], 0),
        ([[1, 2, 3], [1, 2, 3]], 0),
        ([[1]], 0),
        ([list(range(200))], 100),
    ],
)
def test_where_lists_do_not_tell_gender_is_left_open(lists, women):
    assert find_women(lists) == women


def test_whoever_is_asked_about_comes_in_turn_of_what_they_have():
    known = {1: {"a": 1}, 2: {"a": 1}, 3: {"a": 1}, 4: {"a": 2}, 5: {"a": 1}}
    assert rank_people([1, 2, 3, 4, 5], known, {5}) == [5, 1, 4, 2, 3]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("seesaw_cf_P27_P21.json", "{", "P27_P21.json: no JSON"),
        ("seesaw_cf_P27_P21.json", "{}", "P27_P21.json: expected a list"),
        ("seesaw_cf_P27_P21.json", '[{"requested_rewrite": 1}]', "P27_P21.json, case 1: no request"),
        ("P101_subject_info.json", '{"Q1": 1}', "P101_subject_info.json: Q1 has no name"),
    ],
)
def test_broken_files_are_refused_by_name_and_case(folder, name, text, message):
    path = folder / "data" / name
    whole = path.read_text()
    path.write_text(text)
    try:
        with pytest.raises(InputError, match=message):
            read_released(folder)
    finally:
        path.write_text(whole)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"P19_P101.json: no such file; without --world.people.tags"):
        read_requests(tmp_path)


# The requests.


def test_requests_are_posed_where_everything_is_known(place):
    population = Population(place[0])
    graph, poser = population.graph, Poser(population)
    found = {}
    for request in read_world_requests(place[0]):
        posed = poser.pose(request)
        if posed:
            assert graph.entities[posed.person] == request.subject
            assert graph.entities[posed.new] == request.new[1]
        found[request.file, request.subject] = posed is not None
    assert found == {
        ("P19_P101", "Sam"): True,
        ("P19_P21", "Sam"): True,
        ("P19_P21", "Ann"): True,
        ("P21_P101", "Sam"): True,
        ("P27_P21", "Sam"): True,
        ("P27_P21", "Eve"): False,
        ("P101_eff", "Sam"): False,
        ("P101_eff", "Tom"): True,
        ("P103_eff", "Sam"): True,
        ("P103_eff", "Tom"): True,
    }


def test_the_evaluation_makes_the_papers_requests_each_once(place):
    world, agent = place
    cases = list(Seesaw(requests="released").make_cases(world, agent, 100, 0.95, 0))
    names = world.graph.entities
    made = [tuple(map(int, one.requested_fact)) for one in cases]
    assert len(set(made)) == len(made)
    assert {(names[s], world.graph.relations[r], names[o]) for s, r, o in made} == {
        ("Sam", BORN, "New York"),
        ("Ann", BORN, "Boston"),
        ("Sam", GENDER, "female"),
        ("Sam", CITIZENSHIP, "United States"),
        ("Tom", WORK, "scientist"),
        ("Sam", LANGUAGE, "English"),
        ("Tom", LANGUAGE, "French"),
    }
    # Everybody asked has the new object, as in the paper.
    born = next(one for one in cases if one.facets["property"] == BORN and names[one.truth] == "Boston")
    asked = {names[choice.subject] for choice in born.choices if choice.role == NEW_HOLDERS}
    assert asked == {"Ann", "Bea", "Cid", "Dan"}
    assert len(list(Seesaw(requests="released").make_cases(world, agent, 2, 0.95, 0))) == 2


def test_nobody_released_requests_about_generated_people():
    with pytest.raises(InputError, match="generated"):
        list(Seesaw(requests="released").make_cases(*make_people(), 4, 0.95, 0))


# The authors' files.


@real
def test_gender_by_place_is_wikidatas():
    """Of everybody of whom both are known, without an exception."""
    facts = read_released(FILES).facts
    genders = {s: o for s, p, o in facts.triples.tolist() if p == 21}
    lines = (SLICE / "wikidata_slice_all_triplet.txt").read_text().splitlines()
    stated = {s: o for s, p, o in map(str.split, lines) if p == "P21"}
    compared = [f"Q{genders[s]}" == stated[f"Q{s}"] for s in genders if f"Q{s}" in stated]
    assert all(compared)
    assert len(compared) > 150


@real
def test_nearly_all_requests_of_the_files_can_be_posed():
    graph = build_world(WorldConfig(source="people", path=str(FILES), subjects=2400), 0, True)
    assert len(graph.subjects) == 2400
    requests = read_requests(FILES)
    assert len(requests) == 2958
    assert len({q for one in requests for q, _ in one.others}) == 54_202
    names = {graph.entities[s].rpartition(" (")[0] or graph.entities[s] for s in graph.subjects}
    assert {one.subject for one in requests} <= names | {graph.entities[s] for s in graph.subjects}
