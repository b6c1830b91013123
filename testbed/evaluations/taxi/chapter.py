"""The chapter of TAXI's evaluation."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from testbed.evaluations.taxi import EDIT, INTERPRETATIONS, PROPERTY, beside, pairs
from testbed.evaluations.taxi import metrics as m
from testbed.evaluations.taxi.pictures import choose_case, show_edit
from testbed.pages.chapter import ChapterPlan, Chart, Material, Picture, SectionPlan
from testbed.pages.charts import draw_chart
from testbed.pages.costs import cost_section
from testbed.pages.sections import before_section, difference_section, interpretation_table, lasting_section
from testbed.protocol import is_equally_good
from testbed.run.strata import STRATA
from testbed.run.world import World
from testbed.scores.frame import EDITOR, Frame
from testbed.scores.metric import labels_of
from testbed.scores.readers import BAYESIAN, CHANCE, NO_EDIT
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.scores.views import Column, View, make_table

MOST_ROWS = 40
"""Of exceptions."""


def agreement_table(material: Material) -> Table:
    """Agreement with the agent under each interpretation of the request, by how often facts were stated."""
    names = [m.AGREEMENT, *(m.stratum_name(m.AGREEMENT, stratum) for stratum in STRATA), m.MASS_OUTSIDE]
    note = (
        "Share of property questions in which the preferred option is the agent's, under each interpretation."
    )
    return interpretation_table(material, (NO_EDIT, BAYESIAN, m.CORRECTION_READER), names, note)


def exception_table(editors: Sequence[ScoredEditor], world: World) -> Table | None:
    """Edits and properties whose label is none of the agent's best options under `do`; None without any.

    There a rational agent does not give TAXI's label, though the world is changed as TAXI means it.
    """
    results, names = editors[0].edits.results, world.graph.entities
    c, cases, time = results.choices, results.cases, 1 + INTERPRETATIONS.index("do")
    here = (cases["run"] == 0)[c.case] & np.isin(c.role, (EDIT, PROPERTY))
    belief = np.where(c.offered, c.agent[:, time], -1.0)
    best = np.take_along_axis(c.options, belief.argmax(axis=1)[:, None], axis=1)[:, 0]
    of_label = np.where(c.options == c.facets["label"][:, None], belief, -1.0).max(axis=1)
    differs = here & ~is_equally_good(of_label, belief.max(axis=1))
    rows: list[list[Cell]] = []
    for row in np.flatnonzero(differs)[:MOST_ROWS].tolist():
        subject, new = (names[cases[name][c.case[row]]] for name in ("subject", "object"))
        answers = names[c.facets["label"][row]], names[best[row]]
        beliefs = float(of_label[row]), float(belief[row].max())
        rows.append([subject, new, world.graph.relations[c.relation[row]], *answers, *beliefs])
    header = [
        "subject", "becomes", "property", "label", "agent's answer", "belief in the label", "in its answer",
    ]  # fmt: skip
    note = f"{int(differs.sum())} of {int(here.sum()):,} questions of the first world"
    note += f"; the first {MOST_ROWS} are shown." if differs.sum() > MOST_ROWS else "."
    title = "Where label and agent differ under do"
    return Table("exceptions", title, header, rows, note, words=4) if rows else None


def shared_member_bins(frame: Frame) -> list[str]:
    """The bins of members of the new category that every editor has edits in."""
    shared = frame.shared_subsets()
    return [name for name in m.MEMBER_BINS if m.member_bin_name(name) in shared]


def member_table(frame: Frame) -> Table:
    """Consistency by members of the new category and by how often the facts were stated."""
    sizes = {m.member_bin_name(size): size for size in shared_member_bins(frame)}
    who = (EDITOR, NO_EDIT, BAYESIAN, m.CORRECTION_READER, CHANCE)
    rows, title = {"reader": "who", "subset": "members"}, "Consistency by members of the new category"
    return make_table(View("members", title, pairs.BY_STRATUM, rows, who, {"subset": sizes}), frame)


LABEL = labels_of(m.METRICS)[m.CONSISTENCY]
WORDS = {
    "do, correction": "how the agent takes the request. do: the category changes and its properties are "
    "drawn again, as TAXI's labels say; correction: the old category was an error, and statements about the "
    "subject still hold",
    "S0, S1, S2": "properties of the subject that the corpus states never, one to three times, more often",
    "typical, rare": "subjects whose sentences have many copies, or one; copies are no evidence",
    "reverse": "the inverse question: which subject is one, or has it?",
}
DIRECTIONS = Chart(
    "lines", "directions.svg", "Forward and inverse questions, for every editor (Figure 3)",
    {"forward": m.FOUR, "reverse": [*map(m.reverse_name, m.FOUR)],
     "reverse, chance": [Column(m.reverse_name(name), where={"reader": CHANCE}) for name in m.FOUR]},
    ("edit", "property", *m.FOUR[2:]), "question", "share right",
)  # fmt: skip


def draw_superordinates(material: Material) -> Picture:
    """Consistency by kind of thing, beside chance."""
    names = sorted({str(k) for e in material.editors for k in e.edits.results.cases["superordinate"]})
    lines = {
        line: [Column(m.CONSISTENCY, where={"subset": name} | reader) for name in names]
        for line, reader in (("this editor", {}), ("chance", {"reader": CHANCE}))
    }
    says = "Consistency by superordinate for every editor (Figure 2)"
    chart = Chart("lines", "superordinates.svg", says, lines, names, "superordinate", LABEL)
    return draw_chart(chart, material.frame, material.folder)


def draw_members(material: Material) -> list[Picture]:
    """Consistency by members of the new category, where there are several numbers of them."""
    bins, across = shared_member_bins(material.frame), "members of the new category"
    columns = [Column(m.CONSISTENCY, where={"subset": m.member_bin_name(name)}) for name in bins]
    chart = Chart("lines", "members.svg", f"Consistency by {across}", {LABEL: columns}, bins, across, LABEL)
    return [draw_chart(chart, material.frame, material.folder)] * (len(bins) > 1)


PLAN = ChapterPlan(
    "Change what a thing is (TAXI, Powell et al. 2024)",
    "Each edit makes a subject a member of another category. Properties that only the new category has "
    "should change, and properties that both have should stay. TAXI's labels say what is right; beside "
    "them stand the beliefs of an agent that has read the same corpus.",
    "states {after[success].value:.0%} of the new categories, updates {after[consistency].value:.0%} of the "
    "properties that should change (chance {chance[consistency].value:.0%}), and keeps "
    "{after[others_kept].value:.0%} of other subjects' facts",
    (
        difference_section,
        beside.SECTION,
        SectionPlan(
            "interpretations", "What does the request mean?",
            "TAXI's labels are right after a change of the world. After a correction of the category "
            "statements about the subject still hold. So the agent's row under a correction is the share of "
            "labels that the request entails.",
            tables=[agreement_table],
            more_tables=[lambda of: exception_table(of.editors, of.world)],
        ),
        SectionPlan(
            "superordinates", "Is it the same for every kind of thing?",
            "Consistency by kind of thing, beside chance, which depends on the number of options.",
            [draw_superordinates],
        ),
        SectionPlan(
            "directions", "Does the inverse follow?",
            lambda of: "The inverse question is which subject is a dog. Only a model that reads both ways "
            "can use the edit. A context that names the subject makes it likelier, whatever it says: see the "
            f"controls. {beside.describe_undetermined(of.editors[0].edits.results)}",
            [DIRECTIONS],
        ),
        SectionPlan(
            "members", "From how many members?",
            "The properties of a category can be learned only from its members.",
            [draw_members], [lambda of: member_table(of.frame)],
        ),
        pairs.SECTION,
        partial(cost_section, metric=m.CONSISTENCY),
        partial(lasting_section, metrics=(m.SUCCESS, m.CONSISTENCY)),
    ),
    (before_section,), WORDS, (choose_case, show_edit), (m.TYPICAL, m.RARE),
)  # fmt: skip
