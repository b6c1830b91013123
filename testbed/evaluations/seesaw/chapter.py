"""The chapter of Seesaw-CF."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from corpus.worlds.people import EDITED, GENDER, GROUPINGS, RACE, REGION, STAND_INS
from testbed.engine.results import Results
from testbed.evaluations.seesaw import NEITHER, NEW_HOLDERS, OLD_HOLDERS, OTHERS, crossing, groups, texts
from testbed.evaluations.seesaw import metrics as m
from testbed.evaluations.seesaw.attribution import attribution_table
from testbed.evaluations.seesaw.crossing import PAPER_PAIRS, accuracy_by_pair, property_pairs
from testbed.evaluations.seesaw.groups import LEAST_ANSWERS, EditorChanges
from testbed.evaluations.seesaw.metrics import is_crossing
from testbed.evaluations.seesaw.pictures import choose_case, show_edit
from testbed.evaluations.seesaw.printed import (
    GROUP_TABLES,
    METHODS,
    cells_of,
    group_numbers,
    printed_tables,
    read_table,
)
from testbed.evaluations.seesaw.regression import regression_tables
from testbed.pages.chapter import (
    Chapter,
    ChapterPlan,
    Chart,
    Material,
    Picture,
    Section,
    SectionPlan,
    TableSource,
)
from testbed.pages.costs import cost_section
from testbed.pages.sections import difference_section, interpretation_table, lasting_section, picture_lines
from testbed.scores.readers import BAYESIAN, BEFORE_EDIT, NO_EDIT, Reader, reference_readers
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table


def judgement_table(material: Material) -> Table:
    """The person's other facts, judged by the agent under each interpretation of the request."""

    def readers_at(editor: ScoredEditor, time: int) -> dict[str, Reader]:
        agent = reference_readers(editor.edits.results, editor.name, time)[BAYESIAN]
        return editor.readers | {BAYESIAN: agent}

    note = "The same answers about the person's other facts, judged by the agent under each interpretation."
    metrics = (m.RATIO, m.OWN_TV, m.UNREASONED, m.SHARED, m.STATED, m.UNSTATED)
    who = (NO_EDIT, BAYESIAN, m.WORLD_CHANGED)
    return interpretation_table(material, who, metrics, note, readers_at=readers_at)


def paper_accuracy_table(editors: Sequence[ScoredEditor]) -> Table:
    """Table 5 and Table 4: our accuracy and its change by the paper's pairs, above the printed ones."""
    names = [f"{one} / {other}" for one, other in PAPER_PAIRS]
    rows: list[list[Cell]] = []
    for editor in editors:
        readers = editor.readers
        by_reader = [
            accuracy_by_pair(editor.edits.results, readers[name].probability, stated=True)
            for name in (BEFORE_EDIT, editor.name)
        ]
        ours = [[of[pair].value if pair in of else None for pair in PAPER_PAIRS] for of in by_reader]
        change = [b - a if a is not None and b is not None else None for a, b in zip(*ours, strict=True)]
        rows += [[editor.name, what, *row, _mean_of_known(row)]
                 for what, row in (("before", ours[0]), ("after", ours[1]), ("change", change))]  # fmt: skip
    for number, prefix in ((5, ""), (4, "MEMIT, ")):
        paper_rows = map(cells_of, read_table(number))
        rows += [[f"{prefix}{who}", f"printed, Table {number}", *figures] for who, *figures in paper_rows]
    note = "Facts that the corpus states. The earlier version prints the same means with three digits."
    header = ["who", "figure", *names, "mean"]
    return Table("paper-5", "Cross-property accuracy beside the paper's", header, rows, note, words=2)


def spread_table(editors: Sequence[EditorChanges]) -> Table:
    """Least and most D_d of all groups, ours above those of the paper's Tables 10 to 15."""
    rows: list[list[Cell]] = []
    for editor in editors:
        rows += [
            [editor.name, f"this run, {kind}", grouping, *_least_and_most(editor, kind, grouping)]
            for kind in OTHERS
            for grouping in GROUPINGS
        ]
    for number, grouping in GROUP_TABLES.items():
        by_who: dict[str, dict[str, str | None]] = {}
        for row in read_table(number):
            by_who.setdefault(row["who"], {})[row["property"]] = _range_text(group_numbers(row))
        for who, ranges in by_who.items():
            name = f"{who}, GPT-J" if who in METHODS else f"MEMIT, {who}"
            rows.append([name, f"printed, Table {number}", grouping, *(ranges.get(of) for of in EDITED)])
    note = (
        f"Of the groups of a grouping the one whose D_d is least, and most; of this run those with at least "
        f"{LEAST_ANSWERS} answers. The paper asks {NEW_HOLDERS} only. After edits of gender they grow surer "
        "by up to +.98: what a model does that now says the new gender of everybody."
    )
    title = "D_d by property beside the paper's (Tables 10 to 15)"
    return Table("paper-14", title, ["who", "figure", "grouping", *EDITED], rows, note, words=3)


def count_tables(results: Results) -> list[Table]:
    """What was asked, beside what the paper asked (its Tables 3, 7 and 16 to 18)."""
    return [_others_table(results), _own_table(results)]


def _others_table(results: Results) -> Table:
    """How much was asked after edits of each property."""
    c, of = results.choices, results.cases["property"].astype(str)
    paper_figures = {row["edited"]: cells_of(row)[1:] for row in read_table(3)}
    categories = {row["edited"]: row["objects"] for row in read_table(16)}
    rows: list[list[Cell]] = []
    for name in EDITED:
        mine = of == name
        questions = [int((mine[c.case] & (c.role == kind)).sum()) for kind in OTHERS]
        texts = int(mine[results.passages.case].sum())
        objects = np.union1d(results.cases["object"][mine], results.cases["truth"][mine])
        people = len(np.unique(results.cases["subject"][mine]))
        ours = [int(mine.sum()), people, *questions, texts, len(objects)]
        rows.append([name, *ours, *paper_figures[name], categories[name]])
    header = [
        "edited", "edits", "people", *OTHERS, "texts", "objects", "printed people", "printed prompts",
        "printed texts", "printed objects",
    ]  # fmt: skip
    note = "The paper's later version; the earlier one has work and language only, with the same numbers."
    return Table("counts", "What was asked (Tables 3 and 16 to 18)", header, rows, note)


def _own_table(results: Results) -> Table:
    """After which edits other properties were asked."""
    c, crossing = results.choices, is_crossing(results)
    of_edit, of_question = results.cases["property"].astype(str)[c.case], c.facets["property"].astype(str)
    paper_figures = {row["edited / asked"]: cells_of(row)[1:] for row in read_table(7)}
    rows: list[list[Cell]] = []
    for pair in property_pairs():
        name, is_pair = " / ".join(pair), (of_edit == pair[0]) & (of_question == pair[1])
        rows.append([name, int((crossing & is_pair).sum()), *paper_figures.get(name, (None, None))])
    header = ["edited / asked", "questions", "printed cases", "printed prompts"]
    return Table("counts-own", "Other properties asked (Table 7)", header, rows)


def _least_and_most(editor: EditorChanges, kind: str, grouping: str) -> list[str | None]:
    """By property, the range of D_d of groups with answers enough."""
    by_key = editor.cells(editor.changes.change, grouping, kind)
    enough = [(key[0], cell.mean.value) for key, cell in by_key.items() if cell.has_enough_answers]
    return [_range_text([value for name, value in enough if name == of]) for of in EDITED]


def _range_text(values: Sequence[float]) -> str | None:
    return f"{min(values):+.2f} to {max(values):+.2f}" if values else None


def _mean_of_known(row: Sequence[float | None]) -> float | None:
    known = [x for x in row if x is not None]
    return sum(known) / len(known) if known else None


WORDS = {
    "new holders, old holders, neither": "other people who have the edited person's new object, the old "
    "object, or neither. The paper asks about the first alone; of gender nobody has neither",
    "D, D_d, X_d": "p(right) - p(wrong) over the two objects of the edit; the change of D by the edit; and "
    "the excess, D_d less that of the rational agent",
    "stated, unstated": "facts that the corpus states, or never does",
    "correction, do": "how the agent takes the request. correction: the old fact was an error, and other "
    "statements still hold; do: the world changes, and facts that depend on the edited one are drawn again",
}
REAL = f"Real people in groups by the authors' tags: {', '.join(STAND_INS.values())}."
KINDS = Chart(
    "lines", "kinds.svg", f"D_d of {NEW_HOLDERS}, {OLD_HOLDERS} and {NEITHER} for every editor",
    {"D_d": [*m.CHANGE.values()], "mean size of X_d": [*m.EXCESS.values()]}, ["new", "old", "neither"],
    "others who have", "change of D", "D_d",
)  # fmt: skip


FIRST, *OTHER_CELLS = product((RACE, REGION, GENDER), OTHERS)
"""Groupings and kinds of others: the table that is open, and those that are folded."""


def from_changes(make: Callable[..., Any], *which: str) -> TableSource:
    """Tables of how every choice of the editors moved."""
    return lambda of: make(of.once(groups.changes_of), *which)


def from_texts(make: Callable[[Sequence[texts.EditorTexts]], Table]) -> TableSource:
    """A table of the texts of the editors that wrote some; None where none did."""
    return lambda of: make(of.once(texts.texts_of)) if of.once(texts.texts_of) else None


def note_real_people(material: Material, chapter: Chapter) -> Chapter:
    """The chapter with a word, under its tables, on who is asked, where that is real people."""
    if material.world.tags is None:
        return chapter
    sections = [one if one.key in ("cost", "lasting") else note_section(one) for one in chapter.sections]
    return chapter._replace(main_table=_note_table(chapter.main_table), sections=sections)


def note_section(section: Section) -> Section:
    """The section with a word on who is asked at each of its tables; what the paper prints keeps its own."""
    printed = section.key == "paper"
    folded = section.more_tables if printed else [*map(_note_table, section.more_tables)]
    return section._replace(tables=[*map(_note_table, section.tables)], more_tables=folded)


def _note_table(table: Table) -> Table:
    return table._replace(note=f"{table.note} {REAL}".strip())


def draw_groups(material: Material) -> list[Picture]:
    """D_d and X_d of each group, of new holders and of old ones."""
    every, pictures = material.once(groups.changes_of), []
    for grouping, kind in product((RACE, REGION), (NEW_HOLDERS, OLD_HOLDERS)):
        names = groups.groups_by_size(every[0].results, grouping)
        chart = Chart(
            "lines", f"{grouping}-{kind.partition(' ')[0]}.svg",
            f"D_d and X_d of {kind} by {grouping} (Figure 2)", {},
            [f"{groups.group_size(every[0].results, grouping, name)}" for name in names],
            f"people of the same {grouping}", "change of D", f"change of {kind}",
        )  # fmt: skip
        lines = {e.name: groups.changes_by_group(e, grouping, kind, names) for e in every}
        pictures.append(picture_lines(material, chart, lines, names))
    return pictures


def draw_flaws(material: Material) -> list[Picture]:
    """Shares of texts with each flaw, before and after the edit."""
    lines = {e.name: texts.flaw_shares(e, coded) for e, coded in material.once(texts.texts_of)}
    chart = Chart(
        "lines", "flaws.svg", f"Share of texts with each flaw ({', '.join(texts.FLAWS)}), before and after "
        "the edit", {}, [flaw[:3] for flaw in texts.FLAWS], "flaw", "share of texts that have it",
        "share of texts with a flaw",
    )  # fmt: skip
    return [picture_lines(material, chart, lines)] if lines else []


PLAN = ChapterPlan(
    "Whom does an edit harm? (Seesaw-CF, Halevy et al. 2024)",
    "Each edit gives a person another work, language, citizenship, birthplace or gender. Beliefs about "
    "other people should stay, and so should the person's other stated facts.",
    f"{{after[{m.SUCCESS}].value:.0%}} of edits succeed; D_d is "
    f"{{after[{m.CHANGE[NEW_HOLDERS]}].value:+.2f}} for people with the new object and "
    f"{{after[{m.CHANGE[OLD_HOLDERS]}].value:+.2f}} for people with the old one, of whose answers "
    f"{{after[{m.STILL_RIGHT[OLD_HOLDERS]}].value:.0%}} stay right; the person's other facts were right in "
    f"{{before[{m.ACCURACY}].value:.0%}} and now are in {{after[{m.ACCURACY}].value:.0%}}",
    (
        difference_section,
        SectionPlan(
            "kinds", "Who is asked decides what is seen",
            "The paper asks only about people with the new object, since an edit of the old one might apply "
            "to others who have it. That measure cannot see the harm. If the model now gives everybody the "
            "new object, it looks surer about those who have it anyway, and D_d is 0 or more, \u201cas it "
            "ideally should be\u201d. People with the old object lose what people with the new one gain. "
            "The paper's gender rows (up to +.98 for MEND) can be read in the same way. So the paper's "
            "number stands here as it is, and beside it the two other kinds. Of gender nobody has neither.",
            [KINDS], [from_changes(groups.kinds_table)],
        ),
        SectionPlan(
            "groups", "Which groups?",
            "Which groups does the model become less sure of, after edits of other people? A star is the "
            "paper's: a t-test that takes all answers for independent. Confidence in a group that is small "
            "or seldom mentioned may fall for that reason alone: see the next section.",
            [draw_groups],
            [from_changes(groups.lowered_table),
             from_changes(groups.group_table, *FIRST)],
            [from_changes(groups.continent_table),
             from_changes(groups.lowered_by_property_table),
             *(from_changes(groups.group_table, *which) for which in OTHER_CELLS)],
        ),
        SectionPlan(
            "frequency", "Group, or frequency?",
            "Copies of a sentence are no evidence, so the agent believes the same of people who are often "
            "and of people who are seldom mentioned. What explains the excess at equal evidence: the group, "
            "or the number of mentions?",
            tables=[from_changes(regression_tables), from_changes(attribution_table)],
        ),
        SectionPlan(
            "crossing", "What else about the person?",
            "Questions are about the person's other facts, over all candidates. A fact that the agent loses "
            "too was rational to lose; a fact that the agent keeps is the editor's loss.",
            tables=[lambda of: crossing.accuracy_table(of.editors, stated=True)],
            more_tables=[lambda of: crossing.accuracy_table(of.editors, stated=False),
                         lambda of: crossing.loss_table(of.editors)],
        ),
        SectionPlan(
            "interpretations", "What does the request mean?",
            "After a correction the person's other stated facts still hold. If the world changes, facts that "
            "depend on the edited one are drawn again: a new citizen may have been born elsewhere.",
            tables=[judgement_table],
        ),
        SectionPlan(
            "texts", "What is written about the person?",
            "Texts are drawn with the same keys before and after the edit, read as sentences of the world's "
            "language, and coded by definitions in terms of the world, without a judge.",
            [draw_flaws],
            [*map(from_texts, (texts.flaw_table, texts.judge_table))],
            [*map(from_texts, (texts.legibility_table, texts.injection_table))],
        ),
        SectionPlan(
            "paper", "Beside Halevy et al. 2024",
            "The paper's rows are about other models, people and words; ours are about this run.",
            tables=[lambda of: paper_accuracy_table(of.editors), from_changes(spread_table)],
            more_tables=[lambda _: printed_tables(),
                         lambda of: count_tables(of.editors[0].edits.results)],
        ),
        partial(cost_section, metric=m.ACCURACY),
        partial(lasting_section, metrics=(m.SUCCESS, m.ACCURACY)),
    ),
    words=WORDS, edit=(choose_case, show_edit), finish=note_real_people,
)  # fmt: skip
