"""What a model makes of each kind of request, beside the exact agent.

p0 and p1 are the model's distributions before and after the edit, q0 and q1 the agent's, and o the object
that is claimed.
"""

from functools import cached_property, partial

import numpy as np

from corpus.text.hedges import BY_SOURCE, WITH_PROBABILITY
from testbed.engine.results import Results
from testbed.evaluations.leme.readers import model_passages
from testbed.evaluations.leme.statements import statements_of
from testbed.evaluations.requests import CAUSE, CLAIMS, DENYING, EFFECT, FACT, FORMS, GRADED, OWN, RATED, SPOT
from testbed.protocol import ABSENT
from testbed.scores import readers
from testbed.scores.distances import sum_last_axis
from testbed.scores.metric import DISTANCE, Metric, MetricDefinition, mean_of, sum_by_case
from testbed.scores.movement import Movement
from testbed.scores.readers import FREQUENCY, NO_EDIT, Reader, reference_readers

SLOPE, ARRIVED, LABEL, RATING, WRITTEN, CONSEQUENCE = (
    "slope", "arrived", "arrived.label", "arrived.probability", "arrived.passages", "arrived.consequences",
)  # fmt: skip
APART = "apart"
CHANNELS = (ARRIVED, LABEL, RATING, WRITTEN, CONSEQUENCE)
"""Where the change of one belief shows."""
RISES, KEPT, FAR, FAR_BESIDE = ("denied_believed", "both_kept", "distance", "distance.cause_and_effect")
DAMAGE, OWN_DAMAGE = "damage", "damage.own_facts"
DEDUCIBLE, NOT_DEDUCIBLE = "retraction, deducible", "retraction, not deducible"
NOTICED = 0.01
"""By so much a probability rises where it counts as risen."""
_TINY = 1e-12


def make_readers(results: Results, editor: str) -> dict[str, Reader]:
    """The edited model with what it writes, and the usual references.

    Corpus frequencies, which know no such requests, are none of these.
    """
    known = {name: r for name, r in reference_readers(results, editor).items() if name != FREQUENCY}
    before, after = (model_passages(results, when) for when in (0, 1))
    return known | {
        name: known[name]._replace(texts=texts) for name, texts in ((editor, after), (NO_EDIT, before))
    }


def make_subsets(results: Results) -> dict[str, np.ndarray]:
    """bool[E] of each part: by form, by form and claim, and retractions of what can be deduced or not."""
    form, claim = (results.cases[name].astype(str) for name in ("form", "claim"))
    masks = {"all": np.ones(len(results), bool)} | {one: form == one for one in FORMS}
    masks |= {f"{one}, {kind}": (form == one) & (claim == kind) for one in FORMS for kind in CLAIMS}
    deducible = results.cases["deducible"].astype(bool)
    masks[DEDUCIBLE] = masks["retraction"] & deducible
    masks[NOT_DEDUCIBLE] = masks["retraction"] & ~deducible
    return {name: mask for name, mask in masks.items() if name == "all" or mask.any()}


class Answers(readers.Answers):
    """One reader's answers, and its belief in the object that is claimed."""

    @cached_property
    def fact_row(self) -> np.ndarray:
        """int64[E]: the choice of each case that asks for the fact itself."""
        rows = np.flatnonzero(self.has_role(FACT))
        places = np.zeros(len(self.results), int)
        places[self.choices.case[rows]] = rows
        return places

    def belief_in(self, objects: np.ndarray) -> np.ndarray:
        """float64[4, E]: p0, p1, q0 and q1 of an object of each fact, int[E]."""
        row = self.fact_row
        is_object = self.choices.options[row] == objects[:, None]
        both = (self.reader.start, self.reader.probability, self.old_belief, self.belief)
        return np.stack([p[row].sum(axis=1, where=is_object) for p in both])

    @cached_property
    def changes(self) -> tuple[np.ndarray, np.ndarray]:
        """float64[E] twice: how much likelier the claimed object is to the reader and to the agent."""
        before, after, old, new = self.belief_in(self.cases["object"])
        return after - before, new - old

    @property
    def is_agent(self) -> bool:
        """Whether the reader is the agent: who begins with its beliefs."""
        return np.array_equal(self.reader.start, self.old_belief)

    def has_form(self, *forms: str) -> np.ndarray:
        """bool[E]: the cases of some forms."""
        return np.isin(self.cases["form"].astype(str), forms)


def slope(answers: Answers) -> Metric:
    """The slope of p1(o) - p0(o) on q1(o) - q0(o), over all that is told of one claim in one form.

    Both changes are taken from the agent's mean change in that form, which cases have as "centre".
    """
    mine, rational = answers.changes
    centre, graded = answers.cases["centre"], answers.has_form(*GRADED)
    rational = rational - centre
    return Metric(np.where(graded, rational * (mine - centre), 0.0), np.where(graded, rational**2, 0.0))


def requests_apart(answers: Answers) -> Metric:
    """The slope over all that is told of one claim, in whichever form.

    The agent's change is taken from its mean over all of them, which cases have as "middle".
    """
    mine, rational = answers.changes
    rational = rational - answers.cases["middle"]
    return Metric(rational * mine, rational**2)


def change_arrived(answers: Answers) -> Metric:
    """Sum of the products of both changes by the sum of the agent's squared."""
    mine, rational = answers.changes
    return Metric(mine * rational, rational**2)


def label_arrived(answers: Answers) -> Metric:
    """The same of p(true) of the claim, as a share of p(true) + p(false)."""
    claims, reader = answers.results.claims, answers.reader
    mine, rational = np.zeros(len(answers.results)), answers.changes[1]
    if reader.claims is None:
        return Metric(mine, np.zeros_like(mine))
    before = claims.agent[:, 0] if answers.is_agent else _share_true(claims.lm[:, 0])
    mine[claims.case] = _share_true(reader.claims) - before
    return Metric(mine * rational, rational**2)


def passages_arrived(answers: Answers) -> Metric:
    """The same of the share of what passages say of the fact that names o, where they speak of it."""
    mine, rational = answers.changes
    if not answers.is_agent:
        texts = answers.reader.texts
        before = share_written(answers.results, model_passages(answers.results, 0))
        mine = (
            np.full(len(before), np.nan) if texts is None else share_written(answers.results, texts) - before
        )
    speaks = np.isfinite(mine)
    return Metric(np.where(speaks, mine, 0.0) * rational, np.where(speaks, rational**2, 0.0))


def share_written(results: Results, texts: np.ndarray) -> np.ndarray:
    """float64[E]: of what a case's texts say of its fact, the share that names the claimed object.

    What is hedged says nothing for certain. NaN where nothing is said of the fact.

    Args:
        texts: object[P] of lines.
    """
    cases, counts = results.cases, np.zeros((len(results), 2))
    facts = list(zip(cases["subject"].tolist(), cases["relation"].tolist(), strict=True))
    for case, lines in zip(results.passages.case.tolist(), texts, strict=True):
        plain = [line for line in lines if not line.text.startswith((BY_SOURCE, WITH_PROBABILITY))]
        objects = [s.object for s in statements_of(plain) if s.holds and s.fact == facts[case]]
        counts[case] += objects.count(int(cases["object"][case])), len(objects)
    named, said_of_it = counts.T
    return np.divide(named, said_of_it, out=np.full(len(results), np.nan), where=said_of_it > 0)


def distributions_arrived(answers: Answers, role: str) -> Metric:
    """The same of whole distributions over the questions of a role, as inner products."""
    mine = answers.reader.probability - answers.reader.start
    rational = answers.belief - answers.old_belief
    return answers.ratio_over(
        sum_last_axis(mine * rational), sum_last_axis(rational**2), answers.has_role(role)
    )


def denied_believed(answers: Answers) -> Metric:
    """Share of denials and of labels "false" after which o is likelier."""
    return mean_of(answers.changes[0] > NOTICED, answers.has_form(*DENYING))


def both_kept(answers: Answers) -> Metric:
    """Entropy of the two possibilities after a disjunction, by the agent's."""
    first, second = (answers.belief_in(answers.cases[name])[[1, 3]] for name in ("object", "second"))
    share = first / np.maximum(first + second, _TINY)
    entropy = -sum(p * np.log(np.maximum(p, _TINY)) for p in (share, 1 - share))
    among = answers.has_form("disjunction") & (answers.cases["second"] != ABSENT)
    mine, rational = np.where(among, entropy, 0.0)
    return Metric(mine, rational)


def _share_true(p: np.ndarray) -> np.ndarray:
    return p[:, 0] / np.maximum(p.sum(axis=1), _TINY)


def _distance(answers: Answers, *roles: str) -> Metric:
    case, among = answers.choices.case, answers.has_role(*roles)
    return sum_by_case(answers.distance, case, len(answers.results), among)._replace(limits=DISTANCE)


def _damage(answers: Answers, role: str) -> Metric:
    return Movement(answers, answers.has_role(role)).damage


METRICS = (
    MetricDefinition(
        APART,
        "Slope of the model's change of belief in a claim on the agent's, over all that is told of it in any "
        "form. Whoever changes alike whatever is told has 0.",
        "one", "headline", compute=requests_apart, needs_edit=True, label="tells requests apart",
    ),
    MetricDefinition(
        ARRIVED,
        "How much of the agent's change of belief in the claimed object the model makes: the sum of the "
        "products of both changes by that of the agent's squared.",
        "one", "compared", compute=change_arrived, needs_edit=True, label="change that arrived",
    ),
    MetricDefinition(
        SLOPE,
        "Slope of the model's change of belief on the agent's, over what sources of different reliability, "
        "or different stated probabilities, say of one claim. Whoever believes all alike has 0.",
        "one", "headline", compute=slope, needs_edit=True,
    ),
    MetricDefinition(
        RISES,
        "Share of denials, and of labels that say false, after which the claim is likelier by 0.01.",
        "low", "headline", compute=denied_believed, needs_edit=True, label="believes what it denies",
    ),
    MetricDefinition(
        FAR, "Total variation between the model and the agent over the fact, after the request.",
        "low", "compared", compute=lambda a: _distance(a, FACT),
    ),
    MetricDefinition(
        DAMAGE, "How much farther from the agent random facts of other subjects are than before the edit.",
        "low", "headline", compute=lambda a: _damage(a, SPOT), needs_edit=True,
    ),
    MetricDefinition(
        KEPT, "After one of two was said to be so: the entropy of the two in the model by that in the agent.",
        "one", "compared", compute=both_kept, needs_edit=True, label="both kept",
    ),
    MetricDefinition(
        LABEL, "How much of the agent's change of belief arrives in p(true) of the claim.",
        "one", "table", compute=label_arrived, needs_edit=True, label="that arrived in the label",
    ),
    MetricDefinition(
        RATING,
        'How much of the agent\'s change arrives in what is said "with probability 0.9" of the fact.',
        "one", "table", compute=partial(distributions_arrived, role=RATED), needs_edit=True,
        label="that arrived behind a probability",
    ),
    MetricDefinition(
        WRITTEN,
        "How much of the agent's change arrives in passages: in the share of their plain statements of the "
        "fact that names the claimed object, where they speak of it before the edit and after it.",
        "one", "table", compute=passages_arrived, needs_edit=True, label="that arrived in passages",
    ),
    MetricDefinition(
        CONSEQUENCE, "How much of the agent's change arrives in what depends on the fact.",
        "one", "table", compute=partial(distributions_arrived, role=EFFECT), needs_edit=True,
        label="that arrived in consequences",
    ),
    MetricDefinition(
        FAR_BESIDE, "The distance over what the fact depends on, and what depends on it.",
        "low", "table", compute=lambda a: _distance(a, CAUSE, EFFECT), label="distance of cause and effect",
    ),
    MetricDefinition(
        OWN_DAMAGE, "Damage at other facts of the subject.",
        "low", "table", compute=lambda a: _damage(a, OWN), needs_edit=True, label="damage: own facts",
    ),
)  # fmt: skip
