"""What stands on the report's page, in order; draws its pictures on the way."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from testbed.evaluations.hase import contents, paper_tables
from testbed.evaluations.hase.pictures import draw_edit, draw_training, panel_case
from testbed.pages.charts import FOLLOWS, RATIO, UNITS, draw_frontier, draw_retention, draw_support
from testbed.pages.page import Page, Picture, Section
from testbed.run.world import World
from testbed.scores.comparison import Differences, Scored
from testbed.scores.gather import matched
from testbed.scores.retention import Kept, kept, retention_table
from testbed.scores.tables import Table


def draw_page(
    runs: Sequence[str],
    world: World,
    metrics: Sequence[dict],
    editors: Sequence[Scored],
    found: Differences,
    folder: Path,
) -> tuple[Page, dict[str, list[Kept]]]:
    """Draw every picture into the folder and put the page together; retention curves come with it.

    Args:
        world: of the first run, which names what the one-edit panels show.
        metrics: of the first run's training.
    """
    curves = {e.name: at for e in editors if (at := kept(e))}
    draw_training(metrics, folder / "training.png")
    pictures = {e.name: _panel(e, case, world, folder) for e, case in _panel_cases(editors)}
    sections = [
        _differences(editors, found),
        _support(editors, folder),
        _cost(editors, folder),
        _retention(editors, curves, folder),
        _coherence(editors),
        _paper(editors),
    ]
    page = Page(
        runs,
        f"A world of {len(world.graph):,} facts",
        editors,
        contents.comparison(editors, found),
        [section for section in sections if section],
        pictures,
        Picture("training.png", "Training loss and generative accuracy by step"),
    )
    return page, curves


def _differences(editors: Sequence[Scored], found: Differences) -> Section | None:
    table = contents.paired(editors, found)
    text = (
        "A difference smaller than that of the last row is one that this number of cases would often miss: "
        "read its absence as \u201cnot known\u201d, not as \u201cequal\u201d."
    )
    return (
        Section("differences-section", "Which differences are real?", text, tables=[table]) if table else None
    )


def _support(editors: Sequence[Scored], folder: Path) -> Section:
    draw_support(editors, FOLLOWS, folder / "support.png")
    draw_support(editors, RATIO, folder / "propagation.png")
    pictures = [
        Picture(
            "support.png", "Share of consequences followed by support of the new object, for every editor"
        ),
        Picture("propagation.png", "Propagation ratio by support of the new object, for every editor"),
    ]
    folded = [
        contents.by_support(editors, FOLLOWS, "support-followed"),
        contents.by_support(editors, RATIO, "support-ratio"),
    ]
    text = "A consequence can be learned only from other subjects with the same upstream object."
    return Section("support", "Do consequences follow?", text, pictures, folded=_there(folded))


def _cost(editors: Sequence[Scored], folder: Path) -> Section | None:
    table = contents.costs(editors)
    if table is None:
        return None
    text = "Editors above and to the left are better: more propagation for less work."
    pictures, drawn = [], set[str]()
    for unit, words in UNITS.items():
        file = f"frontier-{unit}.png"
        if found := draw_frontier(editors, unit, folder / file):
            pictures.append(Picture(file, f"Propagation ratio against {words}"))
            drawn.update(found)
    left_out = [e.name for e in editors if e.name not in drawn]
    if drawn and left_out:
        text += f" Not drawn, as their cost is nothing or not known: {', '.join(left_out)}."
    return Section("cost", "What does propagation cost?", text, pictures, folded=[table])


def _retention(editors: Sequence[Scored], curves: dict[str, list[Kept]], folder: Path) -> Section | None:
    table = retention_table(editors, curves)
    if table is None:
        return None
    draw_retention(curves, folder / "retention.png")
    pictures = [Picture("retention.png", "Edit success and propagation by number of edits, at once and kept")]
    text = "Edits made one after another in the same model: scored at once, and again after later ones."
    return Section("lasting", "Do edits last?", text, pictures, folded=[table])


def _coherence(editors: Sequence[Scored]) -> Section:
    text = (
        "What the edited model says of the request, of its negation, and of its compounds. Dutch book loss "
        "is what it surely loses, for a unit stake, to who bets at its prices."
    )
    return Section(
        "coherence", "Is the model coherent with itself?", text, tables=[contents.coherence(editors)]
    )


def _paper(editors: Sequence[Scored]) -> Section:
    tables = [
        paper_tables.main_results(editors),
        paper_tables.by_subset(editors),
        paper_tables.by_method(editors),
        paper_tables.by_kind(editors),
        paper_tables.in_published_terms(editors),
    ]
    text = "The paper's questions in its order, in our definitions; the last table is in its own."
    return Section("paper", "Beside Hase et al. 2024", text, folded=tables)


def _panel_cases(editors: Sequence[Scored]) -> list[tuple[Scored, int]]:
    """One case of the first run for every editor: the same one where all have some case in common."""
    first = editors[0].edited.outcomes
    shared = {i for i, run in enumerate(first.scalars["run"]) if run == 0}
    for other in editors[1:]:
        mine, _ = matched(first, other.edited.outcomes)
        shared &= set(mine.tolist())
    cases = []
    for editor in editors:
        outcomes = editor.edited.outcomes
        own = np.flatnonzero(outcomes.scalars["run"] == 0)
        if shared:
            case = panel_case(first, np.array(sorted(shared)))
            mine, theirs = matched(first, outcomes)
            cases.append((editor, int(theirs[mine == case][0])))
        elif len(own):
            cases.append((editor, panel_case(outcomes, own)))
    return cases


def _panel(editor: Scored, case: int, world: World, folder: Path) -> Picture:
    name = f"edit-{editor.edited.slug}.png"
    draw_edit(editor.edited.outcomes, world, case, folder / name)
    return Picture(name, "Probabilities of model and agent before and after one edit")


def _there(tables: Sequence[Table | None]) -> list[Table]:
    return [table for table in tables if table]
