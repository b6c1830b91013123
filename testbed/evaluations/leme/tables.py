"""The tables of LEME's chapter, those of Rosati et al. 2024 with what they print below ours."""

from collections.abc import Mapping, Sequence

import numpy as np

from testbed.engine.results import cluster_levels
from testbed.evaluations.leme import RELATED, SUBJECT
from testbed.evaluations.leme import metrics as m
from testbed.evaluations.leme.correlation import (
    SHORT,
    Correlation,
    chi_square_test,
    count_verdicts,
    signed_rank_test,
)
from testbed.evaluations.leme.passages import ACROSS, ERROR_CLASSES, GOLD, INSIDE, EditorPassages, PassagePair
from testbed.evaluations.leme.questions import CLAIMS, edit_said_share
from testbed.evaluations.paper_tables import read_paper_figures
from testbed.pages.sections import interpretation_table
from testbed.run.strata import STRATA
from testbed.run.world import World
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.statistics import Estimate, adjust_holm, estimate_metrics
from testbed.scores.summary import ScoredEditor, rows_in_contest
from testbed.scores.tables import Cell, Table, better_of, format_probability

ByPair = Mapping[tuple[str, str], Correlation]
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
_FIGURES = ["pooled", "low", "high", "p", "within editor", "p within", "shuffled", "points"]
_CORRELATIONS = (
    "Spearman's over edits and editors, intervals by bootstrap over edits, p-values Holm's. Within editor: "
    "the mean of each editor's own. Shuffled: edits of an editor in another order, so that only editors' "
    "means are left."
)


def read_figures(name: str) -> dict[tuple[str, ...], dict[str, float]]:
    """What the paper prints, from paper/NAME.tsv."""
    return read_paper_figures("testbed.evaluations.leme", name)


def ratings_table(editors: Sequence[ScoredEditor]) -> Table:
    """The same on the paper's scale from 1 to 7, above its Table 1."""
    rows: list[list[Cell]] = [
        [name, "this run, 1 + 6 share",
         *(cell and round(1 + 6 * cell.value, 2) for cell in map(figures.get, m.NINE))]
        for name, figures in _figures_by_reader(editors)
    ]  # fmt: skip
    note = (
        "Table 1 of Rosati et al. 2024: ratings by their rater model. Theirs is of other models, other "
        "texts and a scale of opinions; only directions can be compared."
    )
    return Table("leme-1", "On the paper's scale from 1 to 7 (Table 1)", ["who", "source", *m.NINE],
                 rows + _printed_rows("ratings", m.NINE), note, words=2)  # fmt: skip


def short_table(editors: Sequence[ScoredEditor]) -> Table:
    """Short questions above the paper's Table 17."""
    return _table_above_paper(editors, "leme-17", "Short questions (Table 17)", "short", m.FOUR)


def simple_table(editors: Sequence[ScoredEditor]) -> Table:
    """Simple measures above the n-gram entropies of the paper's Table 20."""
    note = "Entropy grows with a passage's length and its words; theirs are of another language and longer."
    title = "Simple measures of the texts (Table 20)"
    return _table_above_paper(editors, "leme-20", title, "entropies", [*m.SIMPLE], note)


def claims_table(editors: Sequence[ScoredEditor]) -> Table:
    """What passages make of claims, above what people made of them."""
    note = (
        "A passage supports a claim where most of what it says of the fact does. People judged 12 edits of "
        "other texts; sentences that they marked as evidence are in their file too, which inflates some "
        "shares."
    )
    title, columns = "What passages make of claims (Figure 4)", ["judgements", *CLAIMS_JUDGED]
    return _table_above_paper(editors, "leme-4", title, "people", columns, note, "judged by people")


def edit_kinds_table(editors: Sequence[ScoredEditor]) -> Table:
    """How many edits are of each kind, above the paper's Table 15."""
    kind = m.kinds_of_edits(editors[0].edits.results)
    rows: list[list[Cell]] = [["this run", *(float((kind == name).mean()) for name in m.KINDS)]]
    rows += [[*words, *map(figures.get, m.KINDS)] for words, figures in read_figures("kinds").items()]
    note = "By what the unedited model says. The paper tells updates and what was already true apart only."
    return Table("leme-15", "Kinds of edits (Table 15)", ["where", *m.KINDS], rows, note)


def table_by_kind(editors: Sequence[ScoredEditor]) -> Table:
    """The nine and the short questions by kind of edit."""
    metrics = (*m.NINE, *m.FOUR)
    rows: list[list[Cell]] = [
        [e.name, kind, *map(e.summary[kind][e.name].get, metrics)]
        for e in editors
        for kind in m.KINDS
        if any(one.cases for one in e.summary[kind][e.name].values())
    ]
    return Table("leme-6", "By kind of edit (Figures 6 and 7)", ["who", "kind", *metrics], rows, words=2)


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
    metrics = {one.name: one.compute(answers) for one in m.METRICS if one.name in JUDGED}
    applicable = {name: metric for name, metric in metrics.items() if metric is not None}
    return estimate_metrics(applicable, cluster_levels(results), m.make_subsets(results)["all"])


def metrics_table(
    editors: Sequence[ScoredEditor], key: str, title: str, metrics: Sequence[str], note: str = ""
) -> Table:
    """Some metrics of every editor and reference."""
    first, direction = editors[0], better_of(editors[0].evaluation.metrics)
    readers = [*((e, e.name) for e in editors), *((first, name) for name in first.reference_names)]
    rows: list[list[Cell]] = [
        [name, *map(e.summary["all"][name].get, metrics)]
        for e, name in readers
        if any(metric in e.summary["all"][name] for metric in metrics)
    ]
    better = {name: direction[name] for name in metrics}
    return Table(key, title, ["who", *metrics], rows, note, better=better, contest=rows_in_contest(editors))


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


def wilcoxon_table(editors: Sequence[ScoredEditor]) -> Table:
    """Each of the nine questions after the edit against before, over edits."""
    rows = [
        _row_of_tests(editor, {
            name: signed_rank_test(
                _metric_by_edit(editor, NO_EDIT, name),
                _metric_by_edit(editor, editor.name, name),
                rises=name in (m.EDIT_SUBJECT, m.EDIT_RELATED),
            )
            for name in m.NINE
        })
        for editor in editors
    ]  # fmt: skip
    note = (
        "One-sided: edit consistency rises, all else falls. Holm's over the nine. Edits of one subject are "
        "taken for independent, as in the paper."
    )
    return Table("leme-wilcoxon", "Wilcoxon's signed rank tests, p", ["who", *m.NINE], rows, note, words=1)


def chi_square_table(editors: Sequence[ScoredEditor]) -> Table:
    """Verdicts on each kind of claim after the edit against before."""
    rows: list[list[Cell]] = []
    for editor in editors:
        before, after = (count_verdicts(editor, when) for when in (0, 1))
        rows.append(
            _row_of_tests(editor, {name: chi_square_test(before[name], after[name]) for name in CLAIMS})
        )
    note = (
        "Supported, contradicted or neither, after the edit against before; Holm's over the claims. Those "
        "of one edit and its samples are taken for independent, as in the paper, which makes p too small."
    )
    return Table("leme-chi-square", "Chi-square tests of claims, p", ["who", *CLAIMS], rows, note, words=1)


def _row_of_tests(editor: ScoredEditor, p: Mapping[str, float]) -> list[Cell]:
    adjusted = adjust_holm(p)
    return [editor.name, *(format_probability(adjusted[name]) for name in p)]


def _metric_by_edit(editor: ScoredEditor, reader: str, metric: str) -> np.ndarray:
    """float64[edits], NaN where an edit does not have the metric."""
    values = editor.values[reader].get(metric)
    return np.full(len(editor.edits.results), np.nan) if values is None else values.by_case


def short_form_table(by_pair: ByPair) -> Table:
    """Every short question with each of the nine, beside the paper's Table 16."""
    from_paper = "; ".join(
        f"{long} with {short} {figures['correlation']:.2f}"
        for (long, short), figures in read_figures("correlations").items()
    )
    rows = [_correlation_row(by_pair, short, long) for short in SHORT for long in m.NINE]
    note = f"{_CORRELATIONS} As printed in Table 16: {from_paper}."
    return Table("leme-16", "Short form and long form (Table 16)", ["short", "long", *_FIGURES], rows, note,
                 words=2)  # fmt: skip


def simple_measures_table(by_pair: ByPair) -> Table:
    """Every simple measure with its own question, beside the paper's Appendix I."""
    figures = read_figures("simple")
    rows: list[list[Cell]] = [
        [*_correlation_row(by_pair, *pair), figures.get(pair, {}).get("correlation")]
        for pair in m.SIMPLE.items()
    ]
    header = ["measure", "question", *_FIGURES, "as printed"]
    note = (
        f"{_CORRELATIONS} As printed: with ratings of people, p < .05 but for topicality; one figure for "
        "both passages."
    )
    return Table("leme-weak", "Each simple measure and its own question", header, rows, note, words=2)


def all_simple_measures_table(by_pair: ByPair) -> Table:
    """Every simple measure with each of the nine questions."""
    rows = [_correlation_row(by_pair, measure, question) for measure in m.SIMPLE for question in m.NINE]
    return Table("leme-weak-all", "Simple measures and all nine questions",
                 ["measure", "question", *_FIGURES], rows, _CORRELATIONS, words=2)  # fmt: skip


def _correlation_row(by_pair: ByPair, measure: str, question: str) -> list[Cell]:
    one = by_pair[measure, question]
    return [measure, question, one.pooled, one.low, one.high, format_probability(one.p), one.within,
            format_probability(one.within_p), one.shuffled, one.points]  # fmt: skip


def side_by_side_table(texts: EditorPassages, world: World) -> Table | None:
    """One edit as two pairs of passages, before and after; None where nothing about this world was written.

    It is the one with a middling number of contradictions among those that say the new object, if any do.
    """
    editor, results = texts.editor, texts.editor.edits.results
    is_in_this_world = results.cases["run"] == results.cases["run"].min()
    after = [pair for pair in texts.after if is_in_this_world[pair.case]]
    if not after:
        return None
    follow = [pair for pair in after if edit_said_share(pair.of_subject, pair.standard) > 0]
    by_contradictions = sorted(follow or after, key=lambda pair: pair.contradiction_count)
    middle = by_contradictions[len(by_contradictions) // 2]
    before = next(pair for pair in texts.before if pair.case == middle.case)
    columns = [(pair, role) for pair in (before, middle) for role in (SUBJECT, RELATED)]
    rows: list[list[Cell]] = [
        [_sentence_with_mark(pair, role, at) for pair, role in columns]
        for at in range(max(len(pair.passages[role]) for pair, role in columns))
    ]
    s, r, o = (int(results.cases[name][middle.case]) for name in ("subject", "relation", "object"))
    names, other = world.graph.entities, int(results.cases["related"][middle.case])
    header = [f"{when}: {names[entity]}" for when in ("before", "after") for entity in (s, other)]
    return Table(
        f"{editor.edits.slug}-passages",
        f"{editor.name}: {names[s]} {world.graph.relations[r]} {names[o]}",
        header,
        rows,
        "\u2717 marks what is not so, of facts that stay; \u2260 what another sentence of the two denies.",
        words=4,
    )


def _sentence_with_mark(pair: PassagePair, role: str, at: int) -> str:
    lines, classes = pair.passages[role], pair.error_classes_of(role, at)
    if at >= len(lines):
        return ""
    if GOLD in classes:
        return f"\u2717 {lines[at].text}"
    return f"\u2260 {lines[at].text}" if INSIDE in classes or ACROSS in classes else lines[at].text


def table_of_errors(texts: EditorPassages) -> Table:
    """The first sentence of each class of error."""
    editor, first = texts.editor, {}
    for pair in texts.after:
        for name, marks in pair.errors.items():
            if marks and name not in first:
                role, at = marks[0]
                first[name] = role, pair.passages[role][at].text
    rows: list[list[Cell]] = [[name, *first[name]] for name in ERROR_CLASSES if name in first]
    return Table(f"{editor.edits.slug}-errors", f"{editor.name}: one error of each class",
                 ["class", "passage", "sentence"], rows, words=3)  # fmt: skip


def _figures_by_reader(editors: Sequence[ScoredEditor]) -> list[tuple[str, dict[str, Estimate]]]:
    first = editors[0]
    of_editors = [(e.name, e.summary["all"][e.name]) for e in editors]
    of_references = [(name, first.summary["all"][name]) for name in first.reference_names]
    return of_editors + [(name, figures) for name, figures in of_references if m.NINE[-1] in figures]


def _table_above_paper(
    editors: Sequence[ScoredEditor],
    key: str,
    title: str,
    name: str,
    columns: Sequence[str],
    note: str = "",
    source: str = "as printed",
) -> Table:
    """Some metrics of this run above those of paper/NAME.tsv."""
    rows: list[list[Cell]] = [
        [who, "this run", *map(figures.get, columns)] for who, figures in _figures_by_reader(editors)
    ]
    rows += _printed_rows(name, columns, source)
    return Table(key, title, ["who", "source", *columns], rows, note, words=2)


def _printed_rows(name: str, columns: Sequence[str], source: str = "as printed") -> list[list[Cell]]:
    return [[*words, source, *map(figures.get, columns)] for words, figures in read_figures(name).items()]
