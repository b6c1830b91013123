"""The summary of one editor's cases: every metric, reader and subset, with intervals (DESIGN 6)."""

import math
from pathlib import Path

import numpy as np

from corpus.files import write_json
from testbed.cases import STRATA, SUPPORT_BINS, support_bin
from testbed.metrics import Metric, measure, readers, subsets
from testbed.records import Outcomes, clusters
from testbed.statistics import Estimate, estimates
from testbed.tables import shown

SHOWN = (
    "edit success",
    "answer s1r1",
    "answer s1r2",
    "answer s1r2, must change",
    "answer s1r2, must stay",
    "answer s1rx",
    "answer s2",
    "TV s1r1",
    "TV s1r2",
    "TV s1rx",
    "TV s2",
    "selective propagation",
    "propagation ratio",
    "orthogonal damage",
    "spill",
    "false change s1r2",
    "false change s1rx",
    "false change s2",
    "coherence skill",
    "logic TF",
    "logic not",
    "logic and",
    "logic or",
    "Dutch book loss",
)

HEADLINES = ("edit success", "answer s1r2, must change", "propagation ratio", "coherence skill")
"""What commands print."""

Measured = dict[str, dict[str, Metric]]
"""Reader -> metric -> numerators and denominators per case."""

Summary = dict[str, dict[str, dict[str, Estimate]]]
"""Subset -> reader -> metric -> estimate."""


def measured(outcomes: Outcomes, editor: str) -> Measured:
    """Every metric of the editor and of the readers it is held against, case by case."""
    return {name: measure(outcomes, reader) for name, reader in readers(outcomes, editor).items()}


def masks(outcomes: Outcomes) -> dict[str, np.ndarray]:
    """bool[E] of every subset that is summarised: the paper's, by what the edit is, and by support.

    Support is that of the new object, in contradicting edits only: repeating a truth implies nothing new.
    What imagine and revise documents could not be about is held out; where there are none, nobody asks.
    """
    reinforces = outcomes.scalars["reinforces"]
    found = subsets(outcomes) | {"repeats the truth": reinforces, "contradicts the truth": ~reinforces}
    bins = support_bin(outcomes.scalars["support_new"])
    found |= {f"support {name}": (bins == i) & ~reinforces for i, name in enumerate(SUPPORT_BINS)}
    stated = outcomes.scalars["stratum"]
    found |= {f"stated {name}": (stated == name) & outcomes.scalars["child"] for name in STRATA}
    subject, obj = outcomes.scalars["seen_subject"], outcomes.scalars["seen_object"]
    if not (subject | obj).any():
        return found
    return found | {
        "held-out subject": ~subject,
        "held-out object": ~obj,
        "held out both": ~subject & ~obj,
        "seen both": subject & obj,
    }


def summarise(outcomes: Outcomes, editor: str) -> Summary:
    """Estimates for every subset, reader and metric."""
    return estimated(outcomes, measured(outcomes, editor))


def estimated(outcomes: Outcomes, values: Measured) -> Summary:
    """As `summarise`, of metrics that are known already: all of them over all cases, SHOWN over subsets."""
    levels = clusters(outcomes)
    flat = {(reader, name): m for reader, metrics in values.items() for name, m in metrics.items()}
    main = {(reader, name): m for (reader, name), m in flat.items() if name in SHOWN}
    summary: Summary = {}
    for subset, among in masks(outcomes).items():
        rows: dict[str, dict[str, Estimate]] = {reader: {} for reader in values}
        metrics = flat if subset == "all" else main
        for (reader, name), found in estimates(metrics, levels, among).items():
            rows[reader][name] = found
        summary[subset] = rows
    return summary


def write_summary(summary: Summary, folder: Path, traced: dict, standard: str) -> None:
    """summary.json: the estimates, the hashes of what they were computed from, and who is the standard."""

    def plain(e: Estimate) -> dict:
        known = e._asdict() | {"few": [few._asdict() for few in e.few]}
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in known.items() if v != []}

    tables = {
        subset: {r: {m: plain(e) for m, e in metrics.items()} for r, metrics in rows.items()}
        for subset, rows in summary.items()
    }
    write_json(folder / "summary.json", {"traced": traced, "standard": standard, "subsets": tables})


def summary_rows(summary: Summary, subset: str = "all") -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table over one subset: a row a metric, a column a reader."""
    rows = summary[subset]
    names = [name for name in SHOWN if any(name in metrics for metrics in rows.values())]
    return ["metric", *rows], [[name, *(shown(rows[r].get(name)) for r in rows)] for name in names]
