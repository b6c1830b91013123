"""The paper's statistics: rank correlations over edits and editors, and its tests (Rosati et al. 2024).

Do short questions foretell what a model writes (Table 16), and do simple measures of its texts see it
(Appendix I)? Wilcoxon's test of the nine questions and the chi-square test of claims are those of §5.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import chi2_contingency, norm, wilcoxon

from corpus.seeds import generator
from testbed.evaluations.leme.metrics import (
    EDIT_RELATED,
    EDIT_SUBJECT,
    FOUR,
    METRICS,
    NINE,
    RATIO,
    SIMPLE,
    TV,
)
from testbed.evaluations.leme.passages import passage_pairs
from testbed.evaluations.leme.questions import CLAIMS
from testbed.evaluations.leme.readers import model_passages
from testbed.evaluations.paper_tables import read_paper_figures
from testbed.pages.chapter import Material, Picture
from testbed.pages.charts import WHITE, picture_style, save_figure, wrap_title
from testbed.pages.messages import describe_extremes
from testbed.scores.gather import case_keys
from testbed.scores.readers import NO_EDIT
from testbed.scores.statistics import adjust_holm
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import SIGNIFICANT, Cell, Table, format_probability

PACKAGE = "testbed.evaluations.leme"
LABELS = {m.id: m.title for m in METRICS}
SHORT = (*FOUR, TV, RATIO)
"""Short questions and exact short measures."""
FAMILIES = (FOUR, (TV, RATIO), tuple(SIMPLE))
MEASURES = (*SHORT, *SIMPLE)
RESAMPLES = 200
NOBODY = "none"
"""The control that edits nothing."""
LEAST = 10
"""Points that a correlation needs."""
LEAST_TESTED = 5
"""Edits of which a question has two answers, and claims, that a test needs."""


class Correlation(NamedTuple):
    """Of one measure with one of the nine questions.

    Attributes:
        pooled: over all edits by all editors; low, high: its 95% interval by bootstrap over edits.
        p: of no correlation, Holm's over the table of one family of measures.
        within: the mean over editors of each one's own correlation, over its edits.
        within_p: as p.
        shuffled: the pooled one where edits are shuffled within editors: what editors' means alone give.
        points: edits by editors that have both.
    """

    pooled: float
    low: float
    high: float
    p: float
    within: float
    within_p: float
    shuffled: float
    points: int


ByPair = Mapping[tuple[str, str], Correlation]
_FIGURES = ["pooled", "low", "high", "p", "within editor", "p within", "shuffled", "points"]
_CORRELATIONS = (
    "Spearman's over edits and editors, intervals by bootstrap over edits, p-values Holm's. Within editor: "
    "the mean of each editor's own. Shuffled: edits of an editor in another order, so that only editors' "
    "means are left."
)


def correlate_measures(editors: Sequence[ScoredEditor], seed: int) -> dict[tuple[str, str], Correlation]:
    """Every measure with each of the nine questions.

    P-values are of the normal distribution with the bootstrap's standard error, Holm's within each family.
    """
    # Who edits nothing says the same of all edits, which no measure is to be praised for.
    editors = [e for e in editors if e.edits.editor != NOBODY] or editors
    keys = sorted({key for e in editors for key in case_keys(e.edits.results)})
    values = {name: _metric_by_edit(editors, name, keys) for name in (*MEASURES, *NINE)}
    rng = generator(seed, "short and long form")
    samples = rng.integers(0, len(keys), (RESAMPLES, len(keys)))
    once = np.ones((1, len(keys)))
    times = np.stack([np.bincount(i, minlength=len(keys)) for i in samples])
    shuffled = rng.permuted(np.tile(np.arange(len(keys)), (len(editors), 1)), axis=1)
    by_pair = {}
    for measure in MEASURES:
        for question in NINE:
            a, b = values[measure], values[question]
            mixed = np.take_along_axis(b, shuffled, axis=1)
            (pooled,), (within,) = _pooled_correlations(a, b, once), _correlations_within_editors(a, b, once)
            resampled = _pooled_correlations(a, b, times)
            low, high = _resampled_interval(resampled)
            by_pair[measure, question] = Correlation(
                pooled=float(pooled), low=low, high=high, p=_p_value(pooled, resampled),
                within=float(within), within_p=_p_value(within, _correlations_within_editors(a, b, times)),
                shuffled=float(_pooled_correlations(a, mixed, once)[0]),
                points=int((np.isfinite(a) & np.isfinite(b)).sum()),
            )  # fmt: skip
    return _adjust_p_values(by_pair)


def _metric_by_edit(
    editors: Sequence[ScoredEditor], metric: str, keys: Sequence[tuple[int, ...]]
) -> np.ndarray:
    """float64[editors, edits], NaN where an editor's edit does not have the metric."""
    place = {key: i for i, key in enumerate(keys)}
    values = np.full((len(editors), len(keys)), np.nan)
    for row, editor in zip(values, editors, strict=True):
        at = [place[key] for key in case_keys(editor.edits.results)]
        row[at] = editor.values[editor.name][metric].by_case
    return values


def rank_correlations(a: np.ndarray, b: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Rank correlations of samples from the pairs that are numbers.

    Args:
        a, b: float64[N].
        times: [samples, N], how often each sample has each pair.

    Returns:
        float64[samples], NaN of too few, or where one side is constant.
    """
    is_known = np.isfinite(a) & np.isfinite(b)
    times = times[:, is_known].astype(float)
    points = times.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ranks = [_mean_ranks(v[is_known], times) for v in (a, b)]
        x, y = (of - (np.einsum("sn,sn->s", times, of) / points)[:, None] for of in ranks)
        moments = [np.einsum("sn,sn,sn->s", times, u, v) for u, v in ((x, y), (x, x), (y, y))]
        rho = moments[0] / np.sqrt(moments[1] * moments[2])
    return np.where((points >= LEAST) & np.isfinite(rho), rho, np.nan)


def _mean_ranks(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """float64[samples, N]: the rank of each value in each sample, the mean one where some are equal."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    starts = np.cumsum(sizes) - sizes
    mass = np.add.reduceat(times[:, np.argsort(group, kind="stable")], starts, axis=1)
    return (np.cumsum(mass, axis=1) - mass / 2 + 0.5)[:, group]


def _pooled_correlations(a: np.ndarray, b: np.ndarray, times: np.ndarray) -> np.ndarray:
    """float64[samples] of edits, over editors together."""
    return rank_correlations(a.ravel(), b.ravel(), np.tile(times, (1, len(a))))


def _correlations_within_editors(a: np.ndarray, b: np.ndarray, times: np.ndarray) -> np.ndarray:
    """float64[samples] of edits, the mean over the editors that have one."""
    by_editor = np.stack([rank_correlations(*pair, times) for pair in zip(a, b, strict=True)])
    is_known = np.isfinite(by_editor)
    counts = is_known.sum(axis=0)
    return np.where(counts > 0, np.where(is_known, by_editor, 0).sum(axis=0) / np.maximum(counts, 1), np.nan)


def _resampled_interval(values: np.ndarray) -> tuple[float, float]:
    numbers = values[np.isfinite(values)]
    if not len(numbers):
        return float("nan"), float("nan")
    low, high = np.quantile(numbers, [0.025, 0.975]).tolist()
    return low, high


def _p_value(value: float, resampled: np.ndarray) -> float:
    numbers = resampled[np.isfinite(resampled)]
    if not np.isfinite(value) or len(numbers) < 2 or numbers.std() == 0:
        return float("nan")
    return float(2 * norm.sf(abs(value) / numbers.std(ddof=1)))


def _adjust_p_values(by_pair: dict[tuple[str, str], Correlation]) -> dict[tuple[str, str], Correlation]:
    adjusted = dict(by_pair)
    for family in FAMILIES:
        pairs = {"|".join(pair): pair for pair in by_pair if pair[0] in family}
        p = adjust_holm({name: by_pair[pair].p for name, pair in pairs.items()})
        within = adjust_holm({name: by_pair[pair].within_p for name, pair in pairs.items()})
        for name, pair in pairs.items():
            adjusted[pair] = by_pair[pair]._replace(p=p[name], within_p=within[name])
    return adjusted


def signed_rank_test(before: np.ndarray, after: np.ndarray, rises: bool) -> float:
    """Wilcoxon's one-sided signed rank test, p, that `after` is larger, or smaller; NaN of too few pairs."""
    is_known = np.isfinite(before) & np.isfinite(after)
    if is_known.sum() < LEAST_TESTED:
        return float("nan")
    change = after[is_known] - before[is_known]
    if not change.any():
        return 1.0
    return float(wilcoxon(change, alternative="greater" if rises else "less").pvalue)


def chi_square_test(before: Counter, after: Counter) -> float:
    """Whether two counts of verdicts are of one distribution, p; NaN of too few, or of a single verdict."""
    kinds = [kind for kind in (-1, 0, 1) if before[kind] + after[kind]]
    table = np.array([[counts[kind] for kind in kinds] for counts in (before, after)])
    if len(kinds) < 2 or min(table.sum(axis=1)) < LEAST_TESTED:
        return float("nan")
    return float(chi2_contingency(table).pvalue)


def count_verdicts(editor: ScoredEditor, when: int) -> dict[str, Counter]:
    """Verdicts on each kind of claim about what the model wrote: 0 before the edit, 1 after it."""
    results, verdicts = editor.edits.results, {name: Counter[int]() for name in CLAIMS}
    for pair in passage_pairs(results, model_passages(results, when), 1):
        for name, of_pair in pair.verdicts.items():
            verdicts[name].update(of_pair)
    return verdicts


def wilcoxon_table(material: Material) -> Table:
    """Each of the nine questions after the edit against before, over edits."""
    rows = [
        _row_of_tests(editor, {
            name: signed_rank_test(
                _metric_of_edits(editor, NO_EDIT, name),
                _metric_of_edits(editor, editor.name, name),
                rises=name in (EDIT_SUBJECT, EDIT_RELATED),
            )
            for name in NINE
        })
        for editor in material.editors
    ]  # fmt: skip
    note = (
        "One-sided: edit consistency rises, all else falls. Holm's over the nine. Edits of one subject are "
        "taken for independent, as in the paper."
    )
    header = ["who", *map(LABELS.__getitem__, NINE)]
    return Table("leme-wilcoxon", "Wilcoxon's signed rank tests, p", header, rows, note)


def _metric_of_edits(editor: ScoredEditor, reader: str, metric: str) -> np.ndarray:
    """float64[edits], NaN where an edit does not have the metric."""
    values = editor.values[reader].get(metric)
    return np.full(len(editor.edits.results), np.nan) if values is None else values.by_case


def chi_square_table(material: Material) -> Table:
    """Verdicts on each kind of claim after the edit against before."""
    rows: list[list[Cell]] = []
    for editor in material.editors:
        before, after = (count_verdicts(editor, when) for when in (0, 1))
        rows.append(
            _row_of_tests(editor, {name: chi_square_test(before[name], after[name]) for name in CLAIMS})
        )
    note = (
        "Supported, contradicted or neither, after the edit against before; Holm's over the claims. Those "
        "of one edit and its samples are taken for independent, as in the paper, which makes p too small."
    )
    return Table("leme-chi-square", "Chi-square tests of claims, p", ["who", *CLAIMS], rows, note)


def _row_of_tests(editor: ScoredEditor, p: Mapping[str, float]) -> list[Cell]:
    adjusted = adjust_holm(p)
    return [editor.name, *(format_probability(adjusted[name]) for name in p)]


def correlations_of(material: Material) -> ByPair:
    """Those of all editors."""
    return correlate_measures(material.editors, material.editors[0].edits.seed)


def draw_correlations(material: Material, file: str, says: str, measures: Sequence[str]) -> Picture:
    """Pooled correlation in colour, with its interval; bold where Holm's p is below .05."""
    by_pair = material.once(correlations_of)
    table = [[by_pair[measure, question] for question in NINE] for measure in measures]
    texts = [
        [(f"{x.pooled:.2f}\n[{x.low:.2f}, {x.high:.2f}]" if np.isfinite(x.pooled) else "-", x.p < SIGNIFICANT)
         for x in row]
        for row in table
    ]  # fmt: skip
    values = np.array([[x.pooled for x in row] for row in table])
    down, right = ([LABELS[name] for name in names] for names in (measures, NINE))
    with picture_style():
        figure, axis = plt.subplots(figsize=(12.4, 0.6 * len(down) + 0.6))
        image = axis.imshow(values, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
        for (i, j), value in np.ndenumerate(values):
            (text, is_bold), ink = texts[i][j], WHITE if abs(value) > 0.6 else "black"
            weight, size = "bold" if is_bold else "normal", 7 if np.isfinite(value) else 8
            axis.text(j, i, text, ha="center", va="center", fontsize=size, fontweight=weight, color=ink)
        axis.set_xticks(range(len(right)), [wrap_title(name, 12) for name in right], fontsize=8)
        axis.set_yticks(range(len(down)), list(down), fontsize=8)
        figure.colorbar(image, ax=axis, label="Spearman's correlation")
        save_figure(figure, material.folder / file)
    known = {f"{LABELS[a]} and {LABELS[b]}": x.pooled for (a, b), x in by_pair.items() if a in measures}
    return Picture(file, says, describe_extremes(known, "correlation"))


def short_form_table(material: Material) -> Table:
    """Every short question with each of the nine, beside the paper's Table 16."""
    by_pair = material.once(correlations_of)
    from_paper = "; ".join(
        f"{long} with {short} {figures['correlation']:.2f}"
        for (long, short), figures in read_paper_figures(PACKAGE, "correlations").items()
    )
    rows = [_correlation_row(by_pair, short, long) for short in SHORT for long in NINE]
    note = f"{_CORRELATIONS} As printed in Table 16: {from_paper}."
    header = ["short", "long", *_FIGURES]
    return Table("leme-16", "Short form and long form (Table 16)", header, rows, note, words=2)


def simple_measures_table(material: Material) -> Table:
    """Every simple measure with its own question, beside the paper's Appendix I."""
    by_pair = material.once(correlations_of)
    figures, rows = read_paper_figures(PACKAGE, "simple"), list[list[Cell]]()
    for pair in SIMPLE.items():
        printed = figures.get((LABELS[pair[0]], LABELS[pair[1]]), {})
        rows.append([*_correlation_row(by_pair, *pair), printed.get("correlation")])
    header = ["measure", "question", *_FIGURES, "as printed"]
    note = (
        f"{_CORRELATIONS} As printed: with ratings of people, p < .05 but for topicality; one figure for "
        "both passages."
    )
    return Table("leme-weak", "Each simple measure and its own question", header, rows, note, words=2)


def _correlation_row(by_pair: ByPair, measure: str, question: str) -> list[Cell]:
    one = by_pair[measure, question]
    return [LABELS[measure], LABELS[question], one.pooled, one.low, one.high, format_probability(one.p),
            one.within, format_probability(one.within_p), one.shuffled, one.points]  # fmt: skip
