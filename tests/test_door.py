"""Edits made elsewhere: what is exported, asked and scored, and the guards against silent failures."""

import copy
import json
import shutil
import warnings
from typing import ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest

from bayes.request import EditRequest
from corpus.errors import InputError
from testbed import export, score
from testbed.commands.score import SAME
from testbed.engine.file_exchange.cases import describe_cases, write_cases
from testbed.protocol import Case, Passage
from testbed.run.runs import Run
from testbed.run.world import load_world
from tests.edited import cases_of
from tests.runs import at, complaint, copied

COUNT = 6
CASES = ["--cases.count", str(COUNT)]
SCORE = [*CASES, "--name", "mine"]


def scale_head(model, tokenizer, request):
    """Changes every answer, and knows how."""
    model.lm_head.weight.data *= 1.1


def test_the_cases_say_what_is_asked_and_nothing_that_is_believed(trained):
    run = Run(trained, "x")
    world = load_world(run)
    cases = cases_of(run, 12)
    for case, row in zip(cases, describe_cases(world, cases), strict=True):
        assert set(row) == {"case", "request", "controls", "choices", "claims"}
        for choice, asked in zip(case.choices, row["choices"], strict=True):
            assert asked["prompt_ids"] == world.tokenizer.prompt(*choice[1:3], choice.phrasing).tolist()
            names = [world.tokenizer.language.entities[o] for o in choice.options.tolist()]
            assert asked["options"] == names
            assert set(asked) == {"prompt", "prompt_ids", "options", "options_ids"}
            for name, ids in zip(names, asked["options_ids"], strict=True):
                text = world.tokenizer.decode(asked["prompt_ids"][1:] + ids)
                assert text == f"{asked['prompt']} {name}"
        for claim, asked in zip(case.claims, row["claims"], strict=True):
            sentence = world.tokenizer.language.render(claim.sentence)
            assert sentence.startswith(asked["text"])
            assert set(asked) == {"text", "ids"}


def test_cases_that_ask_for_texts_are_not_exported(world, tmp_path):
    passage = Passage("text", np.array([1], np.int32))
    case = Case(EditRequest(0, 0, int(world.graph.objects[0])), 0.9, 0, {}, (), passages=(passage,))
    with pytest.raises(InputError, match="answers by files cannot have"):
        write_cases(world, [case], 1, 1, {}, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def door():
    """The module that is copied out; where PyTorch is."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from testbed.engine.file_exchange import door

    return door


@pytest.fixture(scope="module")
def exam(trained, tmp_path_factory, door):
    """A run with its exported cases: (runs, folder)."""
    runs = copied(trained, tmp_path_factory.mktemp("door") / "runs")
    assert export.main([*at(runs), "--cases", *CASES]) == 0
    return runs, runs / "x" / "door"


@pytest.fixture(scope="module")
def examined(exam, tmp_path_factory, door):
    """Answers of the unedited model as those of an editor that does nothing."""
    answers = tmp_path_factory.mktemp("answers") / "none"
    door.examine(do_nothing, exam[1], answers, report=lambda _: None)
    return answers


def do_nothing(model, tokenizer, request):
    """The model as it is."""


@pytest.fixture
def bench(exam, door):
    about, _ = door.read_exam(exam[1])
    return door.Bench(exam[1], about, 256, "cpu")


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_answers_become_the_rows_of_an_editor(exam, examined, capsys):
    runs, _ = exam
    assert score.main([str(examined), *at(runs), *SCORE]) == 0
    out = capsys.readouterr().out
    assert "mine" in out
    assert "with the stop behind it" in out
    (folder,) = (runs / "x" / "edits" / "hase").glob("mine-*")
    rows = pq.read_table(folder / "choices.parquet").to_pylist()
    assert rows
    for row in rows:
        np.testing.assert_array_equal(row["lm_before"], row["lm_after"])
        np.testing.assert_array_equal(row["lm_open_before"], row["lm_open_after"])
        assert row["lm_answer_before"] == row["lm_answer_after"]
    assert score.main([str(examined), *at(runs), *SCORE]) == 0
    assert "has these answers already" in capsys.readouterr().out


def test_an_edit_that_fails_counts_as_a_failure_and_keeps_its_cause(exam, tmp_path, capsys, door):
    runs, folder = exam
    answers, cases = tmp_path / "answers", door.read_exam(folder).cases
    unlucky = cases[3]["request"]["sentence"]

    def fail_once(model, tokenizer, request):
        if request["sentence"] == unlucky:
            raise ValueError("no such luck")

    door.examine(fail_once, folder, answers, report=lambda _: None)
    failed = {case["case"] for case in cases if case["request"]["sentence"] == unlucky}
    for line in lines_of(answers / "after.jsonl"):
        assert (line["fault"] == "ValueError: no such luck") == (line["case"] in failed)
    assert score.main([str(answers), *at(runs), *CASES, "--name", "fragile"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"{len(failed)} of {COUNT} edits failed" in out
    assert f"{len(failed)} of {COUNT} edits of fragile gave no numbers and count as failures" in out
    (made,) = (runs / "x" / "edits" / "hase").glob("fragile-*")
    for row in pq.read_table(made / "cases.parquet").to_pylist():
        assert (row["fault"] == "ValueError: no such luck") == (row["case"] in failed)
    with pytest.raises(door.DoorError, match="made on trial fails .AttributeError"):
        door.examine(lambda model, *_: model.nothing, folder, tmp_path / "never", report=lambda _: None)


def test_both_sides_allow_the_same_difference(door):
    assert door.SAME == SAME


def test_a_killed_examination_goes_on(exam, examined, tmp_path, door):
    again = tmp_path / "again"
    again.mkdir()
    shutil.copy(examined / "about.json", again)
    before, after = ((examined / name).read_bytes() for name in ("before.jsonl", "after.jsonl"))
    (again / "before.jsonl").write_bytes(before)
    (again / "after.jsonl").write_bytes(after[: len(after) // 2])
    door.examine(do_nothing, exam[1], again, report=lambda _: None)
    one, other = (lines_of(folder / "after.jsonl") for folder in (examined, again))
    assert [line | {"seconds": 0} for line in one] == [line | {"seconds": 0} for line in other]


def test_what_does_not_fit_is_refused(exam, examined, tmp_path, capsys, door):
    runs, folder = exam
    answers = tmp_path / "answers"

    def refuse(message, *options):
        assert score.main([str(answers), *at(runs), *(options or SCORE)]) == 2
        assert message in complaint(capsys)

    shutil.copytree(examined, answers)
    refuse(
        "give testbed.score the options that testbed.export --cases had",
        "--cases.count",
        "5",
        "--name",
        "mine",
    )
    refuse("can be taken for the built-in editor rome", *CASES, "--name", "rome")
    lines = (answers / "after.jsonl").read_text().splitlines(keepends=True)
    (answers / "after.jsonl").write_text("".join(lines[:-1]))
    refuse("examine goes on where it was")
    (answers / "after.jsonl").write_text(
        "".join(lines[:-1]) + json.dumps(json.loads(lines[-1]) | {"ended": [[0.5]]}) + "\n"
    )
    refuse("after.jsonl, line 6, ended: rows of [1] numbers, where the case asks for")
    (answers / "after.jsonl").write_text(
        "".join(lines[:-1]) + lines[-1].replace('"singly": false', '"singly": 0')
    )
    refuse("after.jsonl, line 6: singly: Expected `bool`, got `int`")
    with pytest.raises(door.DoorError, match="begun with other"):
        door.examine(scale_head, folder, answers)


@pytest.mark.parametrize(
    ("change", "message"),
    [(lambda p, i: p * 0.9, "another precision"), (lambda p, i: p + (0.01 if i == 3 else 0.0), "padding")],
    ids=["all", "few"],
)
def test_the_unedited_model_must_answer_as_here(exam, examined, tmp_path, capsys, change, message):
    answers = tmp_path / "answers"
    shutil.copytree(examined, answers)
    lines = lines_of(answers / "before.jsonl")
    for i, line in enumerate(lines):
        line["ended"] = [[change(p, i) for p in options] for options in line["ended"]]
        line["begun"] = [[change(p, i) for p in options] for options in line["begun"]]
    (answers / "before.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert score.main([str(answers), *at(exam[0]), *SCORE]) == 2
    said = complaint(capsys)
    assert "answers otherwise there than here" in said
    assert message in said


def test_answers_that_are_no_numbers_are_a_fault(exam, examined, tmp_path, capsys, door, bench):
    """An edit that leaves NaN has a fault and no answers; if the unedited model does, nothing is scored."""
    import torch

    model, case = copy.deepcopy(bench.base), door.read_exam(exam[1]).cases[0]
    model.lm_head.weight.data *= torch.nan
    line = bench.ask(model, case)
    assert line == door.NO_ANSWERS | {"fault": "the model it edited answers with what is no number"}
    answers = tmp_path / "answers"
    shutil.copytree(examined, answers)
    lines = [line | {"case": 0}, *lines_of(answers / "before.jsonl")[1:]]
    (answers / "before.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    capsys.readouterr()
    assert score.main([str(answers), *at(exam[0]), *SCORE]) == 2
    assert "on the side of PyTorch" in complaint(capsys)


def test_cases_that_were_changed_are_noticed(exam, tmp_path, door):
    folder = tmp_path / "door"
    shutil.copytree(exam[1], folder)
    (folder / "cases.jsonl").write_text((folder / "cases.jsonl").read_text().replace("1", "2", 1))
    with pytest.raises(door.DoorError, match="was changed since it was exported"):
        door.examine(do_nothing, folder, tmp_path / "answers")


def test_a_sequence_is_one_model_asked_again_at_its_marks(trained, tmp_path, capsys, door):
    runs = copied(trained, tmp_path / "runs")
    mode = ["--cases.count", "4", "--sequential", "2"]
    assert export.main([*at(runs), "--cases", *mode]) == 0
    door.examine(scale_head, runs / "x" / "door", tmp_path / "answers", report=lambda _: None)
    lines = lines_of(tmp_path / "answers" / "after.jsonl")
    assert [(line["case"], line["mark"]) for line in lines] == [
        (0, 0), (0, 1), (1, 0), (0, 2), (1, 2), (2, 0), (2, 1), (3, 0), (2, 2), (3, 2),
    ]  # fmt: skip
    by = {(line["case"], line["mark"]): line["ended"] for line in lines}
    assert by[0, 0] == by[0, 1] != by[0, 2]
    assert by[1, 0] == by[1, 2]
    assert score.main([str(tmp_path / "answers"), *at(runs), *mode, "--name", "mine"]) == 0
    (folder,) = (runs / "x" / "edits" / "hase").glob("mine-*")
    assert pq.read_table(folder / "retained-2-cases.parquet")["case"].to_pylist() == [0, 1, 2, 3]


# The guards, each with an editor that it is for.


class MeansOfBatch:
    """A wrapper that adds the mean over its batch: what a text is answered depends on those beside it."""

    def __init__(self, model):
        self.model = model

    def __call__(self, input_ids, attention_mask, use_cache):
        logits = self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=use_cache).logits
        return (logits + logits.mean(dim=0, keepdim=True),)

    def eval(self):
        return self


class OneByOne(MeansOfBatch):
    """A wrapper that fails on batches."""

    def __call__(self, input_ids, attention_mask, use_cache):
        assert len(input_ids) == 1
        return self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=use_cache)


@pytest.mark.parametrize("wrapper", [MeansOfBatch, OneByOne])
def test_wrappers_that_read_batches_otherwise_are_asked_singly(bench, exam, door, wrapper):
    case = door.read_exam(exam[1]).cases[0]
    wrapped = wrapper(bench.base)
    answers = bench.ask(wrapped, case)
    assert answers["singly"]
    assert answers == door.answer_case(wrapped, case, bench.about, 1, "cpu") | {"singly": True}
    plain = bench.ask(bench.base, case)
    assert not plain["singly"]
    if wrapper is OneByOne:
        np.testing.assert_allclose(answers["ended"][0], plain["ended"][0], atol=1e-5)


COUNTER = [0.0]


def leak_state(model, tokenizer, request):
    COUNTER[0] += 0.1
    model.lm_head.weight.data *= 1 + COUNTER[0]


class Forgetful:
    """The same, with what forgets it."""

    def reset(self):
        COUNTER[0] = 0.0

    def edit(self, model, tokenizer, request):
        leak_state(model, tokenizer, request)


def read_last_column(model, tokenizer, request):
    ids = tokenizer([request["sentence"], request["prompt"]], return_tensors="pt", padding=True).input_ids
    model.lm_head.weight.data *= 1 + 0.01 * ids[1, -1].item()


class SaysItsSide:
    """The same, saying for which side it was written."""

    PADDING: ClassVar = "left"

    def edit(self, model, tokenizer, request):
        read_last_column(model, tokenizer, request)


def shorten_floats(model, tokenizer, request):
    import torch

    return model.to(torch.bfloat16)


@pytest.mark.parametrize(
    ("editor", "message"),
    [
        (leak_state, "stays from edit to edit"),
        (read_last_column, "the side on which the tokenizer pads"),
        (shorten_floats, "bfloat16; edit in float32"),
    ],
)
def test_what_would_fail_in_silence_is_refused(exam, tmp_path, door, editor, message):
    with pytest.raises(door.DoorError, match=message):
        door.examine(editor, exam[1], tmp_path / "answers")
    assert not (tmp_path / "answers" / "about.json").exists(), "nothing was begun"


def test_an_edit_of_the_model_that_was_not_given_is_noticed(bench, exam, door):
    case = door.read_exam(exam[1]).cases[0]

    def edit_base(model, tokenizer, request):
        bench.base.lm_head.weight.data[0, 0] += 1e-6

    with pytest.raises(door.DoorError, match="changed the unedited model"):
        bench.edit_chain(edit_base, [case])


@pytest.mark.parametrize("editor", [Forgetful(), SaysItsSide()], ids=["reset", "padding"])
def test_what_says_how_it_works_is_taken(exam, tmp_path, door, editor):
    cases = door.read_exam(exam[1]).cases[:2]
    bench = door.Bench(exam[1], door.read_exam(exam[1]).about, 256, "cpu")
    door.check_habits(editor, cases, bench.edit_chain, False)


def test_numbers_without_gold_are_those_of_the_answers(exam, bench, door):
    """Of the case's own questions: what both models write, and the probability of each option."""
    case = next(case for case in door.read_exam(exam[1]).cases if len(case["choices"][0]["options"]) > 1)
    edited = copy.deepcopy(bench.base)
    edited.lm_head.weight.data *= -1
    prompts = [choice["prompt"] for choice in case["choices"]]
    new, old = case["choices"][0]["options"][:2]
    same = door.measure_edit(bench.base, bench.base, bench.tokenizer, prompts, prompts[:1], new, old)
    other = door.measure_edit(bench.base, edited, bench.tokenizer, prompts, prompts[:1], new, old)
    begun = bench.ask(bench.base, case)["begun"][0]
    assert same == {"own_unchanged": 1.0, "neighbours_margin": pytest.approx(begun[1] - begun[0], abs=1e-5)}
    assert other["own_unchanged"] < 1
    assert door.measure_edit(bench.base, bench.base, bench.tokenizer, prompts, prompts[:1], old, new)[
        "neighbours_margin"
    ] == pytest.approx(begun[0] - begun[1], abs=1e-5)


@pytest.mark.slow
def test_a_process_for_every_edit_forgets(exam, tmp_path, door, monkeypatch):
    """What leaks in one process cannot in many."""
    few = door.read_exam(exam[1])
    few = few._replace(cases=few.cases[:2])
    monkeypatch.setattr(door, "read_exam", lambda _: few)
    door.examine(leak_state, exam[1], tmp_path / "answers", apart=True, report=lambda _: None)
    bench = door.Bench(exam[1], few.about, 256, "cpu")
    for line, case in zip(lines_of(tmp_path / "answers" / "after.jsonl"), few.cases, strict=True):
        COUNTER[0] = 0.0
        alone = bench.edit_chain(leak_state, [case])[0]
        np.testing.assert_allclose(np.concatenate(line["ended"]), np.concatenate(alone["ended"]), atol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (lambda request: request["target_new"], "was given a <s> of its own"),
        (lambda request: " " + request["target_new"], "was given a <s> of its own"),
        (lambda request: request["prompt"] + request["target_new"], "no space between prompt and target"),
        (lambda request: request["prompt"] + " ____", "became <unk>"),
    ],
    ids=["target", "with its space", "space lost", "blank"],
)
def test_text_that_is_read_otherwise_is_warned_of(bench, exam, door, text, message):
    request = door.read_exam(exam[1]).cases[0]["request"]
    bench.tokenizer.request = request
    with pytest.warns(door.DoorWarning) as seen:
        bench.tokenizer(text(request))
    assert any(message in str(warning.message) for warning in seen)


def test_text_that_is_read_rightly_is_not(bench, exam, door):
    tokenizer = bench.tokenizer
    for case in door.read_exam(exam[1]).cases:
        request = tokenizer.request = case["request"]
        with warnings.catch_warnings():
            warnings.simplefilter("error", door.DoorWarning)
            assert tokenizer(request["sentence"]).input_ids == request["prompt_ids"] + request["target_ids"]
            assert tokenizer(request["prompt"]).input_ids == request["prompt_ids"]
            target = tokenizer(f" {request['target_stopped']}", add_special_tokens=False).input_ids
            assert target == request["target_ids"]
            tokenizer([request["prompt"], request["sentence"]], padding=True)
