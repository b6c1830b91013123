"""Table 4 at each scale: what it is made of."""

from dataclasses import replace

import pytest

from experiments.command import run_module
from experiments.measures.scaled import PAPER_FACTS, scale_preset
from experiments.studies import table4
from experiments.study import Findings, command_of_options
from testbed.presets import CORPUS, EDIT, TRAIN

ASKED = table4.STUDY.options


def test_every_scale_has_its_presets_and_says_how_to_repeat_it():
    for scale, (corpus, training, edits) in table4.PRESETS.items():
        assert corpus in CORPUS
        assert training in TRAIN
        assert edits in EDIT
        options = replace(ASKED, path="somewhere", scale=scale, samplers=("published",))
        scaled = "" if scale == ASKED.scale else f" --scale {scale}"
        words = f"python -m experiments.table4 --path FOLDER{scaled} --samplers published"
        assert command_of_options("table4", options, ASKED) == words


def test_the_model_of_pretrain_is_the_one_that_is_edited():
    options = replace(ASKED, scale="paper-cpu", fact_count=6000, steps=190)
    findings = Findings("table4", table4.STUDY, options)
    assert [title for title, _ in findings.stages()][1] == "model of pretrain-paper-cpu-6000"
    corpus, training = findings.model_of(findings.cells[0])
    assert corpus.world.subjects == round(0.06 * CORPUS["paper-cpu"].world.subjects)
    assert training.train.steps == 190
    assert training.train.atomic_steps == round(0.06 * TRAIN["paper-cpu"].train.atomic_steps)
    assert (training.train.evaluate_every, training.train.checkpoint_every) == (20, 60)
    assert scale_preset("paper-fast", PAPER_FACTS, None)[1] == TRAIN["paper-fast"]
    assert replace(ASKED, scale="paper").cells[0]["model"] == "pretrain-paper-fast"
    with pytest.raises(ValueError, match="are for the scales paper-cpu and paper"):
        replace(ASKED, fact_count=6000)


def test_pairs_are_of_a_folder_and_each_choice_has_a_run_of_its_own():
    assert set(table4.CHOICES) == {"frequent", "printed", "automatic"}
    assert [replace(ASKED, path="x", pairs=pairs).cells[0]["model"] for pairs in table4.CHOICES] == [
        "table4-laptop", "table4-laptop-printed", "table4-laptop-automatic",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="pairs are of a path"):
        replace(ASKED, pairs="automatic")


def test_a_slice_needs_facts(capsys):
    with pytest.raises(SystemExit) as stop:
        run_module(table4, ["--scale", "slice"])
    assert stop.value.code == 2
    assert "--scale slice needs a --path" in capsys.readouterr().err
