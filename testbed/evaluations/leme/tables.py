"""The tables of LEME's chapter, those of Rosati et al. 2024 with what they print below ours."""

from collections.abc import Mapping, Sequence
from typing import Any

from testbed.engine.results import cluster_levels
from testbed.evaluations.leme import metrics as m
from testbed.evaluations.paper_tables import read_paper_figures
from testbed.pages.sections import interpretation_table
from testbed.run.strata import STRATA
from testbed.scores.frame import EDITOR, REFERENCE, Frame
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.scores.views import View, choose_readers, make_table

JUDGED = (
    m.EDIT_RELATED, m.FACTUAL_SUBJECT, m.FACTUAL_RELATED, m.over_everything(m.FACTUAL_RELATED), m.DRIFT_NEW,
    m.DRIFT_OLD, m.DRIFT_THIRD, *map(m.coupled_right, STRATA), *map(m.coupled_answers, STRATA), m.JOINT,
)  # fmt: skip
"""What is held against the agent, and so depends on the interpretation."""
CLAIMS_JUDGED = (
    m.contradiction_of("ground truth, subject"),
    m.support_of("ground truth, subject"),
    m.support_of("new fact, subject"),
    m.support_of("old fact, subject"),
    m.support_of("ground truth, related"),
    m.contradiction_of("ground truth, related"),
)
"""Which claims people judged."""
WHO, READERS = {"reader": "who"}, (EDITOR, REFERENCE)


def view_metrics(key: str, title: str, metrics: Sequence[str], note: str = "") -> View:
    """Some metrics of every editor and reference."""
    return View(key, title, metrics, WHO, READERS, note=note, ranked=True)


def read_figures(name: str) -> dict[tuple[str, ...], dict[str, float]]:
    """What the paper prints, from paper/NAME.tsv."""
    return read_paper_figures("testbed.evaluations.leme", name)


def ratings_table(frame: Frame) -> Table:
    """The same on the paper's scale from 1 to 7, above its Table 1."""
    note = (
        "Table 1 of Rosati et al. 2024: ratings by their rater model. Theirs is of other models, other "
        "texts and a scale of opinions; only directions can be compared."
    )
    title = "On the paper's scale from 1 to 7 (Table 1)"
    table = _table_above_paper(frame, View("leme-1", title, m.NINE, note=note), "ratings")
    return table._replace(rows=[
        [who, "this run, 1 + 6 share", *(cell and round(1 + 6 * cell.value, 2) for cell in cells)]
        if source == "this run" else [who, source, *cells]
        for who, source, *cells in any_rows(table)
    ])  # fmt: skip


def short_table(frame: Frame) -> Table:
    """Short questions above the paper's Table 17."""
    return _table_above_paper(frame, View("leme-17", "Short questions (Table 17)", m.FOUR), "short")


def simple_table(frame: Frame) -> Table:
    """Simple measures above the n-gram entropies of the paper's Table 20."""
    note = "Entropy grows with a passage's length and its words; theirs are of another language and longer."
    title = "Simple measures of the texts (Table 20)"
    return _table_above_paper(frame, View("leme-20", title, [*m.SIMPLE], note=note), "entropies")


def claims_table(frame: Frame) -> Table:
    """What passages make of claims, above what people made of them."""
    note = (
        "A passage supports a claim where most of what it says of the fact does. People judged 12 edits of "
        "other texts; sentences that they marked as evidence are in their file too, which inflates some "
        "shares."
    )
    view = View("leme-4", "What passages make of claims (Figure 4)", CLAIMS_JUDGED, note=note)
    return _table_above_paper(frame, view, "people", "judged by people", ["judgements"])


def edit_kinds_table(editors: Sequence[ScoredEditor]) -> Table:
    """How many edits are of each kind, above the paper's Table 15."""
    kind = m.kinds_of_edits(editors[0].edits.results)
    rows: list[list[Cell]] = [["this run", *(float((kind == name).mean()) for name in m.KINDS)]]
    rows += [[*words, *map(figures.get, m.KINDS)] for words, figures in read_figures("kinds").items()]
    note = "By what the unedited model says. The paper tells updates and what was already true apart only."
    return Table("leme-15", "Kinds of edits (Table 15)", ["where", *m.KINDS], rows, note)


def table_by_kind(frame: Frame) -> Table:
    """The nine and the short questions by kind of edit."""
    title, rows = "By kind of edit (Figures 6 and 7)", {"reader": "who", "subset": "kind"}
    view = View("leme-6", title, (*m.NINE, *m.FOUR), rows, where={"subset": m.KINDS})
    return make_table(view, frame)


def judgement_table(editors: Sequence[ScoredEditor]) -> Table:
    """What is held against the agent, under each interpretation of the request."""
    note = f"{BAYESIAN}: what it writes under the first interpretation, judged under each."
    return interpretation_table(
        editors, (NO_EDIT, BAYESIAN), JUDGED, _estimate_judged, note, key="leme-readings"
    )


def _estimate_judged(editor: ScoredEditor, name: str, time: int) -> Mapping[str, Estimate]:
    """The metrics of a reader that depend on the interpretation, with one as the standard."""
    if time == 1:
        return editor.summary["all"][name]
    results = editor.edits.results
    reader = editor.evaluation.readers(results, editor.name)[name]
    answers = m.Answers(results, reader._replace(time=time))
    metrics = {one.id: one.compute(answers) for one in m.METRICS if one.id in JUDGED}
    applicable = {name: metric for name, metric in metrics.items() if metric is not None}
    return estimate_metrics(applicable, cluster_levels(results), m.make_subsets(results)["all"])


def likelihood_table(editors: Sequence[ScoredEditor]) -> Table:
    """How likely the unedited model finds what was written, and how long it is."""
    rows: list[list[Cell]] = []
    for e in editors:
        p = e.edits.results.passages
        tokens = p.tokens.sum(axis=0)
        if not len(p.case) or not tokens.all():
            continue
        likelihood, length, ended = p.log_p.sum(axis=0) / tokens, p.tokens.mean(axis=0), p.ended.mean(axis=0)
        rows.append([e.name, *likelihood.tolist(), *length.tolist(), *ended.tolist()])
    header = ["who", "before", "after", "tokens before", "tokens after", "ended before", "ended after"]
    note = "Log-probability of a token under the unedited model, and the share of texts that came to an end."
    return Table("leme-likelihood", "Likelihood of the texts", header, rows, note)


def _table_above_paper(
    frame: Frame, view: View, name: str, source: str = "as printed", more: Sequence[str] = ()
) -> Table:
    """Some metrics of this run above those of paper/NAME.tsv, which may have columns before them."""
    who = [x for x in choose_readers(frame, READERS) if frame.cell(m.NINE[-1], x) is not None]
    table = make_table(view._replace(rows=WHO, who=who), frame)
    columns = [*more, *map(frame.label_of, map(str, view.columns))]
    rows = [[reader, "this run", *[None] * len(more), *cells] for reader, *cells in any_rows(table)]
    rows += [[*words, source, *map(of.get, columns)] for words, of in read_figures(name).items()]
    return table._replace(header=["who", "source", *more, *table.header[1:]], rows=rows, words=2)


def any_rows(table: Table) -> list[list[Any]]:
    """The rows of a table, whose cells may be anything."""
    return [[*row] for row in table.rows]
