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
from testbed.evaluations.seesaw.groups import EditorChanges, editor_changes
from testbed.evaluations.seesaw.metrics import (
    ACCURACY,
    CHANGE,
    EXCESS,
    OWN_TV,
    RATIO,
    SHARED,
    STATED,
    STILL_RIGHT,
    SUCCESS,
    UNREASONED,
    UNSTATED,
    WORLD_CHANGED,
    estimate_all_cases,
)
from testbed.evaluations.seesaw.pictures import choose_case, draw_edit
from testbed.evaluations.seesaw.regression import regression_tables
from testbed.pages.chapter import Chapter, Material, Picture, Section
from testbed.pages.charts import draw_lines
from testbed.pages.costs import cost_section
from testbed.pages.messages import describe_lines
from testbed.pages.sections import (
    build_chapter,
    difference_section,
    interpretation_table,
    lasting_section,
)
from testbed.scores.readers import BAYESIAN, BEFORE_EDIT, NO_EDIT, reference_readers
from testbed.scores.statistics import Estimate
from testbed.scores.summary import ScoredEditor, measure_reader
from testbed.scores.tables import Table

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


def make_chapter(material: Material) -> Chapter:
    """Everything that is shown of some editors; draws its pictures on the way."""
    editors = material.editors
    every = [editor_changes(editor) for editor in editors]
    sections = [
        difference_section(material),
        _kinds_section(material, every),
        _groups_section(material, every),
        Section("frequency", "Group, or how often one is spoken of?", _FREQUENCY,
                tables=regression_tables(every)),
        Section("crossing", "What else about the person?", _CROSSING,
                tables=[crossing.accuracy_table(editors, stated=True)],
                more_tables=[crossing.accuracy_table(editors, stated=False), crossing.loss_table(editors)]),
        Section("interpretations", "What does the request mean?", _INTERPRETATIONS,
                tables=[interpretation_table(
                    editors, (NO_EDIT, BAYESIAN, WORLD_CHANGED),
                    (RATIO, OWN_TV, UNREASONED, SHARED, STATED, UNSTATED), _estimates_under,
                    "The same answers about the person's other facts, held against the agent under each of "
                    "them.",
                )]),
        _texts_section(material),
        Section("paper", "Beside Halevy et al. 2024", _PAPER,
                tables=[tables.paper_accuracy_table(editors), tables.spread_table(editors)],
                more_tables=[*tables.printed_tables(), *tables.count_tables(editors[0].edits.results)]),
    ]  # fmt: skip
    has_real_people = material.world.path is not None
    if has_real_people:
        sections = [section and note_real_people(section) for section in sections]
    sections += [
        cost_section(editors, ACCURACY, material.folder),
        lasting_section(editors, material.curves, (SUCCESS, ACCURACY), material.folder),
    ]
    chapter = build_chapter(
        material,
        "Whom does an edit harm? (Seesaw-CF, Halevy et al. 2024)",
        "A person is given another work, language, citizenship, birthplace or gender. Other people should "
        "stay as they are, and so should what the corpus states of the person.",
        finding_line,
        sections,
        words=WORDS,
        panels={e.name: _draw_panel(e, material) for e in every},
    )
    main_table = note_real_people_on_table(chapter.main_table) if has_real_people else chapter.main_table
    return chapter._replace(main_table=main_table)


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
_INTERPRETATIONS = (
    "Who is corrected keeps what was stated of the person. If the world changes, what depends on the fact is "
    "drawn again: a new citizen may have been born elsewhere."
)
_TEXTS = (
    "Texts are drawn with the same keys before and after the edit, read as sentences of the world's "
    "language, and coded by definitions in terms of the world: no judge is asked."
)
_REAL = f"Real people in groups by the authors' tags: {', '.join(STAND_INS.values())}."
_PAPER = "Their rows are of other models, other people and other words; ours of this run."


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
        f"{after[SUCCESS].value:.0%} of edits succeed; D_d is {after[CHANGE[NEW_HOLDERS]].value:+.2f} "
        f"of those who have the new object and {after[CHANGE[OLD_HOLDERS]].value:+.2f} of those who "
        f"have the old one, of whose answers {after[STILL_RIGHT[OLD_HOLDERS]].value:.0%} stay right; of the "
        f"person's other facts {before[ACCURACY].value:.0%} were right and {after[ACCURACY].value:.0%} are"
    )


def _estimates_under(editor: ScoredEditor, name: str, time: int) -> Mapping[str, Estimate]:
    """Every metric of a reader, with the agent's belief at a time after the edit as the standard."""
    results, evaluation = editor.edits.results, editor.evaluation
    readers = reference_readers(results, editor.name, time) if name == BAYESIAN else None
    reader = (readers or evaluation.readers(results, editor.name))[name]
    return estimate_all_cases(results, measure_reader(evaluation, results, reader._replace(time=time)))


def _kinds_section(material: Material, every: Sequence[EditorChanges]) -> Section:
    lines = {
        e.name: {
            called: [e.summary["all"][e.name][metric] for metric in names.values()]
            for called, names in (("D_d", CHANGE), ("mean size of X_d", EXCESS))
        }
        for e in material.editors
    }
    ticks, path = ["new", "old", "neither"], material.folder / "kinds.svg"
    draw_lines(lines, ticks, "others who have", "change of D", path)
    picture = Picture(
        "kinds.svg",
        f"D_d of {NEW_HOLDERS}, {OLD_HOLDERS} and {NEITHER} for every editor",
        describe_lines(lines, ticks, "D_d"),
    )
    title = "Who is asked decides what is seen"
    return Section("kinds", title, _KINDS, [picture], [groups.kinds_table(every)])


def _groups_section(material: Material, every: Sequence[EditorChanges]) -> Section:
    pictures = []
    for grouping in (RACE, REGION):
        ticks = groups.groups_by_size(every[0].results, grouping)
        sizes = [str(groups.group_size(every[0].results, grouping, name)) for name in ticks]
        for kind in (NEW_HOLDERS, OLD_HOLDERS):
            lines = {e.name: groups.changes_by_group(e, grouping, kind, ticks) for e in every}
            name = f"{grouping}-{kind.partition(' ')[0]}.svg"
            across = f"people of the same {grouping}"
            draw_lines(lines, sizes, across, "change of D", material.folder / name)
            pictures.append(
                Picture(
                    name,
                    f"D_d and X_d of {kind} by {grouping} (Figure 2)",
                    describe_lines(lines, ticks, f"change of {kind}"),
                )
            )
    first, *others = (
        groups.group_table(every, grouping, kind) for grouping in (RACE, REGION, GENDER) for kind in OTHERS
    )
    folded = [groups.continent_table(every), groups.lowered_by_property_table(every), *others]
    return Section("groups", "Which groups?", _GROUPS, pictures, [groups.lowered_table(every), first], folded)


def _texts_section(material: Material) -> Section | None:
    editors_with_texts = [e for e in material.editors if len(e.edits.results.passages.case)]
    if not editors_with_texts:
        return None
    of_editors = [(e, texts.code_all_texts(e.edits.results, material.world)) for e in editors_with_texts]
    lines = {e.name: texts.flaw_shares(e, coded) for e, coded in of_editors}
    ticks = [flaw[:3] for flaw in texts.FLAWS]
    draw_lines(lines, ticks, "flaw", "share of texts that have it", material.folder / "flaws.svg")
    picture = Picture(
        "flaws.svg",
        f"Share of texts with each flaw ({', '.join(texts.FLAWS)}), before and after the edit",
        describe_lines(lines, ticks, "share of texts with a flaw"),
    )
    whole = [texts.flaw_table(of_editors), texts.judge_table(of_editors)]
    folded = [texts.legibility_table(of_editors), texts.injection_table(of_editors)]
    return Section("texts", "What is written about the person?", _TEXTS, [picture], whole, folded)


def _draw_panel(editor: EditorChanges, material: Material) -> Picture:
    slug = next(e.edits.slug for e in material.editors if e.name == editor.name)
    name, results = f"edit-{slug}.svg", editor.results
    case = choose_case(results, editor.changes.change)
    message = draw_edit(results, material.world, case, material.folder / name)
    return Picture(
        name, "Ten other people's confidence before and after one edit", f"{editor.name}: {message}"
    )
