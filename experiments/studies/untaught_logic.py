"""Is an edited model coherent in sentences that its editor was never taught? `self-bayes` and its rivals.

Command:
    python -m experiments.untaught_logic

The worlds of `experiments.revision` in which a cause has two consequences or more, three of each kind, and
their models, which are trained where they are missing. Requests contradict the truth about causes, as there;
beside them stands how coherent the unedited model is about true ones. `self-bayes` is taught sentences about
the request A (alone, negated, joined with others by "and" and "or"), about other statements B (alone), and
about one consequence C (alone, negated, "A and C"). It is never taught "not B" or "B or A", nor a sentence
that joins two consequences.

Tables: by kind, the residuals of laws that were taught, and of those that were not
(`experiments.consequence_logic` has what is asked).
"""

from experiments.command import launch_module
from experiments.measures.consequence_logic import LAWS, ConsequenceLogic
from experiments.measures.revision_tables import KINDS
from experiments.measures.revision_worlds import LISTS, corpus_of_world, presets_of_world, training_of_world
from experiments.studies import revision
from experiments.study import Changes, Study, StudyOptions, Values
from testbed.evaluations.catalogue import prefix_of
from testbed.evaluations.hase.metrics import SUCCESS
from testbed.scores.views import Column, View

EVALUATION = "experiments.measures.consequence_logic:ConsequenceLogic"
TAUGHT = ("TF", "not", "and", "or")
UNTAUGHT = ("not B", "B or A", *LAWS)
"""Laws by whether `self-bayes` is taught them; of "C, answer" and "not C" it is taught one consequence."""
METRICS = (SUCCESS, *(f"logic {law}" for law in (*TAUGHT, *UNTAUGHT)))


def has_two_consequences(parents: tuple[int, ...] | None) -> bool:
    """Whether some relation has two others below it; built-in worlds are pairs."""
    above = parents or ()

    def root_of(r: int) -> int:
        return r if above[r] < 0 else root_of(above[r])

    roots = [root_of(r) for r in range(len(above))]
    return any(roots.count(r) > 2 for r in roots)


def edits_of(cell: Values) -> Changes:
    """As in `experiments.revision`, other questions."""
    asked = ConsequenceLogic(edits="upstream", reinforce=float(cell["editor"] == revision.TRUE))
    own = revision.edits_of({**cell, "changing": False})
    others = {name: value for name, value in own.items() if not name.startswith("hase.")}
    return others | {"evaluation": EVALUATION, "evaluations": {prefix_of(EVALUATION): asked}}


STUDY = Study(
    options=StudyOptions(
        editors=("self-bayes", "count-based, soft, unread", "lora-down", "embeddings", "none", revision.TRUE),
        edits=60,
    ),
    cells=lambda _: [
        {"world_kind": world.kind, "world": world, "seed": world.seed}
        for kind in KINDS
        for world in LISTS["report"]
        if world.kind == kind and has_two_consequences(world.parents)
    ],
    run="{world.name}",
    preset=lambda cell: presets_of_world(cell["world"]),
    pool=("world", "seed"),
    corpus=lambda cell: corpus_of_world(cell["world"], cell["runs"]),
    train=lambda cell: training_of_world(cell["world"]),
    edit=edits_of,
    variants=revision.VARIANTS,
    views=[
        View(
            kind,
            title,
            [Column(SUCCESS, "edits", show="count"), *METRICS],
            where={"world_kind": kind},
            note=f"Residuals of {', '.join(UNTAUGHT)} are untaught.",
        )
        for kind, title in KINDS.items()
    ],
)

if __name__ == "__main__":
    launch_module()
