"""The demo's table over ten worlds: every editor, requests that contradict and that repeat the truth apart.

Command:
    python -m experiments.demo_worlds

Each world has a seed of its own, and with it a corpus, a model and requests, all as `make demo` makes them;
settings are the preset's, not tuned. Intervals are over worlds, subjects and requested objects at once. Takes
about four hours of one core; with `--edits 120` two.
"""

from experiments.command import launch_module
from experiments.study import Study, WorldOptions
from testbed.evaluations.hase.metrics import (
    CONTRADICTS,
    DAMAGE,
    FOLLOWS,
    METRICS,
    REPEATS,
    SKILL,
    SKILL_RECALIBRATED,
    STAYS,
)
from testbed.run.strata import SUPPORT_BINS
from testbed.scores.metric import metrics_shown_in
from testbed.scores.views import Column, View

EDITORS = (
    "none", "lora-down", "lora-all", "embeddings", "full", "full-early", "full-late", "ft-constrained",
    "rome", "mend", "in-context", "grace", "sparse", "context-distillation", "count-based", "self-bayes",
    "random-target", "oracle",
)  # fmt: skip
"""All but `memit`, which is `rome` where edits are made one at a time."""
TITLES = {
    CONTRADICTS: "Requests that contradict the truth",
    REPEATS: "Requests that repeat the truth",
    "all": "All requests",
}
WHO = ("editor", "reference")
NOTE = "± is half of a 95% interval over worlds, subjects and requested objects at once."
BY_SUPPORT = [Column(FOLLOWS, name, {"subset": f"support {name}"}) for name in SUPPORT_BINS]

STUDY = Study(
    options=WorldOptions(worlds=10, editors=EDITORS, edits=240),
    run="demo-worlds-{seed}",
    subsets=(CONTRADICTS, REPEATS, *(f"support {name}" for name in SUPPORT_BINS)),
    views=[
        *(View(f"requests-{subset}".replace(" ", "-"), title, metrics_shown_in(METRICS, "compared"), who=WHO,
               where={"subset": subset}, note=NOTE, ranked=True) for subset, title in TITLES.items()),
        View("support-followed", f"{FOLLOWS}, by support", BY_SUPPORT, who=WHO, ranked=True),
    ],
    world_views=[
        View("worlds", "By world: requests that contradict the truth",
             (FOLLOWS, STAYS, DAMAGE, SKILL, SKILL_RECALIBRATED), rows={"reader": "editor", "seed": "world"},
             where={"subset": CONTRADICTS}),
    ],
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
