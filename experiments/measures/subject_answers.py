"""What an edit changes falsely about its own subject."""

from testbed.engine.results import Results
from testbed.scores.metric import Metric, sum_by_case
from testbed.scores.readers import has_to_change

FALSE = "false change"


def false_changes(results: Results) -> Metric:
    """Share of answers about the request's subject, besides the request's own, that change and must stay."""
    c, cases = results.choices, results.cases
    own = (c.subject == cases["subject"][c.case]) & (c.relation != cases["relation"][c.case])
    changed = c.lm_answer[:, 1] != c.lm_answer[:, 0]
    return sum_by_case(changed, c.case, len(results), own & ~has_to_change(c))
