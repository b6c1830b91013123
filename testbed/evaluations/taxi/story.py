"""The chapter of TAXI's examination."""

from collections.abc import Mapping, Sequence

import numpy as np

from testbed.engine.results import cluster_levels
from testbed.evaluations.taxi import paper
from testbed.evaluations.taxi.exceptions import exception_table
from testbed.evaluations.taxi.metrics import (
    AGREES,
    CONSISTENCY,
    FOUR,
    KEPT,
    OUTSIDE,
    SUCCESS,
    measure,
    reverse_name,
    stratum_name,
)
from testbed.evaluations.taxi.pairs import rare_against_typical_table
from testbed.evaluations.taxi.panel import choose_case, draw_edit
from testbed.evaluations.taxi.people import people_table
from testbed.evaluations.taxi.readers import CORRECTED
from testbed.evaluations.taxi.roles import PROPERTY, READINGS, REVERSE
from testbed.evaluations.taxi.subsets import MEMBER_BINS, RARE, TYPICAL, member_bin_name
from testbed.pages.before import before_section
from testbed.pages.chapter import Chapter, Material, Picture, Section
from testbed.pages.charts import draw_lines
from testbed.pages.costs import cost_section
from testbed.pages.lasting import lasting_section
from testbed.pages.overview import comparison_table, detail_tables, difference_section
from testbed.run.strata import STRATA
from testbed.scores.comparison import ScoredEditor
from testbed.scores.readers import BAYESIAN, CHANCE, NO_EDIT, reference_readers
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import Cell, Table, better_of

WORDS = {
    "do, correction": "what the request is to the agent: the category changes and its properties are drawn "
    "again, which is what TAXI's labels say; or one was wrong about the category, and what was stated of the "
    "subject stays stated",
    "S0, S1, S2": "properties of the subject that the corpus states never, one to three times, more often",
    "typical, rare": "subjects whose sentences are written often, or once; which is not evidence",
    "reverse": "the same question asked inversely: which subject is one, or has it",
}


def story(material: Material) -> Chapter:
    """Everything that is shown of some editors; draws its pictures on the way."""
    editors = material.editors
    sections = [
        difference_section(material),
        Section("paper", "Beside Powell et al. 2024", _PAPER,
                tables=[paper.forward_table(editors, material.world), paper.reverse_table(editors)],
                folded=[t for t in (people_table(editors, material.world), count_table(editors[0])) if t]),
        Section("readings", "What does the request mean?", _READINGS, tables=[interpretation_table(editors)],
                folded=[t for t in (exception_table(editors, material.world),) if t]),
        _superordinates_section(material),
        _directions_section(material),
        _members_section(material),
        Section("frequency", "Are rare subjects easier to edit?", _FREQUENCY,
                tables=[rare_against_typical_table(editors)]),
        cost_section(editors, CONSISTENCY, material.folder),
        lasting_section(editors, material.curves, (SUCCESS, CONSISTENCY), material.folder),
    ]  # fmt: skip
    return Chapter(
        "Change what a thing is (TAXI, Powell et al. 2024)",
        "A subject is made a member of another category. Properties that only the new category has should "
        "follow, and those that both have should stay. Right is what TAXI says is right; beside it, what an "
        "agent believes that has read the same corpus.",
        {e.name: finding_line(e) for e in editors},
        comparison_table(editors, material.differences),
        [section for section in sections if section],
        {e.name: _draw_panel(e, material) for e in editors},
        {e.name: detail_tables(e, (TYPICAL, RARE)) for e in editors},
        WORDS,
        editors[0].evaluation.metrics,
        [before_section(material)],
    )


_PAPER = (
    "The paper's own questions and metrics. Controls were told something that says nothing of the request."
)
_READINGS = (
    "TAXI's labels are right after a change of the world. Who is corrected about the category keeps what was "
    "stated of the subject; so the agent's own row under a correction is the share of labels that the "
    "request entails."
)
_FREQUENCY = (
    "Copies of a sentence are not evidence, so the agent is the same for both; any difference is the "
    "model's. A typical and a rare subject of one category are paired over the same new categories."
)


def finding_line(editor: ScoredEditor) -> str:
    """The finding about one editor in a line, from the numbers."""
    after, chance = (editor.summary["all"][name] for name in (editor.name, CHANCE))
    return (
        f"states {after[SUCCESS].value:.0%} of the new categories; {after[CONSISTENCY].value:.0%} of the "
        f"properties follow that should (chance {chance[CONSISTENCY].value:.0%}); others keep "
        f"{after[KEPT].value:.0%} of their facts"
    )


def interpretation_table(editors: Sequence[ScoredEditor]) -> Table:
    """Agreement with the agent under each reading of the request, by how often facts were stated."""
    names = [AGREES, *(stratum_name(AGREES, stratum) for stratum in STRATA), OUTSIDE]
    first = editors[0]
    readers = [(e, e.name) for e in editors] + [(first, n) for n in (NO_EDIT, BAYESIAN, CORRECTED)]
    rows: list[list[Cell]] = []
    for editor, name in readers:
        for reading, called in enumerate(READINGS, start=1):
            figures = _estimates_under(editor, name, reading)
            rows.append([name, called, *(figures[metric] for metric in names)])
    note = "Share of property questions in which the preferred option is the agent's, under each reading."
    direction = better_of(first.evaluation.metrics)
    return Table("readings", "Held against both readings", ["who", "request", *names], rows, note, words=2,
                 better={name: direction[name] for name in names})  # fmt: skip


def _estimates_under(editor: ScoredEditor, name: str, reading: int) -> Mapping[str, Estimate]:
    """Every metric of a reader, with the agent under one reading as the standard."""
    results = editor.edited.results
    reader = editor.evaluation.readers(results, editor.name)[name]
    if name == BAYESIAN:
        reader = reference_readers(results, editor.name)[name]
    judged = measure(results, reader._replace(time=reading))
    return estimate_metrics(judged, cluster_levels(results), np.ones(len(results), bool))


def count_table(editor: ScoredEditor) -> Table:
    """How much was asked: edits and questions by superordinate (Tables 1 and 3)."""
    results = editor.edited.results
    c, first = results.choices, results.cases["run"] == 0
    kinds = results.cases["superordinate"].astype(str)
    rows: list[list[Cell]] = []
    for kind in [*np.unique(kinds), "all"]:
        mine = first & ((kinds == kind) | (kind == "all"))
        of = {role: mine[c.case] & (c.role == role) for role in (PROPERTY, REVERSE)}
        changed = of[PROPERTY] & c.facets["changed"]
        rows.append([
            str(kind), int(mine.sum()), len(np.unique(results.cases["subject"][mine])),
            len(np.unique(results.cases["object"][mine])), len(np.unique(c.relation[of[PROPERTY]])),
            int(of[PROPERTY].sum()), int(changed.sum()), int((of[PROPERTY] & ~changed).sum()),
            int(of[REVERSE].sum()),
        ])  # fmt: skip
    header = ["superordinate", "edits", "subjects", "categories", "relations", "property questions",
              "that change", "that stay", "inverse questions"]  # fmt: skip
    note = "The paper counts forward and inverse questions together: 976 edits, 1,952 and 9,168 questions."
    return Table("counts", "What was asked (Tables 1 and 3)", header, rows, note)


def _superordinates_section(material: Material) -> Section:
    editors = material.editors
    kinds = sorted({str(k) for e in editors for k in e.edited.results.cases["superordinate"]})
    lines = {
        e.name: {name: [e.summary[kind][reader][CONSISTENCY] for kind in kinds if kind in e.summary]
                 for name, reader in (("this editor", e.name), ("chance", CHANCE))}
        for e in editors if all(kind in e.summary for kind in kinds)
    }  # fmt: skip
    draw_lines(lines, kinds, "superordinate", CONSISTENCY, material.folder / "superordinates.png")
    text = "Consistency of each kind of thing beside chance, which depends on how many options there are."
    picture = Picture("superordinates.png", "Consistency by superordinate for every editor (Figure 2)")
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
    draw_lines(lines, ticks, "question", "share right", material.folder / "directions.png")
    text = (
        "Asked which subject is a dog, an edit of what a Siamese is helps only a model that reads both ways. "
        "A context that names the subject makes it likelier whatever the context says: see the controls."
    )
    picture = Picture("directions.png", "Questions asked forward and inversely, for every editor (Figure 3)")
    return Section("directions", "Does the inverse follow?", text, [picture])


def _members_section(material: Material) -> Section:
    """Consistency by members of the new category and by how often the facts were stated."""
    editors = material.editors
    bins = [name for name in MEMBER_BINS if all(member_bin_name(name) in e.summary for e in editors)]
    names = [CONSISTENCY, *(stratum_name(CONSISTENCY, stratum) for stratum in STRATA)]
    readers = [(e, e.name) for e in editors] + [
        (editors[0], name) for name in (NO_EDIT, BAYESIAN, CORRECTED, CHANCE)
    ]
    rows: list[list[Cell]] = [
        [name, size, *(e.summary[member_bin_name(size)][name].get(metric) for metric in names)]
        for e, name in readers
        for size in bins
    ]
    table = Table(
        "members", "Consistency by members of the new category", ["who", "members", *names], rows, words=2
    )
    pictures = []
    if len(bins) > 1:
        lines = {e.name: {CONSISTENCY: [e.summary[member_bin_name(b)][e.name][CONSISTENCY] for b in bins]}
                 for e in editors}  # fmt: skip
        draw_lines(lines, bins, "members of the new category", CONSISTENCY, material.folder / "members.png")
        pictures = [Picture("members.png", "Consistency by members of the new category")]
    text = "What follows from a category can be learned only from its members."
    return Section("members", "From how many members?", text, pictures, [table])


def _draw_panel(editor: ScoredEditor, material: Material) -> Picture:
    name, results = f"edit-{editor.edited.slug}.png", editor.edited.results
    case = choose_case(results, np.flatnonzero(results.cases["run"] == results.cases["run"].min()))
    draw_edit(results, material.world, case, material.folder / name)
    return Picture(name, "Probabilities of old and new values before and after one edit")
