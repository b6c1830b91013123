"""Which relation tells about which, and how much, as a table."""

import numpy as np

from corpus.graph import NO_UPSTREAM, KnowledgeGraph
from corpus.worlds.evidence import SURE, Evidence, weigh_evidence
from testbed.cells import Shown, show_number
from testbed.console import print_table, say

NAMED = 10
"""So many relations are named."""
REVERSED = 0.9
LONGEST = 30
"""Characters of a name in the table, which is 80 wide."""


def weigh_dependences(graph: KnowledgeGraph) -> dict[tuple[int, int], Evidence]:
    """By (cause, effect), the evidence for each dependence of a world, the strongest first."""
    found = {}
    for down in np.flatnonzero(graph.upstream != NO_UPSTREAM).tolist():
        facts = np.flatnonzero((graph.relation == down) & (graph.upstream_fact >= 0) & ~graph.silent)
        causes, effects = graph.object[graph.upstream_fact[facts]], graph.object[facts]
        found[int(graph.upstream[down]), down] = weigh_evidence(causes, effects)
    return dict(sorted(found.items(), key=lambda one: -one[1].gain * one[1].subjects))


def show_dependences(graph: KnowledgeGraph) -> None:
    """Print them, and which relations tell nothing about any other."""
    found = weigh_dependences(graph)
    rows = []
    for (up, down), one in found.items():
        name = _name_pair(graph.relations[up], graph.relations[down])
        numbers = (show_number(value, ".2f") for value in (one.followed, one.gain, one.chance))
        rows.append((name, one.subjects, *numbers, _judge_evidence(one)))
    if rows:
        header = ("", "subjects", "followed", "nats", "shuffled", "")
        print_table("dependences, each subject foretold by others; nats a subject", header, rows)
    telling = {up for (up, _), one in found.items() if one.gain > 0}
    silent = [name for r, name in enumerate(graph.relations) if r not in telling]
    if silent:
        more = f" and {len(silent) - NAMED:,} more" if len(silent) > NAMED else ""
        say(f"relations that determine no other: {', '.join(silent[:NAMED])}{more}")


def find_reversals(graph: KnowledgeGraph) -> list[tuple[int, int]]:
    """Pairs of a relation and its inverse, ascending; a symmetric relation is its own.

    At least `REVERSED` of the facts of each, and ten, are stated by the other from their object's side.
    """
    width, relations = len(graph.entities), len(graph.relations)
    forth = graph.subject.astype(np.int64) * width + graph.object
    back = graph.object.astype(np.int64) * width + graph.subject
    order = np.argsort(forth)
    low, high = (np.searchsorted(forth, back, side, order) for side in ("left", "right"))
    fact = np.repeat(np.arange(len(graph)), high - low)
    other = order[np.arange(len(fact)) - np.repeat(np.cumsum(high - low) - high, high - low)]
    pairs, times = np.unique(
        graph.relation[fact].astype(np.int64) * relations + graph.relation[other], return_counts=True
    )
    total = np.bincount(graph.relation, minlength=relations)
    first, second = np.divmod(pairs, relations)
    is_so = (first <= second) & (times >= np.maximum(10, REVERSED * np.maximum(total[first], total[second])))
    return list(zip(first[is_so].tolist(), second[is_so].tolist(), strict=True))


def show_reversals(graph: KnowledgeGraph) -> None:
    """Say which relations agents and metrics take for independent though one implies the other."""
    for one, other in find_reversals(graph):
        first, second = graph.relations[one], graph.relations[other]
        what = f"{first!r} is symmetric" if one == other else f"{second!r} is the inverse of {first!r}"
        say(
            f"{what}, which agents do not know: after an edit of one side they still expect the other side "
            "as it was, and count a change of it as harm"
        )


def _judge_evidence(evidence: Evidence) -> str:
    if not evidence.gain > 0:
        return "nothing"
    return "reverse?" if evidence.direction < -SURE else "either way" * (evidence.direction <= SURE)


def _name_pair(up: str, down: str) -> Shown:
    """Both names, on two lines and without their middles where they would push the numbers away."""
    pair = f"{up} -> {down}"
    if len(pair) <= LONGEST:
        return Shown(pair, pair)
    half = (LONGEST - 3) // 2
    names = [n if len(n) <= LONGEST else f"{n[:half]}...{n[-half:]}" for n in (up, down)]
    return Shown("\n-> ".join(names), pair)
