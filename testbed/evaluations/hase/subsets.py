"""The parts of the cases that Hase's examination is reported on (design.md 6)."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.hase.layout import rows_of_role
from testbed.evaluations.hase.meanings import COHERENT
from testbed.evaluations.hase.roles import CHILD, REQUEST
from testbed.evaluations.held_out import held_out_subsets
from testbed.run.strata import STRATA, SUPPORT_BINS, support_bin
from testbed.scores.answers import has_to_change
from testbed.scores.distances import total_variation

CHANGES, FIXES, WAS_COHERENT = "answer changes", "fixes an error", "initially coherent"
REPEATS, CONTRADICTS = "repeats the truth", "contradicts the truth"


def case_subsets(results: Results) -> dict[str, np.ndarray]:
    """bool[E] of every part: the paper's, by what the edit is, and by support.

    Support is that of the new object, in contradicting edits only: repeating a truth implies nothing new.
    What imagine and revise documents could not be about is held out; where there are none, nobody asks.
    """
    s, c, first = results.cases, results.choices, rows_of_role(results, REQUEST)
    right = c.lm_answer[first, 0] == s["truth"]
    close = total_variation(c.lm[first, 0], c.agent[first, 0]) < COHERENT
    changing = c.case[has_to_change(c) & (c.role == CHILD)]
    masks = {
        "all": np.ones(len(right), bool),
        CHANGES: np.isin(np.arange(len(right)), changing),
        FIXES: ~right & s["reinforces"],
        WAS_COHERENT: right & close,
        REPEATS: s["reinforces"],
        CONTRADICTS: ~s["reinforces"],
    }
    bins = support_bin(s["support_new"])
    masks |= {f"support {name}": (bins == i) & ~s["reinforces"] for i, name in enumerate(SUPPORT_BINS)}
    return (
        masks
        | {f"stated {name}": (s["stratum"] == name) & s["child"] for name in STRATA}
        | held_out_subsets(s)
    )
