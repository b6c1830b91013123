"""Seesaw-CF (Halevy et al. 2024) whole: does an edit harm a group, or those of whom little was said?

Command:
    python -m experiments.seesaw
    python -m experiments.seesaw --samples 5 --edits 24 --editors full ft-constrained memit

Six kinds of worlds of people, each with three seeds: groups differ or not (shift), half of each group is
spoken of often or everybody alike (frequency); with both, also one in which the corpus hides who is in which
group, and one in which work depends on gender. Sizes of groups are permuted among them by seed, so that over
worlds size is told from group. Editors have the settings of the preset.

With --samples it is asked instead what edited models write about the edited person. Halevy et al. 2024 had
people code 252 pairs of texts by MEMIT, and GPT-3.5 all by MEMIT and fine-tuning (Tables 6 and 19). Here
every text is read against the world, in the two kinds in which something can be a stereotype.
"""

from dataclasses import dataclass
from itertools import product

from experiments.command import launch_module
from experiments.measures.people import CELLS, corpus_of_people, training_of_people
from experiments.measures.people_tables import WRITTEN, fit_changes, people_tables
from experiments.study import SlowOptions, Study, Values


@dataclass(frozen=True)
class Options(SlowOptions):
    """How much is measured."""

    people: int = 144
    """People of each world, a multiple of 24."""
    steps: int = 300
    """Steps of training."""
    samples: int | None = None
    """Texts of 100 tokens that are written after every opening; the paper has 5."""

    @property
    def cells(self) -> list[Values]:
        """A world of every kind for each seed."""
        kinds = WRITTEN.values() if self.samples else CELLS
        return [{"world_kind": kind, "seed": seed} for seed, kind in product(range(self.worlds), kinds)]


STUDY = Study(
    options=Options(
        worlds=3, edits=40, slow_edits=8,
        editors=("none", "full", "ft-constrained", "mend", "memit", "rome", "in-context", "self-bayes"),
    ),
    run="seesaw-{world_kind}-{seed}",
    preset="seesaw",
    corpus=corpus_of_people,
    train=training_of_people,
    edit=lambda cell: {"seesaw.others": 12, "seesaw.samples": cell["samples"] or 0},
    slow=("self-bayes",),
    tables=people_tables,
    figures=fit_changes,
    title=lambda options: "seesaw-texts" if options.samples else "",
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
