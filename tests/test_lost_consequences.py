"""Where a consequence is lost: in what an editor works out, or in fitting that."""

import numpy as np
import pytest

from experiments import record
from experiments.command import run_module
from experiments.studies import lost_consequences, revision, structures
from experiments.studies.revision_worlds import RevisionWorld
from experiments.tidy import FIGURES, read_nested

WORLD = RevisionWorld("forks", "sentence", 2, subjects=60, uppers=4, downs=4, steps=40)


@pytest.mark.parametrize("worlds", ["development", "report"])
def test_the_worlds_of_structures_are_theirs(worlds):
    names = ("published, three tokens", "fact, base")
    groups = lost_consequences.Settings(worlds=worlds, structures=names).groups
    of = structures.Settings(worlds=worlds)
    assert groups == {name: of.worlds_of(name) for name in names}
    kinds = lost_consequences.Settings(worlds=worlds, kinds=("fact",)).groups
    assert all(
        world.kind == "fact" and world in revision.LISTS[worlds] for of in kinds.values() for world in of
    )


@pytest.mark.slow
def test_shares_add_up_and_a_record_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")
    for module in (revision, lost_consequences):
        monkeypatch.setattr(module, "LISTS", {"report": [WORLD]})
    runs = ["--runs", str(tmp_path / "runs"), "--cases", "40", "--kinds", "sentence"]
    assert run_module(revision, [*runs, "--editors", "self-bayes", "none"]) == 0
    assert run_module(lost_consequences, runs) == 0
    (folder,) = (tmp_path / "records").glob("*lost-consequences")
    found = read_nested(folder / FIGURES, "found")
    row = {name: value for name, (value, *_) in found[WORLD.name].items()}
    counts = {name: count for name, (*_, count) in found[WORLD.name].items()}
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
    same = read_nested(other / FIGURES, "found")["sentence"]["self-bayes"]
    assert same["support 2 and more"]["consequence follows"][0] == pytest.approx(row["follows"])
