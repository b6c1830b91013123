"""The tables of Rosati et al. 2024 as printed, beside ours; and what people made of passages."""

from collections.abc import Sequence

from testbed.evaluations.leme import meanings
from testbed.evaluations.leme.meanings import (
    ENTROPY,
    FACTUAL_RELATED,
    FACTUAL_SUBJECT,
    FOUR,
    INTERNAL_RELATED,
    INTERNAL_SUBJECT,
    NATURALNESS,
    NINE,
    TOPICALITY,
    contradiction_of,
    rouge_metric,
    support_of,
)
from testbed.evaluations.leme.subsets import KINDS, kinds_of_edits
from testbed.scores.comparison import ScoredEditor
from testbed.scores.tables import Cell, Table, better_of

RATINGS: dict[str, tuple[float, ...]] = {
    "no edit, GPT-J": (1.3, 3.5, 2.3, 3.8, 6.6, 7.0, 6.6, 5.4, 5.4),
    "IKE, GPT-J": (2.0, 3.9, 2.4, 4.1, 6.4, 6.9, 6.5, 5.4, 5.3),
    "FT, GPT-J": (1.5, 3.8, 2.1, 4.1, 6.5, 6.9, 6.6, 5.6, 5.4),
    "MEND, GPT-J": (3.2, 4.0, 2.4, 4.1, 6.0, 6.7, 6.5, 4.5, 5.1),
    "ROME, GPT-J": (2.8, 3.9, 1.5, 3.2, 5.9, 6.9, 6.0, 4.1, 4.4),
    "MEMIT, GPT-J": (2.1, 3.8, 2.0, 3.7, 6.5, 6.9, 6.5, 5.5, 5.3),
    "no edit, Llama-2 chat": (2.2, 2.0, 3.5, 4.7, 6.9, 7.0, 6.6, 7.0, 6.9),
    "IKE, Llama-2 chat": (4.7, 3.4, 3.4, 4.9, 6.8, 7.0, 6.6, 7.0, 6.8),
    "FT, Llama-2 chat": (5.1, 3.7, 2.1, 3.7, 5.7, 6.7, 6.1, 5.1, 5.8),
    "MEND, Llama-2 chat": (3.1, 2.6, 3.4, 4.6, 6.8, 7.0, 6.6, 6.9, 6.8),
    "ROME, Llama-2 chat": (5.4, 3.5, 1.9, 3.9, 6.4, 7.0, 5.8, 6.5, 6.2),
    "MEMIT, Llama-2 chat": (5.4, 3.3, 2.0, 3.8, 6.3, 6.9, 5.9, 6.3, 6.2),
    "IKE, GPT-4": (5.2, 5.1, 3.2, 6.1, 6.7, 7.0, 6.7, 6.7, 7.0),
}
"""Table 1 as printed: mean ratings from 1 to 7 by their rater model, in the order of NINE."""
SHORT: dict[str, tuple[float, ...]] = {
    "FT, GPT-J": (0.01, 0.00, 0.98, 0.23),
    "IKE, GPT-J": (0.92, 0.75, 0.75, 0.47),
    "MEMIT, GPT-J": (0.78, 0.38, 0.98, 0.22),
    "MEND, GPT-J": (0.91, 0.27, 0.78, 0.41),
    "ROME, GPT-J": (0.84, 0.58, 0.69, 0.22),
    "FT, Llama-2 chat": (0.31, 0.09, 0.73, 0.25),
    "IKE, Llama-2 chat": (0.22, 0.79, 0.52, 0.58),
    "MEMIT, Llama-2 chat": (0.98, 0.49, 0.96, 0.24),
    "MEND, Llama-2 chat": (0.49, 0.21, 0.92, 0.36),
    "ROME, Llama-2 chat": (0.97, 0.52, 0.94, 0.24),
}
"""Table 17 as printed (CounterFact), as shares: edit success, generalisation, locality, portability."""
CORRELATIONS = (
    ("edit consistency", "locality", 0.17),
    ("edit consistency", "portability", 0.17),
    ("cross-passage consistency", "portability", 0.13),
    ("edit consistency", "generalisation", 0.13),
    ("cross-passage consistency", "generalisation", 0.12),
    ("edit consistency", "edit success", 0.10),
)
"""Table 16 as printed: Spearman correlations above .1; factual and internal consistency have none."""
SIMPLE = {
    (rouge_metric(FACTUAL_SUBJECT), FACTUAL_SUBJECT): 0.46,
    (rouge_metric(FACTUAL_RELATED), FACTUAL_RELATED): 0.46,
    (rouge_metric(INTERNAL_SUBJECT), INTERNAL_SUBJECT): 0.37,
    (rouge_metric(INTERNAL_RELATED), INTERNAL_RELATED): 0.37,
    (rouge_metric(TOPICALITY), TOPICALITY): 0.30,
    (ENTROPY, NATURALNESS): -0.57,
}
"""Appendix I as printed: Spearman correlations of simple measures with ratings, both passages together."""
ENTROPIES = {
    "no edit, GPT-J": 8.559,
    "IKE, GPT-J": 8.497,
    "FT, GPT-J": 8.5,
    "MEND, GPT-J": 8.37,
    "ROME, GPT-J": 8.376,
    "MEMIT, GPT-J": 8.51,
    "no edit, Llama-2 chat": 8.221,
    "IKE, Llama-2 chat": 8.036,
    "FT, Llama-2 chat": 7.971,
    "MEND, Llama-2 chat": 8.206,
    "ROME, Llama-2 chat": 8.137,
    "MEMIT, Llama-2 chat": 8.15,
}
"""Table 20 as printed, n-gram entropy. Its three columns of ROUGE-1 are left out: it has two heads."""
SHARES: dict[str, tuple[float | None, ...]] = {
    "GPT-J, CounterFact": (0.08, 0.0),
    "GPT-J, zsRE counterfactual": (0.38, 0.05),
    "GPT-J, zsRE factual": (0.35, 0.38),
    "Llama-2 chat, CounterFact": (0.18, 0.02),
    "Llama-2 chat, zsRE counterfactual": (0.58, 0.24),
    "Llama-2 chat, zsRE factual": (0.37, 0.58),
}
"""Table 15 as printed: the edit is a fact update; the edit was already true."""
CLAIMS_SHOWN = (
    contradiction_of("ground truth, subject"),
    support_of("ground truth, subject"),
    support_of("new fact, subject"),
    support_of("old fact, subject"),
    support_of("ground truth, related"),
    contradiction_of("ground truth, related"),
)
PEOPLE: dict[str, tuple[float, ...]] = {
    "no edit": (0.27, 0.59, 0.09, 0.82, 0.51, 0.13),
    "ROME": (0.49, 0.33, 0.85, 0.15, 0.18, 0.15),
    "human": (0.12, 0.64, 0.95, 0.58, 0.58, 0.18),
}
"""Judgements of people recomputed from the authors' annotations, in the order of CLAIMS_SHOWN."""
LABELS = (
    ("ground_truth_and_main_passage", "contradicts"),
    ("ground_truth_and_main_passage", "supports"),
    ("new_fact_and_main_passage", "supports"),
    ("old_fact_and_main_passage", "supports"),
    ("ground_truth_and_related_passage", "supports"),
    ("ground_truth_and_related_passage", "contradicts"),
)
"""What CLAIMS_SHOWN are called in the authors' file."""
JUDGEMENTS = {"no edit": 564, "ROME": 541, "human": 537}
"""How many judgements there are of each."""


def share_as_rating(share: float) -> float:
    """A share on the paper's scale from 1 to 7."""
    return 1 + 6 * share


def nine_questions_table(editors: Sequence[ScoredEditor]) -> Table:
    """The nine questions as shares, with intervals."""
    better = better_of(editors[0].evaluation.metrics)
    note = "Shares under the first reading, \u201cdo\u201d; the last rows bound what the numbers can mean."
    return Table("leme-nine", "Nine questions", ["who", *NINE], _metric_rows(editors, NINE), note,
                 better={name: better[name] for name in NINE}, contest=len(editors))  # fmt: skip


def ratings_table(editors: Sequence[ScoredEditor]) -> Table:
    """The same on the paper's scale, above its Table 1."""
    rows: list[list[Cell]] = []
    for name, figures in _figures_by_reader(editors):
        cells = [figures.get(metric) for metric in NINE]
        rows.append(
            [name, "this run, 1 + 6 share", *(_scale_to_rating(cell and cell.value) for cell in cells)]
        )
    rows += [[name, "as printed", *values] for name, values in RATINGS.items()]
    note = (
        "Table 1 of Rosati et al. 2024: ratings by their rater model. Theirs is of other models, other "
        "texts and a scale of opinions; only directions can be compared."
    )
    return Table("leme-1", "On the paper's scale from 1 to 7 (Table 1)", ["who", "source", *NINE], rows, note,
                 words=2)  # fmt: skip


def short_table(editors: Sequence[ScoredEditor]) -> Table:
    """Short questions above the paper's Table 17."""
    rows: list[list[Cell]] = [[name, "this run", *(figures.get(metric) for metric in FOUR)]
                              for name, figures in _figures_by_reader(editors)]  # fmt: skip
    rows += [[name, "as printed", *values] for name, values in SHORT.items()]
    return Table("leme-17", "Short questions (Table 17)", ["who", "source", *FOUR], rows, words=2)


def simple_table(editors: Sequence[ScoredEditor]) -> Table:
    """Simple measures above the n-gram entropies of the paper's Table 20."""
    names = [*meanings.SIMPLE]
    rows: list[list[Cell]] = [[name, "this run", *(figures.get(metric) for metric in names)]
                              for name, figures in _figures_by_reader(editors)]  # fmt: skip
    rows += [
        [name, "as printed", *(value if metric == ENTROPY else None for metric in names)]
        for name, value in ENTROPIES.items()
    ]
    note = "Entropy grows with a passage's length and its words; theirs are of another language and longer."
    return Table("leme-20", "Simple measures of the texts (Table 20)", ["who", "source", *names], rows, note,
                 words=2)  # fmt: skip


def claims_table(editors: Sequence[ScoredEditor]) -> Table:
    """What passages make of claims, above what people made of them."""
    rows: list[list[Cell]] = [[name, "this run", None, *(figures.get(metric) for metric in CLAIMS_SHOWN)]
                              for name, figures in _figures_by_reader(editors)]  # fmt: skip
    rows += [[name, "judged by people", JUDGEMENTS[name], *values] for name, values in PEOPLE.items()]
    note = (
        "A passage supports a claim where most of what it says of the fact does. People judged 12 edits of "
        "other texts; sentences that they marked as evidence are in their file too, which inflates some "
        "shares."
    )
    header = ["who", "source", "judgements", *CLAIMS_SHOWN]
    return Table("leme-4", "What passages make of claims (Figure 4)", header, rows, note, words=2)


def edit_kinds_table(editors: Sequence[ScoredEditor]) -> Table:
    """How many edits are of each kind, above the paper's Table 15."""
    kind = kinds_of_edits(editors[0].edited.results)
    rows: list[list[Cell]] = [["this run", *(float((kind == name).mean()) for name in KINDS)]]
    rows += [[name, None, update, None, true] for name, (update, true) in SHARES.items()]
    note = "By what the unedited model says. The paper tells updates and what was already true apart only."
    return Table("leme-15", "Kinds of edits (Table 15)", ["where", *KINDS], rows, note)


def _figures_by_reader(editors: Sequence[ScoredEditor]) -> "list[tuple[str, dict]]":
    first = editors[0]
    of_editors = [(e.name, e.summary["all"][e.name]) for e in editors]
    floors = [(name, first.summary["all"][name]) for name in first.reference_names]
    return of_editors + [(name, figures) for name, figures in floors if NINE[-1] in figures]


def _metric_rows(editors: Sequence[ScoredEditor], metrics: Sequence[str]) -> list[list[Cell]]:
    return [
        [name, *(figures.get(metric) for metric in metrics)] for name, figures in _figures_by_reader(editors)
    ]


def _scale_to_rating(share: float | None) -> float | None:
    return None if share is None else round(share_as_rating(share), 2)
