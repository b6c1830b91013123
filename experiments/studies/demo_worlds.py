"""The demo's table over ten worlds: every editor, requests that contradict and that repeat the truth apart.

Command:
    python -m experiments.demo_worlds
    python -m experiments.demo_worlds --tuned 60

Each world has a seed of its own, and with it a corpus, a model and requests, all as `make demo` makes them;
settings are the preset's. With --tuned each editor's are chosen first, by as many trials of each, on so many
requests of a further world that is not reported. Intervals are over worlds, subjects and requested objects
at once. What follows is averaged twice: as the stratified sampler drew it, over consequences with a
supporter, and as the paper's sampler would draw it, by 300 requests a world that nobody edits. Takes about
four hours of one core; with `--edits 120` two.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from experiments.command import launch_module
from experiments.measures.samplers import average_over_support, count_support
from experiments.study import Findings, Study, Tuning, WorldOptions, change_settings
from testbed.commands.edit import draw_with_agent
from testbed.engine.catalogue import whose_options
from testbed.evaluations.hase import INDEPENDENT
from testbed.evaluations.hase.metrics import (
    CONTRADICTS,
    DAMAGE,
    FOLLOWS,
    GAINED,
    KEPT,
    METRICS,
    REPEATS,
    SKILL,
    SKILL_RECALIBRATED,
    STAYS,
    SUCCESS,
    name_at,
)
from testbed.evaluations.hase.support import BY_SUPPORT
from testbed.run.strata import SUPPORT_BINS
from testbed.run.world import load_world
from testbed.scores.metric import metrics_shown_in
from testbed.scores.tables import Cell, Table
from testbed.scores.views import View

EDITORS = (
    "none", "lora-down", "lora-all", "embeddings", "full", "full-early", "full-late", "ft-constrained",
    "rome", "mend", "in-context", "grace", "sparse", "context-distillation", "count-based", "self-bayes",
    "keyed", "keyed-request", "keyed-counting", "random-target", "oracle",
)  # fmt: skip
"""All but `memit`, which is `rome` where edits are made one at a time."""
DEVELOPMENT = {"seed": 1000}
"""The world that hyper-parameters are chosen in."""
DRAWN = 300
"""Requests by the paper's sampler in each world."""
TITLES = {
    CONTRADICTS: "Requests that contradict the truth",
    REPEATS: "Requests that repeat the truth",
    "all": "All requests",
}
WHO = ("editor", "reference")
NOTE = "± is half of a 95% interval over worlds, subjects and requested objects at once."


@dataclass(frozen=True)
class Options(WorldOptions):
    """How many worlds, and whose settings."""

    tuned: int | None = None
    """Requests of a development world by which settings are chosen; without it they are the preset's."""


def choose_settings(options: Options) -> Tuning | None:
    """Where those of editors that have a search are chosen."""
    if options.tuned is None:
        return None
    return Tuning(
        DEVELOPMENT, options.tuned, [name for name in options.editors if whose_options(name).search]
    )


def sampler_tables(findings: Findings) -> Iterator[Table]:
    """What follows under two samplers, and what each draws."""
    # Of so many requests a world by the paper's sampler, those that change a consequence.
    published = np.zeros(len(SUPPORT_BINS), int)
    for cell in findings.cells:
        as_edited = findings.edits_of(cell, cell["editors"][0])
        settings = change_settings(as_edited, {"hase.sampler": "published", "cases.count": DRAWN})
        _, cases = draw_with_agent(load_world(findings.run_of(cell)), settings)
        published += count_support(cases)
    editors = findings.editors()
    first = editors[0]
    drawn = [first.frame.cell(FOLLOWS, first.name, f"support {name}").cases for name in SUPPORT_BINS]
    shares = np.array([0, *drawn[1:]]), published
    rows: list[list[Cell]] = [
        [one.name, *(average_over_support(one, one.name, share) for share in shares)] for one in editors
    ]
    left_out = f"{drawn[0]} of {sum(drawn)} consequences have no supporter and are left out of the first."
    head = ["editor", "support 1 or more", "published sampler"]
    yield Table("samplers", "Consequence follows, by sampler", head, rows, f"{left_out} {NOTE}")
    counts: list[list[Cell]] = [["stratified", *drawn], ["published", *map(int, published)]]
    note = f"Consequences that must change, of the edits and of {DRAWN} requests a world."
    yield Table("drawn", "What each sampler draws, by support", ["sampler", *SUPPORT_BINS], counts, note)


STUDY = Study(
    options=Options(worlds=10, editors=EDITORS, edits=240),
    run="demo-worlds-{seed}",
    tuning=choose_settings,
    subsets=(CONTRADICTS, REPEATS, *(f"support {name}" for name in SUPPORT_BINS)),
    views=[
        View("headline", "Headline: requests that contradict the truth",
             (SUCCESS, GAINED, name_at("right", INDEPENDENT), KEPT, DAMAGE, SKILL_RECALIBRATED), who=WHO,
             where={"subset": CONTRADICTS}, note=NOTE, ranked=True),
        *(View(f"requests-{subset}".replace(" ", "-"), title, metrics_shown_in(METRICS, "compared"), who=WHO,
               where={"subset": subset}, note=NOTE, ranked=True) for subset, title in TITLES.items()),
        View("support-followed", f"{FOLLOWS}, by support", BY_SUPPORT[FOLLOWS], who=WHO, ranked=True),
    ],
    world_views=[
        View("worlds", "By world: requests that contradict the truth",
             (FOLLOWS, STAYS, DAMAGE, SKILL, SKILL_RECALIBRATED), rows={"reader": "editor", "seed": "world"},
             where={"subset": CONTRADICTS}),
    ],
    tables=sampler_tables,
    title=lambda options: "demo-worlds-tuned" if options.tuned else "",
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
