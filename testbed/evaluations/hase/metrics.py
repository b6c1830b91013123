"""How close an edited model comes to the agent, and to the axioms of probability (design.md 6)."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.dutch_book import sure_loss
from testbed.evaluations.hase.layout import claims_by_case, rows_of_role
from testbed.evaluations.hase.meanings import (
    FALSE_CHANGE_PLACES,
    FOLLOWS_RIGHT,
    MUST_CHANGE,
    MUST_STAY,
    PLACES,
    SUCCESS,
)
from testbed.evaluations.hase.movement import measure_movement
from testbed.evaluations.hase.roles import CHILD, KIN, REQUEST
from testbed.scores.answers import has_to_change, is_as_good
from testbed.scores.distances import jensen_shannon, kullback_leibler, total_variation
from testbed.scores.metric import Metric, mean_of, sum_by_case
from testbed.scores.readers import Reader


def measure_edit(results: Results, reader: Reader) -> dict[str, Metric]:
    """Every metric of one reader, by name.

    At each of PLACES: "answer", whether the answer is as good as the agent's (`as_good`); "TV", "JS" and
    "KL", how far the distribution is from the agent's. s1r2 counts where it depends on s1r1. "must change"
    and "must stay" are the answers of KIN by whether the agent's answer before the edit is none of its best
    after it, or still one; "right before", those of s1r2 that must change where the reader's answer before
    the edit was one of the agent's best before it. "error" is |p - q| of one object, the same before and
    after: the request, the truth that it may contradict, the agent's new and old answer to s1r2, its old
    answers about other subjects. Movement is in `movement`, changes in `_measure_changes`, logic in
    `_measure_logic`.
    """
    c, cases = results.choices, results.cases
    gold = c.agent[:, reader.time]
    questions = _is_asked(results)
    at = {place: questions & np.isin(c.role, roles) for place, roles in PLACES.items()}
    is_right, has_to_change_ = is_as_good(c, reader.answer, reader.time), has_to_change(c)
    was_right = is_as_good(c, reader.start_answer, 0)

    def sum_over(values: np.ndarray, among: np.ndarray) -> Metric:
        return sum_by_case(values, c.case, len(results), among)

    def object_error(obj: np.ndarray, place: str) -> Metric:
        """|p - q| of one object of each choice at a place, int[N]."""
        here = np.flatnonzero(at[place])
        named = c.options[here] == obj[here, None]
        gap = np.abs(reader.probability[here] - gold[here]).sum(-1, where=named)
        return sum_by_case(gap, c.case[here], len(results), named.any(-1))

    metrics: dict[str, Metric] = {}
    if reader.time:
        metrics[SUCCESS] = sum_over(reader.answer == cases["object"][c.case], at[REQUEST])
    for role in KIN:
        metrics[MUST_CHANGE[role]] = sum_over(is_right, at[role] & has_to_change_)
        metrics[MUST_STAY[role]] = sum_over(is_right, at[role] & ~has_to_change_)
    metrics |= {
        FOLLOWS_RIGHT: sum_over(is_right, at[CHILD] & has_to_change_ & was_right),
        "error of request": object_error(cases["object"][c.case], REQUEST),
        "error of old truth": object_error(cases["truth"][c.case], REQUEST),
        "error of new s1r2": object_error(c.agent_answer[:, 1], CHILD),
        "error of old s1r2": object_error(c.agent_answer[:, 0], CHILD),
        "error of s2": object_error(c.agent_answer[:, 0], "s2"),
    }
    for name, values in (
        ("answer", is_right),
        ("TV", total_variation(reader.probability, gold)),
        ("JS", jensen_shannon(reader.probability, gold)),
        ("KL", kullback_leibler(gold, reader.probability)),
    ):
        metrics |= {f"{name} {place}": sum_over(values, among) for place, among in at.items()}
    if reader.time:
        metrics |= _measure_changes(results, reader, at) | measure_movement(results, reader)
    return metrics | _measure_logic(results, reader)


def _is_asked(results: Results) -> np.ndarray:
    """bool[N]: all choices but s1r2 where it does not depend on s1r1."""
    c = results.choices
    return (c.role != CHILD) | results.cases["child"][c.case]


def _measure_changes(results: Results, reader: Reader, at: dict[str, np.ndarray]) -> dict[str, Metric]:
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
    right, must = is_as_good(c, reader.answer, 1), has_to_change(c)
    has_changed = (reader.answer != reader.start_answer) & ~(right & is_as_good(c, reader.start_answer, 1))
    true, child = must & has_changed & right, at[CHILD]
    twice = 2 * np.bincount(c.case[child & true], minlength=size).astype(float)
    wrong = np.bincount(c.case[child & (must & ~true | ~must & has_changed)], minlength=size)
    metrics = {"selective propagation": Metric(twice, twice + wrong, share=True)}
    return metrics | {
        f"false change {place}": sum_by_case(has_changed, c.case, size, at[place] & ~must)
        for place in FALSE_CHANGE_PLACES
    }


def _measure_logic(results: Results, reader: Reader) -> dict[str, Metric]:
    """Residuals of the axioms of probability in the reader's own truth values (Hase A.5), and their price.

    "logic and" and "logic or" take A and B to be independent, as the corpus makes them; the Dutch-book loss
    asks for the laws of probability only, and of all eight statements together.
    """
    names = ("TF", "not", "and", "or", "commute", "sum", "not B", "B or A")
    if reader.claims is None:
        nothing = mean_of(np.zeros(len(results)), among=False)
        return dict.fromkeys([*(f"logic {name}" for name in names), "Dutch book loss"], nothing)
    c, request = results.choices, rows_of_role(results, REQUEST)
    requested = c.options[request] == results.cases["object"][:, None]
    stated = reader.probability[request].sum(-1, where=requested)
    truth_values = claims_by_case(results, reader.claims)
    a, not_a, a_and_b, b_and_a, a_or_b, b, not_b, b_or_a = truth_values[..., 0].T
    residuals = (
        a - stated,
        not_a - (1 - a),
        a_and_b - a * b,
        a_or_b - (a + b - a * b),
        a_and_b - b_and_a,
        truth_values.sum(-1).mean(1) - 1,
        not_b - (1 - b),
        b_or_a - (a + b - a * b),
    )
    violations = {f"logic {n}": np.abs(r) for n, r in zip(names, residuals, strict=True)}
    violations["Dutch book loss"] = sure_loss(truth_values)
    return {name: mean_of(values) for name, values in violations.items()}
