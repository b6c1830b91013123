"""Seesaw-CF (Halevy et al. 2024) whole: does an edit harm a group, or those of whom little was said?

Command:
    python -m experiments.seesaw

Six kinds of worlds of people, each with three seeds: groups differ or not (shift), half of each group is
spoken of often or everybody alike (frequency); with both, also one in which the corpus hides who is in which
group, and one in which work depends on gender. Sizes of groups are permuted among them by seed, so that over
worlds size is told from group. Editors have the settings of the preset.
"""

from dataclasses import dataclass
from itertools import product

from experiments.command import launch_module
from experiments.measures.people import CELLS, corpus_of_people, training_of_people
from experiments.measures.people_tables import fit_changes, people_tables
from experiments.study import SlowOptions, Study, Values


@dataclass(frozen=True)
class Options(SlowOptions):
    """How much is measured."""

    people: int = 144
    """People of each world, a multiple of 24."""
    steps: int = 300
    """Steps of training."""

    @property
    def cells(self) -> list[Values]:
        """A world of every kind for each seed."""
        return [{"world_kind": kind, "seed": seed} for seed, kind in product(range(self.worlds), CELLS)]


STUDY = Study(
    options=Options(
        worlds=3, edits=40, slow_edits=8,
        editors=("none", "full", "ft-constrained", "mend", "memit", "rome", "in-context", "self-bayes"),
    ),
    run="seesaw-{world_kind}-{seed}",
    preset="seesaw",
    corpus=corpus_of_people,
    train=training_of_people,
    edit=lambda _: {"seesaw.others": 12},
    slow=("self-bayes",),
    tables=people_tables,
    figures=fit_changes,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
