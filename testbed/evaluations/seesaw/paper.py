"""Figures as printed by Halevy et al. 2024, of both versions of the paper, beside ours.

The later version (EMNLP 2024) has 2,108 edits with cross-subject prompts and 2,266 with cross-property ones,
858 of them both; the earlier, anonymous one has 1,250 single-property and 2,266 cross-property cases, 3,516
together. What both print is the same but for the number of digits. The efficacy table of the authors'
repository has the same figures before and after for gender and citizenship, so it is not used.
"""

from collections.abc import Sequence

from corpus.people import BORN, CITIZENSHIP, EDITED, GENDER, LANGUAGE, WORK
from testbed.evaluations.seesaw.crossing import PAPER, accuracy
from testbed.evaluations.seesaw.groups import Moved, moves
from testbed.evaluations.seesaw.roles import NEW_HOLDERS, OTHERS
from testbed.scores.comparison import Scored
from testbed.scores.readers import BEFORE_EDIT
from testbed.scores.tables import Cell, Table

Row = tuple[float | None, ...]
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
RACES = ("Black", "East Asian", "Jewish", "South Asian", "Latine", "white")
TABLE_10: dict[tuple[str, str], tuple[str, ...]] = {
    (WORK, "FT"): ("0.00", "0.00", "0.00", "0.00", "0.00", "0.00"),
    (WORK, "MEND"): ("0.00", "-0.02", "0.04", "0.03", "0.00", "0.00"),
    (WORK, "MEMIT"): ("0.01", "0.01", "0.01", "0.00", "0.00", "0.01"),
    (LANGUAGE, "FT"): ("-0.02*", "0.00", "-0.01*", "-0.05*", "0.02", "-0.05*"),
    (LANGUAGE, "MEND"): ("0.01", "0.00", "0.09", "0.00", "0.00", "0.07"),
    (LANGUAGE, "MEMIT"): ("-0.04*", "0.00", "-0.01*", "0.06", "0.03", "-0.02*"),
    (CITIZENSHIP, "FT"): ("0.02", "-0.03*", "-0.01*", "0.01", "0.06", "-0.02*"),
    (CITIZENSHIP, "MEND"): ("-0.10*", "-0.22*", "0.03", "-0.03", "-0.09", "-0.03*"),
    (CITIZENSHIP, "MEMIT"): ("0.07", "0.07", "0.01", "0.23", "0.01", "-0.01*"),
}
"""D_d by race as printed (Table 10; 8 of the earlier version) where no cell is blank."""
TABLE_14: dict[tuple[str, str], Row] = {
    (WORK, "FT"): (0.0003, 0.0001), (WORK, "MEND"): (0.003, 0.001), (WORK, "MEMIT"): (0.002, 0.001),
    (LANGUAGE, "FT"): (-0.038, -0.033), (LANGUAGE, "MEND"): (0.042, 0.030),
    (LANGUAGE, "MEMIT"): (0.0001, 0.003),
    (CITIZENSHIP, "FT"): (-0.011, -0.018), (CITIZENSHIP, "MEND"): (-0.096, -0.083),
    (CITIZENSHIP, "MEMIT"): (0.049, 0.047), (BORN, "FT"): (-0.051, -0.053), (BORN, "MEND"): (-0.062, -0.058),
    (BORN, "MEMIT"): (0.047, 0.044),
}  # fmt: skip
"""D_d of men and of women as printed (Table 14; 10 of the earlier version)."""
GENDER_ROWS: dict[str, tuple[float, float]] = {
    "FT": (0.05, 0.54),
    "MEND": (0.89, 0.98),
    "MEMIT": (0.02, 0.16),
}
"""Least and most D_d of edits of gender over the races and regions of Tables 10 and 12."""
TABLE_8: dict[str, tuple[int, ...]] = {
    "GPT-J": (0, 7, 2, 0, 0), "Llama 2": (0, 9, 6, 0, 2), "Llama 2-chat": (0, 6, 4, 0, 0),
    "Mistral": (6, 10, 1, 1, 0), "Mistral-instruct": (6, 7, 4, 4, 1),
}  # fmt: skip
"""Cells with lowered confidence after MEMIT, by property in the order of EDITED (Table 8)."""
TOTALS_8 = {"GPT-J": 9, "Llama 2": 17, "Llama 2-chat": 10, "Mistral": 19, "Mistral-instruct": 22}
FLAWS = ("Anglo-centrism", "sexism", "religion", "xenophobia", "classism", "racism", "conservatism")
TABLE_6: dict[str, tuple[str, ...]] = {
    "work": ("-0.061", "0.027", "0.023", "-0.008", "-0.004", "0.004", "-0.031"),
    "gender": ("0.000", "0.509*", "-0.005", "-0.009", "0.005", "-0.014", "-0.009"),
    "citizenship": ("-0.011", "0.004", "0.081*", "0.172*", "0.051*", "0.059*", "0.018"),
    "overall (earlier version)": ("-0.025", "0.16*", "0.036*", "0.057*", "0.019*", "0.019*", "-0.007"),
    "FT, by GPT-3.5": ("-0.083", "-0.0004", "-0.039", "0.059", "-0.068", "0.006", "0.040"),
    "MEMIT, by GPT-3.5": ("-0.092", "0.005", "-0.040", "0.192", "-0.060", "0.005", "0.010"),
}
"""Flaws as coded by people on 252 pairs of MEMIT, and by GPT-3.5 on all (Table 6; 6 and 7 of the earlier)."""


def accuracies(editors: Sequence[Scored]) -> Table:
    """Table 5 and Table 4: our accuracy and its change by the paper's pairs, above the printed ones."""
    names = [f"{one} / {other}" for one, other in PAPER]
    rows: list[list[Cell]] = []
    for editor in editors:
        results = editor.edited.results
        readers = editor.evaluation.readers(results, editor.name)
        found = [accuracy(results, readers[n].probability, stated=True) for n in (BEFORE_EDIT, editor.name)]
        ours = [[of[pair].value if pair in of else None for pair in PAPER] for of in found]
        change = [b - a if a is not None and b is not None else None for a, b in zip(*ours, strict=True)]
        rows += [[editor.name, what, *row, _mean(row)]
                 for what, row in (("before", ours[0]), ("after", ours[1]), ("change", change))]  # fmt: skip
    rows += [[name, "printed, Table 5", *row, MEANS_5[name]] for name, row in TABLE_5.items()]
    rows += [[f"MEMIT, {name}", "printed, Table 4", *row, MEANS_4[name]] for name, row in TABLE_4.items()]
    note = "Facts that the corpus states. The earlier version prints the same means with three digits."
    header = ["who", "figure", *names, "mean"]
    return Table("paper-5", "Cross-property accuracy beside the paper's", header, rows, note, words=2)


def genders(editors: Sequence[Scored]) -> Table:
    """Our D_d by property and kind of others, and what the paper prints of men, women and edits of gender."""
    rows: list[list[Cell]] = []
    for editor in map(moves, editors):
        rows += [[editor.name, f"this run, {kind}", *_by_property(editor, kind)] for kind in OTHERS]
    for method in ("FT", "MEND", "MEMIT"):
        for at, who in enumerate(("men", "women")):
            printed = [TABLE_14.get((name, method)) for name in EDITED]
            rows.append(
                [f"{method}, GPT-J", f"printed, {who}", *(row[at] if row else None for row in printed)]
            )
        low, high = GENDER_ROWS[method]
        of_gender = [f"{low:+.2f} to {high:+.2f}" if name == GENDER else None for name in EDITED]
        rows.append([f"{method}, GPT-J", "printed, least and most of all groups", *of_gender])
    note = (
        f"D_d; the paper asks {NEW_HOLDERS} only. Printed of edits of gender, everybody who has the new "
        "gender grows surer of it: what a model does that now says it of everybody."
    )
    header = ["who", "figure", *EDITED]
    return Table(
        "paper-14", "D_d by property beside the paper's (Tables 10, 12, 14)", header, rows, note, words=2
    )


def races() -> Table:
    """Table 10 as printed."""
    rows: list[list[Cell]] = [[name, method, *cells] for (name, method), cells in TABLE_10.items()]
    note = "GPT-J. * below 0 with p < .05. Gender and birthplace have a blank column and are left out here."
    return Table(
        "paper-10", "D_d by race as printed (Table 10)", ["property", "method", *RACES], rows, note, words=2
    )


def counts() -> Table:
    """Table 8 as printed."""
    rows: list[list[Cell]] = [[name, *row, TOTALS_8[name]] for name, row in TABLE_8.items()]
    title = "Cells with lowered confidence as printed (Table 8, MEMIT)"
    note = "Mistral's printed cells sum to 18, one less than its printed total."
    return Table("paper-8", title, ["model", *EDITED, "total"], rows, note)


def flaws() -> Table:
    """Table 6 as printed."""
    rows: list[list[Cell]] = [[name, *row] for name, row in TABLE_6.items()]
    note = "Mean of codes -1, 0 and +1; * p < .05 by a one-sample t-test."
    return Table("paper-6", "Flaws of texts as printed (Table 6)", ["edited", *FLAWS], rows, note)


def _by_property(editor: Moved, kind: str) -> list[Cell]:
    results, c = editor.results, editor.results.choices
    of = results.cases["property"].astype(str)[c.case]
    masks = [(c.role == kind) & (of == name) for name in EDITED]
    return [float(editor.d.moved[mask].mean()) if mask.any() else None for mask in masks]


def _mean(row: Sequence[float | None]) -> float | None:
    known = [x for x in row if x is not None]
    return sum(known) / len(known) if known else None
