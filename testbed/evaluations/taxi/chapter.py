"""The chapter of TAXI's evaluation."""

from testbed.evaluations.taxi import metrics as m
from testbed.evaluations.taxi import tables
from testbed.evaluations.taxi.people import people_table
from testbed.evaluations.taxi.pictures import choose_case, show_edit
from testbed.pages.chapter import Chapter, Material, Section
from testbed.pages.costs import cost_section
from testbed.pages.edit_pictures import draw_edits
from testbed.pages.sections import (
    before_section,
    build_chapter,
    difference_section,
    lasting_section,
    picture_lines,
)
from testbed.scores.readers import CHANCE
from testbed.scores.summary import ScoredEditor
from testbed.scores.views import Column, lines_of

WORDS = {
    "do, correction": "how the agent takes the request. do: the category changes and its properties are "
    "drawn again, as TAXI's labels say; correction: the old category was an error, and statements about the "
    "subject still hold",
    "S0, S1, S2": "properties of the subject that the corpus states never, one to three times, more often",
    "typical, rare": "subjects whose sentences have many copies, or one; copies are no evidence",
    "reverse": "the inverse question: which subject is one, or has it?",
}
_TEXT = (
    "Each edit makes a subject a member of another category. Properties that only the new category has "
    "should change, and properties that both have should stay. TAXI's labels say what is right; beside "
    "them stand the beliefs of an agent that has read the same corpus."
)
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
    editors, frame, world = material.editors, material.frame, material.world
    beside = [tables.forward_table(frame, world), tables.reverse_table(frame, editors[0].edits.results)]
    people, exceptions = people_table(editors, world), tables.exception_table(editors, world)
    sections = [
        difference_section(material),
        Section("paper", "Beside Powell et al. 2024", _PAPER, tables=beside,
                more_tables=[*([people] if people else []), tables.count_table(editors[0])]),
        Section("interpretations", "What does the request mean?", _INTERPRETATIONS,
                tables=[tables.agreement_table(editors)], more_tables=[exceptions] if exceptions else []),
        _superordinates_section(material),
        _directions_section(material),
        _members_section(material),
        Section("frequency", "Are rare subjects easier to edit?", _FREQUENCY,
                tables=[tables.rare_against_typical_table(editors, frame)]),
        cost_section(material, m.CONSISTENCY),
        lasting_section(material, (m.SUCCESS, m.CONSISTENCY)),
    ]  # fmt: skip
    return build_chapter(
        material, "Change what a thing is (TAXI, Powell et al. 2024)", _TEXT, describe_finding, sections,
        (m.TYPICAL, m.RARE), WORDS, draw_edits(material, choose_case, show_edit), [before_section(material)],
    )  # fmt: skip


def describe_finding(editor: ScoredEditor) -> str:
    """The finding about one editor in a line, from the numbers."""
    after, chance = (editor.summary["all"][name] for name in (editor.name, CHANCE))
    return (
        f"states {after[m.SUCCESS].value:.0%} of the new categories, updates "
        f"{after[m.CONSISTENCY].value:.0%} of the properties that should change (chance "
        f"{chance[m.CONSISTENCY].value:.0%}), and keeps {after[m.OTHERS_RIGHT].value:.0%} of other "
        "subjects' facts"
    )


def _superordinates_section(material: Material) -> Section:
    names = sorted({str(k) for e in material.editors for k in e.edits.results.cases["superordinate"]})
    lines = lines_of(material.frame, {
        line: [Column(m.CONSISTENCY, where={"subset": name} | reader) for name in names]
        for line, reader in (("this editor", {}), ("chance", {"reader": CHANCE}))
    })  # fmt: skip
    text = "Consistency by kind of thing, beside chance, which depends on the number of options."
    says = "Consistency by superordinate for every editor (Figure 2)"
    label = material.frame.label_of(m.CONSISTENCY)
    picture = picture_lines(material, "superordinates.svg", says, lines, names, "superordinate", label)
    return Section("superordinates", "Is it the same for every kind of thing?", text, [picture])


def _directions_section(material: Material) -> Section:
    inverse = [m.reverse_name(name) for name in m.FOUR]
    lines = lines_of(material.frame, {
        "forward": [*map(Column, m.FOUR)],
        "reverse": [*map(Column, inverse)],
        "reverse, chance": [Column(name, where={"reader": CHANCE}) for name in inverse],
    })  # fmt: skip
    text = (
        "The inverse question is which subject is a dog. Only a model that reads both ways can use the edit. "
        "A context that names the subject makes it likelier, whatever it says: see the controls. "
    )
    text += tables.describe_undetermined(material.editors[0].edits.results)
    says, ticks = (
        "Forward and inverse questions, for every editor (Figure 3)",
        ["edit", "property", *m.FOUR[2:]],
    )
    picture = picture_lines(material, "directions.svg", says, lines, ticks, "question", "share right")
    return Section("directions", "Does the inverse follow?", text, [picture])


def _members_section(material: Material) -> Section:
    bins, pictures, label = (
        tables.shared_member_bins(material.frame),
        [],
        material.frame.label_of(m.CONSISTENCY),
    )
    if len(bins) > 1:
        columns = [Column(m.CONSISTENCY, where={"subset": m.member_bin_name(name)}) for name in bins]
        lines, across = lines_of(material.frame, {label: columns}), "members of the new category"
        pictures = [
            picture_lines(material, "members.svg", f"Consistency by {across}", lines, bins, across, label)
        ]
    text = "The properties of a category can be learned only from its members."
    table = tables.member_table(material.frame)
    return Section("members", "From how many members?", text, pictures, [table])
