"""A rater of passages that learns from labels as noisy as people's: which editors does it put in wrong order?

Command:
    python -m experiments.rater

Rosati et al. 2024 judge passages by a classifier that learned from people's labels: does a passage support a
claim, contradict it, or neither (726 labels; two raters agree with Krippendorff's alpha .65; the classifier
is right in 85%)? Here the right label is known. Labels of half of the edits are changed at random until two
raters would agree as people did; a classifier learns from them, reading words alone; then it judges the
passages of the other half, and editors are put in order by it and by the exact judge. Beside it stand the
noisy labels themselves, and a rule that knows one thing: a passage supports a claim if one of its sentences
has all the words of the claim. The classifier's penalty is chosen on a world of its own, of seed 1000.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import log_softmax

from corpus.seeds import generator
from experiments import stages
from experiments.command import launch_module
from experiments.settings import StagedSettings
from testbed.evaluations.leme import RELATED, SUBJECT
from testbed.evaluations.leme.passages import passages_of_editor
from testbed.evaluations.leme.statements import count_words
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run
from testbed.run.world import World, load_world
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.settings import CaseConfig, EditSettings

NAME = "leme"
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
ERRORS = ("right", "pairs in the wrong order", "clear pairs in the wrong order", "largest error of a share")
WRONG = 1
"""The place of pairs in the wrong order among ERRORS."""
WHOLE = 3
"""The place among the classifier's features of the share of sentences that have all words of a claim."""


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is written, and labelled."""

    worlds: int = 3
    """Worlds, of seeds 1, 2, ..."""
    editors: tuple[str, ...] = ("none", "full", "ft-constrained", "rome", "memit", "lora-down", "in-context")
    """Whose passages are judged."""
    edits: int = 30
    """Edits by each in each world; labels are of the first half of them."""
    panels: int = 20
    """Times over that labels are drawn."""


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


def run_study(options: Settings) -> None:
    """Worlds, models, edits, raters, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; trainings stop when the time is over."""
    for run, seed in [*development_runs(options.runs), *report_runs(options.runs, options.worlds)]:
        where = stages.settings_of_run(run, seed)
        yield from stages.model_stages(replace(CORPUS[NAME], **where), replace(TRAIN[NAME], **where), clock)
        yield from stages.edit_stages([_edit_settings(options, run, seed)])


def report_runs(runs: Path, worlds: int) -> list[tuple[Run, int]]:
    """The run and the seed of each world that is reported."""
    return stages.runs_of_worlds(runs, "rater", worlds)


def development_runs(runs: Path) -> list[tuple[Run, int]]:
    """The same of the world on which the penalty is chosen."""
    return stages.runs_of_worlds(runs, "rater", 1, DEVELOPMENT_SEED)


def _edit_settings(options: Settings, run: Run, seed: int) -> EditSettings:
    where = stages.settings_of_run(run, seed)
    return replace(EDIT[NAME], editors=options.editors, cases=CaseConfig(count=options.edits), **where)


def record_study(options: Settings) -> Path:
    """What each rater gets wrong, over worlds and in each, and whom it favours."""
    names, by_world, labelled = [], {}, options.edits // 2
    ((development, seed),) = development_runs(options.runs)
    runs = report_runs(options.runs, options.worlds)
    examples = gather_examples(score_world(options, development, seed), load_world(development))
    right = rate_penalties(examples, labelled, options.panels)
    penalty = max(right, key=lambda one: right[one])
    for run, seed in runs:
        editors = score_world(options, run, seed)
        names = [editor.name for editor in editors]
        examples = gather_examples(editors, load_world(run))
        by_world[str(seed)] = judge_raters(examples, labelled, options.panels, seed, penalty)
    raters = [*next(iter(by_world.values()))]
    errors = {rater: np.stack([world[rater].errors for world in by_world.values()]) for rater in raters}
    shares = {
        rater: np.mean([world[rater].shares for world in by_world.values()], axis=0) for rater in raters
    }
    pages = [
        penalty_table(right),
        errors_table(errors),
        *(shares_table(kind, names, shares) for kind in range(len(CLAIMS))),
    ]
    first, _ = runs[0]
    figures = {
        seed: {
            rater: dict(zip(ERRORS, judged.errors.tolist(), strict=True)) for rater, judged in world.items()
        }
        for seed, world in by_world.items()
    }
    return options.record(first, {"rater.md": stages.show_tables(pages)}, ("world", "rater"), found=figures)


def penalty_table(right: Mapping[float, float]) -> Table:
    """What the penalty was chosen by."""
    rows: list[list[Cell]] = [[f"{penalty:g}", share] for penalty, share in right.items()]
    title = f"Right labels by the classifier, world {DEVELOPMENT_SEED}"
    return Table("penalty", title, ["penalty", "right"], rows)


def score_world(options: Settings, run: Run, seed: int) -> list[ScoredEditor]:
    """The editors of one world; experiments.leme_strength makes other edits in the same runs."""
    return stages.score_runs([run], NAME, stages.config_matcher(_edit_settings(options, run, seed)))


def errors_table(errors: Mapping[str, np.ndarray]) -> Table:
    """A row for each rater: means over worlds, and the worst world."""
    rows: list[list[Cell]] = [
        [rater, *by_world.mean(0).tolist(), float(by_world[:, WRONG].max())]
        for rater, by_world in errors.items()
    ]
    note = f"A pair of editors differs clearly where their shares do by more than {CLEAR:g}."
    header = ["rater", *ERRORS, f"{ERRORS[WRONG]}, worst world"]
    return Table("raters", "What raters get wrong, mean over worlds", header, rows, note)


def shares_table(kind: int, names: Sequence[str], shares: Mapping[str, np.ndarray]) -> Table:
    """A row for each editor: the share of passages that support a kind of claim, by each rater."""
    rows: list[list[Cell]] = [
        [name, *(float(by_editor[number, kind]) for by_editor in shares.values())]
        for number, name in enumerate(names)
    ]
    title = f"Passages that support the claim: {[*CLAIMS][kind]}"
    return Table(f"shares-{kind}", title, ["editor", *shares], rows)


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


if __name__ == "__main__":
    launch_module()
