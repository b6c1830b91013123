"""The chapter of LEME's evaluation; tables of Rosati et al. 2024 have what they print below ours."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from testbed.evaluations.leme import correlation as c
from testbed.evaluations.leme import metrics as m
from testbed.evaluations.leme import shown
from testbed.evaluations.paper_tables import put_above_figures, read_paper_figures
from testbed.pages.chapter import ChapterPlan, Chart, Material, SectionPlan
from testbed.pages.costs import cost_section
from testbed.pages.sections import difference_section, interpretation_table, lasting_section
from testbed.run.strata import STRATA
from testbed.scores.frame import EDITOR, REFERENCE
from testbed.scores.metric import labels_of
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.tables import Cell, Table
from testbed.scores.views import View, choose_readers, make_table

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
COUPLED_LABELS = [labels_of(m.METRICS)[name] for name in COUPLED]
SCOPE = ("ground truth that stays", "ground truth that moves")
CLAIMS_JUDGED = (
    m.contradiction_of("ground truth, subject"), m.support_of("ground truth, subject"),
    m.support_of("new fact, subject"), m.support_of("old fact, subject"),
    m.support_of("ground truth, related"), m.contradiction_of("ground truth, related"),
)  # fmt: skip
"""Which claims people judged."""
WHO, READERS = {"reader": "who"}, (EDITOR, REFERENCE)


def view_metrics(key: str, title: str, metrics: Sequence[str], note: str = "") -> View:
    """Some metrics of every editor and reference."""
    return View(key, title, metrics, WHO, READERS, note=note, ranked=True)


def read_figures(name: str) -> dict[tuple[str, ...], dict[str, float]]:
    """What the paper prints, from paper/NAME.tsv."""
    return read_paper_figures("testbed.evaluations.leme", name)


def above_paper(
    material: Material, view: View, name: str, source: str = "as printed", more: Sequence[str] = ()
) -> Table:
    """Some metrics of this run above those of paper/NAME.tsv, which may have columns before them."""
    frame = material.frame
    who = [x for x in choose_readers(frame, READERS) if frame.cell(m.NINE[-1], x) is not None]
    table = make_table(view._replace(rows=WHO, who=who), frame)
    return put_above_figures(table, read_figures(name), table.header[1:], source, more)


def ratings_table(material: Material) -> Table:
    """The nine questions on the paper's scale from 1 to 7, above its Table 1."""
    note = (
        "Table 1 of Rosati et al. 2024: ratings by their rater model. Theirs is of other models, other "
        "texts and a scale of opinions; only directions can be compared."
    )
    title = "On the paper's scale from 1 to 7 (Table 1)"
    table = above_paper(material, View("leme-1", title, m.NINE, note=note), "ratings")
    rows: list[list[Any]] = [[*row] for row in table.rows]
    return table._replace(rows=[
        [who, "this run, 1 + 6 share", *(cell and round(1 + 6 * cell.value, 2) for cell in cells)]
        if source == "this run" else [who, source, *cells]
        for who, source, *cells in rows
    ])  # fmt: skip


def judgement_table(material: Material) -> Table:
    """What is held against the agent, and so depends on how it takes the request."""
    metrics = (
        m.EDIT_RELATED, m.FACTUAL_SUBJECT, m.FACTUAL_RELATED, m.over_everything(m.FACTUAL_RELATED),
        m.DRIFT_NEW, m.DRIFT_OLD, m.DRIFT_THIRD, *map(m.coupled_right, STRATA),
        *map(m.coupled_answers, STRATA), m.JOINT,
    )  # fmt: skip
    note = f"{BAYESIAN}: what it writes under the first interpretation, judged under each."
    return interpretation_table(material, (NO_EDIT, BAYESIAN), metrics, note, "leme-readings")


def edit_kinds_table(material: Material) -> Table:
    """How many edits are of each kind, above the paper's Table 15."""
    kind = m.kinds_of_edits(material.editors[0].edits.results)
    rows: list[list[Cell]] = [["this run", *(float((kind == name).mean()) for name in m.KINDS)]]
    rows += [[*words, *map(figures.get, m.KINDS)] for words, figures in read_figures("kinds").items()]
    note = "By what the unedited model says. The paper tells updates and what was already true apart only."
    return Table("leme-15", "Kinds of edits (Table 15)", ["where", *m.KINDS], rows, note)


def likelihood_table(material: Material) -> Table:
    """How likely the unedited model finds what was written, and how long it is."""
    rows: list[list[Cell]] = []
    for e in material.editors:
        p = e.edits.results.passages
        tokens = p.tokens.sum(axis=0)
        if len(p.case) and tokens.all():
            each = (p.log_p.sum(axis=0) / tokens, p.tokens.mean(axis=0), p.ended.mean(axis=0))
            rows.append([e.name, *(number for of in each for number in of.tolist())])
    header = ["who", "before", "after", "tokens before", "tokens after", "ended before", "ended after"]
    note = "Log-probability of a token under the unedited model, and the share of texts that came to an end."
    return Table("leme-likelihood", "Likelihood of the texts", header, rows, note)


PLAN = ChapterPlan(
    "What does an edited model write? (LEME, Rosati et al. 2024)",
    "Each edit changes a fact that decides a fact of another entity. The model writes passages about "
    "both. Every sentence is parsed and compared with the beliefs of an agent that has read the same "
    "corpus. Shares are under the interpretation \u201cdo\u201d, unless a table says otherwise.",
    "writes the new fact in {after[edit.subject].value:.0%} of its statements; other facts right "
    "{after[factual.subject].value:.0%} (no edit {no_edit[factual.subject].value:.0%}); passages agree "
    "{after[cross].value:.0%} (no edit {no_edit[cross].value:.0%}); coupled entity updated "
    "{after[coupled_new].value:.0%}, its twin {after[twin_new].value:.0%}",
    (
        difference_section,
        SectionPlan(
            "nine", "Nine questions",
            "Edit consistency: is the new fact stated, and nothing that it makes impossible? Factual: are "
            "other facts right? Internal: does a passage contradict itself? Cross: do the two passages "
            "contradict each other, given the link? In the corpus itself one statement in twenty is wrong.",
            tables=[view_metrics(
                "leme-nine", "Nine questions", m.NINE, "Shares under \u201cdo\u201d, the first "
                "interpretation; the last rows bound what the numbers mean.")],
            more_tables=[c.wilcoxon_table, ratings_table, view_metrics(
                "leme-wide", "Over everything",
                [*map(m.over_everything, (m.FACTUAL_SUBJECT, m.FACTUAL_RELATED, m.INTERNAL_SUBJECT,
                                          m.INTERNAL_RELATED)),
                 m.as_surveyed(m.CROSS), m.SATISFIABLE, m.MOST_TRUE, m.BELIEVED_SUBJECT,
                 m.BELIEVED_RELATED])],
        ),
        SectionPlan(
            "readings", "How much of the drift is right?",
            "The paper calls every changed fact drift. If the world changed, facts that depend on the edited "
            "one should change too. After a correction stated facts stay. So the same passages have two "
            "verdicts.",
            tables=[judgement_table],
        ),
        SectionPlan(
            "coupling", "Through the link, or a side effect?",
            "The related passage may change through the link, or because the edit changes everybody who had "
            "the old object. The twin had it too, but is linked to another entity. So the difference between "
            "the two passages is what went through the link.",
            [Chart("bars", "coupling.svg",
                   "Statements of the coupled fact, for the coupled entity and for its twin", {"": COUPLED},
                   COUPLED_LABELS, "share of statements of the coupled fact", what=COUPLED_LABELS[0])],
            [view_metrics("leme-coupling", "Coupled entity and twin",
                          (*COUPLED, *map(m.coupled_right, STRATA), *map(m.coupled_answers, STRATA)))],
        ),
        SectionPlan(
            "scope", "What is the scope of the edit?",
            "Statements of the old ground truth that passages contradict after the edit: separately for "
            "facts that stay by the agent, and for facts that should change.",
            [Chart("bars", "scope.svg",
                   "Ground truth that passages contradict, right changes apart (Figure 5)",
                   {"": [*map(m.contradiction_of, SCOPE)]}, SCOPE,
                   "share of claims that passages contradict", what=f"share contradicted, {SCOPE[0]}")],
            [view_metrics("leme-5", "Scope of the edit (Figure 5)",
                          [kind(claim) for claim in SCOPE for kind in (m.contradiction_of, m.support_of)]),
             partial(above_paper, name="people", source="judged by people", more=["judgements"], view=View(
                 "leme-4", "What passages make of claims (Figure 4)", CLAIMS_JUDGED,
                 note="A passage supports a claim where most of what it says of the fact does. People judged "
                 "12 edits of other texts; sentences that they marked as evidence are in their file too, "
                 "which inflates some shares."))],
            [c.chi_square_table],
        ),
        SectionPlan(
            "correlations", "Do short questions foretell it?",
            "Correlations of four short questions and two exact short measures with the nine questions about "
            "passages. The paper's ratings hardly correlate with short scores.",
            [partial(c.draw_correlations, file="correlations.svg", measures=c.SHORT,
                     says="Correlations of short and long form, pooled over edits and editors")],
            more_tables=[c.short_form_table, partial(
                above_paper, view=View("leme-17", "Short questions (Table 17)", m.FOUR), name="short")],
        ),
        SectionPlan(
            "simple", "Do simple measures of the texts see it? (Appendix I)",
            "Words shared with the request, with what was true, with the other passage or with the entity's "
            "name; how often words repeat; how likely the unedited model finds them. None knows a fact. The "
            "paper compares them with ratings; here they are compared with exact answers.",
            [partial(c.draw_correlations, file="simple.svg", measures=[*m.SIMPLE],
                     says="Correlations of simple measures and the nine questions")],
            [c.simple_measures_table],
            [partial(above_paper, name="entropies", view=View(
                "leme-20", "Simple measures of the texts (Table 20)", [*m.SIMPLE],
                note="Entropy grows with a passage's length and its words; theirs are of another language "
                "and longer."))],
        ),
        SectionPlan(
            "kinds", "Injection or update?",
            "Is it harder to change what a model knows than to tell it something new?",
            tables=[edit_kinds_table, View("leme-6", "By kind of edit (Figures 6 and 7)", (*m.NINE, *m.FOUR),
                                           {**WHO, "subset": "kind"}, where={"subset": m.KINDS})],
        ),
        shown.ERRORS,
        SectionPlan(
            "style", "Do they stay on topic, and are they natural?",
            "Are sentences whole, on topic and varied, and how likely does the model find them?",
            tables=[view_metrics("leme-style", "Topic and style",
                                 (m.NATURALNESS, m.TOPICALITY, m.ON_COUPLE, m.FIRST_DRIFT, m.DISTINCT,
                                  m.ENTROPY, m.SENTENCES)), likelihood_table],
        ),
        shown.PASSAGES,
        partial(cost_section, metric=m.EDIT_SUBJECT),
        partial(lasting_section, metrics=(m.EDIT_SUBJECT, m.CROSS)),
    ),
    words=WORDS,
    parts=m.KINDS,
)  # fmt: skip
