"""The parts of the cases that Hase's examination is reported on (DESIGN 6)."""

import numpy as np

from testbed.evaluations.hase.exam import Exam
from testbed.evaluations.hase.metrics import COHERENT, must_change
from testbed.evaluations.hase.roles import CHILD, REQUEST
from testbed.run.strata import STRATA, SUPPORT_BINS, support_bin
from testbed.scores.distances import total_variation

CHANGES, FIXES, WAS_COHERENT = "answer changes", "fixes an error", "initially coherent"
REPEATS, CONTRADICTS = "repeats the truth", "contradicts the truth"


def subsets(exam: Exam) -> dict[str, np.ndarray]:
    """bool[E] of every part: the paper's, by what the edit is, and by support.

    Support is that of the new object, in contradicting edits only: repeating a truth implies nothing new.
    What imagine and revise documents could not be about is held out; where there are none, nobody asks.
    """
    s = exam.scalars
    right = exam.lm_answer[:, REQUEST, 0] == s["truth"]
    close = total_variation(exam.lm[:, REQUEST, 0], exam.agent[:, REQUEST, 0]) < COHERENT
    found = {
        "all": np.ones(len(right), bool),
        CHANGES: must_change(exam)[:, CHILD],
        FIXES: ~right & s["reinforces"],
        WAS_COHERENT: right & close,
        REPEATS: s["reinforces"],
        CONTRADICTS: ~s["reinforces"],
    }
    bins = support_bin(s["support_new"])
    found |= {f"support {name}": (bins == i) & ~s["reinforces"] for i, name in enumerate(SUPPORT_BINS)}
    found |= {f"stated {name}": (s["stratum"] == name) & s["child"] for name in STRATA}
    subject, obj = s["seen_subject"], s["seen_object"]
    if not (subject | obj).any():
        return found
    return found | {
        "held-out subject": ~subject,
        "held-out object": ~obj,
        "held out both": ~subject & ~obj,
        "seen both": subject & obj,
    }
