"""The parts of the edits that LEME's examination is reported on."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.leme.roles import EDIT
from testbed.protocol import ABSENT

INJECTION, UPDATE, CORRECTION, TRUE = "injection", "update", "correction", "already true"
KINDS = (INJECTION, UPDATE, CORRECTION, TRUE)
KNOWN = 0.5
"""What the unedited model gives more than this, it says."""


def kinds_of_edits(results: Results) -> np.ndarray:
    """str[E], one of KINDS, by what the model says before the edit.

    It says the new object already; or the old one (update); nobody ever stated it, and the model says neither
    (injection); or it is wrong about what was stated (correction).
    """
    c = results.choices
    rows = np.flatnonzero(c.role == EDIT)
    case = c.case[rows]
    lm = c.lm[rows, 0]
    new, old = (
        lm.sum(1, where=c.options[rows] == results.cases[name][case][:, None]) for name in ("object", "truth")
    )
    stated = results.cases["stated"][case].astype(bool)
    named = np.where(
        new > KNOWN,
        TRUE,
        np.where(~stated, INJECTION, np.where(old > KNOWN, UPDATE, CORRECTION)),
    )
    kind = np.full(len(results), CORRECTION, named.dtype)
    kind[case] = named
    return kind


def subsets(results: Results) -> dict[str, np.ndarray]:
    """bool[E] of each part: by kind of edit, by couple, and those that have a twin."""
    kind, couple = kinds_of_edits(results), results.cases["couple"].astype(str)
    masks = {"all": np.ones(len(results), bool)}
    masks |= {name: kind == name for name in KINDS}
    masks |= {str(name): couple == name for name in np.unique(couple)}
    return masks | {"with a twin": results.cases["twin"] != ABSENT}
