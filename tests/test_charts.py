"""What the pictures of several editors compute: places of labels, and who is on the frontier."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.pages.charts import make_panels, save_figure, spread_labels
from testbed.pages.costs import CostPoint, pareto_front
from testbed.scores.statistics import Estimate

heights = st.lists(st.floats(-3, 3), min_size=1, max_size=15)


@given(heights, st.floats(0.01, 1))
def test_labels_keep_their_order_and_their_distance(wanted, gap):
    placed = spread_labels(wanted, gap)
    order = np.argsort(wanted, kind="stable")
    assert (np.diff(placed[order]) >= gap - 1e-9).all()
    assert np.isclose(placed.mean(), np.mean(wanted))


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=15, unique=True))
def test_labels_with_room_stay_where_they_are(wanted):
    assert np.allclose(spread_labels(wanted, 1.0), wanted)


small = st.tuples(st.integers(1, 6), st.integers(0, 6))


@given(st.lists(small, min_size=1, max_size=10, unique=True))
def test_the_frontier_is_what_nothing_beats(pairs):
    points = [CostPoint(str(i), cost, None, Estimate(v, v, v, 1)) for i, (cost, v) in enumerate(pairs)]
    beaten = {
        p.name
        for p in points
        for q in points
        if q is not p and q.cost <= p.cost and q.score.value >= p.score.value
    }
    assert {p.name for p in pareto_front(points)} == {p.name for p in points} - beaten
    costs = [p.cost for p in pareto_front(points)]
    assert costs == sorted(costs)


@given(st.lists(st.tuples(small, st.booleans()), min_size=1, max_size=10, unique=True))
def test_what_was_timed_elsewhere_neither_beats_nor_is_beaten(marked):
    points = [
        CostPoint(str(i), cost, None, Estimate(v, v, v, 1), elsewhere)
        for i, ((cost, v), elsewhere) in enumerate(marked)
    ]
    assert pareto_front(points) == pareto_front([p for p in points if not p.is_elsewhere])


def test_a_picture_that_cannot_be_written_is_closed_all_the_same(tmp_path):
    """Twenty reports that failed in one process had left all of theirs open."""
    figure, _ = make_panels(1)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OSError, match="file"):
        save_figure(figure, tmp_path / "file" / "picture.svg")
    assert not plt.fignum_exists(figure.number)
