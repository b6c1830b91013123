"""Progress where no terminal is: an estimate soon after the first step, then a line now and then."""

from itertools import accumulate, pairwise
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from testbed import console
from testbed.console import SECONDS_BETWEEN_LINES, SECONDS_TO_ESTIMATE, show_progress


@given(st.lists(st.floats(0.01, 30), min_size=2, max_size=60))
def test_an_estimate_comes_soon_and_lines_seldom(gaps):
    now, said = [0.0], []
    clock, say = console.time, console.say
    try:
        console.time = SimpleNamespace(perf_counter=lambda: now[0])
        console.say = lambda text: said.append((now[0], text))
        times = [*accumulate(gaps)]
        with show_progress("work", len(times)) as advance:
            for now[0] in times:
                advance(1)
    finally:
        console.time, console.say = clock, say
    estimates = [at for at, text in said if text.endswith("left")]
    due = [at for at in times[1:-1] if at - times[0] >= SECONDS_TO_ESTIMATE]
    assert estimates[:1] == due[:1]
    assert all(late - soon >= SECONDS_BETWEEN_LINES - 1e-9 for soon, late in pairwise(estimates))
    assert said[-1][1].startswith(f"work: {len(times)} of {len(times)} in ")
