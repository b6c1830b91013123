"""The tables of requests: what each kind does, slopes, what is taken back."""

from collections.abc import Mapping, Sequence

import numpy as np

from testbed.engine.results import cluster_levels
from testbed.evaluations.requests import CLAIMS, FORMS, GRADED
from testbed.evaluations.requests.metrics import (
    ARRIVED,
    CHANNELS,
    CONSEQUENCE,
    DAMAGE,
    DEDUCIBLE,
    FAR,
    FAR_BESIDE,
    KEPT,
    LABEL,
    NOT_DEDUCIBLE,
    OWN_DAMAGE,
    SLOPE,
    Answers,
)
from testbed.scores.metric import DISTANCE, mean_of
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.summary import ScoredEditor, rows_in_contest
from testbed.scores.tables import Cell, Table, better_of

TOLD = ("assertion", "true", "probability", "replacement")
"""Forms whose channels are shown."""
MEANS = ("model before", "model after", "agent before", "agent after")


def estimate_beliefs(editor: ScoredEditor, among: np.ndarray) -> Mapping[str, Estimate]:
    """The mean belief of model and agent in the claimed object over some cases, before and after.

    Args:
        among: bool[E].
    """
    results = editor.edits.results
    answers = Answers(results, editor.evaluation.readers(results, editor.name)[editor.name])
    beliefs = answers.belief_in(results.cases["object"])
    metrics = {name: mean_of(p)._replace(limits=DISTANCE) for name, p in zip(MEANS, beliefs, strict=True)}
    return estimate_metrics(metrics, cluster_levels(results), among)


def form_table(editors: Sequence[ScoredEditor]) -> Table:
    """A row for each kind of request, of claim and editor: beliefs, and how much of the change arrived."""
    metrics = [ARRIVED, LABEL, CONSEQUENCE, DAMAGE]
    rows: list[list[Cell]] = []
    for form in FORMS:
        for claim in CLAIMS:
            part = f"{form}, {claim}"
            for e in editors:
                if part not in e.summary:
                    continue
                cases = e.edits.results.cases
                among = (cases["form"].astype(str) == form) & (cases["claim"].astype(str) == claim)
                beliefs = estimate_beliefs(e, among)
                cells = [beliefs[name] for name in (MEANS[0], MEANS[1], MEANS[3])]
                rows.append([form, claim, e.name, *cells, *(e.summary[part][e.name].get(m) for m in metrics)])
    note = (
        "p(o) is the belief in the claimed object. Claims: another object than the one that is stated, its "
        "own, or an object of a fact that nobody states. The change that arrived is 1 for the agent."
    )
    return Table(
        "forms",
        "What each kind of request does",
        ["request", "claim", "editor", "p(o) before", "p(o) after", "agent's after", *metrics],
        rows,
        note,
        words=3,
    )


def slope_table(editors: Sequence[ScoredEditor]) -> Table | None:
    """Slopes on what sources and stated probabilities should change; None where nobody was told any."""
    parts = [p for form in GRADED for p in (form, *(f"{form}, {c}" for c in CLAIMS)) if _all_have(editors, p)]
    if not parts:
        return None
    readers = [*((e, e.name) for e in editors), (editors[0], BAYESIAN)]
    rows: list[list[Cell]] = [
        [reader, part, e.summary[part][reader].get(SLOPE), e.summary[part][reader].get(DAMAGE)]
        for part in parts
        for e, reader in readers
    ]
    note = "0: all are believed alike; 1: as far as the agent believes them. Damage is over the same edits."
    return Table(
        "slopes",
        "Is it believed as far as it should be?",
        ["who", "told", SLOPE, DAMAGE],
        rows,
        note,
        words=2,
    )


def retraction_table(editors: Sequence[ScoredEditor]) -> Table | None:
    """The distance to the agent that was never told, deducible facts apart; None without retractions."""
    parts = [p for p in ("retraction", DEDUCIBLE, NOT_DEDUCIBLE) if _all_have(editors, p)]
    if not parts:
        return None
    metrics = (FAR, FAR_BESIDE, DAMAGE, OWN_DAMAGE)
    readers = [*((e, e.name) for e in editors), (editors[0], NO_EDIT), (editors[0], BAYESIAN)]
    rows: list[list[Cell]] = [
        [
            reader,
            part,
            int(e.summary[part][reader][FAR].cases),
            *(e.summary[part][reader].get(m) for m in metrics),
        ]
        for part in parts
        for e, reader in readers
    ]
    note = (
        "Total variation to the agent that never read the sentences in question. Deducible: it gives the "
        "same answer without them, from what else is known."
    )
    return Table(
        "retractions",
        "Is what was taken back as if never told?",
        ["who", "taken back", "cases", *metrics],
        rows,
        note,
        words=2,
        better={m: b for m, b in better_of(editors[0].evaluation.metrics).items() if m in metrics},
    )


def channel_table(editors: Sequence[ScoredEditor]) -> Table | None:
    """Where a request arrives: in p(o), labels, what is said with a probability, passages, consequences."""
    rows: list[list[Cell]] = [
        [form, e.name, *(e.summary[f"{form}, other"][e.name].get(m) for m in CHANNELS)]
        for form in TOLD
        for e in editors
        if f"{form}, other" in e.summary
    ]
    note = (
        "Of the agent's change of belief in a claim against what is stated: how much arrives in p(o), in "
        'p("true") of the claim, in what is said "with probability 0.9" of the fact, in what passages about '
        "the subject say, and in what depends on the fact. 1 is rational."
    )
    header = ["told", "editor", *CHANNELS]
    return Table("channels", "What arrives where?", header, rows, note, words=2) if rows else None


def disjunction_table(editors: Sequence[ScoredEditor]) -> Table | None:
    """Whether both possibilities are kept; None where nobody was told one of two."""
    if not _all_have(editors, "disjunction"):
        return None
    metrics = (KEPT, FAR, DAMAGE)
    readers = [*((e, e.name) for e in editors), (editors[0], NO_EDIT), (editors[0], BAYESIAN)]
    rows: list[list[Cell]] = [
        [reader, *(e.summary["disjunction"][reader].get(m) for m in metrics)] for e, reader in readers
    ]
    title = "Are both possibilities kept?"
    return Table("disjunctions", title, ["who", *metrics], rows, contest=rows_in_contest(editors))


def _all_have(editors: Sequence[ScoredEditor], part: str) -> bool:
    return all(part in e.summary for e in editors)
