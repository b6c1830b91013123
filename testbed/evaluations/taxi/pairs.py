"""Are rare subjects easier to edit? Each is paired with a typical one, over the same old and new category."""

import numpy as np

from corpus.seeds import generator
from testbed.engine.results import Results
from testbed.evaluations.taxi import metrics as m
from testbed.pages.chapter import Material, SectionPlan
from testbed.run.strata import STRATA
from testbed.scores.readers import NO_EDIT
from testbed.scores.statistics import compare_metrics
from testbed.scores.tables import Cell, Table

BY_STRATUM = [m.CONSISTENCY, *(m.stratum_name(m.CONSISTENCY, stratum) for stratum in STRATA)]


def rare_against_typical_table(material: Material) -> Table:
    """Rare minus typical subjects, paired within category, for every editor."""
    metrics, rows, editors = (m.SUCCESS, m.PROPERTIES, *BY_STRATUM), list[list[Cell]](), material.editors
    for e, reader in [*((e, e.name) for e in editors), (editors[0], NO_EDIT)]:
        rare, typical, levels = pair_cases(e.edits.results)
        rng, among = generator(e.edits.seed, "typical against rare"), np.ones(len(rare), bool)
        row: list[Cell] = [reader, len(rare)]
        for name in metrics:
            first, second = (e.values[reader][name].take(cases) for cases in (rare, typical))
            row.append(compare_metrics(first, second, levels, among, rng) if len(rare) else None)
        rows.append(row)
    note = (
        "Paired differences; above 0, rare subjects follow more. Intervals are over old and new categories."
    )
    header = ["editor", "pairs", *map(material.frame.label_of, metrics)]
    return Table("frequency", "Rare minus typical", header, rows, note)


def pair_cases(results: Results) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Cases of rare and of typical subjects with the same old and new category, the n-th with the n-th.

    Returns:
        int[P] twice, and by level, int[P], which pairs depend on each other.
    """
    cases = results.cases
    run = cases.get("run", np.zeros_like(cases["truth"]))
    both = np.unique(np.stack([run, cases["truth"], cases["object"]]), axis=1, return_inverse=True)[1].ravel()
    pairs: list[tuple[int, int]] = []
    for categories in np.unique(both):
        here, typical = both == categories, cases["typical"].astype(bool)
        pairs += zip(*(np.flatnonzero(here & of).tolist() for of in (~typical, typical)), strict=False)
    rare, typical = np.array(pairs, int).reshape(-1, 2).T
    levels = {
        level: np.unique(np.stack([run, cases[name]])[:, rare], axis=1, return_inverse=True)[1].ravel()
        for level, name in (("old category", "truth"), ("object", "object"))
    }
    return rare, typical, levels


SECTION = SectionPlan(
    "frequency", "Are rare subjects easier to edit?",
    "Copies of a sentence are not evidence, so the agent is the same for both; any difference is the "
    "model's. A typical and a rare subject of one category are paired over the same new categories.",
    tables=[rare_against_typical_table],
)  # fmt: skip
