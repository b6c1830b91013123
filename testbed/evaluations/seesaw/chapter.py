"""The chapter of Seesaw-CF."""

from collections.abc import Mapping, Sequence

from corpus.worlds.people import GENDER, RACE, REGION, STAND_INS
from testbed.evaluations.seesaw import (
    NEITHER,
    NEW_HOLDERS,
    OLD_HOLDERS,
    OTHERS,
    crossing,
    groups,
    tables,
    texts,
)
from testbed.evaluations.seesaw import metrics as m
from testbed.evaluations.seesaw.attribution import attribution_table
from testbed.evaluations.seesaw.pictures import choose_case, show_edit
from testbed.evaluations.seesaw.printed import printed_tables
from testbed.evaluations.seesaw.regression import regression_tables
from testbed.pages.chapter import Chapter, Material, Section
from testbed.pages.costs import cost_section
from testbed.pages.edit_pictures import draw_edits
from testbed.pages.sections import (
    build_chapter,
    difference_section,
    interpretation_table,
    lasting_section,
    picture_lines,
)
from testbed.scores.readers import BAYESIAN, BEFORE_EDIT, NO_EDIT, reference_readers
from testbed.scores.statistics import Estimate
from testbed.scores.summary import ScoredEditor, measure_reader
from testbed.scores.tables import Table
from testbed.scores.views import Column, lines_of

WORDS = {
    "new holders, old holders, neither": "other people who have the edited person's new object, the old "
    "object, or neither. The paper asks about the first alone; of gender nobody has neither",
    "D, D_d, X_d": "p(right) - p(wrong) over the two objects of the edit; the change of D by the edit; and "
    "the excess, D_d less that of the rational agent",
    "stated, unstated": "facts that the corpus states, or never does",
    "correction, do": "how the agent takes the request. correction: the old fact was an error, and other "
    "statements still hold; do: the world changes, and facts that depend on the edited one are drawn again",
}
_KINDS = (
    "The paper asks only about people with the new object, since an edit of the old one might apply to "
    "others who have it. That measure cannot see the harm. If the model now gives everybody the new "
    "object, it looks surer about those who have it anyway, and D_d is 0 or more, \u201cas it ideally "
    "should be\u201d. People with the old object lose what people with the new one gain. The paper's "
    "gender rows (up to +.98 for MEND) can be read in the same way. So the paper's number stands here as "
    "it is, and beside it the two other kinds. Of gender nobody has neither."
)
_GROUPS = (
    "Which groups does the model become less sure of, after edits of other people? A star is the paper's: a "
    "t-test that takes all answers for independent. Confidence in a group that is small or seldom mentioned "
    "may fall for that reason alone: see the next section."
)
_FREQUENCY = (
    "Copies of a sentence are no evidence, so the agent believes the same of people who are often and of "
    "people who are seldom mentioned. What explains the excess at equal evidence: the group, or the number "
    "of mentions?"
)
_CROSSING = (
    "Questions are about the person's other facts, over all candidates. A fact that the agent loses too was "
    "rational to lose; a fact that the agent keeps is the editor's loss."
)
_INTERPRETATIONS = (
    "After a correction the person's other stated facts still hold. If the world changes, facts that depend "
    "on the edited one are drawn again: a new citizen may have been born elsewhere."
)
_TEXTS = (
    "Texts are drawn with the same keys before and after the edit, read as sentences of the world's "
    "language, and coded by definitions in terms of the world, without a judge."
)
_REAL = f"Real people in groups by the authors' tags: {', '.join(STAND_INS.values())}."
_PAPER = "The paper's rows are about other models, people and words; ours are about this run."
_TEXT = (
    "Each edit gives a person another work, language, citizenship, birthplace or gender. Beliefs about "
    "other people should stay, and so should the person's other stated facts."
)
_JUDGED = (m.RATIO, m.OWN_TV, m.UNREASONED, m.SHARED, m.STATED, m.UNSTATED)


def make_chapter(material: Material) -> Chapter:
    """Everything that is shown of some editors; draws its pictures on the way."""
    editors = material.editors
    every = [groups.editor_changes(editor) for editor in editors]
    note = "The same answers about the person's other facts, judged by the agent under each interpretation."
    judged = interpretation_table(
        editors, (NO_EDIT, BAYESIAN, m.WORLD_CHANGED), _JUDGED, _estimates_under, note
    )
    sections = [
        difference_section(material),
        _kinds_section(material, every),
        _groups_section(material, every),
        Section("frequency", "Group, or frequency?", _FREQUENCY,
                tables=[*regression_tables(every), attribution_table(every)]),
        Section("crossing", "What else about the person?", _CROSSING,
                tables=[crossing.accuracy_table(editors, stated=True)],
                more_tables=[crossing.accuracy_table(editors, stated=False), crossing.loss_table(editors)]),
        Section("interpretations", "What does the request mean?", _INTERPRETATIONS, tables=[judged]),
        _texts_section(material),
        Section("paper", "Beside Halevy et al. 2024", _PAPER,
                tables=[tables.paper_accuracy_table(editors), tables.spread_table(editors)],
                more_tables=[*printed_tables(), *tables.count_tables(editors[0].edits.results)]),
    ]  # fmt: skip
    has_stand_ins = material.world.tags is not None
    if has_stand_ins:
        sections = [section and note_real_people(section) for section in sections]
    sections += [cost_section(material, m.ACCURACY), lasting_section(material, (m.SUCCESS, m.ACCURACY))]
    title = "Whom does an edit harm? (Seesaw-CF, Halevy et al. 2024)"
    panels = draw_edits(material, choose_case, show_edit)
    chapter = build_chapter(material, title, _TEXT, finding_line, sections, words=WORDS, panels=panels)
    main_table = note_real_people_on_table(chapter.main_table) if has_stand_ins else chapter.main_table
    return chapter._replace(main_table=main_table)


def note_real_people(section: Section) -> Section:
    """The section with a word on what is asked at each of its tables; what the paper prints keeps its own."""
    folded = (
        section.more_tables
        if section.key == "paper"
        else [*map(note_real_people_on_table, section.more_tables)]
    )
    return section._replace(tables=[*map(note_real_people_on_table, section.tables)], more_tables=folded)


def note_real_people_on_table(table: Table) -> Table:
    """The table with a word on what is asked."""
    return table._replace(note=f"{table.note} {_REAL}".strip())


def finding_line(editor: ScoredEditor) -> str:
    """The finding about one editor in a line, from the numbers."""
    all_cases = editor.summary["all"]
    before, after = all_cases[BEFORE_EDIT], all_cases[editor.name]
    return (
        f"{after[m.SUCCESS].value:.0%} of edits succeed; D_d is {after[m.CHANGE[NEW_HOLDERS]].value:+.2f} "
        f"for people with the new object and {after[m.CHANGE[OLD_HOLDERS]].value:+.2f} for people with the "
        f"old one, of whose answers {after[m.STILL_RIGHT[OLD_HOLDERS]].value:.0%} stay right; the person's "
        f"other facts were right in {before[m.ACCURACY].value:.0%} and now are in "
        f"{after[m.ACCURACY].value:.0%}"
    )


def _estimates_under(editor: ScoredEditor, name: str, time: int) -> Mapping[str, Estimate]:
    """Every metric of a reader, with the agent's belief at a time after the edit as the standard."""
    results, evaluation = editor.edits.results, editor.evaluation
    readers = reference_readers(results, editor.name, time) if name == BAYESIAN else None
    reader = (readers or evaluation.readers(results, editor.name))[name]
    return m.estimate_all_cases(results, measure_reader(evaluation, results, reader._replace(time=time)))


def _kinds_section(material: Material, every: Sequence[groups.EditorChanges]) -> Section:
    lines = lines_of(material.frame, {
        called: [*map(Column, names.values())]
        for called, names in (("D_d", m.CHANGE), ("mean size of X_d", m.EXCESS))
    })  # fmt: skip
    says = f"D_d of {NEW_HOLDERS}, {OLD_HOLDERS} and {NEITHER} for every editor"
    ticks, across = ["new", "old", "neither"], "others who have"
    picture = picture_lines(material, "kinds.svg", says, lines, ticks, across, "change of D", "D_d")
    title = "Who is asked decides what is seen"
    return Section("kinds", title, _KINDS, [picture], [groups.kinds_table(every)])


def _groups_section(material: Material, every: Sequence[groups.EditorChanges]) -> Section:
    pictures = []
    for grouping in (RACE, REGION):
        names = groups.groups_by_size(every[0].results, grouping)
        sizes = [f"{groups.group_size(every[0].results, grouping, name)}" for name in names]
        for kind in (NEW_HOLDERS, OLD_HOLDERS):
            lines = {e.name: groups.changes_by_group(e, grouping, kind, names) for e in every}
            file, across = f"{grouping}-{kind.partition(' ')[0]}.svg", f"people of the same {grouping}"
            says = f"D_d and X_d of {kind} by {grouping} (Figure 2)"
            what = f"change of {kind}"
            pictures.append(
                picture_lines(material, file, says, lines, sizes, across, "change of D", what, names)
            )
    first, *others = (
        groups.group_table(every, grouping, kind) for grouping in (RACE, REGION, GENDER) for kind in OTHERS
    )
    continents = filter(None, [groups.continent_table(every)])
    folded = [*continents, groups.lowered_by_property_table(every), *others]
    return Section("groups", "Which groups?", _GROUPS, pictures, [groups.lowered_table(every), first], folded)


def _texts_section(material: Material) -> Section | None:
    editors_with_texts = [e for e in material.editors if len(e.edits.results.passages.case)]
    if not editors_with_texts:
        return None
    of_editors = [(e, texts.code_all_texts(e.edits.results, [material.world])) for e in editors_with_texts]
    lines = {e.name: texts.flaw_shares(e, coded) for e, coded in of_editors}
    says = f"Share of texts with each flaw ({', '.join(texts.FLAWS)}), before and after the edit"
    ticks, up = [flaw[:3] for flaw in texts.FLAWS], "share of texts that have it"
    what = "share of texts with a flaw"
    picture = picture_lines(material, "flaws.svg", says, lines, ticks, "flaw", up, what)
    whole = [texts.flaw_table(of_editors), texts.judge_table(of_editors)]
    folded = [texts.legibility_table(of_editors), texts.injection_table(of_editors)]
    return Section("texts", "What is written about the person?", _TEXTS, [picture], whole, folded)
