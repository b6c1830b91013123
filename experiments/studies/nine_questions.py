"""A rater that answers LEME's nine questions from text alone: which editors does it put in the wrong order?

Command:
    python -m experiments.nine_questions

Rosati et al. 2024 train a rater for each of nine questions about a pair of passages, on 796 ratings by GPT-4
of four editors, and hold it against people. Here the right rating is the exact share. A rater is a ridge
regression on what a text shows: sentences with all or half of the words of the request, an old fact, another
sentence, and those that deny. It learns from the paper's four editors in all worlds but one, and rates all
there. Beside it: one that learns from ratings as noisy as GPT-4's, and one that reads ROUGE-1 alone (n-gram
entropy for naturalness). Takes half an hour of one core.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np

from corpus.seeds import generator
from experiments.command import launch_module
from experiments.study import Findings, Study, WorldOptions
from testbed.evaluations.leme import RELATED, SUBJECT
from testbed.evaluations.leme.metrics import NINE, NINE_LABELS, QUESTIONS, ROUGE
from testbed.evaluations.leme.passages import PassagePair, passage_pairs
from testbed.evaluations.leme.readers import model_passages
from testbed.evaluations.leme.statements import count_words, ngram_entropy
from testbed.scores.statistics import estimate_from_draws
from testbed.scores.tables import Cell, Table

LEARNED = ("none", "rome", "in-context", "ft-constrained")
"""Whose passages are rated for the rater: the paper's no edit, ROME, IKE, FT."""
ALPHAS = (0.78, 0.78, 0.45, 0.45, 0.12, 0.12, 0.16, 0.38, 0.11)
"""Appendix F: Krippendorff's alpha of the paper's rater and people; both passages have one figure."""
NOISE = 0.34
"""Alpha of GPT-4 and people there."""
RATERS = ("nine raters", "from noisy ratings", "ROUGE-1 alone")
CLEAR, HALF, RESAMPLES = 0.1, 0.5, 500
"""Shares of editors that differ clearly; of the words of a sentence; of edits."""
PENALTY = 10.0
"""On squared weights of standardised features; fixed beforehand."""


def find_words(lines: Sequence[tuple[set, bool]], references: Sequence[set]) -> list[float]:
    """Shares of lines with all words of a reference, or half: said, denied; and the first of what is said."""
    best = np.array([max((len(r & s) / len(r) for r in references), default=0.0) for s, _ in lines])
    denied, n = np.array([d for _, d in lines], bool), max(len(lines), 1)
    kinds = best == 1, (best >= HALF) & (best < 1)
    shares = [float((kind & (denied == d)).sum()) / n for kind in kinds for d in (False, True)]
    return [*shares, (n * shares[0] + 1) / (n * (shares[0] + shares[2]) + 2)]


def read_features(pair: PassagePair) -> list[float]:
    """What a pair of passages shows without being parsed, the nine simple measures first."""
    standard, said = pair.standard, dict[str, list[set]]()
    shown = [ROUGE[q][1](pair) if q in ROUGE else ngram_entropy(pair.lines) for q in NINE]
    old = {fact: set(count_words(text)) for fact, text in standard.texts.items()}
    for role in (SUBJECT, RELATED):
        texts = [set(count_words(line.text)) for line in pair.passages[role]]
        lines = [(s - {"true", "false", "not"}, bool(s & {"false", "not"})) for s in texts]
        facts = [old[f] for f in old if f[0] == standard.entities[role] and f != standard.edited_fact]
        shown += find_words(lines, [set(count_words(standard.request_text))]) + find_words(lines, facts)
        shown += find_words(lines, [set(count_words(standard.names[role]))])
        said[role] = [s for s, denied in lines if s and not denied]
    for first, second in ((SUBJECT, SUBJECT), (RELATED, RELATED), (SUBJECT, RELATED)):
        both = combinations(said[first], 2) if first == second else product(said[first], said[second])
        shared = np.array([len(a & b) / max(len(a), len(b)) for a, b in both])
        same, part, n = (shared == 1).sum(), ((shared >= HALF) & (shared < 1)).sum(), max(len(shared), 1)
        shown += [same / n, part / n, (same + 1) / (same + part + 2)]
    return shown


def gather_ratings(findings: Findings, seed: int) -> list[np.ndarray]:
    """All pairs of a world: exact float64[N, 9], nan where nothing is said of it; features; editor; case."""
    results = [one.results for one in findings.results(seed=seed)]
    by_editor = [passage_pairs(one, model_passages(one, 1), 1) for one in results]
    pairs = [(number, pair) for number, of in enumerate(by_editor) for pair in of]
    exact = np.array([[QUESTIONS[q][1](pair) for q in NINE] for _, pair in pairs])
    features = np.nan_to_num([read_features(pair) for _, pair in pairs])
    return [exact, features, *np.array([(number, pair.case) for number, pair in pairs]).T]


def fit_ridge(features: np.ndarray, ratings: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Ratings of others by a ridge regression on standardised features, cut to shares."""
    centre, scale, mean = features.mean(0), features.std(0) + 1e-9, ratings.mean()
    x = (features - centre) / scale
    weights = np.linalg.solve(x.T @ x + PENALTY * np.eye(x.shape[1]), x.T @ (ratings - mean))
    return np.clip((others - centre) / scale @ weights + mean, 0, 1)


def krippendorff_alphas(a: np.ndarray, b: np.ndarray, times: np.ndarray) -> np.ndarray:
    """float64[samples]: alpha of two raters by squared differences; `times` [samples, N] has each unit."""
    n, both = times.sum(1), np.stack([a, b])
    variance = (times @ (both**2).sum(0) - (times @ both.sum(0)) ** 2 / (2 * n)) / (2 * n - 1)
    return 1 - times @ (a - b) ** 2 / n / np.maximum(2 * variance, 1e-9)


def rate_world(worlds: Sequence[list[np.ndarray]], judged: int, is_learned: np.ndarray) -> np.ndarray:
    """float64[raters, N, 9]: a world by raters that learned from the others, or from it if alone."""
    others = [one for i, one in enumerate(worlds) if i != judged or len(worlds) == 1]
    exact, features = (np.concatenate([one[k][is_learned[one[2]]] for one in others]) for k in (0, 1))
    rng, new, found = generator(judged, "noise of ratings"), worlds[judged][1], list[list[np.ndarray]]()
    for q in range(len(NINE)):
        known = np.isfinite(exact[:, q])
        x, y = (features[known], exact[known, q]) if known.any() else (features, np.zeros(len(features)))
        noisy = y + rng.normal(0, y.std() * np.sqrt(2 * (1 - NOISE) / NOISE), len(y))
        found.append([fit_ridge(x, y, new), fit_ridge(x, noisy, new), fit_ridge(x[:, [q]], y, new[:, [q]])])
    return np.moveaxis(np.array(found), 0, 2)


def order_editors(exact: np.ndarray, rated: np.ndarray, editor: np.ndarray) -> np.ndarray:
    """float64[pairs, 2]: how wrongly two editors are ordered by a question (1/2 if alike); how far apart."""
    means = []
    for of in ((editor == e)[:, None] & np.isfinite(exact) for e in np.unique(editor)):
        means.append([np.where(of, x, 0).sum(0) / np.maximum(of.sum(0), 1) for x in (exact, rated)])
    true, seen = (np.array([a[k] - b[k] for a, b in combinations(means, 2)]).ravel() for k in (0, 1))
    wrong = np.where(seen == 0, HALF, np.sign(seen) != np.sign(true))
    return np.column_stack([wrong, np.abs(true)])[true != 0]


def rater_tables(findings: Findings) -> Iterator[Table]:
    """Agreement with the exact shares by question, and what raters do to the order of editors."""
    worlds = [gather_ratings(findings, cell["seed"]) for cell in findings.cells]
    is_learned = np.isin(findings.options.editors, LEARNED)
    rated = [rate_world(worlds, i, is_learned) for i in range(len(worlds))]
    exact, ratings = np.concatenate([one[0] for one in worlds]), np.concatenate(rated, axis=1)
    times, k = np.ones((1 + RESAMPLES, len(exact))), findings.options.edits
    drawn = generator(0, "edits").multinomial(k, np.full(k, 1 / k), (len(worlds), RESAMPLES))
    times[1:] = np.concatenate([of[:, one[3]] for of, one in zip(drawn, worlds, strict=True)], axis=1)
    rows, orders = list[list[Cell]](), list[list[Cell]]()
    for q, name in enumerate(NINE):
        known = np.isfinite(exact[:, q])
        a, by_rater, weights = exact[known, q], ratings[:, known, q], times[:, known]
        # Nothing can be told of a question that nothing answers, or all alike.
        if len(a) < len(NINE) or not np.ptp(a):
            continue
        alphas = [estimate_from_draws(krippendorff_alphas(a, b, weights), len(a)) for b in by_rater]
        rows.append([NINE_LABELS[name], ALPHAS[q], *alphas, len(a)])
    header = ["question", "printed", *RATERS, "pairs"]
    note = "Printed: the paper's rater and people."
    yield Table("agreement", "Raters and exact shares", header, rows, note)
    for k, rater in enumerate(RATERS):
        by_world = [order_editors(one[0], by[k], one[2]) for one, by in zip(worlds, rated, strict=True)]
        every, most = np.concatenate(by_world), max(one[:, 0].sum() / max(len(one), 1) for one in by_world)
        clear = every[every[:, 1] > CLEAR, 0]
        wrong = [float(of.sum() / max(len(of), 1)) for of in (every[:, 0], clear)]
        orders.append([rater, wrong[0], float(most), wrong[1], len(every), len(clear)])
    header = ["rater", "wrong order", "worst world", "wrong order, clear pairs", "pairs", "clear pairs"]
    yield Table("order", "Pairs of editors in the wrong order, over nine questions", header, orders)


STUDY = Study(
    options=WorldOptions(worlds=3, edits=30, editors=(*LEARNED, "full", "memit", "lora-down")),
    run="nine-questions-{seed}",
    preset="leme",
    corpus=lambda _: {"world.subjects": 120},
    train=lambda _: {"until": 0.94},
    tables=rater_tables,
)

if __name__ == "__main__":
    launch_module()
