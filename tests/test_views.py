"""Tables as views of the frame: which cells stand where, under which heads, and who stands out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from testbed.pages.charts import lines_of
from testbed.scores.frame import ALL, BEFORE, EDITOR, EDITS, LOST, REFERENCE, Frame, concat_frames, make_frame
from testbed.scores.metric import MetricDefinition
from testbed.scores.statistics import Comparison, Estimate, Few
from testbed.scores.views import Column, View, make_table, swap_words

FOLLOWS, DAMAGE = "follows", "damage"
METRICS = (
    MetricDefinition(FOLLOWS, "A share.", "high", label="consequence follows"),
    MetricDefinition(DAMAGE, "A distance.", "low"),
)
KINDS = {"rome": EDITOR, "mend": EDITOR, "no edit": REFERENCE, "before edit": BEFORE}
SUBSETS = (ALL, "few", "many")


def estimate(value: float, cases: int = 10) -> Estimate:
    return Estimate(value, value - 0.1, value + 0.1, cases, 5, (Few("world", 1, value, value),))


def value_of(editor: str, reader: str, subset: str, metric: str) -> float:
    """A number that tells every cell from every other."""
    names = ("rome", "mend", "no edit", "before edit"), SUBSETS, (FOLLOWS, DAMAGE)
    i, j, k = (of.index(x) for of, x in zip(names, (reader, subset, metric), strict=True))
    return (i + 10 * j + 100 * k + (0.5 if editor == "mend" else 0)) / 1000


def example_frame(lost: int = 0, sizes: tuple[int, int] = (20, 20)) -> Frame:
    """Two editors with a reference each; before the edit nobody has FOLLOWS."""
    rows = []
    for editor, size in zip(("rome", "mend"), sizes, strict=True):
        for reader in (editor, "no edit", "before edit"):
            for subset in SUBSETS:
                of = editor, reader, KINDS[reader], subset
                rows.append(((*of, EDITS, None), {ALL: size, "few": 0, "many": size}[subset]))
                for metric in (FOLLOWS, DAMAGE):
                    if reader != "before edit" or metric == DAMAGE:
                        cases = 0 if subset == "few" else 10
                        cell = estimate(value_of(*of[:2], subset, metric), cases)
                        rows.append(((*of, metric, None), cell))
        rows.append(((editor, editor, EDITOR, ALL, LOST, None), lost if editor == "mend" else 0))
    return make_frame(rows, METRICS)


def test_tags_are_columns_of_their_own_and_text_where_they_are_no_plain_value():
    assert example_frame().tag(place=("a", 1)).values("place") == ["('a', 1)"]
    with pytest.raises(ValueError, match="has a column kind already"):
        example_frame().tag(kind="published")


@given(st.permutations([FOLLOWS, DAMAGE]), st.permutations(["editor", "reference", "before"]))
def test_every_cell_is_the_frames_own(metrics, who):
    """Rows in the order of `who`; of a reference of several editors the first counts; labels as heads."""
    frame = example_frame()
    table = make_table(View("k", "T", metrics, who=who), frame)
    names = {"editor": ["rome", "mend"], "reference": ["no edit"], "before": ["before edit"]}
    assert [row[0] for row in table.rows] == [name for kind in who for name in names[kind]]
    assert table.header == ["editor", *({FOLLOWS: "consequence follows"}.get(m, m) for m in metrics)]
    for name, *cells in table.rows:
        for metric, cell in zip(metrics, cells, strict=True):
            assert cell == frame.cell(metric, name)
            owner = "mend" if name == "mend" else "rome"
            assert cell is None or cell.value == value_of(owner, name, ALL, metric)


def test_blocks_by_subset_count_edits_and_leave_empty_ones_out():
    """Named readers, subsets under other names and in another order, a count, a column of one reader."""
    columns = [
        Column(EDITS, "edits", show="count"),
        FOLLOWS,
        Column(FOLLOWS, "no edit's", {"reader": "no edit"}),
    ]
    parts = {"subset": {"many": "lots", "few": "few", ALL: "all"}}
    view = View("k", "T", columns, {"subset": "part", "reader": "who"}, ("mend", "before"), parts)
    table = make_table(view, example_frame())
    assert table.header == ["part", "who", "edits", "consequence follows", "no edit's"]
    assert [row[:2] for row in table.rows] == [
        ["lots", "mend"], ["lots", "before edit"], ["all", "mend"], ["all", "before edit"],
    ]  # fmt: skip
    assert table.words == 2
    assert [row[2] for row in table.rows] == [20] * 4
    first = table.rows[0]
    assert first[3].value == value_of("mend", "mend", "many", FOLLOWS)
    assert first[4].value == value_of("mend", "no edit", "many", FOLLOWS)
    (row,) = make_table(
        View("k", "T", [Column(DAMAGE, "x", {"subset": "many"}, "value")], who=["mend"]), example_frame()
    ).rows
    assert row == ["mend", value_of("mend", "mend", "many", DAMAGE)]
    assert table.rows[1][3] is None


@pytest.mark.parametrize(
    ("frame", "best"),
    [(example_frame(), [0, 1]), (example_frame(lost=1), [0]), (example_frame(sizes=(10, 20)), [1])],
    ids=["both complete", "one lost an edit", "one has fewer edits"],
)
def test_only_complete_editors_compete(frame, best):
    table = make_table(View("k", "T", [FOLLOWS, DAMAGE], who=("reference", "editor"), ranked=True), frame)
    assert [table.rows[i][0] for i in table.contest] == [["rome", "mend"][i] for i in best]
    assert table.heads == ["editor", "consequence follows ↑", "damage ↓"]
    assert make_table(View("k", "T", [FOLLOWS]), frame).heads[1] == "consequence follows"


def test_worlds_are_never_mixed_silently():
    frame = concat_frames([example_frame().tag(world=w) for w in (1, 2)])
    with pytest.raises(InputError, match="says nothing of 'world', of which the frame has 1, 2"):
        make_table(View("k", "T", [FOLLOWS]), frame)
    by_world = [Column(FOLLOWS, f"world {w}", {"world": w}) for w in frame.values("world")]
    assert make_table(View("k", "T", by_world), frame).header == ["editor", "world 1", "world 2"]
    rows = make_table(View("k", "T", [FOLLOWS], {"world": "world", "reader": "who"}), frame).rows
    assert [row[:2] for row in rows] == [[1, "rome"], [1, "mend"], [2, "rome"], [2, "mend"]]
    assert len(make_table(View("k", "T", [FOLLOWS], where={"world": 2}), frame).rows) == 2


def test_costs_and_differences_are_cells_too():
    difference = Comparison(0.5, 0.25, 0.75, 0.01, 0.1, 12, 3)
    rows = [
        (("rome", "rome", EDITOR, ALL, FOLLOWS, None), estimate(0.5)),
        (("rome", "rome", EDITOR, ALL, FOLLOWS, "no edit"), difference),
        (("rome", "rome", EDITOR, ALL, "seconds", None), 1.5),
    ]
    beyond = Column(FOLLOWS, "beyond", {"against": "no edit"})
    table = make_table(View("k", "T", [FOLLOWS, beyond, Column("seconds", "s")]), make_frame(rows, METRICS))
    assert table.rows == [["rome", estimate(0.5), difference, 1.5]]


def test_lines_and_metrics_as_rows():
    """What pictures draw is the same cells; metrics can be rows, and readers columns."""
    frame = example_frame()
    lines = lines_of(
        frame, {"own": [Column(FOLLOWS)], "no edit": [Column(FOLLOWS, where={"reader": "no edit"})]}
    )
    assert {name: of["own"][0].value for name, of in lines.items()} == {
        name: value_of(name, name, ALL, FOLLOWS) for name in ("rome", "mend")
    }
    assert lines["mend"]["no edit"][0].value == value_of("mend", "no edit", ALL, FOLLOWS)
    columns = [Column("", name, {"reader": name}) for name in ("mend", "before edit")]
    view = View(
        "k",
        "T",
        columns,
        {"metric": "metric"},
        where={"editor": "mend", "metric": {FOLLOWS: "F", DAMAGE: "D"}},
    )
    table = make_table(view, frame)
    assert [row[0] for row in table.rows] == ["F", "D"]
    assert table.rows[0][2] is None
    assert table.rows[1][2].value == value_of("mend", "before edit", ALL, DAMAGE)
    swapped = swap_words(make_table(View("k", "T", [FOLLOWS], {"subset": "part", "reader": "who"}), frame))
    assert swapped.header[:2] == ["who", "part"]
    assert swapped.rows[0][:2] == ["rome", ALL]


def test_only_columns_of_one_subset_lead_to_rows_of_the_explorer():
    frame, few = example_frame(), Column(FOLLOWS, "few", {"subset": "few"})
    table = make_table(View("k", "T", [FOLLOWS, few, Column(DAMAGE, "x", {"reader": "no edit"})]), frame)
    assert {head: tuple(of) for head, of in table.behind.items()} == {
        "consequence follows": (FOLLOWS, ALL), "few": (FOLLOWS, "few"),
    }  # fmt: skip
    assert not make_table(View("k", "T", [FOLLOWS], {"subset": "part", "reader": "who"}), frame).behind


def test_shared_subsets_are_those_of_every_editor():
    frame = example_frame()
    assert frame.shared_subsets() == [*SUBSETS]
    rows = [row for row in frame.rows() if not (row[0]["editor"] == "mend" and row[0]["subset"] == "few")]
    fewer = make_frame([(tuple(of.values()), cell) for of, cell in rows], METRICS)
    assert fewer.shared_subsets() == [ALL, "many"]
