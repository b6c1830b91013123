"""What an edit of one property does to another of the same person: accuracy by pair (Tables 4 and 5)."""

from collections.abc import Mapping, Sequence

import numpy as np

from corpus.worlds.people import BORN, CITIZENSHIP, EDITED, GENDER, GROUPINGS, LANGUAGE, WORK
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.seesaw.metrics import is_truth_most_probable
from testbed.evaluations.seesaw.roles import OWN
from testbed.run.strata import STRATA
from testbed.scores.comparison import ScoredEditor
from testbed.scores.metric import Metric, sum_by_case
from testbed.scores.readers import BAYESIAN, BEFORE_EDIT
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import Cell, Table

PAPER_PAIRS = (
    (BORN, GENDER), (BORN, WORK), (GENDER, WORK), (CITIZENSHIP, GENDER), (CITIZENSHIP, WORK),
    (CITIZENSHIP, BORN), (WORK, GENDER), (WORK, CITIZENSHIP),
)  # fmt: skip
"""The pairs that the paper asks: the edited property and the one asked about."""
TO_WORK = ((GENDER, WORK), (CITIZENSHIP, WORK))
QUESTIONED_PROPERTIES = (*dict.fromkeys((WORK, LANGUAGE, CITIZENSHIP, BORN, *reversed(GROUPINGS))),)
PropertyPair = tuple[str, str]


def property_pairs() -> list[PropertyPair]:
    """All ordered pairs, the edited property first."""
    return [(one, other) for one in EDITED for other in QUESTIONED_PROPERTIES if one != other]


def accuracy_by_pair(results: Results, p: np.ndarray, stated: bool) -> dict[PropertyPair, Estimate]:
    """By pair, the share of facts that are the most probable of their candidates; those that were asked.

    Args:
        p: float64[N, C], whoever answers.
        stated: of facts that the corpus states, or of those that it never does.
    """
    return _estimate_by_pair(results, is_truth_most_probable(results, p), stated)


def accuracy_table(editors: Sequence[ScoredEditor], stated: bool) -> Table:
    """Accuracy by pair before any edit, of gold and of every editor after it (Table 5)."""
    first = editors[0]
    readers = first.evaluation.readers(first.edited.results, first.name)
    accuracies = {
        "before": accuracy_by_pair(first.edited.results, readers[BEFORE_EDIT].probability, stated),
        "gold": accuracy_by_pair(first.edited.results, readers[BAYESIAN].probability, stated),
    }
    for editor in editors:
        results = editor.edited.results
        mine = editor.evaluation.readers(results, editor.name)[editor.name].probability
        accuracies[editor.name] = accuracy_by_pair(results, mine, stated)
    asked_pairs = [pair for pair in property_pairs() if pair in accuracies["before"]]
    rows: list[list[Cell]] = [
        [
            " / ".join(pair),
            "yes" if pair in PAPER_PAIRS else "",
            *(of.get(pair) for of in accuracies.values()),
        ]
        for pair in asked_pairs
    ]
    rows.append(
        ["mean of the paper's pairs", "yes", *(_mean_of_paper_pairs(of) for of in accuracies.values())]
    )
    which = "stated" if stated else "unstated"
    note = (
        "The property before the stroke is edited, to another category; the one behind it is asked, right "
        f"being what it was. Facts that the corpus {'states' if stated else 'never states'}; before and gold "
        f"are for the cases of {first.name}."
    )
    return Table(
        f"crossing-{which}",
        f"Cross-property accuracy, {which} facts (Table 5)",
        ["edited / asked", "in the paper", *accuracies],
        rows,
        note,
        words=2,
        contest=0,
    )


def change_table(kinds: Mapping[str, Sequence[ScoredEditor]]) -> Table:
    """Change of accuracy about work and gender after edits of other properties, by kind of world.

    Args:
        kinds: some editors in worlds of each kind.
    """
    rows: list[list[Cell]] = []
    for kind, editors in kinds.items():
        for stated in (True, False):
            facts = "stated" if stated else "unstated"
            first, *_ = editors
            rows.append([kind, facts, "gold", *_accuracy_changes(first, BAYESIAN, stated)])
            rows += [
                [kind, facts, editor.name, *_accuracy_changes(editor, editor.name, stated)]
                for editor in editors
            ]
    named = [*(" / ".join(pair) for pair in TO_WORK), f"any / {GENDER}"]
    note = (
        "Accuracy after the edit less before it, of edits to another category; below 0 it falls. Gold is for "
        "the cases of the first editor."
    )
    return Table(
        "falls", "Work after edits of gender and citizenship", ["worlds", "facts", "who", *named], rows, note,
        words=3,
    )  # fmt: skip


def loss_table(editors: Sequence[ScoredEditor]) -> Table:
    """What gold loses too of the accuracy that is lost, by pair and editor, all facts together."""
    rows: list[list[Cell]] = []
    for editor in editors:
        results = editor.edited.results
        readers = editor.evaluation.readers(results, editor.name)
        before, after, gold = (
            is_truth_most_probable(results, readers[name].probability) > 0.5
            for name in (BEFORE_EDIT, editor.name, BAYESIAN)
        )
        loss_masks = {"lost": before & ~after, "gold loses": before & ~gold, "both": before & ~after & ~gold}
        counts = {name: _sum_by_pair(results, of) for name, of in loss_masks.items()}
        were = _sum_by_pair(results, before)
        for pair in property_pairs():
            if were.get(pair):
                numbers = [int(counts[name].get(pair, 0)) for name in loss_masks]
                share = numbers[2] / numbers[0] if numbers[0] else None
                rows.append([editor.name, f"{pair[0]} / {pair[1]}", int(were[pair]), *numbers, share])
    header = [
        "editor",
        "edited / asked",
        "right before",
        "lost",
        "gold loses",
        "both",
        "share gold loses too",
    ]
    note = "Counts of facts; below 1, the rest of the loss is the editor's own."
    return Table("losses", "How much of the loss is rational", header, rows, note, words=2)


def _accuracy_changes(editor: ScoredEditor, reader: str, stated: bool) -> list[Estimate | None]:
    """Change of accuracy of the pairs of TO_WORK, and about gender after edits of anything else."""
    results = editor.edited.results
    readers = editor.evaluation.readers(results, editor.name)
    before, after = (
        is_truth_most_probable(results, readers[name].probability) for name in (BEFORE_EDIT, reader)
    )
    if reader == BAYESIAN:
        before = is_truth_most_probable(results, results.choices.agent[:, 0])
    masks = _pair_masks(results, stated)
    of_gender = [mask for pair, mask in masks.items() if pair[1] == GENDER]
    wanted_masks = [masks.get(pair) for pair in TO_WORK] + [
        np.logical_or.reduce(of_gender) if of_gender else None
    ]
    metrics = {
        i: sum_by_case(after - before, results.choices.case, len(results), mask)
        for i, mask in enumerate(wanted_masks)
        if mask is not None
    }
    changes = estimate_metrics(metrics, cluster_levels(results), np.ones(len(results), bool))
    return [changes.get(i) for i in range(len(wanted_masks))]


def _pair_masks(results: Results, stated: bool | None = None) -> dict[PropertyPair, np.ndarray]:
    """bool[N] of each pair: the questions about it, after edits to another category."""
    c = results.choices
    own = (c.role == OWN) & results.cases["elsewhere"].astype(bool)[c.case]
    if stated is not None:
        own &= (c.facets["stratum"] != STRATA[0]) == stated
    edited, asked = results.cases["property"].astype(str)[c.case], c.facets["property"].astype(str)
    masks = {pair: own & (edited == pair[0]) & (asked == pair[1]) for pair in property_pairs()}
    return {pair: mask for pair, mask in masks.items() if mask.any()}


def _estimate_by_pair(results: Results, values: np.ndarray, stated: bool) -> dict[PropertyPair, Estimate]:
    metrics: Mapping[PropertyPair, Metric] = {
        pair: sum_by_case(values, results.choices.case, len(results), mask)._replace(share=True)
        for pair, mask in _pair_masks(results, stated).items()
    }
    return estimate_metrics(metrics, cluster_levels(results), np.ones(len(results), bool))


def _sum_by_pair(results: Results, values: np.ndarray) -> dict[PropertyPair, float]:
    return {pair: float(values[mask].sum()) for pair, mask in _pair_masks(results).items()}


def _mean_of_paper_pairs(by_pair: Mapping[PropertyPair, Estimate]) -> float | None:
    known = [by_pair[pair].value for pair in PAPER_PAIRS if pair in by_pair]
    return float(np.mean(known)) if known else None
