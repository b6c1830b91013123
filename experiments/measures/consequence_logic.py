"""An evaluation: do laws of logic hold among consequences of an edit, in sentences that no editor is taught?

    python -m testbed.edit lora-down --evaluation experiments.consequence_logic:ConsequenceLogic

Hase's evaluation, of requests with two consequences or more: C and D are what the agent says of two of them
after the edit. Asked are C, D, their negations, "C and D" and "C or D", each in both orders. C and D depend
on one cause, so that their conjunction has no probability that follows from theirs; what is asked are the
laws that hold whatever it is, and those need no gold.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bayes.interface import Agent
from corpus.errors import InputError
from corpus.text.language import Atom, Kind, Sentence
from testbed.engine.results import Results
from testbed.evaluations.hase import CHILD, GRANDCHILD, OTHER_CHILD, Hase
from testbed.evaluations.hase.cases import Sampler
from testbed.protocol import Case, Choice, Claim
from testbed.run.world import World
from testbed.scores.metric import Metric, MetricDefinition, mean_of
from testbed.scores.readers import Reader

CLAIM_ROLES = ("C", "D", "not C", "not D", "C and D", "D and C", "C or D", "D or C")
LAWS = {
    "C, answer": "p(\u201cC\u201d is true) against p(C), and the same of D",
    "not C": "p(not C) against 1 - p(C), and the same of D",
    "C and D": "how far p(C and D) is below p(C) + p(D) - 1 or above the lower of the two (Fr\u00e9chet)",
    "C or D": "how far p(C or D) is below the higher of p(C) and p(D) or above their sum",
    "C, D, sum": "p(C and D) + p(C or D) against p(C) + p(D)",
    "C, D, order": "p(C and D) against p(D and C), and the same of \u201cor\u201d",
}
"""The laws, C and D being two consequences of the request."""
MOST_IN_VAIN = 30
"""Requests looked at for each one that is wanted; few subjects may have two consequences."""


@dataclass(frozen=True)
class ConsequenceLogic(Hase):
    """Hase's evaluation of requests with two consequences, and claims about these."""

    @property
    def metrics(self) -> Sequence[MetricDefinition]:
        """Hase's, and the laws."""
        says = "Mean absolute violation by the model's own truth values: {}."
        return *super().metrics, *(
            MetricDefinition(f"logic {law}", says.format(of), "low") for law, of in LAWS.items()
        )

    def make_cases(
        self, world: World, agent: Agent, count: int, credence: float, seed: int
    ) -> Iterator[Case]:
        """Hase's, of those with two consequences.

        Raises:
            InputError: they are too rare.
        """
        number = 0
        for case in Sampler(world, agent, MOST_IN_VAIN * count, credence, self, seed):
            two = two_consequences(case)
            if two:
                number += 1
                yield case._replace(claims=(*case.claims, *claims_about(*two)))
            if number == count:
                return
        raise InputError(
            f"only {number} of {MOST_IN_VAIN * count} requests have two consequences; ask for fewer"
        )

    def measure(self, results: Results, reader: Reader) -> dict[str, Metric]:
        """Hase's metrics, and the laws; only the model has truth values for these sentences."""
        return super().measure(results, reader) | law_metrics(results, reader)


def two_consequences(case: Case) -> tuple[Choice, Choice] | None:
    """The first two choices about consequences of the request; None where there are fewer."""
    roles = (CHILD, OTHER_CHILD, GRANDCHILD) if case.facets["child"] else ()
    first, second, *_ = *(c for c in case.choices if c.role in roles), None, None
    return (first, second) if first and second else None


def claims_about(first: Choice, second: Choice) -> tuple[Claim, ...]:
    """The claims of SAID; agents have no belief about what joins two consequences, and none is asked for."""
    c, d = (Atom(one.subject, one.relation, int(one.answer[1])) for one in (first, second))
    sentences = (
        Sentence(Kind.TRUTH, True, c),
        Sentence(Kind.TRUTH, True, d),
        Sentence(Kind.NOT, True, c),
        Sentence(Kind.NOT, True, d),
        Sentence(Kind.AND, True, c, d),
        Sentence(Kind.AND, True, d, c),
        Sentence(Kind.OR, True, c, d),
        Sentence(Kind.OR, True, d, c),
    )
    unknown = np.full(len(first.answer), np.nan)
    return tuple(
        Claim(role, sentence, unknown) for role, sentence in zip(CLAIM_ROLES, sentences, strict=True)
    )


def law_metrics(results: Results, reader: Reader) -> dict[str, Metric]:
    """Residuals of LAWS; no case counts for a reader without truth values."""
    true = np.full((len(CLAIM_ROLES), len(results)), np.nan)
    if reader.claims is not None:
        for i, role in enumerate(CLAIM_ROLES):
            mine = results.claims.role == role
            true[i, results.claims.case[mine]] = reader.claims[mine, 0]
    residuals = law_residuals(true, object_probabilities(results, reader))
    return {f"logic {law}": mean_of(r, ~np.isnan(r)) for law, r in zip(LAWS, residuals, strict=True)}


def law_residuals(true: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """Residuals of LAWS, float64[laws, E]; 0 for whoever has a joint distribution of C and D.

    Args:
        true: float64[len(SAID), E], p(true) of each sentence.
        objects: float64[2, E], p(C) and p(D) where their objects are asked for.
    """
    c, d, not_c, not_d, c_and_d, d_and_c, c_or_d, d_or_c = true
    both, either = (c_and_d + d_and_c) / 2, (c_or_d + d_or_c) / 2
    return np.stack(
        [
            (np.abs(c - objects[0]) + np.abs(d - objects[1])) / 2,
            (np.abs(not_c - (1 - c)) + np.abs(not_d - (1 - d))) / 2,
            _distance_outside(both, np.maximum(c + d - 1, 0), np.minimum(c, d)),
            _distance_outside(either, np.maximum(c, d), np.minimum(c + d, 1)),
            np.abs(both + either - c - d),
            (np.abs(c_and_d - d_and_c) + np.abs(c_or_d - d_or_c)) / 2,
        ]
    )


def object_probabilities(results: Results, reader: Reader) -> np.ndarray:
    """float64[2, E]: p(C) and p(D), asked for as objects: of the first two choices about consequences."""
    choices = results.choices
    new = choices.options == choices.agent_answer[:, 1:2]
    p, there = reader.probability.sum(-1, where=new), np.full((2, len(results)), np.nan)
    for row in np.flatnonzero(np.isin(choices.role, (CHILD, OTHER_CHILD, GRANDCHILD))):
        case = choices.case[row]
        free = np.flatnonzero(np.isnan(there[:, case]))
        if len(free):
            there[free[0], case] = p[row]
    return there


def _distance_outside(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """How far x is from [low, high]."""
    return np.maximum(np.maximum(low - x, x - high), 0.0)
