"""The chapter of LEME's evaluation."""

from collections.abc import Mapping, Sequence

from testbed.evaluations.leme import metrics as m
from testbed.evaluations.leme import tables
from testbed.evaluations.leme.correlation import SHORT, Correlation, correlate_measures
from testbed.evaluations.leme.passages import (
    ERROR_CLASSES,
    EditorPassages,
    passages_of_editor,
    write_passages,
    write_worst_passages,
)
from testbed.evaluations.leme.pictures import draw_bars, draw_correlations, draw_errors
from testbed.pages.chapter import Chapter, Material, Picture, Section
from testbed.pages.costs import cost_section
from testbed.pages.messages import describe_extremes
from testbed.pages.sections import (
    build_chapter,
    difference_section,
    lasting_section,
)
from testbed.run.strata import STRATA
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.statistics import Estimate
from testbed.scores.summary import ScoredEditor

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
    m.over_everything(m.INTERNAL_RELATED), f"{m.CROSS}, {m.SURVEY}", m.SATISFIABLE, m.MOST_TRUE,
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


def make_chapter(material: Material) -> Chapter:
    """Everything that is shown of some editors; draws its pictures on the way."""
    editors, folder = material.editors, material.folder
    texts = [passages_of_editor(editor) for editor in editors]
    sections = [
        difference_section(material),
        Section("nine", "Nine questions", _NINE,
                tables=[tables.metrics_table(editors, "leme-nine", "Nine questions", m.NINE, _BOUNDS)],
                more_tables=[tables.wilcoxon_table(editors), tables.ratings_table(editors),
                        tables.metrics_table(editors, "leme-wide", "Over everything", _WIDER)]),
        Section("readings", "How much of the drift is right?", _INTERPRETATIONS,
                tables=[tables.judgement_table(editors)]),
        _coupling_section(material),
        _scope_section(material),
        *_correlation_sections(material),
        Section("kinds", "Injection or update?", _KINDS,
                tables=[tables.edit_kinds_table(editors), tables.table_by_kind(editors)]),
        _errors_section(material, texts),
        Section("style", "Do they stay on topic, and are they natural?", _STYLE,
                tables=[tables.metrics_table(editors, "leme-style", "Topic and style", STYLE),
                        tables.likelihood_table(editors)]),
        _passages_section(material, texts),
        cost_section(editors, m.EDIT_SUBJECT, folder),
        lasting_section(editors, material.curves, (m.EDIT_SUBJECT, m.CROSS), folder),
    ]  # fmt: skip
    return build_chapter(
        material,
        "What does an edited model write? (LEME, Rosati et al. 2024)",
        "Each edit changes a fact that decides a fact of another entity. The model writes passages about "
        "both. Every sentence is parsed and compared with the beliefs of an agent that has read the same "
        "corpus. Shares are under the interpretation \u201cdo\u201d, unless a table says otherwise.",
        finding_in_a_line,
        sections,
        m.KINDS,
        WORDS,
    )


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


def _rows_of_readers(
    editors: Sequence[ScoredEditor], metrics: Sequence[str]
) -> dict[str, list[Estimate | None]]:
    """Some metrics of every editor, of no edit and of the agent."""
    readers = [*((e, e.name) for e in editors), (editors[0], NO_EDIT), (editors[0], BAYESIAN)]
    return {name: [e.summary["all"][name].get(metric) for metric in metrics] for e, name in readers}


def _describe_rows(rows: dict[str, list[Estimate | None]], what: str) -> str:
    """Whose first bar is the longest and whose the shortest."""
    return describe_extremes({name: of[0].value for name, of in rows.items() if of[0]}, what)


def _describe_correlations(by_pair: Mapping[tuple[str, str], Correlation], measures: Sequence[str]) -> str:
    """Which pairs go together most, and which least."""
    values = {f"{a} and {b}": one.pooled for (a, b), one in by_pair.items() if a in measures}
    return describe_extremes(values, "correlation")


def _describe_errors(editors: Sequence[ScoredEditor]) -> str:
    """Which error is the commonest, and which the rarest."""
    shares = {f"{name} by {e.name}": e.summary["all"][e.name].get(m.error_share(name))
              for e in editors for name in ERROR_CLASSES}  # fmt: skip
    return describe_extremes(
        {name: e.value for name, e in shares.items() if e}, "share of pairs with an error"
    )


def _coupling_section(material: Material) -> Section:
    editors = material.editors
    rows = _rows_of_readers(editors, COUPLED)
    draw_bars(rows, COUPLED, "share of statements of the coupled fact", material.folder / "coupling.svg")
    picture = Picture(
        "coupling.svg",
        "Statements of the coupled fact, for the coupled entity and for its twin",
        _describe_rows(rows, COUPLED[0]),
    )
    metrics = (*COUPLED, *map(m.coupled_right, STRATA), *map(m.coupled_answers, STRATA))
    table = tables.metrics_table(editors, "leme-coupling", "Coupled entity and twin", metrics)
    return Section("coupling", "Through the link, or a side effect?", _COUPLING, [picture], [table])


def _scope_section(material: Material) -> Section:
    editors = material.editors
    rows = _rows_of_readers(editors, [*map(m.contradiction_of, SCOPE)])
    draw_bars(rows, SCOPE, "share of claims that passages contradict", material.folder / "scope.svg")
    picture = Picture(
        "scope.svg",
        "Ground truth that passages contradict, right changes apart (Figure 5)",
        _describe_rows(rows, f"share contradicted, {SCOPE[0]}"),
    )
    metrics = [kind(claim) for claim in SCOPE for kind in (m.contradiction_of, m.support_of)]
    table = tables.metrics_table(editors, "leme-5", "Scope of the edit (Figure 5)", metrics)
    own, folded = [table, tables.claims_table(editors)], [tables.chi_square_table(editors)]
    return Section("scope", "What is the scope of the edit?", _SCOPE, [picture], own, more_tables=folded)


def _correlation_sections(material: Material) -> list[Section]:
    """Do short questions foretell what is written, and do simple measures of texts see it?"""
    editors, folder = material.editors, material.folder
    by_pair = correlate_measures(editors, editors[0].edits.seed)
    draw_correlations(by_pair, SHORT, folder / "correlations.svg")
    draw_correlations(by_pair, [*m.SIMPLE], folder / "simple.svg")
    picture = Picture(
        "correlations.svg",
        "Correlations of short and long form, pooled over edits and editors",
        _describe_correlations(by_pair, SHORT),
    )
    return [
        Section("correlations", "Do short questions foretell it?", _SHORT_FORM, [picture],
                more_tables=[tables.short_form_table(by_pair), tables.short_table(editors)]),
        Section("simple", "Do simple measures of the texts see it? (Appendix I)", _SIMPLE,
                [Picture("simple.svg", "Correlations of simple measures and the nine questions",
                         _describe_correlations(by_pair, [*m.SIMPLE]))],
                [tables.simple_measures_table(by_pair)],
                [tables.all_simple_measures_table(by_pair), tables.simple_table(editors)]),
    ]  # fmt: skip


def _errors_section(material: Material, texts: Sequence[EditorPassages]) -> Section:
    editors = material.editors
    draw_errors(editors, material.folder / "errors.svg")
    worst_files = [write_worst_passages(one, m.NINE, material.folder).name for one in texts]
    all_files = [write_passages(one, material.world, material.folder).name for one in texts]
    text = (
        "Errors are counted where the paper reads a sample of them. The twenty worst edits of each editor, "
        f"with their errors marked, are in {', '.join(worst_files)}; all passages about this world, a line "
        f"of JSON each, in {', '.join(all_files)}."
    )
    metrics = [m.error_share(name) for name in ERROR_CLASSES]
    return Section("errors", "What goes wrong?", text,
                   [Picture("errors.svg", "Share of pairs of passages with an error of each class",
                            _describe_errors(editors))],
                   more_tables=[tables.metrics_table(editors, "leme-errors", "Errors by class", metrics),
                           *(tables.table_of_errors(one) for one in texts)])  # fmt: skip


def _passages_section(material: Material, texts: Sequence[EditorPassages]) -> Section | None:
    pairs = [table for one in texts if (table := tables.side_by_side_table(one, material.world))]
    text = "For each editor one edit that succeeded, with a middling number of contradictions."
    return Section("passages", "Passages", text, more_tables=pairs) if pairs else None
