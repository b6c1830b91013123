"""TAXI (Powell et al. 2024) whole: does changing what a thing is change what follows from it?

Commands:
    python -m experiments.taxi [--path ../shared/data/taxi [--only-tables]]

Generated taxonomies of three seeds, and TAXI's own tables, where their folder is given, read by models of as
many seeds. Editors are tuned on a taxonomy of another seed, which is never reported. A further world has
imagine documents that never say their premise again and speak of nobody else: contexts that say nothing of
the request are told there, too, to see what such documents teach.
"""

from dataclasses import dataclass

from experiments.command import launch_module
from experiments.study import Changes, SlowOptions, Study, Tuning, Values
from testbed.evaluations.held_out import HELD_OUT_PARTS
from testbed.evaluations.taxi.metrics import METRICS, RARE, TYPICAL
from testbed.scores.metric import metrics_shown_in
from testbed.scores.views import View

TUNED = ("lora-down", "full", "full-late", "ft-constrained", "rome", "memit", "embeddings")
SLOW = ("count-based", "self-bayes", "self-bayes-told")
CONTEXTS = ("in-context", "in-context, imagine")
TUNING = {"group": "generated", "name": "tuning", "seed": 1000, "folder": ""}
"""The taxonomy on which hyper-parameters are chosen."""
GENERATED, TABLES, PLAIN = "generated", "tables", "plain documents"


@dataclass(frozen=True)
class Options(SlowOptions):
    """How much is measured."""

    path: str = ""
    """Folder of TAXI's data; without it, generated taxonomies only."""
    real_edits: int = 976
    """Most edits by each editor of TAXI's tables, which have so many."""
    table_seeds: int = 3
    """Models that read TAXI's tables, each its own corpus of them."""
    only_tables: bool = False
    """Leave out the generated taxonomies that are reported."""
    held_out: int = 40
    """Edits that hyper-parameters are chosen on."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.only_tables and not self.path:
            raise ValueError("only-tables needs a path to TAXI's folder")

    @property
    def cells(self) -> list[Values]:
        """Generated taxonomies, models of TAXI's tables, and the world of plain documents."""
        worlds, tables = 0 if self.only_tables else self.worlds, self.table_seeds if self.path else 0
        names = [(GENERATED, f"{seed}", seed) for seed in range(worlds)]
        names += [(TABLES, f"tables-{seed}", seed) for seed in range(tables)]
        names += [] if self.only_tables else [(PLAIN, "plain", 0)]
        return [
            {"group": group, "name": name, "seed": seed, "folder": self.path if group == TABLES else ""}
            for group, name, seed in names
        ]


def corpus_of(cell: Values) -> Changes:
    """TAXI's folder, or documents that never say their premise again and speak of nobody else."""
    plain = {"documents.premise-again": False, "documents.bystanders": 0.0}
    return {"world.path": cell["folder"]} | (plain if cell["group"] == PLAIN else {})


def edits_of(cell: Values) -> Changes:
    """As many of TAXI's tables as there are; contexts with controls."""
    all_of_tables = {"cases.count": cell["real_edits"]} if cell["group"] == TABLES else {}
    return (
        (all_of_tables if cell["editor"] not in SLOW else {})
        | ({"taxi.controls": True} if cell["editor"] in CONTEXTS else {})
    )  # fmt: skip


STUDY = Study(
    options=Options(
        worlds=3, edits=400, slow_edits=80,
        editors=("none", "lora-down", "full", "full-late", "ft-constrained", "rome, last token",
                 "rome, subject's token", "memit", "embeddings", "grace", "mend", "keyed", *CONTEXTS, *SLOW),
    ),
    run="taxi-{name}",
    preset="taxi",
    pool=("name", "seed", "folder"),
    corpus=corpus_of,
    edit=edits_of,
    editors=lambda cell: CONTEXTS if cell["group"] == PLAIN else cell["editors"],
    variants={
        "rome, last token": ("rome", {"rome.token": "last"}),
        "rome, subject's token": ("rome", {"rome.token": "subject"}),
        "in-context, imagine": ("in-context", {"in-context.imagine": True}),
    },
    slow=SLOW,
    tuning=lambda options: Tuning(TUNING, options.held_out, TUNED),
    subsets=(TYPICAL, RARE, *HELD_OUT_PARTS),
    views=[
        View("taxi", "TAXI, by editor", metrics_shown_in(METRICS, "compared"),
             rows={"group": "worlds", "reader": "editor"}, who=("editor", "control", "reference")),
    ],
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
