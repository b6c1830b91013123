"""The chapter of Hase's evaluation."""

import math
from collections.abc import Sequence

import numpy as np

from testbed.evaluations.hase.metrics import (
    CHANGES,
    FIXES,
    FOLLOWS,
    KEPT,
    RATIO,
    SKILL_RECALIBRATED,
    STAYS,
    SUCCESS,
    WAS_NEAR,
)
from testbed.evaluations.hase.pictures import describe_edit, draw_edit, draw_support, panel_case
from testbed.evaluations.hase.tables import (
    coherence_table,
    control_table,
    inference_table,
    kinship_table,
    paper_tables,
    support_table,
)
from testbed.pages.chapter import Chapter, Material, Picture, Section
from testbed.pages.costs import cost_section
from testbed.pages.messages import capitalise, describe_support
from testbed.pages.sections import (
    before_section,
    build_chapter,
    difference_section,
    lasting_section,
)
from testbed.scores.distances import MOVED
from testbed.scores.gather import match_cases
from testbed.scores.statistics import Estimate
from testbed.scores.summary import ScoredEditor

FIRST = (SUCCESS, FOLLOWS, STAYS, KEPT, SKILL_RECALIBRATED)
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


def make_chapter(material: Material) -> Chapter:
    """Everything that is shown of some editors; draws its pictures on the way."""
    editors = material.editors
    sections = [
        difference_section(material),
        _support_section(material),
        cost_section(editors, RATIO, material.folder),
        lasting_section(editors, material.curves, (SUCCESS, RATIO), material.folder),
        _coherence_section(editors),
        _paper_section(editors),
    ]
    return build_chapter(
        material,
        "Coherence with a rational agent (Hase et al. 2024)",
        "A rational agent and a language model read the same corpus. Then both received the same new facts. "
        "The agent's posteriors say what the edited model should believe. A consequence is a dependent fact "
        "whose answer the agent changes; its 95% interval is in brackets.",
        describe_finding,
        sections,
        (CHANGES, WAS_NEAR, FIXES),
        WORDS,
        {e.name: _edit_panel(e, case, material) for e, case in _panel_cases(editors)},
        [before_section(material)],
        FIRST,
    )


def describe_finding(editor: ScoredEditor) -> str:
    """The finding about one editor in a sentence, from the numbers."""
    after = editor.summary["all"][editor.name]
    success, follows, stays = after[SUCCESS], after[FOLLOWS], after[STAYS]
    parts = [f"states {_count(success)} new facts"]
    if follows.cases:
        interval = "" if math.isnan(follows.low) else f" ({follows.low:.0%} to {follows.high:.0%})"
        parts.append(f"updates {_count(follows)} consequences{interval}")
    if stays.cases:
        parts.append(f"keeps {_count(stays)} dependent facts that should stay")
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _count(share: Estimate) -> str:
    """How many of how many, of a share of cases."""
    return f"{round(share.value * share.cases):,} of {share.cases:,}" if share.cases else "none of 0"


def _support_section(material: Material) -> Section:
    editors = material.editors
    draw_support(editors, FOLLOWS, material.folder / "support.svg")
    draw_support(editors, RATIO, material.folder / "propagation.svg")
    by = "by support of the new object, for every editor"
    pictures = [
        Picture(f"{stem}.svg", f"{capitalise(metric)} {by}", describe_support(editors, metric))
        for stem, metric in (("support", FOLLOWS), ("propagation", RATIO))
    ]
    folded = [
        support_table(editors, FOLLOWS, "support-followed"),
        support_table(editors, RATIO, "support-ratio"),
    ]
    text = "A consequence can be learned only from other subjects with the same upstream object."
    beyond = control_table(editors)
    tables = [inference_table(editors), kinship_table(editors), *([beyond] if beyond else [])]
    return Section("support", "Do consequences follow?", text, pictures, tables, folded)


def _coherence_section(editors: Sequence[ScoredEditor]) -> Section:
    text = (
        "Truth values that the edited model gives to the request, to its negation and to its compounds. "
        "Dutch book loss is its sure loss, for a unit stake, to somebody who bets at these values."
    )
    return Section("coherence", "Is the model coherent with itself?", text, tables=[coherence_table(editors)])


def _paper_section(editors: Sequence[ScoredEditor]) -> Section:
    text = (
        "The paper's tables in its order, in our definitions. Those at the end use the paper's own "
        "definitions, and the last one has the printed figures beside ours."
    )
    return Section("paper", "Beside Hase et al. 2024", text, more_tables=paper_tables(editors))


def _panel_cases(editors: Sequence[ScoredEditor]) -> list[tuple[ScoredEditor, int]]:
    """One case of the first run for every editor: the same one where all have some case in common."""
    first = editors[0].edits.results
    shared = {i for i, run in enumerate(first.cases["run"]) if run == 0}
    for other in editors[1:]:
        mine, _ = match_cases(first, other.edits.results)
        shared &= set(mine.tolist())
    case = panel_case(first, np.array(sorted(shared))) if shared else None
    cases = []
    for editor in editors:
        results = editor.edits.results
        first_run = np.flatnonzero(results.cases["run"] == 0)
        if case is not None:
            mine, theirs = match_cases(first, results)
            cases.append((editor, int(theirs[mine == case][0])))
        elif len(first_run):
            cases.append((editor, panel_case(results, first_run)))
    return cases


def _edit_panel(editor: ScoredEditor, case: int, material: Material) -> Picture:
    name, results = f"edit-{editor.edits.slug}.svg", editor.edits.results
    says = draw_edit(results, material.world, case, material.folder / name)
    return Picture(name, says, f"{editor.name}: {describe_edit(results, material.world, case)}")
