"""What an edit of one property does to another of the same person: accuracy by pair (Tables 4 and 5)."""

from collections.abc import Mapping, Sequence

import numpy as np

from corpus.worlds.people import BORN, CITIZENSHIP, EDITED, GENDER, GROUPINGS, LANGUAGE, WORK
from testbed.engine.results import Results
from testbed.evaluations.paper_tables import read_paper_figures
from testbed.evaluations.seesaw import Seesaw
from testbed.evaluations.seesaw.metrics import estimate_means, is_crossing, is_stated, is_truth_most_probable
from testbed.pages.chapter import SectionPlan
from testbed.scores.readers import BAYESIAN, BEFORE_EDIT
from testbed.scores.statistics import Estimate
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table

PAPER_PAIRS = (
    (BORN, GENDER), (BORN, WORK), (GENDER, WORK), (CITIZENSHIP, GENDER), (CITIZENSHIP, WORK),
    (CITIZENSHIP, BORN), (WORK, GENDER), (WORK, CITIZENSHIP),
)  # fmt: skip
"""Pairs of the paper: the edited property, and the property in question."""
TO_WORK = ((GENDER, WORK), (CITIZENSHIP, WORK), (BORN, WORK))
QUESTIONED_PROPERTIES = (*dict.fromkeys((WORK, LANGUAGE, CITIZENSHIP, BORN, *reversed(GROUPINGS))),)
PropertyPair = tuple[str, str]


def property_pairs() -> list[PropertyPair]:
    """All ordered pairs, the edited property first."""
    return [(one, other) for one in EDITED for other in QUESTIONED_PROPERTIES if one != other]


def accuracy_by_pair(results: Results, p: np.ndarray, stated: bool) -> dict[PropertyPair, Estimate]:
    """By pair with questions, the share of true facts that are the most probable candidates.

    Args:
        p: float64[N, C], the probabilities of a reader.
        stated: whether to count the facts that the corpus states, or those that it never states.
    """
    values = is_truth_most_probable(results, p)
    masks = _pair_masks(results, stated)
    return estimate_means(results, {pair: (values, mask) for pair, mask in masks.items()}, share=True)


def accuracy_table(editors: Sequence[ScoredEditor], stated: bool) -> Table:
    """Accuracy by pair before any edit, of gold and of every editor after it (Table 5)."""
    first = editors[0]
    readers = first.readers
    accuracies = {
        "before": accuracy_by_pair(first.edits.results, readers[BEFORE_EDIT].probability, stated),
        "gold": accuracy_by_pair(first.edits.results, readers[BAYESIAN].probability, stated),
    }
    for editor in editors:
        results = editor.edits.results
        mine = editor.readers[editor.name].probability
        accuracies[editor.name] = accuracy_by_pair(results, mine, stated)
    pairs = [pair for pair in property_pairs() if pair in accuracies["before"]]
    by_reader = accuracies.values()
    rows: list[list[Cell]] = [
        [" / ".join(pair), "yes" if pair in PAPER_PAIRS else "", *(of.get(pair) for of in by_reader)]
        for pair in pairs
    ]
    rows.append(["mean of the paper's pairs", "yes", *map(_mean_of_paper_pairs, by_reader)])
    which = "stated" if stated else "unstated"
    note = (
        "An edit changes the first property to another category; the question is about the second, whose "
        f"old object is right. Facts that the corpus {'states' if stated else 'never states'}; before and "
        f"gold are for the cases of {first.name}."
    )
    title, header = f"Cross-property accuracy, {which} facts (Table 5)", ["edited / asked", "in the paper"]
    return Table(f"crossing-{which}", title, [*header, *accuracies], rows, note, words=2)


def change_table(kinds: Mapping[str, Sequence[ScoredEditor]]) -> Table:
    """Change of accuracy about work and gender after edits of other properties, by kind of world.

    Args:
        kinds: some editors in worlds of each kind.
    """
    rows: list[list[Cell]] = []
    for kind, editors in kinds.items():
        readers = [("gold", editors[0], BAYESIAN), *((e.name, e, e.name) for e in editors)]
        for facts in ("stated", "unstated"):
            rows += [
                [kind, facts, who, *_accuracy_changes(editor, reader, facts == "stated")]
                for who, editor, reader in readers
            ]
    header = ["worlds", "facts", "who", *(" / ".join(pair) for pair in TO_WORK), f"any / {GENDER}"]
    note = (
        "Accuracy after the edit less before it, of edits to another category; below 0 it falls. Gold is for "
        "the cases of the first editor."
    )
    title = "Work after edits of gender, citizenship and birthplace"
    return Table("falls", title, header, rows, note, words=3)


def loss_table(editors: Sequence[ScoredEditor]) -> Table:
    """Facts lost by an editor that gold loses too, by pair and editor, stated or not."""
    rows: list[list[Cell]] = []
    for editor in editors:
        results = editor.edits.results
        readers = editor.readers
        before, after, gold = (
            is_truth_most_probable(results, readers[name].probability) > 0.5
            for name in (BEFORE_EDIT, editor.name, BAYESIAN)
        )
        for pair, mask in _pair_masks(results).items():
            if (mask & before).any():
                losses = (np.True_, ~after, ~gold, ~after & ~gold)
                counts = [int((mask & before & loss).sum()) for loss in losses]
                share = counts[3] / counts[1] if counts[1] else None
                rows.append([editor.name, " / ".join(pair), *counts, share])
    count_names = ["right before", "lost", "gold loses", "both"]
    header = ["editor", "edited / asked", *count_names, "share gold loses too"]
    note = "Counts of facts. If the share is below 1, the rest of the loss is the editor's own."
    return Table("losses", "How much of the loss is rational", header, rows, note, words=2)


def printed_accuracy_table(editors: Sequence[ScoredEditor]) -> Table:
    """Our accuracy and its change by the paper's pairs, above the printed ones of its Tables 5 and 4."""
    names = [*(" / ".join(pair) for pair in PAPER_PAIRS), "mean"]
    rows: list[list[Cell]] = []
    for editor in editors:
        before, after = (
            accuracy_by_pair(editor.edits.results, editor.readers[name].probability, stated=True)
            for name in (BEFORE_EDIT, editor.name)
        )
        figures: dict[str, dict[PropertyPair, float]] = {
            "before": {pair: of.value for pair, of in before.items()},
            "after": {pair: of.value for pair, of in after.items()},
            "change": {pair: of.value - before[pair].value for pair, of in after.items()},
        }
        for what, values in figures.items():
            row = [values.get(pair) for pair in PAPER_PAIRS]
            known = [value for value in row if value is not None]
            rows.append([editor.name, what, *row, sum(known) / len(known) if known else None])
    for number, prefix in ((5, ""), (4, "MEMIT, ")):
        for (who,), of_paper in read_paper_figures(Seesaw.package, f"table_{number}").items():
            rows.append([f"{prefix}{who}", f"printed, Table {number}", *map(of_paper.get, names)])
    note = "Facts that the corpus states. The earlier version prints the same means with three digits."
    title = "Cross-property accuracy beside the paper's"
    return Table("paper-5", title, ["who", "figure", *names], rows, note, words=2)


def count_table(results: Results) -> Table:
    """After which edits other properties were asked, beside the paper's Table 7."""
    printed = read_paper_figures(Seesaw.package, "table_7")
    masks, rows = _pair_masks(results), list[list[Cell]]()
    for pair in property_pairs():
        name, count = " / ".join(pair), int(masks[pair].sum()) if pair in masks else 0
        figures = printed.get((name,), {})
        rows.append([name, count, *(int(figures[k]) if figures else None for k in ("cases", "prompts"))])
    header = ["edited / asked", "questions", "printed cases", "printed prompts"]
    return Table("counts-own", "Other properties asked (Table 7)", header, rows)


def _accuracy_changes(editor: ScoredEditor, reader: str, stated: bool) -> list[Estimate | None]:
    """Change of accuracy of the pairs of TO_WORK, and about gender after edits of anything else."""
    results = editor.edits.results
    who = editor.readers[reader]
    before, after = (is_truth_most_probable(results, p) for p in (who.start, who.probability))
    masks = _pair_masks(results, stated)
    masks_by_pair = {pair: masks[pair] for pair in TO_WORK if pair in masks}
    of_gender = [mask for pair, mask in masks.items() if pair[1] == GENDER]
    if of_gender:
        masks_by_pair["any", GENDER] = np.logical_or.reduce(of_gender)
    changes = estimate_means(results, {pair: (after - before, mask) for pair, mask in masks_by_pair.items()})
    return [changes.get(pair) for pair in (*TO_WORK, ("any", GENDER))]


def _pair_masks(results: Results, stated: bool | None = None) -> dict[PropertyPair, np.ndarray]:
    """bool[N] of each pair: the questions about it, after edits to another category."""
    c, own = results.choices, is_crossing(results)
    if stated is not None:
        own = own & (is_stated(results) == stated)
    of_edit, of_question = results.cases["property"].astype(str)[c.case], c.facets["property"].astype(str)
    masks = {pair: own & (of_edit == pair[0]) & (of_question == pair[1]) for pair in property_pairs()}
    return {pair: mask for pair, mask in masks.items() if mask.any()}


def _mean_of_paper_pairs(by_pair: Mapping[PropertyPair, Estimate]) -> float | None:
    known = [by_pair[pair].value for pair in PAPER_PAIRS if pair in by_pair]
    return float(np.mean(known)) if known else None


SECTION = SectionPlan(
    "crossing", "What else about the person?",
    "Questions are about the person's other facts, over all candidates. A fact that the agent loses "
    "too was rational to lose; a fact that the agent keeps is the editor's loss.",
    tables=[lambda of: accuracy_table(of.editors, stated=True)],
    more_tables=[lambda of: accuracy_table(of.editors, stated=False), lambda of: loss_table(of.editors)],
)  # fmt: skip
