"""Do two models decide alike between editors?"""

from hypothesis import given
from hypothesis import strategies as st

from experiments.measures.agreement import CONTEXT, decision_accuracy, decisions_by_size
from testbed.evaluations.hase.metrics import METRICS
from testbed.scores.statistics import Estimate


def interval(value, low, high):
    return Estimate(value, low, high, 1)


def intervals(half):
    values = st.lists(st.floats(0, 1), min_size=2, max_size=6, unique=True)
    return values.map(lambda of: {str(i): interval(x, x - half, x + half) for i, x in enumerate(of)})


@given(intervals(0.1))
def test_a_model_decides_as_itself_and_never_as_its_reverse(model):
    share, pairs = decision_accuracy(model, model)
    turned = {name: interval(-x.value, -x.high, -x.low) for name, x in model.items()}
    assert share == (1 if pairs else None)
    assert decision_accuracy(turned, model) == (0 if pairs else None, pairs)


@given(intervals(1.0), intervals(0.1))
def test_what_the_large_model_does_not_tell_apart_counts_for_nothing(large, small):
    assert decision_accuracy(small, large) == (None, 0)


def test_decisions_by_hand():
    large = {"a": interval(0.9, 0.8, 1.0), "b": interval(0.5, 0.4, 0.6), "c": interval(0.45, 0.3, 0.5)}
    small = {name: interval(value, 0, 1) for name, value in (("a", 0.3), ("b", 0.2), ("c", 0.6))}
    assert decision_accuracy(small, large) == (0.5, 2), "a above b, not above c; b and c are not told apart"


def test_what_a_report_says_of_size_is_what_records_have():
    """Beside every headline, and alike for each of seven small models."""
    found, fewer = decisions_by_size(), decisions_by_size(without=CONTEXT)
    for metric in METRICS:
        assert (metric.shown_in == "headline") <= (metric.alike is not None), metric.id
        if metric.alike:
            models = found[metric.title]
            assert len(models) == 7
            alike = {(round((share or 0) * pairs), pairs) for share, pairs in models.values()}
            assert alike == {metric.alike}, metric.id
            without = {pairs for _, pairs in fewer[metric.title].values()}
            assert without == {5 if metric.id == "success" else 0}, metric.id
