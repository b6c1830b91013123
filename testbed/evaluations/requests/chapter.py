"""The chapter of requests."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from testbed.engine.results import cluster_levels
from testbed.evaluations.requests import CLAIMS, FORMS, GRADED
from testbed.evaluations.requests import metrics as m
from testbed.pages.chapter import ChapterPlan, Chart, Material, Picture, SectionPlan
from testbed.pages.costs import cost_section
from testbed.pages.sections import before_section, difference_section, lasting_section, picture_lines
from testbed.scores.frame import EDITOR, Frame, concat_frames
from testbed.scores.metric import DISTANCE, Metric, mean_of
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.statistics import estimate_metrics
from testbed.scores.summary import ScoredEditor, frame_of_measures
from testbed.scores.tables import Table, format_cell
from testbed.scores.views import Column, View, make_table, swap_words

TOLD = ("assertion", "true", "probability", "replacement")
"""Forms whose channels are shown."""
MEANS = ("model before", "model after", "agent before", "agent after")
PARTS = [f"{form}, {claim}" for form in FORMS for claim in CLAIMS]
FORM_VIEW = View(
    "forms", "What each kind of request does",
    [Column(MEANS[0], "p(o) before"), Column(MEANS[1], "p(o) after"), Column(MEANS[3], "agent's after"),
     m.ARRIVED, m.LABEL, m.CONSEQUENCE, m.DAMAGE],
    {"subset": "request", "reader": "editor"}, where={"subset": PARTS},
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
    "same answer without them, from what else is known.", ranked=True,
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


def measure_beliefs(editor: ScoredEditor) -> dict[str, Metric]:
    """The belief of model and agent in the claimed object, before and after, case by case."""
    results = editor.edits.results
    answers = m.Answers(results, editor.readers[editor.name])
    beliefs = answers.belief_in(results.cases["object"])
    return {name: mean_of(p)._replace(limits=DISTANCE) for name, p in zip(MEANS, beliefs, strict=True)}


def form_table(editors: Sequence[ScoredEditor], frame: Frame) -> Table:
    """A row for each kind of request, of claim and editor: beliefs, and how much of the change arrived."""
    beliefs = frame_of_measures(
        editors, lambda e: {e.name: measure_beliefs(e)}, lambda e: e.evaluation.subsets(e.edits.results)
    )
    table = make_table(FORM_VIEW, concat_frames([frame, beliefs]))
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


WORDS = {
    "other, own, unstated": "what is claimed: another object than the one that the corpus states, the one "
    "that it states, or an object of a fact that it never states",
    "true, false": 'the label of the claim: "s r o" is true, "s r o" is false',
    "denial": '"not s r o" is true',
    "disjunction": '"s r o or s r o2" is true',
    "replacement": '"s r o2" is false. s r o',
    "source": "according to A s r o; A is right as often as it was in the corpus",
    "probability": "with probability p s r o",
    "retraction": "whatever said s r o counts as never read; editors of text are told a denial",
}


def describe_finding(frame: Frame, editor: str) -> str:
    """The finding about one editor in a line, from the numbers."""
    after = frame.metrics_of(editor)
    parts = [f"makes {format_cell(after[m.ARRIVED])} of the agent's change"]
    if after.get(m.APART) and after[m.APART].cases:
        parts.append(f"tells requests apart by {format_cell(after[m.APART])}")
    if after.get(m.RISES) and after[m.RISES].cases:
        parts.append(f"believes {after[m.RISES].value:.0%} of what it is told is false more than before")
    if after.get(m.SLOPE) and after[m.SLOPE].cases:
        parts.append(f"has slope {format_cell(after[m.SLOPE])} on how sure it should be")
    return f"{', '.join(parts)}; damage {format_cell(after[m.DAMAGE])}"


def draw_sources(material: Material) -> list[Picture]:
    """Belief by the reliability of who says so, of claims about unstated facts where there are some."""
    lines, said = {}, np.empty(0)
    for e in material.editors:
        cases = e.edits.results.cases
        among = cases["form"].astype(str) == "source"
        unstated = among & (cases["claim"].astype(str) == "unstated")
        among = unstated if unstated.any() else among
        said = np.unique(cases["said"][among])
        if not len(said):
            return []
        levels, beliefs = cluster_levels(e.edits.results), measure_beliefs(e)
        found = [estimate_metrics(beliefs, levels, among & (cases["said"] == p)) for p in said]
        lines[e.name] = {
            name: [estimates[mean] for estimates in found]
            for name, mean in (("this editor", MEANS[1]), ("the agent", MEANS[3]))
        }
    chart = Chart(
        "lines", "sources.svg", "Belief in what a source says, by how often it is right", {},
        [f"{p:g}" for p in said], "how often the source is right", "belief in what it says", "belief",
    )  # fmt: skip
    return [picture_lines(material, chart, lines)]


PLAN = ChapterPlan(
    "Requests of every kind",
    "People tell a model not only that something is so. They say that it is false, how probable it is, "
    "who says it, that it is one of two, that something else was wrong, or that it should be forgotten. "
    "Of each the exact agent knows what it should change.",
    describe_finding,
    (
        difference_section,
        SectionPlan("forms", "What does each kind of request do?", "The agent's belief is the standard.",
                    tables=[lambda of: form_table(of.editors, of.frame)]),
        SectionPlan("slopes", "Who says so, and how sure?",
                    "Sources are as right as they were in the corpus.", [draw_sources],
                    [lambda of: slope_table(of.frame)]),
        SectionPlan("channels", "What arrives where?", "What the model says, labels and writes.",
                    tables=[CHANNELS]),
        SectionPlan("disjunctions", "One of two", "Nothing says which.", tables=[DISJUNCTIONS]),
        SectionPlan("retractions", "Taken back", "As if it had never been read.",
                    tables=[lambda of: retraction_table(of.frame)]),
        partial(cost_section, metric=m.ARRIVED),
        partial(lasting_section, metrics=()),
    ),
    (before_section,),
    WORDS,
)  # fmt: skip
