"""Figures that a paper prints, as TSV files beside the evaluation that repeats it.

A file lies in the folder `paper` of an evaluation. Lines that begin with # say where its figures stand in the
paper; the next line names the columns.
"""

import csv
from collections.abc import Iterator
from importlib.resources import files


def read_paper_table(package: str, name: str) -> list[dict[str, str]]:
    """The rows of `paper/NAME.tsv` of an evaluation, by column; empty where nothing is printed.

    Args:
        package: of the evaluation, "testbed.evaluations.NAME".
    """
    text = files(package).joinpath("paper", f"{name}.tsv").read_text(encoding="utf-8")
    return list(csv.DictReader(_lines_of_table(text), delimiter="\t"))


def read_paper_figures(package: str, name: str) -> dict[tuple[str, ...], dict[str, float]]:
    """The figures of `paper/NAME.tsv`: by the words of each row, its numbers by column.

    Columns of numbers are those in which no row has a word; a cell that is empty is left out.
    """
    rows = read_paper_table(package, name)
    numbers = [column for column in rows[0] if all(_is_number(row[column]) for row in rows)]
    return {
        tuple(value for column, value in row.items() if column not in numbers): {
            column: float(row[column]) for column in numbers if row[column]
        }
        for row in rows
    }


def _lines_of_table(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line and not line.startswith("#"))


def _is_number(cell: str) -> bool:
    try:
        float(cell or 0)
    except ValueError:
        return False
    return True
