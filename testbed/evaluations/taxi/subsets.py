"""The parts of the edits that TAXI's examination is reported on."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.held_out import held_out_subsets

TYPICAL, RARE = "typical subject", "rare subject"
MEMBER_BINS = ("1", "2-3", "4-7", "8-15", "16-31", "32+")
_STARTS = (2, 4, 8, 16, 32)


def subsets(results: Results) -> dict[str, np.ndarray]:
    """bool[E] of each part.

    By frequency of the subject, by superordinate, by members of the new category, by what was held out.
    """
    cases = results.cases
    typical, kind = cases["typical"].astype(bool), cases["superordinate"].astype(str)
    masks = {"all": np.ones(len(results), bool), TYPICAL: typical, RARE: ~typical}
    masks |= {str(name): kind == name for name in np.unique(kind)}
    masks |= {member_bin_name(name): mask for name, mask in member_bin_masks(cases["members"]).items()}
    return masks | held_out_subsets(cases)


def member_bin_masks(members: np.ndarray) -> dict[str, np.ndarray]:
    """Which edits go to a category of so many members; only bins that have some."""
    bins = np.searchsorted(_STARTS, members, side="right")
    return {MEMBER_BINS[i]: bins == i for i in np.unique(bins)}


def member_bin_name(name: str) -> str:
    """What the subset of a bin of members is called."""
    return f"members {name}"
