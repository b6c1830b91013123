"""What happens to others, by how many requests are made at once."""

from collections.abc import Iterator

from experiments.measures.people_cells import describe_stars, measure_dose
from experiments.study import Findings
from testbed.evaluations.seesaw import NEW_HOLDERS, OLD_HOLDERS, OTHERS
from testbed.evaluations.seesaw.attribution import attribution_table
from testbed.evaluations.seesaw.groups import editor_changes
from testbed.evaluations.seesaw.metrics import SUCCESS
from testbed.scores.tables import Cell, Table

STARRED = (NEW_HOLDERS, OLD_HOLDERS)
"""Others whose cells are counted: those whom the paper asks, and those who have the old object."""


def dose_tables(findings: Findings) -> Iterator[Table]:
    """How others' confidence changes with the dose, a row for each editor and dose."""
    options, single = findings.options, []
    rows: list[list[Cell]] = []
    for name in options.editors:
        for dose in options.doses:
            (editor,) = (one for one in findings.editors(dose=dose) if one.name == name)
            changes = editor_changes(editor)
            single += [changes] if dose == 1 else []
            one = measure_dose(editor, changes)
            stars = [describe_stars(one.lowered[kind]) for kind in STARRED]
            rows.append([name, f"{dose:,}", one.success, *one.change.values(), *stars])
    header = ["editor", "at once", SUCCESS, *(f"D_d, {kind}" for kind in OTHERS)]
    header += [f"stars, {kind}" for kind in STARRED]
    note = (
        f"{options.edits} requests in each of {options.worlds} worlds of {options.people:,} people. D_d is 0 "
        "for the agent. Stars: cells of a property and a race whose confidence falls by the paper's test."
    )
    yield Table("dose", "What happens to others, by requests made at once", header, rows, note, words=2)
    if single:
        yield attribution_table(single)
