"""Versions of what scores mean: figures of fixed runs stand in versions_frozen.json, beside their versions.

Whoever changes what a figure is raises its version in testbed/scores/versions.json, and then runs

    python -m tests.test_versions

which writes the figures of what was raised or is new, and of nothing else.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from corpus.files import hash_content
from testbed.evaluations.leme import Leme
from testbed.evaluations.seesaw import Seesaw
from testbed.evaluations.taxi import Taxi
from testbed.run.agents import agent_named
from testbed.scores.summary import measure_reader
from testbed.scores.versions import (
    describe_versions,
    read_versions,
    select_versions,
    version_of_metric,
)
from tests.edited import hase_cases
from tests.random_answers import HASE, draw_answers, flat
from tests.test_seesaw import answer_at_random
from tests.test_taxi import random_results
from tests.worlds import make_coupled, make_people, make_taxonomy, make_world

FROZEN = Path(__file__).with_name("versions_frozen.json")
COUNT = 6
"""Cases of each evaluation."""


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
        "agents": {"paper": add_beliefs(cases["hase"]), "exact": exact},
        "evaluations": {name: describe_cases(of) for name, of in cases.items()},
        **{f"metrics of {name}": of for name, of in metrics.items()},
    }


def version_now(kind, name):
    if kind.startswith("metrics of "):
        return version_of_metric(kind.removeprefix("metrics of "), name)
    return read_versions()[kind][name]


def is_same(old, new):
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
                yield f"{kind}: {name} means something else; raise its version in versions.json"
    for kind, of in figures.items():
        for name in of.keys() - frozen.get(kind, {}).keys():
            yield f"{kind}: {name} is new; run python -m tests.test_versions"


def test_no_figure_changes_without_its_version():
    changes = list(list_changes(json.loads(FROZEN.read_text(encoding="utf-8")), find_figures()))
    assert not changes, "\n".join(changes)


def test_a_change_is_noticed_and_a_raised_version_is_not_forgotten():
    frozen = {"metrics of hase": {"damage": {"version": 1, "figure": 2.0}}}
    figures = {"metrics of hase": {"damage": 2.0}}
    assert not [*list_changes(frozen, figures)]
    figures["metrics of hase"]["damage"] = 2.001
    assert "means something else" in next(list_changes(frozen, figures))
    assert "has a new version" in next(list_changes(frozen, figures, lambda *_: 2))
    assert "is gone" in next(list_changes(frozen, {}))
    assert "is new" in next(list_changes({}, figures))


def test_versions_in_words_and_of_a_users_own():
    assert describe_versions("hase", "exact") == "evaluation hase, version 1; agent exact, version 1"
    assert describe_versions("my_module:Mine", "exact") == "agent exact, version 1"
    assert version_of_metric("hase", "damage") >= 1
    assert version_of_metric("my_module:Mine", "damage") is None
    assert select_versions(["hase"], []) == {
        "agents": {}, "evaluations": {"hase": 1}, "metrics": {"hase": read_versions()["metrics"]["hase"]}
    }  # fmt: skip


def freeze():
    """Write figures of what is new or has another version than was frozen; leave all else."""
    frozen = json.loads(FROZEN.read_text(encoding="utf-8")) if FROZEN.exists() else {}
    for kind, of in find_figures().items():
        for name, figure in of.items():
            then = frozen.setdefault(kind, {}).get(name)
            if then is None or then["version"] != version_now(kind, name):
                short = float(f"{figure:.9g}") if isinstance(figure, float) else figure
                frozen[kind][name] = {"version": version_now(kind, name), "figure": short}
    lines = json.dumps(frozen, indent=1, ensure_ascii=False).replace("{\n   ", "{").replace("\n  }", "}")
    FROZEN.write_text(lines.replace(",\n   ", ", ") + "\n", encoding="utf-8")


if __name__ == "__main__":
    freeze()
