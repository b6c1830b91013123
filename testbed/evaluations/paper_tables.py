"""Figures that a paper prints, as TSV files beside the evaluation that repeats it.

A file lies in the folder `paper` of an evaluation. Lines that begin with # say where its figures stand in the
paper; the next line names the columns.
"""

import csv
from collections.abc import Mapping, Sequence
from importlib.resources import files

from testbed.scores.tables import Cell, Table


def read_paper_table(package: str, name: str) -> list[dict[str, str]]:
    """The rows of `paper/NAME.tsv` of an evaluation, by column; empty where nothing is printed.

    Args:
        package: of the evaluation, "testbed.evaluations.NAME".
    """
    text = files(package).joinpath("paper", f"{name}.tsv").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return list(csv.DictReader(lines, delimiter="\t"))


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


def put_above_figures(
    table: Table,
    figures: Mapping[tuple[str, ...], Mapping[str, float]],
    columns: Sequence[str],
    source: str = "as printed",
    more: Sequence[str] = (),
    between: Sequence[Sequence[Cell]] = (),
) -> Table:
    """This run's rows above those of a paper, with a column that says whose they are.

    Args:
        figures: the paper's, see `read_paper_figures`; the words of a row are who it is about.
        columns: of the figures, one for each of the table's.
        more: columns that the paper alone has, before the others.
        between: rows between the two.
    """
    rows: list[Sequence[Cell]] = [
        [who, "this run", *[None] * len(more), *cells] for who, *cells in table.rows
    ]
    rows += [*between, *([*who, source, *map(of.get, (*more, *columns))] for who, of in figures.items())]
    return table._replace(header=["who", "source", *more, *table.header[1:]], rows=rows, words=2)


def _is_number(cell: str) -> bool:
    try:
        float(cell or 0)
    except ValueError:
        return False
    return True
