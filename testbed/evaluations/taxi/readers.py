"""Who answers TAXI's questions besides the edited model."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.taxi.roles import READINGS
from testbed.scores.readers import BAYESIAN, CHANCE, Reader, reference_readers

CORRECTED = f"{BAYESIAN}, {READINGS[1]}"


def readers(results: Results, editor: str) -> dict[str, Reader]:
    """The edited model and the references under the first reading; the agent under the second; chance."""
    by_name = reference_readers(results, editor)
    corrected = reference_readers(results, editor, interpretation=2)[BAYESIAN]
    offered = results.choices.offered
    even = offered / offered.sum(1, keepdims=True)
    first = results.choices.options[np.arange(len(even)), offered.argmax(1)]
    return by_name | {CORRECTED: corrected, CHANCE: Reader(even, first, None, even, first, 1)}
