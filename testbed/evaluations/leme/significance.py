"""The paper's own tests: Wilcoxon's of the nine questions, chi-square of claims (Rosati et al. 2024, §5)."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import chi2_contingency, wilcoxon

from testbed.engine.results import Results
from testbed.evaluations.leme.claims import claims_of_case, verdict_on_claim
from testbed.evaluations.leme.meanings import CLAIMS, EDIT_RELATED, EDIT_SUBJECT, NINE
from testbed.evaluations.leme.measure import iterate_samples
from testbed.evaluations.leme.readers import model_passages
from testbed.evaluations.leme.roles import RELATED, SUBJECT
from testbed.evaluations.leme.standard import standards_of_cases
from testbed.evaluations.leme.statements import statements_of
from testbed.scores.comparison import ScoredEditor
from testbed.scores.readers import NO_EDIT
from testbed.scores.statistics import adjust_holm
from testbed.scores.tables import Cell, Table, format_probability

LEAST = 5
"""Edits of which a question has two answers, and claims, that a test needs."""


def signed_rank_test(before: np.ndarray, after: np.ndarray, rises: bool) -> float:
    """Wilcoxon's one-sided signed rank test, p, that `after` is larger, or smaller; NaN of too few pairs."""
    known = np.isfinite(before) & np.isfinite(after)
    if known.sum() < LEAST:
        return float("nan")
    change = after[known] - before[known]
    if not change.any():
        return 1.0
    return float(wilcoxon(change, alternative="greater" if rises else "less").pvalue)


def chi_square_test(before: Counter, after: Counter) -> float:
    """Whether two counts of verdicts are of one distribution, p; NaN of too few, or of a single verdict."""
    kinds = [kind for kind in (-1, 0, 1) if before[kind] + after[kind]]
    table = np.array([[counts[kind] for kind in kinds] for counts in (before, after)])
    if len(kinds) < 2 or min(table.sum(axis=1)) < LEAST:
        return float("nan")
    return float(chi2_contingency(table).pvalue)


def wilcoxon_table(editors: Sequence[ScoredEditor]) -> Table:
    """Each of the nine questions after the edit against before, over edits."""
    rows: list[list[Cell]] = []
    for editor in editors:
        p = {
            name: signed_rank_test(
                _metric_by_edit(editor, NO_EDIT, name),
                _metric_by_edit(editor, editor.name, name),
                rises=name in (EDIT_SUBJECT, EDIT_RELATED),
            )
            for name in NINE
        }
        rows.append(_test_row(editor, p))
    note = (
        "One-sided: edit consistency rises, all else falls. Holm's over the nine. Edits of one subject are "
        "taken for independent, as in the paper."
    )
    return Table("leme-wilcoxon", "Wilcoxon's signed rank tests, p", ["who", *NINE], rows, note, words=1)


def chi_square_table(editors: Sequence[ScoredEditor]) -> Table:
    """Verdicts on each kind of claim after the edit against before."""
    rows: list[list[Cell]] = []
    for editor in editors:
        before, after = (_count_verdicts(editor.edited.results, when) for when in (0, 1))
        p = {name: chi_square_test(before[name], after[name]) for name in CLAIMS}
        rows.append(_test_row(editor, p))
    note = (
        "Supported, contradicted or neither, after the edit against before; Holm's over the claims. Those "
        "of one edit and its samples are taken for independent, as in the paper, which makes p too small."
    )
    return Table("leme-chi-square", "Chi-square tests of claims, p", ["who", *CLAIMS], rows, note, words=1)


def _test_row(editor: ScoredEditor, p: Mapping[str, float]) -> list[Cell]:
    adjusted = adjust_holm(p)
    return [editor.name, *(format_probability(adjusted[name]) for name in p)]


def _metric_by_edit(editor: ScoredEditor, reader: str, metric: str) -> np.ndarray:
    """float64[edits], NaN where an edit does not have the metric."""
    found = editor.values[reader].get(metric)
    if found is None:
        return np.full(len(editor.edited.results), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return found.numerator / found.denominator


def _count_verdicts(results: Results, when: int) -> dict[str, Counter]:
    verdicts = {name: Counter[int]() for name in CLAIMS}
    known = standards_of_cases(results, 1)
    for case, _, passages in iterate_samples(results, model_passages(results, when)):
        standard = known[case]
        said = {standard.entities[role]: statements_of(passages[role]) for role in (SUBJECT, RELATED)}
        for name, claims in claims_of_case(standard).items():
            verdicts[name].update(verdict_on_claim(said[claim.fact[0]], claim) for claim in claims)
    return verdicts
