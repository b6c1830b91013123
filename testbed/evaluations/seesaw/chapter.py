"""The chapter of Seesaw-CF; other modules have the sections on their subjects."""

from functools import partial

import numpy as np

from corpus.worlds.people import EDITED, STAND_INS
from testbed.engine.results import Results
from testbed.evaluations.paper_tables import read_paper_table
from testbed.evaluations.seesaw import (
    NEW_HOLDERS,
    OLD_HOLDERS,
    OTHERS,
    Seesaw,
    crossing,
    groups,
    regression,
    texts,
)
from testbed.evaluations.seesaw import metrics as m
from testbed.evaluations.seesaw.pictures import choose_case, show_edit
from testbed.pages.chapter import Chapter, ChapterPlan, Material, SectionPlan
from testbed.pages.costs import cost_section
from testbed.pages.sections import difference_section, interpretation_table, lasting_section
from testbed.scores.readers import BAYESIAN, NO_EDIT, Reader, reference_readers
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


def count_table(results: Results) -> Table:
    """How much was asked after edits of each property, beside what the paper asked."""
    c, of = results.choices, results.cases["property"].astype(str)
    printed = {row["edited"]: row for row in read_paper_table(Seesaw.package, "table_3")}
    rows: list[list[Cell]] = []
    for name in EDITED:
        mine = of == name
        of_paper = printed[name]
        rows.append([
            name, int(mine.sum()), len(np.unique(results.cases["subject"][mine])),
            *(int((mine[c.case] & (c.role == kind)).sum()) for kind in OTHERS),
            int(mine[results.passages.case].sum()),
            len(np.union1d(results.cases["object"][mine], results.cases["truth"][mine])),
            *(int(of_paper[k]) for k in ("people", "prompts", "texts")), of_paper["objects"],
        ])  # fmt: skip
    header = [
        "edited", "edits", "people", *OTHERS, "texts", "objects", "printed people", "printed prompts",
        "printed texts", "printed objects",
    ]  # fmt: skip
    note = "The paper's later version; the earlier one has work and language only, with the same numbers."
    return Table("counts", "What was asked (Tables 3 and 16 to 18)", header, rows, note)


def name_real_people(material: Material, chapter: Chapter) -> Chapter:
    """The chapter with a word on who is asked, where that is real people."""
    real = f"Real people in groups by the authors' tags: {', '.join(STAND_INS.values())}."
    return chapter if material.world.tags is None else chapter._replace(text=f"{chapter.text} {real}")


WORDS = {
    "new holders, old holders, neither": "other people who have the edited person's new object, the old "
    "object, or neither. The paper asks about the first alone; of gender nobody has neither",
    "D, D_d, X_d": "p(right) - p(wrong) over the two objects of the edit; the change of D by the edit; and "
    "the excess, D_d less that of the rational agent",
    "stated, unstated": "facts that the corpus states, or never does",
    "correction, do": "how the agent takes the request. correction: the old fact was an error, and other "
    "statements still hold; do: the world changes, and facts that depend on the edited one are drawn again",
}

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
        groups.KINDS,
        groups.GROUPS,
        regression.SECTION,
        crossing.SECTION,
        SectionPlan(
            "interpretations", "What does the request mean?",
            "After a correction the person's other stated facts still hold. If the world changes, facts that "
            "depend on the edited one are drawn again: a new citizen may have been born elsewhere.",
            tables=[judgement_table],
        ),
        texts.SECTION,
        SectionPlan(
            "paper", "Beside Halevy et al. 2024",
            "The paper's rows are about other models, people and words; ours are about this run.",
            tables=[lambda of: crossing.printed_accuracy_table(of.editors),
                    groups.from_changes(groups.spread_table)],
            more_tables=[lambda of: count_table(of.editors[0].edits.results),
                         lambda of: crossing.count_table(of.editors[0].edits.results)],
        ),
        partial(cost_section, metric=m.ACCURACY),
        partial(lasting_section, metrics=(m.SUCCESS, m.ACCURACY)),
    ),
    words=WORDS, edit=(choose_case, show_edit), finish=name_real_people,
)  # fmt: skip
