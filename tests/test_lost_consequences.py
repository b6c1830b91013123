"""Where a consequence is lost: in what an editor works out, or in fitting that."""

import numpy as np
import pytest

from experiments import record
from experiments.analyses import lost_consequences
from experiments.command import run_module
from experiments.figures import FIGURES, read_figures
from experiments.measures.revision_tables import BOTH
from experiments.measures.revision_worlds import LISTS, RevisionWorld
from experiments.measures.structure_worlds import draw_worlds
from experiments.studies import revision

WORLD = RevisionWorld("forks", "sentence", 2, subjects=60, uppers=4, downs=4, steps=40)


@pytest.mark.parametrize("worlds", ["development", "report"])
def test_the_worlds_of_structures_are_theirs(worlds):
    names = ("published, three tokens", "fact, base")
    groups = lost_consequences.Settings(worlds=worlds, structures=names).groups
    assert groups == {name: draw_worlds(name, worlds, 1) for name in names}
    kinds = lost_consequences.Settings(worlds=worlds, kinds=("fact",)).groups
    assert all(world.kind == "fact" and world in LISTS[worlds] for of in kinds.values() for world in of)


@pytest.mark.slow
def test_shares_add_up_and_a_record_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")
    for module in (revision, lost_consequences):
        monkeypatch.setattr(module, "LISTS", {"report": [WORLD]})
    runs = ["--runs", str(tmp_path / "runs"), "--cases", "40", "--kinds", "sentence"]
    assert run_module(revision, [*runs, "--editors", "self-bayes", "none"]) == 0
    assert run_module(lost_consequences, runs) == 0
    (folder,) = (tmp_path / "records").glob("*lost-consequences")
    figures = [one for one in read_figures(folder / FIGURES) if one.labels == (WORLD.name,)]
    row = {one.figure: one.value for one in figures}
    counts = {one.figure: one.cases for one in figures}
    must = counts["follows"]
    assert must == counts["worked out rightly"] > 10
    assert counts["follows, worked out rightly"] + counts["follows, otherwise"] == must
    assert counts["follows, worked out rightly"] == round(row["worked out rightly"] * must)
    assert row["worked out rightly"] <= min(row["the row's answer is right"], row["it is taken to move"])
    parts = [
        np.nan_to_num(row[name] or 0.0) * counts[name]
        for name in ("follows, worked out rightly", "follows, otherwise")
    ]
    assert sum(parts) / must == pytest.approx(row["follows"], abs=1e-3)
    # As `experiments.revision` has it.
    (other,) = (tmp_path / "records").glob("*revision")
    (same,) = (
        one.value for one in read_figures(other / FIGURES)
        if one.figure == f"follows, {BOTH}" and one.labels == ("self-bayes",)
    )  # fmt: skip
    assert same == pytest.approx(row["follows"])
