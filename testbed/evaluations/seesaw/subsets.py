"""The parts of the edits that Seesaw-CF's examination is reported on."""

import numpy as np

from testbed.engine.results import Results


def subsets(results: Results) -> dict[str, np.ndarray]:
    """bool[E] of each part: by the property that is edited."""
    of = results.cases["property"].astype(str)
    parts = {property_subset(name): of == name for name in np.unique(of).tolist()}
    return {"all": np.ones(len(results), bool)} | parts


def property_subset(name: str) -> str:
    """What the subset of the edits of a property is called."""
    return f"edits of {name}"
