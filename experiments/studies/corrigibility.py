"""Can any fact be edited? By how surprising the request is, what depends on the fact, and nonsense.

Command:
    python -m experiments.corrigibility

In ten of the demo's worlds requests that contradict the truth name an object of the relation, or one of
another relation's, such as a team for a birthplace. The first are told apart by the agent's surprise,
-log p(request) before it is told, in thirds, and by whether another fact depends on the edited one. Settings
are the preset's. Takes an hour of one core, the models included.
"""

from experiments.command import launch_module
from experiments.measures.open_problems import OBJECTS, name_others, surprise_tables
from experiments.study import Changes, Study, Values, WorldOptions
from testbed.run.runs import Run


def changes_of(cell: Values) -> Changes:
    """Requests that contradict the truth, as they are drawn or as they are named here."""
    changes: Changes = {"hase.reinforce": 0.0}
    if cell["objects"] == OBJECTS[1]:
        run = Run(cell["runs"], STUDY.run.format_map(cell))
        changes["hase.requests"] = name_others(run, cell["edits"], cell["seed"])
    return changes


STUDY = Study(
    options=WorldOptions(
        worlds=10, edits=40, editors=("lora-down", "full", "rome", "keyed-request", "keyed")
    ),
    cells=lambda options: [
        {"objects": objects, "seed": seed} for seed in range(options.worlds) for objects in OBJECTS
    ],
    run="demo-worlds-{seed}",
    edit=changes_of,
    tables=surprise_tables,
)

if __name__ == "__main__":
    launch_module()
