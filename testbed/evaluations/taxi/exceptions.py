"""Where a rational agent does not give TAXI's label, though the world is changed as TAXI means it."""

from collections.abc import Sequence

import numpy as np

from testbed.evaluations.taxi.roles import EDIT, PROPERTY, READINGS
from testbed.protocol import is_equally_good
from testbed.run.world import World
from testbed.scores.comparison import ScoredEditor
from testbed.scores.tables import Cell, Table

MOST_ROWS = 40


def exception_table(editors: Sequence[ScoredEditor], world: World) -> Table | None:
    """Edits and properties whose label is none of the agent's best options under `do`; None without any."""
    results, graph = editors[0].edited.results, world.graph
    c, reading = results.choices, 1 + READINGS.index("do")
    here = (results.cases["run"] == 0)[c.case] & np.isin(c.role, (EDIT, PROPERTY))
    belief = np.where(c.offered, c.agent[:, reading], -1.0)
    of_label = np.where(c.options == c.facets["label"][:, None], belief, -1.0).max(axis=1)
    differs = here & ~is_equally_good(of_label, belief.max(axis=1))
    if not differs.any():
        return None
    names, rows = graph.entities, []
    for row in np.flatnonzero(differs)[:MOST_ROWS].tolist():
        case, best = int(c.case[row]), int(belief[row].argmax())
        cells: list[Cell] = [
            names[int(results.cases["subject"][case])], names[int(results.cases["object"][case])],
            graph.relations[int(c.relation[row])], names[int(c.facets["label"][row])],
            names[int(c.options[row, best])], float(of_label[row]), float(belief[row, best]),
        ]  # fmt: skip
        rows.append(cells)
    header = [
        "subject",
        "becomes",
        "property",
        "label",
        "agent's answer",
        "belief in the label",
        "in its answer",
    ]
    note = f"{int(differs.sum())} of {int(here.sum()):,} questions of the first world"
    note += f"; the first {MOST_ROWS} are shown." if differs.sum() > MOST_ROWS else "."
    return Table("exceptions", "Where label and agent differ under do", header, rows, note, words=4)
