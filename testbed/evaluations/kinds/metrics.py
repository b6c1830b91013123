"""Metrics for worlds of every kind: what follows, what stays, how far from gold, coherence gained.

Coherence counts all questions but the request's own and spot checks, of which no editor was told.
"""

from collections.abc import Callable

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.kinds import (
    FOLLOWS,
    OTHERS,
    OTHERS_FOLLOW,
    OTHERS_STAY,
    OWN,
    REQUEST,
    SILENT,
    SPOT,
    STATED,
)
from testbed.evaluations.sets import define_set_metrics, make_set_subsets
from testbed.scores import readers
from testbed.scores.cores import lazy_property
from testbed.scores.metric import DISTANCE, Better, Metric, MetricDefinition, Place
from testbed.scores.movement import Movement
from testbed.scores.recalibration import recalibrate_readers

SUCCESS, KEPT = "success", "kept"
FOLLOW, FOLLOW_OTHERS, STAY_STATED, STAY_SILENT = "follows", "follows.others", "stays.stated", "stays.silent"
STAY_OTHERS, DAMAGE = "stays.others", "damage"
TV_OWN, TV_OTHERS = "tv.own", "tv.others"
SKILL, SKILL_RECALIBRATED = "skill", "skill.recalibrated"
OVER_RECALIBRATED = "skill.over_recalibrated"


def make_readers(results: Results, editor: str) -> dict[str, readers.Reader]:
    """The edited model under its editor's name, and the usual references, with temperatures for skill."""
    known = readers.reference_readers(results, editor)
    return recalibrate_readers(results, known, ~np.isin(results.choices.role, (REQUEST, SPOT)))


class Answers(readers.Answers):
    """What metrics are computed from."""

    @lazy_property
    def movement(self) -> Movement:
        """Over all choices but the request's own and spot checks."""
        return Movement(self, ~self.has_role(REQUEST, SPOT))

    @lazy_property
    def movement_of_spot_checks(self) -> Movement:
        """Over the choices that no editor was told of."""
        return Movement(self, self.has_role(SPOT))


def make_subsets(results: Results) -> dict[str, np.ndarray]:
    """bool[E]: all, each kind of world if there are several, and by what the edit is."""
    s = results.cases
    kinds = np.unique(s["law"]).tolist()
    masks = {"all": np.ones(len(results), bool)}
    masks |= {f"kind {name}": s["law"] == name for name in kinds if len(kinds) > 1}
    masks |= make_set_subsets(results)
    return masks | {
        "answers change": s["changes"],
        "no answer changes": ~s["changes"],
        "new object of 2 or more": s["support"] >= 2,
        "of a stated fact": s["stated"] > 0,
        "of a silent fact": s["stated"] == 0,
    }


def _share_right(
    id_: str, roles: tuple[str, ...], says: str, label: str, place: Place = "compared"
) -> MetricDefinition:
    def compute(a: Answers) -> Metric:
        return a.mean_over(a.is_right, a.has_role(*roles))

    return MetricDefinition(
        id_,
        f"{says}: share of answers that are the agent's.",
        "high",
        place,
        id_ in (FOLLOW, KEPT),
        compute,
        label=label,
    )


def _distance(id_: str, roles: tuple[str, ...], whose: str) -> MetricDefinition:
    def compute(a: Answers) -> Metric:
        return a.mean_over(a.distance, a.has_role(*roles))._replace(limits=DISTANCE)

    says = f"Total variation between the beliefs of model and agent about {whose} facts; 0 is equal."
    return MetricDefinition(id_, says, "low", "compared", compute=compute, label=f"distance, {whose} facts")


def _gain(
    id_: str,
    says: str,
    label: str,
    compute: Callable[[Answers], Metric],
    place: Place = "table",
    better: Better = "high",
) -> MetricDefinition:
    return MetricDefinition(id_, says, better, place, compute=compute, needs_edit=True, label=label)


METRICS: tuple[MetricDefinition, ...] = (
    MetricDefinition(
        SUCCESS, "Share of requests that the edited model states.", "high", "headline", True,
        lambda a: a.mean_over(a.reader.answer == a.requested, a.has_role(REQUEST)), needs_edit=True,
        label="edit success",
    ),
    _share_right(FOLLOW, (FOLLOWS,), "Other facts of the subject, of which the agent changes its answer",
                 "own facts follow", "headline"),
    _share_right(STAY_STATED, (STATED,), "Facts of the subject that the corpus states and the agent keeps",
                 "stated facts stay"),
    _share_right(STAY_SILENT, (SILENT,), "Facts of the subject that nobody states and the agent keeps",
                 "silent facts stay"),
    _share_right(FOLLOW_OTHERS, (OTHERS_FOLLOW,), "Facts of others, of which the agent changes its answer",
                 "others' facts follow", "headline"),
    _share_right(STAY_OTHERS, (OTHERS_STAY,), "Facts of others that the request bears on and the agent keeps",
                 "others' facts stay", "table"),
    _share_right(KEPT, (SPOT,), "Random facts of others, of which no editor is told (spot checks)",
                 "others' facts kept"),
    *define_set_metrics(REQUEST),
    _distance(TV_OWN, OWN, "the subject's own"),
    _distance(TV_OTHERS, OTHERS, "others'"),
    _gain(DAMAGE, "Distance to the agent's new belief that the edit adds to a random fact of others, 0 where "
          "it comes nearer.", "damage", lambda a: a.movement_of_spot_checks.damage, "compared", "low"),
    _gain(SKILL, "Share of the unedited model's distance to the agent that the edit removes; below 0 is "
          "harm.", "coherence gained", lambda a: a.movement.skill, "compared"),
    _gain(OVER_RECALIBRATED, "As coherence gained, against the unedited model recalibrated on facts that no "
          "case uses.", "coherence gained over no edit, recalibrated",
          lambda a: a.movement.skill_over_recalibrated),
    _gain(SKILL_RECALIBRATED, "Coherence gained after each model, edited and not, gets temperatures fitted "
          "on other cases, one a stratum. Mere softening or sharpening gains none.",
          "coherence gained, recalibrated",
          lambda a: a.movement.skill_recalibrated, "headline"),
)  # fmt: skip
"""Every metric, in the order of tables."""
