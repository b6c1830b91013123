"""What follows by support, averaged as one sampler of requests or another would draw them.

The stratified sampler draws classes of support alike; the paper draws requested objects alike, most of which
few subjects have or none. So the same edits have another average under each, and editors another order.
"""

from collections.abc import Iterable

import numpy as np

from testbed.engine.results import cluster_levels
from testbed.evaluations.hase.metrics import FOLLOWS
from testbed.protocol import Case
from testbed.run.strata import SUPPORT_BINS, support_bin
from testbed.scores.statistics import Estimate, estimate_metric
from testbed.scores.summary import ScoredEditor


def count_support(cases: Iterable[Case]) -> np.ndarray:
    """int64[bins]: how many contradicting requests that change a consequence have each support."""
    changing = [
        case.facets["support_new"]
        for case in cases
        if case.facets["changes"] and not case.facets["reinforces"]
    ]
    return np.bincount(support_bin(np.array(changing, int)), minlength=len(SUPPORT_BINS))


def average_over_support(editor: ScoredEditor, reader: str, share: np.ndarray) -> Estimate:
    """*Consequence follows* where each class of support has a given share of the consequences.

    The estimate is the sum of shares times rates, over the contradicting edits at hand; a class of share 0
    is left out of it and of its cases.

    Args:
        share: float64[bins]; only their proportions count.
    """
    metric, cases = editor.values[reader][FOLLOWS], editor.edits.results.cases
    among, of_bin = ~cases["reinforces"], support_bin(cases["support_new"])
    here = np.bincount(of_bin[among], metric.denominator[among], len(SUPPORT_BINS))
    weight = np.divide(share, here, out=np.zeros(len(SUPPORT_BINS)), where=here > 0)
    # In units of a case, so that a class that is drawn here as there counts as it is.
    weight *= here.sum() / max(float((weight * here).sum()), 1e-12)
    of_case = weight[of_bin]
    weighted = metric._replace(numerator=metric.numerator * of_case, denominator=metric.denominator * of_case)
    return estimate_metric(weighted, cluster_levels(editor.edits.results), among & (of_case > 0))
