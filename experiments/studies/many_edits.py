"""A thousand edits of one model, and more: what is kept, what follows, what breaks, which switch is needed.

Commands:
    python -m experiments.many_edits
    python -m experiments.many_edits --scale laptop --edits 10000 --editors keyed lora-down

Worlds are those of `experiments.demo_worlds`, whose runs are used where they are there, but for the first, on
which keyed storage was set. Each editor makes the same requests on top of each other (`--sequential` of
`testbed.edit`); after 1, 10, 100, ... of them all are asked again. `memit` stands there without and with each
of its switches; `retrain`, which trains from scratch with what was requested in the corpus, is told all at
once. Settings are the demo's, but `memit` and `rome` read one opening, not eight, and take 10 steps at four
times the rate, not 40: a sixteenth of the arithmetic. At the scale `laptop` there is one world, of 100,000
facts, whose model `experiments.pretrain --preset paper-laptop` trains.
"""

from dataclasses import dataclass
from typing import Literal

from experiments.command import launch_module
from experiments.measures.scaled import PAPER_FACTS, name_run
from experiments.measures.sequences import kept_table
from experiments.study import Changes, Study, Values, WorldOptions
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, KEPT, SKILL, STAYS, SUCCESS

SWITCHES = ("accumulate", "null-space", "normalise", "anchor")
RETRAIN = "retrain"


def locate_by(editor: str, *switches: str) -> tuple[str, Changes]:
    """`rome` or `memit` with less arithmetic, and with some switches."""
    cheap = {f"{editor}.contexts": 1, f"{editor}.steps": 10, f"{editor}.rate": 0.4}
    return editor, cheap | {f"{editor}.{switch}": True for switch in switches}


VARIANTS: dict[str, tuple[str, Changes]] = {
    "keyed, two layers, 40 steps": ("keyed", {"keyed.fit.layers": (0, 1), "keyed.fit.steps": 40}),
    "rome": locate_by("rome"),
    "memit": locate_by("memit"),
    **{f"memit, {switch}": locate_by("memit", switch) for switch in SWITCHES},
    "memit, accumulate, null-space": locate_by("memit", "accumulate", "null-space"),
    "memit, all": locate_by("memit", *SWITCHES),
    **{f"sparse, {rate:g}": ("sparse", {"sparse.learning-rate": rate}) for rate in (1e-3, 3e-3, 3e-2, 0.1)},
}
METRICS = (SUCCESS, FOLLOWS, STAYS, KEPT, DAMAGE, SKILL)


@dataclass(frozen=True)
class Options(WorldOptions):
    """How many worlds, edits and editors."""

    scale: Literal["demo", "laptop"] = "demo"
    """demo: worlds of the demo's kind; laptop: one of 100,000 facts."""
    first: int = 1
    """Seed of the first world."""

    @property
    def cells(self) -> list[Values]:
        """A model for each world."""
        if self.scale == "laptop":
            return [{"model": name_run("paper-laptop", PAPER_FACTS), "seed": 0}]
        return [
            {"model": f"demo-worlds-{seed}", "seed": seed}
            for seed in range(self.first, self.first + self.worlds)
        ]


STUDY = Study(
    options=Options(
        worlds=3, edits=1000,
        editors=("keyed", "keyed-counting", "keyed-request", "lora-down", "sparse", *VARIANTS, RETRAIN),
    ),
    run="{model}",
    preset=lambda cell: {"demo": "tiny", "laptop": "paper-laptop"}[cell["scale"]],
    pool=("model", "seed"),
    edit=lambda cell: {
        "hase.reinforce": 0.0, "batch" if cell["editor"] == RETRAIN else "sequential": cell["edits"],
    },
    variants=VARIANTS,
    tables=lambda findings: [kept_table(findings.editors(), METRICS)],
    title=lambda options: "many-edits" + f"-{options.scale}" * (options.scale != "demo"),
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
