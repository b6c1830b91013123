"""The chapter of Hase's evaluation."""

import math
from collections.abc import Sequence

import numpy as np

from testbed.evaluations.hase.metrics import CHANGES, FIXES, FOLLOWS, RATIO, SUCCESS, WAS_NEAR
from testbed.evaluations.hase.pictures import draw_edit, draw_support, panel_case
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
from testbed.pages.sections import (
    before_section,
    build_chapter,
    difference_section,
    lasting_section,
)
from testbed.scores.gather import match_cases
from testbed.scores.movement import MOVED
from testbed.scores.summary import ScoredEditor

WORDS = {
    "s1r1, s1r2, s1r0, s1rx": "the edited fact, what depends on it, what it depends on, and an "
    "independent fact of the same subject",
    "other child, grandchild, sibling": "what else depends on the edited fact, what depends on it through "
    "other facts, and what depends on the same fact as it does",
    "s2": "the same two relations of other subjects, which an editor may have held still",
    "others": "random facts of other subjects, of which no editor was told (spot checks)",
    "moved, still": f"questions where the agent's probabilities change by more than {MOVED:.0%} in sum, and "
    "those where they do not; the edited fact itself is neither",
    "A, B": "the request, and a statement about somebody else",
    "consequence": "a dependent answer that the agent changes",
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
        "A rational agent and a language model read the same corpus; then both were told the same new facts. "
        "The agent's posteriors say what the edited model should believe. A consequence is a dependent "
        "answer that the agent changes; in brackets, its 95% interval.",
        describe_finding,
        sections,
        (CHANGES, WAS_NEAR, FIXES),
        WORDS,
        {e.name: _edit_panel(e, case, material) for e, case in _panel_cases(editors)},
        [before_section(material)],
    )


def describe_finding(editor: ScoredEditor) -> str:
    """The finding about one editor in a line, from the numbers."""
    after = editor.summary["all"][editor.name]
    success, follows = after[SUCCESS], after[FOLLOWS]
    finding = f"states {success.value:.0%} of {success.cases:,} new facts"
    if not follows.cases:
        return finding
    interval = "" if math.isnan(follows.low) else f" ({follows.low:.0%} to {follows.high:.0%})"
    return f"{finding}, follows {follows.value:.0%}{interval} of {follows.cases:,} consequences"


def _support_section(material: Material) -> Section:
    editors = material.editors
    draw_support(editors, FOLLOWS, material.folder / "support.png")
    draw_support(editors, RATIO, material.folder / "propagation.png")
    by = "by support of the new object, for every editor"
    pictures = [
        Picture("support.png", f"Share of consequences followed {by}"),
        Picture("propagation.png", f"Propagation ratio {by}"),
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
        "What the edited model says of the request, of its negation, and of its compounds. Dutch book loss "
        "is what it surely loses, for a unit stake, to somebody who bets at its prices."
    )
    return Section("coherence", "Is the model coherent with itself?", text, tables=[coherence_table(editors)])


def _paper_section(editors: Sequence[ScoredEditor]) -> Section:
    text = (
        "The paper's questions in its order, in our definitions; the last tables are in its own, the last "
        "beside the figures that it prints."
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
    name = f"edit-{editor.edits.slug}.png"
    draw_edit(editor.edits.results, material.world, case, material.folder / name)
    return Picture(name, "Probabilities of model and agent before and after one edit")
