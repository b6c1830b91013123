"""The tables of Powell et al. 2024, their printed figures, and people's answers recomputed, beside ours."""

from collections.abc import Callable, Sequence

from testbed.evaluations.taxi.metrics import CONSISTENCY, FOUR, backwards
from testbed.evaluations.taxi.people import answers, changes, recomputed
from testbed.evaluations.taxi.subsets import RARE, TYPICAL
from testbed.run.world import World
from testbed.scores.comparison import Scored
from testbed.scores.tables import Cell, Table, better_of

FORWARD: dict[str, tuple[float | None, ...]] = {
    "unedited Llama-2": (0.03, 0.24, 0.78, 0.14, 0.13, 0.15),
    "FT on Llama-2": (0.98, 0.31, 0.73, 0.23, 0.22, 0.25),
    "ROME on Llama-2": (0.78, 0.48, 0.76, 0.43, 0.40, 0.45),
    "IKE on Llama-2": (1.0, 0.55, 0.91, 0.47, 0.47, 0.48),
    "people": (None, 0.87, 0.91, 0.86, 0.86, 0.87),
}
"""Table 2 as printed: edit success, property success, invariance, consistency; typical and rare."""
REVERSE: dict[str, tuple[float | None, ...]] = {
    "FT on Llama-2": (0.05, 0.05, 0.10, 0.04, 0.05, 0.03),
    "ROME on Llama-2": (0.10, 0.12, 0.21, 0.10, 0.09, 0.10),
    "IKE on Llama-2": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
}
"""Table 4 as printed, the same columns for questions asked inversely."""
HEADER = ("who", "source", *FOUR, "consistency, typical", "consistency, rare")


def forward(editors: Sequence[Scored], world: World) -> Table:
    """Table 2: every editor, reference and control, the printed rows, and people where their answers are."""
    printed = [[name, "as printed", *values] for name, values in FORWARD.items()]
    responses = answers(world.path) if world.path else []
    asked: list[list[Cell]] = []
    if responses:
        of_columns = recomputed(responses, [a.columns for a in responses])
        asked = [
            ["people", "recomputed", None, *recomputed(responses, changes(responses, world))],
            ["people", "recomputed by their columns", None, *of_columns],
        ]
    note = (
        "As Table 2 of Powell et al. 2024: the right answer is the most probable option. Their rows are of "
        "another model and other words; people saw some of the questions, "
        "and the columns of right answers in their file are mostly those of another question."
    )
    return _table("taxi-2", "Edits and what follows (Table 2)", editors, str, [*asked, *printed], note)


def reverse(editors: Sequence[Scored]) -> Table:
    """Table 4: the same of questions asked inversely."""
    printed = [[name, "as printed", *values] for name, values in REVERSE.items()]
    note = "As their Table 4: which subject is one, or has it; the edited one is right."
    return _table("taxi-4", "The same asked inversely (Table 4)", editors, backwards, printed, note)


def _table(
    key: str,
    title: str,
    editors: Sequence[Scored],
    called: Callable[[str], str],
    further: Sequence[Sequence[Cell]],
    note: str,
) -> Table:
    first = editors[0]
    rows = [[e.name, "this run", *_cells(e, e.name, called)] for e in editors]
    rows += [[told, "this run", *_cells(e, told, called)] for e in editors for told in e.told]
    rows += [[floor, "this run", *_cells(first, floor, called)] for floor in first.floors]
    direction = better_of(first.evaluation.metrics)
    better = {name: direction[name] for name in FOUR} | dict.fromkeys(HEADER[-2:], direction[CONSISTENCY])
    return Table(key, title, [*HEADER], [*rows, *further], note, words=2, better=better, contest=len(editors))


def _cells(editor: Scored, reader: str, called: Callable[[str], str]) -> list[Cell]:
    parts = [("all", name) for name in FOUR] + [(TYPICAL, CONSISTENCY), (RARE, CONSISTENCY)]
    return [editor.summary[part][reader].get(called(name)) for part, name in parts]
