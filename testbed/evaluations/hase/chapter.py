"""The chapter of Hase's evaluation."""

import math
from pathlib import Path
from typing import Any

from testbed.evaluations.hase import metrics as m
from testbed.evaluations.hase import tables
from testbed.evaluations.hase.pictures import panel_case, show_edit
from testbed.evaluations.hase.published import published_tables
from testbed.pages.chapter import Chapter, Material, Picture, Section
from testbed.pages.charts import draw_by_bin, draw_plane
from testbed.pages.costs import cost_section
from testbed.pages.edit_pictures import draw_edits
from testbed.pages.messages import capitalise, describe_support
from testbed.pages.sections import (
    before_section,
    build_chapter,
    difference_section,
    has_to_beat,
    lasting_section,
)
from testbed.run.strata import SUPPORT_BINS
from testbed.scores.distances import MOVED
from testbed.scores.frame import EDITOR
from testbed.scores.headlines import headline_subset
from testbed.scores.readers import BAYESIAN, NO_EDIT, ONE_HALF, PERFECT, READERS
from testbed.scores.statistics import Estimate
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Table
from testbed.scores.views import View, make_table

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
_TEXT = (
    "A rational agent and a language model read the same corpus. Then both received the same new facts. "
    "The agent's posteriors say what the edited model should believe. A consequence is a dependent fact "
    "whose answer the agent changes; its 95% interval is in brackets."
)
_COHERENCE = (
    "Truth values that the edited model gives to the request, to its negation and to its compounds. "
    "Dutch book loss is its sure loss, for a unit stake, to somebody who bets at these values."
)
_PAPER = (
    "The paper's tables in its order, in our definitions. Those at the end use the paper's own "
    "definitions, and the last one has the printed figures beside ours."
)


def make_chapter(material: Material) -> Chapter:
    """Everything that is shown of some editors; draws its pictures on the way."""
    editors, frame = material.editors, material.frame
    coherence = has_to_beat(make_table(tables.COHERENCE, frame), ONE_HALF)
    paper = [tables.main_results(frame), *(make_table(view, frame) for view in tables.PAPER)]
    sections = [
        difference_section(material),
        _support_section(material),
        cost_section(material, m.RATIO),
        lasting_section(material, (m.SUCCESS, m.RATIO)),
        Section("coherence", "Is the model coherent with itself?", _COHERENCE, tables=[coherence]),
        Section("paper", "Beside Hase et al. 2024", _PAPER, more_tables=[*paper, *published_tables(editors)]),
    ]
    chapter = build_chapter(
        material, "Coherence with a rational agent (Hase et al. 2024)", _TEXT, describe_finding, sections,
        (m.CHANGES, m.WAS_NEAR, m.FIXES), WORDS, draw_edits(material, panel_case, show_edit),
        [before_section(material)],
    )  # fmt: skip
    return chapter._replace(first_picture=_picture_harm(material))


def _picture_harm(material: Material) -> Picture:
    """What editors update against what they keep, over the cases of headlines."""
    frame, file, first = material.frame, "harm.svg", material.editors[0]
    where = {"subset": headline_subset(first.evaluation, first.summary)}
    view = View("", "", [m.FOLLOWS, m.KEPT], who=(EDITOR, NO_EDIT, PERFECT), where=where)
    rows: list[Any] = [*make_table(view, frame).rows]
    points = {name: (x, y) for name, x, y in rows if x and y and x.cases and y.cases}
    across, up = map(frame.label_of, (m.FOLLOWS, m.KEPT))
    draw_plane(points, (NO_EDIT, PERFECT), across, up, material.folder / file)
    return Picture(file, f"{capitalise(up)} against {across}", "Best is above and to the right")


def describe_finding(editor: ScoredEditor) -> str:
    """The finding about one editor in a sentence, from the numbers."""
    subset = headline_subset(editor.evaluation, editor.summary)
    after, repeated = (editor.summary[name][editor.name] for name in (subset, m.REPEATS))
    success, follows, stays = after[m.SUCCESS], after[m.FOLLOWS], after[m.STAYS]
    parts = [f"states {_count(success)} {'new ' * (subset == m.CONTRADICTS)}facts"]
    if follows.cases:
        interval = "" if math.isnan(follows.low) else f" ({follows.low:.0%} to {follows.high:.0%})"
        parts.append(f"updates {_count(follows)} consequences{interval}")
    if stays.cases:
        parts.append(f"keeps {_count(stays)} dependent facts that should stay")
    said = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    apart = subset != "all" and repeated[m.SUCCESS].cases
    return f"{said}; it states {_count(repeated[m.SUCCESS])} that were true already" if apart else said


def _count(share: Estimate) -> str:
    """How many of how many, of a share of cases."""
    return f"{round(share.value * share.cases):,} of {share.cases:,}" if share.cases else "none of 0"


def _support_section(material: Material) -> Section:
    editors, frame = material.editors, material.frame
    followed = tables.support_table(frame, m.FOLLOWS, "support-followed")
    ratio = tables.support_table(frame, m.RATIO, "support-ratio")
    pictures = []
    for table, metric, file in ((followed, m.FOLLOWS, "support.svg"), (ratio, m.RATIO, "propagation.svg")):
        message = draw_support(table, frame.label_of(metric), material.folder / file)
        says = f"{capitalise(frame.label_of(metric))} by support of the new object, for every editor"
        pictures.append(Picture(file, says, message))
    beyond = tables.control_table(editors, frame)
    open_tables = [tables.inference_table(frame), tables.kinship_table(frame), *([beyond] if beyond else [])]
    text = "A consequence can be learned only from other subjects with the same upstream object."
    return Section("support", "Do consequences follow?", text, pictures, open_tables, [followed, ratio])


def draw_support(table: Table, label: str, path: Path) -> str:
    """A panel for each editor of a `support_table`, beside the agent's row; what is to be seen."""
    rows: dict[Any, list[Any]] = {name: cells for name, *cells in table.rows}
    lines = {name: cells for name, cells in rows.items() if name not in READERS}
    draw_by_bin(
        lines, rows[BAYESIAN], SUPPORT_BINS, "subjects that share the new object (support)", label, path
    )
    return describe_support(lines.values(), label)
