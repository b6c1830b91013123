"""Of whom is a context followed? What a corpus needs for a context to edit its own subject and nobody else.

Command:
    python -m experiments.taxi_contexts [--path ../shared/data/taxi]

The model reads "imagine s is a o*." before every question, as Zheng et al. 2023 (IKE) let it read a
demonstration, and is asked TAXI's questions (Powell et al. 2024) about s. As a control it reads the same of
somebody else: whoever follows that does not know of whom the sentence was. What the model says then is also
fitted into its weights (context distillation, Padmanabhan et al. 2023). One corpus makes contexts bind,
that of generated taxonomies and of TAXI's own tables, where their folder is given; each other corpus lacks
one of its properties. The corpus was found on a taxonomy of another seed. It imagines nearly every edit
that is made here; "half of the premises" has edits that no document imagined.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.command import launch_module
from experiments.study import Changes, Study, Values, WorldOptions
from lm.editors.keyed import AT_THE_NAME
from testbed.evaluations.held_out import HELD_OUT, OBJECT_HELD_OUT, SEEN, SUBJECT_HELD_OUT
from testbed.evaluations.taxi.metrics import CONSISTENCY, OTHERS_RIGHT, SUCCESS, reverse_name
from testbed.presets import TRAIN
from testbed.scores.views import View

BINDING = {
    "length": 3, "imagine": 0.6, "bystanders": 0.9, "digressions": 0.5,
    "chosen-subjects": 1.0, "chosen-objects": 1.0,
}  # fmt: skip
"""Documents of three sentences; most imagine something, and half of these go on about another subject."""
CORPORA: dict[str, dict[str, float]] = {
    "binding": {},
    "no digressions": {"digressions": 0.0},
    "documents of ten sentences": {"length": 10},
    "half of the premises": {"chosen-subjects": 0.5, "chosen-objects": 0.5},
}
"""What each corpus has otherwise."""
WHOLE, TABLES = "binding", "binding, TAXI's tables"
CONTEXTS = ("imagine", "four times")
"""What is read before a question: that the edit is imagined, or the edit four times over."""
DISTILLED = ("distilled", "distilled, at the name")
"""What the model says after "imagine" is fitted into its weights, and where it is stored."""
METRICS = (SUCCESS, CONSISTENCY, reverse_name(SUCCESS), OTHERS_RIGHT)
BOLD = TRAIN["paper-laptop"].train
"""Larger steps than the preset's."""


@dataclass(frozen=True)
class Options(WorldOptions):
    """How much is measured."""

    path: str = ""
    """Folder of TAXI's data; without it, generated taxonomies only."""
    other_seeds: int = 1
    """Taxonomies from which models read the corpora that lack something."""
    table_seeds: int = 3
    """Models that read TAXI's tables."""
    real_edits: int = 976
    """Edits of TAXI's tables, which have so many."""
    distilled_edits: int = 60
    """Edits of each that are fitted into the weights, which takes about a second."""
    steps: int = 800
    """Steps of training."""

    @property
    def cells(self) -> list[Values]:
        """Models of every corpus, of seeds 1, 2, ...; TAXI's tables where they are given."""
        tables = {TABLES: self.table_seeds} if self.path else {}
        counts = {WHOLE: self.worlds} | tables | {name: self.other_seeds for name in CORPORA if name != WHOLE}
        return [
            {"corpus": corpus, "name": "tables" if corpus == TABLES else corpus, "seed": seed}
            for corpus, count in counts.items()
            for seed in range(1, 1 + count)
        ]


def corpus_of(cell: Values) -> Changes:
    """One of CORPORA, or TAXI's tables."""
    documents = BINDING | CORPORA.get(cell["corpus"], {})
    path = cell["path"] if cell["corpus"] == TABLES else ""
    return {"world.path": path} | {f"documents.{name}": value for name, value in documents.items()}


def edits_of(cell: Values) -> Changes:
    """Contexts, and contexts that say nothing of the request; or edits that fit what is said."""
    count = cell["real_edits"] if cell["corpus"] == TABLES else cell["edits"]
    distills = cell["editor"] in DISTILLED
    return {"taxi.controls": not distills, "cases.count": cell["distilled_edits"] if distills else count}


def editors_of(cell: Values) -> Sequence[str]:
    """Contexts are distilled where they bind."""
    return [name for name in cell["editors"] if name in CONTEXTS or cell["corpus"] in (WHOLE, TABLES)]


STUDY = Study(
    options=Options(worlds=3, edits=120, editors=(*CONTEXTS, *DISTILLED)),
    run="taxi-contexts-{name}-{seed}",
    preset="taxi",
    pool=("name", "seed"),
    corpus=corpus_of,
    train=lambda cell: {
        "train.steps": cell["steps"], "train.rows": BOLD.rows,
        "train.adam-learning-rate": BOLD.adam_learning_rate, "train.softmax-entries": 1024,
        "model.precision": "bfloat16",
    },
    edit=edits_of,
    editors=editors_of,
    variants={
        "imagine": ("in-context", {"in-context.imagine": True}),
        "four times": ("in-context", {}),
        "distilled": ("context-distillation", {}),
        "distilled, at the name": ("context-distillation", {"context-distillation.fit": AT_THE_NAME}),
    },
    subsets=(SEEN, SUBJECT_HELD_OUT, OBJECT_HELD_OUT, HELD_OUT),
    views=[
        View("taxi-contexts", "Of whom a context is followed", METRICS, who=("editor", "control"),
             rows={"corpus": "corpus", "reader": "told"},
             note="Of somebody else's sentence success is how far a context does not bind."),
        View("held-out", "Edits whose subject and object documents imagined, or not", METRICS,
             rows={"corpus": "corpus", "reader": "told", "subset": "edits"},
             where={"subset": (SEEN, SUBJECT_HELD_OUT, OBJECT_HELD_OUT, HELD_OUT)}),
    ],
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
