"""The tables of TAXI's chapter: beside the paper, by interpretation, by frequency and members, exceptions."""

from collections.abc import Mapping, Sequence

import numpy as np

from corpus.seeds import generator
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.paper_tables import read_paper_figures
from testbed.evaluations.taxi import EDIT, INTERPRETATIONS, PROPERTY, REVERSE, Taxi
from testbed.evaluations.taxi import metrics as m
from testbed.evaluations.taxi.people import find_changes, people_shares, read_answers
from testbed.pages.sections import interpretation_table
from testbed.protocol import is_equally_good
from testbed.run.strata import STRATA
from testbed.run.world import World
from testbed.scores.frame import CONTROL, EDITOR, REFERENCE, Frame
from testbed.scores.readers import BAYESIAN, CHANCE, NO_EDIT, is_undetermined, reference_readers
from testbed.scores.statistics import Estimate, compare_metrics, estimate_metrics
from testbed.scores.summary import ScoredEditor, measure_reader
from testbed.scores.tables import Cell, Table
from testbed.scores.views import Column, View, make_table

LABELS = {one.id: one.title for one in m.METRICS}
PAPER_COLUMNS = {LABELS[name]: ("all", name) for name in m.FOUR} | {
    f"{m.CONSISTENCY}, typical": (m.TYPICAL, m.CONSISTENCY),
    f"{m.CONSISTENCY}, rare": (m.RARE, m.CONSISTENCY),
}
"""Subset and metric of each column of Tables 2 and 4."""
BY_STRATUM = [m.CONSISTENCY, *(m.stratum_name(m.CONSISTENCY, stratum) for stratum in STRATA)]
MOST_ROWS = 40
"""Of exceptions."""


def forward_table(frame: Frame, world: World) -> Table:
    """Table 2: every editor, reference and control, the printed rows, and people where their answers are."""
    responses = read_answers(world.path) if world.path else []
    people: list[list[Cell]] = []
    if responses:
        of_columns = people_shares(responses, [a.columns_differ for a in responses])
        people = [
            ["people", "recomputed", None, *people_shares(responses, find_changes(responses, world))],
            ["people", "recomputed by their columns", None, *of_columns],
        ]
    note = (
        "As Table 2 of Powell et al. 2024: the right answer is the most probable option. Their rows are of "
        "another model and other words; people saw some of the questions, "
        "and the columns of right answers in their file are mostly those of another question."
    )
    columns = [Column(name, head, {"subset": part}) for head, (part, name) in PAPER_COLUMNS.items()]
    return _paper_table(
        2, View("taxi-2", "Edits and what follows (Table 2)", columns, note=note), frame, people
    )


def reverse_table(frame: Frame, results: Results) -> Table:
    """Table 4: the same of questions asked inversely."""
    note = "As their Table 4: which subject is one, or has it; the edited one is right. "
    note += describe_undetermined(results)
    columns = [
        Column(m.reverse_name(name), head, {"subset": part}) for head, (part, name) in PAPER_COLUMNS.items()
    ]
    return _paper_table(4, View("taxi-4", "The same asked inversely (Table 4)", columns, note=note), frame)


def describe_undetermined(results: Results) -> str:
    """How many inverse questions have no answer, at each of the agent's times, and what becomes of them."""
    inverse = results.choices.role == REVERSE
    counts = (
        f"{int((inverse & is_undetermined(results.choices, t)).sum()):,} ({name})"
        for t, name in enumerate(results.times)
    )
    return (
        f"Of {int(inverse.sum()):,} inverse questions so many have no answer, since the corpus leaves more "
        f"doubt than the agent's beliefs tell apart: {', '.join(counts)}. They count neither as right nor as "
        "wrong."
    )


def _paper_table(number: int, view: View, frame: Frame, people: Sequence[Sequence[Cell]] = ()) -> Table:
    """A table of the paper: this run's rows, people's, and those that are printed there."""
    who = (EDITOR, CONTROL, REFERENCE)
    table = make_table(view._replace(rows={"reader": "who"}, who=who, ranked=True), frame)
    printed = read_paper_figures(Taxi.package, f"table{number}")
    rows: list[Sequence[Cell]] = [[name, "this run", *cells] for name, *cells in table.rows]
    rows += [*people, *([name, "as printed", *map(of.get, PAPER_COLUMNS)] for (name,), of in printed.items())]
    return table._replace(header=["who", "source", *table.header[1:]], rows=rows, words=2)


def agreement_table(editors: Sequence[ScoredEditor]) -> Table:
    """Agreement with the agent under each interpretation of the request, by how often facts were stated."""
    names = [m.AGREEMENT, *(m.stratum_name(m.AGREEMENT, stratum) for stratum in STRATA), m.MASS_OUTSIDE]
    note = (
        "Share of property questions in which the preferred option is the agent's, under each interpretation."
    )
    who = (NO_EDIT, BAYESIAN, m.CORRECTION_READER)
    return interpretation_table(editors, who, names, _estimate_at, note)


def _estimate_at(editor: ScoredEditor, name: str, time: int) -> Mapping[str, Estimate]:
    """Every metric of a reader, with the agent under one interpretation as the standard."""
    results = editor.edits.results
    readers = reference_readers if name == BAYESIAN else editor.evaluation.readers
    reader = readers(results, editor.name)[name]
    metrics = measure_reader(editor.evaluation, results, reader._replace(time=time))
    return estimate_metrics(metrics, cluster_levels(results), np.ones(len(results), bool))


def exception_table(editors: Sequence[ScoredEditor], world: World) -> Table | None:
    """Edits and properties whose label is none of the agent's best options under `do`; None without any.

    There a rational agent does not give TAXI's label, though the world is changed as TAXI means it.
    """
    results, graph = editors[0].edits.results, world.graph
    c, time = results.choices, 1 + INTERPRETATIONS.index("do")
    here = (results.cases["run"] == 0)[c.case] & np.isin(c.role, (EDIT, PROPERTY))
    belief = np.where(c.offered, c.agent[:, time], -1.0)
    of_label = np.where(c.options == c.facets["label"][:, None], belief, -1.0).max(axis=1)
    differs = here & ~is_equally_good(of_label, belief.max(axis=1))
    if not differs.any():
        return None
    names, rows = graph.entities, []
    for row in np.flatnonzero(differs)[:MOST_ROWS].tolist():
        case, best = int(c.case[row]), int(belief[row].argmax())
        cells: list[Cell] = [
            names[int(results.cases["subject"][case])], names[int(results.cases["object"][case])],
            graph.relations[int(c.relation[row])], names[int(c.facets["label"][row])],
            names[int(c.options[row, best])], float(of_label[row]), float(belief[row, best]),
        ]  # fmt: skip
        rows.append(cells)
    header = [
        "subject", "becomes", "property", "label", "agent's answer", "belief in the label", "in its answer",
    ]  # fmt: skip
    note = f"{int(differs.sum())} of {int(here.sum()):,} questions of the first world"
    note += f"; the first {MOST_ROWS} are shown." if differs.sum() > MOST_ROWS else "."
    return Table("exceptions", "Where label and agent differ under do", header, rows, note, words=4)


def count_table(editor: ScoredEditor) -> Table:
    """How much was asked: edits and questions by superordinate (Tables 1 and 3)."""
    results = editor.edits.results
    c, first = results.choices, results.cases["run"] == 0
    superordinate = results.cases["superordinate"].astype(str)
    rows: list[list[Cell]] = []
    for name in [*np.unique(superordinate), "all"]:
        mine = first & ((superordinate == name) | (name == "all"))
        of = {role: mine[c.case] & (c.role == role) for role in (PROPERTY, REVERSE)}
        changed = of[PROPERTY] & c.facets["changed"]
        rows.append([
            str(name), int(mine.sum()), len(np.unique(results.cases["subject"][mine])),
            len(np.unique(results.cases["object"][mine])), len(np.unique(c.relation[of[PROPERTY]])),
            int(of[PROPERTY].sum()), int(changed.sum()), int((of[PROPERTY] & ~changed).sum()),
            int(of[REVERSE].sum()),
            *(int((of[REVERSE] & is_undetermined(c, t)).sum()) for t in range(len(results.times))),
        ])  # fmt: skip
    header = ["superordinate", "edits", "subjects", "categories", "relations", "property questions",
              "that change", "that stay", "inverse questions",
              *(f"undetermined, {name}" for name in results.times)]  # fmt: skip
    note = "Of inverse questions, so many have no answer: the corpus leaves too much doubt. "
    note += "The paper counts forward and inverse questions together: 976 edits, 1,952 and 9,168 questions."
    return Table("counts", "What was asked (Tables 1 and 3)", header, rows, note)


def shared_member_bins(frame: Frame) -> list[str]:
    """The bins of members of the new category that every editor has edits in."""
    shared = frame.shared_subsets()
    return [name for name in m.MEMBER_BINS if m.member_bin_name(name) in shared]


def member_table(frame: Frame) -> Table:
    """Consistency by members of the new category and by how often the facts were stated."""
    sizes = {m.member_bin_name(size): size for size in shared_member_bins(frame)}
    who, rows = (
        (EDITOR, NO_EDIT, BAYESIAN, m.CORRECTION_READER, CHANCE),
        {"reader": "who", "subset": "members"},
    )
    title = "Consistency by members of the new category"
    return make_table(View("members", title, BY_STRATUM, rows, who, {"subset": sizes}), frame)


def rare_against_typical_table(editors: Sequence[ScoredEditor], frame: Frame) -> Table:
    """Rare minus typical subjects, paired within category, for every editor."""
    metrics, rows = (m.SUCCESS, m.PROPERTIES, *BY_STRATUM), list[list[Cell]]()
    for e, reader in [*((e, e.name) for e in editors), (editors[0], NO_EDIT)]:
        rare, typical, levels = pair_cases(e.edits.results)
        rng = generator(e.edits.seed, "typical against rare")
        row: list[Cell] = [reader, len(rare)]
        for name in metrics:
            first, second = (e.values[reader][name].take(cases) for cases in (rare, typical))
            among = np.ones(len(rare), bool)
            row.append(compare_metrics(first, second, levels, among, rng) if len(rare) else None)
        rows.append(row)
    note = (
        "Paired differences; above 0, rare subjects follow more. Intervals are over old and new categories."
    )
    header = ["editor", "pairs", *map(frame.label_of, metrics)]
    return Table("frequency", "Rare minus typical", header, rows, note)


def pair_cases(results: Results) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Cases of rare and of typical subjects with the same old and new category, the n-th with the n-th.

    Returns:
        int[P] twice, and by level, int[P], which pairs depend on each other.
    """
    cases = results.cases
    places: dict[tuple[int, ...], tuple[list[int], list[int]]] = {}
    columns = (cases.get("run", np.zeros_like(cases["truth"])), cases["truth"], cases["object"])
    for i, key in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        places.setdefault(key, ([], []))[int(bool(cases["typical"][i]))].append(i)
    pairs = [(r, t, key) for key, (rare, typical) in sorted(places.items())
             for r, t in zip(rare, typical, strict=False)]  # fmt: skip
    rare, typical = (np.array([pair[k] for pair in pairs], int) for k in range(2))
    levels = {
        "old category": _number_keys([(run, old) for *_, (run, old, _) in pairs]),
        "object": _number_keys([(run, new) for *_, (run, _, new) in pairs]),
    }
    return rare, typical, levels


def _number_keys(keys: Sequence[tuple[int, int]]) -> np.ndarray:
    known = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return np.array([known[key] for key in keys], int)
