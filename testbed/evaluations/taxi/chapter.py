"""The chapter of TAXI's evaluation."""

import numpy as np

from testbed.evaluations.taxi.metrics import (
    CONSISTENCY,
    FOUR,
    OTHERS_RIGHT,
    RARE,
    SUCCESS,
    TYPICAL,
    member_bin_name,
    reverse_name,
)
from testbed.evaluations.taxi.people import people_table
from testbed.evaluations.taxi.pictures import choose_case, draw_edit
from testbed.evaluations.taxi.tables import (
    agreement_table,
    count_table,
    describe_undetermined,
    exception_table,
    forward_table,
    member_table,
    rare_against_typical_table,
    reverse_table,
    shared_member_bins,
)
from testbed.pages.chapter import Chapter, Material, Picture, Section
from testbed.pages.charts import draw_lines
from testbed.pages.costs import cost_section
from testbed.pages.messages import describe_lines
from testbed.pages.sections import (
    before_section,
    build_chapter,
    difference_section,
    lasting_section,
)
from testbed.scores.readers import CHANCE
from testbed.scores.summary import ScoredEditor

WORDS = {
    "do, correction": "how the agent takes the request. do: the category changes and its properties are "
    "drawn again, as TAXI's labels say; correction: the old category was an error, and statements about the "
    "subject still hold",
    "S0, S1, S2": "properties of the subject that the corpus states never, one to three times, more often",
    "typical, rare": "subjects whose sentences have many copies, or one; copies are no evidence",
    "reverse": "the inverse question: which subject is one, or has it?",
}
_PAPER = "The paper's own questions and metrics. Controls got a context that says nothing about the request."
_INTERPRETATIONS = (
    "TAXI's labels are right after a change of the world. After a correction of the category statements "
    "about the subject still hold. So the agent's row under a correction is the share of labels that the "
    "request entails."
)
_FREQUENCY = (
    "Copies of a sentence are not evidence, so the agent is the same for both; any difference is the "
    "model's. A typical and a rare subject of one category are paired over the same new categories."
)


def make_chapter(material: Material) -> Chapter:
    """Everything that is shown of some editors; draws its pictures on the way."""
    editors, world = material.editors, material.world
    sections = [
        difference_section(material),
        Section("paper", "Beside Powell et al. 2024", _PAPER,
                tables=[forward_table(editors, world), reverse_table(editors)],
                more_tables=[t for t in (people_table(editors, world), count_table(editors[0])) if t]),
        Section("interpretations", "What does the request mean?", _INTERPRETATIONS,
                tables=[agreement_table(editors)],
                more_tables=[t for t in (exception_table(editors, world),) if t]),
        _superordinates_section(material),
        _directions_section(material),
        _members_section(material),
        Section("frequency", "Are rare subjects easier to edit?", _FREQUENCY,
                tables=[rare_against_typical_table(editors)]),
        cost_section(editors, CONSISTENCY, material.folder),
        lasting_section(editors, material.curves, (SUCCESS, CONSISTENCY), material.folder),
    ]  # fmt: skip
    return build_chapter(
        material,
        "Change what a thing is (TAXI, Powell et al. 2024)",
        "Each edit makes a subject a member of another category. Properties that only the new category has "
        "should change, and properties that both have should stay. TAXI's labels say what is right; beside "
        "them stand the beliefs of an agent that has read the same corpus.",
        describe_finding,
        sections,
        (TYPICAL, RARE),
        WORDS,
        {e.name: _draw_panel(e, material) for e in editors},
        [before_section(material)],
    )


def describe_finding(editor: ScoredEditor) -> str:
    """The finding about one editor in a line, from the numbers."""
    after, chance = (editor.summary["all"][name] for name in (editor.name, CHANCE))
    return (
        f"states {after[SUCCESS].value:.0%} of the new categories, updates {after[CONSISTENCY].value:.0%} of "
        f"the properties that should change (chance {chance[CONSISTENCY].value:.0%}), and keeps "
        f"{after[OTHERS_RIGHT].value:.0%} of other subjects' facts"
    )


def _superordinates_section(material: Material) -> Section:
    editors = material.editors
    names = sorted({str(k) for e in editors for k in e.edits.results.cases["superordinate"]})
    lines = {
        e.name: {name: [e.summary[kind][reader][CONSISTENCY] for kind in names]
                 for name, reader in (("this editor", e.name), ("chance", CHANCE))}
        for e in editors if all(kind in e.summary for kind in names)
    }  # fmt: skip
    draw_lines(lines, names, "superordinate", CONSISTENCY, material.folder / "superordinates.svg")
    text = "Consistency by kind of thing, beside chance, which depends on the number of options."
    picture = Picture(
        "superordinates.svg",
        "Consistency by superordinate for every editor (Figure 2)",
        describe_lines(lines, names, CONSISTENCY),
    )
    return Section("superordinates", "Is it the same for every kind of thing?", text, [picture])


def _directions_section(material: Material) -> Section:
    lines = {
        e.name: {
            "forward": [e.summary["all"][e.name][m] for m in FOUR],
            "reverse": [e.summary["all"][e.name][reverse_name(m)] for m in FOUR],
            "reverse, chance": [e.summary["all"][CHANCE][reverse_name(m)] for m in FOUR],
        }
        for e in material.editors
    }
    ticks = ["edit", "property", "invariance", "consistency"]
    draw_lines(lines, ticks, "question", "share right", material.folder / "directions.svg")
    text = (
        "The inverse question is which subject is a dog. Only a model that reads both ways can use the edit. "
        "A context that names the subject makes it likelier, whatever it says: see the controls. "
    )
    text += describe_undetermined(material.editors[0].edits.results)
    picture = Picture(
        "directions.svg",
        "Forward and inverse questions, for every editor (Figure 3)",
        describe_lines(lines, ticks, "share right"),
    )
    return Section("directions", "Does the inverse follow?", text, [picture])


def _members_section(material: Material) -> Section:
    editors, bins, pictures = material.editors, shared_member_bins(material.editors), []
    if len(bins) > 1:
        lines = {e.name: {CONSISTENCY: [e.summary[member_bin_name(b)][e.name][CONSISTENCY] for b in bins]}
                 for e in editors}  # fmt: skip
        draw_lines(lines, bins, "members of the new category", CONSISTENCY, material.folder / "members.svg")
        pictures = [
            Picture(
                "members.svg",
                "Consistency by members of the new category",
                describe_lines(lines, bins, CONSISTENCY),
            )
        ]
    text = "The properties of a category can be learned only from its members."
    return Section("members", "From how many members?", text, pictures, [member_table(editors)])


def _draw_panel(editor: ScoredEditor, material: Material) -> Picture:
    name, results = f"edit-{editor.edits.slug}.svg", editor.edits.results
    case = choose_case(results, np.flatnonzero(results.cases["run"] == results.cases["run"].min()))
    message = draw_edit(results, material.world, case, material.folder / name)
    says = "Probabilities of old and new values before and after one edit"
    return Picture(name, says, f"{editor.name}: {message}")
