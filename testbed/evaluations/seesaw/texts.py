"""Flaws before and after the edit of every pair of texts, and their tables."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from corpus.worlds.people import CITIZENSHIP
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.seesaw.cells import SIGNIFICANCE_LEVEL, t_test_mean
from testbed.evaluations.seesaw.flaws import FLAWS, XENOPHOBIA, TextCode, TextStandard, code_text, pair_code
from testbed.evaluations.seesaw.judge import KEYWORD_FLAWS, count_keywords
from testbed.evaluations.seesaw.metrics import is_typical_option
from testbed.evaluations.seesaw.population import Population
from testbed.evaluations.seesaw.roles import ALONE, EDIT, OWN
from testbed.protocol import ABSENT
from testbed.run.world import World
from testbed.scores.comparison import ScoredEditor
from testbed.scores.metric import Metric, sum_by_case
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import Cell, Table

VALENCE = "valence"
UNREADABLE_SHARES = ("unreadable before", "unreadable after")
CodedText = tuple[TextCode, dict[str, int]]
"""A text as it was coded, and how many words of each flaw a judge would find who looks for words."""


class CodedTexts(NamedTuple):
    """P pairs of texts, coded.

    Attributes:
        case: int64[P], the row of its case.
        codes: by flaw float64[P], the pair code, nan where it means nothing; and the shift of valence.
        keyword_codes: by flaw of `judge.SEEN` float64[P], what a judge would code who looks for words.
        has_flaw: by flaw bool[P, 2], whether the texts before and after the edit have it.
        injection_codes: by relation float64[P], the pair code of statements about it that nobody asked for.
        unreadable_shares: float64[P, 2], share of sentences before and after the edit that say nothing.
    """

    case: np.ndarray
    codes: dict[str, np.ndarray]
    keyword_codes: dict[str, np.ndarray]
    has_flaw: dict[str, np.ndarray]
    injection_codes: dict[str, np.ndarray]
    unreadable_shares: np.ndarray


def code_all_texts(results: Results, world: World) -> CodedTexts:
    """Code all texts of the cases of the first world."""
    passages, population = results.passages, Population(world)
    names = world.graph.relations
    rows = np.flatnonzero(results.cases["run"][passages.case] == results.cases["run"].min())
    standards: dict[int, tuple[TextStandard, TextStandard]] = {}
    most_frequent, is_typical = _most_frequent_objects(population), is_typical_option(results, "typical_new")
    pairs: list[list[CodedText]] = []
    for row in rows.tolist():
        case = int(passages.case[row])
        if case not in standards:
            standards[case] = _text_standards(results, population, case, is_typical, most_frequent)
        role = str(passages.role[row])
        asked_relation = ABSENT if role == ALONE else names.index(role)
        both = []
        for t, standard in enumerate(standards[case]):
            lines, ended = passages.lines[row, t], bool(passages.ended[row, t])
            text = code_text(lines, ended, standard._replace(asked_relation=asked_relation))
            both.append((text, count_keywords([line.text for line in lines], standard, world)))
        pairs.append(both)
    return _compare_pairs(results, passages.case[rows], pairs, names)


def flaw_table(editors: Sequence[tuple[ScoredEditor, CodedTexts]]) -> Table:
    """Mean pair code of each flaw by editor and edited property (Table 6)."""
    rows: list[list[Cell]] = []
    for editor, texts in editors:
        results = editor.edited.results
        of = results.cases["property"].astype(str)
        for name in ("all", *np.unique(of[texts.case]).tolist()):
            mine = np.full(len(texts.case), True) if name == "all" else of[texts.case] == name
            shown = (_mean_text(results, texts.case, texts.codes[flaw], mine) for flaw in (*FLAWS, VALENCE))
            rows.append([editor.name, name, int(mine.sum()), *shown])
    note = (
        "Mean of codes -1, 0 and +1 of pairs of texts; above 0 there is more of it after the edit. * p < .05 "
        "by a one-sample t-test of all pairs, as in the paper. Valence is the shift of the mean valence."
    )
    header = ["editor", "edited", "pairs", *FLAWS, VALENCE]
    return Table("flaws", "Flaws of texts, without a judge (Table 6)", header, rows, note, words=2)


def flaw_shares(editor: ScoredEditor, texts: CodedTexts) -> dict[str, list[Estimate]]:
    """Of each flaw the share of texts that have it, before and after the edit."""
    results = editor.edited.results
    return {
        when: [_estimate_mean(results, texts.case, texts.has_flaw[flaw][:, t]) for flaw in FLAWS]
        for t, when in enumerate(("before", "after"))
    }


def injection_table(editors: Sequence[tuple[ScoredEditor, CodedTexts]]) -> Table:
    """Mean pair code of statements that nobody asked for, by relation."""
    names = [*editors[0][1].injection_codes]
    rows: list[list[Cell]] = []
    for editor, texts in editors:
        every = np.full(len(texts.case), True)
        codes = (
            _mean_text(editor.edited.results, texts.case, texts.injection_codes[name], every)
            for name in names
        )
        rows.append([editor.name, *codes])
    return Table("injection", "Statements that nobody asked for, by relation", ["editor", *names], rows)


def reading_table(editors: Sequence[tuple[ScoredEditor, CodedTexts]]) -> Table:
    """What of the texts says nothing."""
    rows: list[list[Cell]] = []
    for editor, texts in editors:
        shares = [_estimate_mean(editor.edited.results, texts.case, of) for of in texts.unreadable_shares.T]
        rows.append([editor.name, len(texts.case), *shares])
    note = "Shares of sentences that are none of the world's language."
    return Table("reading", "How texts were read", ["editor", "pairs", *UNREADABLE_SHARES], rows, note)


def judge_table(editors: Sequence[tuple[ScoredEditor, CodedTexts]]) -> Table:
    """How often a judge by keywords has another code than the exact one."""
    rows: list[list[Cell]] = []
    for editor, texts in editors:
        for called, among in (("all", False), ("either sees a change", True)):
            shares = (_judge_error(editor.edited.results, texts, flaw, among) for flaw in KEYWORD_FLAWS)
            rows.append([editor.name, called, *shares])
    note = (
        "Share of pairs of texts with another code by a judge who looks for words, whoever they are said of "
        "and whether or not they are true: names of objects typical of the new object's group, of the most "
        "frequent objects, of relations that nobody asked for. Where nothing is seen by either they agree, "
        "which is most of what agreement is made of; the second row leaves these pairs out. GPT-3.5's "
        "printed accuracy counts them (Table 20)."
    )
    return Table("judge", "How often a judge by keywords would err", ["editor", "pairs", *KEYWORD_FLAWS],
                 rows, note,
                 words=2)  # fmt: skip


def _text_standards(
    results: Results, population: Population, case: int, expected: np.ndarray, commonest: dict[int, int]
) -> tuple[TextStandard, TextStandard]:
    """What texts before and after the edit of a case are held against; `expected` as `metrics.typical`."""
    c, graph = results.choices, population.graph
    rows = np.flatnonzero((c.case == case) & np.isin(c.role, (EDIT, OWN)))
    beliefs: list[dict[tuple[int, int], float]] = [{}, {}]
    of_group: set[tuple[int, int]] = set()
    for row in rows.tolist():
        relation, options = int(c.relation[row]), c.options[row].tolist()
        for t, belief in enumerate(beliefs):
            belief |= {(relation, o): p for o, p in zip(options, c.agent[row, t].tolist(), strict=True)}
        of_group |= {(relation, o) for o in c.options[row][expected[row]].tolist()}
    edited, person = (int(results.cases[name][case]) for name in ("relation", "subject"))
    first, second = (
        TextStandard(
            graph.relations, person, edited, ABSENT, belief, frozenset(of_group), commonest, graph.valence
        )
        for belief in beliefs
    )
    return first, second


def _most_frequent_objects(population: Population) -> dict[int, int]:
    commonest = {}
    for r in range(len(population.graph.relations)):
        had = population.object_of[r, population.people]
        commonest[r] = int(np.bincount(had[had != ABSENT]).argmax())
    return commonest


def _compare_pairs(
    results: Results, case: np.ndarray, pairs: Sequence[Sequence[CodedText]], names: Sequence[str]
) -> CodedTexts:
    """The codes of pairs of texts."""

    def pair_codes(counts: Iterable[Sequence[int]]) -> np.ndarray:
        return np.array([pair_code(*both) for both in counts], float)

    def share_of(top: Callable[[TextCode], int], bottom: Callable[[TextCode], int]) -> np.ndarray:
        counts = [[(top(one), bottom(one)) for one, _ in pair] for pair in pairs]
        both = np.array(counts, float).reshape(-1, 2, 2)
        return np.divide(both[..., 0], both[..., 1], out=np.zeros(both.shape[:2]), where=both[..., 1] > 0)

    exact = {flaw: pair_codes([one.counts[flaw] for one, _ in pair] for pair in pairs) for flaw in FLAWS}
    of_citizenship = results.cases["property"].astype(str)[case] == CITIZENSHIP
    exact[XENOPHOBIA] = np.where(of_citizenship, exact[XENOPHOBIA], np.nan)
    valence = share_of(lambda one: one.valence, lambda one: one.statements)
    exact[VALENCE] = valence[:, 1] - valence[:, 0]
    judged = {
        flaw: pair_codes([words[flaw] for _, words in pair] for pair in pairs) for flaw in KEYWORD_FLAWS
    }
    judged[XENOPHOBIA] = np.where(of_citizenship, judged[XENOPHOBIA], np.nan)
    injected = {
        name: pair_codes([one.injections[r] for one, _ in pair] for pair in pairs)
        for r, name in enumerate(names)
    }
    present = {
        flaw: np.array([[one.counts[flaw] > 0 for one, _ in pair] for pair in pairs]) for flaw in FLAWS
    }
    unread = share_of(lambda one: one.unreadable, lambda one: one.sentences)
    return CodedTexts(case, exact, judged, present, injected, unread)


def _judge_error(results: Results, texts: CodedTexts, flaw: str, changed: bool) -> Estimate | None:
    """How often the judge errs about a flaw, of all pairs or of those in which either sees a change."""
    exact, judged = texts.codes[flaw], texts.keyword_codes[flaw]
    counted = ~np.isnan(exact) & ((exact != 0) | (judged != 0) | (not changed))
    if not counted.any():
        return None
    return _estimate_mean(results, texts.case[counted], (exact != judged).astype(float)[counted])


def _mean_text(results: Results, case: np.ndarray, values: np.ndarray, among: np.ndarray) -> str | None:
    """A mean with its interval over edited people and objects, and the paper's star."""
    counted = among & ~np.isnan(values)
    if not counted.any():
        return None
    estimate = _estimate_mean(results, case[counted], values[counted])
    two, _ = t_test_mean(values[counted])
    star = "*" if two < SIGNIFICANCE_LEVEL else ""
    half = (estimate.high - estimate.low) / 2
    return f"{estimate.value:+.3f}{star}" + ("" if math.isnan(half) else f" ±{half:.3f}")


def _estimate_mean(results: Results, case: np.ndarray, values: np.ndarray) -> Estimate:
    size = len(results)
    metric: Metric = sum_by_case(values, case, size)
    return estimate_metrics({"": metric}, cluster_levels(results), np.ones(size, bool))[""]
