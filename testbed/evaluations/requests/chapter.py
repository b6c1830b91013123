"""The chapter of requests."""

import numpy as np

from testbed.evaluations.requests.metrics import APART, ARRIVED, DAMAGE, RISES, SLOPE
from testbed.evaluations.requests.tables import (
    CHANNELS,
    DISJUNCTIONS,
    MEANS,
    estimate_beliefs,
    form_table,
    retraction_table,
    slope_table,
)
from testbed.pages.chapter import Chapter, Material, Picture, Section
from testbed.pages.charts import draw_lines
from testbed.pages.costs import cost_section
from testbed.pages.messages import describe_lines
from testbed.pages.sections import before_section, build_chapter, difference_section, lasting_section
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import format_cell
from testbed.scores.views import make_table

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


def make_chapter(material: Material) -> Chapter:
    """Everything that is shown of some editors; draws its picture on the way."""
    editors, frame = material.editors, material.frame
    slopes, taken_back = slope_table(frame), retraction_table(frame)
    channels, both = (make_table(view, frame) for view in (CHANNELS, DISJUNCTIONS))
    sections = [
        difference_section(material),
        Section("forms", "What does each kind of request do?", "The agent's belief is the standard.",
                tables=[form_table(editors, frame)]),
        Section("slopes", "Who says so, and how sure?", "Sources are as right as they were in the corpus.",
                _draw_sources(material), [slopes]) if slopes else None,
        Section("channels", "What arrives where?", "What the model says, labels and writes.",
                tables=[channels]) if channels.rows else None,
        Section("disjunctions", "One of two", "Nothing says which.", tables=[both])
        if "disjunction" in frame.shared_subsets() else None,
        Section("retractions", "Taken back", "As if it had never been read.", tables=[taken_back])
        if taken_back else None,
        cost_section(material, ARRIVED),
        lasting_section(material, ()),
    ]  # fmt: skip
    return build_chapter(
        material,
        "Requests of every kind",
        "People tell a model not only that something is so. They say that it is false, how probable it is, "
        "who says it, that it is one of two, that something else was wrong, or that it should be forgotten. "
        "Of each the exact agent knows what it should change.",
        describe_finding,
        sections,
        words=WORDS,
        opening=[before_section(material)],
    )


def describe_finding(editor: ScoredEditor) -> str:
    """The finding about one editor in a line, from the numbers."""
    after = editor.summary["all"][editor.name]
    parts = [f"makes {format_cell(after[ARRIVED])} of the agent's change"]
    if APART in after and after[APART].cases:
        parts.append(f"tells requests apart by {format_cell(after[APART])}")
    if RISES in after and after[RISES].cases:
        parts.append(f"believes {after[RISES].value:.0%} of what it is told is false more than before")
    if SLOPE in after and after[SLOPE].cases:
        parts.append(f"has slope {format_cell(after[SLOPE])} on how sure it should be")
    return f"{', '.join(parts)}; damage {format_cell(after[DAMAGE])}"


def _draw_sources(material: Material) -> list[Picture]:
    """Belief by the reliability of who says so, of claims about unstated facts where there are some."""
    lines, ticks = {}, []
    for e in material.editors:
        cases = e.edits.results.cases
        among = cases["form"].astype(str) == "source"
        unstated = among & (cases["claim"].astype(str) == "unstated")
        among = unstated if unstated.any() else among
        said = np.unique(cases["said"][among])
        if not len(said):
            return []
        found = [estimate_beliefs(e, among & (cases["said"] == p)) for p in said]
        lines[e.name] = {
            "this editor": [x[MEANS[1]] for x in found],
            "the agent": [x[MEANS[3]] for x in found],
        }
        ticks = [f"{p:g}" for p in said]
    draw_lines(
        lines,
        ticks,
        "how often the source is right",
        "belief in what it says",
        material.folder / "sources.svg",
    )
    says = "Belief in what a source says, by how often it is right"
    return [Picture("sources.svg", says, describe_lines(lines, ticks, "belief"))]
