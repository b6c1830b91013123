"""The chapter of LEME's evaluation."""

from collections.abc import Sequence

import numpy as np

from testbed.evaluations.leme import correlation as c
from testbed.evaluations.leme import metrics as m
from testbed.evaluations.leme import shown, tables
from testbed.evaluations.leme.passages import ERROR_CLASSES
from testbed.pages.chapter import Chapter, Material, Picture, Section
from testbed.pages.charts import draw_bar_panels, draw_bars, draw_matrix
from testbed.pages.costs import cost_section
from testbed.pages.messages import describe_extremes
from testbed.pages.sections import build_chapter, difference_section, lasting_section
from testbed.run.strata import STRATA
from testbed.scores.frame import EDITOR
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import SIGNIFICANT
from testbed.scores.views import View, make_table

WORDS = {
    "do, correction, evidence": (
        "how the agent takes the request. do: the world changes, and facts that depend on the edited one are "
        "drawn again; correction: the old fact was an error; evidence: one more statement"
    ),
    "subject, related, twin": (
        "the entities that passages are about: the edited one; one whose fact depends on the edited fact "
        "by a link; and one of that kind with the same old object, linked to another entity"
    ),
    "neutral": "a passage that states nothing that the question is about; shares leave it out",
    "S0, S1, S2": "facts that the corpus states never, one to three times, more often",
}
COUPLED = (m.COUPLED_NEW, m.TWIN_NEW, m.COUPLING)
STYLE = (m.NATURALNESS, m.TOPICALITY, m.ON_COUPLE, m.FIRST_DRIFT, m.DISTINCT, m.ENTROPY, m.SENTENCES)
SCOPE = ("ground truth that stays", "ground truth that moves")
_NINE = (
    "Edit consistency: is the new fact stated, and nothing that it makes impossible? Factual: are other "
    "facts right? Internal: does a passage contradict itself? Cross: do the two passages contradict each "
    "other, given the link? In the corpus itself one statement in twenty is wrong."
)
_BOUNDS = "Shares under \u201cdo\u201d, the first interpretation; the last rows bound what the numbers mean."
_WIDER = (
    m.over_everything(m.FACTUAL_SUBJECT), m.over_everything(m.FACTUAL_RELATED),
    m.over_everything(m.INTERNAL_SUBJECT),
    m.over_everything(m.INTERNAL_RELATED), m.as_surveyed(m.CROSS), m.SATISFIABLE, m.MOST_TRUE,
    m.BELIEVED_SUBJECT, m.BELIEVED_RELATED,
)  # fmt: skip
_INTERPRETATIONS = (
    "The paper calls every changed fact drift. If the world changed, facts that depend on the edited one "
    "should change too. After a correction stated facts stay. So the same passages have two verdicts."
)
_COUPLING = (
    "The related passage may change through the link, or because the edit changes everybody who had the "
    "old object. The twin had it too, but is linked to another entity. So the difference between the two "
    "passages is what went through the link."
)
_SCOPE = (
    "Statements of the old ground truth that passages contradict after the edit: separately for facts that "
    "stay by the agent, and for facts that should change."
)
_STYLE = "Are sentences whole, on topic and varied, and how likely does the model find them?"
_KINDS = "Is it harder to change what a model knows than to tell it something new?"
_SHORT_FORM = (
    "Correlations of four short questions and two exact short measures with the nine questions about "
    "passages. The paper's ratings hardly correlate with short scores."
)
_SIMPLE = (
    "Words shared with the request, with what was true, with the other passage or with the entity's "
    "name; how often words repeat; how likely the unedited model finds them. None knows a fact. The paper "
    "compares them with ratings; here they are compared with exact answers."
)
_TEXT = (
    "Each edit changes a fact that decides a fact of another entity. The model writes passages about "
    "both. Every sentence is parsed and compared with the beliefs of an agent that has read the same "
    "corpus. Shares are under the interpretation \u201cdo\u201d, unless a table says otherwise."
)
NINE = tables.view_metrics("leme-nine", "Nine questions", m.NINE, _BOUNDS)
WIDER = tables.view_metrics("leme-wide", "Over everything", _WIDER)
STYLES = tables.view_metrics("leme-style", "Topic and style", STYLE)
ERRORS = tables.view_metrics("leme-errors", "Errors by class", [*map(m.error_share, ERROR_CLASSES)])
THROUGH_LINK = tables.view_metrics(
    "leme-coupling", "Coupled entity and twin",
    (*COUPLED, *map(m.coupled_right, STRATA), *map(m.coupled_answers, STRATA)),
)  # fmt: skip
SCOPES = tables.view_metrics(
    "leme-5", "Scope of the edit (Figure 5)",
    [kind(claim) for claim in SCOPE for kind in (m.contradiction_of, m.support_of)],
)  # fmt: skip


def make_chapter(material: Material) -> Chapter:
    """Everything that is shown of some editors; draws its pictures on the way."""
    editors, frame = material.editors, material.frame
    texts = [shown.passages_of_editor(editor) for editor in editors]
    pairs = [table for one in texts if (table := shown.side_by_side_table(one, material.world))]
    coupling = _picture_bars(
        material, "coupling.svg", "Statements of the coupled fact, for the coupled entity and for its twin",
        COUPLED, [*map(frame.label_of, COUPLED)], "share of statements of the coupled fact",
    )  # fmt: skip
    scope = _picture_bars(
        material, "scope.svg", "Ground truth that passages contradict, right changes apart (Figure 5)",
        [*map(m.contradiction_of, SCOPE)], SCOPE, "share of claims that passages contradict",
        f"share contradicted, {SCOPE[0]}",
    )  # fmt: skip
    sections = [
        difference_section(material),
        Section("nine", "Nine questions", _NINE, tables=[make_table(NINE, frame)],
                more_tables=[c.wilcoxon_table(editors), tables.ratings_table(frame), make_table(WIDER,
                frame)]),
        Section("readings", "How much of the drift is right?", _INTERPRETATIONS,
                tables=[tables.judgement_table(editors)]),
        Section("coupling", "Through the link, or a side effect?", _COUPLING, [coupling],
                [make_table(THROUGH_LINK, frame)]),
        Section("scope", "What is the scope of the edit?", _SCOPE, [scope],
                [make_table(SCOPES, frame), tables.claims_table(frame)], [c.chi_square_table(editors)]),
        *_correlation_sections(material),
        Section("kinds", "Injection or update?", _KINDS,
                tables=[tables.edit_kinds_table(editors), tables.table_by_kind(frame)]),
        _errors_section(material, texts),
        Section("style", "Do they stay on topic, and are they natural?", _STYLE,
                tables=[make_table(STYLES, frame), tables.likelihood_table(editors)]),
        Section("passages", "Passages", "For each editor one edit that succeeded, with a middling number of "
                "contradictions.", more_tables=pairs) if pairs else None,
        cost_section(material, m.EDIT_SUBJECT),
        lasting_section(material, (m.EDIT_SUBJECT, m.CROSS)),
    ]  # fmt: skip
    title = "What does an edited model write? (LEME, Rosati et al. 2024)"
    return build_chapter(material, title, _TEXT, finding_in_a_line, sections, m.KINDS, WORDS)


def finding_in_a_line(editor: ScoredEditor) -> str:
    """The finding about one editor in a line, from the numbers."""
    after, before = (editor.summary["all"][name] for name in (editor.name, NO_EDIT))

    def beside_no_edit(metric: str) -> str:
        return f"{after[metric].value:.0%} (no edit {before[metric].value:.0%})"

    return (
        f"writes the new fact in {after[m.EDIT_SUBJECT].value:.0%} of its statements; other facts right "
        f"{beside_no_edit(m.FACTUAL_SUBJECT)}; passages agree {beside_no_edit(m.CROSS)}; coupled entity "
        f"updated {after[m.COUPLED_NEW].value:.0%}, its twin {after[m.TWIN_NEW].value:.0%}"
    )


def _picture_bars(
    material: Material,
    file: str,
    says: str,
    metrics: Sequence[str],
    names: Sequence[str],
    across: str,
    what: str = "",
) -> Picture:
    """Some metrics of every editor, of no edit and of the agent as bars."""
    table = make_table(View("", "", metrics, who=(EDITOR, NO_EDIT, BAYESIAN)), material.frame)
    rows = {name: cells for name, *cells in tables.any_rows(table)}
    draw_bars(rows, names, across, material.folder / file)
    firsts = {name: cells[0].value for name, cells in rows.items() if cells[0]}
    return Picture(file, says, describe_extremes(firsts, what or names[0]))


def _correlation_sections(material: Material) -> list[Section]:
    """Do short questions foretell what is written, and do simple measures of texts see it?"""
    editors, frame = material.editors, material.frame
    by_pair = c.correlate_measures(editors, editors[0].edits.seed)
    says = "Correlations of short and long form, pooled over edits and editors"
    foretold = _picture_correlations(material, "correlations.svg", says, by_pair, c.SHORT)
    says = "Correlations of simple measures and the nine questions"
    simple = _picture_correlations(material, "simple.svg", says, by_pair, [*m.SIMPLE])
    return [
        Section("correlations", "Do short questions foretell it?", _SHORT_FORM, [foretold],
                more_tables=[c.short_form_table(by_pair), tables.short_table(frame)]),
        Section("simple", "Do simple measures of the texts see it? (Appendix I)", _SIMPLE, [simple],
                [c.simple_measures_table(by_pair)],
                [c.all_simple_measures_table(by_pair), tables.simple_table(frame)]),
    ]  # fmt: skip


def _picture_correlations(
    material: Material, file: str, says: str, by_pair: c.ByPair, measures: Sequence[str]
) -> Picture:
    """Pooled correlation in colour, with its interval; bold where Holm's p is below .05."""
    table = [[by_pair[measure, question] for question in m.NINE] for measure in measures]
    texts = [
        [(f"{x.pooled:.2f}\n[{x.low:.2f}, {x.high:.2f}]" if np.isfinite(x.pooled) else "-", x.p < SIGNIFICANT)
         for x in row]
        for row in table
    ]  # fmt: skip
    label, values = material.frame.label_of, np.array([[x.pooled for x in row] for row in table])
    down, right, what = [*map(label, measures)], [*map(label, m.NINE)], "Spearman's correlation"
    draw_matrix(values, texts, down, right, what, material.folder / file)
    known = {f"{label(a)} and {label(b)}": x.pooled for (a, b), x in by_pair.items() if a in measures}
    return Picture(file, says, describe_extremes(known, "correlation"))


def _errors_section(material: Material, texts: Sequence[shown.EditorPassages]) -> Section:
    errors, editors = make_table(ERRORS, material.frame), [e.name for e in material.editors]
    panels = {name: cells for name, *cells in tables.any_rows(errors) if name in editors}
    file, names = "errors.svg", [*ERROR_CLASSES]
    draw_bar_panels(panels, names, "share of pairs of passages", material.folder / file)
    shares = {f"{name} by {who}": cell.value for who, cells in panels.items()
              for name, cell in zip(names, cells, strict=True) if cell}  # fmt: skip
    message = describe_extremes(shares, "share of pairs with an error")
    picture = Picture(file, "Share of pairs of passages with an error of each class", message)
    worst_files = [shown.write_worst_passages(one, m.NINE, material.folder).name for one in texts]
    all_files = [shown.write_passages(one, material.world, material.folder).name for one in texts]
    text = (
        "Errors are counted where the paper reads a sample of them. The twenty worst edits of each editor, "
        f"with their errors marked, are in {', '.join(worst_files)}; all passages about this world, a line "
        f"of JSON each, in {', '.join(all_files)}."
    )
    one_of_each = [shown.table_of_errors(one) for one in texts]
    return Section("errors", "What goes wrong?", text, [picture], more_tables=[errors, *one_of_each])
