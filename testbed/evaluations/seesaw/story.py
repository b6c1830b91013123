"""The chapter of Seesaw-CF's examination."""

from testbed.evaluations.seesaw.metrics import ACCURACY, SUCCESS, kept, moved
from testbed.evaluations.seesaw.roles import NEW_HOLDERS, OLD_HOLDERS
from testbed.pages.chapter import Chapter, Material
from testbed.pages.costs import cost_section
from testbed.pages.lasting import lasting_section
from testbed.pages.overview import comparison, details, difference_section
from testbed.scores.comparison import Scored
from testbed.scores.readers import BEFORE_EDIT

WORDS = {
    "new holders, old holders, neither": "other people who have the object that the edited person is given, "
    "who have the one that the person had, who have neither; only the first are asked in the paper",
    "D, D_d, X_d": "p(right) minus p(wrong) of the two objects of the edit; how far the edit moves that; and "
    "how much further than the rational agent's own moves, the excess",
    "stated, unstated": "facts that the corpus states, or never does",
}


def story(material: Material) -> Chapter:
    """Everything that is shown of some editors; draws its pictures on the way."""
    editors = material.editors
    sections = [
        difference_section(material),
        cost_section(editors, ACCURACY, material.folder),
        lasting_section(editors, material.curves, (SUCCESS, ACCURACY), material.folder),
    ]
    return Chapter(
        "Whom does an edit harm? (Seesaw-CF, Halevy et al. 2024)",
        "A person is given another work, language, citizenship, birthplace or gender. Other people should "
        "stay as they are, and so should what the corpus states of the person.",
        {e.name: finding(e) for e in editors},
        comparison(editors, material.differences),
        [section for section in sections if section],
        {},
        {e.name: details(e, ()) for e in editors},
        WORDS,
        editors[0].evaluation.metrics,
    )


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
