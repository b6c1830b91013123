"""Where a case's questions stand among all questions."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.dutch_book import LOGIC
from testbed.protocol import ABSENT


def rows_of_role(results: Results, role: str) -> np.ndarray:
    """int64[E]: the row of each case's choice of a role that no case has twice; ABSENT where it has none."""
    rows = np.full(len(results), ABSENT)
    mine = np.flatnonzero(results.choices.role == role)
    rows[results.choices.case[mine]] = mine
    return rows


def claims_by_case(results: Results, values: np.ndarray) -> np.ndarray:
    """Values of claims, [M, ...], as [E, len(LOGIC), ...]; nan where a case lacks one."""
    c = results.claims
    table = np.full((len(results), len(LOGIC), *values.shape[1:]), np.nan)
    for i, name in enumerate(LOGIC):
        mine = c.role == name
        table[c.case[mine], i] = values[mine]
    return table
