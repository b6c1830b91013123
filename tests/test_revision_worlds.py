"""Worlds for development and for reports, and the experiment that edits the latter."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments import record
from experiments.command import run_module
from experiments.figures import FIGURES, read_figures
from experiments.measures import revision_worlds
from experiments.measures.revision_worlds import (
    DEEP,
    DEVELOPMENT,
    LISTS,
    REPORT,
    RevisionWorld,
    agent_of,
    build_run,
    presets_of_world,
    training_of_world,
    write_table,
)
from experiments.studies import revision
from experiments.study import change_settings
from testbed.evaluations.hase import Hase
from testbed.presets import TRAIN
from testbed.run.agents import agent_named
from testbed.run.world import load_world
from testbed.settings import CaseConfig

TINY = [
    RevisionWorld("forest", "published", 1, subjects=60, uppers=4, downs=4, steps=30),
    RevisionWorld("forks", "sentence", 2, subjects=60, uppers=4, downs=4, steps=30),
    RevisionWorld("builtin", "sentence", 3, subjects=60, uppers=4, downs=4, steps=30),
]
EDITORS = ("count-based, hard", "lora-down", "none", revision.TRUE)


def test_nothing_is_reported_on_a_world_of_development():
    everywhere = [world for worlds in LISTS.values() for world in worlds]
    assert len({world.seed for world in everywhere}) == len(everywhere)
    assert len({world.name for world in everywhere}) == len(everywhere)
    for kind in ("published", "fact", "sentence"):
        assert sum(world.kind == kind for world in REPORT) == 5


def test_every_world_can_be_made():
    """Where statements are fresh draws, no relation may depend on a dependent one."""
    for world in (*DEVELOPMENT, *REPORT, *DEEP):
        parents = world.parents or ()
        depth = max((parents[up] >= 0 for up in parents if up >= 0), default=False)
        assert world.kind != "sentence" or not depth, world.name


@pytest.mark.parametrize("shape", revision_worlds.SHAPES)
def test_facts_follow_their_cause_as_often_as_the_world_says(shape, tmp_path):
    world = RevisionWorld(shape, "published", 3, subjects=2000, uppers=6, downs=6, dependence=0.7)
    write_table(world, tmp_path / "table.tsv")
    has: dict[str, dict[str, str]] = {}
    for line in (tmp_path / "table.tsv").read_text(encoding="utf-8").splitlines():
        subject, relation, thing = line.split("\t")
        has.setdefault(subject, {})[relation] = thing
    assert len(has) == world.subjects
    for child, parent in enumerate(world.parents):
        if parent < 0:
            continue
        both = [
            (facts[f"relation {parent}"], facts[f"relation {child}"])
            for facts in has.values()
            if {f"relation {parent}", f"relation {child}"} <= facts.keys()
        ]
        # What follows is one object for each cause; what does not follow is drawn by popularity.
        modal = sum(
            max(np.unique([b for a, b in both if a == cause], return_counts=True)[1])
            for cause in {a for a, _ in both}
        )
        assert 0.67 < modal / len(both) < 0.7 + 0.3 * 0.45


def test_a_deep_model_has_layers_as_large_together_and_the_others_are_as_they_were():
    made = [
        change_settings(TRAIN[presets_of_world(world)[1]], training_of_world(world))
        for world in (DEEP[0], REPORT[0], REPORT[9])
    ]
    deep, other, _ = (settings.model for settings in made)
    assert (deep.layers, other.layers) == (12, 2)
    assert 0.5 < deep.layers * deep.hidden**2 / (other.layers * other.hidden**2) < 2
    assert [settings.train.row_length for settings in made[1:]] == [160, 320]


def test_real_facts_and_their_folder_go_together():
    with pytest.raises(ValueError, match="go together"):
        replace(revision.STUDY.options, worlds="real")
    with pytest.raises(ValueError, match="go together"):
        replace(revision.STUDY.options, facts=Path("x"))


ONE_OF_EACH = {(world.shape, world.kind): world for world in (*DEVELOPMENT, *REPORT, *DEEP)}


@pytest.mark.slow
@pytest.mark.parametrize("world", ONE_OF_EACH.values(), ids=lambda world: world.name)
def test_every_world_has_causes_that_can_be_edited(world, tmp_path):
    loaded = load_world(build_run(world, tmp_path))
    agent = agent_named(agent_of(world), loaded)
    asked = Hase(edits="upstream", reinforce=0.0)
    case = next(asked.make_cases(loaded, agent, 1, CaseConfig(1).credence, world.seed))
    assert loaded.graph.downstream(case.request.relation)


@pytest.mark.slow
def test_worlds_are_edited_and_written_down_and_nothing_is_done_twice(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(revision, "LISTS", {"report": TINY})
    args = ["--runs", str(tmp_path / "runs"), "--cases", "12", "--kinds", "published", "sentence"]
    args += ["--editors", *EDITORS]
    assert run_module(revision, args) == 0
    (folder,) = (tmp_path / "records").iterdir()
    figures = read_figures(folder / FIGURES)
    found = {(*one.labels[:2], *one.labels[3:], one.figure): one for one in figures if one.table == "found"}
    for kind in ("published", "sentence"):
        assert found[kind, "count-based, hard", "all", "Bayesian reader", "damage"].value == 0
        assert found[kind, "none", "all", "none", "damage"].value == 0
        stated = [found[kind, name, "all", name, "success"] for name in ("none", revision.TRUE)]
        assert stated[0].value < stated[1].value
        cases = 12 * sum(world.kind == kind for world in TINY)
        assert found[kind, "lora-down", "all", "lora-down", "success"].cases == cases
    for world in TINY:
        parents = world.parents or (-1, 0) * 5
        depend = sum(parent >= 0 for parent in parents)
        search = {
            one.figure: one.value for one in figures
            if one.section.startswith("What `self-bayes` takes") and one.labels == (world.name,)
        }  # fmt: skip
        assert search["pairs that depend"] == depend
        assert depend + search["others"] == len(parents) * (len(parents) - 1) / 2
        assert 0 <= search["cause right"] <= search["found"] <= depend
    capsys.readouterr()
    assert run_module(revision, args) == 0
    assert capsys.readouterr().out.count("has these edits already") == len(TINY) * len(EDITORS)
