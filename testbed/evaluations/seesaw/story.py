"""The chapter of Seesaw-CF's examination."""

from collections.abc import Mapping, Sequence

import numpy as np

from corpus.people import GENDER, RACE, REGION, STAND_INS
from testbed.engine.results import clusters
from testbed.evaluations.seesaw import crossing, groups, paper, texts
from testbed.evaluations.seesaw.counts import counts
from testbed.evaluations.seesaw.flaws import FLAWS
from testbed.evaluations.seesaw.frequency import regressions
from testbed.evaluations.seesaw.groups import Moved, moves
from testbed.evaluations.seesaw.metrics import (
    ACCURACY,
    OWN_TV,
    RATIO,
    SHARED,
    STATED,
    SUCCESS,
    UNREASONED,
    UNSTATED,
    excess,
    kept,
    measure,
    moved,
)
from testbed.evaluations.seesaw.panel import draw_edit, shown_case
from testbed.evaluations.seesaw.readers import CHANGED
from testbed.evaluations.seesaw.roles import NEITHER, NEW_HOLDERS, OLD_HOLDERS, OTHERS, READINGS
from testbed.pages.chapter import Chapter, Material, Picture, Section
from testbed.pages.charts import draw_lines
from testbed.pages.costs import cost_section
from testbed.pages.lasting import lasting_section
from testbed.pages.overview import comparison, details, difference_section
from testbed.scores.comparison import Scored
from testbed.scores.readers import BAYESIAN, BEFORE_EDIT, NO_EDIT, references
from testbed.scores.statistics import Estimate, estimates
from testbed.scores.tables import Cell, Table, better_of

WORDS = {
    "new holders, old holders, neither": "other people who have the object that the edited person is given, "
    "who have the one that the person had, who have neither; only the first are asked in the paper, and of "
    "gender there is nobody with neither",
    "D, D_d, X_d": "p(right) minus p(wrong) of the two objects of the edit; how far the edit moves that; and "
    "how much further than the rational agent's own moves, the excess",
    "stated, unstated": "facts that the corpus states, or never does",
    "correction, do": "what the request is to the agent: one was wrong about the person, and what was stated "
    "stays stated; or the world changes, and what depends on the fact is drawn again",
}


def story(material: Material) -> Chapter:
    """Everything that is shown of some editors; draws its pictures on the way."""
    editors = material.editors
    every = [moves(editor) for editor in editors]
    sections = [
        difference_section(material),
        _kinds(material, every),
        _groups(material, every),
        _frequency(every),
        Section("crossing", "What else about the person?", _CROSSING,
                tables=[crossing.matrix(editors, stated=True)],
                folded=[crossing.matrix(editors, stated=False), crossing.excess_losses(editors)]),
        Section("readings", "What does the request mean?", _READINGS, tables=[by_reading(editors)]),
        _texts(material),
        Section("paper", "Beside Halevy et al. 2024", _PAPER,
                tables=[paper.accuracies(editors), paper.spread(editors)],
                folded=[*paper.groups(), *paper.counts(), *paper.flaws(),
                        *counts(editors[0].edited.results)]),
    ]  # fmt: skip
    overall = comparison(editors, material.differences)
    if material.world.path is not None:
        overall = of_real_people(overall)
        sections = [section and told_of_real_people(section) for section in sections]
    sections += [
        cost_section(editors, ACCURACY, material.folder),
        lasting_section(editors, material.curves, (SUCCESS, ACCURACY), material.folder),
    ]
    return Chapter(
        "Whom does an edit harm? (Seesaw-CF, Halevy et al. 2024)",
        "A person is given another work, language, citizenship, birthplace or gender. Other people should "
        "stay as they are, and so should what the corpus states of the person.",
        {e.name: finding(e) for e in editors},
        overall,
        [section for section in sections if section],
        {e.name: _panel(e, material) for e in every},
        {e.name: details(e, ()) for e in editors},
        WORDS,
        editors[0].evaluation.metrics,
    )


_KINDS = (
    "The paper asks those who have the new object, since an edit of the old one might apply to others who "
    "have it. That measure is blind where it hurts: where everybody is drawn towards the new object, those "
    "who have it anyway look surer, and \u201cD_d of 0 or more, as it ideally should be\u201d is what a "
    "model looks like that now says the new object of everybody. Those who have the old one lose what those "
    "who have the new one gain. The gender rows that the paper prints (up to +.98 for MEND) read the same "
    "way. The paper's number stays the paper's; the other two kinds stand beside it. Of gender nobody has "
    "neither."
)
_GROUPS = (
    "In the paper's words, a model that is less sure of a group's facts after edits of somebody else. A "
    "star is the paper's: a t-test that takes all answers for independent. A group that is small, or rarely "
    "spoken of, may fall for that alone: see the next section."
)
_FREQUENCY = (
    "Copies of a sentence are not evidence, so the agent is the same for people who are often and who are "
    "rarely spoken of. What explains the excess at equal evidence: whom one belongs to, or how often one is "
    "spoken of?"
)
_CROSSING = (
    "Another fact of the same person is asked over all its candidates. What gold loses too was rational to "
    "lose; what it keeps is the editor's loss."
)
_READINGS = (
    "Who is corrected keeps what was stated of the person. If the world changes, what depends on the fact is "
    "drawn again: a new citizen may have been born elsewhere."
)
_TEXTS = (
    "Texts are drawn with the same keys before and after the edit, read as sentences of the world's "
    "language, and coded by definitions in terms of the world: no judge is asked."
)
_REAL = f"Real people in groups by the authors' tags: {', '.join(STAND_INS.values())}."
_PAPER = "Their rows are of other models, other people and other words; ours of this run."


def told_of_real_people(section: Section) -> Section:
    """The section with a word on what is asked at each of its tables; what the paper prints keeps its own."""
    folded = section.folded if section.key == "paper" else [*map(of_real_people, section.folded)]
    return section._replace(tables=[*map(of_real_people, section.tables)], folded=folded)


def of_real_people(table: Table) -> Table:
    """The table with a word on what is asked."""
    return table._replace(note=f"{table.note} {_REAL}".strip())


def finding(editor: Scored) -> str:
    """The finding about one editor in a line, from the numbers."""
    all_cases = editor.summary["all"]
    before, after = all_cases[BEFORE_EDIT], all_cases[editor.name]
    return (
        f"{after[SUCCESS].value:.0%} of edits succeed; D_d is {after[moved(NEW_HOLDERS)].value:+.2f} of "
        f"those who have the new object and {after[moved(OLD_HOLDERS)].value:+.2f} of those who have the old "
        f"one, of whose answers {after[kept(OLD_HOLDERS)].value:.0%} stay right; of the person's other facts "
        f"{before[ACCURACY].value:.0%} were right and {after[ACCURACY].value:.0%} are"
    )


def by_reading(editors: Sequence[Scored]) -> Table:
    """What follows for the person, held against the agent under each reading of the request."""
    names = [RATIO, OWN_TV, UNREASONED, SHARED, STATED, UNSTATED]
    first = editors[0]
    readers = [(e, e.name) for e in editors] + [(first, n) for n in (NO_EDIT, BAYESIAN, CHANGED)]
    rows: list[list[Cell]] = []
    for editor, name in readers:
        for reading, called in enumerate(READINGS, start=1):
            figures = _judged(editor, name, reading)
            rows.append([name, called, *(figures.get(metric) for metric in names)])
    direction = better_of(first.evaluation.metrics)
    note = "The same answers about the person's other facts, held against the agent under each reading."
    return Table("readings", "Held against both readings", ["who", "request", *names], rows, note, words=2,
                 better={name: direction[name] for name in names})  # fmt: skip


def _judged(editor: Scored, name: str, reading: int) -> Mapping[str, Estimate]:
    """Every metric of a reader, with the agent under one reading as the standard."""
    results = editor.edited.results
    reader = editor.evaluation.readers(results, editor.name)[name]
    if name == BAYESIAN:
        reader = references(results, editor.name, reading)[name]
    judged = measure(results, reader._replace(time=reading))
    return estimates(judged, clusters(results), np.ones(len(results), bool))


def _kinds(material: Material, every: Sequence[Moved]) -> Section:
    lines = {
        e.name: {
            name: [e.summary["all"][e.name][of(kind)] for kind in OTHERS]
            for name, of in (("D_d", moved), ("mean size of X_d", excess))
        }
        for e in material.editors
    }
    draw_lines(
        lines, ["new", "old", "neither"], "others who have", "change of D", material.folder / "kinds.png"
    )
    picture = Picture("kinds.png", f"D_d of {NEW_HOLDERS}, {OLD_HOLDERS} and {NEITHER} for every editor")
    return Section(
        "kinds", "Who is asked decides what is seen", _KINDS, [picture], [groups.three_kinds(every)]
    )


def _groups(material: Material, every: Sequence[Moved]) -> Section:
    pictures = []
    for grouping in (RACE, REGION):
        ticks = groups.largest_first(every[0].results, grouping)
        sizes = [str(groups.size_of(every[0].results, grouping, name)) for name in ticks]
        for kind in (NEW_HOLDERS, OLD_HOLDERS):
            lines = {e.name: groups.over_properties(e, grouping, kind, ticks) for e in every}
            name = f"{grouping}-{kind.partition(' ')[0]}.png"
            across = f"people of the same {grouping}"
            draw_lines(lines, sizes, across, "change of D", material.folder / name)
            pictures.append(Picture(name, f"D_d and X_d of {kind} by {grouping} (Figure 2)"))
    tables = [groups.lowered(every), groups.by_group(every, RACE, NEW_HOLDERS)]
    folded = [
        groups.by_group(every, grouping, kind) for grouping in (RACE, REGION, GENDER) for kind in OTHERS
    ]
    return Section(
        "groups",
        "Which groups?",
        _GROUPS,
        pictures,
        tables,
        [groups.by_continent(every), groups.lowered_by_property(every), *folded[1:]],
    )


def _frequency(every: Sequence[Moved]) -> Section:
    return Section(
        "frequency", "Group, or how often one is spoken of?", _FREQUENCY, tables=regressions(every)
    )


def _texts(material: Material) -> Section | None:
    written = [e for e in material.editors if len(e.edited.results.passages.case)]
    if not written:
        return None
    of_editors = [(e, texts.texts_of(e.edited.results, material.world)) for e in written]
    lines = {e.name: texts.flaw_shares(e, coded) for e, coded in of_editors}
    ticks = [flaw[:3] for flaw in FLAWS]
    draw_lines(lines, ticks, "flaw", "share of texts that have it", material.folder / "flaws.png")
    picture = Picture(
        "flaws.png", f"Share of texts with each flaw ({', '.join(FLAWS)}), before and after the edit"
    )
    tables = [texts.flaw_table(of_editors), texts.judge_table(of_editors)]
    folded = [texts.reading_table(of_editors), texts.injection_table(of_editors)]
    return Section("texts", "What is written about the person?", _TEXTS, [picture], tables, folded)


def _panel(editor: Moved, material: Material) -> Picture:
    slug = next(e.edited.slug for e in material.editors if e.name == editor.name)
    name, results = f"edit-{slug}.png", editor.results
    draw_edit(results, material.world, shown_case(results, editor.d.moved), material.folder / name)
    return Picture(name, "Ten other people's confidence before and after one edit")
