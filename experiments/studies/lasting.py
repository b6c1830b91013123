"""Consequences stored at the subject's name: ten demo worlds, storages crossed with targets, sequences.

Command:
    python -m experiments.lasting

Worlds are those of `experiments.demo_worlds`, whose runs are used where they are there. `keyed`,
`keyed-counting` and `keyed-request` edit each of them beside `lora-down`; in the first few every storage
(adapters, the subject's name, the row of its last token) is fitted to every source of answers (the request,
counting, self-bayes, the agent), as in the first of all; and in a few edits are made on top of each other.
The rate and the steps of keyed storage were found on the world of seed 0, a development world: figures are of
the others unless they say so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from experiments.command import launch_module
from experiments.measures.sequences import kept_table
from experiments.study import Changes, Study, Values, WorldOptions
from lm.editors.self_bayes import FitConfig
from testbed.engine.catalogue import default_configurations
from testbed.evaluations.hase.metrics import CONTRADICTS, DAMAGE, FOLLOWS, KEPT, SKILL, STAYS, SUCCESS
from testbed.run.strata import SUPPORT_BINS
from testbed.scores.views import Column, View

Part = Literal["worlds", "sequences", "cross"]
SOURCES = {
    "the request": "keyed-request", "counting": "keyed-counting", "self-bayes": "keyed",
    "the agent, half": "keyed-oracle",
}  # fmt: skip
"""Where answers come from, and who fits them."""
STORAGES = ("low-rank", "keyed", "row")
IN_SEQUENCE = ("keyed", "lora-down")
COLUMNS = (SUCCESS, FOLLOWS, STAYS, KEPT, DAMAGE, SKILL)
BY_SUPPORT = [Column(FOLLOWS, name, {"subset": f"support {name}"}) for name in SUPPORT_BINS]
CONTRADICTING = {"subset": CONTRADICTS}
SHOWN = (*COLUMNS, Column("flops", "FLOPs", {"subset": "all"}))


@dataclass(frozen=True)
class Options(WorldOptions):
    """How many worlds and edits, and in how many worlds more than that is asked."""

    parts: tuple[Part, ...] = ("worlds", "sequences", "cross")
    """What is measured."""
    crossed: int = 3
    """Worlds behind the first in which storages are crossed with sources of answers."""
    sequences: int = 2
    """Worlds behind the first in which edits are made on top of each other."""
    length: int = 240
    """Edits of each sequence."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if max(self.crossed, self.sequences) >= self.worlds:
            raise ValueError("more worlds are crossed or edited in sequence than there are behind the first")

    @property
    def cells(self) -> list[Values]:
        """Of each part its worlds; the first world is for development."""
        seeds = {
            "worlds": range(self.worlds), "sequences": range(1, 1 + self.sequences),
            "cross": range(1 + self.crossed),
        }  # fmt: skip
        return [
            {"part": part, "use": "report" if seed else "development", "seed": seed}
            for part in self.parts
            for seed in seeds[part]
        ]


def storage_of(name: str, storage: str) -> Changes:
    """Answers of one source in one storage; adapters are fitted as `self-bayes` fits them."""
    fit = default_configurations()[name].fit
    return {f"{name}.fit": FitConfig() if storage == "low-rank" else replace(fit, storage=storage)}


CROSSED = {
    f"{source}, {storage}": (name, storage_of(name, storage))
    for source, name in SOURCES.items()
    for storage in STORAGES
}


def editors_of(cell: Values) -> Sequence[str]:
    """Who edits in a part."""
    return {"worlds": cell["editors"], "sequences": IN_SEQUENCE, "cross": tuple(CROSSED)}[cell["part"]]


STUDY = Study(
    options=Options(worlds=10, editors=("keyed", "keyed-counting", "keyed-request", "lora-down"), edits=60),
    run="demo-worlds-{seed}",
    edit=lambda cell: (
        {"cases.count": cell["length"], "sequential": cell["length"]} if cell["part"] == "sequences" else {}
    ),
    editors=editors_of,
    variants=CROSSED,
    subsets=(CONTRADICTS, *(f"support {name}" for name in SUPPORT_BINS)),
    views=[
        *(View(f"requests-contradict-{use}", f"Requests that contradict the truth: worlds of {use}",
               SHOWN, who=("editor", "reference"), ranked=True,
               where=CONTRADICTING | {"part": "worlds", "use": use}) for use in ("report", "development")),
        View("support-followed", f"{FOLLOWS}, by support of the new object", BY_SUPPORT,
             where={"part": "worlds", "use": "report"}),
        *(View(f"cross-{use}", f"Sources of answers and storages: worlds of {use}", SHOWN,
               where=CONTRADICTING | {"part": "cross", "use": use}) for use in ("report", "development")),
    ],
    tables=lambda findings: [kept_table(findings.editors(part="sequences"), COLUMNS)] * (
        "sequences" in findings.options.parts
    ),
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
