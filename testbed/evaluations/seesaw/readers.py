"""Who answers Seesaw-CF's questions besides the edited model."""

from testbed.engine.results import Results
from testbed.evaluations.seesaw.roles import READINGS
from testbed.scores.readers import BAYESIAN, Reader, reference_readers

CHANGED = f"{BAYESIAN}, {READINGS[1]}"


def readers(results: Results, editor: str) -> dict[str, Reader]:
    """The edited model and the references under a correction; the agent under a change of the world."""
    return reference_readers(results, editor) | {
        CHANGED: reference_readers(results, editor, interpretation=2)[BAYESIAN]
    }
