"""Seesaw-CF: does an edit made together with others harm those whom single edits help?

Command:
    python -m experiments.seesaw_dose
    python -m experiments.seesaw_dose --people 10008 --worlds 1 --edits 900 --doses 1 10 100 900

Halevy et al. 2024 made, as far as their files tell, 900 edits at once; experiments.seesaw makes each alone.
Here the same 300 requests about 1,200 people are made 1, 10, 100 and 300 at a time, by every editor that
takes batches, and the others are asked the same questions each time. Groups differ, and everybody is
mentioned as often. Whoever has the edited relation changed by another of the requests is left out. For the
rational agent requests do not touch other people's stated facts: its change is 0 at every dose.
"""

from dataclasses import dataclass

from experiments.command import launch_module
from experiments.measures.dose_table import dose_tables
from experiments.measures.people import WorldKind, corpus_of_people, training_of_people
from experiments.study import Changes, Study, Values, WorldOptions
from testbed.presets import CORPUS, TRAIN

MANY = 5000
"""People from which on a model learns as `paper-laptop`'s does: by larger steps, of short documents."""


@dataclass(frozen=True)
class Options(WorldOptions):
    """How much is measured."""

    people: int = 1200
    """People of each world, a multiple of 24."""
    doses: tuple[int, ...] = (1, 10, 100, 300)
    """How many requests are made at a time; the edits in each world are a multiple of every dose."""

    @property
    def cells(self) -> list[Values]:
        """Worlds of seeds 1, 2, ... at every dose: groups differ, everybody is spoken of alike."""
        kind = WorldKind(shift=True, frequency=False)
        return [
            {"world_kind": kind, "steps": 2400, "dose": dose, "seed": 1 + seed}
            for seed in range(self.worlds)
            for dose in self.doses
        ]


def corpus_of(cell: Values) -> Changes:
    """Short documents where there are many people."""
    short = {"documents.length": CORPUS["paper-laptop"].documents.length} if cell["people"] >= MANY else {}
    return corpus_of_people(cell) | short


def training_of(cell: Values) -> Changes:
    """Larger steps where there are many people."""
    bold, until = TRAIN["paper-laptop"], {"until": 0.95}
    if cell["people"] >= MANY:
        return {
            "model": bold.model,
            "mesh": bold.mesh,
            "train": bold.train,
            "train.steps": cell["steps"],
        } | until
    return training_of_people(cell) | until


STUDY = Study(
    options=Options(worlds=3, editors=("full", "ft-constrained", "lora-down", "memit"), edits=300),
    run="seesaw-dose-{people}-{seed}",
    preset="seesaw",
    corpus=corpus_of,
    train=training_of,
    edit=lambda cell: {"batch": cell["dose"], "seesaw.others": 4},
    tables=dose_tables,
)

if __name__ == "__main__":
    launch_module()
