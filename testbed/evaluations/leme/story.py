"""The chapter of LEME's examination."""

from collections.abc import Mapping, Sequence

from testbed.engine.results import cluster_levels
from testbed.evaluations.leme import meanings as m
from testbed.evaluations.leme import paper
from testbed.evaluations.leme.examples import (
    EditorPassages,
    mark_passages,
    side_by_side_table,
    table_of_errors,
    write_worst_passages,
)
from testbed.evaluations.leme.foretelling import correlation_sections
from testbed.evaluations.leme.passages_file import write_passages
from testbed.evaluations.leme.pictures import draw_bars, draw_errors
from testbed.evaluations.leme.significance import chi_square_table, wilcoxon_table
from testbed.evaluations.leme.subsets import KINDS
from testbed.pages.chapter import Chapter, Material, Picture, Section
from testbed.pages.costs import cost_section
from testbed.pages.lasting import lasting_section
from testbed.pages.overview import comparison_table, detail_tables, difference_section
from testbed.run.strata import STRATA
from testbed.scores.comparison import ScoredEditor
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import Cell, Table, better_of

WORDS = {
    "do, correction, evidence": (
        "what the request is to the agent: the world changes, and what depends on the edited fact is drawn "
        "again; or one was wrong about it, and what was stated stays stated; or one more thing is said of it"
    ),
    "subject, related, twin": (
        "whom passages are about: the edited entity; one whose fact depends on the edited fact by a link; "
        "one like that, with the same old object, linked to somebody else"
    ),
    "neutral": "a passage that says nothing that a question is about; it is counted, and in no share",
    "S0, S1, S2": "facts that the corpus states never, one to three times, more often",
}
JUDGED = (
    m.EDIT_RELATED, m.FACTUAL_SUBJECT, m.FACTUAL_RELATED, m.over_everything(m.FACTUAL_RELATED), m.DRIFT_NEW,
    m.DRIFT_OLD, m.DRIFT_THIRD, *map(m.coupled_right, STRATA), *map(m.coupled_answers, STRATA), m.JOINT,
)  # fmt: skip
COUPLED = (m.COUPLED_NEW, m.TWIN_NEW, m.COUPLING)
STYLE = (m.NATURALNESS, m.TOPICALITY, m.ON_COUPLE, m.FIRST_DRIFT, m.DISTINCT, m.ENTROPY, m.SENTENCES)
SCOPE = ("ground truth that stays", "ground truth that moves")


def story(material: Material) -> Chapter:
    """Everything that is shown of some editors; draws its pictures on the way."""
    editors, folder = material.editors, material.folder
    texts = [mark_passages(editor) for editor in editors]
    sections = [
        difference_section(material),
        Section("nine", "Nine questions", _NINE, tables=[paper.nine_questions_table(editors)],
                folded=[wilcoxon_table(editors), paper.ratings_table(editors),
                        _metrics_table(editors, "leme-wide", "Over everything", _WIDER)]),
        Section("readings", "How much drift was warranted?", _READINGS,
                tables=[interpretation_table(editors)]),
        _coupling_section(material),
        _scope_section(material),
        *correlation_sections(material),
        _kinds_section(material),
        _errors_section(material, texts),
        Section("style", "Do they stay on topic, and are they natural?", _STYLE,
                tables=[_metrics_table(editors, "leme-style", "Topic and style", STYLE),
                        likelihood_table(editors)]),
        _passages_section(material, texts),
        cost_section(editors, m.EDIT_SUBJECT, folder),
        lasting_section(editors, material.curves, (m.EDIT_SUBJECT, m.CROSS), folder),
    ]  # fmt: skip
    return Chapter(
        "What does an edited model write? (LEME, Rosati et al. 2024)",
        "A fact is edited that decides a fact of another entity. The model writes passages about both, and "
        "every sentence is read and held against what an agent believes that has read the same corpus. "
        "Shares are under the reading \u201cdo\u201d, unless a table says otherwise.",
        {e.name: finding_in_a_line(e) for e in editors},
        comparison_table(editors, material.differences),
        [section for section in sections if section],
        {},
        {e.name: detail_tables(e, KINDS) for e in editors},
        WORDS,
        editors[0].evaluation.metrics,
    )


_NINE = (
    "Edit consistency: is the new fact said, and nothing that it makes impossible? Factual: does the rest "
    "still stand? Internal: does a passage contradict itself? Cross: do the two contradict each other, with "
    "what the link implies? Of ordinary texts of the corpus, too, one statement in twenty is wrong."
)
_WIDER = (
    m.over_everything(m.FACTUAL_SUBJECT), m.over_everything(m.FACTUAL_RELATED),
    m.over_everything(m.INTERNAL_SUBJECT),
    m.over_everything(m.INTERNAL_RELATED), f"{m.CROSS}, {m.SURVEY}", m.SATISFIABLE, m.MOST_TRUE,
    m.BELIEVED_SUBJECT, m.BELIEVED_RELATED,
)  # fmt: skip
_READINGS = (
    "The paper calls every changed fact drift. If the world changed, what depends on the edited fact should "
    "change with it; if one was corrected, what was stated stays. So the same passages have two verdicts."
)
_COUPLING = (
    "A related passage that changes may change because it is coupled, or because the edit drags everybody "
    "who had the old object. The twin had it too, and is linked to somebody else: what is said of the "
    "coupled one beyond what is said of the twin went through the link."
)
_SCOPE = (
    "Statements of the old ground truth that passages contradict after the edit, apart for facts that stay "
    "to the agent, and for those that should move."
)
_STYLE = (
    "Share of whole sentences; about whom they are; how often they repeat; how likely the model finds them."
)


def finding_in_a_line(editor: ScoredEditor) -> str:
    """The finding about one editor in a line, from the numbers."""
    after, before = (editor.summary["all"][name] for name in (editor.name, NO_EDIT))

    def said(metric: str) -> str:
        return f"{after[metric].value:.0%} (no edit {before[metric].value:.0%})"

    return (
        f"says the new fact in {after[m.EDIT_SUBJECT].value:.0%} of what it writes of it; factual "
        f"{said(m.FACTUAL_SUBJECT)}; across passages consistent {said(m.CROSS)}; the coupled entity follows "
        f"{after[m.COUPLED_NEW].value:.0%}, the twin {after[m.TWIN_NEW].value:.0%}"
    )


def interpretation_table(editors: Sequence[ScoredEditor]) -> Table:
    """What is held against the agent, under each reading of the request."""
    first = editors[0]
    readers = [(e, e.name) for e in editors] + [(first, n) for n in (NO_EDIT, BAYESIAN)]
    rows: list[list[Cell]] = []
    for editor, name in readers:
        for reading, called in enumerate(first.evaluation.interpretations, start=1):
            # Under the first reading everything is measured already.
            figures = editor.summary["all"][name] if reading == 1 else _judged_figures(editor, name, reading)
            rows.append([name, called, *(figures.get(metric) for metric in JUDGED)])
    direction = better_of(first.evaluation.metrics)
    note = f"{BAYESIAN}: what it writes under the first reading, judged under each."
    return Table("leme-readings", "Held against both readings", ["who", "request", *JUDGED], rows, note,
                 words=2, better={name: direction[name] for name in JUDGED})  # fmt: skip


def _judged_figures(editor: ScoredEditor, name: str, reading: int) -> Mapping[str, Estimate]:
    """Every metric of a reader, with the agent under one reading as the standard."""
    results, among = editor.edited.results, None
    reader = editor.evaluation.readers(results, editor.name)[name]
    judged = editor.evaluation.measure(results, reader._replace(time=reading))
    among = editor.evaluation.subsets(results)["all"]
    return estimate_metrics({k: judged[k] for k in JUDGED if k in judged}, cluster_levels(results), among)


def _metrics_table(editors: Sequence[ScoredEditor], key: str, title: str, metrics: Sequence[str]) -> Table:
    """Some metrics of every editor and reference."""
    first, direction = editors[0], better_of(editors[0].evaluation.metrics)
    rows: list[list[Cell]] = [
        [name, *(e.summary["all"][name].get(metric) for metric in metrics)]
        for e, name in [*((e, e.name) for e in editors), *((first, name) for name in first.reference_names)]
        if any(metric in e.summary["all"][name] for metric in metrics)
    ]
    better = {name: direction[name] for name in metrics}
    return Table(key, title, ["who", *metrics], rows, better=better, contest=len(editors))


def _coupling_section(material: Material) -> Section:
    editors = material.editors
    rows = {e.name: {name: e.summary["all"][e.name].get(name) for name in COUPLED} for e in editors}
    rows |= {name: {metric: editors[0].summary["all"][name].get(metric) for metric in COUPLED}
             for name in (NO_EDIT, BAYESIAN)}  # fmt: skip
    draw_bars(rows, "share of what is said of the coupled fact", material.folder / "coupling.png")
    picture = Picture("coupling.png", "What is said of the coupled fact: by the coupled entity and its twin")
    metrics = (*COUPLED, *map(m.coupled_right, STRATA), *map(m.coupled_answers, STRATA))
    table = _metrics_table(editors, "leme-coupling", "Coupled entity and twin", metrics)
    return Section("coupling", "Coupled, or dragged along?", _COUPLING, [picture], [table])


def _scope_section(material: Material) -> Section:
    editors = material.editors
    readers = [*((e, e.name) for e in editors), (editors[0], NO_EDIT), (editors[0], BAYESIAN)]
    rows = {name: {claim: e.summary["all"][name].get(m.contradiction_of(claim)) for claim in SCOPE}
            for e, name in readers}  # fmt: skip
    draw_bars(rows, "share of claims that passages contradict", material.folder / "scope.png")
    picture = Picture("scope.png", "Ground truth that passages contradict, warranted drift apart (Figure 5)")
    shown = [kind(claim) for claim in SCOPE for kind in (m.contradiction_of, m.support_of)]
    tables = [
        _metrics_table(editors, "leme-5", "Scope of the edit (Figure 5)", shown),
        paper.claims_table(editors),
    ]
    folded = [chi_square_table(editors)]
    return Section("scope", "What is the scope of the edit?", _SCOPE, [picture], tables, folded=folded)


def _kinds_section(material: Material) -> Section:
    """The nine questions by kind of edit."""
    editors = material.editors
    metrics = (*m.NINE, *m.FOUR)
    rows: list[list[Cell]] = [
        [e.name, kind, *(e.summary[kind][e.name].get(metric) for metric in metrics)]
        for e in editors
        for kind in KINDS
        if any(one.cases for one in e.summary[kind][e.name].values())
    ]
    table = Table("leme-6", "By kind of edit (Figures 6 and 7)", ["who", "kind", *metrics], rows, words=2)
    text = "Is it harder to change what a model knows than to tell it something new?"
    return Section("kinds", "Injection or update?", text, tables=[paper.edit_kinds_table(editors), table])


def _errors_section(material: Material, texts: Sequence[EditorPassages]) -> Section:
    editors = material.editors
    draw_errors(editors, material.folder / "errors.png")
    files = [write_worst_passages(one, material.folder).name for one in texts]
    whole = [write_passages(one, material.world, material.folder).name for one in texts]
    text = (
        "Errors are counted where the paper reads a sample of them. The twenty worst edits of each editor, "
        f"with their errors marked, are in {', '.join(files)}; all passages about this world, a line of "
        f"JSON each, in {', '.join(whole)}."
    )
    metrics = [m.error_share(name) for name in m.CLASSES]
    return Section("errors", "What goes wrong?", text,
                   [Picture("errors.png", "Share of pairs of passages with an error of each class")],
                   folded=[_metrics_table(editors, "leme-errors", "Errors by class", metrics),
                           *(table_of_errors(one) for one in texts)])  # fmt: skip


def _passages_section(material: Material, texts: Sequence[EditorPassages]) -> Section | None:
    tables = [table for one in texts if (table := side_by_side_table(one, material.world))]
    text = "For each editor one edit that it took up, with a middling number of contradictions."
    return Section("passages", "Passages", text, folded=tables) if tables else None


def likelihood_table(editors: Sequence[ScoredEditor]) -> Table:
    """How likely the unedited model finds what was written, and how long it is."""
    rows: list[list[Cell]] = []
    for e in editors:
        p = e.edited.results.passages
        tokens = p.tokens.sum(axis=0)
        if not len(p.case) or not tokens.all():
            continue
        before, after = (p.log_p.sum(axis=0) / tokens).tolist()
        ended = p.ended.mean(axis=0).tolist()
        rows.append([e.name, before, after, *(p.tokens.mean(axis=0).tolist()), *ended])
    header = ["who", "before", "after", "tokens before", "tokens after", "ended before", "ended after"]
    note = "Log-probability of a token under the unedited model, and the share of texts that came to an end."
    return Table("leme-likelihood", "Likelihood of the texts", header, rows, note)
