"""The chapter of Hase's evaluation."""

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from corpus.seeds import generator
from testbed.engine.results import cluster_levels
from testbed.evaluations.hase import CHILD, CONTROL, INDEPENDENT, KIN, REQUEST, Hase
from testbed.evaluations.hase import metrics as m
from testbed.evaluations.hase.pictures import panel_case, show_edit
from testbed.evaluations.hase.published import published_tables
from testbed.pages.chapter import ChapterPlan, Chart, Material, Picture, SectionPlan
from testbed.pages.charts import draw_plane
from testbed.pages.costs import cost_section
from testbed.pages.messages import capitalise
from testbed.pages.sections import before_section, difference_section, has_to_beat, lasting_section
from testbed.run.strata import STRATA, SUPPORT_BINS
from testbed.scores.distances import MOVED
from testbed.scores.frame import ALL, EDITOR, EDITS, REFERENCE, Frame
from testbed.scores.headlines import headline_subset
from testbed.scores.metric import labels_of
from testbed.scores.readers import BAYESIAN, BEFORE_EDIT, NO_EDIT, ONE_HALF, PERFECT
from testbed.scores.statistics import Estimate, compare_metrics
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.scores.views import Column, View, choose_readers, make_table

FOUR_LAWS = tuple(map(m.law_name, ("TF", "not", "and", "or")))
LAWS = (*FOUR_LAWS, m.law_name("commute"), m.law_name("sum"), m.DUTCH_BOOK, m.TRUTH_VALUES)
SUBSETS = (ALL, m.CHANGES, m.FIXES, m.WAS_NEAR)
_PLACES = (REQUEST, CHILD, INDEPENDENT, m.NEIGHBOURS)
MAIN = (*(m.name_at(kind, place) for kind in ("right", "tv") for place in _PLACES), *FOUR_LAWS)
COHERENCE = View(
    "logic", "Logical coherence", LAWS, who=(EDITOR, BEFORE_EDIT, BAYESIAN, ONE_HALF), ranked=True,
    note="Mean absolute violation of each axiom by the model's own truth values; 0 is coherent. Truth "
    f"values: their distance to the agent's beliefs. Where {ONE_HALF} is as good, nobody stands out.",
)  # fmt: skip
INFERENCE = View(
    "inferred", "Followed, beside what was right before",
    [Column(m.FOLLOWS, "cases", show="count"), Column(m.FOLLOWS, "right before", {"reader": BEFORE_EDIT}),
     Column(m.FOLLOWS, "followed"), Column(m.FOLLOWS_RIGHT, "of these", show="count"),
     Column(m.FOLLOWS_RIGHT, "of these, followed")],
    {"subset": "consequence", "reader": "editor"},
    note="Dependent answers that the agent changes: how many the unedited model had right before the edit, "
    "how many follow, and how many of those that it had right. Of facts never stated (S0) it can have "
    "inferred them only; of others it may have read them.",
)  # fmt: skip
_BLOCKS = View(
    "hase-5", "By subset of requests", [Column(EDITS, "edits", show="count"), *MAIN],
    {"subset": "subset", "reader": "editor"}, (BEFORE_EDIT, EDITOR),
    {"subset": SUBSETS},
    "As Hase's Table 5, in our definitions; after the edit, and before it for comparison.",
)  # fmt: skip
_KINDS = {m.REPEATS: m.REPEATS, m.CONTRADICTS: m.CONTRADICTS}
_KINDS |= {f"stated {name}": f"consequence {name}" for name in STRATA}
PAPER = (
    _BLOCKS,
    View("hase-7", "By editing method", [Column("steps", "gradient steps"), *MAIN], who=(BEFORE_EDIT, EDITOR),
         note="After the edit."),
    _BLOCKS._replace(
        key="kinds", title="By what the edit is", rows={"subset": "kind of edit", "reader": "editor"},
        where={"subset": _KINDS},
        note="Consequence S0: the dependent fact was never stated; S1: one to three times; S2: more often."),
)  # fmt: skip


def inference_table(frame: Frame) -> Table:
    """Consequences that follow: of all, and of those that the unedited model had right; by stratum."""
    first = frame.values("editor")[0]
    filled = [s for s in (f"stated {x}" for x in STRATA) if frame.cell(m.FOLLOWS, first, s).cases]
    return make_table(INFERENCE._replace(where={"subset": [ALL] * (len(filled) > 1) + filled}), frame)


def kinship_table(frame: Frame) -> Table:
    """Answers that must change and those that must stay, by the kin that the cases have."""
    first = frame.values("editor")[0]
    metrics = [name for role in KIN for name in (m.MUST_CHANGE[role], m.MUST_STAY[role])]
    counts = {name: cases for name in metrics if (cases := frame.cell(name, first).cases)}
    each = ", ".join(f"{frame.label_of(name)}: {cases:,}" for name, cases in counts.items())
    note = (
        "Share of answers that are the agent's, where its own answer must change and where it stays. A "
        f"sibling depends on the same fact as the edited one. Cases ({first}): {each}."
    )
    title, who = "By what the fact is to the edited one", (EDITOR, REFERENCE)
    return make_table(View("kinship", title, [*counts], who=who, note=note, ranked=True), frame)


def control_table(editors: Sequence[ScoredEditor], frame: Frame) -> Table | None:
    """What follows a request beyond what follows when the same object is said of somebody else.

    None where no editor was told a control.
    """
    metrics, rows = (m.FOLLOWS, m.GAINED, m.RATIO), list[list[Cell]]()
    for e in editors:
        levels, everywhere = cluster_levels(e.edits.results), np.ones(len(e.edits.results), bool)
        for control in e.control_readers:
            row: list[Cell] = [e.name]
            for name in metrics:
                rng = generator(e.edits.seed, f"{control} {frame.label_of(name)}")
                pair = e.values[e.name][name], e.values[control][name]
                row += [frame.cell(name, e.name), compare_metrics(*pair, levels, everywhere, rng)]
            rows.append(row)
    heads = [head for label in map(frame.label_of, metrics) for head in (label, f"{label}, beyond")]
    note = (
        f"Beyond: less what the same editor reaches when it is told {CONTROL} in place of the request. Who "
        "moves everything, whatever it is told, has nothing beyond."
    )
    title = "What follows because of the request"
    return Table("beyond", title, ["editor", *heads], rows, note, words=2) if rows else None


def by_support(metric: str) -> list[Column]:
    """A column for each bin of the new object's support."""
    heads = {name: "0 (noise)" if name == "0" else f"{name} subjects" for name in SUPPORT_BINS}
    return [Column(metric, head, {"subset": f"support {name}"}) for name, head in heads.items()]


def support_table(frame: Frame, metric: str, key: str) -> Table:
    """One metric of contradicting edits, a column a bin of the new object's support."""
    who = [name for name in choose_readers(frame, (EDITOR, REFERENCE)) if name != NO_EDIT]
    note = "Contradicting edits, by how many subjects have the new object as their true one."
    title = f"{frame.label_of(metric)}, by support"
    return make_table(View(key, title, by_support(metric), who=who, note=note, ranked=True), frame)


def coherence_table(material: Material) -> Table:
    """Violations of laws; who is no better than saying one half to all does not stand out."""
    return has_to_beat(make_table(COHERENCE, material.frame), ONE_HALF)


def main_results(frame: Frame) -> Table:
    """Every editor before and after, and the change: accuracy, then both kinds of coherence (Table 4)."""
    note = "As Hase's Table 4, in our definitions: each time against the agent of that time."
    after = make_table(View("hase-4", "Before and after editing", MAIN, note=note), frame)
    at_first = [Column(name, where={"reader": BEFORE_EDIT}) for name in MAIN]
    before, rows = make_table(View("", "", at_first), frame), list[list[Cell]]()
    pairs: Iterable[tuple[Any, Any]] = zip(before.rows, after.rows, strict=True)
    for (name, *old), (_, *new) in pairs:
        change = [b.value - a.value for a, b in zip(old, new, strict=True)]
        rows += [[name, "before", *old], [name, "after", *new], [name, "change", *change]]
    return after._replace(header=["editor", "when", *after.header[1:]], rows=rows, words=2)


WORDS = {
    "edited fact, consequence, cause, independent fact": "the fact of the request, a fact that depends on "
    "it, the fact on which it depends, and a fact of the same subject that has nothing to do with it",
    "other consequence, grandchild, sibling": "further facts that depend on the edited fact, facts that "
    "depend on these, and facts with the same cause as the edited one",
    "neighbours": "the same two relations of other subjects, which an editor may protect",
    "others": "random facts of other subjects that no editor is told of (spot checks)",
    "moved, still": f"questions where the agent's probabilities change by more than {MOVED:.0%} in sum, and "
    "those where they do not; the edited fact is neither",
    "A, B": "the request, and a statement about another subject",
    "follows, stays": "of the answers that the agent changes, the share where the model gives the agent's "
    "new one; of those that the agent keeps, the share where the model still gives it",
}


def picture_harm(material: Material) -> Picture:
    """What editors update against what they keep, over the cases of headlines."""
    frame, file, first = material.frame, "harm.svg", material.editors[0]
    where = {"subset": headline_subset(first.evaluation, first.frame)}
    view = View("", "", [m.FOLLOWS, m.KEPT], who=(EDITOR, NO_EDIT, PERFECT), where=where)
    rows: list[Any] = [*make_table(view, frame).rows]
    points = {name: (x, y) for name, x, y in rows if x and y and x.cases and y.cases}
    across, up = map(frame.label_of, (m.FOLLOWS, m.KEPT))
    draw_plane(points, (NO_EDIT, PERFECT), across, up, material.folder / file)
    return Picture(file, f"{capitalise(up)} against {across}", "Best is above and to the right")


def describe_finding(frame: Frame, editor: str) -> str:
    """The finding about one editor in a sentence, from the numbers."""
    subset = headline_subset(Hase(), frame.where(editor=editor))
    after, repeated = (frame.metrics_of(editor, subset=name) for name in (subset, m.REPEATS))
    success, follows, stays = after[m.SUCCESS], after[m.FOLLOWS], after[m.STAYS]
    parts = [f"states {_count(success)} {'new ' * (subset == m.CONTRADICTS)}facts"]
    if follows.cases:
        interval = "" if math.isnan(follows.low) else f" ({follows.low:.0%} to {follows.high:.0%})"
        parts.append(f"updates {_count(follows)} consequences{interval}")
    if stays.cases:
        parts.append(f"keeps {_count(stays)} dependent facts that should stay")
    said = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    apart = subset != ALL and repeated[m.SUCCESS].cases
    return f"{said}; it states {_count(repeated[m.SUCCESS])} that were true already" if apart else said


def _count(share: Estimate) -> str:
    """How many of how many, of a share of cases."""
    return f"{round(share.value * share.cases):,} of {share.cases:,}" if share.cases else "none of 0"


def chart_support(metric: str, file: str) -> Chart:
    """A metric by the support of the new object, beside the agent's."""
    label = labels_of(m.METRICS)[metric]
    says = f"{capitalise(label)} by support of the new object, for every editor"
    across = "subjects that share the new object (support)"
    return Chart("bins", file, says, {label: by_support(metric)}, SUPPORT_BINS, across, label)


PLAN = ChapterPlan(
    "Coherence with a rational agent (Hase et al. 2024)",
    "A rational agent and a language model read the same corpus. Then both received the same new facts. "
    "The agent's posteriors say what the edited model should believe. A consequence is a dependent fact "
    "whose answer the agent changes; its 95% interval is in brackets.",
    describe_finding,
    (
        difference_section,
        SectionPlan(
            "support", "Do consequences follow?",
            "A consequence can be learned only from other subjects with the same upstream object.",
            [chart_support(m.FOLLOWS, "support.svg"), chart_support(m.RATIO, "propagation.svg")],
            [lambda of: inference_table(of.frame), lambda of: kinship_table(of.frame),
             lambda of: control_table(of.editors, of.frame)],
            [lambda of: support_table(of.frame, m.FOLLOWS, "support-followed"),
             lambda of: support_table(of.frame, m.RATIO, "support-ratio")],
        ),
        partial(cost_section, metric=m.RATIO),
        partial(lasting_section, metrics=(m.SUCCESS, m.RATIO)),
        SectionPlan(
            "coherence", "Is the model coherent with itself?",
            "Truth values that the edited model gives to the request, to its negation and to its compounds. "
            "Dutch book loss is its sure loss, for a unit stake, to somebody who bets at these values.",
            tables=[coherence_table],
        ),
        SectionPlan(
            "paper", "Beside Hase et al. 2024",
            "The paper's tables in its order, in our definitions. Those at the end use the paper's own "
            "definitions, and the last one has the printed figures beside ours.",
            more_tables=[lambda of: main_results(of.frame), *PAPER,
                         lambda of: published_tables(of.editors)],
        ),
    ),
    (before_section,), WORDS, (panel_case, show_edit), (m.CHANGES, m.WAS_NEAR, m.FIXES), picture_harm,
)  # fmt: skip
