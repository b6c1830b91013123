"""Do short questions foretell what a model writes? Rank correlations over edits and editors (Table 16)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import norm, rankdata

from corpus.seeds import generator
from testbed.evaluations.leme.meanings import DISTINCT, ENTROPY, FOUR, NINE, RATIO, TV
from testbed.scores.comparison import Scored
from testbed.scores.gather import case_keys
from testbed.scores.statistics import holm

FAMILIES = (FOUR, (TV, RATIO), (ENTROPY, DISTINCT))
"""Short questions, exact short measures, and simple measures of the texts themselves (Appendix I)."""
SHORT = tuple(name for family in FAMILIES for name in family)
RESAMPLES = 200
NOBODY = "none"
"""The control that edits nothing."""
LEAST = 10
"""Points that a correlation needs."""


class Correlation(NamedTuple):
    """Of one short and one long measure.

    Attributes:
        pooled: over all edits by all editors; low, high: its 95% interval by bootstrap over edits.
        p: of no correlation, Holm's over the table of one family of short measures.
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


def correlations(editors: Sequence[Scored], seed: int) -> dict[tuple[str, str], Correlation]:
    """Every short measure with each of the nine questions.

    P-values are of the normal distribution with the bootstrap's standard error, Holm's within each family.
    """
    # Who edits nothing says the same of all edits, which no measure is to be praised for.
    editors = [e for e in editors if e.edited.editor != NOBODY] or editors
    keys = sorted({key for e in editors for key in case_keys(e.edited.results)})
    values = {name: _values(editors, name, keys) for name in (*SHORT, *NINE)}
    rng = generator(seed, "short and long form")
    drawn = rng.integers(0, len(keys), (RESAMPLES, len(keys)))
    shuffled = rng.permuted(np.tile(np.arange(len(keys)), (len(editors), 1)), axis=1)
    found = {}
    for short in SHORT:
        for long in NINE:
            a, b = values[short], values[long]
            mixed = np.take_along_axis(b, shuffled, axis=1)
            pooled, within = _pooled(a, b), _within(a, b)
            spread = [(_pooled(a[:, i], b[:, i]), _within(a[:, i], b[:, i])) for i in drawn]
            resampled = np.array(spread)
            low, high = _quantiles(resampled[:, 0])
            found[short, long] = Correlation(
                pooled,
                low,
                high,
                _p(pooled, resampled[:, 0]),
                within,
                _p(within, resampled[:, 1]),
                _pooled(a, mixed),
                int((np.isfinite(a) & np.isfinite(b)).sum()),
            )
    return _adjusted(found)


def _values(editors: Sequence[Scored], metric: str, keys: Sequence[tuple[int, ...]]) -> np.ndarray:
    """float64[editors, edits], NaN where an editor's edit does not have the metric."""
    place = {key: i for i, key in enumerate(keys)}
    found = np.full((len(editors), len(keys)), np.nan)
    for row, editor in zip(found, editors, strict=True):
        of = editor.values[editor.name][metric]
        at = [place[key] for key in case_keys(editor.edited.results)]
        with np.errstate(invalid="ignore", divide="ignore"):
            row[at] = of.numerator / of.denominator
    return found


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """The rank correlation of the pairs that are numbers; NaN of too few, or where one side is constant."""
    there = np.isfinite(a) & np.isfinite(b)
    if there.sum() < LEAST:
        return float("nan")
    x, y = (rankdata(v[there]) for v in (a, b))
    x, y = x - x.mean(), y - y.mean()
    size = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / size) if size > 0 else float("nan")


def _pooled(a: np.ndarray, b: np.ndarray) -> float:
    return spearman(a.ravel(), b.ravel())


def _within(a: np.ndarray, b: np.ndarray) -> float:
    found = np.array([spearman(*pair) for pair in zip(a, b, strict=True)])
    return float(found[np.isfinite(found)].mean()) if np.isfinite(found).any() else float("nan")


def _quantiles(values: np.ndarray) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.quantile(known, [0.025, 0.975]).tolist()
    return low, high


def _p(value: float, resampled: np.ndarray) -> float:
    known = resampled[np.isfinite(resampled)]
    if not np.isfinite(value) or len(known) < 2 or known.std() == 0:
        return float("nan")
    return float(2 * norm.sf(abs(value) / known.std(ddof=1)))


def _adjusted(found: dict[tuple[str, str], Correlation]) -> dict[tuple[str, str], Correlation]:
    adjusted = dict(found)
    for family in FAMILIES:
        mine = {f"{short}|{long}": (short, long) for short, long in found if short in family}
        p = holm({name: found[pair].p for name, pair in mine.items()})
        within = holm({name: found[pair].within_p for name, pair in mine.items()})
        for name, pair in mine.items():
            adjusted[pair] = found[pair]._replace(p=p[name], within_p=within[name])
    return adjusted
