"""A rater of passages that learns from labels as noisy as people's, and what it gets wrong."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import log_softmax

from corpus.seeds import generator
from experiments.study import Findings
from testbed.evaluations.leme import RELATED, SUBJECT
from testbed.evaluations.leme.shown import passages_of_editor
from testbed.evaluations.leme.statements import count_words
from testbed.run.world import World, load_world
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Table

CLAIMS = {
    "ground truth, subject": SUBJECT,
    "new fact, subject": SUBJECT,
    "old fact, subject": SUBJECT,
    "ground truth, related": RELATED,
    "new fact, related": RELATED,
}
"""Whose passage each kind of claim is held against."""
VERDICTS = (-1, 0, 1)
"""Contradicted, neither, supported; a label is a place among them."""
SUPPORTED = 2
AGREEMENT = 0.65
"""Krippendorff's alpha of the paper's raters."""
PRINTED_LABELS = 726
"""How many labels the paper's classifier learned from."""
CLEAR = 0.1
"""Shares of two editors that differ by more differ clearly."""
COMMON = 30
"""Words that the classifier knows: the commonest of the passages it learns from."""
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)
"""On the classifier's squared weights, to choose among."""
DEVELOPMENT_SEED = 1000
PANELS = 20
"""Times over that labels are drawn."""
ERRORS = ("right", "pairs in the wrong order", "clear pairs in the wrong order", "largest error of a share")
WRONG = 1
"""The place of pairs in the wrong order among ERRORS."""
WHOLE = 3
"""The place among the classifier's features of the share of sentences that have all words of a claim."""


class Examples(NamedTuple):
    """Passages and claims of a world, one row each.

    Attributes:
        passages: the sentences of each row's passage; rows share them.
        claims: each row's claim in words.
        label: int[N], places in VERDICTS: what is so.
        editor: int[N], who made the edit.
        kind: int[N], of claim, in the order of CLAIMS.
        case: int[N].
    """

    passages: list[list[str]]
    claims: list[str]
    label: np.ndarray
    editor: np.ndarray
    kind: np.ndarray
    case: np.ndarray

    def select(self, rows: np.ndarray) -> "Examples":
        """Some rows."""
        texts = [self.passages[i] for i in rows], [self.claims[i] for i in rows]
        return Examples(*texts, *(column[rows] for column in self[2:]))


class Judged(NamedTuple):
    """What a rater made of a world.

    Attributes:
        errors: float64[4], in the order of ERRORS.
        shares: float64[editors, kinds of claims], of passages that support the claim.
    """

    errors: np.ndarray
    shares: np.ndarray


def gather_examples(editors: Sequence[ScoredEditor], world: World) -> Examples:
    """Every passage that edited models wrote, with every claim that is held against it."""
    graph = world.graph
    passages, claims, columns = [], [], []
    for number, editor in enumerate(editors):
        for pair in passages_of_editor(editor).after:
            texts = {role: [line.text for line in pair.passages[role]] for role in (SUBJECT, RELATED)}
            for kind, (name, role) in enumerate(CLAIMS.items()):
                for ((subject, relation), obj), verdict in zip(
                    pair.claims[name], pair.verdicts[name], strict=True
                ):
                    words = graph.entities[subject], graph.relations[relation], graph.entities[obj]
                    passages.append(texts[role])
                    claims.append(" ".join(words))
                    columns.append((VERDICTS.index(verdict), number, kind, pair.case))
    return Examples(passages, claims, *np.array(columns).T)


def judge_raters(examples: Examples, cases: int, panels: int, seed: int, penalty: float) -> dict[str, Judged]:
    """Let every rater judge the edits that it has no labels of.

    Args:
        cases: the first so many are labelled; raters judge the others.
        panels: times over that labels are drawn.
        penalty: on the classifier's squared weights.
    """
    learned, judged, seen, new = split_examples(examples, cases)
    noise = noise_of_labels(examples)
    by_panel: dict[str, list[Judged]] = {}
    for panel in range(panels):
        rng = generator(seed, f"rater {panel}")
        labels, others = (change_labels(part.label, noise, rng) for part in (learned, judged))
        few = rng.permutation(len(labels))[:PRINTED_LABELS]
        ratings = {
            f"classifier, {PRINTED_LABELS} labels": fit_classifier(seen[few], labels[few], penalty)(new),
            "classifier, all labels": fit_classifier(seen, labels, penalty)(new),
            "the labels themselves": others,
        }
        for rater, rating in ratings.items():
            by_panel.setdefault(rater, []).append(compare_ratings(judged, rating))
    without_noise = {
        "exact": judged.label,
        "classifier, all labels right": fit_classifier(seen, learned.label, penalty)(new),
        "all words of the claim in a sentence": np.where(new[:, WHOLE] > 0, SUPPORTED, 1),
    }
    means = {
        rater: Judged(*(np.mean(each, axis=0) for each in zip(*of_rater, strict=True)))
        for rater, of_rater in by_panel.items()
    }
    return {rater: compare_ratings(judged, rating) for rater, rating in without_noise.items()} | means


def rate_penalties(examples: Examples, cases: int, panels: int) -> dict[float, float]:
    """By penalty, the share of labels that a classifier gets right which learned from few noisy ones."""
    learned, judged, seen, new = split_examples(examples, cases)
    noise = noise_of_labels(examples)
    right: dict[float, list[float]] = {penalty: [] for penalty in PENALTIES}
    for panel in range(panels):
        rng = generator(DEVELOPMENT_SEED, f"rater {panel}")
        few = rng.permutation(len(learned.label))[:PRINTED_LABELS]
        labels = change_labels(learned.label, noise, rng)[few]
        for penalty, shares in right.items():
            rating = fit_classifier(seen[few], labels, penalty)(new)
            shares.append(float(np.mean(rating == judged.label)))
    return {penalty: float(np.mean(shares)) for penalty, shares in right.items()}


def split_examples(examples: Examples, cases: int) -> tuple[Examples, Examples, np.ndarray, np.ndarray]:
    """What is labelled and what is judged, and what the classifier reads of each."""
    is_labelled = examples.case < cases
    learned, judged = (examples.select(np.flatnonzero(rows)) for rows in (is_labelled, ~is_labelled))
    vocabulary = commonest_words(learned)
    return learned, judged, read_features(learned, vocabulary), read_features(judged, vocabulary)


def noise_of_labels(examples: Examples) -> float:
    """How often labels are changed, for two raters to agree as the paper's did."""
    return noise_of_agreement(np.bincount(examples.label, minlength=3) / len(examples.label), AGREEMENT)


def noise_of_agreement(shares: np.ndarray, alpha: float) -> float:
    """How often labels are changed where two who do so have a Krippendorff's alpha.

    A label becomes any other one, all as likely. Alpha is 1 - observed / expected disagreement (Krippendorff
    2011, nominal data, many labels).

    Args:
        shares: float64[K] of the right labels.
    """
    kinds = len(shares)

    def excess(noise: float) -> float:
        given = (1 - noise) * shares + noise * (1 - shares) / (kinds - 1)
        observed = 1 - (1 - noise) ** 2 - noise**2 / (kinds - 1)
        return 1 - observed / (1 - (given**2).sum()) - alpha

    return float(brentq(excess, 0, 0.5))


def change_labels(labels: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """The labels, each with probability `noise` one of the others."""
    others = (labels + rng.integers(1, len(VERDICTS), len(labels))) % len(VERDICTS)
    return np.where(rng.random(len(labels)) < noise, others, labels)


def commonest_words(examples: Examples) -> dict[str, int]:
    """The commonest words of some passages, numbered."""
    counts = count_words(" ".join(sentence for passage in examples.passages for sentence in passage))
    return {word: i for i, (word, _) in enumerate(counts.most_common(COMMON))}


def read_features(examples: Examples, vocabulary: Mapping[str, int]) -> np.ndarray:
    """What the classifier reads of each passage and claim, float64[N, F].

    Shares of a claim's words in the passage's sentences: the largest, the second, the mean; of sentences the
    share that has all words of the claim, and that has all but one; then which common words the first
    sentence has that shares most, apart for one with all words of the claim and one without.
    """
    features = np.zeros((len(examples.claims), 5 + 2 * COMMON))
    words = {
        id(passage): [count_words(sentence).keys() for sentence in passage] for passage in examples.passages
    }
    for row, passage, claim in zip(features, examples.passages, examples.claims, strict=True):
        of_claim = count_words(claim).keys()
        sentences = words[id(passage)]
        if not sentences:
            continue
        shared = np.array([len(of_claim & sentence) for sentence in sentences])
        share = np.sort(shared / len(of_claim))[::-1]
        row[:2][: len(share)] = share[:2]
        row[2:5] = share.mean(), np.mean(shared == len(of_claim)), np.mean(shared == len(of_claim) - 1)
        best = int(shared.argmax())
        offset = 5 + COMMON * (shared[best] == len(of_claim))
        row[[offset + vocabulary[word] for word in sentences[best] if word in vocabulary]] = 1
    return features


def fit_classifier(
    features: np.ndarray, labels: np.ndarray, penalty: float
) -> Callable[[np.ndarray], np.ndarray]:
    """Softmax regression with a penalty on squared weights; returns what labels features int[N] of others."""
    kinds = len(VERDICTS)
    wanted = np.eye(kinds)[labels]
    inputs = np.column_stack([features, np.ones(len(features))])

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(-1, kinds)
        log_p = log_softmax(inputs @ weights, axis=1)
        gradient = inputs.T @ (np.exp(log_p) - wanted) / len(inputs) + 2 * penalty * weights
        return float(-(wanted * log_p).sum() / len(inputs) + penalty * (flat**2).sum()), gradient.ravel()

    weights = minimize(loss, np.zeros(inputs.shape[1] * kinds), jac=True, method="L-BFGS-B").x.reshape(
        -1, kinds
    )
    return lambda others: (np.column_stack([others, np.ones(len(others))]) @ weights).argmax(axis=1)


def compare_ratings(examples: Examples, rating: np.ndarray) -> Judged:
    """How far a rater's labels are from what is so, and what that does to the order of editors."""
    exact, rated = (supported_shares(examples, labels) for labels in (examples.label, rating))
    pairs = [*combinations(range(len(exact)), 2)]
    true, seen = (np.array([shares[i] - shares[j] for i, j in pairs]) for shares in (exact, rated))
    # Whom a rater holds to be equal it orders rightly in half of all cases.
    wrong = np.where(seen == 0, 0.5, np.sign(seen) != np.sign(true))
    errors = [
        np.mean(rating == examples.label),
        wrong[true != 0].mean(),
        wrong[np.abs(true) > CLEAR].mean(),
        np.abs(rated - exact).max(),
    ]
    return Judged(np.array(errors), rated)


def supported_shares(examples: Examples, labels: np.ndarray) -> np.ndarray:
    """The share of passages that support each kind of claim, float64[editors, kinds]."""
    shape = examples.editor.max() + 1, len(CLAIMS)
    place = np.ravel_multi_index((examples.editor, examples.kind), shape)
    size = shape[0] * shape[1]
    supported = np.bincount(place, labels == SUPPORTED, size)
    return (supported / np.maximum(np.bincount(place, minlength=size), 1)).reshape(shape)


def rater_tables(findings: Findings) -> Iterator[Table]:
    """What each rater gets wrong, over worlds and in the worst, and whom it favours."""
    options, by_world, names = findings.options, [], list[str]()
    right: dict[float, float] = {}
    for cell in findings.cells:
        editors = findings.editors(seed=cell["seed"])
        examples = gather_examples(editors, load_world(findings.run_of(cell)))
        labelled = options.edits // 2
        if cell["world"] == "development":
            right = rate_penalties(examples, labelled, PANELS)
            continue
        names, penalty = [one.name for one in editors], max(right, key=lambda one: right[one])
        by_world.append(judge_raters(examples, labelled, PANELS, cell["seed"], penalty))
    title = f"Right labels by the classifier, world {DEVELOPMENT_SEED}"
    yield Table("penalty", title, ["penalty", "right"], [[f"{p:g}", share] for p, share in right.items()])
    errors = {rater: np.stack([world[rater].errors for world in by_world]) for rater in by_world[0]}
    rows = [[rater, *of.mean(0).tolist(), float(of[:, WRONG].max())] for rater, of in errors.items()]
    note = f"A pair of editors differs clearly where their shares do by more than {CLEAR:g}."
    header = ["rater", *ERRORS, f"{ERRORS[WRONG]}, worst world"]
    yield Table("raters", "What raters get wrong, mean over worlds", header, rows, note)
    shares = {rater: np.mean([world[rater].shares for world in by_world], axis=0) for rater in by_world[0]}
    for kind, claim in enumerate(CLAIMS):
        rows = [[name, *(float(of[i, kind]) for of in shares.values())] for i, name in enumerate(names)]
        yield Table(f"shares-{kind}", f"Passages that support the claim: {claim}", ["editor", *shares], rows)
