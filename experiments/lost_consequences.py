"""Where does `self-bayes` lose a consequence that should follow: in what it works out, or in fitting that?

Commands, after `experiments.revision` with the same options, whose models and edits are looked at:
    python -m experiments.lost_consequences --kinds fact --changing --cases 50
    python -m experiments.lost_consequences

An edit is worked out first, from the model's beliefs, and then an adapter is fitted to the result. For every
consequence that must change, the first part is done again and compared with the agent's new answer: is the
likeliest object of the row that the request puts the subject in the right one, and does the editor believe
that the consequence moves at all? What is left is the fit. Beside the share of each stands how many of the
edits that were worked out rightly follow in the edited model, and how many of the others.

Reads a model's beliefs anew, a minute of one core for each world. Writes
experiments/records/<date>-lost-consequences.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import jax
import numpy as np

from corpus.tokenizer import PAD, SEP
from experiments import revision
from experiments.record import short, typed, unusual, write_record
from experiments.revision_tables import BOTH, KINDS
from experiments.revision_worlds import LISTS, RevisionWorld
from lm.editors.interface import requests, vocabulary_of
from lm.editors.self_bayes import SelfBayesConfig
from lm.editors.self_bayes.reasoning import Consequences, Mind, about, consequences, make_up
from lm.language_model import LanguageModel
from testbed.console import command, progress, say
from testbed.engine.results import Results, clusters
from testbed.evaluations.hase.layout import rows_of
from testbed.evaluations.hase.roles import CHILD
from testbed.launch import launch
from testbed.run.model import load_model
from testbed.run.runs import Run, read_metrics
from testbed.run.runtime import prepare_jax
from testbed.run.world import World, load_world
from testbed.scores.answers import as_good, must_change
from testbed.scores.metric import Metric, mean
from testbed.scores.pooling import pooled
from testbed.scores.statistics import Estimate, estimates
from testbed.scores.tables import Cell, Table, markdown_section

EDITOR = "self-bayes"
ROW, MOVES, BOTH_RIGHT = "the row's answer is right", "it is taken to move", "worked out rightly"
FOLLOWS_THEN, FOLLOWS_ELSE = "follows, worked out rightly", "follows, otherwise"
FOLLOWS = "follows"
COLUMNS = (FOLLOWS, ROW, MOVES, BOTH_RIGHT, FOLLOWS_THEN, FOLLOWS_ELSE)


@dataclass(frozen=True)
class Settings:
    """Which edits of `experiments.revision` are looked at."""

    kinds: tuple[Literal["published", "fact", "sentence"], ...] = ("published", "fact", "sentence")
    """Kinds of worlds."""
    cases: int = 100
    """Edits in each world."""
    changing: bool = False
    """Only edits that should change a consequence."""
    runs: Path = Path("runs")
    """Folder of all runs."""

    def __post_init__(self) -> None:
        if self.cases < 1:
            raise ValueError("cases must be positive")


class WorkedOut(NamedTuple):
    """What the editor makes of the consequence of each edit, before anything is fitted.

    Attributes:
        answer: int64[E], the likeliest object of its row; -1 where the editor sees no dependence or knows no
            such name.
        moves: float64[E], p(it is drawn from that row).
    """

    answer: np.ndarray
    moves: np.ndarray


def worked_out(model: LanguageModel, world: World, asked: np.ndarray) -> WorkedOut:
    """The first part of an edit by `self-bayes`, for requests and the relation asked about: int[E, 4]."""
    tokenizer = world.tokenizer
    mind = make_up(model, vocabulary_of(tokenizer), SelfBayesConfig())
    facts = [(int(s), int(r), int(o)) for s, r, o in asked[:, :3]]
    told = requests(tokenizer, facts, np.zeros(len(facts)), np.ones(len(facts)))
    one_each = jax.tree.map(lambda x: x[:, 0], told)

    @jax.jit
    def implied(model: LanguageModel, mind: Mind, batch: object) -> Consequences:
        return jax.lax.map(lambda request: consequences(mind, about(model, mind, request)), batch)

    found = jax.tree.map(np.asarray, implied(model, mind, one_each))
    there = found.real & (found.relation == asked[:, 3:])
    where = np.arange(len(asked)), there.argmax(1)
    objects = {(*tokenizer.entity(int(o)), SEP): int(o) for o in world.graph.objects}
    names = np.asarray(mind.objects)[found.objects[*where, 0]]
    answers = [objects.get(tuple(x for x in name.tolist() if x != PAD), -1) for name in names]
    some = there.any(1)
    return WorkedOut(np.where(some, answers, -1), np.where(some, found.moves[where], 0.0))


def decomposed(results: Results, told: WorkedOut) -> dict[str, Metric]:
    """COLUMNS, over the consequences that must change."""
    c, row = results.choices, rows_of(results, CHILD)
    must = results.cases["child"] & must_change(c)[row]
    everything = np.full(len(c.case), -1)
    everything[row] = told.answer
    right = as_good(c, everything, 1)[row]
    moves = told.moves >= 0.5
    follows = as_good(c, c.lm_answer[:, 1], 1)[row]
    both = right & moves
    return {
        FOLLOWS: mean(follows, must),
        ROW: mean(right, must),
        MOVES: mean(moves, must),
        BOTH_RIGHT: mean(both, must),
        FOLLOWS_THEN: mean(follows, must & both),
        FOLLOWS_ELSE: mean(follows, must & ~both),
    }


def asked_of(results: Results) -> np.ndarray:
    """int[E, 4]: each request, and the relation of its consequence."""
    cases, relation = results.cases, results.choices.relation[rows_of(results, CHILD)]
    return np.stack([cases["subject"], cases["relation"], cases["object"], relation], axis=1)


def found_in(settings: Settings, world: RevisionWorld) -> tuple[Results, dict[str, Metric]]:
    """The edits of one world, and what became of their consequences."""
    like = revision.Settings(
        editors=(EDITOR,), cases=settings.cases, changing=settings.changing, runs=settings.runs
    )
    run = Run(settings.runs, world.name)
    (edited,) = revision.edited(like, world)
    loaded = load_world(run)
    told = worked_out(load_model(run, loaded)[0], loaded, asked_of(edited.results))
    return edited.results, decomposed(edited.results, told)


def over(results: Sequence[Results], metrics: Sequence[dict[str, Metric]]) -> dict[str, Estimate]:
    """COLUMNS over several worlds, of objects that several subjects have."""
    whole = pooled(list(results), range(len(results)))
    joined = {
        name: Metric(
            np.concatenate([of[name].numerator for of in metrics]),
            np.concatenate([of[name].denominator for of in metrics]),
            share=True,
        )
        for name in COLUMNS
    }
    return estimates(joined, clusters(whole), whole.cases["support_new"] >= 2)


def experiment(settings: Settings) -> None:
    """Work out every edit again, tables, record."""
    prepare_jax()
    worlds = [world for world in LISTS["report"] if world.kind in settings.kinds]
    by_kind: dict[str, dict[str, Estimate]] = {}
    by_world: dict[str, dict[str, Estimate]] = {}
    with progress("worlds", len(worlds)) as advance:
        for kind in settings.kinds:
            results, metrics = [], []
            for world in (w for w in worlds if w.kind == kind):
                of_world, found = found_in(settings, world)
                by_world[world.name] = over([of_world], [found])
                results.append(of_world)
                metrics.append(found)
                advance(1)
            by_kind[KINDS[kind]] = over(results, metrics)
    text = "\n".join(
        markdown_section(table(title, rows)) for title, rows in (("kind", by_kind), ("world", by_world))
    )
    say(text)
    first = Run(settings.runs, worlds[0].name)
    words = unusual(settings, "kinds", "cases")
    folder = write_record(
        first,
        "lost-consequences",
        typed("lost_consequences", words) + " --changing" * settings.changing,
        read_metrics(first),
        copied=(),
        settings={k: v for k, v in asdict(settings).items() if k != "runs"},
        found={
            name: {column: short(e) for column, e in row.items()}
            for name, row in (by_kind | by_world).items()
        },
    )
    (folder / "lost_consequences.md").write_text(text, encoding="utf-8")
    say(f"record: {folder}")


def table(what: str, rows: dict[str, dict[str, Estimate]]) -> Table:
    """A row each."""
    cells: list[list[Cell]] = [
        [name, row[FOLLOWS].cases, *(row[column] for column in COLUMNS)] for name, row in rows.items()
    ]
    title = f"By {what}: consequences that must change, {BOTH}"
    return Table(what, title, [what, "must change", *COLUMNS], cells)


def main(args: list[str] | None = None) -> int:
    """The command line."""
    return command("experiments.lost_consequences", __doc__ or "", Settings, experiment, args)


if __name__ == "__main__":
    launch(main)
