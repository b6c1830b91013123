"""Where a vector at the subject's name does not reach: TAXI, Seesaw-CF and LEME, edited there.

Command:
    python -m experiments.reach

Each evaluation has generated worlds of some seeds. `keyed` stores at the name what the model's beliefs imply,
`keyed-counting` what counting concludes, `keyed-request` the request alone; beside them stand an adapter and
no edit. TAXI also asks inverse questions, which do not name the subject before they ask for it; Seesaw-CF
asks about other people; LEME lets the model write passages about the subject and about an entity that is
coupled to it. Settings are the editors' own, chosen on none of these worlds.
"""

from experiments.command import launch_module
from experiments.measures.people import CELLS, corpus_of_people, training_of_people
from experiments.study import Study, WorldOptions
from testbed.evaluations.hase.metrics import SKILL
from testbed.evaluations.leme import metrics as leme
from testbed.evaluations.seesaw import NEITHER, NEW_HOLDERS, OLD_HOLDERS
from testbed.evaluations.seesaw import metrics as people
from testbed.evaluations.taxi import metrics as taxi
from testbed.scores.views import View

COLUMNS = {
    "taxi": (
        taxi.SUCCESS, taxi.CONSISTENCY, taxi.INVARIANCE, taxi.reverse_name(taxi.CONSISTENCY),
        taxi.OTHERS_RIGHT, taxi.MASS_OUTSIDE, SKILL,
    ),
    "seesaw": (
        people.SUCCESS, people.ACCURACY, people.UNREASONED, people.STILL_RIGHT[NEW_HOLDERS],
        people.STILL_RIGHT[OLD_HOLDERS], people.STILL_RIGHT[NEITHER], people.RATIO,
    ),
    "leme": (
        leme.EFFICACY, leme.EDIT_SUBJECT, leme.FACTUAL_SUBJECT, leme.INTERNAL_SUBJECT, leme.CROSS,
        leme.COUPLED_NEW, leme.TWIN_NEW,
    ),
}  # fmt: skip
"""What each evaluation's table shows."""
PEOPLE = {"world_kind": CELLS[0], "people": 144, "steps": 300}
"""The people of experiments.seesaw, in groups that differ."""

STUDY = Study(
    options=WorldOptions(
        worlds=3, editors=("keyed", "keyed-counting", "keyed-request", "lora-down", "none"), edits=60
    ),
    cells=lambda options: [
        {"evaluation": name, "seed": seed} for name in COLUMNS for seed in range(options.worlds)
    ],
    run="reach-{evaluation}-{seed}",
    preset=lambda cell: cell["evaluation"],
    corpus=lambda cell: corpus_of_people({**cell, **PEOPLE}) if cell["evaluation"] == "seesaw" else {},
    train=lambda cell: training_of_people({**cell, **PEOPLE}) if cell["evaluation"] == "seesaw" else {},
    views=[
        View(name, f"{name}: edited at the name", columns, who=("editor", "reference"),
             where={"evaluation": name})
        for name, columns in COLUMNS.items()
    ],
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
