"""The chapter for worlds of any kind; of several kinds it has a block for each."""

from testbed.evaluations.kinds import metrics as m
from testbed.pages.chapter import ChapterPlan, Material, SectionPlan
from testbed.pages.sections import usual_plan
from testbed.scores.frame import ALL, EDITOR
from testbed.scores.readers import NO_EDIT
from testbed.scores.views import View

BY_KIND = (m.FOLLOW, m.FOLLOW_OTHERS, m.STAY_STATED, m.STAY_SILENT, m.TV_OWN, m.SKILL_RECALIBRATED)


def plan_chapter(material: Material) -> ChapterPlan:
    """What every chapter has; and with several kinds of worlds a table of editors by kind."""
    kinds, usual = material.kinds, usual_plan(material)
    view = View(
        "kinds", "By kind of world", BY_KIND, {"subset": "kind", "reader": "editor"}, (EDITOR, NO_EDIT),
        {"subset": {f"kind {name}": name for name in kinds} | {ALL: "all"}},
        "Own facts and others' facts are those that the agent changes.",
    )  # fmt: skip
    text = "The same editors in worlds whose facts depend on each other in different ways."
    by_kind = SectionPlan("kinds", "In which worlds?", text, tables=[view])
    return usual._replace(
        title="What follows and what stays",
        text="A rational agent and a language model read the same corpus, and both received the same new "
        "facts. What the agent changes must follow, and what it keeps must stay, wherever these facts stand.",
        sections=[*[by_kind] * (len(kinds) > 1), *usual.sections],
    )


PLAN = plan_chapter
