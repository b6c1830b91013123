"""Decision accuracy: pairs that surely differ on the large model, and the small model's order of them."""

from hypothesis import given
from hypothesis import strategies as st

from experiments.decision_accuracy import Interval, decision_accuracy


def intervals(half):
    values = st.lists(st.floats(0, 1), min_size=2, max_size=6, unique=True)
    return values.map(lambda of: {str(i): Interval(x, x - half, x + half) for i, x in enumerate(of)})


@given(intervals(0.1))
def test_a_model_decides_as_itself_and_never_as_its_reverse(model):
    share, pairs = decision_accuracy(model, model)
    turned = {name: Interval(-x.value, -x.high, -x.low) for name, x in model.items()}
    assert share == (1 if pairs else None)
    assert decision_accuracy(turned, model) == (0 if pairs else None, pairs)


@given(intervals(1.0), intervals(0.1))
def test_what_the_large_model_does_not_tell_apart_counts_for_nothing(large, small):
    assert decision_accuracy(small, large) == (None, 0)


def test_by_hand():
    large = {"a": Interval(0.9, 0.8, 1.0), "b": Interval(0.5, 0.4, 0.6), "c": Interval(0.45, 0.3, 0.5)}
    small = {name: Interval(value, 0, 1) for name, value in (("a", 0.3), ("b", 0.2), ("c", 0.6))}
    assert decision_accuracy(small, large) == (0.5, 2), "a above b, not above c; b and c are not told apart"
