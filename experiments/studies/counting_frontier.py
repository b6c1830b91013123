"""What do the thresholds of counting buy, and what do they cost? Its frontier with real fits, beside `keyed`.

Commands:
    python -m experiments.counting_frontier
    python -m experiments.counting_frontier --editors keyed 'counting, fewest 2, majority 0.5, unread'

Counting concludes from so many supporters (`fewest`), of whom more than a share agree (`majority`), perhaps
also what the model has never read of the subject (`unread`). Each point has thresholds of its own and stores
its answers at the subject's name, as `keyed` stores those of `self-bayes`. Worlds, models and requests are
those of `experiments.demo_worlds`, whose runs and edits are used where they are there.

The world of seed 0 is for development: what `testbed.tune` would choose there is named. All points are
reported on the other worlds.

follows: of consequences that must change, the share that is the agent's; falsely changed: of the subject's
other answers that must stay, the share that changes. Requests contradict the truth. The last table has
what each point has more or less than `keyed` on the same cases.
"""

from typing import NamedTuple

from experiments.command import launch_module
from experiments.measures.frontier import frontier_tables
from experiments.study import Study, WorldOptions


class Thresholds(NamedTuple):
    """Those of `lm.editors.count_based.CountConfig`."""

    fewest: float
    majority: float
    unread: bool

    @property
    def name(self) -> str:
        """In tables."""
        return f"counting, fewest {self.fewest:g}, majority {self.majority:g}" + ", unread" * self.unread


POINTS = [
    Thresholds(1, 0.0, True), Thresholds(1, 0.5, True), Thresholds(1, 0.5, False),
    Thresholds(2, 0.5, True), Thresholds(2, 0.5, False), Thresholds(3, 0.5, False),
]  # fmt: skip
"""As many as `testbed.tune` tries of every editor."""


STUDY = Study(
    options=WorldOptions(worlds=11, editors=("keyed", *(point.name for point in POINTS)), edits=120),
    cells=lambda options: [
        {"use": "report" if seed else "development", "seed": seed} for seed in range(options.worlds)
    ],
    run="demo-worlds-{seed}",
    variants={
        point.name: (
            "keyed-counting", {f"keyed-counting.{name}": value for name, value in point._asdict().items()}
        )
        for point in POINTS
    },
    tables=frontier_tables,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
