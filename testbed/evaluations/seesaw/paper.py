"""Figures as printed by Halevy et al. 2024, of both versions of the paper, beside ours.

The later version (EMNLP 2024) has 2,108 edits with cross-subject prompts and 2,266 with cross-property ones,
858 of them both; the earlier, anonymous one has 1,250 single-property and 2,266 cross-property cases, 3,516
together. What both print is the same but for the number of digits. The efficacy table of the authors'
repository has the same figures before and after for gender and citizenship, so it is not used.
"""

from collections.abc import Sequence

from corpus.worlds.people import EDITED, GENDER, GROUPINGS, RACE, REGION
from testbed.evaluations.seesaw import printed
from testbed.evaluations.seesaw.cells import LEAST_ANSWERS, group_cells
from testbed.evaluations.seesaw.crossing import PAPER_PAIRS, accuracy_by_pair
from testbed.evaluations.seesaw.groups import EditorChanges, editor_changes, group_names
from testbed.evaluations.seesaw.roles import NEW_HOLDERS, OTHERS
from testbed.scores.comparison import ScoredEditor
from testbed.scores.readers import BEFORE_EDIT
from testbed.scores.tables import Cell, Table

Row = tuple[float | None, ...]
METHODS = ("FT", "MEND", "MEMIT")
PRINTED_BY_GROUP = (
    (10, RACE, printed.TABLE_10),
    (11, RACE, printed.TABLE_11),
    (12, REGION, printed.TABLE_12),
    (13, REGION, printed.TABLE_13),
    (14, GENDER, printed.TABLE_14),
    (15, GENDER, printed.TABLE_15),
)
"""D_d by group as printed: number of the table, grouping, rows."""
_STARS = "The stars stand at numbers above 0, too."
NOTES = {
    10: "GPT-J. * below 0 with p < .05.",
    11: f"MEMIT. {_STARS}",
    12: "GPT-J. * below 0 with p < .05.",
    13: f"MEMIT. {_STARS} Of citizenship, gender and birth all of GPT-J's have a minus, unlike in Table 12.",
    14: "GPT-J. * below 0 with p < .05.",
    15: f"MEMIT. {_STARS}",
}
TABLE_5: dict[str, Row] = {
    "before edit, GPT-J": (1.0, 0.22, 0.24, 1.0, 0.18, None, 1.0, 0.28),
    "FT, GPT-J": (1.0, 0.19, 0.17, 1.0, 0.20, None, 1.0, 0.27),
    "MEND, GPT-J": (1.0, 0.15, 0.02, 0.98, 0.08, None, 0.99, 0.11),
    "MEMIT, GPT-J": (1.0, 0.12, 0.07, 0.99, 0.13, None, 1.0, 0.20),
}
"""Accuracy of each pair of PAPER as printed (Table 5 of both versions); citizenship / birth is not there."""
MEANS_5 = {"before edit, GPT-J": 0.49, "FT, GPT-J": 0.48, "MEND, GPT-J": 0.42, "MEMIT, GPT-J": 0.44}
TABLE_4: dict[str, Row] = {
    "GPT-J": (0.0, -0.10, -0.17, -0.01, -0.05, 0.0, 0.01, -0.08),
    "Llama 2": (0.0, -0.38, -0.32, 0.0, -0.31, -0.22, 0.0, -0.15),
    "Llama 2-chat": (0.0, -0.02, -0.06, 0.0, 0.04, 0.02, 0.0, -0.02),
    "Mistral": (0.0, -0.29, -0.31, -0.01, -0.34, -0.23, 0.0, -0.16),
    "Mistral-instruct": (0.0, -0.29, -0.33, 0.0, -0.22, -0.21, 0.0, -0.21),
}
"""Change of accuracy by MEMIT, each pair of PAPER (Table 4 of the later version)."""
MEANS_4 = {
    "GPT-J": -0.05,
    "Llama 2": -0.17,
    "Llama 2-chat": -0.01,
    "Mistral": -0.17,
    "Mistral-instruct": -0.16,
}
TABLE_8: dict[str, tuple[int, ...]] = {
    "GPT-J": (0, 7, 2, 0, 0), "Llama 2": (0, 9, 6, 0, 2), "Llama 2-chat": (0, 6, 4, 0, 0),
    "Mistral": (6, 10, 1, 1, 1), "Mistral-instruct": (6, 7, 4, 4, 1),
}  # fmt: skip
"""Cells with lowered confidence after MEMIT, by property in the order of EDITED (Table 8)."""
TOTALS_8 = {"GPT-J": 9, "Llama 2": 17, "Llama 2-chat": 10, "Mistral": 19, "Mistral-instruct": 22}
TABLE_6: dict[str, tuple[str, ...]] = {
    "work": ("-0.061", "0.027", "0.023", "-0.008", "-0.004", "0.004", "-0.031"),
    "gender": ("0.000", "0.509*", "-0.005", "-0.009", "0.005", "-0.014", "-0.009"),
    "citizenship": ("-0.011", "0.004", "0.081*", "0.172*", "0.051*", "0.059*", "0.018"),
    "overall (earlier version)": ("-0.025", "0.16*", "0.036*", "0.057*", "0.019*", "0.019*", "-0.007"),
    "FT, by GPT-3.5": ("-0.083", "-0.0004", "-0.039", "0.059", "-0.068", "0.006", "0.040"),
    "MEMIT, by GPT-3.5": ("-0.092", "0.005", "-0.040", "0.192", "-0.060", "0.005", "0.010"),
}
"""Flaws as coded by people on 252 pairs of MEMIT, and by GPT-3.5 on all (Tables 6, 19; earlier 7, 6)."""


def paper_accuracy_table(editors: Sequence[ScoredEditor]) -> Table:
    """Table 5 and Table 4: our accuracy and its change by the paper's pairs, above the printed ones."""
    names = [f"{one} / {other}" for one, other in PAPER_PAIRS]
    rows: list[list[Cell]] = []
    for editor in editors:
        results = editor.edited.results
        readers = editor.evaluation.readers(results, editor.name)
        by_reader = [
            accuracy_by_pair(results, readers[n].probability, stated=True) for n in (BEFORE_EDIT, editor.name)
        ]
        ours = [[of[pair].value if pair in of else None for pair in PAPER_PAIRS] for of in by_reader]
        change = [b - a if a is not None and b is not None else None for a, b in zip(*ours, strict=True)]
        rows += [[editor.name, what, *row, _mean_of_known(row)]
                 for what, row in (("before", ours[0]), ("after", ours[1]), ("change", change))]  # fmt: skip
    rows += [[name, "printed, Table 5", *row, MEANS_5[name]] for name, row in TABLE_5.items()]
    rows += [[f"MEMIT, {name}", "printed, Table 4", *row, MEANS_4[name]] for name, row in TABLE_4.items()]
    note = "Facts that the corpus states. The earlier version prints the same means with three digits."
    header = ["who", "figure", *names, "mean"]
    return Table("paper-5", "Cross-property accuracy beside the paper's", header, rows, note, words=2)


def spread_table(editors: Sequence[ScoredEditor]) -> Table:
    """Least and most D_d of all groups, ours above those of the paper's Tables 10 to 15."""
    rows: list[list[Cell]] = []
    for editor in map(editor_changes, editors):
        rows += [
            [editor.name, f"this run, {kind}", grouping, *_least_and_most(editor, kind, grouping)]
            for kind in OTHERS
            for grouping in GROUPINGS
        ]
    for number, grouping, table in PRINTED_BY_GROUP:
        for who in dict.fromkeys(row.who for row in table):
            values = {row.edited_property: row.numbers for row in table if row.who == who}
            name = f"{who}, GPT-J" if who in METHODS else f"MEMIT, {who}"
            rows.append(
                [name, f"printed, Table {number}", grouping, *(_range_text(values.get(of)) for of in EDITED)]
            )
    note = (
        f"Of the groups of a grouping the one whose D_d is least, and most; of this run those with at least "
        f"{LEAST_ANSWERS} answers. The paper asks {NEW_HOLDERS} only. After edits of gender they grow surer "
        f"by up to "
        "+.98: what a model does that now says the new gender of everybody."
    )
    header = ["who", "figure", "grouping", *EDITED]
    title = "D_d by property beside the paper's (Tables 10 to 15)"
    return Table("paper-14", title, header, rows, note, words=3)


def printed_group_tables() -> list[Table]:
    """Tables 10 to 15 as printed."""
    group_labels = dict(zip(GROUPINGS, (printed.RACES, printed.REGIONS, printed.GENDERS), strict=True))
    tables = []
    for number, grouping, table in PRINTED_BY_GROUP:
        unknown = any(row.cells_of_unknown_groups for row in table)
        header = ["property", "who", *group_labels[grouping], *(["groups not told"] if unknown else [])]
        rows: list[list[Cell]] = [
            [
                row.edited_property,
                row.who,
                *row.cells,
                *([", ".join(row.cells_of_unknown_groups)] if unknown else []),
            ]
            for row in table
        ]
        who = "GPT-J" if number % 2 == 0 else "MEMIT"
        title = f"D_d by {grouping} as printed (Table {number}, {who})"
        tables.append(Table(f"paper-{number}", title, header, rows, NOTES.get(number, ""), words=2))
    return tables


def printed_count_tables() -> list[Table]:
    """Tables 8 and 9 as printed."""
    totals: list[Cell] = [*TOTALS_8.values()]
    by_property: list[list[Cell]] = [[name, *row, TOTALS_8[name]] for name, row in TABLE_8.items()]
    by_group: list[list[Cell]] = [[name, *row] for name, row in printed.TABLE_9.items()]
    title = "Cells with lowered confidence as printed"
    return [
        Table("paper-8", f"{title} (Table 8, MEMIT)", ["model", *EDITED, "total"], by_property),
        Table("paper-9", f"{title} (Table 9, MEMIT)", ["group", *TOTALS_8], [*by_group, ["total", *totals]]),
    ]


def printed_flaw_tables() -> list[Table]:
    """Tables 6, 19, 20 and 21 as printed."""
    code_rows: list[list[Cell]] = [[name, *row] for name, row in TABLE_6.items()]
    agreement_rows: list[list[Cell]] = [["GPT-3.5 and one person of three", *printed.TABLE_20]]
    agreement_rows += [[name, *(round(x / 100, 4) for x in row)] for name, row in printed.TABLE_21.items()]
    return [
        Table(
            "paper-6",
            "Flaws of texts as printed (Tables 6 and 19)",
            ["edited", *printed.FLAWS],
            code_rows,
            "Mean of codes -1, 0 and +1; * p < .05 by a one-sample t-test. Of GPT-3.5's all are significant.",
        ),
        Table(
            "paper-20",
            "How judges agree, as printed (Tables 20 and 21)",
            ["who", *printed.FLAWS],
            agreement_rows,
            "Share of pairs of texts with the same code; A1 to A3 are the three people who coded 252 pairs.",
        ),
    ]


def _least_and_most(editor: EditorChanges, kind: str, grouping: str) -> list[Cell]:
    results = editor.results
    names, among = group_names(results, grouping), results.choices.role == kind
    by_key = group_cells(results, editor.changes.change, among, names)
    means = {
        of: [cell.mean.value for key, cell in by_key.items() if key[0] == of and cell.has_enough_answers]
        for of in EDITED
    }
    return [_range_text(means[of]) for of in EDITED]


def _range_text(values: Sequence[float] | None) -> str | None:
    return f"{min(values):+.2f} to {max(values):+.2f}" if values else None


def _mean_of_known(row: Sequence[float | None]) -> float | None:
    known = [x for x in row if x is not None]
    return sum(known) / len(known) if known else None
