"""Laws of logic among consequences of an edit, in sentences that no editor is taught."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import record
from experiments.command import run_module
from experiments.figures import FIGURES, read_figures
from experiments.measures.consequence_logic import CLAIM_ROLES, LAWS, law_residuals
from experiments.measures.revision_tables import KINDS
from experiments.measures.revision_worlds import REPORT, RevisionWorld
from experiments.studies import untaught_logic
from experiments.study import Findings

PROBABILITY = st.floats(0, 1)
TINY = [
    RevisionWorld("forest", "published", 1, subjects=60, uppers=4, downs=4, steps=30),
    RevisionWorld("forks", "sentence", 2, subjects=60, uppers=4, downs=4, steps=30),
]


def prices(c: float, d: float, both: float) -> np.ndarray:
    """What somebody with this joint distribution says of SAID."""
    either = c + d - both
    return np.array([[x] for x in (c, d, 1 - c, 1 - d, both, both, either, either)])


@given(st.lists(PROBABILITY, min_size=4, max_size=4).filter(lambda cells: sum(cells) > 1e-3))
def test_whoever_has_a_joint_distribution_breaks_no_law(cells):
    _, only_c, only_d, both = np.array(cells) / sum(cells)
    c, d = only_c + both, only_d + both
    found = law_residuals(prices(c, d, both), np.array([[c], [d]]))
    assert found.shape == (len(LAWS), 1)
    np.testing.assert_allclose(found, 0, atol=1e-12)


TENTHS = st.integers(0, 10)


@given(TENTHS, TENTHS, TENTHS)
def test_prices_that_add_up_break_a_law_where_no_joint_distribution_has_them(c, d, both):
    found = law_residuals(prices(c / 10, d / 10, both / 10), np.array([[c / 10], [d / 10]]))[:, 0]
    cells = (both, c - both, d - both, 10 - c - d + both)
    assert (found >= 0).all()
    assert (min(cells) < 0) == (found[2:4].max() > 1e-9)
    np.testing.assert_allclose(found[[0, 1, 4, 5]], 0, atol=1e-12)


@pytest.mark.parametrize(
    ("law", "off", "expected"),
    [
        (0, {}, 0.2),
        (1, {"not C": 0.9, "not D": 0.3}, 0.3),
        (2, {"C and D": 0.6, "D and C": 0.8}, 0.2),
        (3, {"C or D": 0.1, "D or C": 0.5}, 0.2),
        (4, {"C and D": 0.5}, 0.125),
        (5, {"D or C": 0.65}, 0.05),
    ],
)
def test_what_breaks_a_law_by_hand(law, off, expected):
    """C and D are independent and half likely but for some numbers; asked for as objects .3 and .7."""
    said = prices(0.5, 0.5, 0.25)
    for role, p in off.items():
        said[CLAIM_ROLES.index(role)] = p
    assert law_residuals(said, np.array([[0.3], [0.7]]))[law, 0] == pytest.approx(expected)


def test_worlds_with_two_consequences_are_three_of_each_kind():
    study = untaught_logic.STUDY
    findings = Findings("untaught_logic", study, study.options)
    for kind in KINDS:
        among = [cell["world"] for cell in findings.select(world_kind=kind)]
        assert len(among) == 3
        assert "builtin" not in {world.shape for world in among}
        assert set(among) <= set(REPORT)


@pytest.mark.slow
def test_worlds_are_edited_and_written_down_and_nothing_is_done_twice(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(untaught_logic, "LISTS", {"report": TINY})
    args = ["--runs", str(tmp_path / "runs"), "--cases", "8"]
    args += ["--editors", "lora-down", "none"]
    assert run_module(untaught_logic, args) == 0
    (folder,) = (tmp_path / "records").iterdir()
    figures = read_figures(folder / FIGURES)
    found = {
        (*one.labels[:2], one.figure): one for one in figures
        if one.table == "found" and one.labels[-2:] == ("all", one.labels[1])
    }  # fmt: skip
    for kind in ("published", "sentence"):
        for editor in ("lora-down", "none"):
            for law in LAWS:
                one = found[kind, editor, f"logic {law}"]
                assert one.cases == 8
                assert 0 <= one.value <= 2
        both = [[found[kind, name, f"logic {law}"].value for law in LAWS] for name in ("lora-down", "none")]
        assert both[0] != both[1]
    capsys.readouterr()
    assert run_module(untaught_logic, args) == 0
    assert capsys.readouterr().out.count("has these edits already") == 4
