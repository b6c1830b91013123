"""Edits shared out among processes: the same rows, whoever made them, and nobody in another's way."""

import shutil
from itertools import product

import pytest

from corpus.files import list_sealed, read_json, verify_folder
from testbed import edit, tune
from testbed.engine import sweep
from testbed.engine.plan import SweepPlan, unfinished_chunks
from testbed.engine.records import TABLES
from testbed.run.lock import BusyError, Shard, one_of_several, only_one, shard_from
from testbed.run.runs import Run
from tests.edited import tables
from tests.runs import complaint, copied, dies

EDITS = ["none", "--cases.count", "11", "--batch-edits", "2", "--runs"]
"""Six batches, two of each of three shards; the last one is not full."""


def edited(runs, *options):
    return edit.main([*EDITS, str(runs), "--run", "x", *options])


def folder_of(runs):
    (folder,) = (runs / "x" / "edits" / "hase").iterdir()
    return folder


@pytest.fixture(scope="module")
def whole(trained, tmp_path_factory):
    """The edits that one process made."""
    runs = copied(trained, tmp_path_factory.mktemp("whole"))
    assert edited(runs) == 0
    return folder_of(runs)


def assert_same(folder, whole):
    verify_folder(folder)
    mine, other = tables(folder), tables(whole)
    assert mine.keys() == other.keys() >= {f"{table}.parquet" for table in TABLES}
    for name, table in mine.items():
        assert table.equals(other[name]), name
    configs = [read_json(x / "config.json") for x in (folder, whole)]
    assert configs[0] == configs[1]
    assert not (folder / "parts").exists()


@pytest.mark.parametrize(
    "shard", ["0/8", "9/8", "x", "1/", "/2", "1/2/3", "-1/2", "1.5/2", "\u0661/2", " 1/2"]
)
def test_what_is_no_shard_is_refused_in_a_sentence(shard, capsys):
    with pytest.raises(SystemExit) as stop:
        edit.main(["--shard", shard])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert f"shard is which part of how many, from 1/8 to 8/8; {shard!r} is not" in " ".join(said.split())
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        (edit, ["--sequential", "5", "--cases.count", "10"], "divides independent edits; leave out"),
        (tune, [], "shard is an option of testbed.edit alone"),
    ],
)
def test_what_cannot_be_shared_out(command, options, message, capsys):
    with pytest.raises(SystemExit) as stop:
        command.main([*options, "--shard", "2/8"])
    assert stop.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("of", [1, 2, 3, 8])
def test_every_batch_is_of_one_shard(of, tmp_path):
    plan = SweepPlan(cases=22, sequence=1, batch=1, abreast=4)
    shards = [shard_from(f"{k}/{of}") for k in range(1, of + 1)]
    parts = [unfinished_chunks(plan, tmp_path, ["other"], shard) for shard in shards]
    found = [(chunk.control, int(chunk.cases[0, 0])) for part in parts for chunk in part]
    assert sorted(found) == sorted(product(("", "other"), range(0, 22, 4)))
    assert max(map(len, parts)) - min(map(len, parts)) <= 2
    assert shard_from("") == Shard(1, 1)


@pytest.mark.slow
def test_shards_one_after_another_are_the_whole(trained, whole, tmp_path, monkeypatch, capsys):
    runs = copied(trained, tmp_path)
    assert edited(runs, "--shard", "1/3") == 0
    assert "missing are 2/3, 3/3" in capsys.readouterr().out

    write, written = sweep.write_rows, []

    def dying(rows, folder, columns, stem, **more):
        if written:
            raise KeyboardInterrupt
        written.append(stem)
        write(rows, folder, columns, stem, **more)

    with monkeypatch.context() as patch:
        patch.setattr(sweep, "write_rows", dying)
        assert edited(runs, "--shard", "2/3") == 130
    # The third shard ends while the second is dead, and does none of its work.
    assert edited(runs, "--shard", "3/3") == 0
    assert "missing are 2/3:" in capsys.readouterr().out
    parts = folder_of(runs) / "parts"
    made = {path.name: path.stat().st_mtime_ns for path in parts.glob("*-cases.parquet")}
    assert len(made) == 5
    assert edited(runs, "--shard", "2/4") == 2
    assert "was begun in 3 shards, not in 4" in complaint(capsys)

    other = shutil.copytree(runs, tmp_path / "other")
    assert edited(runs, "--shard", "2/3") == 0
    assert "edits of" in capsys.readouterr().out
    assert_same(folder_of(runs), whole)
    # As well by the command without --shard, which makes what is missing.
    assert edited(other) == 0
    assert_same(folder_of(other), whole)
    assert edited(other, "--shard", "1/3") == 0
    assert_same(folder_of(other), whole)


@pytest.mark.slow
def test_a_shard_that_was_killed_resumes(trained, whole, tmp_path):
    runs = copied(trained, tmp_path)
    dies("after", "000002-cases.parquet", "testbed.edit", *EDITS, runs, "--run", "x", "--shard", "2/3")
    assert [p.name for p in folder_of(runs).glob("parts/*-cases.parquet")] == ["000002-cases.parquet"]
    for shard in ("3/3", "2/3", "1/3"):
        assert edited(runs, "--shard", shard) == 0
    assert_same(folder_of(runs), whole)


def test_shards_do_not_wait_for_each_other_and_nobody_takes_the_whole(tmp_path):
    run = Run(tmp_path, "x")
    with one_of_several(run, "edit", "1/3"), one_of_several(run, "edit", "2/3"):
        with pytest.raises(BusyError), only_one(run, "edit"):
            pass
        with pytest.raises(BusyError), one_of_several(run, "edit", "2/3"):
            pass
    with only_one(run, "edit"), pytest.raises(BusyError), one_of_several(run, "edit", "1/3"):
        pass


def test_the_last_of_several_puts_together(trained, whole, tmp_path, capsys):
    """Where another shard is still at work, whoever ends leaves the parts to it."""
    runs = copied(trained, tmp_path)
    assert edited(runs, "--shard", "1/2") == 0
    stray = folder_of(runs) / "retained-7-cases.parquet"
    stray.write_text("of another run")
    with one_of_several(Run(runs, "x"), "edit", "1/2"):
        assert edited(runs, "--shard", "2/2") == 0
    assert "the others are still at work, and the last one joins the parts" in capsys.readouterr().out
    assert edited(runs, "--shard", "1/2") == 0
    assert stray.name not in list_sealed(folder_of(runs)), "whose edits are these?"
    stray.unlink()
    assert_same(folder_of(runs), whole)
