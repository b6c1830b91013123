"""Sections of the chapter about correlations: of short questions, and of simple measures, with the nine."""

from collections.abc import Mapping, Sequence

from testbed.evaluations.leme import paper
from testbed.evaluations.leme.correlation import SHORT, Correlation, correlate_measures
from testbed.evaluations.leme.meanings import NINE, SIMPLE
from testbed.evaluations.leme.pictures import draw_correlations
from testbed.pages.chapter import Material, Picture, Section
from testbed.scores.tables import Cell, Table, format_probability

ByPair = Mapping[tuple[str, str], Correlation]
_FIGURES = ["pooled", "low", "high", "p", "within editor", "p within", "shuffled", "points"]
_NOTE = (
    "Spearman's over edits and editors, intervals by bootstrap over edits, p-values Holm's. Within editor: "
    "the mean of each editor's own. Shuffled: edits of an editor in another order, so that only editors' "
    "means are left."
)


def correlation_sections(material: Material) -> list[Section]:
    """Do short questions foretell what is written, and do simple measures of texts see it?"""
    by_pair = correlate_measures(material.editors, material.editors[0].edited.seed)
    return [_short_form_section(material, by_pair), _simple_measures_section(material, by_pair)]


def _short_form_section(material: Material, by_pair: ByPair) -> Section:
    draw_correlations(by_pair, SHORT, material.folder / "correlations.png")
    printed = "; ".join(f"{long} with {short} {rho:.2f}" for long, short, rho in paper.CORRELATIONS)
    table = Table("leme-16", "Short form and long form (Table 16)", ["short", "long", *_FIGURES],
                  [_correlation_row(by_pair, short, long) for short in SHORT for long in NINE],
                  f"{_NOTE} As printed in Table 16: {printed}.", words=2)  # fmt: skip
    picture = Picture(
        "correlations.png", "Correlations of short and long form, pooled over edits and editors"
    )
    text = (
        "Four short questions and two exact short measures, against the nine questions about passages; the "
        "paper's ratings have hardly any correlation with short scores."
    )
    folded = [table, paper.short_table(material.editors)]
    return Section("correlations", "Do short questions foretell it?", text, [picture], folded=folded)


def _simple_measures_section(material: Material, by_pair: ByPair) -> Section:
    draw_correlations(by_pair, [*SIMPLE], material.folder / "simple.png")
    header = ["measure", "question", *_FIGURES]
    rows: list[list[Cell]] = [
        [*_correlation_row(by_pair, measure, question), paper.SIMPLE.get((measure, question))]
        for measure, question in SIMPLE.items()
    ]
    every = [_correlation_row(by_pair, measure, question) for measure in SIMPLE for question in NINE]
    printed = "As printed: with ratings of people, p < .05 but for topicality; one figure for both passages."
    text = (
        "Words shared with the request, with what was true, with the other passage or with the entity's "
        "name; how often words repeat; how likely the unedited model finds them. None knows a fact. The "
        "paper held them against ratings; here they stand against answers that are exact."
    )
    return Section(
        "simple",
        "Do simple measures of the texts see it? (Appendix I)",
        text,
        [Picture("simple.png", "Correlations of simple measures and the nine questions")],
        [Table("leme-weak", "Each simple measure and its own question", [*header, "as printed"], rows,
               f"{_NOTE} {printed}", words=2)],
        [Table("leme-weak-all", "Simple measures and all nine questions", header, every, _NOTE, words=2),
         paper.simple_table(material.editors)],
    )  # fmt: skip


def _correlation_row(by_pair: ByPair, measure: str, question: str) -> Sequence[Cell]:
    one = by_pair[measure, question]
    return [measure, question, one.pooled, one.low, one.high, format_probability(one.p), one.within,
            format_probability(one.within_p), one.shuffled, one.points]  # fmt: skip
