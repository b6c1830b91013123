"""People in groups as a world: what it holds, what dials do, what an agent told the rows believes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from corpus.config import ExactConfig, PeopleWorld, WorldConfig
from corpus.errors import InputError
from corpus.graph import load_graph, save_graph
from corpus.rows import rows_of
from corpus.world import build_world
from corpus.worlds.account import Account
from corpus.worlds.people import (
    BORN,
    CITIZENSHIP,
    EDITED,
    FIELDS,
    GENDER,
    GROUPINGS,
    LANGUAGE,
    NONE,
    RACE,
    REGION,
    RELATIONS,
    WORK,
    category_of,
    find_relation,
)
from testbed import corpus
from testbed.run.agents import agent_named, describe_standard
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.world_tables import groups_of

SMALL = PeopleWorld(groups=3, continents=2, countries=2, places=2, languages=4, works=2, regions=3)
CONFIG = ExactConfig(row_mass=0.2, noise=0.1)
seeds = st.integers(0, 10**6)


def continent_of(graph):
    """int32[entities]: continent of citizenships and birthplaces, an index into `graph.groups`, or NONE."""
    continent = np.full(len(graph.entities), NONE, np.int32)
    continents, places = (graph.candidates_of(find_relation(graph, r)) for r in (CITIZENSHIP, BORN))
    continent[continents] = graph.group[continents]
    country = graph.group[places]
    continent[places] = np.where(country < 0, NONE, graph.wider[country])
    return continent


def people(seed=0, count=24, **dials):
    return build_world(
        WorldConfig(source="people", subjects=count, people=replace(SMALL, **dials)), seed, True
    )


def objects(graph, name):
    """Of each person the object of a relation."""
    return graph.object[graph.relation == find_relation(graph, name)]


# What a world holds.


@given(seeds, st.integers(6, 40), st.integers(2, 5), st.sampled_from([0.0, 0.5, 1.0]))
@hypothesis_settings(max_examples=25)
def test_people_have_the_shape_asked_for(seed, count, groups, said):
    graph = people(seed, count, groups=groups, said=said)
    assert graph.relations == RELATIONS
    assert set(GROUPINGS) | set(EDITED) == set(RELATIONS)
    assert len(graph) == count * len(RELATIONS)
    sizes = np.unique(objects(graph, RACE), return_counts=True)[1]
    assert sorted(sizes.tolist(), reverse=True) == list(replace(SMALL, groups=groups).sizes_of(count))
    hidden = graph.silent[graph.relation == find_relation(graph, RACE)]
    assert hidden.sum() == count - round(said * count)
    for name in RELATIONS:
        silent = graph.silent[graph.relation == find_relation(graph, name)]
        assert (silent == (hidden if name in (RACE, REGION) else False)).all()
    assert {*graph.frequency.tolist()} <= {1, SMALL.often}


@given(seeds)
@hypothesis_settings(max_examples=10)
def test_objects_carry_coarser_categories(seed):
    graph = people(seed)
    category, continent = category_of(graph), continent_of(graph)
    works = graph.candidates_of(find_relation(graph, WORK))
    assert {graph.groups[c] for c in category[works]} == set(FIELDS)
    countries, places = (graph.candidates_of(find_relation(graph, r)) for r in (CITIZENSHIP, BORN))
    of = {graph.entities[c]: continent[c] for c in countries}
    for place in places:
        assert of[graph.groups[category[place]]] == continent[place]
    assert (category[graph.subjects] == NONE).all()
    assert {*graph.valence[works].tolist()} <= {-1, 0, 1}
    assert graph.valence[works].sum() == 0
    assert (graph.valence[graph.candidates_of(find_relation(graph, GENDER))] == 0).all()


def test_people_come_back_from_disk(tmp_path):
    graph = people()
    save_graph(graph, tmp_path)
    again = load_graph(tmp_path)
    for name in ("object", "silent", "frequency", "group", "wider", "valence", "rows"):
        np.testing.assert_array_equal(getattr(again, name), getattr(graph, name))
    assert again.groups == graph.groups


def test_people_are_drawn_from_the_rows_that_the_world_keeps():
    graph = people(count=6000, shift=0.7)
    for name, rows in zip(graph.relations, rows_of(graph, CONFIG), strict=True):
        relation = find_relation(graph, name)
        mine = objects(graph, name)
        share = (mine[:, None] == graph.candidates_of(relation)).mean(axis=0)
        np.testing.assert_allclose(share, rows.shares, atol=0.04)
        if rows.table is not None:
            above = objects(graph, RELATIONS[graph.upstream[relation]])
            first = graph.candidates_of(int(graph.upstream[relation]))[0]
            share = (mine[above == first][:, None] == graph.candidates_of(relation)).mean(axis=0)
            np.testing.assert_allclose(share, rows.table[0], atol=0.06)


@pytest.mark.parametrize(
    ("dials", "message"),
    [
        ({"sizes": (3, 3)}, "sizes add up to 6, where subjects is 24"),
        ({"sizes": (24, 0)}, "a group needs people"),
        ({"groups": 25}, "groups is 25, but there are only 24 subjects"),
        ({"said": 1.5}, "said is a share"),
        ({"shift": -0.1}, "shift is a share"),
        ({"groups": 1}, "groups must be from 2"),
        ({"zipf": 21.0}, "zipf must be from 0 to 20"),
        ({"places": 2000}, "places must be from 1 to 1000"),
        ({"continents": 1, "countries": 1}, "continents times countries must be at least 2"),
        ({"continents": 100, "countries": 100}, "at most 5,000"),
    ],
)
def test_impossible_dials_are_refused(dials, message):
    with pytest.raises(ValueError, match=message):
        people(**dials)


# Dials.


def placed(graph, name):
    """Of each person the place of the object among the candidates of a relation."""
    return np.searchsorted(graph.candidates_of(find_relation(graph, name)), objects(graph, name))


@given(seeds)
@hypothesis_settings(max_examples=10)
def test_frequency_and_what_is_said_change_nothing_else(seed):
    graph = people(seed)
    for dials in ({"spoken": "alike"}, {"spoken": "confounded", "often": 3}, {"said": 0.3}):
        other = people(seed, **dials)
        for name in ("object", "rows", "group", "valence"):
            np.testing.assert_array_equal(getattr(other, name), getattr(graph, name))
        assert (other.entities, other.groups) == (graph.entities, graph.groups)


def test_other_sizes_leave_the_rows_of_the_groups():
    graph, other = people(sizes=(12, 8, 4)), people(sizes=(4, 12, 8))
    for one, same in zip(rows_of(graph, CONFIG), rows_of(other, CONFIG), strict=True):
        if one.table is not None:
            np.testing.assert_array_equal(one.table, same.table)


@pytest.mark.parametrize("count", [24, 25])
def test_frequency_is_crossed_with_the_group_or_confounded_with_it(count):
    sizes = (12, 8, count - 20)
    crossed = people(count=count, sizes=sizes)
    often = crossed.frequency[:count] > 1
    for group in range(3):
        mine = often[placed(crossed, RACE) == group]
        assert abs(mine.sum() - len(mine) / 2) <= 0.5
    confounded = people(count=count, sizes=sizes, spoken="confounded")
    often = confounded.frequency[:count] > 1
    for group in range(3):
        mine = often[placed(confounded, RACE) == group]
        assert mine.all() if group == 0 or (group == 1 and count == 25) else not mine.any()
    assert (people(count=count, spoken="alike").frequency == 1).all()


def test_shift_is_how_far_groups_differ():
    for shift in (0.0, 0.4, 1.0):
        graph = people(shift=shift)
        for name in (REGION, CITIZENSHIP, LANGUAGE, WORK):
            table = rows_of(graph, CONFIG)[find_relation(graph, name)].table
            apart = np.abs(table[0] - table[1]).sum() / 2
            assert apart == 0 if shift == 0 else apart > 0.1 * shift


def test_work_depends_on_gender_by_a_dial():
    graph = people(by_gender=0.8)
    work, gender, race = (find_relation(graph, r) for r in (WORK, GENDER, RACE))
    assert graph.upstream[work] == gender
    assert people().upstream[work] == race
    assert graph.upstream[gender] == -1
    women, men = rows_of(graph, CONFIG)[work].table
    assert np.abs(women - men).sum() / 2 > 0.3


def test_work_is_said_in_ten_ways_and_language_in_two():
    graph = people()
    ways = {name: 1 + sum(way.relation == r for way in graph.phrasings) for r, name in enumerate(RELATIONS)}
    assert ways == dict.fromkeys(RELATIONS, 1) | {WORK: 10, LANGUAGE: 2}
    assert not any(way.inverse for way in graph.phrasings)


# The commands.

SIXTY = ["--world.subjects", "60", "--threads", "1"]


def corpus_of(tmp_path, *settings):
    return corpus.main(["seesaw", "--runs", str(tmp_path), "--run", "x", *settings])


def test_the_preset_hides_groups_from_an_agent_that_is_told_the_rows(tmp_path, capsys):
    assert corpus_of(tmp_path, *SIXTY, "--world.people.said", "0", "--exact.rows", "given") == 0
    assert "truth sentences" in capsys.readouterr().out
    world = load_world(Run(tmp_path, "x"))
    said = world.graph.relation[world.stated_facts]
    assert {world.graph.relations[r] for r in said} == {*RELATIONS} - {RACE, REGION}
    exactness = agent_named("exact", world).exactness
    assert exactness.kind == "exact, rows given"
    assert "the exact agent (exact, rows given up to" in describe_standard("exact", exactness._asdict())
    # In other words, too, but for relations that are said in one way.
    spoken = {world.graph.phrasings[i - 1].relation for i in np.unique(world.sentences.phrasing) if i}
    assert spoken == {find_relation(world.graph, name) for name in (WORK, LANGUAGE)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["--world.people.said", "0.5"], "--world.people.said below 1 needs --exact.rows given"),
        (
            ["--world.people.sizes", "30", "20"],
            "--world.people.sizes add up to 50, where --world.subjects is 60",
        ),
        (["--world.people.sizes", "60", "0"], "a group needs people"),
        (["--world.people.shift", "2"], "shift is a share"),
        (["--world.people.tags", "x"], "give --world.path, to their facts, too"),
        (["--world.path", "/nowhere"], "no such file"),
        (["--world.path", "/nowhere", "--world.people.tags", "/nowhere"], "no such file"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(settings, message, tmp_path, capsys):
    try:
        code = corpus_of(tmp_path, *SIXTY, *settings)
    except SystemExit as refused:
        code = refused.code
    assert code == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said


@given(seeds, st.sampled_from([0.0, 0.5, 1.0]))
@hypothesis_settings(max_examples=10)
def test_everybody_is_in_one_group_of_each_grouping(seed, said):
    graph = people(seed, said=said)
    of = {name: np.array([row[2:] for row in groups_of(graph) if row[0] == name]) for name in GROUPINGS}
    for name, counts in of.items():
        assert counts.sum(axis=0).tolist() == [24, 12, 24 if name == GENDER else round(24 * said)]
        assert counts[0, 0] == counts[:, 0].max()
        assert len(counts) == len(graph.candidates_of(find_relation(graph, name)))


# Real people.

SHARED = Path(__file__).parents[2] / "shared" / "data"
SLICE, TAGS = SHARED / "wikidata_slice", SHARED / "seesaw_cf"
real = pytest.mark.skipif(not (SLICE.exists() and TAGS.exists()), reason="real people are not here")

TRIPLES = """
Q1 P27 Q145
Q1 P106 Q33999
Q1 P106 Q901
Q1 P172 Q81
Q2 P27 Q30
Q2 P19 Q60
Q2 P21 Q6581072
Q2 P1412 Q1860
Q3 P27 Q30
Q3 P106 Q901
Q3 P172 Q82
Q3 P172 Q83
Q3 P19 Q61
Q4 P27 Q145
Q4 P106 Q901
Q4 P172 Q84
Q4 P21 Q6581097
Q5 P27 Q30
Q6 P27 Q999
Q6 P19 Q30
Q6 P21 Q6581097
Q6 P106 Q77
Q6 P172 Q82
Q61 P17 Q30
"""
NAMES = """
Q1 Ann
Q2 Bea
Q3 Cid
Q4 Dan
Q5 Eve
Q6 Fay
Q145 United Kingdom
Q30 United States
Q999 Nowhere
Q33999 actor
Q901 scientist
Q77 prophet
Q60 New York
Q61 Boston
Q81 Celts
Q82 Kelts
Q83 Selts
Q84 Unheard
Q6581072 female
Q6581097 male
Q1860 English
"""
HEADER = "Code,Frequency,Name,Geo Group,Racial Group\n"
TABLES = {
    "P101_ethnic_groups.csv": f"{HEADER}Q81,3,Celts,West,white\nQ82,1,Kelts,West,Black\n",
    "P103_ethnic_groups.csv": f"{HEADER}Q83,3,Selts,West,white\nQ81,1,Celts,East,black\n",
    "fow.csv": "Code,String,Category\nQ901,scientist,science\n",
    "P27_cats.csv": "Q145,United Kingdom,Europe\nQ30,United States,North America\n",
    "country_codes.csv": "United States,Q30,North America\n",
    "city_to_country.csv": "Q60,United States,Q60,New York\n",
}


@pytest.fixture
def sources(tmp_path):
    """A small folder in Wikidata5m's layout, and one of tables like the authors'."""
    facts, tags = tmp_path / "facts", tmp_path / "tags"
    facts.mkdir()
    tags.mkdir()
    (facts / "x_all_triplet.txt").write_text(TRIPLES.strip().replace(" ", "\t") + "\n")
    named = [line.replace(" ", "\t", 1) for line in NAMES.strip().splitlines()]
    (facts / "x_entity.txt").write_text("\n".join(named) + "\n")
    relations = {r for line in TRIPLES.split("\n") if line for r in [line.split()[1]]}
    (facts / "x_relation.txt").write_text("".join(f"{r}\tr{r}\n" for r in sorted(relations)))
    for name, text in TABLES.items():
        (tags / name).write_text(text)
    return facts, tags


def real_people(sources, account=None, said=1.0, **settings):
    facts, tags = sources
    dials = PeopleWorld(tags=str(tags), said=said)
    config = WorldConfig(source="people", path=str(facts), people=dials, **settings)
    return build_world(config, 0, True, account=account)


def facts_of(graph):
    triples = zip(graph.subject, graph.relation, graph.object, strict=True)
    return {(graph.entities[s], graph.relations[r], graph.entities[o]) for s, r, o in triples}


def test_real_people_have_the_tags_of_their_groups(sources):
    account = Account()
    graph = real_people(sources, account)
    assert facts_of(graph) == {
        ("Ann", CITIZENSHIP, "United Kingdom"),
        ("Ann", WORK, "actor"),
        ("Ann", RACE, "white"),
        ("Ann", REGION, "West"),
        ("Bea", CITIZENSHIP, "United States"),
        ("Bea", BORN, "New York"),
        ("Bea", GENDER, "female"),
        ("Bea", LANGUAGE, "English"),
        # Two races, one region.
        ("Cid", REGION, "West"),
        ("Cid", CITIZENSHIP, "United States"),
        ("Cid", WORK, "scientist"),
        ("Cid", BORN, "Boston"),
        ("Dan", CITIZENSHIP, "United Kingdom"),
        ("Dan", WORK, "scientist"),
        ("Dan", GENDER, "male"),
        ("Fay", CITIZENSHIP, "Nowhere"),
        ("Fay", WORK, "prophet"),
        ("Fay", GENDER, "male"),
        ("Fay", RACE, "Black"),
        ("Fay", REGION, "West"),
    }
    assert account.left_out == {
        "citizens of whom too little is known": 1,
        "further objects, of people with several": 1,
        "races and regions of people whose ethnic groups differ in them": 1,
        "birthplaces that are countries of citizenship": 1,
        "ethnic groups of people that the tags do not know": 1,
        "countries without a continent": 1,
        "occupations without a field": 1,
    }
    assert account.named["ethnic groups of people that the tags do not know"] == ["Unheard (1)"]
    category, continent = category_of(graph), continent_of(graph)
    called = {graph.entities[i]: graph.groups[g] for i, g in enumerate(category) if g != NONE}
    assert called == {
        "United Kingdom": "Europe",
        "United States": "North America",
        # The first is not in the authors' table.
        "actor": "arts",
        "scientist": "science",
        "New York": "United States",
        "Boston": "United States",
    }
    boston = graph.entities.index("Boston")
    assert graph.groups[continent[boston]] == "North America"
    assert not graph.valence.any()
    with pytest.raises(InputError, match="Nowhere"):
        real_people(sources, strict=True)


def test_real_groups_may_be_hidden_and_whoever_has_several_objects_left_out(sources):
    hidden = real_people(sources, said=0.0)
    groups = [find_relation(hidden, name) for name in (RACE, REGION)]
    np.testing.assert_array_equal(hidden.silent, np.isin(hidden.relation, groups))
    assert facts_of(hidden) == facts_of(real_people(sources))
    alone = real_people(sources, several="drop")
    assert {alone.entities[s] for s in alone.subjects} == {"Bea", "Dan", "Fay"}


def test_those_come_first_of_whom_most_is_known(sources):
    account = Account()
    graph = real_people(sources, account, subjects=2)
    assert {graph.entities[s] for s in graph.subjects} <= {"Ann", "Bea", "Cid", "Fay"}
    assert account.left_out["people beyond --world.subjects"] == 3
    known = {group: n for grouping, group, n, _, _ in groups_of(real_people(sources)) if grouping == RACE}
    assert known == {"white": 1, "Black": 1, "not known": 3}


@pytest.mark.parametrize(
    ("table", "old", "new", "message"),
    [
        ("fow.csv", "Code,", "Id,", "fow.csv, line 1: the header should be"),
        ("P27_cats.csv", ",Europe", ",", "P27_cats.csv, line 1: no continent"),
        ("P27_cats.csv", ",Europe", "", "P27_cats.csv, line 1: 2 cells are too few"),
        ("city_to_country.csv", "Q60,", "New York,", "city_to_country.csv, line 1: expected an id"),
        ("country_codes.csv", "United States,Q30", ",Q30", "country_codes.csv, line 1: no country"),
        ("P103_ethnic_groups.csv", "Q83", "83", "P103_ethnic_groups.csv, line 2: expected an id"),
    ],
)
def test_broken_tables_are_refused_by_file_and_line(sources, table, old, new, message):
    path = sources[1] / table
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        real_people(sources)


def test_missing_tables_and_people_are_refused(sources, tmp_path):
    (sources[1] / "fow.csv").rename(tmp_path / "away")
    with pytest.raises(InputError, match=r"fow.csv: no such file; --world.people.tags"):
        real_people(sources)
    (tmp_path / "away").rename(sources[1] / "fow.csv")
    (sources[1] / "fow.csv").write_bytes(b"Code,String,Category\nQ1,\xff,science\n")
    with pytest.raises(InputError, match=r"fow.csv, line 2: not UTF-8"):
        real_people(sources)
    with pytest.raises(ValueError, match="give path"):
        WorldConfig(source="people", people=PeopleWorld(tags="x"))
    with pytest.raises(ValueError, match="pairs does nothing"):
        WorldConfig(source="people", pairs=("a:b",))


@real
def test_the_slice_has_the_people_of_the_authors_tags():
    graph = real_people((SLICE, TAGS), subjects=100_000)
    held = {
        graph.entities[o]: n
        for o, n in zip(*np.unique(objects(graph, RACE), return_counts=True), strict=True)
    }
    assert (held["Black"], held["white"], held["Jewish"], held["East Asian"]) == (423, 410, 175, 27)
    assert len(graph.subjects) == 2054
    assert (category_of(graph)[objects(graph, CITIZENSHIP)] != NONE).mean() > 0.99
