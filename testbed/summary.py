"""The summary of one editor's cases: every metric, reader and subset, with intervals (DESIGN 6)."""

import math
from pathlib import Path

from corpus.files import write_json
from corpus.seeds import generator
from testbed.cases import SUPPORT_BINS, support_bin
from testbed.metrics import measure, readers, subsets
from testbed.records import Outcomes
from testbed.statistics import Estimate, estimate

SHOWN = (
    "edit success",
    "answer s1r2, must change",
    "answer s1r2, must stay",
    "answer s1rx",
    "answer s2",
    "TV s1r1",
    "TV s1r2",
    "TV s1rx",
    "TV s2",
    "propagation ratio",
    "coherence skill",
    "logic TF",
    "logic not",
    "logic and",
    "logic or",
)
HEADLINES = ("edit success", "answer s1r2, must change", "answer s1r2, must stay", "coherence skill")
BY_SUPPORT = ("edit success", "answer s1r2, must change", "propagation ratio", "TV s1r2")

Summary = dict[str, dict[str, dict[str, Estimate]]]
"""Subset -> reader -> metric -> estimate."""


def summarise(outcomes: Outcomes, editor: str, seed: int) -> Summary:
    """Estimates for every subset, reader and metric, and for contradicting edits by support."""
    rng = generator(seed, "bootstrap")
    masks = subsets(outcomes)
    bins = support_bin(outcomes.scalars["support_new"])
    for i, name in enumerate(SUPPORT_BINS):
        masks[f"support {name}"] = (bins == i) & ~outcomes.scalars["reinforces"]
    measured = {name: measure(outcomes, reader) for name, reader in readers(outcomes, editor).items()}
    cluster = outcomes.scalars["cluster"]
    return {
        subset: {
            reader: {name: estimate(metric, cluster, mask, rng) for name, metric in metrics.items()}
            for reader, metrics in measured.items()
        }
        for subset, mask in masks.items()
    }


def write_summary(summary: Summary, folder: Path, traced: dict, standard: str) -> None:
    """summary.json: the estimates, the hashes of what they were computed from, and who is the standard."""

    def plain(e: Estimate) -> dict:
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in e._asdict().items()}

    tables = {
        subset: {r: {m: plain(e) for m, e in metrics.items()} for r, metrics in rows.items()}
        for subset, rows in summary.items()
    }
    write_json(folder / "summary.json", {"traced": traced, "standard": standard, "subsets": tables})


def shown(e: Estimate | None) -> str:
    """An estimate as a cell of a table: value and half its interval, or a dash."""
    if e is None or math.isnan(e.value):
        return "-"
    half = f"{(e.high - e.low) / 2:.2f}".removeprefix("0")
    return f"{e.value:.2f} ±{half}"


def summary_rows(summary: Summary, subset: str = "all") -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table over one subset: a row a metric, a column a reader."""
    rows = summary[subset]
    header = ["metric", *rows]
    return header, [[name, *(shown(rows[r].get(name)) for r in rows)] for name in SHOWN]
