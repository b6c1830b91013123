"""The paper's agent against posteriors computed outside this project (to 1e-9)."""

import json
from pathlib import Path

import numpy as np
import pytest

from bayes.paper import Evidence, fit_paper
from bayes.request import EditRequest
from corpus.graph import NO_UPSTREAM

GOLDEN = Path(__file__).parents[2] / "shared" / "golden" / "paper_agent.json"
pytestmark = pytest.mark.skipif(not GOLDEN.exists(), reason="the golden posteriors are not here")


@pytest.fixture(scope="module")
def golden():
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def world(golden):
    subjects = sorted({row[1] for row in golden["evidence"]})
    ids = {name: i for i, name in enumerate([*golden["objects"], *subjects])}
    relations = {name: i for i, name in enumerate(golden["relations"])}
    weight, s, r, o = zip(*golden["evidence"], strict=True)
    upstream = np.full(len(relations), NO_UPSTREAM)
    for down, up in golden["upstream"].items():
        upstream[relations[down]] = relations[up]
    evidence = Evidence(
        np.array(weight), np.array([ids[x] for x in s]), np.array([relations[x] for x in r]),
        np.array([ids[x] for x in o]),
    )  # fmt: skip
    agent = fit_paper(
        evidence,
        upstream,
        len(ids),
        np.arange(len(golden["objects"])),
        golden["prior_mass"],
        golden["evidence_multiplicity"],
    )
    return agent, ids, relations


def assert_beliefs(agent, beliefs, ids, relations, size):
    objects = np.arange(size)
    for key, expected in beliefs.items():
        subject, relation = key.split("|")
        s, r = ids[subject], relations[relation]
        np.testing.assert_allclose(
            agent.probability(s, r, objects, "direct"), expected["direct"], rtol=0, atol=1e-9
        )
        best = expected.get("marginal", expected["direct"])
        np.testing.assert_allclose(agent.probability(s, r, objects), best, rtol=0, atol=1e-9)


def test_beliefs_before_any_edit(golden, world):
    agent, ids, relations = world
    assert_beliefs(agent, golden["before"], ids, relations, len(golden["objects"]))


def test_shared_tables(golden, world):
    agent, ids, relations = world
    objects = np.arange(len(golden["objects"]))
    for relation, rows in golden["conditionals_before"].items():
        for up, expected in rows.items():
            got = agent.conditional(relations[relation], ids[up]).of(objects)
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("index", range(14))
def test_edits(golden, world, index):
    agent, ids, relations = world
    edit = golden["edits"][index]
    s, r, o = ids[edit["subject"]], relations[edit["relation"]], ids[edit["object"]]
    assert agent.weight_for(s, r, o, edit["target"]) == pytest.approx(edit["n_prime"], abs=1e-9)
    for after in edit["after"].values():
        edited = agent.with_edit(EditRequest(s, r, o, after["weight"]))
        assert_beliefs(edited, after["beliefs"], ids, relations, len(golden["objects"]))
    assert_beliefs(agent, golden["before"], ids, relations, len(golden["objects"]))
