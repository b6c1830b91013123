"""Names that look like others: found in any order, and told when a table is read."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from corpus.text.names import find_lookalikes
from testbed import corpus
from tests.runs import at

WORDS = st.text("aA\u00f6\u00d6\u017fso\u200b\u0308", min_size=1, max_size=4)


def look_alike(one, other):
    """The naive twin: whether two names become equal, character by character."""
    ends = []
    for name in (one, other):
        seen = "".join(c for c in name if c != "\u200b")
        ends.append(unicodedata.normalize("NFKC", seen).casefold())
    return ends[0] == ends[1]


@given(names=st.lists(WORDS, max_size=8, unique=True))
def test_every_pair_that_looks_alike_shares_a_group(names):
    groups = find_lookalikes(names)
    group_of = {name: i for i, group in enumerate(groups) for name in group}
    assert sum(map(len, groups)) == len(group_of)
    for one in names:
        for other in names:
            together = one == other or (one in group_of and group_of[one] == group_of.get(other, -1))
            assert together == look_alike(one, other)


def test_a_table_with_such_names_says_so(tmp_path, capsys):
    towns = ["Malm\u00f6", "Malmo\u0308", "Paris"]
    lines = [f"person {i}\t{r}\t{towns[i % 3]}" for i in range(60) for r in ("lives in", "works in")]
    (tmp_path / "facts.tsv").write_text(
        "\n".join(["subject\trelation\tobject", *lines]) + "\n", encoding="utf-8"
    )
    source = ["--world.source", "tsv", "--world.path", str(tmp_path / "facts.tsv")]
    assert corpus.main(["tiny", *at(tmp_path), *source, "--world.min-pair-subjects", "5"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert r"2 names look like another one and are entities of their own, such as 'Malm\xf6' and" in said


def test_subjects_that_are_left_out_since_they_are_written_otherwise_elsewhere_are_named(tmp_path, capsys):
    lines = [f"{'ann' if r == 'lives in' else 'ANN'} {i}\t{r}\ttown {i % 3}" for i in range(30) for r in
             ("born in", "works in", "lives in")]  # fmt: skip
    (tmp_path / "facts.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert corpus.main(["tiny", *at(tmp_path), "--world.path", str(tmp_path / "facts.tsv")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "subjects with one relation, whose names look like another subject's: ann 0, ann 1" in said
