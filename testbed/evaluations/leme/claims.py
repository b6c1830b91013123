"""Passages as premises of claims: supported, contradicted, or neither (Rosati et al. 2024, §3.3)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from corpus.text.consistency import Fact
from testbed.evaluations.leme.meanings import CLAIMS
from testbed.evaluations.leme.standard import Standard
from testbed.evaluations.leme.statements import Statement
from testbed.protocol import ABSENT
from testbed.run.strata import STRATA


class Claim(NamedTuple):
    """That a fact has an object."""

    fact: Fact
    object: int


def verdict_on_claim(statements: Sequence[Statement], claim: Claim) -> int:
    """1 where most of what a passage says of a fact supports the claim, -1 where most contradicts, else 0."""
    mine = [one for one in statements if one.fact == claim.fact]
    votes = [
        (1 if one.holds == (one.object == claim.object) else -1)
        for one in mine
        if one.holds or one.object == claim.object
    ]
    return (sum(votes) > 0) - (sum(votes) < 0)


def claims_of_case(standard: Standard) -> Mapping[str, list[Claim]]:
    """The claims that are held against a case's passages; ground truth is what was stated, and believed."""
    claims: dict[str, list[Claim]] = {name: [] for name in CLAIMS}
    for role in ("subject", "related"):
        for fact, belief in standard.beliefs.items():
            if (
                fact[0] == standard.entities[role]
                and fact != standard.edited_fact
                and belief.stratum != STRATA[0]
            ):
                claim = Claim(fact, belief.object_before)
                claims[f"ground truth, {role}"].append(claim)
                claims["ground truth that moves" if belief.has_moved else "ground truth that stays"].append(
                    claim
                )
    new, old = standard.request[2], standard.old
    claims["new fact, subject"].append(Claim(standard.edited_fact, new))
    if old != ABSENT:
        claims["old fact, subject"].append(Claim(standard.edited_fact, old))
    for name, obj in (("new fact, related", new), ("old fact, related", old)):
        implied = standard.implied_object(obj) if obj != ABSENT else ABSENT
        if standard.coupled is not None and implied != ABSENT:
            claims[name].append(Claim(standard.coupled, implied))
    return claims
