"""Seesaw-CF's own requests, about its own people: do our cells rank as the paper's printed ones?

Command:
    python -m experiments.seesaw_released [--path ../shared/data/seesaw_cf]

The released files say what some 1,300 people have whose facts are edited, and what 54,000 others have who
are asked about. A world of the first and of some of the others is learned; then the paper's requests are
made, each alone and all together. The files tell gender and hardly anybody's race, so that of the printed
cells of a property and a group those of women and men can be compared (Table 14).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpus.config import PeopleWorld
from corpus.worlds.people.released import REQUESTS
from experiments.command import launch_module
from experiments.measures.people_cells import (
    PRINTED,
    collect_answers,
    measure_dose,
    rank_agreement,
    read_printed_cells,
)
from experiments.study import Findings, Study, StudyOptions, Values
from testbed.evaluations.seesaw import OTHERS
from testbed.evaluations.seesaw.groups import editor_changes
from testbed.evaluations.seesaw.metrics import SUCCESS
from testbed.evaluations.seesaw.population import Population
from testbed.evaluations.seesaw.released import Hindrance, Poser, read_world_requests
from testbed.evaluations.seesaw.tables import paper_accuracy_table
from testbed.run.world import World, load_world
from testbed.scores.tables import Cell, Table


@dataclass(frozen=True)
class Options(StudyOptions):
    """How much is measured."""

    path: Path = Path("../shared/data/seesaw_cf")
    """Folder of the released files."""
    seed: int = 0
    """Of the world and the model."""
    people: int = 2400
    """People of the world: all whose facts are edited, and as many of those asked about as there is room."""
    steps: int = 1200
    """Most steps of training."""
    accuracy: float = 0.97
    """Share of facts at which a training stops."""
    doses: tuple[int, ...] = (1, 300)
    """How many requests are made at a time, a divisor of all edits. The paper's were made together, as far as
    its files tell."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(self.edits % dose for dose in self.doses):
            raise ValueError(f"edits {self.edits} must be a multiple of every dose")

    @property
    def cells(self) -> list[Values]:
        """The paper's requests at every dose."""
        return [{"dose": dose, "seed": self.seed} for dose in self.doses]


def requests_table(world: World) -> Table:
    """How many requests of each file the world can pose, and what hinders the others."""
    poser, counts = Poser(Population(world)), Counter[tuple[str, str]]()
    for request in read_world_requests(world):
        posed = poser.pose(request)
        counts[request.file, posed if isinstance(posed, Hindrance) else ""] += 1
    rows: list[list[Cell]] = []
    for file in REQUESTS:
        hindered = [counts[file, one] for one in Hindrance]
        rows.append([file, counts[file, ""] + sum(hindered), counts[file, ""], *hindered])
    note = f"In a world of {len(world.graph.subjects):,} of their people."
    header = ["file", "requests", "posed", *Hindrance]
    return Table("requests", "Requests that can be posed", header, rows, note)


def make_tables(findings: Findings) -> Iterator[Table]:
    """Which requests the world can pose, our cells beside the printed ones, and how alike they rank."""
    options, printed = findings.options, read_printed_cells()
    scored = {(one.name, dose): one for dose in options.doses for one in findings.editors(dose=dose)}
    changes = {key: editor_changes(one) for key, one in scored.items()}
    ours = {key: collect_answers(one) for key, one in changes.items()}
    (run,) = findings.runs()
    yield requests_table(load_world(run))
    keys = [*next(iter(printed.values()))]
    rows: list[list[Cell]] = [[who, "printed", *of.values()] for who, of in printed.items()]
    for (name, dose), one in ours.items():
        rows.append([name, f"{dose:,} at once", *(str(one.cells.get(key, "-")) for key in keys)])
    first = next(iter(ours.values()))
    rows.append(["", "answers", *(first.cells[key].answers if key in first.cells else 0 for key in keys)])
    rows.append(["", "people", *(first.people.get(key, 0) for key in keys)])
    note = (
        "D_d of those who have the new object. * below 0 with p < .05 by the paper's test, ** also after "
        "Holm's correction over all cells of an editor. Answers and people are the same in every row of ours."
    )
    header = ["editor", "what", *(f"{r}, {group}" for r, group in keys)]
    yield Table("cells", "Cells of a property and a gender (Table 14)", header, rows, note, words=2)
    rows = []
    for (name, dose), one in ours.items():
        rhos = [rank_agreement(one, cells, options.seed) for cells in printed.values()]
        rows.append([name, f"{dose:,}", *rhos, rhos[0].cases])
    pairs = ", ".join(f"{mine} and {who}" for who, mine in PRINTED.items())
    note = (
        f"Pairs of the same editor are {pairs}; all others are controls. Intervals are over edits, of one "
        "world and one model. In print women and men are nearly alike, so that eight cells are four "
        "properties twice."
    )
    header = ["ours", "at once", *(f"printed {who}" for who in PRINTED), "cells"]
    yield Table("agreement", "Rank correlation with the printed cells", header, rows, note, words=2)
    doses = {key: measure_dose(one, changes[key]) for key, one in scored.items()}
    rows = [[name, f"{dose:,}", of.success, *of.change.values()] for (name, dose), of in doses.items()]
    header = ["editor", "at once", SUCCESS, *(f"D_d, {kind}" for kind in OTHERS)]
    note = "All properties together. D_d is 0 for the agent. Whose fact another request changes is left out."
    yield Table("kinds", "The three kinds of others", header, rows, note, words=2)
    yield paper_accuracy_table([scored[name, options.doses[0]] for name in options.editors])


STUDY = Study(
    options=Options(editors=("full", "ft-constrained", "memit", "mend"), edits=300),
    run="seesaw-released-{people}-{seed}",
    preset="seesaw",
    corpus=lambda cell: {
        "world.path": str(cell["path"]), "world.subjects": cell["people"],
        "world.people": PeopleWorld(spoken="alike"), "exact.strata": (0.0, 0.0, 1.0),
    },
    train=lambda cell: {"train.steps": cell["steps"], "until": cell["accuracy"]},
    edit=lambda cell: {"batch": cell["dose"], "seesaw.requests": "released", "seesaw.phrasings": 1},
    tables=make_tables,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
