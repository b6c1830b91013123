"""Versions of what scores mean: of agents, evaluations and metrics, as people compare them (design.md 8).

Hashes of code (`testbed.engine.identity`) change with what code does, though it may mean the same; a version
is raised by whoever changes what a figure is, in versions.json, which tests/test_versions.py asks for. A
metric that does not stand there has version 1. What is a user's own has none.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from corpus.files import read_json

FILE = Path(__file__).with_name("versions.json")


@cache
def read_versions() -> dict[str, dict[str, Any]]:
    """By kind (agents, evaluations, metrics) and name; those of metrics by evaluation, those above 1 only."""
    return read_json(FILE)


def version_of_metric(evaluation: str, metric: str) -> int | None:
    """The version of a metric; None where the evaluation is a user's own."""
    known = read_versions()
    return int(known["metrics"][evaluation].get(metric, 1)) if evaluation in known["evaluations"] else None


def select_versions(evaluations: Iterable[str], agents: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The versions of some evaluations, their metrics and some agents; what is a user's own has none."""
    chosen = {*evaluations}
    wanted = {"agents": {*agents}, "evaluations": chosen, "metrics": chosen}
    return {kind: {n: v for n, v in of.items() if n in wanted[kind]} for kind, of in read_versions().items()}


def describe_versions(evaluation: str, agent: str) -> str:
    """In words: which version of the evaluation, and of the agent by which it judges."""
    known, words = select_versions([evaluation], [agent]), []
    words += [f"evaluation {name}, version {version}" for name, version in known["evaluations"].items()]
    words += [f"agent {name}, version {version}" for name, version in known["agents"].items()]
    return "; ".join(words)
