"""The chapter for worlds of any kind; its first table says which kind, or has a block for each."""

import numpy as np

from testbed.evaluations.kinds import metrics as m
from testbed.pages.chapter import Chapter, Material, Section
from testbed.pages.sections import usual_chapter
from testbed.scores.frame import ALL, EDITOR
from testbed.scores.readers import NO_EDIT
from testbed.scores.views import View, make_table

BY_KIND = (m.FOLLOW, m.FOLLOW_OTHERS, m.STAY_STATED, m.STAY_SILENT, m.TV_OWN, m.SKILL_RECALIBRATED)
TITLE = "What follows and what stays"
TEXT = (
    "A rational agent and a language model read the same corpus, and both received the same new facts. What "
    "the agent changes must follow, and what it keeps must stay, wherever these facts stand."
)


def make_chapter(material: Material) -> Chapter:
    """What every chapter has; and with several kinds of worlds a table of editors by kind."""
    kinds = np.unique(material.editors[0].edits.results.cases["law"]).tolist()
    chapter = usual_chapter(material)
    title = f"At a glance: worlds of kind {', '.join(kinds)}"
    sections = list(chapter.sections)
    if len(kinds) > 1:
        where = {"subset": {f"kind {name}": name for name in kinds} | {ALL: "all"}}
        view = View(
            "kinds", "By kind of world", BY_KIND, {"subset": "kind", "reader": "editor"}, (EDITOR, NO_EDIT),
            where, "Own facts and others' facts are those that the agent changes.",
        )  # fmt: skip
        text = "The same editors in worlds whose facts depend on each other in different ways."
        sections.insert(
            0, Section("kinds", "In which worlds?", text, tables=[make_table(view, material.frame)])
        )
    return chapter._replace(
        title=TITLE, text=TEXT, sections=sections, first_table=chapter.first_table._replace(title=title)
    )
