"""Two editors on the same cases, the first less the second."""

from collections.abc import Sequence

from experiments.study import Findings
from testbed.scores.comparison import compare_editors
from testbed.scores.tables import Cell, Table


def pair_table(
    findings: Findings, varied: str, pairs: Sequence[tuple[str, str]], metrics: Sequence[str]
) -> Table:
    """A row for each pair of editors and value of what is varied."""
    rows: list[list[Cell]] = []
    for first, second in pairs:
        for group in findings.groups:
            by_name = {one.name: one for one in findings.editors(**group)}
            if {first, second} <= {*by_name}:
                beside = compare_editors([by_name[second], by_name[first]], second).comparisons[first]
                rows.append([f"{first} - {second}", str(group[varied]), *map(beside.get, metrics)])
    return Table("pairs", "One editor less another", ["", varied, *metrics], rows, words=2)
