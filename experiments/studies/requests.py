"""Requests of every kind, in worlds that no setting was chosen on: slopes, retractions, beliefs.

Command:
    python -m experiments.requests

Worlds of the preset `requests`: sources of five reliabilities and statements with a probability speak of
their facts. Editors of text are told sentences; `keyed-forms` (ours) and `keyed-face-value`, its trivial
rival, what the request makes of the model's own beliefs. These two get one dial each, chosen among six
settings on two further worlds by the slope of what they aim at on how reliable a source is. Then every
editor is told claims in every form, editors of text once more to learn the object or the label alone, and
retractions of whole facts by themselves: as if nothing had been said of the fact. Beside them stands a model
that was trained without some facts. A world takes some minutes of a core.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments.command import launch_module
from experiments.measures.request_aims import (
    CLAIMED,
    RETRACTED,
    choose_settings,
    draw_retractions,
    measure_aim,
    options_of,
    settings_table,
)
from experiments.measures.untold import Untold, measure_untold, untold_table
from experiments.stages import Stage
from experiments.study import Changes, Findings, Study, Values, WorldOptions
from testbed.evaluations.requests import CLAIMS, FORMS, GRADED
from testbed.evaluations.requests.chapter import (
    CHANNELS,
    DISJUNCTIONS,
    form_table,
    retraction_table,
    slope_table,
)
from testbed.evaluations.requests.metrics import DAMAGE, DEDUCIBLE, FAR, NOT_DEDUCIBLE, SLOPE
from testbed.run.runs import Run, read_metrics
from testbed.run.world import load_world
from testbed.scores.frame import concat_frames
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.summary import frame_of
from testbed.scores.tables import Table
from testbed.scores.views import Column, View, make_table

TEXT_EDITORS = ("full", "lora-down", "ft-constrained")
"""Fine-tuning: plain, of adapters, and bounded. They are told sentences."""
FIRST_SEED, DEVELOPMENT = 10, (0, 1)
"""Of worlds, and of those on which settings were chosen."""
ASKED = {
    "claims": CLAIMED,
    "retractions": RETRACTED,
    "more claims": replace(CLAIMED, texts=0),
    "doubt": replace(CLAIMED, texts=0, learn="doubt"),
    "more retractions": RETRACTED,
}
"""What is asked: claims in every form, with passages or without; the same of which the object or the label
alone is learned; and retractions."""
IN_DOUBT: dict[str, tuple[str, Changes]] = {f"{name}, in doubt alone": (name, {}) for name in TEXT_EDITORS}
EDITORS_OF = {
    "claims": ("keyed-forms", "keyed-face-value", "full"),
    "retractions": ("keyed-forms",),
    "more claims": ("lora-down", "ft-constrained"),
    "doubt": tuple(IN_DOUBT),
    "more retractions": TEXT_EDITORS,
}
IN_ALL = ("claims", "retractions")
"""What is asked in every world."""
PARTS = (*FORMS, *(f"{form}, {claim}" for form in FORMS for claim in CLAIMS), DEDUCIBLE, NOT_DEDUCIBLE)


@dataclass(frozen=True)
class Options(WorldOptions):
    """How many worlds, and who edits them."""

    some: int = 4
    """Of the worlds the first, in which other editors are asked, too, also to learn labels alone."""
    untold: int = 4
    """Of these the first, in which a model is trained without some facts."""
    retractions: int = 105
    """Facts that each editor is to forget in each world, at most."""

    @property
    def cells(self) -> list[Values]:
        """The worlds of seeds 10, 11, ..., and in them what is asked."""
        return [
            {"part": part, "seed": FIRST_SEED + place}
            for parts, count in ((IN_ALL, self.worlds), ([p for p in ASKED if p not in IN_ALL], self.some))
            for place in range(min(count, self.worlds))
            for part in parts
        ]


def run_of(runs: Path, seed: int) -> Run:
    """The run of the world of a seed."""
    return Run(runs, f"told-{seed}")


def edits_of(cell: Values) -> Changes:
    """The preset's, with those settings of our editors whose slope is nearest to 1."""
    asked = ASKED[cell["part"]]
    count = cell["retractions"] if asked is RETRACTED else cell["edits"]
    chosen = options_of(choose_settings([run_of(cell["runs"], seed) for seed in DEVELOPMENT]))
    return {"requests": asked, "cases.count": count} | chosen


def first_stages(findings: Findings) -> Iterator[Stage]:
    """The development worlds' models and the settings; what is aimed at; models that were not told facts."""
    options = findings.options
    for seed in (*DEVELOPMENT, *range(FIRST_SEED, FIRST_SEED + options.worlds)):
        yield from findings.model_stages({"seed": seed, "part": "claims"})
    yield "settings", partial(choose_settings, [run_of(options.runs, seed) for seed in DEVELOPMENT])
    for seed in range(FIRST_SEED, FIRST_SEED + options.worlds):
        yield f"aims in the world of seed {seed}", partial(aim_in, findings, seed)
    for seed in range(FIRST_SEED, FIRST_SEED + options.untold):
        yield f"a model that was not told facts of seed {seed}", partial(untold_in, findings, seed)


def aim_in(findings: Findings, seed: int) -> float:
    """How far from the agent `keyed-forms` aims in a world, before anything is stored."""
    runs, count = findings.options.runs, findings.options.retractions
    chosen = options_of(choose_settings([run_of(runs, one) for one in DEVELOPMENT]))
    return measure_aim(run_of(runs, seed), seed, count, chosen["keyed-forms.prior"])


def untold_in(findings: Findings, seed: int) -> Untold:
    """What a model of a world says that was never told some of these facts."""
    run = run_of(findings.options.runs, seed)
    world = load_world(run)
    return measure_untold(run, world, draw_retractions(world, findings.options.retractions, seed))


def make_tables(findings: Findings) -> Iterator[Table]:
    """The tables of the chapter, of all worlds; and what was tried."""
    frames = {part: frame_of(findings.editors(part=part)) for part in ASKED}
    told = concat_frames([frames[part] for part in ("claims", "more claims", "doubt")])
    forgotten = concat_frames([frames["retractions"], frames["more retractions"]])
    seeds = range(FIRST_SEED, FIRST_SEED + findings.options.untold)
    untold = {seed: untold_in(findings, seed) for seed in seeds}
    by_world = {seed: findings.editors(part="retractions", seed=seed) for seed in seeds}
    runs = [run_of(findings.options.runs, seed) for seed in DEVELOPMENT]
    tables = [
        slope_table(told),
        make_table(CHANNELS, told),
        form_table(findings.editors(part="claims"), frames["claims"]),
        make_table(DISJUNCTIONS, frames["claims"]),
        retraction_table(forgotten),
        retraction_table(frames["claims"]),
        untold_table(untold, by_world),
        settings_table(choose_settings(runs)),
    ]
    yield from filter(None, tables)


def further_figures(findings: Findings) -> dict[str, Any]:
    """What is aimed at in each world, and what its model labels rightly."""
    options, seeds = findings.options, range(FIRST_SEED, FIRST_SEED + findings.options.worlds)
    labels = {f"told-{seed}": read_metrics(run_of(options.runs, seed))[-1]["truth"] for seed in seeds}
    return {"aims": [round(aim_in(findings, seed), 4) for seed in seeds], "labels_right": labels}


STUDY = Study(
    options=Options(worlds=10, edits=84),
    run="told-{seed}",
    preset="requests",
    edit=edits_of,
    editors=lambda cell: EDITORS_OF[cell["part"]],
    variants=IN_DOUBT,
    before=first_stages,
    subsets=PARTS,
    views=[
        View("requests-distance", "How far from the agent is the fact?",
             [Column(FAR, part, {"subset": part}) for part in (f"{f}, {c}" for f in GRADED for c in CLAIMS)],
             rows={"part": "asked", "reader": "who"}, who=("editor", NO_EDIT, BAYESIAN),
             where={"part": ("claims", "more claims", "doubt")},
             note="Total variation after statements of sources or with probabilities, by what is claimed."),
    ],
    world_views=[
        View("requests-worlds", "Sources, by world", (SLOPE, DAMAGE),
             rows={"reader": "editor", "seed": "world"}, where={"part": "claims", "subset": "source"}),
    ],
    tables=make_tables,
    figures=further_figures,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
