"""The experiment belief_revision from nothing to its record, on worlds that a person could write down."""

import json

import pytest

from experiments import belief_revision, belief_tables, record
from testbed.run.strata import SUPPORT_BINS

TINY = (
    "--seeds 1 --subjects 40 --upstream-objects 6 --downstream-objects 4 --steps 30 "
    "--edits 12 --fewer 12 --fewest 12 --sequence 6"
)
EDITORS = ("lora-down", "in-context", "none")


@pytest.mark.slow
def test_every_stage_ends_in_the_record(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(belief_revision, "ABLATED", "lora-down")
    variants = (("five steps", {"steps": 5}), ("rank two", {"rank": 2}))
    monkeypatch.setattr(belief_revision, "ABLATIONS", variants)
    figure = tmp_path / "belief.png"
    every = [*TINY.split(), "--runs", str(tmp_path / "runs"), "--editors", *EDITORS, "--figure", str(figure)]
    assert belief_revision.main(every) == 0
    assert figure.exists()
    (kept,) = (tmp_path / "records").iterdir()
    assert {path.suffix for path in kept.iterdir()} == {".json", ".jsonl", ".md"}
    tables = json.loads((kept / "record.json").read_text(encoding="utf-8"))["found"]
    edited = {
        "edits": (*EDITORS, belief_revision.LEARNED),
        "diagnosis": ("lora-down",),
        "sequences": ("lora-down",),
        "ablations": ("five steps", "rank two"),
        "imagine": ("lora-down", "in-context"),
    }
    assert list(tables) == [f"{stage}, {world}" for stage in edited for world in ("fact", "sentence")]
    for name, rows in tables.items():
        assert tuple(rows) == (*edited[name.split(",")[0]], *belief_tables.REFERENCES)
        assert rows["Bayesian reader"]["all"]["answer s2"][0] == 1.0
        assert rows["no edit"]["all"]["edit success"][3] == (6 if name.startswith("sequences") else 12)
    assert {f"S0, {b}" for b in SUPPORT_BINS} <= tables["edits, fact"]["none"].keys()
    assert {"held out both", "S0, seen both"} <= tables["imagine, sentence"]["lora-down"].keys()
    assert "Scores at once, and kept" in (kept / "belief.md").read_text(encoding="utf-8")

    # What is done stays done, and some of it can be shown alone.
    capsys.readouterr()
    assert belief_revision.main([*every, "--stages", "edits", "report", "--worlds", "fact"]) == 0
    assert capsys.readouterr().out.count("has these edits already") == len(EDITORS) + 1
    again = json.loads((tmp_path / "records" / f"{kept.name}-2" / "record.json").read_text(encoding="utf-8"))
    assert again["found"] == {name: rows for name, rows in tables.items() if name.endswith(", fact")}
