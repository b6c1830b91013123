"""What the unedited model answers to the questions that TAXI asks before any edit (Powell et al. 2024).

Command:
    python -m experiments.taxi_questions --run taxi-base

The run's world is built of TAXI's folder. Its 1,435 questions are asked forward and inversely; 251 of them
are about categories themselves, which have facts where the world was built with
--world.taxonomy.categories-speak, and are counted as not asked elsewhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bayes.request import EditRequest
from corpus.errors import InputError
from experiments.command import launch_module
from experiments.study import StudyOptions, record_tables
from testbed.console import say
from testbed.engine.questions import Questions
from testbed.evaluations.taxi.edits import BaselineQuestion, Taxonomy, read_baseline
from testbed.protocol import ABSENT, Case, Choice, is_equally_good
from testbed.run.model import load_model
from testbed.run.runs import Run
from testbed.run.runtime import prepare_jax
from testbed.run.world import load_world
from testbed.scores.metric import Metric, mean_of
from testbed.scores.statistics import Estimate, estimate_metric
from testbed.scores.tables import Cell, Table

KINDS = ("typical", "rare", "entity")
FORWARD, INVERSE = "forward", "inverse"


@dataclass(frozen=True)
class Settings(StudyOptions):
    """Whose answers."""

    run: str = "taxi-base"
    """Name of a run with a trained model."""


def run_study(settings: Settings) -> None:
    """Ask, print, keep.

    Raises:
        InputError: the run's world is not built of TAXI's folder.
    """
    prepare_jax()
    run = Run(settings.runs, settings.run)
    world = load_world(run)
    if world.path is None:
        raise InputError(f"{run.name} is not built of TAXI's folder; see --world.path of testbed.corpus")
    kinds = Taxonomy(world.graph)
    every = read_baseline(kinds, world.path)
    here = [one for one in every if world.graph.find(one.subject, one.relation) >= 0]
    say(f"{len(here):,} of {len(every):,} questions are about subjects of this world")
    cases = [_case(kinds, one) for one in here]
    read = Questions(world, load_model(run, world)[0], cases).answers_before(np.arange(len(cases))[:, None])
    ended = np.asarray(read.ended)
    right = np.full((len(cases), 2), np.nan)
    for row, (one, case) in enumerate(zip(here, cases, strict=True)):
        for at, (choice, label) in enumerate(zip(case.choices, (one.label, one.subject), strict=False)):
            right[row, at] = _right(ended[row, at, : len(choice.options)], choice.options == label)
    chance = np.array([_chance(case) for case in cases])
    rows = [*_rows(here, kinds, right, chance)]
    record_tables(settings, run, [_table(rows)])


def _case(kinds: Taxonomy, one: BaselineQuestion) -> Case:
    """The question forward, and inversely where the relation can be said so."""
    ways = [(one.subject, one.options, 0)]
    if len(one.subjects) > 1 and (inverse := kinds.inverse_phrasing(one.relation)):
        ways.append((one.label, one.subjects, inverse))
    choices = []
    for said_first, options, phrasing in ways:
        offered = np.unique(options)
        nothing = np.full((1, len(offered)), np.nan)
        answer = np.array([ABSENT])
        choices.append(
            Choice("", said_first, one.relation, offered, nothing, answer, nothing, ABSENT, "", phrasing)
        )
    request = EditRequest(one.subject, one.relation, one.label, 0.0, "do")
    return Case(request, 0.0, one.label, {}, tuple(choices))


def _right(probability: np.ndarray, is_label: np.ndarray) -> float:
    """1 where the label is the most probable option, a share where several are."""
    best = is_equally_good(probability, probability.max())
    return float((best & is_label).sum() / best.sum())


def _chance(case: Case) -> list[float]:
    chances = [1 / len(choice.options) for choice in case.choices]
    return chances + [float("nan")] * (2 - len(chances))


def _rows(
    questions: Sequence[BaselineQuestion], kinds: Taxonomy, right: np.ndarray, chance: np.ndarray
) -> Iterator[tuple[str, str, Estimate, float]]:
    subject = np.array([one.subject for one in questions])
    of = np.array([one.token_type for one in questions])
    category = np.array([one.relation == kinds.root for one in questions])
    for who in KINDS:
        for what, mine in (("category", category), ("properties", ~category)):
            for at, way in enumerate((FORWARD, INVERSE)):
                among = (of == who) & mine & ~np.isnan(right[:, at])
                metric: Metric = mean_of(np.where(among, right[:, at], 0.0), among)._replace(share=True)
                share = estimate_metric(metric, {"subject": subject}, among)
                yield f"{who}: {what}", way, share, float(chance[among, at].mean()) if among.any() else np.nan


def _table(rows: Sequence[tuple[str, str, Estimate, float]]) -> Table:
    cells: list[list[Cell]] = [[who, way, share.cases, share, chance] for who, way, share, chance in rows]
    header = ["asked about", "way", "questions", "right", "by chance"]
    note = "Right is the most probable option; entity: the category itself. Intervals by subject."
    return Table("taxi-questions", "TAXI's questions to the unedited model", header, cells, note, words=2)


if __name__ == "__main__":
    launch_module()
