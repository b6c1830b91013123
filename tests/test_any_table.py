"""Any table of labels becomes a world: TSV, CSV, Parquet, N-Triples; what is left out is counted."""

import bz2
import gzip
import json
import lzma
import re
import zipfile
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, seed
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.world import build_world
from corpus.worlds.account import Account, digest_sources, load_account, save_account
from corpus.worlds.pairing import least_shared
from corpus.worlds.rdf import short_name
from tests.examples import replace_spans

GOOD = "Ann\tborn in\tRome\nAnn\tcitizen of\tItaly\nBob\tborn in\tOslo\nBob\tcitizen of\tNorway\n"
FACTS = [tuple(line.split("\t")) for line in GOOD.splitlines()]


def told(graph, account=None):
    """The facts by label: names that were changed as they were before."""
    label = {one.name: one.label for one in account.renamed} if account else {}
    name = [label.get(n, n) for n in graph.entities]
    relation = [label.get(n, n) for n in graph.relations]
    return sorted(
        (name[s], relation[r], name[o])
        for s, r, o in zip(graph.subject, graph.relation, graph.object, strict=True)
    )


def world_of(path, content=None, account=None, note=None, **settings):
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    config = WorldConfig(source="tsv", path=str(path), **settings)
    return build_world(config, 0, account=account, note=note or (lambda _: None))


def test_a_table_and_its_pairs(tmp_path):
    graph = world_of(tmp_path / "w.tsv", GOOD, pairs=("born in:citizen of",))
    assert told(graph) == sorted(FACTS)
    assert graph.upstream.tolist() == [-1, 0]
    with pytest.raises(InputError, match="unknown relation 'lives in'"):
        world_of(tmp_path / "w.tsv", pairs=("born in:lives in",))


def homes(people, towns=4, lands=2, dwellers=0):
    """A table in which the town decides the land; some people have another relation."""
    lines = [
        f"p{i}\t{r}\t{o}\n"
        for i in range(people)
        for r, o in (("born in", f"town {i % towns}"), ("citizen of", f"land {i % towns % lands}"))
    ]
    more = [f"d{i}\tborn in\ttown {i % towns}\nd{i}\tlikes\tfish {i % 3}\n" for i in range(dwellers)]
    return "".join(lines + more)


def test_pairs_are_found_or_their_absence_is_said(tmp_path):
    said = []
    assert (world_of(tmp_path / "w.tsv", GOOD, note=said.append).upstream == -1).all()
    assert "NO DEPENDENCES" in said[0]
    assert "--world.min-pair-subjects" in said[0]
    for how in ("pairs", "forest"):
        graph = world_of(tmp_path / "w.tsv", homes(40), dependences=how)
        assert [graph.relations[r] for r in graph.upstream] == ["citizen of", "born in"]
        assert graph.upstream.tolist() == [-1, 0]
    assert (world_of(tmp_path / "w.tsv", dependences="none").upstream == -1).all()
    # A relation in no pair stays, unless a number of relations is asked for.
    assert len(world_of(tmp_path / "w.tsv", homes(40, dwellers=15)).relations) == 3
    assert len(world_of(tmp_path / "w.tsv", relation_count=2).relations) == 2


def test_a_pair_has_as_many_subjects_as_was_asked(tmp_path):
    for least, pairs in ((40, 1), (41, 0)):
        graph = world_of(tmp_path / "w.tsv", homes(40, dwellers=99), min_pair_subjects=least)
        assert (graph.upstream >= 0).sum() == pairs
    # By default one of a hundred subjects, and ten at least.
    assert (world_of(tmp_path / "w.tsv", homes(9)).upstream >= 0).sum() == 0
    config = WorldConfig(source="tsv", path="x")
    assert [least_shared(config, n) for n in (2, 1055, 40_000)] == [10, 10, 400]


@pytest.mark.parametrize("draw", range(3))
def test_of_an_ordinary_table_the_two_dependences_are_found_and_no_other(draw, tmp_path):
    """A country is its city's, nine bosses of ten are their department's; keys and years tell nothing."""
    rng = np.random.default_rng(draw)
    rows = ["name,email,surname,city,country,dept,boss,year"]
    for i in range(300):
        city, dept = rng.integers(20), rng.integers(10)
        boss = dept if rng.random() < 0.9 else rng.integers(10)
        surname, year = rng.integers(300), 1980 + rng.integers(40)
        rows.append(f"p{i},{i}@x.org,s{surname},city{city},land{city % 6},dept{dept},boss{boss},{year}")
    graph = world_of(tmp_path / "staff.csv", "\n".join(rows))
    pairs = {
        frozenset((graph.relations[r], graph.relations[up])) for r, up in enumerate(graph.upstream) if up >= 0
    }
    assert pairs == {frozenset(("city", "country")), frozenset(("dept", "boss"))}
    assert graph.relations[graph.upstream[graph.relations.index("country")]] == "city"


def test_what_does_not_fit_is_left_out_and_counted(tmp_path):
    long = "x" * 1001
    text = GOOD + "Ann\tborn in\tOslo\nAnn\tborn in\tRome\nCy\tborn in\tRome\n" + f"Bob\tlikes\t{long}\n"
    account = Account()
    assert told(world_of(tmp_path / "w.tsv", text, account)) == sorted(FACTS)
    assert account.left_out == {
        "facts with a name of more than 1,000 bytes": 1,
        "repeated facts": 1,
        "second objects": 1,
        "subjects with one relation": 1,
    }
    (named,) = account.named.values()
    assert named == ["born in (33%)"]
    several = Account()
    with pytest.raises(InputError, match="distinct objects"):
        world_of(tmp_path / "w.tsv", text, several, several="drop")
    assert several.left_out["facts of subjects with several objects"] == 3
    asked = Account()
    with pytest.raises(InputError, match="no subject has two of the relations born in"):
        world_of(tmp_path / "w.tsv", text, asked, drop_relations=("citizen of",), drop_entities=("Oslo",))
    assert asked.left_out["facts of dropped relations"] == 2
    assert asked.left_out["facts of dropped entities"] == 2


def test_a_strict_world_refuses_everything_at_once(tmp_path):
    text = GOOD + "Ann\tborn in\tOslo\nCy\tborn in\tRome\n"
    text += "Ann born\tborn in\tRome\nAnn born\tcitizen of\tItaly\nor\tborn in\tRome\nor\tcitizen of\tItaly\n"
    with pytest.raises(InputError) as refused:
        world_of(tmp_path / "w.tsv", text, strict=True)
    for part in (
        "1 second objects, such as 'Oslo' of 'Ann', who has 'Rome'",
        "1 subjects with one relation, such as 'Cy'",
        "2 names that sentences could not be read with",
        "'Ann born': it begins with 'Ann', which 'born' could follow",
        "'or': it is a word of the grammar",
    ):
        assert part in str(refused.value)
    assert told(world_of(tmp_path / "w.tsv", GOOD, strict=True)) == sorted(FACTS)


HEADER = [("who", "what", "when", "whom"), *((s, r, "1900", o) for s, r, o in FACTS)]


def csv_of(rows):
    return "".join(",".join(f'"{field}"' for field in row) + "\r\n" for row in rows)


def parquet(path, rows, **types):
    columns = {name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}
    pq.write_table(
        pa.table({name: pa.array(column, types.get(name)) for name, column in columns.items()}), path
    )


def test_every_form_of_table_is_the_same_world(tmp_path):
    by_name, by_place = {"columns": ("who", "what", "whom")}, {"columns": ("1", "2", "4")}
    (tmp_path / "w.csv").write_text(csv_of(FACTS), encoding="utf-8")
    (tmp_path / "h.csv.gz").write_bytes(gzip.compress(csv_of(HEADER).encode()))
    (tmp_path / "p.tsv").write_text("\n".join("\t".join(row) for row in HEADER[1:]), encoding="utf-8")
    # Gzipped whatever it is called, or called so without being it.
    (tmp_path / "z.tsv").write_bytes(gzip.compress(GOOD.encode()))
    (tmp_path / "g.tsv.gz").write_text(GOOD, encoding="utf-8")
    parquet(tmp_path / "w.parquet", HEADER)
    parquet(tmp_path / "d.parquet", HEADER, what=pa.dictionary(pa.int8(), pa.string()))
    parquet(tmp_path / "three.parquet", [row[:2] + row[3:] for row in HEADER])
    iris = [
        tuple(f"<http://x.org/{'r/' * (i == 1)}{f.replace(' ', '_')}>" for i, f in enumerate(t))
        for t in FACTS
    ]
    lines = [
        "# a comment",
        "",
        *(" ".join(t) + " ." for t in iris),
        f'{iris[0][0]} <http://x/age> "4 . 2"@en .',
    ]
    (tmp_path / "w.nt").write_text("\n".join(lines), encoding="utf-8")
    for name, settings in {
        "w.csv": {}, "h.csv.gz": by_name, "p.tsv": by_place, "z.tsv": {}, "g.tsv.gz": {},
        "w.parquet": by_name, "d.parquet": by_place, "three.parquet": {}, "w.nt": {},
    }.items():  # fmt: skip
        account = Account()
        graph = world_of(tmp_path / name, None, account, pairs=("born in:citizen of",), **settings)
        assert told(graph) == sorted(FACTS), name
        assert graph.upstream.tolist() == [-1, 0]
        assert account.left_out == ({"facts whose object is a literal": 1} if name == "w.nt" else {})


def test_quoted_cells_hold_anything(tmp_path):
    rows = [("A, b\tc", "say s", "x\ny"), *FACTS, ("A, b\tc", "born in", "Rome")]
    account = Account()
    graph = world_of(tmp_path / "w.csv", csv_of(rows).replace("say ", 'say ""'), account)
    assert ("A, b c", 'say "s', "x y") in told(graph, account)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("w.tsv", b"", "the graph is empty"),
        ("w.tsv", b"\n\n", "the graph is empty"),
        ("w.tsv", GOOD.encode("utf-16"), "is UTF-16"),
        ("w.tsv", GOOD.encode("utf-16-le"), "is UTF-16"),
        ("w.nt", GOOD.encode("utf-16"), "is UTF-16"),
        ("w.tsv", GOOD.encode() + b"Cy\tborn in\n", r"w\.tsv, line 5: expected .*'Cy\\tborn in'"),
        ("w.tsv", GOOD.encode() + b"Cy\tborn in\t\xff\n", r"w\.tsv, line 5: not UTF-8"),
        ("w.tsv", GOOD.encode() + b"Cy\tborn in\t" + b"x" * 10_000_000, r"line 5: longer than 1,048,576"),
        ("w.tsv", GOOD.replace("\n", "\tx\n").encode(), "has the columns Ann, born in, Rome, x; name"),
        ("w.csv", csv_of(FACTS).encode() + b'"Cy","born in"\n', r"w\.csv, line 5: expected subject,relation"),
        ("w.csv", b"Ann,Rome\nBob,Oslo\n", r"w\.csv, line 1: expected subject,relation,object"),
        ("w.ttl", b"@prefix x: <http://x/> .\n", "the graph is empty"),
        ("w.txt", b"@prefix x: <http://x/> .\nx:a x:b\n", r"w\.txt, line \d: .*"),
        ("w.rdf", b"<rdf:RDF xmlns:rdf='http://rdf/'><x>", r"w\.rdf, line \d+: "),
        *(
            ("w.nt", b"<a> <b> <c> .\n<a> <b> <c" + escape + b"> .", r"w\.nt, line 2: .*escape sequence")
            for escape in (rb"\uD800", rb"\UFFFFFFFF", rb"\U00110000", rb"\U0000DFFF")
        ),
        ("w.nt", b'<a> <b> "c"@en .\n', "objects of all 1 facts are literals"),
        ("w.jsonl", b'{"a": "Ann"}\nno\n', "expected one JSON object of labels a line"),
        ("w.jsonl", b'{"a": {"b": 1}, "c": 2, "d": 3}\n', r"labels a line.*\(row 1: 'a' is {'b': 1}\)"),
        ("w.jsonl", b'{"a": "Ann"}\n{"a": ', r"labels a line.*\(line 2: Expecting value"),
        ("w.json", b'[["Ann", "in", "Rome"],\n]', r"labels a line.*\(line 2: Expecting value"),
        ("w.json", b"[" * 100_000, "labels a line"),
        ("w.json", b'[["Ann", [["in"]], "Rome"]]', r"\(row 1: '2' is \[\['in'\]\]\)"),
        ("w.json", b'[["Ann", ["in", "of"], "Rome"]]', "a subject or a relation is a list, and only"),
        ("w.csv", b"name,in,of,by\n" * 10 + b"Ann,Rome,It\xe1lia,car\n", r"w\.csv, line 11: not UTF-8"),
        ("w.csv", b"name,in,of,by\n" * 10 + b"Bob,Oslo,bus\n", r"w\.csv, line 11: expected 4 fields"),
        ("w.csv", b'a,b,c\nd,e,f\n"g,h\ni,j,k\n', r"w\.csv, line 3: expected .*'g,h"),
        ("w.json", b'[{"a": 1}]\n', "has the columns a; name three as --world.columns"),
        ("w.json", b'[{"a": 1}, 2]\n', "expected one JSON object of labels a line"),
        ("w.json", b'[{"a": 1}\n', "expected one JSON object of labels a line"),
        ("w.tsv.xz", lzma.compress(GOOD.encode() * 99)[:-20], "is damaged or cut off"),
        ("w.tsv.gz", gzip.compress(GOOD.encode() * 99, mtime=0)[:-20], "is damaged or cut off"),
        ("w.nt", b"<a> <b> <c> .\n<a> <b> c .\n", r"w\.nt, line 2: .*: '<a> <b> c \.'"),
        ("w.nt", b"<a> <b> <c> .\n<a> <b> <\xff> .\n", r"w\.nt, line 2: .*UTF-8"),
        ("w.nt", b"# nothing\n", "the graph is empty"),
        ("w.parquet", b"PAR1 no", "not a Parquet file"),
        ("w.parquet.gz", gzip.compress(b"PAR1 no", mtime=0), "is a packed Parquet file; unpack it"),
        ("w.zst", pa.compress(GOOD.encode() * 99, codec="zstd", asbytes=True)[:-9], "is damaged or cut off"),
        ("w.gz.gz", gzip.compress(gzip.compress(GOOD.encode(), mtime=0), mtime=0), "is packed twice"),
        ("w.rar", b"Rar!\x1a\x07", "is packed twice, or by tar, 7z or rar"),
        ("w.tsv", b"Ann\t\tRome\n\tin\tOslo\n", "is empty; left out were 2 facts with an empty cell"),
    ],
)  # fmt: skip
def test_broken_files_are_refused_in_a_line_or_two(name, content, message, tmp_path):
    with pytest.raises(InputError, match=message) as refused:
        world_of(tmp_path / name, content)
    assert len(str(refused.value)) < 500


def test_columns_that_are_not_there(tmp_path):
    parquet(tmp_path / "w.parquet", HEADER)
    (tmp_path / "w.csv").write_text(csv_of(HEADER), encoding="utf-8")
    for name in ("w.parquet", "w.csv"):
        for columns in (("who", "what", "why"), ("1", "2", "5")):
            with pytest.raises(InputError, match=f"no column '{columns[2]}'"):
                world_of(tmp_path / name, columns=columns)
    with pytest.raises(InputError, match="name three as --world.columns"):
        world_of(tmp_path / "w.parquet")
    parquet(tmp_path / "e.parquet", [*HEADER, ("Cy", None, "1900", "Rome")])
    account = Account()
    world_of(tmp_path / "e.parquet", None, account, columns=("who", "what", "whom"))
    assert account.left_out["facts with an empty cell"] == 1
    with pytest.raises(InputError, match="is a folder; --world.source wikidata"):
        world_of(tmp_path)


def test_iris_are_called_by_their_last_part(tmp_path):
    assert short_name("<http://dbpedia.org/resource/Barack_Obama>") == "Barack Obama"
    assert short_name("<http://x/y#caf%C3%A9>") == "caf\u00e9"
    assert short_name("<http://x/\u4e2d/>") == "\u4e2d"
    assert short_name("_:b1") == ":b1"
    # Two IRIs with one last part are two entities.
    lines = [f"<http://{h}/Ann> <http://r/{r}> <http://o/{h}{r}> ." for h in "ab" for r in "xy"]
    assert len(world_of(tmp_path / "w.nt", "\n".join(lines)).subjects) == 2


def test_the_account_is_kept_on_disk(tmp_path):
    account = Account()
    world_of(
        tmp_path / "w.tsv", GOOD + 'or\tborn in\t"x"\nor\tcitizen of\tItaly\nCy\tborn in\tRome\n', account
    )
    save_account(account, tmp_path)
    assert load_account(tmp_path).left_out == account.left_out == {"subjects with one relation": 1}
    assert load_account(tmp_path).renamed == account.renamed
    assert json.loads((tmp_path / "account.json").read_text())
    assert load_account(tmp_path / "nowhere") == Account()


def oracle(raw):
    """What the reader should find, line by line: the first bad line, or facts and what is left out."""
    numbered = list(enumerate(re.split(rb"\r\n|\r|\n", raw.removeprefix(b"\xef\xbb\xbf")), start=1))
    facts, left = {}, Counter()
    for number, line in numbered:
        if not line:
            continue
        try:
            fields = [" ".join(f.split()).strip(" \ufeff\u200b") for f in line.decode().split("\t")]
        except UnicodeDecodeError:
            return number, None, None
        if len(fields) != 3:
            return number, None, None
        if not all(fields):
            left["facts with an empty cell"] += 1
        elif any(len(field.encode()) > 1000 for field in fields):
            left["facts with a name of more than 1,000 bytes"] += 1
        elif (s := fields[0], r := fields[1]) not in facts:
            facts[s, r] = fields[2]
        else:
            left["repeated facts" if facts[s, r] == fields[2] else "second objects"] += 1
    relations = Counter(s for s, _ in facts)
    few = sum(count < 2 for count in relations.values())
    if few:
        left["subjects with one relation"] = few
    return None, sorted((s, r, o) for (s, r), o in facts.items() if relations[s] >= 2), left


PIECES = (
    b"", b"\n", b"\r\n", b"\r", b"\t", b" ", b"\xff", b"\x00", b"\xc3\xa9", b"\xef\xbb\xbf", b'"', b"or",
    b"Not", b"is true", b"\\t", b"<s>", b"\xe2\x96\x81", b"\xc2\xa0", b"\xe2\x80\xa8", b"\xc2\x85", b"\x1c",
    b"born in ", b" citizen of", b"Ann born in", b"x" * 990, b"\tborn in\t", b"Cy\tborn in\tRome\n", b"#",
    b"'", b".", b"and ",
)  # fmt: skip


@seed(0)
@hypothesis_settings(max_examples=300, database=None)
@given(st.composite(replace_spans)(GOOD.encode(), PIECES, 5, 8))
def test_mutated_tables_are_a_right_graph_or_a_message(tmp_path_factory, raw):
    """The facts of the lines, with the rest counted, or one message that says why not."""
    path = tmp_path_factory.getbasetemp() / "mutated.tsv"
    bad, facts, left = oracle(raw)
    account = Account()
    try:
        graph = world_of(path, raw, account)
    except InputError as error:
        message = str(error)
        if bad is not None:
            # Where all lines have more columns, nobody knows which are meant.
            ways = (f"{path}, line {bad}: ", "is UTF-16 or not text", f"{path} has the columns ")
            assert any(way in message for way in ways), message
        else:
            objects, subjects = {o for _, _, o in facts}, {s for s, _, _ in facts}
            thing = (
                "distinct objects" if len(objects) < 3 else "one subject only" if len(subjects) < 2 else None
            )
            assert re.search("graph is empty|no subject has two" if not facts else thing, message), message
    else:
        assert bad is None
        assert told(graph, account) == facts
        assert account.left_out == left


def test_blocks_do_not_matter(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    rows = [(f"s {rng.integers(60)}", f"r{rng.integers(4)}", f"o {rng.integers(30)}") for _ in range(600)]
    nt = "".join(" ".join(f"<http://x/{f.replace(' ', '_')}>" for f in row) + " .\n" for row in rows)
    contents = {"w.tsv": "".join("\t".join(row) + "\r\n" for row in rows), "w.csv": csv_of(rows), "w.nt": nt}
    graphs = []
    for size in (1 << 22, 1 << 10):
        monkeypatch.setattr("corpus.worlds.tables.BLOCK_BYTES", size)
        monkeypatch.setattr("corpus.worlds.rdf.BATCH", 100)
        for name, content in contents.items():
            graph = world_of(tmp_path / name, content)
            graphs.append([graph.entities, told(graph)])
    assert all(one == graphs[0] for one in graphs)


def test_facts_keep_their_order_however_they_are_spaced(tmp_path):
    """The first object counts, whether its line is read quickly or by the whole grammar."""
    lines = ["<x/Bob> <x/in> <x/Oslo> .", "<x/Bob> <x/of> <x/Norway> .", "_:b1\t<x/in><x/Rome>.# blank node"]
    lines += [
        "_:b1 <x/in> <x/Paris> .",
        '_:b1 <x/age> "4"^^<x/int> .',
        "_:b1 <x/of> <x/Italy> .\r",
        "",
        " # end",
    ]
    account = Account()
    facts = told(world_of(tmp_path / "w.nt", "\n".join(lines), account))
    bob = [("Bob", "in", "Oslo"), ("Bob", "of", "Norway")]
    assert facts == [(":b1", "in", "Rome"), (":b1", "of", "Italy"), *bob]
    assert account.left_out == {"facts whose object is a literal": 1, "second objects": 1}


def letters(path, table, columns=(), said=None):
    """The facts of a table of homes, whatever its form, beside those of the plain one."""
    account = Account()
    note = said.append if said is not None else None
    graph = world_of(path, table, account, note, columns=columns, subjects=1000)
    assert [graph.relations[r] for r in np.flatnonzero(graph.upstream >= 0)] == ["citizen of"]
    assert told(graph, account) == sorted(tuple(line.split("\t")) for line in HOMES.splitlines())
    return account


HOMES = homes(40)
ROWS = [line.split("\t") for line in HOMES.splitlines()]
WIDE = [
    ["name", "born in", "citizen of"],
    *([a[0], a[2], b[2]] for a, b in zip(ROWS[::2], ROWS[1::2], strict=True)),
]
ROLES = "subject", "relation", "object"


def iri(name):
    return f"<http://x/{name.replace(' ', '_')}>"


def prefixed(name):
    return f"x:{name.replace(' ', '_')}"


RDF_XML = "".join(
    [
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x/">\n',
        *(
            f'<rdf:Description rdf:about="{iri(s)[1:-1]}"><{prefixed(r)} rdf:resource="{iri(o)[1:-1]}"/>'
            "</rdf:Description>\n"
            for s, r, o in ROWS
        ),
        "</rdf:RDF>\n",
    ]
)


def text_of(rows, delimiter, quote=""):
    return "".join(delimiter.join(f"{quote}{cell}{quote}" for cell in row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("name", "table"),
    {
        "semicolon.csv": text_of([ROLES, *ROWS], ";"),
        "quoted.tsv": text_of(ROWS, "\t", '"'),
        "tabs.csv": HOMES,
        "bars.txt": text_of(ROWS, "|"),
        "wide.csv": text_of(WIDE, ","),
        "wide.tsv": text_of(WIDE, "\t"),
        "half quoted.tsv": "".join(f'"{s}"\t{r}\t"{o}"\n' for s, r, o in ROWS),
        "quoted body.tsv": "subject\trelation\tobject\n" + text_of(ROWS, "\t", '"'),
        "apostrophes.csv": text_of(ROWS, ",", "'"),
        "commas at the end.csv": text_of([(*row, "") for row in ROWS], ","),
        "two tabs.tsv": text_of(ROWS, "\t\t"),
        "invisible.tsv": text_of(ROWS[:9], "\t") + "\ufeff" + text_of(ROWS[9:], "\t\u200e"),
        "lists.jsonl": "".join(json.dumps(row) + "\n\n" for row in ROWS),
        "lines.jsonl": "".join(json.dumps(dict(zip(ROLES, row, strict=True))) + "\n" for row in ROWS),
        "lines.txt": "".join(json.dumps(dict(zip(ROLES, row, strict=True))) + "\n" for row in ROWS),
        "list.json": "\ufeff" + json.dumps([dict(zip(ROLES, row, strict=True)) for row in ROWS], indent=1),
        "bare.json": json.dumps(ROWS),
        "r.tsv": text_of([["", *ROLES], *([str(i), *row] for i, row in enumerate(ROWS))], "\t", '"')[3:],
        "r wide.tsv": text_of([["", *WIDE[0][1:]], *WIDE[1:]], "\t", '"')[3:],
        "numbers.csv": text_of([["", *WIDE[0]], *([str(i), *row] for i, row in enumerate(WIDE[1:]))], ","),
        "wide.jsonl": "".join(json.dumps(dict(zip(WIDE[0], row, strict=True))) + "\n" for row in WIDE[1:]),
        "named.csv": text_of([(o, s, r) for s, r, o in [("head", "predicate", "TAIL"), *ROWS]], ","),
        "quads.nq": "".join(f"{' '.join(map(iri, row))} <g> .\n" for row in ROWS),
        "prefixes.ttl": "@prefix x: <http://x/> .\n"
        + "".join(f"{' '.join(prefixed(cell) for cell in row)} .\n" for row in ROWS),
        "turtle.txt": "# facts\n" + "".join(f"{iri(s)} {iri(r)} {iri(o)} ;\n {iri(r2)} {iri(o2)} .\n"
                  for (s, r, o), (_, r2, o2) in zip(ROWS[::2], ROWS[1::2], strict=True)),
        "graphs.trig": "PREFIX x: <http://x/>\nx:g {\n"
        + "".join(f"{prefixed(s)} {prefixed(r)} {prefixed(o)} ;\n" + f"{prefixed(r2)} {prefixed(o2)} .\n"
                  for (s, r, o), (_, r2, o2) in zip(ROWS[::2], ROWS[1::2], strict=True)) + "}\n",
        "facts.rdf": RDF_XML,
        "facts.xz": lzma.compress(HOMES.encode()),
        "facts": bz2.compress(HOMES.encode()),
        "facts.tsv.zst": pa.compress(HOMES.encode(), codec="zstd", asbytes=True),
        "facts.lz4": pa.compress(HOMES.encode(), codec="lz4", asbytes=True),
    }.items(),
)  # fmt: skip
def test_a_table_is_read_by_its_content(name, table, tmp_path):
    assert letters(tmp_path / name, table).left_out == {}


def test_a_zip_archive_holds_one_table(tmp_path):
    with zipfile.ZipFile(tmp_path / "w.zip", "w") as archive:
        archive.writestr("homes.tsv", HOMES)
        archive.writestr("__MACOSX/._homes.tsv", "a shadow")
    letters(tmp_path / "w.zip", None)
    with zipfile.ZipFile(tmp_path / "w.zip", "a") as archive:
        archive.writestr("more.tsv", HOMES)
    with pytest.raises(InputError, match=r"holds 2 files \(homes.tsv, more.tsv\); unpack the table"):
        world_of(tmp_path / "w.zip")


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2)])
def test_columns_in_another_order_are_told_by_what_repeats_where(order, tmp_path):
    said = []
    table = text_of([[row[i] for i in order] for row in ROWS], "\t")
    letters(tmp_path / "w.tsv", table, said=said)
    columns = " ".join(str(order.index(i) + 1) for i in range(3))
    assert f"column {order.index(1) + 1} has the relations" in said[0]
    assert f"read as --world.columns {columns}, and --world.columns 1 2 3 reads it as it stands" in said[0]
    # Whoever says it is believed.
    letters(tmp_path / "w.tsv", table, columns=tuple(columns.split()), said=(again := []))
    assert again == []


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2)])
def test_more_relations_than_entities_are_relations_all_the_same(order, tmp_path):
    """As in the table of nations: fourteen nations, fifty-five relations."""
    rng = np.random.default_rng(0)
    rows = [
        (f"n{a}", f"r{r}", f"n{b}")
        for a, r, b in zip(*rng.integers([[14], [55], [14]], size=(3, 900)), strict=True)
    ]
    graph = world_of(tmp_path / "w.tsv", text_of([[row[i] for i in order] for row in rows], "\t"))
    assert {name[0] for name in graph.relations} == {"r"}
    assert {name[0] for name in graph.entities} == {"n"}


def test_two_keys_of_a_wide_table_are_named_and_a_column_of_subjects_can_be_chosen(tmp_path):
    said, table = [], text_of([["mail", *WIDE[0]], *([f"{row[0]}@x.org", *row] for row in WIDE[1:])], ",")
    graph = world_of(tmp_path / "w.csv", table, note=said.append)
    assert (
        "called by its 'mail' (name might be, too), with the relations name, born in, citizen of" in said[0]
    )
    assert graph.entities[graph.subject[0]] == "p0@x.org"
    for column in ("name", "2"):
        graph = world_of(tmp_path / "w.csv", note=said.append, columns=(column,))
        assert graph.entities[graph.subject[0]] == "p0"
        assert sorted(graph.relations) == ["born in", "citizen of", "mail"]
    assert len(said) == 1


def test_values_of_every_type_are_labels_as_json_writes_them(tmp_path):
    rows = [
        {"id": f"p{i}", "born": 1900 + i % 3 if i % 2 else "unknown", "tall": i % 3 == 0, "note": None}
        for i in range(12)
    ]
    for rows_of in (json.dumps(rows), "".join(json.dumps(row) + "\n" for row in rows)):
        said, account = [], Account()
        facts = told(world_of(tmp_path / "w.json", rows_of, account, said.append), account)
        assert facts[:2] == [("p0", "born", "unknown"), ("p0", "tall", "true")]
        assert account.left_out == {"facts with an empty cell": 12}
        assert "'unknown' are read as names; if they say that there is nothing, --world.drop-ent" in said[1]


def test_quotes_behind_a_backslash_are_part_of_a_cell(tmp_path):
    rows = "".join(f'"{s} \\"x\\"","{r}","{o}"\n' for s, r, o in FACTS)
    account = Account()
    assert {s for s, _, _ in told(world_of(tmp_path / "w.csv", rows, account), account)} == {
        'Ann "x"', 'Bob "x"',
    }  # fmt: skip


@pytest.mark.parametrize("option", ["drop_relations", "drop_entities"])
def test_what_is_to_be_dropped_is_there(option, tmp_path):
    name = option.replace("_", "-")
    with pytest.raises(InputError, match=rf"--world.{name}: .*w\.tsv has no 'nobody'; leave it out"):
        world_of(tmp_path / "w.tsv", GOOD, **{option: ("nobody",)})


def test_an_empty_cell_is_no_fact(tmp_path):
    table = HOMES + "Cy\t\tRome\nCy\tborn in\t\u3000 \n\t\t\n"
    assert letters(tmp_path / "w.tsv", table).left_out == {"facts with an empty cell": 3}
    twice = text_of([*WIDE, *WIDE[1:9]], ",")
    assert letters(tmp_path / "w.csv", twice).left_out == {"repeated facts": 16}
    wide = text_of([*WIDE, ["q", "", "land 0"]], ",")
    assert letters(tmp_path / "w.csv", wide).left_out == {
        "facts with an empty cell": 1,
        "subjects with one relation": 1,
    }
    with pytest.raises(InputError, match="3 facts with an empty cell, such as row 81; row 82; row 83"):
        world_of(tmp_path / "w.tsv", table, strict=True)


def test_columns_that_nothing_tells_apart_are_asked_for(tmp_path):
    rng = np.random.default_rng(0)
    rows = [(f"land {a}", f"has {b}", ("yes", "no")[rng.integers(2)]) for a in range(20) for b in range(50)]
    table = text_of(rows, "\t")
    with pytest.raises(
        InputError, match="nothing says which column has the relations, as in 'land 0' 'has 0'"
    ):
        world_of(tmp_path / "w.tsv", table)
    with pytest.raises(InputError, match="distinct objects"):
        world_of(tmp_path / "w.tsv", table, columns=("1", "2", "3"))


IDS = {name: f"E{i}" for i, name in enumerate(dict.fromkeys(cell for row in ROWS for cell in row))}


@pytest.mark.parametrize("ending", ["tsv", "nt"])
@pytest.mark.parametrize("labels", ["labels.tsv", "labels.csv", "labels.parquet"])
def test_ids_are_shown_by_the_labels_of_another_file(labels, ending, tmp_path):
    ids = [[IDS[cell] for cell in row] for row in ROWS]
    table = "".join("\t".join(row) + "\n" for row in ids)
    if ending == "nt":
        table = "".join(" ".join(f"<http://x/{cell}>" for cell in row) + " .\n" for row in ids)
    shown = {key: name for name, key in IDS.items() if key != "E0"}
    rows = [(f"http://x/{key}" if ending == "nt" else key, name) for key, name in shown.items()]
    path = tmp_path / labels
    if labels.endswith("parquet"):
        pq.write_table(pa.table({"id": [a for a, _ in rows], "label": [b for _, b in rows]}), path)
    else:
        path.write_text(text_of(rows, "," if labels.endswith("csv") else "\t"))
    said = []
    pairs = ("born in:citizen of",)
    graph = world_of(tmp_path / f"w.{ending}", table, None, said.append, labels=str(path), pairs=pairs)
    first = next(name for name, key in IDS.items() if key == "E0")
    expected = sorted(tuple("E0" if cell == first else cell for cell in row) for row in ROWS)
    assert told(graph) == expected
    assert f"{len(IDS) - 1:,} of {len(IDS):,} ids have a label in {path}" in said[0]


def test_labels_of_nothing_in_the_table_are_refused_and_changed_ones_noticed(tmp_path):
    table, labels = tmp_path / "w.tsv", tmp_path / "labels.tsv"
    labels.write_text("Q1\tRome\n")
    with pytest.raises(InputError, match=r"has a label of none of the ids, such as 'Q1' beside"):
        world_of(table, HOMES, labels=str(labels))
    before = digest_sources(str(table), str(labels))
    assert digest_sources(str(table), str(labels)) == before != digest_sources(str(table))
    labels.write_text("Q1\tOslo\n")
    assert digest_sources(str(table), str(labels)) != before


def join_objects(separator):
    """A table of homes in which most people have two of three tongues, and how it says so."""
    tongues = ("English", "French", "Danish")
    return [["name", "born in", "speaks"]] + [
        [name, home, separator.join(tongues[j] for j in sorted({i % 3, i % 2}))]
        for i, (name, home, _) in enumerate(WIDE[1:])
    ]


@pytest.mark.parametrize(
    ("name", "table", "split"),
    [
        ("bars.csv", text_of(join_objects("|"), ","), "|"),
        ("semicolons.tsv", text_of(join_objects("; "), "\t"), ";"),
        ("commas.csv", text_of(join_objects(", "), ",", '"'), ","),
        ("long.tsv", "".join(f"{n}\tborn in\t{h}\n{n}\tspeaks\t{t}\n"
                             for n, h, t in join_objects("|")[1:]), "|"),
        ("lists.json", json.dumps([{"name": n, "born in": h, "speaks": t.split("|")}
                                   for n, h, t in join_objects("|")[1:]]), ""),
        ("lists.parquet", None, ""),
    ],
)  # fmt: skip
def test_several_objects_in_one_cell_are_pointed_out_and_split(name, table, split, tmp_path):
    expected = [(n, "born in", home) for n, home, _ in join_objects("|")[1:]]
    expected += [(n, "speaks", t) for n, _, both in join_objects("|")[1:] for t in both.split("|")]
    account, said = Account(), []
    if table is None:
        rows = join_objects("|")[1:]
        columns = {"name": [n for n, *_ in rows], "born in": [h for _, h, _ in rows]}
        columns["speaks"] = [t.split("|") for *_, t in rows]
        pq.write_table(pa.table(columns), tmp_path / name)
    graph = world_of(tmp_path / name, table, account, said.append, split=split)
    assert "cells with several objects give 26 facts more" in " ".join(said)
    assert account.left_out == {"second objects": 26}
    assert told(graph) == sorted({(s, r): (s, r, o) for s, r, o in reversed(expected)}.values())
    if not split:
        return
    graph = world_of(tmp_path / name, note=said.append)
    assert len({graph.entities[o] for o in graph.object}) == 4 + 5
    assert "cells of 'speaks' look like lists, such as '" in said[-2] + said[-1]
    assert f"--world.split '{split}' takes each of their parts for an object" in said[-2] + said[-1]
    with pytest.raises(InputError, match=r"no object has '&'; leave --world\.split out"):
        world_of(tmp_path / name, split="&")


def test_what_says_nothing_of_a_list_is_not_split(tmp_path):
    """Of towns with their lands, most parts stand in one cell."""
    said = []
    table = text_of([(s, r, f"{o}, land {o[-1]}") for s, r, o in ROWS], "\t")
    world_of(tmp_path / "w.tsv", table, note=said.append)
    assert not [line for line in said if "look like lists" in line]
    with pytest.raises(InputError, match=r"is Turtle: --world\.split does nothing there"):
        world_of(tmp_path / "w.ttl", "<x:a> <x:b> <x:c> .\n", split="|")


def test_numbers_are_no_names_that_columns_share(tmp_path):
    """Ids of relations count from 0 as those of subjects do; which column is which is asked for."""
    rows = [(str(i), str(r), str(100 + (i + r) % 7)) for i in range(40) for r in (0, 1)]
    graph = world_of(tmp_path / "w.tsv", text_of(rows, "\t"), account := Account())
    assert {label for _, label, _ in told(graph, account)} == {"0", "1"}
    with pytest.raises(InputError, match="nothing says which column has the relations"):
        world_of(tmp_path / "w.tsv", text_of([(s, o, r) for s, r, o in rows], "\t"))


def test_a_key_beside_two_columns_that_share_names_is_no_relation(tmp_path):
    """As in a table of twinned towns, each pair of which has an id."""
    rows = [{"town": f"t{i % 30}", "twin": f"t{(7 * i + i // 30) % 30}", "id": f"x{i}"} for i in range(60)]
    with pytest.raises(InputError, match="nothing says which column has the relations"):
        world_of(tmp_path / "w.json", json.dumps(rows))


def test_a_first_line_that_lacks_a_cell_is_pointed_out(tmp_path):
    letters(tmp_path / "w.csv", text_of([WIDE[0][1:], *WIDE[1:]], ","), said=(said := []))
    assert "its first line has one cell fewer than the others" in said[0]


def test_two_columns_of_one_name_are_refused(tmp_path):
    table = text_of([["name", "city", "city"], *WIDE[1:]], ",")
    for columns in ((), ("name",)):
        with pytest.raises(InputError, match="has several columns called 'city'; give each another name"):
            world_of(tmp_path / "w.csv", table, columns=columns)


def test_a_table_in_markdown_has_no_fact_about_its_rule(tmp_path):
    rows = [WIDE[0], ["---", ":--", "--:"], *WIDE[1:]]
    letters(tmp_path / "w.md", "".join(f"| {' | '.join(row)} |\n" for row in rows))


def test_who_has_no_facts_left_learns_what_became_of_them(tmp_path):
    """Names in a language are literals; one relation is left, of which subjects may have one if asked to."""
    facts = "".join(
        f'{iri(f"p{i}")} {iri("name")} "Ann {i}"@en .\n{iri(f"p{i}")} {iri("knows")} {iri(f"p{i - 1}")} .\n'
        for i in range(1, 12)
    )
    left_out = r"facts whose object is a literal 11, subjects with one relation 11"
    with pytest.raises(InputError, match=rf"relations knows \(left out: {left_out}\); --world.min-relations"):
        world_of(tmp_path / "w.nt", facts)
    assert len(world_of(tmp_path / "w.nt", facts, min_relations=1)) == 11
