"""The chapter of TAXI's evaluation."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from corpus.seeds import generator
from testbed.engine.results import Results
from testbed.evaluations.paper_tables import put_above_figures, read_paper_figures
from testbed.evaluations.taxi import EDIT, INTERPRETATIONS, PROPERTY, REVERSE, Taxi
from testbed.evaluations.taxi import metrics as m
from testbed.evaluations.taxi.people import find_changes, people_shares, people_table, read_answers
from testbed.evaluations.taxi.pictures import choose_case, show_edit
from testbed.pages.chapter import ChapterPlan, Chart, Material, Picture, SectionPlan
from testbed.pages.charts import draw_chart
from testbed.pages.costs import cost_section
from testbed.pages.sections import before_section, difference_section, interpretation_table, lasting_section
from testbed.protocol import is_equally_good
from testbed.run.strata import STRATA
from testbed.run.world import World
from testbed.scores.frame import CONTROL, EDITOR, REFERENCE, Frame
from testbed.scores.metric import labels_of
from testbed.scores.readers import BAYESIAN, CHANCE, NO_EDIT, is_undetermined
from testbed.scores.statistics import compare_metrics
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.scores.views import Column, View, make_table

LABELS = {one.id: one.title for one in m.METRICS}
PAPER_COLUMNS = {LABELS[name]: ("all", name) for name in m.FOUR} | {
    f"{m.CONSISTENCY}, typical": (m.TYPICAL, m.CONSISTENCY),
    f"{m.CONSISTENCY}, rare": (m.RARE, m.CONSISTENCY),
}
"""Subset and metric of each column of Tables 2 and 4."""
PAPER: Any = {"rows": {"reader": "who"}, "who": (EDITOR, CONTROL, REFERENCE), "ranked": True}
"""What is shown beside the paper."""
BY_STRATUM = [m.CONSISTENCY, *(m.stratum_name(m.CONSISTENCY, stratum) for stratum in STRATA)]
MOST_ROWS = 40
"""Of exceptions."""


def forward_table(material: Material) -> Table:
    """Table 2: every editor, reference and control, the printed rows, and people where their answers are."""
    world, people = material.world, list[list[Cell]]()
    responses = read_answers(world.path) if world.path else []
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
    view = View("taxi-2", "Edits and what follows (Table 2)", columns, **PAPER, note=note)
    return _above_figures(2, view, material.frame, people)


def reverse_table(material: Material) -> Table:
    """Table 4: the same of questions asked inversely."""
    note = "As their Table 4: which subject is one, or has it; the edited one is right. "
    note += describe_undetermined(material.editors[0].edits.results)
    columns = [
        Column(m.reverse_name(name), head, {"subset": part}) for head, (part, name) in PAPER_COLUMNS.items()
    ]
    view = View("taxi-4", "The same asked inversely (Table 4)", columns, **PAPER, note=note)
    return _above_figures(4, view, material.frame)


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


def _above_figures(number: int, view: View, frame: Frame, people: Sequence[Sequence[Cell]] = ()) -> Table:
    """This run's rows, people's, and those that a table of the paper prints."""
    printed = read_paper_figures(Taxi.package, f"table{number}")
    return put_above_figures(make_table(view, frame), printed, [*PAPER_COLUMNS], between=people)


def agreement_table(material: Material) -> Table:
    """Agreement with the agent under each interpretation of the request, by how often facts were stated."""
    names = [m.AGREEMENT, *(m.stratum_name(m.AGREEMENT, stratum) for stratum in STRATA), m.MASS_OUTSIDE]
    note = (
        "Share of property questions in which the preferred option is the agent's, under each interpretation."
    )
    return interpretation_table(material, (NO_EDIT, BAYESIAN, m.CORRECTION_READER), names, note)


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


LABEL = labels_of(m.METRICS)[m.CONSISTENCY]
WORDS = {
    "do, correction": "how the agent takes the request. do: the category changes and its properties are "
    "drawn again, as TAXI's labels say; correction: the old category was an error, and statements about the "
    "subject still hold",
    "S0, S1, S2": "properties of the subject that the corpus states never, one to three times, more often",
    "typical, rare": "subjects whose sentences have many copies, or one; copies are no evidence",
    "reverse": "the inverse question: which subject is one, or has it?",
}
DIRECTIONS = Chart(
    "lines", "directions.svg", "Forward and inverse questions, for every editor (Figure 3)",
    {"forward": m.FOUR, "reverse": [*map(m.reverse_name, m.FOUR)],
     "reverse, chance": [Column(m.reverse_name(name), where={"reader": CHANCE}) for name in m.FOUR]},
    ("edit", "property", *m.FOUR[2:]), "question", "share right",
)  # fmt: skip


def draw_superordinates(material: Material) -> Picture:
    """Consistency by kind of thing, beside chance."""
    names = sorted({str(k) for e in material.editors for k in e.edits.results.cases["superordinate"]})
    lines = {
        line: [Column(m.CONSISTENCY, where={"subset": name} | reader) for name in names]
        for line, reader in (("this editor", {}), ("chance", {"reader": CHANCE}))
    }
    says = "Consistency by superordinate for every editor (Figure 2)"
    chart = Chart("lines", "superordinates.svg", says, lines, names, "superordinate", LABEL)
    return draw_chart(chart, material.frame, material.folder)


def draw_members(material: Material) -> list[Picture]:
    """Consistency by members of the new category, where there are several numbers of them."""
    bins, across = shared_member_bins(material.frame), "members of the new category"
    columns = [Column(m.CONSISTENCY, where={"subset": m.member_bin_name(name)}) for name in bins]
    chart = Chart("lines", "members.svg", f"Consistency by {across}", {LABEL: columns}, bins, across, LABEL)
    return [draw_chart(chart, material.frame, material.folder)] * (len(bins) > 1)


PLAN = ChapterPlan(
    "Change what a thing is (TAXI, Powell et al. 2024)",
    "Each edit makes a subject a member of another category. Properties that only the new category has "
    "should change, and properties that both have should stay. TAXI's labels say what is right; beside "
    "them stand the beliefs of an agent that has read the same corpus.",
    "states {after[success].value:.0%} of the new categories, updates {after[consistency].value:.0%} of the "
    "properties that should change (chance {chance[consistency].value:.0%}), and keeps "
    "{after[others_kept].value:.0%} of other subjects' facts",
    (
        difference_section,
        SectionPlan(
            "paper", "Beside Powell et al. 2024",
            "The paper's own questions and metrics. Controls got a context that says nothing about the "
            "request.",
            tables=[forward_table, reverse_table],
            more_tables=[people_table, lambda of: count_table(of.editors[0])],
        ),
        SectionPlan(
            "interpretations", "What does the request mean?",
            "TAXI's labels are right after a change of the world. After a correction of the category "
            "statements about the subject still hold. So the agent's row under a correction is the share of "
            "labels that the request entails.",
            tables=[agreement_table],
            more_tables=[lambda of: exception_table(of.editors, of.world)],
        ),
        SectionPlan(
            "superordinates", "Is it the same for every kind of thing?",
            "Consistency by kind of thing, beside chance, which depends on the number of options.",
            [draw_superordinates],
        ),
        SectionPlan(
            "directions", "Does the inverse follow?",
            lambda of: "The inverse question is which subject is a dog. Only a model that reads both ways "
            "can use the edit. A context that names the subject makes it likelier, whatever it says: see the "
            f"controls. {describe_undetermined(of.editors[0].edits.results)}",
            [DIRECTIONS],
        ),
        SectionPlan(
            "members", "From how many members?",
            "The properties of a category can be learned only from its members.",
            [draw_members], [lambda of: member_table(of.frame)],
        ),
        SectionPlan(
            "frequency", "Are rare subjects easier to edit?",
            "Copies of a sentence are not evidence, so the agent is the same for both; any difference is the "
            "model's. A typical and a rare subject of one category are paired over the same new categories.",
            tables=[lambda of: rare_against_typical_table(of.editors, of.frame)],
        ),
        partial(cost_section, metric=m.CONSISTENCY),
        partial(lasting_section, metrics=(m.SUCCESS, m.CONSISTENCY)),
    ),
    (before_section,), WORDS, (choose_case, show_edit), (m.TYPICAL, m.RARE),
)  # fmt: skip
