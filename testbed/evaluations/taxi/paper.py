"""The tables of Powell et al. 2024, their printed figures, and people's answers recomputed, beside ours."""

from collections.abc import Callable, Sequence

from testbed.evaluations.taxi.metrics import CONSISTENCY, FOUR, reverse_name
from testbed.evaluations.taxi.people import find_changes, people_shares, read_answers
from testbed.evaluations.taxi.subsets import RARE, TYPICAL
from testbed.run.world import World
from testbed.scores.comparison import ScoredEditor
from testbed.scores.tables import Cell, Table, better_of

PRINTED_FORWARD: dict[str, tuple[float | None, ...]] = {
    "unedited Llama-2": (0.03, 0.24, 0.78, 0.14, 0.13, 0.15),
    "FT on Llama-2": (0.98, 0.31, 0.73, 0.23, 0.22, 0.25),
    "ROME on Llama-2": (0.78, 0.48, 0.76, 0.43, 0.40, 0.45),
    "IKE on Llama-2": (1.0, 0.55, 0.91, 0.47, 0.47, 0.48),
    "people": (None, 0.87, 0.91, 0.86, 0.86, 0.87),
}
"""Table 2 as printed: edit success, property success, invariance, consistency; typical and rare."""
PRINTED_REVERSE: dict[str, tuple[float | None, ...]] = {
    "FT on Llama-2": (0.05, 0.05, 0.10, 0.04, 0.05, 0.03),
    "ROME on Llama-2": (0.10, 0.12, 0.21, 0.10, 0.09, 0.10),
    "IKE on Llama-2": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
}
"""Table 4 as printed, the same columns for questions asked inversely."""
HEADER = ("who", "source", *FOUR, "consistency, typical", "consistency, rare")


def forward_table(editors: Sequence[ScoredEditor], world: World) -> Table:
    """Table 2: every editor, reference and control, the printed rows, and people where their answers are."""
    printed_rows = [[name, "as printed", *values] for name, values in PRINTED_FORWARD.items()]
    responses = read_answers(world.path) if world.path else []
    people_rows: list[list[Cell]] = []
    if responses:
        of_columns = people_shares(responses, [a.columns_differ for a in responses])
        people_rows = [
            ["people", "recomputed", None, *people_shares(responses, find_changes(responses, world))],
            ["people", "recomputed by their columns", None, *of_columns],
        ]
    note = (
        "As Table 2 of Powell et al. 2024: the right answer is the most probable option. Their rows are of "
        "another model and other words; people saw some of the questions, "
        "and the columns of right answers in their file are mostly those of another question."
    )
    return _paper_table(
        "taxi-2", "Edits and what follows (Table 2)", editors, str, [*people_rows, *printed_rows], note
    )


def reverse_table(editors: Sequence[ScoredEditor]) -> Table:
    """Table 4: the same of questions asked inversely."""
    printed_rows = [[name, "as printed", *values] for name, values in PRINTED_REVERSE.items()]
    note = "As their Table 4: which subject is one, or has it; the edited one is right."
    return _paper_table(
        "taxi-4", "The same asked inversely (Table 4)", editors, reverse_name, printed_rows, note
    )


def _paper_table(
    key: str,
    title: str,
    editors: Sequence[ScoredEditor],
    metric_name: Callable[[str], str],
    further_rows: Sequence[Sequence[Cell]],
    note: str,
) -> Table:
    first = editors[0]
    rows = [[e.name, "this run", *_editor_cells(e, e.name, metric_name)] for e in editors]
    rows += [
        [told, "this run", *_editor_cells(e, told, metric_name)]
        for e in editors
        for told in e.control_readers
    ]
    rows += [
        [floor, "this run", *_editor_cells(first, floor, metric_name)] for floor in first.reference_names
    ]
    direction = better_of(first.evaluation.metrics)
    better = {name: direction[name] for name in FOUR} | dict.fromkeys(HEADER[-2:], direction[CONSISTENCY])
    return Table(
        key, title, [*HEADER], [*rows, *further_rows], note, words=2, better=better, contest=len(editors)
    )


def _editor_cells(editor: ScoredEditor, reader: str, metric_name: Callable[[str], str]) -> list[Cell]:
    parts = [("all", name) for name in FOUR] + [(TYPICAL, CONSISTENCY), (RARE, CONSISTENCY)]
    return [editor.summary[part][reader].get(metric_name(name)) for part, name in parts]
