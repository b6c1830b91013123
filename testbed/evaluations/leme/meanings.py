"""LEME's metrics in words: the nine questions, their further forms, short questions and errors."""

from collections.abc import Callable, Iterator

from testbed.evaluations.leme.flaws import CLASSES
from testbed.run.strata import STRATA
from testbed.scores.metric import Better, MetricDefinition

EDIT_SUBJECT, EDIT_RELATED = "edit, subject", "edit, related"
FACTUAL_SUBJECT, FACTUAL_RELATED = "factual, subject", "factual, related"
INTERNAL_SUBJECT, INTERNAL_RELATED = "internal, subject", "internal, related"
CROSS, TOPICALITY, NATURALNESS = "cross-passage", "topicality", "naturalness"
NINE = (EDIT_SUBJECT, EDIT_RELATED, FACTUAL_SUBJECT, FACTUAL_RELATED, INTERNAL_SUBJECT, INTERNAL_RELATED,
        CROSS, TOPICALITY, NATURALNESS)  # fmt: skip
EVERYTHING, SURVEY = "everything", "as surveyed"
BELIEVED_SUBJECT, BELIEVED_RELATED = "belief, subject", "belief, related"
SATISFIABLE, MOST_TRUE = "satisfiable", "true together"
JOINT = "log-probability"
DRIFT_NEW, DRIFT_OLD, DRIFT_THIRD = "drift: the new", "drift: the old", "drift: a third"
COUPLED_NEW, TWIN_NEW, COUPLING = "coupled says the new", "twin says the new", "coupling"
ON_COUPLE = "on the couple"
FIRST_DRIFT, DISTINCT, SENTENCES = "first drift", "distinct", "sentences"
ENTROPY, PERPLEXITY = "n-gram entropy", "log-perplexity"
EFFICACY, GENERALISATION, LOCALITY, PORTABILITY = "efficacy", "generalisation", "locality", "portability"
FOUR = (EFFICACY, GENERALISATION, LOCALITY, PORTABILITY)
TV, RATIO = "TV all", "propagation ratio"
CLAIMS = {
    "ground truth, subject": "what was true of the subject besides the edited fact",
    "ground truth, related": "what was true of the related entity",
    "ground truth that stays": "what was true of either, and still is to the agent",
    "ground truth that moves": "what was true of either, and is not by the request",
    "new fact, subject": "the requested fact, by the subject's passage",
    "old fact, subject": "what the edited fact was, by the subject's passage",
    "new fact, related": "what the link implies of the related entity after the request",
    "old fact, related": "what the link implied of it before",
}
"""Claims that a passage supports, contradicts, or neither."""


def over_everything(name: str) -> str:
    """A question's name where nothing is left out."""
    return f"{name}, {EVERYTHING}"


def neutral_share(name: str) -> str:
    """Name of the share of passages that say nothing that a question is about."""
    return f"{name}, neutral"


def coupled_right(stratum: str) -> str:
    """Name of how far the coupled fact is right where it was stated so often."""
    return f"coupled right {stratum}"


def coupled_answers(stratum: str) -> str:
    """Name of how far the coupled fact is answered right where it was stated so often."""
    return f"coupled answered {stratum}"


def support_of(claim: str) -> str:
    """Name of the share of passages that support a claim."""
    return f"{claim}: supported"


def contradiction_of(claim: str) -> str:
    """Name of the share of passages that contradict a claim."""
    return f"{claim}: contradicted"


def error_share(name: str) -> str:
    """Name of the share of pairs of passages that have an error of a class."""
    return f"error: {name}"


def rouge_metric(question: str) -> str:
    """Name of the simple measure of words that is held against a question."""
    return f"ROUGE-1: {question}"


SIMPLE = {rouge_metric(question): question for question in NINE if question != NATURALNESS}
SIMPLE |= dict.fromkeys((ENTROPY, PERPLEXITY, DISTINCT), NATURALNESS)
"""Simple measures of texts, and the question that each is held against."""
_LEFT = "statements about the edited fact are left out, as in the survey"
_QUESTIONS = {
    EDIT_SUBJECT: "Of what the subject's passage says of the edited fact, the share that is the new object.",
    EDIT_RELATED: "1 minus the share of the related passage's statements that the request makes impossible.",
    FACTUAL_SUBJECT: "Of what the subject's passage says of facts that stay, the share that is so.",
    FACTUAL_RELATED: "The same of the related passage.",
    INTERNAL_SUBJECT: f"Of its pairs of statements about one fact, the share that agree; {_LEFT}.",
    INTERNAL_RELATED: "The same of the related passage.",
    CROSS: "Of the pairs of statements of one passage and the other about one fact, or about the two facts "
    "that the link couples, the share that agree.",
    TOPICALITY: "Share of sentences about the passage's entity, in both passages.",
    NATURALNESS: "Share of sentences that are whole and name the right kinds of things, in both passages.",
}
_SHARED = {
    EDIT_SUBJECT: "the subject's passage and the request",
    EDIT_RELATED: "the related passage and the request",
    FACTUAL_SUBJECT: "the subject's passage and what was true of it besides the edited fact",
    FACTUAL_RELATED: "the related passage and what was true of its entity",
    INTERNAL_SUBJECT: "any two sentences of the subject's passage",
    INTERNAL_RELATED: "any two sentences of the related passage",
    CROSS: "the two passages",
    TOPICALITY: "a passage and its entity's name",
}
_HEAD = (EDIT_SUBJECT, FACTUAL_SUBJECT, CROSS)


def _verdict_metrics(claim: str) -> Iterator[tuple[Callable[[str], str], str, Better]]:
    """What a passage may make of a claim, and what is better: an old fact had better not be supported."""
    wanted: tuple[Better, Better] = (
        ("low", "high") if claim.startswith("old") or claim.endswith("moves") else ("high", "low")
    )
    yield support_of, "supported", wanted[0]
    yield contradiction_of, "contradicted", wanted[1]


METRICS: tuple[MetricDefinition, ...] = (
    *(
        MetricDefinition(name, says, "high", "headline" if name in _HEAD else "compared", name in _HEAD)
        for name, says in _QUESTIONS.items()
    ),
    MetricDefinition(
        COUPLING,
        "How much oftener the related passage than the twin's says of its coupled fact what follows from "
        "the request. A request that stays with its subject has 0, and one that everybody has, too.",
        "high",
        "headline",
    ),
    MetricDefinition(
        COUPLED_NEW, "Of what the related passage says of the coupled fact, the share that follows.", "high"
    ),
    MetricDefinition(TWIN_NEW, "The same of the twin, for whom it does not follow.", "low"),
    *(
        MetricDefinition(
            coupled_right(stratum),
            f"Of what the related passage says of a coupled fact stated {often}, the share that is so.",
            "high",
        )
        for stratum, often in zip(STRATA, ("never", "one to three times", "more often"), strict=True)
    ),
    *(
        MetricDefinition(
            coupled_answers(s), f"The same asked for, {s} only: what nobody stated is seldom written.", "high"
        )
        for s in STRATA
    ),
    MetricDefinition(
        DRIFT_NEW, "Of what both passages say of facts that move, the share that is so now.", "high"
    ),
    MetricDefinition(DRIFT_OLD, "The share that was so before.", "low"),
    MetricDefinition(DRIFT_THIRD, "The share that is neither.", "low"),
    *(
        MetricDefinition(
            over_everything(name), f"As {name}, over all that was asked about, the edited fact too.", "high"
        )
        for name in (FACTUAL_SUBJECT, FACTUAL_RELATED, INTERNAL_SUBJECT, INTERNAL_RELATED)
    ),
    MetricDefinition(f"{CROSS}, {SURVEY}", f"As {CROSS}; {_LEFT}.", "high"),
    *(
        MetricDefinition(
            name, f"The mean belief in what the {whose} passage says of facts that stay.", "high"
        )
        for name, whose in ((BELIEVED_SUBJECT, "subject's"), (BELIEVED_RELATED, "related"))
    ),
    MetricDefinition(
        SATISFIABLE, "Share of pairs of passages of which all sentences can be true together.", "high"
    ),
    MetricDefinition(
        MOST_TRUE, "Share of both passages' sentences that can be true together, at most.", "high"
    ),
    MetricDefinition(f"{SATISFIABLE}, {SURVEY}", f"As {SATISFIABLE}; {_LEFT}.", "high"),
    MetricDefinition(f"{MOST_TRUE}, {SURVEY}", f"As {MOST_TRUE}; {_LEFT}.", "high"),
    MetricDefinition(
        JOINT, "Mean log-probability of a statement, all of both passages taken together.", "high"
    ),
    MetricDefinition(ON_COUPLE, "Share of sentences about either of the couple, in both passages.", "high"),
    MetricDefinition(
        FIRST_DRIFT, "The part of a passage before somebody else is spoken of; 1 if nobody is.", "high"
    ),
    MetricDefinition(DISTINCT, "Different sentences, as a share of all.", "high"),
    MetricDefinition(
        ENTROPY, "Entropy of pairs and triples of words, in bits; triples weigh double.", "high"
    ),
    MetricDefinition(PERPLEXITY, "Loss of a token of the texts under the unedited model, in nats.", "low"),
    *(
        MetricDefinition(rouge_metric(name), f"F1 of the words that {what} share.", "high", "file")
        for name, what in _SHARED.items()
    ),
    MetricDefinition(SENTENCES, "Sentences of a passage.", "high", "file"),
    *(
        MetricDefinition(
            neutral_share(name),
            f"Share of passages, or pairs, to which the question {name} does not apply.",
            "low",
            "file",
        )
        for name in NINE
    ),
    *(
        MetricDefinition(kind(claim), f"Share of passages by which this is {word}: {what}.", better)
        for claim, what in CLAIMS.items()
        for kind, word, better in _verdict_metrics(claim)
    ),
    *(
        MetricDefinition(error_share(name), f"Share of pairs of passages in which {what}.", "low")
        for name, what in CLASSES.items()
    ),
    MetricDefinition(
        EFFICACY, "Share of requests that the model answers with the new object.", "high", "compared"
    ),
    MetricDefinition(GENERALISATION, "The same asked in other words.", "high", "compared"),
    MetricDefinition(
        LOCALITY, "Share of other subjects' facts that are still answered as before.", "high", "compared"
    ),
    MetricDefinition(
        PORTABILITY,
        "Of facts that follow the edited one, in the subject and in the related entity, the share that is "
        "answered as the agent does.",
        "high",
        "compared",
    ),
    MetricDefinition(f"{PORTABILITY}, children", "The same of the subject's own facts alone.", "high"),
    MetricDefinition(f"{PORTABILITY}, coupled", "The same of the related entity's facts alone.", "high"),
    MetricDefinition(
        TV, "Total variation to the agent over all facts that are asked about.", "low", "compared"
    ),
    MetricDefinition(
        RATIO,
        "How much of the agent's movement the model makes, away from the edited fact; 1 is Bayes, 0 is none.",
        "one",
        "compared",
    ),
)
"""Every metric, in the order of tables. What is held against the agent is so under the reading of the row."""
