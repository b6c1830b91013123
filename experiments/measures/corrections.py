"""What passages say after corrections, injections and updates, under two interpretations of an edit."""

from collections.abc import Iterator, Sequence

from corpus.seeds import generator
from testbed.engine.results import cluster_levels
from testbed.evaluations.leme import metrics as m
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.statistics import Comparison, Estimate, compare_metrics, estimate_metrics
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table

KINDS = (m.CORRECTION, m.INJECTION, m.UPDATE)
CHANGED, WRONG = 1, 2
"""The interpretations, as times of an editor's results."""
SHOWN = (
    (m.EDIT_SUBJECT, CHANGED), (m.FACTUAL_SUBJECT, CHANGED), (m.FACTUAL_SUBJECT, WRONG),
    (m.FACTUAL_RELATED, WRONG), (m.INTERNAL_SUBJECT, CHANGED), (m.CROSS, CHANGED), (m.EFFICACY, CHANGED),
)  # fmt: skip
"""What is asked, and under which interpretation facts are right."""
AGENTS = (BAYESIAN, f"{BAYESIAN}, correction")
"""Who writes what the agent believes: after the world changed, and after what was stated was wrong."""


def estimate_kinds(editor: ScoredEditor, reader: str) -> dict[str, dict[tuple[str, int], Estimate]]:
    """What one reader says by kind of edit, as SHOWN."""
    results = editor.edits.results
    reader_of = editor.evaluation.readers(results, editor.name)[reader]
    answers = {time: m.Answers(results, reader_of._replace(time=time)) for time in (CHANGED, WRONG)}
    compute = {one.id: one.compute for one in m.METRICS}
    computed = {(name, time): compute[name](answers[time]) for name, time in SHOWN}
    shown = {one: metric for one, metric in computed.items() if metric is not None}
    parts, levels = m.make_subsets(results), cluster_levels(results)
    return {kind: estimate_metrics(shown, levels, parts[kind]) for kind in KINDS}


def compare_agreement(editor: ScoredEditor) -> dict[str, Comparison]:
    """By kind of edit, how much more the two passages agree after it than without it."""
    results, rng = editor.edits.results, generator(editor.edits.seed, "corrections")
    edited, unedited = (editor.values[reader][m.CROSS] for reader in (editor.name, NO_EDIT))
    parts, levels = m.make_subsets(results), cluster_levels(results)
    return {kind: compare_metrics(edited, unedited, levels, parts[kind], rng) for kind in KINDS}


def title_of(metric: str, time: int) -> str:
    """A column's title: the interpretation is told where it matters."""
    is_judged = metric in (m.FACTUAL_SUBJECT, m.FACTUAL_RELATED)
    return f"{metric}, {'one was wrong' if time == WRONG else 'the world changed'}" if is_judged else metric


def correction_tables(editors: Sequence[ScoredEditor]) -> Iterator[Table]:
    """What passages say, a row for each editor and kind of edit."""
    by_reader = {one.name: estimate_kinds(one, one.name) for one in editors}
    by_reader |= {name: estimate_kinds(editors[0], name) for name in AGENTS}
    more = {one.name: compare_agreement(one) for one in editors if one.name != "none"}
    rows: list[list[Cell]] = [
        [name, kind, *of_kind.values(), more.get(name, {}).get(kind)]
        for name, of_name in by_reader.items()
        for kind, of_kind in of_name.items()
    ]
    note = "± is half of a 95% interval over subjects."
    header = [
        "editor",
        "kind",
        *(title_of(*shown) for shown in SHOWN),
        f"{m.CROSS}, more than without an edit",
    ]
    yield Table("corrections", "What passages say, by kind of edit", header, rows, note, words=2)
