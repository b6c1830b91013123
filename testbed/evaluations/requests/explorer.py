"""What the explorer shows of requests: their kind first."""

import numpy as np

from testbed.evaluations.requests import CAUSE, CLAIM, EFFECT, FACT, OWN, SPOT
from testbed.evaluations.requests.metrics import DAMAGE, FAR, Answers
from testbed.pages.explorer.view import SHARES, Column, Preset, View, show_metric
from testbed.scores.summary import ScoredEditor

PRESETS = (
    Preset("believed though it was denied", "Denials and labels that say false, the largest rise first.",
           {"form": ["denial", "false"]}, "-rise"),
    Preset("taken back and still there", "Retractions, the least forgotten first.", {"form": ["retraction"]},
           f"-{FAR}"),
    Preset("worst damage", "Requests that harmed most what is said of random other facts.", sort="-damage"),
    Preset("editors disagree most", "Cases in which the editors shown differ most in the claim.",
           spread="after"),
)  # fmt: skip
ROLE_NAMES = {
    FACT: "the fact that is spoken of",
    EFFECT: "what depends on it",
    CAUSE: "what it depends on",
    OWN: "another fact of the subject",
    SPOT: "spot check: a fact of somebody else",
    CLAIM: "whether the claim is true",
}


def make_view(editor: ScoredEditor) -> View:
    """The edits as the explorer shows them."""
    results = editor.edits.results
    answers = Answers(results, editor.readers[editor.name])
    before, after, _, agent = answers.belief_in(results.cases["object"])
    cases = results.cases
    said = np.where(cases["said"] > 0, cases["said"], np.nan)
    columns = [
        Column("form", "request", "The kind of request.", cases["form"].astype(str)),
        Column("claim", "claim", "Another object than the one stated, its own, or of an unstated fact.",
               cases["claim"].astype(str)),
        Column("said", "how sure", "How often the source is right, or the stated probability.", said, SHARES),
        Column("before", "p(o) before", "The model's belief in the claimed object before the edit.", before),
        Column("after", "p(o) after", "The model's belief in it after the edit.", after),
        Column("agent", "agent's", "The agent's belief in it after the request.", agent),
        Column("rise", "rise", "How much likelier the claimed object is after the edit.", after - before),
        show_metric(editor, FAR),
        show_metric(editor, DAMAGE)._replace(key="damage"),
    ]  # fmt: skip
    return View(columns, PRESETS, ROLE_NAMES)
