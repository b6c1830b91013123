"""This run beside the figures that Halevy et al. 2024 print."""

from collections.abc import Sequence

import numpy as np

from corpus.worlds.people import EDITED, GROUPINGS
from testbed.engine.results import Results
from testbed.evaluations.seesaw import NEW_HOLDERS, OTHERS
from testbed.evaluations.seesaw.crossing import PAPER_PAIRS, accuracy_by_pair, property_pairs
from testbed.evaluations.seesaw.groups import LEAST_ANSWERS, EditorChanges, editor_changes
from testbed.evaluations.seesaw.metrics import is_crossing
from testbed.evaluations.seesaw.printed import GROUP_TABLES, METHODS, cells_of, group_numbers, read_table
from testbed.scores.readers import BEFORE_EDIT
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table


def paper_accuracy_table(editors: Sequence[ScoredEditor]) -> Table:
    """Table 5 and Table 4: our accuracy and its change by the paper's pairs, above the printed ones."""
    names = [f"{one} / {other}" for one, other in PAPER_PAIRS]
    rows: list[list[Cell]] = []
    for editor in editors:
        results = editor.edits.results
        readers = editor.evaluation.readers(results, editor.name)
        by_reader = [
            accuracy_by_pair(results, readers[n].probability, stated=True) for n in (BEFORE_EDIT, editor.name)
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


def spread_table(editors: Sequence[ScoredEditor]) -> Table:
    """Least and most D_d of all groups, ours above those of the paper's Tables 10 to 15."""
    rows: list[list[Cell]] = []
    for editor in map(editor_changes, editors):
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
