"""Figures as printed by Halevy et al. 2024, of both versions of the paper.

The later version (EMNLP 2024) has 2,108 edits with cross-subject prompts and 2,266 with cross-property ones,
858 of them both; the earlier, anonymous one has 1,250 single-property and 2,266 cross-property cases, 3,516
together, and no other models than GPT-J. What both print is the same but for the number of digits. The
efficacy table of the authors' repository has the same figures before and after for gender and citizenship, so
it is not used.
"""

from corpus.worlds.people import GENDER, RACE, REGION
from testbed.evaluations.paper_tables import read_paper_table
from testbed.evaluations.seesaw import Seesaw
from testbed.scores.tables import Cell, Table

METHODS = ("FT", "MEND", "MEMIT")
GROUP_TABLES = {10: RACE, 11: RACE, 12: REGION, 13: REGION, 14: GENDER, 15: GENDER}
"""The tables of D_d by group: of GPT-J under each of METHODS, and after MEMIT of each model, in turn."""
_STARS = "MEMIT. The stars stand at numbers above 0, too."
_GROUP_NOTES = {
    11: _STARS,
    13: f"{_STARS} Of citizenship, gender and birth all of GPT-J's have a minus, unlike in Table 12.",
    15: _STARS,
}


def read_table(number: int) -> list[dict[str, str]]:
    """The rows of a table of the paper, by column, as printed."""
    return read_paper_table(Seesaw.package, f"table_{number}")


def group_numbers(row: dict[str, str]) -> list[float]:
    """All numbers of a row of one of GROUP_TABLES, without their stars."""
    cells = [cell for name, cell in row.items() if name not in ("property", "who")]
    return [float(number.rstrip("*")) for cell in cells for number in cell.split(", ") if number]


def printed_tables() -> list[Table]:
    """Tables 6, 8 to 15 and 19 to 21 as printed."""
    tables = []
    for number, grouping in GROUP_TABLES.items():
        title = f"D_d by {grouping} as printed (Table {number}, {'GPT-J' if number % 2 == 0 else 'MEMIT'})"
        note = _GROUP_NOTES.get(number, "GPT-J. * below 0 with p < .05.")
        tables.append(_printed_table(number, title, note, words=2, as_text=True))
    lowered = "Cells with lowered confidence as printed"
    totals: list[Cell] = ["total", *(cells[-1] for cells in map(cells_of, read_table(8)))]
    by_group = _printed_table(9, f"{lowered} (Table 9, MEMIT)")
    agreement = _printed_table(
        20,
        "How judges agree, as printed (Tables 20 and 21)",
        "Share of pairs of texts with the same code; A1 to A3 are the three people who coded 252 pairs.",
    )
    people: list[list[Cell]] = [
        [who, *(round(float(x) / 100, 4) for x in row)] for who, *row in map(dict.values, read_table(21))
    ]
    return [
        *tables,
        _printed_table(8, f"{lowered} (Table 8, MEMIT)"),
        by_group._replace(rows=[*by_group.rows, totals]),
        _printed_table(
            6,
            "Flaws of texts as printed (Tables 6 and 19)",
            "Mean of codes -1, 0 and +1; * p < .05 by a one-sample t-test. Of GPT-3.5's all are significant.",
            as_text=True,
        ),
        agreement._replace(rows=[*agreement.rows, *people]),
    ]


def _printed_table(number: int, title: str, note: str = "", words: int = 1, as_text: bool = False) -> Table:
    """A table of the paper; its numbers as numbers, or as the text that they are printed as."""
    rows = read_table(number)
    cells: list[list[Cell]] = [[*row.values()] if as_text else cells_of(row) for row in rows]
    return Table(f"paper-{number}", title, [*rows[0]], cells, note, words)


def cells_of(row: dict[str, str]) -> list[Cell]:
    """The cells of a printed row: words first, then numbers, None where nothing is printed."""
    first, *rest = row.values()
    return [first, *((int(x) if x.isdigit() else float(x)) if x else None for x in rest)]
