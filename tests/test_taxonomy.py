"""A taxonomy as a world: what it holds, what an exact agent believes, what copies and phrasings change."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bayes.exact import fit_exact
from bayes.request import EditRequest
from corpus.config import DocumentConfig, ExactConfig, TaxonomyWorld, WorldConfig
from corpus.errors import InputError
from corpus.exact import FULLY, NEVER, draw_world, sample_exact
from corpus.graph import build_graph, load_graph, save_graph
from corpus.pipeline import count_copies
from corpus.resolution import TOLERANCE
from corpus.text.documents import cut_documents
from corpus.text.language import Kind, Language
from corpus.text.phrasings import phrasings_of, rephrase_sentences
from corpus.world import build_world
from corpus.worlds.account import Account
from corpus.worlds.taxonomy import categories_of, count_upper_groups, is_a, members, relations_of
from corpus.worlds.taxonomy.build import TYPICAL_FREQUENCY, Row, split_rows
from testbed.corpus import main
from tests.enumeration import Enumeration
from tests.inverse import who_has

TAXI = Path(__file__).parents[2] / "shared" / "data" / "taxi"
real = pytest.mark.skipif(not TAXI.exists(), reason="TAXI's tables are not here")
SMALL = TaxonomyWorld(superordinates=2, categories=3, members=3, properties=4, has=0.7)
CONFIG = ExactConfig(row_mass=0.2, noise=0.1)
seeds = st.integers(0, 10**6)


def taxonomy(seed=0, dials=SMALL, exact=True, **settings):
    return build_world(WorldConfig(source="taxonomy", taxonomy=dials, **settings), seed, exact)


def spoken(graph, config=CONFIG, seed=0):
    rng = np.random.default_rng(seed)
    graph, model = draw_world(graph, config, rng, redraw=False)
    return graph, model, *sample_exact(graph, model, config, rng)


def dense(agent):
    graph = agent.graph
    return agent.distributions(graph.subject, graph.relation)


def facts_of(graph):
    names, silent = graph.entities, graph.silent
    rows = zip(graph.subject, graph.relation, graph.object, strict=True)
    return {
        (names[s], graph.relations[r], names[o])
        for (s, r, o), quiet in zip(rows, silent, strict=True)
        if not quiet
    }


# What a world holds.


@given(seeds, st.integers(1, 3), st.integers(2, 5), st.integers(1, 4), st.booleans())
@hypothesis_settings(max_examples=25)
def test_a_generated_taxonomy_has_the_shape_asked_for(seed, superordinates, categories, per_category, exact):
    dials = replace(SMALL, superordinates=superordinates, categories=categories, members=per_category)
    graph = taxonomy(seed, dials, exact)
    root = is_a(graph)
    assert len(members(graph)) == superordinates * categories * per_category
    assert len(graph.groups) == superordinates
    assert graph.upstream.tolist() == [-1 if r == root else root for r in range(len(graph.relations))]
    for g in range(superordinates):
        assert len(categories_of(graph, g)) == categories
    # Half of a category's members are typical, the odd one too.
    for category in np.unique(graph.object[graph.relation == root]):
        mine = graph.subject[(graph.relation == root) & (graph.object == category)]
        rare = per_category // 2
        often = [TYPICAL_FREQUENCY] * (per_category - rare)
        assert sorted(graph.frequency[mine]) == [1] * rare + often
        assert set(graph.group[mine]) == {graph.group[category]}
    # What a member has, all members of its category have; relations are of one superordinate.
    category_of = dict(
        zip(graph.subject[graph.relation == root], graph.object[graph.relation == root], strict=True)
    )
    said, groups = {}, {}
    for s, r, o, quiet in zip(graph.subject, graph.relation, graph.object, graph.silent, strict=True):
        if not quiet:
            assert said.setdefault((category_of[s], r), o) == o
        if r != root:
            assert groups.setdefault(r, graph.group[s]) == graph.group[s]
    assert graph.silent.any() <= exact
    assert not graph.silent[graph.relation == root].any()
    if exact:
        sizes = np.diff(graph.candidate_offsets)
        assert (sizes[[r for r in range(len(graph.relations)) if r != root]] >= SMALL.alternatives).all()


@given(seeds)
@hypothesis_settings(max_examples=5)
def test_a_taxonomy_comes_back_from_disk(tmp_path_factory, seed):
    graph, folder = taxonomy(seed), tmp_path_factory.mktemp("world")
    save_graph(graph, folder)
    again = load_graph(folder)
    assert facts_of(again) == facts_of(graph)
    assert (again.groups, again.properties, again.phrasings) == (
        graph.groups,
        graph.properties,
        graph.phrasings,
    )
    assert (again.frequency == graph.frequency).all()
    assert (again.silent == graph.silent).all()


def test_categories_may_speak_for_themselves():
    quiet, loud = taxonomy(), taxonomy(dials=replace(SMALL, categories_speak=True))
    assert facts_of(quiet) < facts_of(loud)
    assert [loud.entities[s] for s in members(loud)] == [quiet.entities[s] for s in members(quiet)]
    root = is_a(loud)
    for g in range(2):
        for category in categories_of(loud, g):
            of_category = loud.subject == category
            assert loud.object[of_category & (loud.relation == root)] == category
            member = loud.subject[(loud.relation == root) & (loud.object == category)][0]
            pairs = [
                {(r, o) for r, o in zip(loud.relation[m], loud.object[m], strict=True)}
                for m in (of_category & ~loud.silent, (loud.subject == member) & ~loud.silent)
            ]
            assert pairs[0] == pairs[1]


tables = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("uvwxyz")), min_size=1, max_size=14, unique=True
)


@given(tables)
@hypothesis_settings(max_examples=60)
def test_a_property_is_split_so_that_a_category_has_one_value(pairs):
    rows = [Row(category, "has", value, (), "") for category, value in pairs]
    parts = split_rows(rows)
    assert sorted(str(row) for part in parts for row in part) == sorted(map(str, rows))
    for part in parts:
        assert len({row.category for row in part}) == len(part)
    held = [{row.value for row in part} for part in parts]
    assert all(not a & b for a, b in combinations(held, 2))
    assert (len(parts) == 1) == (len({row.category for row in rows}) == len(rows))


# TAXI's own tables, and what is wrong with others.


@given(seeds)
@hypothesis_settings(max_examples=10)
def test_what_is_counted_is_what_a_loop_counts(seed):
    graph = taxonomy(seed)
    facts = facts_of(graph)
    *lines, total = count_upper_groups(graph)
    for line in lines:
        group = graph.groups.index(line.name)
        inside = {name for name, g in zip(graph.entities, graph.group, strict=True) if g == group}
        said = {(r, o) for s, r, o in facts if s in inside and r != "is a"}
        assert line.values == len({o for _, o in said})
        assert line.properties == len({r.partition(" (")[0] for r, _ in said})
        assert line.subjects == len({s for s, r, _ in facts if s in inside and r == "is a"})
        assert line.edits == line.subjects * (SMALL.categories - 1)
    assert list(total[1:4]) == np.sum([line[1:4] for line in lines], axis=0).tolist()


@real
def test_the_real_tables():
    account = Account()
    graph = build_world(WorldConfig(source="taxonomy", path=str(TAXI)), 0, True, account=account)
    assert graph.groups == ("animal", "drink", "food", "instrument", "plant", "vehicle")
    assert len(members(graph)) == 164
    assert [len(categories_of(graph, g)) for g in range(6)] == [8, 6, 7, 6, 8, 6]
    lines = {line.name: line[1:] for line in count_upper_groups(graph)}
    # Table 3, but for properties: the paper counts membership among them, and of animals those it asks about.
    assert lines["animal"] == (8, 32, 17, 53, 224)
    assert lines["plant"] == (8, 32, 9, 27, 224)
    assert lines["all"] == (41, 164, 54, 178, 976)
    assert sorted(graph.frequency[members(graph)]) == [1] * 82 + [10] * 82
    has = relations_of(graph, 0, "has")
    values = [{graph.entities[o] for o in graph.object[(graph.relation == r) & ~graph.silent]} for r in has]
    assert values == [{"wings", "claws", "hooves", "fins"}, {"feathers", "fur", "scales"}]
    assert len(relations_of(graph, 3, "has")) == 1
    (builds,) = relations_of(graph, 0, "builds")
    assert {graph.entities[o] for o in graph.candidates_of(builds)} == {"hive", "web", "hole", "nests"}
    language = Language(graph.entities, graph.relations)
    facts = facts_of(graph)
    assert ("pine", "largest part", "trunk") in facts
    assert ("magnolia", "habitat", "woodlands") in facts
    assert ("Jarritos", "is a", "soda") in facts
    assert account.left_out == {"categories without a property": 1}
    assert "'succulent'" in account.trouble[0]
    assert {one.label for one in account.renamed} == {
        "trees", "confier tree", "has", "makes_sound", "served in", "has the served in", "live in water",
    }  # fmt: skip
    fur, claws, wings = map(language.entity, ("fur", "claws", "wings"))
    able = [{*graph.candidates_of(r).tolist()} for r in has]
    assert {claws, wings} <= able[0] - {fur}
    assert fur in able[1] - {claws}


def write_tables(folder, members_table=None, rows=None):
    folder.mkdir(exist_ok=True)
    heads = "entity_type\ttypical_token1\ttypical_token2\trare_token1\trare_token2\n"
    columns = "entity\tproperty\tquery_fwd\tquery_rev\tanswer_fwd\tanswer_rev\tfoil1\tfoil2\tfoil3\n"
    members_table = members_table or heads + "dog\tRex\tFido\tBo\tAce\ncat\tTom\tKit\tLo\tMo\n"
    rows = rows or columns + "dog\tsound\t\t\tbark\t\tmoo\ncat\tsound\t\t\tmeow\t\tmoo\tbark\n"
    (folder / "pet-type-tokens.tsv").write_text(members_table, encoding="utf-8")
    (folder / "pet-data.tsv").write_text(rows, encoding="utf-8")
    return WorldConfig(source="taxonomy", path=str(folder))


HEADS = "entity_type\ttypical_token1\ttypical_token2\trare_token1\trare_token2\n"
COLUMNS = "entity\tproperty\tquery_fwd\tquery_rev\tanswer_fwd\tanswer_rev\tfoil1\tfoil2\tfoil3\n"


def test_small_tables(tmp_path):
    account = Account()
    config = write_tables(
        tmp_path / "a",
        rows=COLUMNS
        + "dog\tsound\t\t\tbark\t\tmoo\r\ncat\tsound\t\t\tmeow\t\n"
        + "owl\tsound\t\t\thoot\ndog\tsound\t\t\tbark\n",
    )
    graph = build_world(config, 0, True, account=account)
    assert ("Rex", "sound", "bark") in facts_of(graph)
    assert account.left_out == {"rows about no category": 1, "rows said twice": 1}
    assert any("line 4: 'owl' is not a category of pet" in line for line in account.trouble)
    with pytest.raises(InputError, match="owl"):
        build_world(replace(config, strict=True), 0, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"members_table": HEADS.replace("rare_token1", "rare")},
            r"tokens\.tsv, line 1: .*no column 'rare_token1'",
        ),
        ({"rows": COLUMNS.replace("answer_fwd", "answer")}, r"data\.tsv, line 1: .*no column 'answer_fwd'"),
        ({"members_table": HEADS + "dog\tdog\tRex\n"}, r"line 2: 'dog' is called like its own category"),
        (
            {"members_table": HEADS + "dog\tRex\t\t\t\ncat\tRex\t\t\t\n"},
            r"line 3: 'Rex' is a member of 'cat' here and",
        ),
        (
            {"members_table": HEADS + "dog\tRex\ndog\tBo\n"},
            r"line 3: the category 'dog' stands here a second time",
        ),
        ({"rows": COLUMNS + "dog\tsound\t\t\tba\trk\t\tmoo\tx\ty\n"}, r"data\.tsv, line 2: 10 cells under 9"),
        ({"rows": COLUMNS + "dog\tsound\t\t\t\n"}, r"data\.tsv, line 2: 'answer_fwd' is empty"),
        (
            {"rows": COLUMNS + "dog\thas\t\t\tfur\t\tskin\ndog\thas\t\t\tpaws\t\n"},
            r"data\.tsv, line 3: 'dog' has several values of 'has', .* 'paws' has no alternative",
        ),
        ({"rows": COLUMNS}, "names only"),
    ],
)
def test_bad_tables_are_refused(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        build_world(write_tables(tmp_path / "a", **change), 0, True)


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(InputError, match="no file"):
        build_world(WorldConfig(source="taxonomy", path=str(tmp_path)), 0)
    config = write_tables(tmp_path / "a")
    (tmp_path / "a" / "pet-data.tsv").write_bytes(COLUMNS.encode() + b"dog\t\xff\n")
    with pytest.raises(InputError, match=r"line 2: not UTF-8"):
        build_world(config, 0)
    (tmp_path / "a" / "pet-data.tsv").unlink()
    with pytest.raises(InputError, match=r"pet-data\.tsv: no such file"):
        build_world(config, 0)


def test_a_bad_table_ends_the_command_and_nothing_is_written(tmp_path, capsys):
    write_tables(tmp_path / "a", rows=COLUMNS.replace("foil1", "foil"))
    options = [
        "--world.source",
        "taxonomy",
        "--world.path",
        str(tmp_path / "a"),
        "--runs",
        str(tmp_path / "runs"),
    ]
    assert main(options) == 2
    assert "pet-data.tsv, line 1: the header has no column 'foil1'" in " ".join(
        capsys.readouterr().err.split()
    )
    assert not (tmp_path / "runs").exists()


def test_a_property_that_is_always_the_same_is_left_out_of_exact_worlds(tmp_path):
    rows = COLUMNS + "dog\tsound\t\t\tbark\t\tmoo\ncat\tlegs\t\t\tfour\t\n"
    account = Account()
    graph = build_world(write_tables(tmp_path / "a", rows=rows), 0, True, account=account)
    assert graph.relations == ("is a", "sound")
    assert account.left_out == {"properties with a single object": 1}
    assert "four" in account.trouble[-1]


# What is said, and what a rational agent believes.


@given(seeds, st.sampled_from([0.0, 0.1]))
@hypothesis_settings(max_examples=10)
def test_categories_stay_open_to_correction_and_absent_properties_unsaid(seed, label_noise):
    config = replace(CONFIG, label_noise=label_noise)
    graph, model, sentences, resolution = spoken(taxonomy(seed % 50), config, seed)
    root = is_a(graph)
    fact = graph.find(sentences.a[:, 0], sentences.a[:, 1])
    about_root = graph.relation[fact] == root
    assert set(sentences.kind[about_root]) <= {Kind.ATOMIC, Kind.TRUTH}
    second = sentences.b[sentences.b[:, 0] >= 0]
    assert not (second[:, 1] == root).any()
    assert not graph.silent[fact].any()
    assert (model.stratum[graph.silent] == NEVER).all()
    assert (model.stratum[graph.relation == root] == FULLY).all()
    assert resolution.bound.max() <= TOLERANCE
    assert not resolution.certified[graph.relation == root].any()
    agent = fit_exact(graph, config, sentences)
    for s in members(graph)[:5].tolist():
        assert agent.accepts(s, root, "correction")
        for category in categories_of(graph, int(graph.group[s])).tolist():
            corrected = agent.with_edit(EditRequest(s, root, category, kind="correction"))
            assert corrected.predict(s, root).of(np.array([category]))[0] == pytest.approx(1.0)


@given(seeds, st.sampled_from(["fact", "sentence"]))
@hypothesis_settings(max_examples=10)
def test_of_an_absent_property_nothing_is_known(seed, persistence):
    config = replace(CONFIG, persistence=persistence)
    graph, model, sentences, _ = spoken(taxonomy(seed % 50), config, seed)
    assert (model.statements[graph.silent] == 0).all()
    agent = fit_exact(graph, config, sentences)
    for f in np.flatnonzero(graph.silent)[:10].tolist():
        p = agent.predict(int(graph.subject[f]), int(graph.relation[f])).dense_probabilities()
        np.testing.assert_allclose(p, 1 / len(p), atol=TOLERANCE)


def moved(seed, redraw=1.0):
    """A world, a member and another category of its superordinate that it is moved to."""
    graph, _, sentences, _ = spoken(taxonomy(seed % 50), seed=seed)
    rng = np.random.default_rng(seed)
    s = int(rng.choice(members(graph)))
    old = int(graph.object[graph.find(s, is_a(graph))])
    others = [c for c in categories_of(graph, int(graph.group[s])).tolist() if c != old]
    return graph, sentences, EditRequest(s, is_a(graph), int(rng.choice(others)), 1.0, "do", redraw)


def answers(graph, sentences, request):
    agent = fit_exact(graph, CONFIG, sentences).with_edit(request)
    mine = graph.relation[graph.subject == request.subject]
    return agent.distributions(np.full(len(mine), request.subject), mine)


@given(seeds)
@hypothesis_settings(max_examples=10)
def test_gold_under_do_depends_on_the_members_of_the_new_category_only(seed):
    graph, sentences, request = moved(seed)
    root = is_a(graph)
    category = graph.object[graph.find(sentences.about, np.full(len(sentences), root))]
    kept = (category == request.object) | (sentences.about == request.subject) | (sentences.a[:, 1] == root)
    # And/or sentences join other facts to theirs, and settle nothing that another sentence does not.
    kept &= sentences.kind <= Kind.NOT
    plain = sentences.take(sentences.kind <= Kind.NOT)
    assert kept.sum() < len(plain)
    np.testing.assert_allclose(
        answers(graph, sentences.take(kept), request), answers(graph, plain, request), rtol=0, atol=1e-12
    )


@given(seeds)
@hypothesis_settings(max_examples=10)
def test_relabelled_categories_have_relabelled_gold(seed):
    graph, sentences, request = moved(seed)
    every = graph.candidates_of(is_a(graph))
    new = np.arange(len(graph.entities), dtype=np.int32)
    new[every] = np.random.default_rng(seed).permutation(every)

    def renamed(atoms):
        atoms = atoms.copy()
        mine = atoms[:, 1] == is_a(graph)
        atoms[mine, 2] = new[atoms[mine, 2]]
        return atoms

    objects = np.where(graph.relation == is_a(graph), new[graph.object], graph.object)
    other = replace(graph, object=objects)
    other_sentences = replace(sentences, a=renamed(sentences.a), b=renamed(sentences.b))
    asked = request._replace(object=int(new[request.object]))
    relabelled, wanted = answers(other, other_sentences, asked), answers(graph, sentences, request)
    place = np.arange(len(graph.objects))
    place[np.searchsorted(graph.objects, every)] = np.searchsorted(graph.objects, new[every])
    mine = graph.relation[graph.subject == request.subject] == is_a(graph)
    np.testing.assert_allclose(relabelled[mine][:, place], wanted[mine], rtol=0, atol=1e-12)
    np.testing.assert_allclose(relabelled[~mine], wanted[~mine], rtol=0, atol=1e-12)


# Copies and words are not evidence.


@given(seeds, st.integers(1, 12))
@hypothesis_settings(max_examples=8)
def test_frequency_changes_no_belief_but_documents(seed, copies):
    often = taxonomy(seed % 50)
    once = replace(often, frequency=np.ones_like(often.frequency))
    (graph, _, said, _), (_, _, same, _) = spoken(often, seed=seed), spoken(once, seed=seed)
    assert (dense(fit_exact(often, CONFIG, said)) == dense(fit_exact(once, CONFIG, same))).all()
    times = count_copies(graph.frequency, copies)
    documents = cut_documents(said, DocumentConfig(reshuffles=1), np.random.default_rng(seed), copies=times)
    written = np.bincount(documents.order, minlength=len(said))
    typical = graph.frequency[said.about] > 1
    assert set(written[typical]) == {copies}
    assert set(written[~typical]) == {max(1, round(copies / TYPICAL_FREQUENCY))}


@given(seeds, st.floats(0, 1), st.floats(0, 1))
@hypothesis_settings(max_examples=10)
def test_inverse_and_synonymous_statements_are_the_same_evidence(seed, synonyms, inverse):
    graph, _, said, _ = spoken(taxonomy(seed % 50), seed=seed)
    inverse *= 1 - synonyms
    config = DocumentConfig(synonyms=synonyms, inverse=inverse)
    other = rephrase_sentences(said, graph.phrasings, config, np.random.default_rng(seed))
    assert (dense(fit_exact(graph, CONFIG, said)) == dense(fit_exact(graph, CONFIG, other))).all()
    language = Language(graph.entities, graph.relations, graph.phrasings)
    for i in range(0, len(other), 11):
        assert language.parse(language.render(other[i])) == other[i]
        assert other[i]._replace(phrasing=0) == said[i]
    atomic = other.phrasing[other.kind == Kind.ATOMIC]
    assert not other.phrasing[other.kind != Kind.ATOMIC].any()
    inversely = np.array([False, *(way.inverse for way in graph.phrasings)])[atomic]
    # Six standard deviations.
    for chosen, share in ((inversely, inverse), ((atomic > 0) & ~inversely, synonyms)):
        assert abs(chosen.mean() - share) <= 6 * np.sqrt(share * (1 - share) / len(chosen)) + 1e-12


def test_relations_that_are_said_in_one_way_cannot_be_rephrased():
    _, _, said, _ = spoken(taxonomy())
    with pytest.raises(InputError, match="one way only"):
        rephrase_sentences(said, (), DocumentConfig(inverse=0.5), np.random.default_rng(0))


def three_children(seed):
    """Two subjects of a root with three children, of whom little is said, and phrasings of the relations."""
    rng = np.random.default_rng(seed)
    triples = [(s, r, 2 + 2 * r + int(rng.integers(2))) for s in range(2) for r in range(4)]
    names = ["rex", "tom", "dog", "cat", *(f"{part} {i}" for part in "abc" for i in range(2))]
    relations = ["is a", "has a", "has b", "has c"]
    ways = [way for r, name in enumerate(relations) for way in phrasings_of(r, name, inverse=f"inverse {r}")]
    pools = [np.array([2 + 2 * r, 3 + 2 * r]) for r in range(4)]
    graph = build_graph(
        np.array(triples), names, relations, np.array([-1, 0, 0, 0]), None, pools, phrasings=ways
    )
    config = ExactConfig(row_mass=0.4, root_mass=1.0, noise=0.2, statements=8, logical=0.0, correctable=True)
    graph, model = draw_world(graph, config, rng, redraw=True)
    sentences, _ = sample_exact(graph, model, config, rng)
    few = (sentences.about == 0) & (rng.random(len(sentences)) < 0.15) & (sentences.kind < Kind.NOT)
    sentences = sentences.take(few | (sentences.about == 1))
    return graph, config, sentences


@pytest.mark.parametrize("seed", range(12))
def test_phrasings_and_a_change_agree_with_enumeration(seed):
    graph, config, sentences = three_children(seed)
    shares = DocumentConfig(synonyms=0.4, inverse=0.4)
    sentences = rephrase_sentences(sentences, graph.phrasings, shares, np.random.default_rng(seed))
    language = Language(graph.entities, graph.relations, graph.phrasings)
    # The oracle reads text.
    read = [language.parse(language.render(sentences[i])) for i in range(len(sentences))]
    plain = replace(
        sentences,
        a=np.array([one.a for one in read], np.int32).reshape(-1, 3),
        phrasing=np.zeros(len(read), np.int16),
    )
    agent = fit_exact(graph, config, sentences).with_focus([0, 1])
    every = Enumeration(graph, config, plain)
    for f, expected in every.posterior().items():
        p = agent.predict(int(graph.subject[f]), int(graph.relation[f]))
        np.testing.assert_allclose(p.of(np.array([*expected])), [*expected.values()], rtol=0, atol=1e-10)
    root = int(graph.find(0, 0))
    for redraw in (1.0, 0.4):
        changed = agent.with_edit(EditRequest(0, 0, 3, 1.0, "do", redraw))
        for f, expected in every.after_do(root, 3, redraw).items():
            p = changed.predict(int(graph.subject[f]), int(graph.relation[f]))
            np.testing.assert_allclose(p.of(np.array([*expected])), [*expected.values()], rtol=0, atol=1e-10)


@given(seeds)
@hypothesis_settings(max_examples=15)
def test_who_it_is_asked_inversely(seed):
    graph, _, sentences, _ = spoken(taxonomy(seed % 50), replace(CONFIG, noise=0.4), seed)
    agent, rng = fit_exact(graph, CONFIG, sentences), np.random.default_rng(seed)
    options = rng.choice(members(graph), 6, replace=False)
    target = int(rng.choice(graph.candidates_of(is_a(graph))))
    frequency = graph.frequency[options]
    p = np.array([agent.predict(int(s), is_a(graph)).of(np.array([target]))[0] for s in options])
    # Somebody is picked as often as they are spoken of, until it is one who has it.
    tokens = np.repeat(np.arange(len(options)), frequency)
    wanted = np.bincount(tokens, weights=p[tokens], minlength=len(options))
    belief = who_has(agent, is_a(graph), target, options, frequency)
    np.testing.assert_allclose(belief, wanted / wanted.sum(), rtol=1e-12)
    away = categories_of(graph, int(graph.group[options[0]])).tolist()
    told = agent.with_edit(EditRequest(int(options[0]), is_a(graph), away[0], kind="correction"))
    with pytest.raises(InputError, match="none of the 1 subjects"):
        who_has(told, is_a(graph), away[1], options[:1], frequency[:1])
