"""Every metric of Hase's evaluation again, from the Parquet files, each in a few lines of plain Python."""

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.optimize import linprog

from testbed.evaluations.dutch_book import LOGIC
from testbed.evaluations.hase.metrics import (
    DAMAGE,
    METRICS,
    MUST_CHANGE,
    MUST_STAY,
    PLACE_NAMES,
    SKILL,
    SKILL_RECALIBRATED,
    SPILL,
)
from testbed.run.agents import paper_agent
from testbed.scores.metric import labels_of
from testbed.scores.readers import BAYESIAN, PERFECT
from testbed.scores.summary import summarise_results
from testbed.scores.temperature import temper
from tests.edited import HASE, hase_cases
from tests.forks import fork_world, write_random_answers

TEMPERATURE = 1.7
"""Of the unedited model in the reference that is recalibrated."""
SPOT = ("spot.r1", "spot.effect", "spot.any", "spot.own")
GROUPS = {
    "s2": ("old.r1", "old.r2", "new.r1", "new.r2", "random.r1", "random.r2"),
    "others": SPOT[:3],
    "own questions": ("s1r2", "other child", "grandchild", "s1r0", "sibling", "s1rx"),
}
LABELS = labels_of(METRICS)
KIN = {
    LABELS[name]: (role, change)
    for names, change in ((MUST_CHANGE, True), (MUST_STAY, False))
    for role, name in names.items()
}
"""By the metric's label the role, and whether its answers must change."""


def split_name(name):
    """Kind and place of a metric that is measured at one."""
    if name == "others' facts kept":
        return "right", "others"
    kind, _, place = name.partition(": ")
    return kind, {called: place for place, called in PLACE_NAMES.items()}.get(place, place)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("forked")


@pytest.fixture(scope="module")
def results(folder):
    world = fork_world()
    cases = hase_cases(world, paper_agent(world), 100, sampler="published", reinforce=0.2)
    results = write_random_answers(world, list(map(swayed, cases, range(len(cases)))), folder)
    recalibrated = temper(results.choices.lm[:, 0], TEMPERATURE)
    return replace(results, recalibrated=np.stack([recalibrated] * 2, axis=1))


def swayed(case, seed):
    """The case with an agent that changes its mind about whatever is asked, half of the time."""
    rng, choices = np.random.default_rng(seed), []
    for choice in case.choices:
        n = len(choice.options)
        after = 0.9 * rng.dirichlet(np.full(n, 0.3)) if rng.random() < 0.5 else choice.agent[1]
        answer = choice.options[after.argmax()]
        changed = {
            "agent": np.stack([choice.agent[0], after]),
            "answer": np.array([choice.answer[0], answer]),
        }
        choices.append(choice._replace(**changed))
    return case._replace(choices=tuple(choices))


@pytest.fixture(scope="module")
def rows(results, folder):
    """The three tables as lists of dictionaries, each question with its case."""
    tables = {t: pq.read_table(folder / f"{t}.parquet").to_pylist() for t in ("cases", "choices", "claims")}
    by_number = {case["case"]: case for case in tables["cases"]}
    for question in (*tables["choices"], *tables["claims"]):
        question["of"] = by_number[question["case"]]
    return tables


@pytest.fixture(scope="module")
def found(results):
    return HASE.measure(results, HASE.readers(results, "x")["x"])


def full(p):
    return [*p, max(0.0, 1 - sum(p))]


def tv(p, q):
    return sum(abs(a - b) for a, b in zip(full(p), full(q), strict=True)) / 2


def kl(p, q):
    return sum(a * math.log(a / max(b, 1e-12)) for a, b in zip(p, q, strict=True) if a > 0)


def js(p, q):
    middle = [(a + b) / 2 for a, b in zip(full(p), full(q), strict=True)]
    return (kl(full(p), middle) + kl(full(q), middle)) / 2


def good(row, answer, when):
    """Whether the agent finds an answer as probable as its own."""
    p = dict(zip(row["options"], row[f"agent_{when}"], strict=True))
    own = row[f"agent_answer_{when}"]
    return answer == own or p.get(answer, 0) >= p.get(own, 0) * (1 - 1e-9)


def must(row):
    return not good(row, row["agent_answer_before"], "evidence")


def right(row):
    return good(row, row["lm_answer_after"], "evidence")


def changed(row):
    before, after = row["lm_answer_before"], row["lm_answer_after"]
    return before != after and not (right(row) and good(row, before, "evidence"))


def at(rows, place):
    """The choices at a place; s1r2 only where it depends on the request."""
    roles = GROUPS.get(place, (place,))
    return [r for r in rows["choices"] if r["role"] in roles and (place != "s1r2" or r["of"]["child"])]


def moves(row):
    """Changes of the agent and of the model, and the model's distance to the agent's new belief, twice."""
    q0, q1, p0, p1 = (full(row[k]) for k in ("agent_before", "agent_evidence", "lm_before", "lm_after"))
    dq, dp = ([b - a for a, b in zip(*pair, strict=True)] for pair in ((q0, q1), (p0, p1)))
    return dq, dp, *(tv(row[k], row["agent_evidence"]) for k in ("lm_before", "lm_after"))


def elsewhere(rows, moved, roles=None):
    """Movements of choices, where the agent moved or where it did not.

    Without roles, of all but the request's own and spot checks.
    """
    every = [
        moves(r)
        for r in rows["choices"]
        if (r["role"] in roles if roles else r["role"] not in ("s1r1", *SPOT))
    ]
    return [m for m in every if moved is None or (sum(map(abs, m[0])) > 0.02) == moved]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else math.nan


def twin_of_success(rows, _):
    return mean(r["lm_answer_after"] == r["of"]["object"] for r in at(rows, "s1r1"))


def twin_of_kin(rows, name):
    kin, has_to = KIN[name.removesuffix(", right before")]
    asked = [r for r in at(rows, kin) if must(r) == has_to]
    if name.endswith("right before"):
        asked = [r for r in asked if good(r, r["lm_answer_before"], "before")]
    return mean(right(r) for r in asked)


def twin_of_selective(rows, _):
    child = at(rows, "s1r2")
    hits = sum(must(r) and right(r) and changed(r) for r in child)
    missed = sum(must(r) and not (right(r) and changed(r)) for r in child)
    false = sum(changed(r) and not must(r) for r in child)
    return 2 * hits / (2 * hits + missed + false)


def twin_of_ratio(rows, _):
    movements = elsewhere(rows, moved=True)
    return sum(dot(dp, dq) for dq, dp, *_ in movements) / sum(dot(dq, dq) for dq, *_ in movements)


def twin_of_orthogonal(rows, _):
    top = 0.0
    movements = elsewhere(rows, moved=True)
    for dq, dp, *_ in movements:
        part = dot(dp, dq) / dot(dq, dq)
        aside = [x - part * y for x, y in zip(dp, dq, strict=True)]
        top += math.sqrt(dot(aside, aside) * dot(dq, dq))
    return top / sum(dot(dq, dq) for dq, *_ in movements)


def twin_of_harm(rows, name):
    kind, place = split_name(name)
    movements = elsewhere(
        rows, None if kind == "damage" else False, GROUPS.get(place, (place,)) if place else SPOT
    )
    return mean(max(0, after - before) for *_, before, after in movements)


def twin_of_stray(rows, _):
    movements = elsewhere(rows, moved=False)
    return mean(sum(abs(a - b) for a, b in zip(dq, dp, strict=True)) / 2 for dq, dp, *_ in movements)


def twin_of_skill(rows, name):
    part = {"coherence gained": None, "coherence gained, moved": True, "coherence gained, still": False}
    movements = elsewhere(rows, None, SPOT) if name.endswith("spot checks") else elsewhere(rows, part[name])
    return 1 - sum(after for *_, after in movements) / sum(before for *_, before, _ in movements)


def temper_naively(p, temperature):
    weights = [x ** (1 / temperature) if x > 1e-9 else 0.0 for x in full(p)]
    return [x / sum(weights) for x in weights[:-1]]


def twin_of_recalibrated_skill(rows, _):
    """By hand: each stratum's temperature in the other half of the cases, on a dense grid."""
    by_group = defaultdict(list)
    for r in rows["choices"]:
        if r["role"] not in ("s1r1", *SPOT):
            by_group[r["case"] % 2, (r["stated"] > 0) + (r["stated"] > 3)].append(r)

    def distance(r, when, t):
        p = r[when] if t == 1 else temper_naively(r[when], t)
        return tv(p, r["agent_evidence"])

    sums = []
    for when in ("lm_before", "lm_after"):
        best = {
            group: min(
                (1, *np.geomspace(1 / 16, 16, 641)),
                key=lambda t, of=of: sum(distance(r, when, t) for r in of),
            )
            for group, of in by_group.items()
        }
        sums.append(
            sum(
                distance(r, when, best.get((1 - half, stratum), 1))
                for (half, stratum), of in by_group.items()
                for r in of
            )
        )
    return 1 - sums[1] / sums[0]


def twin_over_recalibrated(rows, name):
    kind, part = name.removesuffix(" over no edit, recalibrated"), None
    if ", " in kind:
        part = kind.endswith("moved")
    pairs = []
    for r in rows["choices"]:
        moved = sum(map(abs, moves(r)[0])) > 0.02
        counts = r["role"] in SPOT if kind == "damage" else r["role"] not in ("s1r1", *SPOT)
        if counts and part in (None, moved):
            floor = tv(temper_naively(r["lm_before"], TEMPERATURE), r["agent_evidence"])
            pairs.append((floor, tv(r["lm_after"], r["agent_evidence"])))
    if kind == "damage":
        return mean(max(0, after - floor) for floor, after in pairs)
    return 1 - sum(after for _, after in pairs) / sum(floor for floor, _ in pairs)


def twin_of_false_change(rows, name):
    return mean(changed(r) for r in at(rows, split_name(name)[1]) if not must(r))


def twin_at_a_place(rows, name):
    kind, place = split_name(name)
    asked = at(rows, place)
    if kind == "right":
        return mean(right(r) for r in asked)
    if kind == "KL":
        return mean(kl(full(r["agent_evidence"]), full(r["lm_after"])) for r in asked)
    return mean({"TV": tv, "JS": js}[kind](r["lm_after"], r["agent_evidence"]) for r in asked)


def twin_of_error(rows, name):
    what = name.removeprefix("error of ")
    place = {"request": "s1r1", "old truth": "s1r1", "neighbours": "s2"}.get(what, "s1r2")
    gaps = []
    for r in at(rows, place):
        new, old = r["agent_answer_evidence"], r["agent_answer_before"]
        named = {"request": r["of"]["object"], "old truth": r["of"]["truth"], "new consequence": new}.get(
            what, old
        )
        beliefs = zip(r["options"], r["lm_after"], r["agent_evidence"], strict=True)
        gaps += [abs(p - q) for o, p, q in beliefs if o == named]
    return mean(gaps)


def twin_of_logic(rows, name):
    said = defaultdict(dict)
    for r in rows["claims"]:
        said[r["case"]][r["role"]] = r["true_after"], r["false_after"]
    stated = {r["case"]: dict(zip(r["options"], r["lm_after"], strict=True)) for r in at(rows, "s1r1")}
    gaps = []
    for case in rows["cases"]:
        told = said[case["case"]]
        p = {claim: true for claim, (true, _) in told.items()}
        a, b, both, either = p["A"], p["B"], p["A and B"], p["A or B"]
        gaps.append({
            "logic TF": a - stated[case["case"]][case["object"]],
            "logic not": p["not A"] - (1 - a),
            "logic and": both - a * b,
            "logic or": either - (a + b - a * b),
            "logic commute": both - p["B and A"],
            "logic not B": p["not B"] - (1 - b),
            "logic B or A": p["B or A"] - (a + b - a * b),
            "logic sum": sum(map(sum, told.values())) / len(told) - 1,
        }[name])  # fmt: skip
    return mean(map(abs, gaps))


def twin_of_gained(rows, _):
    return mean(right(r) - good(r, r["lm_answer_before"], "evidence") for r in at(rows, "s1r2"))


def twin_of_dutch_book(rows, name):
    """The distance, in the largest difference, to prices that some joint distribution of A and B has."""
    holds = {"A": (1, 1, 0, 0), "B": (1, 0, 1, 0), "A and B": (1, 0, 0, 0), "A or B": (1, 1, 1, 0)}
    holds |= {"B and A": holds["A and B"], "B or A": holds["A or B"]}
    holds |= {f"not {x}": [1 - h for h in holds[x]] for x in ("A", "B")}
    tickets = [(r["case"], holds[r["role"]], r["true_after"]) for r in rows["claims"]]
    tickets += [(r["case"], [1 - h for h in holds[r["role"]]], r["false_after"]) for r in rows["claims"]]
    if name.endswith("the answer"):
        for r in at(rows, "s1r1"):
            answer = dict(zip(r["options"], r["lm_after"], strict=True))[r["of"]["object"]]
            tickets.append((r["case"], holds["A"], answer))
    by_case = defaultdict(list)
    for case, line, price in tickets:
        by_case[case] += [([*line, -1], price), ([*(-x for x in line), -1], -price)]
    return mean(
        linprog([0, 0, 0, 0, 1], *zip(*lines, strict=True), [[1, 1, 1, 1, 0]], [1]).fun
        for lines in by_case.values()
    )


def twin_of_truth_values(rows, _):
    return mean(
        tv((r["true_after"], r["false_after"]), (r["agent_evidence"], 1 - r["agent_evidence"]))
        for r in rows["claims"]
    )


TWINS = {
    "edit success": twin_of_success,
    "selective propagation": twin_of_selective,
    "propagation ratio": twin_of_ratio,
    "orthogonal movement": twin_of_orthogonal,
    "damage": twin_of_harm,
    "spill": twin_of_harm,
    "stray movement": twin_of_stray,
    "coherence gained": twin_of_skill,
    "falsely changed": twin_of_false_change,
    "error of": twin_of_error,
    "consequences gained": twin_of_gained,
    "logic": twin_of_logic,
    "Dutch book loss": twin_of_dutch_book,
    "truth values": twin_of_truth_values,
}


def twin_of(name):
    if name.removesuffix(", right before") in KIN:
        return twin_of_kin
    if name.endswith("over no edit, recalibrated"):
        return twin_over_recalibrated
    if name == LABELS[SKILL_RECALIBRATED]:
        return twin_of_recalibrated_skill
    return next((twin for start, twin in TWINS.items() if name.startswith(start)), twin_at_a_place)


ELSEWHERE = ("other_side", "same_set", "replaced", "set.")
"""In names of metrics of inverses and sets, which this world has not: test_reversals, test_sets."""


@pytest.mark.parametrize("metric", [name for name in LABELS if not any(word in name for word in ELSEWHERE)])
def test_the_parquet_files_give_the_same_number(metric, rows, found):
    assert found[metric].denominator.sum() > 0, "the twin has something to say"
    # Roots of what is left by rounding are not nothing.
    off = 0.02 if metric == SKILL_RECALIBRATED else 1e-7 if metric.endswith("recalibrated") else 1e-9
    name = LABELS[metric]
    assert found[metric].value() == pytest.approx(twin_of(name)(rows, name), abs=off)


def test_who_becomes_the_agent_does_no_harm_in_any_part(results):
    """Perfect revision and the Bayesian reader: damage 0 and skill 1, whatever the part of the cases."""
    seen = 0
    for of, estimate in summarise_results(HASE, results, "x", {}).where(reader=[PERFECT, BAYESIAN]).rows():
        name = of["metric"]
        if name in (DAMAGE, SPILL) or name.startswith(SKILL):
            seen += estimate.cases > 0
            ideal = 1 if name.startswith(SKILL) else 0
            assert not estimate.cases or estimate.value == pytest.approx(ideal, abs=1e-12), of
    assert seen > 50


def test_claims_are_those_of_the_evaluation(rows):
    assert {r["role"] for r in rows["claims"]} == set(LOGIC)
