"""Where worlds come from: the built-in one and Wikidata5m's layout; and what each refuses."""

import gzip
import itertools
import re
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import corpus.worlds.wikidata
from corpus.config import (
    KINDS,
    SOURCES,
    USED_BY,
    BuiltinWorld,
    ChainWorld,
    CoupledWorld,
    PeopleWorld,
    TaxonomyWorld,
    WorldConfig,
)
from corpus.errors import InputError
from corpus.world import build_world
from corpus.worlds.pairing import (
    balance_counts,
    choose_relations,
    count_cooccurrence,
    direct_as_published,
    match_relations,
    pair_as_published,
)
from tests.examples import holds_for, replace_spans

SLICE = Path(__file__).parents[2] / "shared" / "data" / "wikidata_slice"
RECOMMENDED = ("P69:P106", "P19:P27", "P31:P17", "P136:P264", "P172:P1412")


def facts_of(graph):
    return [
        (graph.entities[s], graph.relations[r], graph.entities[o])
        for s, r, o in zip(graph.subject, graph.relation, graph.object, strict=True)
    ]


def test_the_builtin_world_is_what_the_readme_says():
    graph = build_world(WorldConfig(), seed=0)
    assert len(graph.subjects) == 240
    assert len(graph) >= 800
    facts = facts_of(graph)
    ada = {r: o for s, r, o in facts if s == "Ada Marlow"}
    assert ada["educated at"] != "Quintal College"
    assert "occupation" in ada
    assert "Quintal College" in [graph.entities[o] for o in graph.objects]


@given(st.integers(0, 500))
@hypothesis_settings(max_examples=20)
def test_builtin_worlds_of_any_seed(seed):
    graph = build_world(WorldConfig(subjects=30), seed)
    assert facts_of(graph) == facts_of(build_world(WorldConfig(subjects=30), seed))
    per_subject = np.bincount(graph.subject)[graph.subjects]
    assert per_subject.min() >= 2
    assert per_subject.max() <= 4
    for i, up in enumerate(graph.upstream_fact):
        assert up < 0 or graph.relation[up] == graph.relation[i] - 1


def test_dials_do_what_they_say():
    def dependence(strength):
        dials = BuiltinWorld(dependence=strength)
        graph = build_world(WorldConfig(subjects=400, builtin=dials), 0)
        down = np.flatnonzero(graph.upstream_fact >= 0)
        up = graph.object[graph.upstream_fact[down]]
        below = [graph.object[down[up == a]] for a in set(up)]
        return np.mean([(objects == np.bincount(objects).argmax()).mean() for objects in below])

    assert dependence(1.0) == 1.0
    assert dependence(0.2) < 0.8
    few = build_world(WorldConfig(subjects=100, builtin=BuiltinWorld(upstream_objects=3)), 0)
    many = build_world(WorldConfig(subjects=100, builtin=BuiltinWorld(upstream_objects=40)), 0)
    assert len(few.objects) < len(many.objects)


def write_wikidata(folder, triples, entities, relations):
    for name, lines in (("all_triplet", triples), ("entity", entities), ("relation", relations)):
        (folder / f"x_{name}.txt").write_text("".join(lines), encoding="utf-8", newline="")
    return WorldConfig(source="wikidata", path=str(folder), pairs=("P1:P2",))


TRIPLES = [
    "Q1\tP1\tQ10\n",
    "Q1\tP2\tQ11\r\n",
    "Q2\tP1\tQ10\n",
    "Q2\tP2\tQ12\n",
    "Q2\tP2\tQ11\n",
    "Q3\tP1\tQ10\n",
]
ENTITIES = [
    "Q1\tAnn\tAnnie\n",
    "Q2\tBob\n",
    "Q3\tCy\n",
    "Q10\tRome\n",
    "Q11\tItaly\n",
    "Q12\tRome\n",
    "Q13\n",
]
RELATIONS = ["P1\tborn in\n", "P2\tcitizen of\n", "P131\tin\n"]


def test_wikidata_layout(tmp_path):
    graph = build_world(write_wikidata(tmp_path, TRIPLES, ENTITIES, RELATIONS), 0)
    assert facts_of(graph) == [
        ("Ann", "born in", "Rome (Q10)"),
        ("Ann", "citizen of", "Italy"),
        ("Bob", "born in", "Rome (Q10)"),
        ("Bob", "citizen of", "Rome (Q12)"),
    ]
    assert graph.upstream.tolist() == [-1, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"triples": [*TRIPLES[:2], "Q1 P1 Q2\n"]}, r"x_all_triplet\.txt, line 3: .*'Q1 P1 Q2'"),
        ({"triples": [*TRIPLES[:1], "Q1\tP2\n"]}, r"x_all_triplet\.txt, line 2"),
        ({"triples": []}, "no triple has names"),
        ({"entities": ["Ann\n"]}, r"x_entity\.txt, line 1: expected an entity id"),
        ({"relations": ["P1\tborn in\n"]}, "unknown relation 'P2'"),
        ({"triples": [TRIPLES[0], TRIPLES[5]]}, "no subject has two"),
    ],
)
def test_wikidata_refusals(tmp_path, change, message):
    files = {"triples": TRIPLES, "entities": ENTITIES, "relations": RELATIONS} | change
    with pytest.raises(InputError, match=message):
        build_world(write_wikidata(tmp_path, **files), 0)


def test_wikidata_files_that_are_not_there(tmp_path):
    config = write_wikidata(tmp_path, TRIPLES, ENTITIES, RELATIONS)
    with pytest.raises(InputError, match="no such folder"):
        build_world(replace(config, path=str(tmp_path / "nowhere")), 0)
    (tmp_path / "x_entity.txt").unlink()
    with pytest.raises(InputError, match=r"expected one file \*_entity.txt"):
        build_world(config, 0)


def test_wikidata_bytes_that_are_not_utf8(tmp_path):
    config = write_wikidata(tmp_path, TRIPLES, ENTITIES, RELATIONS)
    (tmp_path / "x_entity.txt").write_bytes(b"Q1\tAnn\nQ2\t\xff\n")
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        build_world(config, 0)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (("P1",), "upstream:downstream"),
        (("P1:P9",), "unknown relation 'P9'"),
        (("P1:P2", "P1:P2"), "second upstream"),
    ],
)
def test_wikidata_pairs_that_make_no_sense(tmp_path, pairs, message):
    config = write_wikidata(tmp_path, TRIPLES, ENTITIES, RELATIONS)
    with pytest.raises(InputError, match=message):
        build_world(replace(config, pairs=pairs), 0)


def zipped(folder, how):
    """Put the files of a folder into the forms in which they are published."""
    for name in ("all_triplet", "entity", "relation"):
        path = folder / f"x_{name}.txt"
        if how == "gz" or (how == "tar" and name == "all_triplet"):
            (folder / f"x_{name}.txt.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    if how == "tar":
        with tarfile.open(folder / "alias.tar.gz", "w:gz") as archive:
            for name in ("entity", "relation"):
                archive.add(folder / f"x_{name}.txt", f"inner/x_{name}.txt")
                (folder / f"x_{name}.txt").unlink()


@pytest.mark.parametrize("how", ["gz", "tar"])
def test_wikidata_files_may_be_zipped(tmp_path, how, monkeypatch):
    config = write_wikidata(tmp_path, TRIPLES, ENTITIES, RELATIONS)
    plain = facts_of(build_world(config, 0))
    zipped(tmp_path, how)
    monkeypatch.setattr("corpus.worlds.rawfiles.BLOCK_BYTES", 5)
    assert facts_of(build_world(config, 0)) == plain
    for archive in tmp_path.glob("*.gz"):
        whole = archive.read_bytes()
        for cut in (5, len(whole) // 2):
            archive.write_bytes(whole[:cut])
            with pytest.raises(InputError, match=r"damaged or cut off|expected one file"):
                build_world(config, 0)
        # A damaged byte anywhere, the checksum at the archive's end included, unless it says nothing.
        for at in range(10, len(whole), 3):
            damaged = whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :]
            archive.write_bytes(damaged)
            try:
                assert facts_of(build_world(config, 0)) == plain
                assert gzip.decompress(damaged) == gzip.decompress(whole)
            except InputError:
                pass
        archive.write_bytes(whole)


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("corpus.worlds.rawfiles.BLOCK_BYTES", 64)
    monkeypatch.setattr("corpus.worlds.rawfiles.LONGEST_LINE", 1000)
    config = write_wikidata(tmp_path, TRIPLES, [*ENTITIES, "Q14\t" + "x" * 3000], RELATIONS)
    with pytest.raises(InputError, match=r"x_entity\.txt, line 8: longer than"):
        build_world(config, 0)


def test_a_copy_made_meanwhile_by_another_command_is_kept(tmp_path, monkeypatch):
    folder, cache = tmp_path / "raw", tmp_path / "cache"
    folder.mkdir()
    config = write_wikidata(folder, TRIPLES, ENTITIES, RELATIONS)
    first = facts_of(build_world(config, 0, cache=cache))
    (copy,) = cache.iterdir()
    copy.rename(tmp_path / "theirs")
    read = corpus.worlds.wikidata._read_sources

    def meanwhile(*args):
        shutil.copytree(tmp_path / "theirs", copy)
        return read(*args)

    monkeypatch.setattr("corpus.worlds.wikidata._read_sources", meanwhile)
    assert facts_of(build_world(config, 0, cache=cache)) == first
    assert [p.name for p in cache.iterdir()] == [copy.name]


def test_a_binary_copy_is_used_again_and_belongs_to_its_files(tmp_path, monkeypatch):
    folder, cache = tmp_path / "raw", tmp_path / "cache"
    folder.mkdir()
    config = write_wikidata(folder, [*TRIPLES, "Q1\tP2\tQ"], ENTITIES, RELATIONS)
    remarks = []
    first = facts_of(build_world(config, 0, cache=cache, note=remarks.append))
    with monkeypatch.context() as patch:
        patch.setattr("corpus.worlds.wikidata.read_triples", None)
        assert facts_of(build_world(config, 0, cache=cache, note=remarks.append)) == first
    assert len(remarks) == 2
    assert remarks[0] == remarks[1]
    # Other content has a copy of its own; a damaged copy is noticed.
    write_wikidata(folder, [*TRIPLES, "Q3\tP2\tQ11\n"], ENTITIES, RELATIONS)
    assert len(facts_of(build_world(config, 0, cache=cache))) == len(first) + 2
    assert len(list(cache.iterdir())) == 2
    for copy in cache.iterdir():
        (copy / "triples.npy").write_bytes(b"x")
    with pytest.raises(InputError, match=r"triples\.npy .* checksum"):
        build_world(config, 0, cache=cache)


@pytest.mark.parametrize("which", ["all_triplet", "entity", "relation"])
def test_a_last_line_without_an_end_is_left_out_and_said(tmp_path, which):
    config = write_wikidata(tmp_path, TRIPLES, ENTITIES, RELATIONS)
    whole = facts_of(build_world(config, 0))
    path = tmp_path / f"x_{which}.txt"
    text = {"all_triplet": "Q2\tP1\tQ1", "entity": "Q14\tRo", "relation": "P3\tbo"}[which]
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")
    remarks = []
    assert facts_of(build_world(config, 0, note=remarks.append)) == whole
    assert len(remarks) == 1
    assert text in remarks[0].encode().decode("unicode_escape")


def test_names_as_descriptions_have_them(tmp_path):
    entities = [
        "Q1\tannie\tAnn\tAnn Lee\n", "Q2\tbobby\tBob\n", "Q10\tcaput mundi\tRome\tRome, Italy\n",
        "Q11\tItaly\n", "Q12\tOslo\n",
    ]  # fmt: skip
    config = write_wikidata(tmp_path, TRIPLES[:4], entities, RELATIONS)
    texts = ["Q1\tAnn Lee is a painter.\n", "Q10\tRome is a city.\n", "Q2\tA man.\n", "Q99\tX\n"]
    (tmp_path / "x_text.txt").write_text("".join(texts), encoding="utf-8")
    assert build_world(config, 0).entities[:2] == ("annie", "bobby")
    graph = build_world(replace(config, names="described"), 0)
    assert graph.entities == ("Ann Lee", "bobby", "Rome", "Italy", "Oslo")
    (tmp_path / "x_text.txt").unlink()
    with pytest.raises(InputError, match=r"expected one file \*_text\.txt"):
        build_world(replace(config, names="described"), 0)


def test_wikidata_filters(tmp_path):
    triples = [*TRIPLES, "Q4\tP1\tQ11\n", "Q4\tP2\tQ5\n", "Q4\tP3\tQ10\n", "Q4\tP2\tQ11\n"]
    triples += ["Q6\tP1\tQ14\n", "Q6\tP2\tQ15\n"]
    entities = [*ENTITIES, "Q4\tDee\n", "Q5\thuman\n", "Q6\tEve\n", "Q14\tOslo\n", "Q15\tNorway\n"]
    config = write_wikidata(tmp_path, triples, entities, [*RELATIONS, "P3\tlikes\n"])

    def kept(**change):
        return [(s, r) for s, r, _ in facts_of(build_world(replace(config, **change), 0))]

    both = ("born in", "citizen of")
    assert kept() == [(s, r) for s in ("Ann", "Bob", "Dee", "Eve") for r in both]
    # Bob has two citizenships, and so has Dee once Q5 is let in.
    assert kept(several="drop") == [(s, r) for s in ("Ann", "Dee", "Eve") for r in both]
    assert kept(several="drop", drop_entities=()) == [(s, r) for s in ("Ann", "Eve") for r in both]
    likes = {"relations": ("P3",), "min_relations": 3}
    with pytest.raises(InputError, match="distinct objects"):
        kept(**likes)
    with pytest.raises(InputError, match="no subject has three"):
        kept(min_relations=3)
    with pytest.raises(InputError, match="unknown relation 'P2'"):
        kept(drop_relations=("P2",))
    with pytest.raises(InputError, match="--world.drop-entities: 'P5' is not an id"):
        kept(drop_entities=("P5",))


def naive_world(triples, entities, relations):
    """What the reader should find, line by line: the bad lines, and the facts by name."""

    def lines(text):
        *whole, _ = text.split("\n")
        numbered = [(i, line.removesuffix("\r")) for i, line in enumerate(whole, start=1)]
        return [(i, line) for i, line in numbered if line]

    bad, named = [], []
    for what, text, letter in (("entity", entities, "Q"), ("relation", relations, "P")):
        names = {}
        for number, line in lines(text):
            key, *rest = line.split("\t")
            if not re.fullmatch(letter + "[1-9][0-9]{0,8}", key):
                bad.append(f"x_{what}.txt, line {number}:")
            elif rest and rest[0].strip():
                names.setdefault(key, " ".join(rest[0].split()).replace('"', "'"))
        named.append(names)
    objects = {}
    for number, line in lines(triples):
        if not re.fullmatch("Q[1-9][0-9]{0,8}\tP[1-9][0-9]{0,8}\tQ[1-9][0-9]{0,8}", line):
            bad.append(f"x_all_triplet.txt, line {number}:")
            continue
        s, r, o = line.split("\t")
        if s in named[0] and o in named[0] and r in ("P1", "P2") and r in named[1]:
            objects.setdefault((s, r), o)
    both = {(s, r, o) for (s, r), o in objects.items() if {(s, "P1"), (s, "P2")} <= objects.keys()}
    facts = [(named[0][s], named[1][r], named[0][o]) for s, r, o in both]
    return bad, sorted(facts), {"P1", "P2"} <= named[1].keys()


WHOLE = ("".join(TRIPLES[:4]), "".join(ENTITIES), "".join(RELATIONS))
MUTATIONS = (
    "", "\n", "\r\n", "\t", " ", "Q", "P", "0", "1", "9", "-", "Q1", "P2", "x", "\x00", "\u00e9", "\r", '"',
)  # fmt: skip


@holds_for(st.data(), few=200, many=500)
def test_mutated_files_are_a_right_graph_or_a_message(tmp_path_factory, data):
    """A graph that holds the facts of the lines, or one message that says why not."""
    texts = list(WHOLE)
    for _ in range(data.draw(st.integers(1, 2))):
        which = data.draw(st.sampled_from([0, 0, 0, 1, 2]))
        texts[which] = replace_spans(data.draw, texts[which], MUTATIONS, 2, 6)
    folder = tmp_path_factory.getbasetemp() / "mutated"
    folder.mkdir(exist_ok=True)
    for name, text in zip(("all_triplet", "entity", "relation"), texts, strict=True):
        (folder / f"x_{name}.txt").write_text(text, encoding="utf-8", newline="")
    config = WorldConfig(source="wikidata", path=str(folder), pairs=("P1:P2",))
    bad, facts, relations = naive_world(*texts)
    try:
        graph = build_world(config, 0)
    except InputError as error:
        message = str(error)
        if "unknown relation" in message:
            assert not relations
        elif "no triple has names" in message or "no subject has two" in message:
            assert len(facts) == 0
        elif not any(place in message for place in bad):
            assert re.search("distinct objects|one subject only", message), message
    else:
        assert not bad
        base = [tuple(re.sub(r" \([QP]\d+\)$", "", name) for name in fact) for fact in facts_of(graph)]
        assert sorted(base) == facts


@pytest.mark.skipif(not SLICE.exists(), reason="the Wikidata slice is not here")
def test_the_real_slice():
    config = WorldConfig(source="wikidata", path=str(SLICE), subjects=500, pairs=RECOMMENDED)
    graph = build_world(config, 0)
    assert len(graph.subjects) == 500
    assert set(graph.relations) >= {"educated at", "occupation", "place of birth", "country of citizenship"}
    assert (np.bincount(graph.subject)[graph.subjects] >= 2).all()
    chosen = build_world(replace(config, pairs=(), dependences="published"), 0)
    assert 2 <= len(chosen.relations) <= 10
    assert (chosen.upstream >= 0).sum() == len(chosen.relations) // 2


def test_further_relations_are_in_no_pair(tmp_path):
    triples = [f"Q{s}\tP{r}\tQ{10 * r + s}\n" for s in range(1, 6) for r in (1, 2, 3)]
    entities = [f"Q{i}\tname {i}\n" for i in range(1, 40)]
    config = write_wikidata(tmp_path, triples, entities, [*RELATIONS, "P3\tlikes\n"])
    config = replace(config, pairs=(), relations=("P3",), relation_count=2, min_pair_subjects=1)
    config = replace(config, dependences="published")
    graph = build_world(config, 0)
    assert graph.upstream[graph.relations.index("likes")] == -1
    assert (graph.upstream >= 0).sum() == 1


def test_pairing_by_hand():
    # Relations 0 and 1 always occur together, 2 and 3 mostly; 1 and 2 once.
    triples = [(s, r, 100 + s) for s in range(6) for r in (0, 1)]
    triples += [(s, r, 200) for s in range(10, 15) for r in (2, 3)] + [(0, 2, 200)]
    triples = np.array(triples)
    together = count_cooccurrence(triples, 4)
    assert together[0, 1] == 6
    assert together[1, 2] == 1
    assert pair_as_published(together) == [(0, 1), (2, 3)]
    assert choose_relations(together, 2, 5).tolist() == [0, 1]
    assert choose_relations(together, 4, 5).tolist() == [0, 1, 2, 3]
    with pytest.raises(InputError, match="share 7 subjects"):
        choose_relations(together, 4, 7)
    # Relation 0 has six objects and relation 2 one: 0 tells more about 2 than the reverse.
    assert direct_as_published((2, 0), triples) == (0, 2)


@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_the_published_program_finds_the_pairs_of_the_largest_sum(relations, seed):
    counts = np.random.default_rng(seed).integers(1, 50, (relations, relations))
    share = balance_counts(counts + counts.T)
    np.testing.assert_allclose([share.sum(0), share.sum(1)], 1, rtol=1e-6)

    def worth(pairs):
        return sum(share[i, j] + share[j, i] for i, j in pairs)

    found = pair_as_published(counts + counts.T)
    assert len({r for pair in found for r in pair}) == 2 * len(found)
    graph = nx.Graph()
    graph.add_weighted_edges_from(
        (i, j, share[i, j] + share[j, i]) for i, j in itertools.combinations(range(relations), 2)
    )
    assert worth(found) == pytest.approx(worth(nx.max_weight_matching(graph)))


@pytest.mark.skipif(not SLICE.exists(), reason="the Wikidata slice is not here")
def test_program_and_matching_pair_the_real_slice_alike():
    notes: list[str] = []
    config = WorldConfig(source="wikidata", path=str(SLICE), subjects=100, dependences="published")
    build_world(replace(config, min_pair_subjects=1000), 0, note=notes.append)
    (program,), (matching,) = ([n.partition(" pairs ")[2] for n in notes if n.startswith(way)]
                               for way in ("a linear program", "a matching"))  # fmt: skip
    assert program == matching
    assert "educated at with occupation" in program


def test_each_relation_is_in_one_pair_of_the_largest_sum():
    weights = np.zeros((5, 5))
    # 1 and 2 go together best; yet 0 with 1, and 2 with 3, are worth more in all. Nothing goes with 4.
    weights[0, 1], weights[2, 1], weights[3, 2] = 5, 7, 4
    assert match_relations(weights) == [(0, 1), (3, 2)]


GIVEN = {
    "taxonomy": TaxonomyWorld(members=3),
    "coupled": CoupledWorld(objects=5),
    "people": PeopleWorld(groups=3),
    "chain": ChainWorld(rare=3),
    "path": "x.tsv",
    "columns": ("a", "b", "c"),
    "labels": "labels.tsv",
    "max_lines": 7,
    "names": "described",
    "pairs": ("a:b",),
    "dependences": "forest",
    "relations": ("a",),
    "relation_count": 3,
    "min_pair_subjects": 5,
    "min_relations": 1,
    "several": "drop",
    "split": "|",
    "reversals": "none",
    "drop_relations": ("P27",),
    "drop_entities": (),
}


@pytest.mark.parametrize("source", [*SOURCES, *KINDS])
@pytest.mark.parametrize("option", USED_BY)
def test_an_option_that_does_nothing_in_a_source_is_refused(source, option):
    given = {"path": "x"} if source in ("tsv", "wikidata") else {}
    given |= {option: GIVEN[option]}
    if source in USED_BY[option] or (source, option) == ("builtin", "path"):
        assert getattr(WorldConfig(source=source, **given), option) == GIVEN[option]
    else:
        with pytest.raises(ValueError, match=f"{option} does nothing where"):
            WorldConfig(source=source, **given)


@pytest.mark.parametrize("name", ["films.tsv", "FILMS.CSV", "a/films.tsv.gz", "films.parquet", "films.txt"])
def test_a_path_to_a_table_alone_means_that_table(name):
    assert WorldConfig(path=name) == WorldConfig(source="tsv", path=name)
    assert WorldConfig(source="wikidata", path=name).source == "wikidata"
