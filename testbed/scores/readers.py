"""Who answers an evaluation's questions: the model, and references that bound it (design.md 6)."""

from typing import NamedTuple

import numpy as np

from testbed.engine.results import Results

BEFORE_EDIT, NO_EDIT = "before edit", "no edit"
FREQUENCY, PERFECT, BAYESIAN = "frequency reader", "perfect revision", "Bayesian reader"
CHANCE = "chance"
READERS = {
    BEFORE_EDIT: "the model and the agent, both before",
    NO_EDIT: "the unedited model against the agent after the edit",
    FREQUENCY: "an ideal model that answers with corpus frequencies, the request copied in with its weight",
    PERFECT: "this model, had it become the agent; from other beliefs it has another way to go",
    BAYESIAN: "the agent itself",
    CHANCE: "whoever takes one of the options at random",
}
"""What each reference row is, for people."""


class Reader(NamedTuple):
    """Answers to all questions of some results, whose choices are N and claims M.

    Attributes:
        probability: float64[N, C], the distribution over each choice's options.
        answer: int64[N], the most probable or generated object.
        claims: float64[M, 2] of true and false, or None where it gives no truth values.
        start, start_answer: probability and answer before the edit.
        time: with which of the agent's beliefs it is compared, 0 for those before the edit.
        texts: object[P], what it writes where cases ask for passages: tuples of sentences as they were read,
            see `corpus.text.reading.Line`; None where the evaluation has not said.
        losses: float64[P], of a token of each text under the unedited model; NaN of no tokens.
    """

    probability: np.ndarray
    answer: np.ndarray
    claims: np.ndarray | None
    start: np.ndarray
    start_answer: np.ndarray
    time: int
    texts: np.ndarray | None = None
    losses: np.ndarray | None = None


def reference_readers(results: Results, editor: str, reading: int = 1) -> dict[str, Reader]:
    """The edited model under its name, and what to hold it against: READERS.

    Args:
        reading: which of the agent's beliefs after the edit is the standard, from 1.
    """
    c, logic = results.choices, results.claims
    lm, frequency, agent = (np.moveaxis(x, 1, 0) for x in (c.lm, c.frequency, c.agent))
    tops = [np.take_along_axis(c.options, f.argmax(-1)[:, None], -1)[:, 0] for f in frequency]
    generated_answers = np.moveaxis(c.lm_answer, -1, 0)
    agent_answer, believed = c.agent_answer[:, reading], logic.agent[:, reading]
    true = np.stack([believed, 1 - believed], axis=-1)
    return {
        BEFORE_EDIT: Reader(lm[0], generated_answers[0], logic.lm[:, 0], lm[0], generated_answers[0], 0),
        editor: Reader(lm[1], generated_answers[1], logic.lm[:, 1], lm[0], generated_answers[0], reading),
        NO_EDIT: Reader(lm[0], generated_answers[0], logic.lm[:, 0], lm[0], generated_answers[0], reading),
        FREQUENCY: Reader(frequency[reading], tops[reading], None, frequency[0], tops[0], reading),
        BAYESIAN: Reader(agent[reading], agent_answer, true, agent[0], c.agent_answer[:, 0], reading),
        PERFECT: Reader(agent[reading], agent_answer, true, lm[0], generated_answers[0], reading),
    }
