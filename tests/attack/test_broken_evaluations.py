"""Evaluations of others that are wrong: a message that names the mistake, and never another number."""

import pytest

from testbed import edit, report
from tests.runs import EDITS, ROOT, at, complaint, copied

EXAMPLE = (ROOT / "experiments" / "examples" / "my_evaluation.py").read_text(encoding="utf-8")
COMPUTE = 'a.mean_over(a.is_right, a.has_role("neighbour"))'
METRIC = "from testbed.scores.metric import Metric\n"
CASES = "rng.choice(shared, count, replace=count > len(shared))"
# Name: what is replaced by what, and the message.
BROKEN = {
    "TwoNames": ('"neighbours right"', '"edit success"', "2 metrics are called 'edit success'"),
    "TakenFacet": ("new_holders", "object", "cases have a column 'object' already"),
    "BetterUp": ('agent\'s.", "high"', 'agent\'s.", "up"', "is better 'up'; say one of high, low, one"),
    "PlaceOdd": ('"low", "compared"', '"low", "top"', "is shown in 'top'"),
    "NoHeadline": ('"headline"', '"table"', "it has no headline"),
    "Raises": (COMPUTE, "1 / 0", "ZeroDivisionError: division by zero ("),
    "Short": (COMPUTE, "Metric(np.ones(2), np.ones(2))", "should have two numbers for each of 6 cases"),
    "NoCases": (CASES, "np.zeros(0, int)", "makes 0 cases where 6 are wanted"),
    "TooMany": (CASES, "np.repeat(shared[:3], 3)", "makes 9 cases where 6 are wanted"),
    "Unseeded": ('kit.generator(seed, "my evaluation")', "np.random.default_rng()", "other cases each time"),
    "NoAll": ('"all": np.ones(len(held), bool), ', "", "should give bool[6] for 'all'; it has nothing"),
    "BadMask": ("object\": held}", "object\": held[:2]}", "it has shape (2,)"),
}  # fmt: skip
QUICK = ("TwoNames", "TakenFacet", "Unseeded")


def write(folder, name, old, new):
    assert old in EXAMPLE
    text = METRIC + EXAMPLE.replace(old, new).replace("class MyEvaluation", f"class {name}")
    (folder / f"{name.lower()}.py").write_text(text, encoding="utf-8")
    return f"{name.lower()}:{name}"


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in BROKEN]
)
def test_a_mistake_of_an_evaluation_is_named(name, trained, here, capsys):
    """Before, two changed numbers untold and one mixed cases; most others ended in tracebacks."""
    old, new, message = BROKEN[name]
    runs, evaluation = copied(trained, here), write(here, name, old, new)
    options = ["--evaluation", evaluation, *EDITS, "--cases.count", "6"]
    assert edit.main(["lora-down", *at(runs), *options]) == 2
    assert message in complaint(capsys)


@pytest.mark.slow
@pytest.mark.usefixtures("blank_pictures")
def test_a_metric_that_no_editor_has_is_left_out(trained, here, capsys):
    runs, evaluation = copied(trained, here), write(here, "Silent", COMPUTE, "None")
    assert edit.main(["lora-down", *at(runs), "--evaluation", evaluation, *EDITS]) == 0
    assert report.main([*at(runs), "--evaluation", evaluation]) == 0
