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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from corpus.config import DocumentConfig
from experiments import stages
from experiments.command import launch_module
from experiments.record import estimate_as_list
from experiments.settings import StagedSettings
from lm.editors.context_distillation import DistillationConfig
from lm.editors.in_context import InContextConfig
from lm.editors.keyed import AT_THE_NAME
from testbed.evaluations.held_out import HELD_OUT, OBJECT_HELD_OUT, SEEN, SUBJECT_HELD_OUT
from testbed.evaluations.taxi import Taxi
from testbed.evaluations.taxi.metrics import CONSISTENCY, OTHERS_RIGHT, SUCCESS, reverse_name
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run, read_metrics
from testbed.run.settings import CorpusSettings, TrainSettings
from testbed.scores.statistics import Estimate
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.settings import CaseConfig, EditSettings

NAME, EVALUATION = "taxi-contexts", "taxi"
DOCUMENTS = replace(
    CORPUS[EVALUATION].documents,
    length=3,
    imagine=0.6,
    bystanders=0.9,
    digressions=0.5,
    chosen_subjects=1.0,
    chosen_objects=1.0,
)
"""Three sentences each; most imagine something, and half of these go on about another subject."""
CORPORA: Mapping[str, DocumentConfig] = {
    "binding": DOCUMENTS,
    "no digressions": replace(DOCUMENTS, digressions=0.0),
    "documents of ten sentences": replace(DOCUMENTS, length=10),
    "half of the premises": replace(DOCUMENTS, chosen_subjects=0.5, chosen_objects=0.5),
}
WHOLE, TABLES = "binding", "binding, TAXI's tables"
CONTEXTS = {"imagine": InContextConfig(imagine=True), "four times": InContextConfig()}
"""What is read before a question: that the edit is imagined, or the edit four times over."""
DISTILLED = {
    "distilled": DistillationConfig(),
    "distilled, at the name": DistillationConfig(fit=AT_THE_NAME),
}
"""What the model says after "imagine" is fitted into its weights, and where it is stored."""
METHODS: Mapping[str, InContextConfig | DistillationConfig] = {**CONTEXTS, **DISTILLED}
PARTS = (SEEN, SUBJECT_HELD_OUT, OBJECT_HELD_OUT, HELD_OUT)
"""Edits whose subject and object documents imagined, and edits of which they never imagined one or both."""
METRICS = (SUCCESS, CONSISTENCY, reverse_name(SUCCESS), OTHERS_RIGHT)


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is measured."""

    path: str = ""
    """Folder of TAXI's data; without it, generated taxonomies only."""
    seeds: int = 3
    """Taxonomies, of seeds 1, 2, ..., from which models read the binding corpus."""
    other_seeds: int = 1
    """Taxonomies from which they read the corpora that lack something."""
    table_seeds: int = 3
    """Models that read TAXI's tables."""
    edits: int = 120
    """Edits of each generated taxonomy."""
    real_edits: int = 976
    """Edits of TAXI's tables, which have so many."""
    distilled_edits: int = 60
    """Edits of each that are fitted into the weights, which takes about a second."""
    steps: int = 800
    """Steps of training."""


def list_corpora(options: Settings) -> list[str]:
    """The corpora, TAXI's tables first of all others where they are given."""
    return [WHOLE, *[TABLES] * bool(options.path), *(name for name in CORPORA if name != WHOLE)]


def list_methods(corpus: str) -> list[str]:
    """Contexts that are read; where they bind, they are distilled, too."""
    return [*CONTEXTS, *(DISTILLED if corpus in (WHOLE, TABLES) else ())]


def list_runs(options: Settings, corpus: str) -> list[tuple[Run, int]]:
    """The run and the seed of each model of a corpus."""
    seeds = {WHOLE: options.seeds, TABLES: options.table_seeds}
    name = "tables" if corpus == TABLES else corpus.replace(" ", "-")
    return stages.runs_of_worlds(options.runs, f"{NAME}-{name}", seeds.get(corpus, options.other_seeds))


def model_settings(
    options: Settings, corpus: str, run: Run, seed: int
) -> tuple[CorpusSettings, TrainSettings]:
    """Settings of one world and its model, which takes larger steps than the preset's."""
    where = stages.settings_of_run(run, seed)
    base, training = CORPUS[EVALUATION], TRAIN[EVALUATION]
    world = replace(base.world, path=options.path if corpus == TABLES else "")
    bold = TRAIN["paper-laptop"].train
    recipe = replace(
        training.train,
        steps=options.steps,
        rows=bold.rows,
        adam_learning_rate=bold.adam_learning_rate,
        softmax_entries=1024,
    )
    model = replace(training.model, precision="bfloat16")
    return (
        replace(base, world=world, documents=CORPORA.get(corpus, DOCUMENTS), **where),
        replace(training, model=model, train=recipe, **where),
    )


def edit_settings(options: Settings, corpus: str, run: Run, seed: int, method: str) -> EditSettings:
    """Edits in context and contexts that say nothing of the request, or edits that fit what it says."""
    base, distills = EDIT[EVALUATION], method in DISTILLED
    editor = "context-distillation" if distills else "in-context"
    count = options.real_edits if corpus == TABLES else options.edits
    return replace(
        base,
        **stages.settings_of_run(run, seed),
        editors=(editor,),
        cases=CaseConfig(count=options.distilled_edits if distills else count),
        configs=base.configs | {editor: METHODS[method]},
        evaluations={EVALUATION: Taxi(controls=not distills)},
    )


def run_study(options: Settings) -> None:
    """Worlds, models, edits, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; trainings stop when the time is over."""
    for corpus in list_corpora(options):
        for run, seed in list_runs(options, corpus):
            yield from stages.model_stages(*model_settings(options, corpus, run, seed), clock)
            make_settings = partial(edit_settings, options, corpus, run, seed)
            yield from stages.edit_stages(map(make_settings, list_methods(corpus)))


def record_study(options: Settings) -> Path:
    """How far each context is followed, and by whom."""
    found: dict[str, dict[str, dict[str, Estimate]]] = {}
    for corpus in list_corpora(options):
        runs = list_runs(options, corpus)
        for method in list_methods(corpus):
            settings = edit_settings(options, corpus, *runs[0], method)
            (editor,) = stages.score_edits([run for run, _ in runs], settings)
            found[f"{corpus}, {method}"] = sentence_estimates(editor)
    every = [run for corpus in list_corpora(options) for run, _ in list_runs(options, corpus)]
    stated = {run.name: read_metrics(run)[-1]["accuracy"] for run in every}
    figures = {
        setting: {what: {m: estimate_as_list(x) for m, x in row.items()} for what, row in rows.items()}
        for setting, rows in found.items()
    }
    pages = {"taxi_contexts.md": stages.show_tables([contexts_table(found)])}
    return options.record(
        every[0], pages, ("corpus and method", "sentence"), found=figures, stated_facts=stated
    )


def sentence_estimates(editor: ScoredEditor) -> dict[str, dict[str, Estimate]]:
    """By sentence that is read, what is measured: the edit, some parts of the edits, the controls."""
    is_apart = editor.summary[HELD_OUT][editor.name][SUCCESS].cases
    readers = {"the edit": ("all", editor.name)}
    readers |= {f"the edit, {part}": (part, editor.name) for part in PARTS if is_apart}
    readers |= {control.rpartition(", told ")[2]: ("all", control) for control in editor.control_readers}
    return {
        sentence: {metric: editor.summary[part][reader][metric] for metric in METRICS}
        for sentence, (part, reader) in readers.items()
    }


def contexts_table(found: Mapping[str, Mapping[str, Mapping[str, Estimate]]]) -> Table:
    """A row for each corpus and context, and what they read."""
    rows: list[list[Cell]] = [
        [setting, what, *row.values()]
        for setting, by_sentence in found.items()
        for what, row in by_sentence.items()
    ]
    note = (
        "A sentence about somebody else must change nothing: its success is how far a context does not bind."
    )
    return Table(NAME, "Of whom a context is followed", ["corpus", "told", *METRICS], rows, note, words=2)


if __name__ == "__main__":
    launch_module()
