"""Versions of what makes numbers: figures of fixed runs stand in versions_frozen.json, beside their versions.

Whoever changes a figure raises the version of what came to it, where that is declared (see
`testbed.engine.versions`), and then runs

    python -m tests.test_versions

which writes the figures of what was raised or is new, and of nothing else.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import bayes
import corpus
import lm
import testbed.engine
from corpus.files import hash_content
from testbed.engine.catalogue import editor_entries
from testbed.engine.questions import Questions
from testbed.evaluations.catalogue import evaluation_classes
from testbed.evaluations.hase import Hase
from testbed.evaluations.leme import Leme
from testbed.evaluations.seesaw import Seesaw
from testbed.evaluations.taxi import Taxi
from testbed.pages.page import describe_versions
from testbed.run.agents import agent_named
from testbed.scores.summary import measure_reader
from testbed.scores.versions import select_versions, version_of_metric
from tests.edited import hase_cases
from tests.frozen import find_edit_figures, make_fixed_toy
from tests.random_answers import HASE, draw_answers, flat
from tests.test_editors import EDITORS, SELDOM
from tests.test_seesaw import answer_at_random
from tests.test_taxi import random_results
from tests.worlds import make_coupled, make_people, make_taxonomy, make_world

FROZEN = Path(__file__).with_name("versions_frozen.json")
COUNT = 6
"""Cases of each evaluation."""
FROZEN_EDITORS = [name for name in EDITORS if name in editor_entries()]
CLOSE = {"rel": 1e-4, "abs": 1e-4}
"""Of figures that a model came to, on any processor; others differ by rounding alone."""


@pytest.fixture(scope="module")
def fixed():
    return make_fixed_toy()


def hash_text(world):
    """A hash of everything that a corpus says."""
    language, count = world.tokenizer.language, len(world.sentences.kind)
    return hash_content([language.render(world.sentences[i]) for i in range(count)])


def add_answers(toy):
    """A number for each kind of answer that the unedited model gives to Hase's questions."""
    cases = hase_cases(toy.world, agent_named("paper", toy.world), COUNT)
    answers = Questions(toy.world, toy.model, cases).answers_before(np.arange(COUNT)[:, None])
    return [
        1000 * float(np.ravel(x) @ np.cos(np.arange(x.size)))
        for x in (answers.ended, answers.begun, answers.claims)
    ]


def describe_cases(cases):
    """A hash of what is edited and asked, whatever the agent believes of it."""
    return hash_content([
        [
            [*map(int, case.requested_fact)], int(case.truth), [p.role for p in case.passages],
            [[c.role, int(c.subject), int(c.relation)] for c in case.choices],
            [[c.role, c.sentence] for c in case.claims],
        ]
        for case in cases
    ])  # fmt: skip


def add_beliefs(cases):
    """One number for all that an agent believes of the cases, before and after; who differs has another."""
    return sum(
        float(np.asarray(c.agent) @ (1 + np.asarray(c.options) % 7) @ np.arange(1, len(c.agent) + 1))
        for case in cases
        for c in case.choices
    )


def add_metrics(evaluation, results):
    """By metric, one number for its values of all readers over all cases."""
    totals = {}
    for weight, reader in enumerate(evaluation.readers(results, "x").values(), start=1):
        for name, metric in measure_reader(evaluation, results, reader).items():
            cases = np.arange(1, len(metric.numerator) + 1)
            both = np.nan_to_num(metric.numerator) + 0.1 * metric.denominator
            totals[name] = totals.get(name, 0.0) + weight * float(both @ cases)
    return totals


def find_figures():
    """By kind and name, the figures of today's code on the fixed runs."""
    world = make_world()
    cases = {"hase": hase_cases(world, agent_named("paper", world), COUNT)}
    seesaw = Seesaw(others=6, samples=1)
    cases["taxi"] = list(Taxi().make_cases(*make_taxonomy(), COUNT, 0.95, 0))
    cases["seesaw"] = list(seesaw.make_cases(*make_people(), COUNT, 0.95, 0))
    cases["leme"] = list(
        Leme(samples=2, longest=40).make_cases(*make_coupled(pairs=16, objects=4), COUNT, 0.95, 0)
    )
    metrics = {
        "hase": add_metrics(HASE, flat(draw_answers(0))),
        "taxi": add_metrics(Taxi(), random_results(cases["taxi"])),
        "seesaw": add_metrics(Seesaw(), answer_at_random(cases["seesaw"], np.random.default_rng(0))),
    }
    exact = sum(add_beliefs(cases[name]) for name in ("taxi", "seesaw", "leme"))
    return {
        "corpus": {"built-in": hash_text(world), "taxonomy": hash_text(make_taxonomy()[0])},
        "asking": {"unedited": add_answers(make_fixed_toy())},
        "agents": {"paper": add_beliefs(cases["hase"]), "exact": exact},
        "evaluations": {name: describe_cases(of) for name, of in cases.items()},
        **{f"metrics of {name}": of for name, of in metrics.items()},
    }


def version_now(kind, name):
    """The version that a figure depends on, or all of them, its own last."""
    if kind.startswith("metrics of "):
        metrics = evaluation_classes()[kind.removeprefix("metrics of ")]().metrics
        return next(metric.version for metric in metrics if metric.id == name)
    if kind == "editors":
        return [lm.VERSION, testbed.engine.VERSION, editor_entries()[name].version]
    if kind == "evaluations":
        return evaluation_classes()[name].version
    if kind == "agents":
        return bayes.VERSIONS[name]
    return {"corpus": corpus.VERSION, "asking": [lm.VERSION, testbed.engine.VERSION]}[kind]


def is_same(old, new):
    if isinstance(old, list):
        return new == pytest.approx(old, **CLOSE)
    return new == pytest.approx(old, rel=1e-6, abs=1e-9) if isinstance(old, float) else new == old


def list_changes(frozen, figures, version_of=version_now):
    """What differs from what was frozen under the same version, or has gone, in words."""
    for kind, of in frozen.items():
        for name, then in of.items():
            if name not in figures.get(kind, {}):
                yield f"{kind}: {name} is gone; take it out of {FROZEN.name}"
            elif version_of(kind, name) != then["version"]:
                yield f"{kind}: {name} has a new version; run python -m tests.test_versions"
            elif not is_same(then["figure"], figures[kind][name]):
                yield f"{kind}: {name} comes to something else; raise its version"
    for kind, of in figures.items():
        for name in of.keys() - frozen.get(kind, {}).keys():
            yield f"{kind}: {name} is new; run python -m tests.test_versions"


def read_frozen():
    return json.loads(FROZEN.read_text(encoding="utf-8"))


def test_no_figure_changes_without_its_version():
    frozen = read_frozen()
    assert sorted(frozen.pop("editors")) == sorted(FROZEN_EDITORS)
    changes = list(list_changes(frozen, find_figures()))
    assert not changes, "\n".join(changes)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SELDOM else n for n in FROZEN_EDITORS]
)
def test_no_editor_comes_to_another_edit_without_its_version(name, fixed):
    frozen = {"editors": {name: read_frozen()["editors"][name]}}
    changes = list(list_changes(frozen, {"editors": {name: find_edit_figures(EDITORS[name], fixed)}}))
    assert not changes, "\n".join(changes)


def test_a_change_is_noticed_and_a_raised_version_is_not_forgotten():
    frozen = {"metrics of hase": {"damage": {"version": 1, "figure": 2.0}}}
    figures = {"metrics of hase": {"damage": 2.0}}
    assert not [*list_changes(frozen, figures)]
    figures["metrics of hase"]["damage"] = 2.001
    assert "comes to something else" in next(list_changes(frozen, figures))
    assert "has a new version" in next(list_changes(frozen, figures, lambda *_: 2))
    assert "is gone" in next(list_changes(frozen, {}))
    assert "is new" in next(list_changes({}, figures))


def test_versions_in_words_and_of_a_users_own():
    class Mine(Hase):
        pass

    assert describe_versions("hase", Hase(), "exact") == "evaluation hase, version 1; agent exact, version 1"
    assert describe_versions("my_module:Mine", Mine(), "exact") == "agent exact, version 1"
    assert version_of_metric(Hase(), Hase().metrics[0]) == 1
    assert version_of_metric(Mine(), Mine().metrics[0]) == 0
    assert select_versions({"hase": Hase()}, []) == {
        "agents": {}, "evaluations": {"hase": 1}, "metrics": {"hase": {"skill.recalibrated": 2}}
    }  # fmt: skip
    raised = {"old_stereotype_excess": 2, "stereotype_excess": 2, "success": 2}
    assert select_versions({"seesaw": Seesaw()}, [])["metrics"] == {"seesaw": raised}


def shorten(figure):
    """Nine digits of a number, which is more than is compared."""
    if isinstance(figure, list):
        return [shorten(one) for one in figure]
    return float(f"{figure:.9g}") if isinstance(figure, float) else figure


def freeze():
    """Write figures of what is new or has another version than was frozen; leave all else."""
    frozen, fixed = read_frozen(), make_fixed_toy()
    editors = {name: find_edit_figures(EDITORS[name], fixed) for name in FROZEN_EDITORS}
    for kind, of in (find_figures() | {"editors": editors}).items():
        for name, figure in of.items():
            then = frozen.setdefault(kind, {}).get(name)
            if then is None or then["version"] != version_now(kind, name):
                frozen[kind][name] = {"version": version_now(kind, name), "figure": shorten(figure)}
    kinds = []
    for kind, of in frozen.items():
        lines = [f"  {json.dumps(name, ensure_ascii=False)}: {json.dumps(of[name])}" for name in of]
        kinds.append(f" {json.dumps(kind)}: {{\n" + ",\n".join(lines) + "\n }")
    FROZEN.write_text("{\n" + ",\n".join(kinds) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    freeze()
