"""How close an edited model comes to the agent, and to the axioms of probability (DESIGN 6)."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.dutch_book import sure_loss
from testbed.evaluations.hase.layout import by_claim, rows_of
from testbed.evaluations.hase.meanings import (
    CHANGING,
    FOLLOWS_RIGHT,
    MUST_CHANGE,
    MUST_STAY,
    PLACES,
    SUCCESS,
)
from testbed.evaluations.hase.movement import movement
from testbed.evaluations.hase.roles import CHILD, KIN, REQUEST
from testbed.scores.answers import as_good, must_change
from testbed.scores.distances import jensen_shannon, kullback_leibler, total_variation
from testbed.scores.metric import Metric, by_case, mean
from testbed.scores.readers import Reader


def measure(results: Results, reader: Reader) -> dict[str, Metric]:
    """Every metric of one reader, by name.

    At each of PLACES: "answer", whether the answer is as good as the agent's (`as_good`); "TV", "JS" and
    "KL", how far the distribution is from the agent's. s1r2 counts where it depends on s1r1. "must change"
    and "must stay" are the answers of KIN by whether the agent's answer before the edit is none of its best
    after it, or still one; "right before", those of s1r2 that must change where the reader's answer before
    the edit was one of the agent's best before it. "error" is |p - q| of one object, the same before and
    after: the request, the truth that it may contradict, the agent's new and old answer to s1r2, its old
    answers about other subjects. Movement is in `movement`, changes in `_changes`, logic in `_logic`.
    """
    c, cases = results.choices, results.cases
    gold = c.agent[:, reader.time]
    asked = _asked(results)
    at = {place: asked & np.isin(c.role, roles) for place, roles in PLACES.items()}
    right, changes = as_good(c, reader.answer, reader.time), must_change(c)
    knew = as_good(c, reader.start_answer, 0)

    def over(values: np.ndarray, among: np.ndarray) -> Metric:
        return by_case(values, c.case, len(results), among)

    def error(obj: np.ndarray, place: str) -> Metric:
        """|p - q| of one object of each choice at a place, int[N]."""
        here = np.flatnonzero(at[place])
        named = c.options[here] == obj[here, None]
        gap = np.abs(reader.probability[here] - gold[here]).sum(-1, where=named)
        return by_case(gap, c.case[here], len(results), named.any(-1))

    metrics: dict[str, Metric] = {}
    if reader.time:
        metrics[SUCCESS] = over(reader.answer == cases["object"][c.case], at[REQUEST])
    for role in KIN:
        metrics[MUST_CHANGE[role]] = over(right, at[role] & changes)
        metrics[MUST_STAY[role]] = over(right, at[role] & ~changes)
    metrics |= {
        FOLLOWS_RIGHT: over(right, at[CHILD] & changes & knew),
        "error of request": error(cases["object"][c.case], REQUEST),
        "error of old truth": error(cases["truth"][c.case], REQUEST),
        "error of new s1r2": error(c.agent_answer[:, 1], CHILD),
        "error of old s1r2": error(c.agent_answer[:, 0], CHILD),
        "error of s2": error(c.agent_answer[:, 0], "s2"),
    }
    for name, values in (
        ("answer", right),
        ("TV", total_variation(reader.probability, gold)),
        ("JS", jensen_shannon(reader.probability, gold)),
        ("KL", kullback_leibler(gold, reader.probability)),
    ):
        metrics |= {f"{name} {place}": over(values, among) for place, among in at.items()}
    if reader.time:
        metrics |= _changes(results, reader, at) | movement(results, reader)
    return metrics | _logic(results, reader)


def _asked(results: Results) -> np.ndarray:
    """bool[N]: all choices but s1r2 where it does not depend on s1r1."""
    c = results.choices
    return (c.role != CHILD) | results.cases["child"][c.case]


def _changes(results: Results, reader: Reader, at: dict[str, np.ndarray]) -> dict[str, Metric]:
    """Which answers changed, beside which of the agent's did.

    Selective propagation is the F1 score 2 TP / (2 TP + FP + FN) over dependent answers s1r2. TP: both
    changed, to the same answer. FN: the agent's changed and the reader's did not follow. FP: the reader's
    changed, to whatever, though the agent's did not. An edit that moves everything thus gains little over
    one that moves nothing. "false change" is the share of FP among the answers that must stay. From one
    to another answer that the agent finds the best is not a change.

    Args:
        at: bool[N] of the choices at each place.
    """
    c, size = results.choices, len(results)
    right, must = as_good(c, reader.answer, 1), must_change(c)
    changed = (reader.answer != reader.start_answer) & ~(right & as_good(c, reader.start_answer, 1))
    true, child = must & changed & right, at[CHILD]
    twice = 2 * np.bincount(c.case[child & true], minlength=size).astype(float)
    wrong = np.bincount(c.case[child & (must & ~true | ~must & changed)], minlength=size)
    metrics = {"selective propagation": Metric(twice, twice + wrong, share=True)}
    return metrics | {
        f"false change {place}": by_case(changed, c.case, size, at[place] & ~must) for place in CHANGING
    }


def _logic(results: Results, reader: Reader) -> dict[str, Metric]:
    """Residuals of the axioms of probability in the reader's own truth values (Hase A.5), and their price.

    "logic and" and "logic or" take A and B to be independent, as the corpus makes them; the Dutch-book loss
    asks for the laws of probability only, and of all eight statements together.
    """
    names = ("TF", "not", "and", "or", "commute", "sum", "not B", "B or A")
    if reader.claims is None:
        nothing = mean(np.zeros(len(results)), among=False)
        return dict.fromkeys([*(f"logic {name}" for name in names), "Dutch book loss"], nothing)
    c, request = results.choices, rows_of(results, REQUEST)
    requested = c.options[request] == results.cases["object"][:, None]
    stated = reader.probability[request].sum(-1, where=requested)
    said = by_claim(results, reader.claims)
    a, not_a, a_and_b, b_and_a, a_or_b, b, not_b, b_or_a = said[..., 0].T
    residuals = (
        a - stated,
        not_a - (1 - a),
        a_and_b - a * b,
        a_or_b - (a + b - a * b),
        a_and_b - b_and_a,
        said.sum(-1).mean(1) - 1,
        not_b - (1 - b),
        b_or_a - (a + b - a * b),
    )
    violations = {f"logic {n}": np.abs(r) for n, r in zip(names, residuals, strict=True)}
    violations["Dutch book loss"] = sure_loss(said)
    return {name: mean(values) for name, values in violations.items()}
