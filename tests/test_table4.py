"""Table 4 at each scale: what it is made of, and the experiment from nothing to its record."""

from dataclasses import replace

import pytest

from experiments import record
from experiments.benchmarks.scaled import PAPER_FACTS
from experiments.command import run_module
from experiments.figures import FIGURES, read_nested, read_page
from experiments.studies import table4
from experiments.studies.pretrain import scale_preset
from testbed.presets import CORPUS, EDIT, TRAIN


def test_every_scale_has_its_presets_and_says_how_to_repeat_it():
    for scale, (corpus, training, edits) in table4.PRESETS.items():
        assert corpus in CORPUS
        assert training in TRAIN
        assert edits in EDIT
        settings = table4.Settings(path="somewhere", scale=scale, editors=("none",), samplers=("published",))
        scaled = "" if scale == table4.Settings.scale else f" --scale {scale}"
        words = f"python -m experiments.table4 --path FOLDER{scaled} --samplers published --editors none"
        assert settings.command == words


def test_the_model_of_pretrain_is_the_one_that_is_edited():
    options = table4.Settings(scale="paper-cpu", fact_count=6000, steps=190)
    (_, _), (title, _), *_ = table4.study_stages(options, table4.stages.Clock(None))
    assert title == "model of pretrain-paper-cpu-6000"
    assert options.command == "python -m experiments.table4 --scale paper-cpu --fact-count 6000 --steps 190"
    corpus, training = scale_preset("paper-cpu", 6000, 190)
    assert corpus.world.subjects == round(0.06 * CORPUS["paper-cpu"].world.subjects)
    assert training.train.steps == 190
    assert training.train.atomic_steps == round(0.06 * TRAIN["paper-cpu"].train.atomic_steps)
    assert (training.train.evaluate_every, training.train.checkpoint_every) == (20, 60)
    assert scale_preset("paper-fast", PAPER_FACTS, 0)[1] == TRAIN["paper-fast"]
    assert table4.Settings(scale="paper").run.name == "pretrain-paper-fast"
    with pytest.raises(ValueError, match="are for the scales paper-cpu and paper"):
        table4.Settings(fact_count=6000)


def test_pairs_are_of_a_folder_and_each_choice_has_a_run_of_its_own():
    assert set(table4.CHOICES) == {"frequent", "printed", "automatic"}
    assert [table4.Settings(path="x", pairs=pairs).run.name for pairs in table4.CHOICES] == [
        "table4-laptop", "table4-laptop-printed", "table4-laptop-automatic",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="pairs are of a path"):
        table4.Settings(pairs="automatic")


def test_a_slice_needs_facts(capsys):
    with pytest.raises(SystemExit) as stop:
        run_module(table4, ["--scale", "slice"])
    assert stop.value.code == 2
    assert "--scale slice needs a --path" in capsys.readouterr().err


@pytest.mark.slow
def test_a_hundred_thousand_facts_but_few_of_them(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")
    recipe, corpus = TRAIN["paper-laptop"], CORPUS["paper-laptop"]
    few = replace(recipe.train, steps=30, rows=8, checkpoint_every=30, softmax_entries=600)
    monkeypatch.setitem(TRAIN, "paper-laptop", replace(recipe, train=few))
    dials = replace(corpus.world.builtin, upstream_objects=24, downstream_objects=12)
    world = replace(corpus.world, subjects=200, builtin=dials)
    monkeypatch.setitem(CORPUS, "paper-laptop", replace(corpus, world=world))
    args = ["--scale", "laptop", "--edits", "20", "--editors", "lora-down", "none", "--runs", str(tmp_path)]
    assert run_module(table4, [*args, "--minutes", "0.001"]) == 0
    assert "run the same command to go on" in capsys.readouterr().out
    assert run_module(table4, args) == 0
    (folder,) = (tmp_path / "records").iterdir()
    found = read_nested(folder / FIGURES, "found")
    assert len(found) == 4
    text = read_page(folder / FIGURES, "table4.md")
    assert "by support of the new object" in text
    assert "| 100 to 999 | 1,000 and more |" in text
