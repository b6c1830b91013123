"""Where does `self-bayes` lose a consequence that should follow: in what it works out, or in fitting that?

Commands, after `experiments.revision` with the same options, whose models and edits are looked at:
    python -m experiments.lost_consequences --kinds fact --changing --cases 50
    python -m experiments.lost_consequences
After `experiments.structures --cases 40`, whose worlds these are:
    python -m experiments.lost_consequences --structures 'published, three tokens' --cases 40 --editors keyed

An edit is worked out first, from the model's beliefs, and then it is fitted to the result. For every
consequence that must change, the first part is done again and compared with the agent's new answer: is the
likeliest object of the row that the request puts the subject in the right one, and does the editor believe
that the consequence moves at all? What is left is the fit. Beside the share of each stands how many of the
edits that were worked out rightly follow in the edited model, and how many of the others; and how many
requests the edited model states, which is the fit alone.

Reads a model's beliefs anew, a minute of one core for each world. Writes
experiments/records/<date>-lost-consequences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import numpy as np

from corpus.text.tokenizer import PAD, SEP
from experiments import stages
from experiments.command import launch_module
from experiments.record import estimate_as_list
from experiments.settings import StudySettings
from experiments.studies import revision, structures
from experiments.studies.revision_tables import BOTH, KINDS
from experiments.studies.revision_worlds import LISTS, RevisionWorld
from lm.editors.interface import make_requests, vocabulary_of
from lm.editors.self_bayes import SelfBayesConfig
from lm.editors.self_bayes.reasoning import Consequences, Mind, infer_consequences, locate_request, read_mind
from lm.language_model import LanguageModel
from testbed.console import say, show_progress
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.hase import CHILD
from testbed.evaluations.hase.metrics import SUCCESS, rows_of_role
from testbed.run.model import load_model
from testbed.run.runs import Run
from testbed.run.runtime import prepare_jax
from testbed.run.world import World, load_world
from testbed.scores.gather import EditorResults, pool_results
from testbed.scores.metric import Metric, mean_of
from testbed.scores.readers import has_to_change, is_as_good
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.summary import measure_readers
from testbed.scores.tables import Cell, Table

ROW, MOVES, BOTH_RIGHT = "the row's answer is right", "it is taken to move", "worked out rightly"
FOLLOWS_THEN, FOLLOWS_ELSE = "follows, worked out rightly", "follows, otherwise"
FOLLOWS = "follows"
COLUMNS = (FOLLOWS, ROW, MOVES, BOTH_RIGHT, FOLLOWS_THEN, FOLLOWS_ELSE, SUCCESS)


@dataclass(frozen=True)
class Settings(StudySettings):
    """Which edits of `experiments.revision`, or of `experiments.structures`, are looked at."""

    kinds: tuple[Literal["published", "fact", "sentence"], ...] = ("published", "fact", "sentence")
    """Kinds of worlds."""
    worlds: Literal["development", "report"] = "report"
    """Settings may be chosen on the first list only."""
    structures: tuple[str, ...] = ()
    """Worlds of these structures, in place of those of `experiments.revision`."""
    editors: tuple[str, ...] = ("self-bayes",)
    """Whose fits of what `self-bayes` works out, by the names of `experiments.revision`."""
    cases: int = 100
    """Edits in each world."""
    changing: bool = False
    """Only edits that should change a consequence."""

    @property
    def groups(self) -> dict[str, list[RevisionWorld]]:
        """The worlds: by kind, or those of each structure."""
        if self.structures:
            return {name: structures.draw_worlds(name, self.worlds, 1) for name in self.structures}
        among = LISTS[self.worlds]
        return {KINDS[kind]: [world for world in among if world.kind == kind] for kind in self.kinds}

    def gather_edits(self, world: RevisionWorld) -> list[EditorResults]:
        """The edits of one world by each editor."""
        like = revision.Settings(
            runs=self.runs, editors=self.editors, cases=self.cases, changing=self.changing
        )
        return revision.gather_edits(like, world)


class Measured(NamedTuple):
    """The edits of one world by one editor, and what became of their consequences: COLUMNS."""

    results: Results
    metrics: dict[str, Metric]


class InferredConsequences(NamedTuple):
    """What the editor makes of the consequence of each edit, before anything is fitted.

    Attributes:
        answer: int64[E], the likeliest object of its row; -1 where the editor sees no dependence or knows no
            such name.
        moves: float64[E], p(it is drawn from that row).
    """

    answer: np.ndarray
    moves: np.ndarray


def infer_consequences_of(
    model: LanguageModel, mind: Mind, world: World, questions: np.ndarray
) -> InferredConsequences:
    """The first part of an edit by `self-bayes`, for requests and the relation asked about: int[E, 4]."""
    tokenizer = world.tokenizer
    facts = [(int(s), int(r), int(o)) for s, r, o in questions[:, :3]]
    encoded_requests = make_requests(tokenizer, facts, np.zeros(len(facts)), np.ones(len(facts)))
    one_each = jax.tree.map(lambda x: x[:, 0], encoded_requests)

    @jax.jit
    def infer_batch(model: LanguageModel, mind: Mind, batch: object) -> Consequences:
        return jax.lax.map(
            lambda request: infer_consequences(mind, locate_request(model, mind, request)), batch
        )

    inferred = jax.tree.map(np.asarray, infer_batch(model, mind, one_each))
    there = inferred.real & (inferred.relation == questions[:, 3:])
    where = np.arange(len(questions)), there.argmax(1)
    objects = {(*tokenizer.entity(int(o)), SEP): int(o) for o in world.graph.objects}
    names = np.asarray(mind.objects)[inferred.objects[*where, 0]]
    answers = [objects.get(tuple(x for x in name.tolist() if x != PAD), -1) for name in names]
    some = there.any(1)
    return InferredConsequences(np.where(some, answers, -1), np.where(some, inferred.moves[where], 0.0))


def following_metrics(results: Results, inferred: InferredConsequences) -> dict[str, Metric]:
    """COLUMNS, over the consequences that must change."""
    c, row = results.choices, rows_of_role(results, CHILD)
    must = results.cases["child"] & has_to_change(c)[row]
    everything = np.full(len(c.case), -1)
    everything[row] = inferred.answer
    right = is_as_good(c, everything, 1)[row]
    moves = inferred.moves >= 0.5
    follows = is_as_good(c, c.lm_answer[:, 1], 1)[row]
    both = right & moves
    return {
        FOLLOWS: mean_of(follows, must),
        ROW: mean_of(right, must),
        MOVES: mean_of(moves, must),
        BOTH_RIGHT: mean_of(both, must),
        FOLLOWS_THEN: mean_of(follows, must & both),
        FOLLOWS_ELSE: mean_of(follows, must & ~both),
    }


def consequence_questions(results: Results) -> np.ndarray:
    """int[E, 4]: each request, and the relation of its consequence."""
    cases, relation = results.cases, results.choices.relation[rows_of_role(results, CHILD)]
    return np.stack([cases["subject"], cases["relation"], cases["object"], relation], axis=1)


def measure_world(settings: Settings, world: RevisionWorld) -> dict[str, Measured]:
    """What became of the consequences in one world, by editor."""
    run = Run(settings.runs, world.name)
    loaded = load_world(run)
    model, _ = load_model(run, loaded)
    by_editor = {}
    inferred: InferredConsequences | None = None
    for one in settings.gather_edits(world):
        if inferred is None:
            mind = read_mind(model, vocabulary_of(loaded.tokenizer), SelfBayesConfig())
            inferred = infer_consequences_of(model, mind, loaded, consequence_questions(one.results))
        stated = measure_readers(one.evaluation, one.results, one.name)[one.name][SUCCESS]
        metrics = following_metrics(one.results, inferred) | {SUCCESS: stated}
        by_editor[one.name] = Measured(one.results, metrics)
    return by_editor


def estimate_over_worlds(measured: Sequence[Measured]) -> dict[str, Estimate]:
    """COLUMNS over several worlds, of objects that several subjects have."""
    all_results = pool_results([of.results for of in measured], range(len(measured)))
    joined = {
        name: Metric(
            np.concatenate([of.metrics[name].numerator for of in measured]),
            np.concatenate([of.metrics[name].denominator for of in measured]),
            share=True,
        )
        for name in COLUMNS
    }
    return estimate_metrics(joined, cluster_levels(all_results), all_results.cases["support_new"] >= 2)


def run_study(settings: Settings) -> None:
    """Work out every edit again, tables, record."""
    prepare_jax()
    by_group: dict[str, dict[str, Estimate]] = {}
    by_world: dict[str, dict[str, Estimate]] = {}
    with show_progress("worlds", sum(map(len, settings.groups.values()))) as advance:
        for group, worlds in settings.groups.items():
            measured = {}
            for world in worlds:
                measured[world.name] = measure_world(settings, world)
                advance(1)
            for editor in settings.editors:
                by = f", {editor}" if len(settings.editors) > 1 else ""
                by_group[group + by] = estimate_over_worlds([of[editor] for of in measured.values()])
                for name, of in measured.items():
                    by_world[name + by] = estimate_over_worlds([of[editor]])
    (first, *_), *_ = settings.groups.values()
    tables = [consequence_table("group", by_group)]
    if not settings.structures:
        tables.append(consequence_table("world", by_world))
    folder = settings.record(
        Run(settings.runs, first.name),
        {"lost_consequences.md": stages.show_tables(tables)},
        found={
            name: {column: estimate_as_list(e) for column, e in row.items()}
            for name, row in (by_group | by_world).items()
        },
    )
    say(f"record: {folder}")


def consequence_table(what: str, rows: dict[str, dict[str, Estimate]]) -> Table:
    """A row each."""
    cells: list[list[Cell]] = [
        [name, row[FOLLOWS].cases, *(row[column] for column in COLUMNS)] for name, row in rows.items()
    ]
    title = f"By {what}: consequences that must change, {BOTH}"
    return Table(what, title, [what, "must change", *COLUMNS], cells)


if __name__ == "__main__":
    launch_module()
