"""The tables of requests: what each kind does, slopes, what is taken back."""

from collections.abc import Mapping, Sequence

import numpy as np

from testbed.engine.results import cluster_levels
from testbed.evaluations.requests import CLAIMS, FORMS, GRADED
from testbed.evaluations.requests import metrics as m
from testbed.scores.frame import EDITOR, Frame, concat_frames, make_frame
from testbed.scores.metric import DISTANCE, mean_of
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Table
from testbed.scores.views import Column, View, make_table, swap_words

TOLD = ("assertion", "true", "probability", "replacement")
"""Forms whose channels are shown."""
MEANS = ("model before", "model after", "agent before", "agent after")
PARTS = [f"{form}, {claim}" for form in FORMS for claim in CLAIMS]
FORM_VIEW = View(
    "forms", "What each kind of request does",
    [Column(MEANS[0], "p(o) before"), Column(MEANS[1], "p(o) after"), Column(MEANS[3], "agent's after"),
     m.ARRIVED, m.LABEL, m.CONSEQUENCE, m.DAMAGE],
    {"subset": "request", "reader": "editor"},
    note="p(o) is the belief in the claimed object. Claims: another object than the one that is stated, "
    "its own, or an object of a fact that nobody states. The change that arrived is 1 for the agent.",
)  # fmt: skip
SLOPES = View(
    "slopes", "Is it believed as far as it should be?", [m.SLOPE, m.DAMAGE],
    {"subset": "told", "reader": "who"}, (EDITOR, BAYESIAN),
    note="0: all are believed alike; 1: as far as the agent believes them. Damage is over the same edits.",
)  # fmt: skip
RETRACTIONS = View(
    "retractions", "Is what was taken back as if never told?",
    [Column(m.FAR, "cases", show="count"), m.FAR, m.FAR_BESIDE, m.DAMAGE, m.OWN_DAMAGE],
    {"subset": "taken back", "reader": "who"}, (EDITOR, NO_EDIT, BAYESIAN),
    note="Total variation to the agent that never read the sentences in question. Deducible: it gives the "
    "same "
    "answer without them, from what else is known.", ranked=True,
)  # fmt: skip
CHANNELS = View(
    "channels", "What arrives where?", m.CHANNELS, {"subset": "told", "reader": "editor"},
    where={"subset": {f"{form}, other": form for form in TOLD}},
    note="Of the agent's change of belief in a claim against what is stated: how much arrives in p(o), in "
    'p("true") of the claim, in what is said "with probability 0.9" of the fact, in what passages about the '
    "subject say, and in what depends on the fact. 1 is rational.",
)  # fmt: skip
DISJUNCTIONS = View(
    "disjunctions", "Are both possibilities kept?", (m.KEPT, m.FAR, m.DAMAGE), {"reader": "who"},
    (EDITOR, NO_EDIT, BAYESIAN), {"subset": "disjunction"},
)  # fmt: skip


def estimate_beliefs(editor: ScoredEditor, among: np.ndarray) -> Mapping[str, Estimate]:
    """The mean belief of model and agent in the claimed object over some cases, before and after.

    Args:
        among: bool[E].
    """
    results = editor.edits.results
    answers = m.Answers(results, editor.evaluation.readers(results, editor.name)[editor.name])
    beliefs = answers.belief_in(results.cases["object"])
    metrics = {name: mean_of(p)._replace(limits=DISTANCE) for name, p in zip(MEANS, beliefs, strict=True)}
    return estimate_metrics(metrics, cluster_levels(results), among)


def form_table(editors: Sequence[ScoredEditor], frame: Frame) -> Table:
    """A row for each kind of request, of claim and editor: beliefs, and how much of the change arrived."""
    rows = [
        ((e.name, e.name, EDITOR, part, name, None), cell)
        for e in editors
        for part, among in e.evaluation.subsets(e.edits.results).items()
        if part in PARTS
        for name, cell in estimate_beliefs(e, among).items()
    ]
    beliefs = make_frame(rows, ())
    table = make_table(FORM_VIEW._replace(where={"subset": PARTS}), concat_frames([frame, beliefs]))
    split = [[*str(part).split(", "), *cells] for part, *cells in table.rows]
    return table._replace(header=["request", "claim", *table.header[1:]], rows=split, words=3)


def slope_table(frame: Frame) -> Table | None:
    """Slopes on what sources and stated probabilities should change; None where nobody was told any."""
    parts = [p for form in GRADED for p in (form, *(f"{form}, {c}" for c in CLAIMS))]
    return _table_of_shared(SLOPES, parts, frame)


def retraction_table(frame: Frame) -> Table | None:
    """The distance to the agent that was never told, deducible facts apart; None without retractions."""
    table = _table_of_shared(RETRACTIONS, ("retraction", m.DEDUCIBLE, m.NOT_DEDUCIBLE), frame)
    return table and table._replace(contest=())


def _table_of_shared(view: View, subsets: Sequence[str], frame: Frame) -> Table | None:
    """The view of those of some subsets that every editor has, readers first."""
    parts = [part for part in subsets if part in frame.shared_subsets()]
    return swap_words(make_table(view._replace(where={"subset": parts}), frame)) if parts else None
