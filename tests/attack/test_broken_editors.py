"""Editors of others that are wrong in every way: a message that names them, or a count."""

import json
import shutil

import numpy as np
import pytest

from testbed import ask, edit, report
from testbed.engine.results import read_results
from testbed.scores.readers import NO_EDIT
from tests.edited import COLUMNS
from tests.explored import decode
from tests.runs import EDITS, at, complaint, copied

HEAD = """
from dataclasses import dataclass
import jax, jax.numpy as jnp
from lm.delta import LowRank, Rows
from lm.editors.interface import Info

DONE = Info(jnp.zeros(1), *[jnp.int32(1)] * 3)

def noise(model, key, scale=0.1):
    c = model.config
    a = scale * jax.random.normal(key, (c.layers, c.mlp, 1))
    return LowRank(a, jnp.ones((c.layers, 1, c.hidden)))

{decorator}
class {name}:
    def prepare(self, model, sample):
        {prepare}
        return {state}
    def edit(self, model, state, request, key):
        {edit}
"""
FROZEN, GOOD = "@dataclass(frozen=True)", 'return {"down": noise(model, key)}, DONE'


def write(folder, name, edit=GOOD, prepare="pass", state="{}", decorator=FROZEN):
    text = HEAD.format(name=name, edit=edit, prepare=prepare, state=state, decorator=decorator)
    (folder / f"{name.lower()}.py").write_text(text, encoding="utf-8")
    return f"{name.lower()}:{name}"


REFUSED = {
    "UnknownPart": ({"edit": 'return {"donw": noise(model, key)}, DONE'}, "a delta has no part 'donw'"),
    "WrongShape": (
        {"edit": 'return {"up": noise(model, key)}, DONE'},
        "delta['up'] .a has shape (1, 48, 1); it should be (1, 32, any)",
    ),
    "WrongRanks": (
        {"edit": 'f = noise(model, key); return {"down": LowRank(jnp.tile(f.a, 2), f.b)}, DONE'},
        "delta['down'] has arrays of 1 and 2 entries",
    ),
    "PlainTuple": ({"edit": 'return {"down": tuple(noise(model, key))}, DONE'}, "make it a LowRank(a, b)"),
    "NoTuple": ({"edit": 'return {"down": noise(model, key)}'}, "it returned a dict; return (delta, info)"),
    "NoInfo": ({"edit": 'return {"down": noise(model, key)}, 1'}, "make it an Info"),
    "WideInfo": (
        {"edit": 'return {"down": noise(model, key)}, DONE._replace(steps=jnp.ones(3))'},
        "info.steps has shape (3,)",
    ),
    "Nothing": ({"edit": "return None"}, "return (delta, info)"),
    "NoDelta": ({"edit": "return [1.0], DONE"}, "the delta is a list; make it a dict"),
    "FloatRows": (
        {"edit": 'return {"embedding": Rows(jnp.zeros(2), jnp.zeros((2, model.config.hidden)))}, DONE'},
        "they should be whole numbers",
    ),
    "StrayWeights": ({"edit": 'return {"weights": {"haed": jnp.zeros(1)}}, DONE'}, "has 'haed', which"),
    "Raises": ({"edit": "return 1 / 0"}, "in edit: ZeroDivisionError: division by zero ("),
    "Branches": ({"edit": "return ({}, DONE) if key[0] > 0 else ({}, DONE)"}, "in edit: "),
    "RaisesBefore": ({"prepare": 'raise KeyError("x")'}, "in prepare: KeyError: 'x' ("),
    "TextState": ({"state": '{"how": "gently"}'}, "state['how'] is a str; use arrays only"),
    "NotFrozen": ({"decorator": "@dataclass"}, "it should be a frozen dataclass"),
    "NoDataclass": ({"decorator": ""}, "write @dataclass(frozen=True) before class NoDataclass"),
}  # fmt: skip


QUICK = ("UnknownPart", "NoTuple", "Raises", "TextState", "NoDataclass")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in REFUSED]
)
def test_mistakes_are_named_before_anything_is_written(name, trained, here, capsys):
    how, message = REFUSED[name]
    runs, editor = copied(trained, here), write(here, name, **how)
    assert edit.main([editor, *at(runs), "--cases.count", "3"]) == 2
    said = complaint(capsys)
    assert message in said
    assert name in said
    assert said.count("\n") == 1
    assert not (runs / "x" / "edits").exists()


@pytest.mark.slow
def test_ask_refuses_them_too(trained, here, capsys):
    editor = write(here, "Asked", 'return {"donw": noise(model, key)}, DONE')
    question = ["Ada Marlow educated at", "--edit", "Ada Marlow educated at = Quintal College"]
    assert ask.main([*question, "--editor", editor, *at(trained)]) == 2
    assert "a delta has no part 'donw'" in complaint(capsys)


@pytest.mark.slow
def test_what_one_editor_does_to_the_parameters_no_other_sees(finished, here):
    """The oracle: what the second editor's edits come to when it is alone."""
    greedy = (
        'model.params["embedding"] = 0 * model.params["embedding"]; model.params["layers"].clear(); '
        "sample.rows[:] = 0"
    )
    first, runs = write(here, "Greedy", prepare=greedy), copied(finished, here)
    alone = read_results(next((runs / "x" / "edits" / "hase").iterdir()), COLUMNS)
    shutil.rmtree(runs / "x" / "edits")
    assert edit.main([first, "lora-down", *at(runs), *EDITS]) == 0
    [folder] = (runs / "x" / "edits" / "hase").glob("lora-down-*")
    after = read_results(folder, COLUMNS)
    np.testing.assert_array_equal(after.choices.lm, alone.choices.lm)
    np.testing.assert_array_equal(after.claims.lm, alone.claims.lm)


SOME = """bad = jnp.where(jax.random.bernoulli(key, 0.4), jnp.nan, 0.1)
        return {"down": noise(model, key, bad)}, DONE"""
ALL = 'return {"down": noise(model, key, jnp.nan)}, DONE'


@pytest.mark.usefixtures("blank_pictures")
def test_edits_without_numbers_are_counted_and_fail(trained, here, capsys):
    """The oracle: the same edits by an editor that is right where the other one is."""
    runs = copied(trained, here)
    count = ["--cases.count", "11", "--batch-edits", "4"]
    editors = [write(here, "Sometimes", SOME), write(here, "Always", GOOD), write(here, "Never", ALL)]
    assert edit.main([*editors, *at(runs), *count]) == 0
    shown = capsys.readouterr().out
    results = {}
    for path in (runs / "x" / "edits" / "hase").iterdir():
        if not path.name.startswith("never"):
            results[path.name.partition(".")[0]] = read_results(path, COLUMNS)
    some, whole = results["sometimes"], results["always"]
    assert 0 < some.lost_edits < 11
    assert len(some) == len(whole) == 11
    assert (
        f"{some.lost_edits} of 11 edits of sometimes:Sometimes gave no numbers and count as failures" in shown
    )
    assert "never:Never" in shown
    assert "none of 11 edits gave numbers" in shown
    for mine, theirs in ((some.choices, whole.choices), (some.claims, whole.claims)):
        np.testing.assert_array_equal(mine.case, theirs.case)
        kept = ~some.lost[mine.case]
        np.testing.assert_array_equal(mine.lm[kept], theirs.lm[kept])
        assert not mine.lm[~kept, 1].any()
    assert report.main([*at(runs), "--against", NO_EDIT]) == 0
    told = f"{some.lost_edits} of 11 edits of sometimes.Sometimes gave no numbers and count as failures."
    page = (runs / "x" / "report" / "index.html").read_text(encoding="utf-8")
    assert page.count(told) >= page.count("<table") - 1
    explored = [decode(path)[0] for path in (runs / "x" / "report" / "explorer").rglob("*.js")]
    assert "delta['down'].a is no number" in json.dumps(explored)
    assert "never.Never is left out" in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.slow
def test_an_editor_that_never_gives_numbers_alone(trained, here, capsys):
    runs = copied(trained, here)
    assert edit.main([write(here, "Nan", ALL), *at(runs), "--cases.count", "3"]) == 2
    assert "every edit left a model whose answers are not numbers" in complaint(capsys)
    assert report.main(at(runs)) == 2
    assert "gave numbers" in complaint(capsys)


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
def test_sequences_that_lose_their_numbers(trained, here, capsys):
    runs = copied(trained, here)
    options = ["--cases.count", "8", "--sequential", "4", "--batch-edits", "1"]
    editor = write(here, "Fades", SOME)
    assert edit.main([editor, *at(runs), *options]) == 0
    assert "of 8 edits of fades:Fades gave no numbers" in capsys.readouterr().out
    assert report.main(at(runs)) == 0
