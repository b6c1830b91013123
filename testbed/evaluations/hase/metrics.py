"""Hase's metrics: how close an edited model comes to the agent, and to coherence (design.md 6).

At each of PLACES: "right", whether the answer is as good as the agent's; "tv", "js" and "kl", how far the
distribution is from the agent's. s1r2 counts where it depends on s1r1. "error" is |p - q| of one object, the
same before and after. How distributions moved is `testbed.scores.movement`, over all questions but the
request's own and spot checks; damage is that of spot checks, of which no editor was told.
"""

from collections.abc import Callable

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.dutch_book import LOGIC, sure_loss
from testbed.evaluations.hase import CHILD, CONTRADICTS, INDEPENDENT, KIN, REPLACED, REQUEST, SPOT_CHECKS
from testbed.evaluations.hase.places import (
    ABOUT,
    DAMAGE_PLACES,
    NEIGHBOURS,
    PLACE_NAMES,
    PLACES,
    RANDOM_OTHERS,
)
from testbed.evaluations.held_out import held_out_subsets
from testbed.evaluations.sets import define_set_metrics, make_set_subsets
from testbed.protocol import ABSENT
from testbed.run.strata import STRATA, SUPPORT_BINS, support_bin
from testbed.scores import readers
from testbed.scores.cores import lazy_property
from testbed.scores.distances import divergences, total_variation
from testbed.scores.metric import (
    DISTANCE,
    Better,
    Metric,
    MetricDefinition,
    Place,
    make_id,
    mean_of,
    sum_by_case,
)
from testbed.scores.movement import Movement
from testbed.scores.readers import has_to_change, is_as_good
from testbed.scores.recalibration import recalibrate_readers

NEAR = 0.1

SUCCESS, RATIO, SKILL = "success", "propagation_ratio", "skill"
SKILL_MOVED, SKILL_STILL, SKILL_SPOT = "skill.moved", "skill.still", "skill.spot_checks"
SKILL_RECALIBRATED = "skill.recalibrated"
DAMAGE, SPILL, DUTCH_BOOK, TRUTH_VALUES = "damage", "spill", "dutch_book", "truth_values"
SURE_LOSS = "dutch_book.answer"


def name_at(kind: str, place: str) -> str:
    """The metric of one kind at a place, as in "right.consequence"."""
    return KEPT if (kind, place) == ("right", RANDOM_OTHERS) else f"{kind}.{make_id(_call_place(place))}"


def _call_place(place: str) -> str:
    return PLACE_NAMES.get(place, place)


KEPT = "kept"
MUST_CHANGE = {role: f"follows.{make_id(_call_place(role))}" for role in KIN} | {CHILD: "follows"}
MUST_STAY = {role: f"stays.{make_id(_call_place(role))}" for role in KIN} | {CHILD: "stays"}
FOLLOWS, STAYS, GAINED, FOLLOWS_RIGHT = "follows", "stays", "gained", "follows.right_before"
FALSE_CHANGE_PLACES = (CHILD, INDEPENDENT, NEIGHBOURS, RANDOM_OTHERS)
"""Where answers are counted that changed though the agent's did not."""
CHANGES, FIXES, WAS_NEAR = "answer changes", "fixes an error", "initially near the agent"
REPEATS = "repeats the truth"
_NOT_COUNTED = (REQUEST, REPLACED, *SPOT_CHECKS)
_IN_TABLES = (REQUEST, REPLACED, CHILD, INDEPENDENT, NEIGHBOURS, RANDOM_OTHERS)


def rows_of_role(results: Results, role: str) -> np.ndarray:
    """int64[E]: the row of each case's choice of a role that no case has twice; ABSENT where it has none."""
    rows = np.full(len(results), ABSENT)
    mine = np.flatnonzero(results.choices.role == role)
    rows[results.choices.case[mine]] = mine
    return rows


def claims_by_case(results: Results, values: np.ndarray) -> np.ndarray:
    """Values of claims, [M, ...], as [E, len(LOGIC), ...]; nan where a case lacks one."""
    c = results.claims
    table = np.full((len(results), len(LOGIC), *values.shape[1:]), np.nan)
    for i, name in enumerate(LOGIC):
        mine = c.role == name
        table[c.case[mine], i] = values[mine]
    return table


def make_subsets(results: Results) -> dict[str, np.ndarray]:
    """bool[E] of every part: the paper's, by what the edit is, and by support.

    Support is that of the new object, in contradicting edits only: repeating a truth implies nothing new.
    What imagine and revise documents could not be about is held out; where there are none, nobody asks.
    """
    s, c, first = results.cases, results.choices, rows_of_role(results, REQUEST)
    right = c.lm_answer[first, 0] == s["truth"]
    close = total_variation(c.lm[first, 0], c.agent[first, 0]) < NEAR
    changing = c.case[has_to_change(c) & (c.role == CHILD)]
    masks = {
        "all": np.ones(len(right), bool),
        CHANGES: np.isin(np.arange(len(right)), changing),
        FIXES: ~right & s["reinforces"],
        WAS_NEAR: right & close,
        REPEATS: s["reinforces"],
        CONTRADICTS: ~s["reinforces"],
    }
    bins = support_bin(s["support_new"])
    masks |= {f"support {name}": (bins == i) & ~s["reinforces"] for i, name in enumerate(SUPPORT_BINS)}
    masks |= {f"stated {name}": (s["stratum"] == name) & s["child"] for name in STRATA}
    return masks | make_set_subsets(results) | held_out_subsets(s)


def make_readers(results: Results, editor: str) -> dict[str, readers.Reader]:
    """The edited model under its editor's name, and the usual references, with temperatures for skill."""
    known = readers.reference_readers(results, editor)
    return recalibrate_readers(results, known, ~np.isin(results.choices.role, _NOT_COUNTED))


class Answers(readers.Answers):
    """What metrics are computed from: answers by place, which of them changed or must, and truth values."""

    @lazy_property
    def at(self) -> dict[str, np.ndarray]:
        """bool[N] of the choices at each of PLACES; not s1r2 where it does not depend on s1r1."""
        return self.once("places", self._find_places)

    def _find_places(self) -> dict[str, np.ndarray]:
        counts = (self.choices.role != CHILD) | self.cases["child"][self.choices.case]
        return {place: counts & self.has_role(*roles) for place, roles in PLACES.items()}

    @lazy_property
    def must_change(self) -> np.ndarray:
        """bool[N]: whether the agent's answer before the edit is none of its best after it."""
        return self.once("must change", lambda: has_to_change(self.choices))

    @lazy_property
    def was_right(self) -> np.ndarray:
        """bool[N]: whether the reader's answer before the edit was one of the agent's best before it."""
        return is_as_good(self.choices, self.reader.start_answer, 0)

    @lazy_property
    def has_changed(self) -> np.ndarray:
        """bool[N]: whether the answer changed; not from one to another that the agent finds the best."""
        before_as_good = is_as_good(self.choices, self.reader.start_answer, 1)
        return (self.reader.answer != self.reader.start_answer) & ~(self.is_right & before_as_good)

    @lazy_property
    def movement(self) -> Movement:
        """Over all choices but what is requested and spot checks."""
        return Movement(self, ~self.has_role(*_NOT_COUNTED))

    @lazy_property
    def movement_of_spot_checks(self) -> Movement:
        """Over the choices that no editor was told of."""
        return Movement(self, self.has_role(*SPOT_CHECKS))

    def damage_at(self, place: str) -> Metric:
        """The damage at one of DAMAGE_PLACES."""
        return Movement(self, self.has_role(*DAMAGE_PLACES[place])).damage

    @lazy_property
    def distances(self) -> dict[str, np.ndarray]:
        """float64[N] by kind: from the agent's distribution, or whether the answer is its."""
        js, kl = divergences(self.reader.probability, self.belief)
        return {"right": self.is_right, "tv": self.distance, "js": js, "kl": kl}

    def object_error(self, obj: np.ndarray, place: str) -> Metric:
        """|p - q| of one object of each choice at a place, int[N]."""
        c, here = self.choices, np.flatnonzero(self.at[place])
        is_named = c.options[here] == obj[here, None]
        gap = np.abs(self.reader.probability[here] - self.belief[here]).sum(-1, where=is_named)
        error = sum_by_case(gap, c.case[here], len(self.results), is_named.any(-1))
        return error._replace(limits=DISTANCE)

    @lazy_property
    def selective_propagation(self) -> Metric:
        """The F1 score 2 TP / (2 TP + FP + FN) over dependent answers s1r2.

        TP: both changed, to the same answer. FN: the agent's changed and the reader's did not follow. FP: the
        reader's changed, to whatever, though the agent's did not. An edit that moves everything thus gains
        little over one that moves nothing.
        """
        case, size, child, must = self.choices.case, len(self.results), self.at[CHILD], self.must_change
        true = must & self.has_changed & self.is_right
        twice = 2 * np.bincount(case[child & true], minlength=size).astype(float)
        wrong = np.bincount(case[child & (must & ~true | ~must & self.has_changed)], minlength=size)
        return Metric(twice, twice + wrong, share=True)

    @lazy_property
    def gain_of_answers(self) -> Metric:
        """Mean of answers to s1r2 that are right after the edit and were not, less those that only were."""
        was_right = is_as_good(self.choices, self.reader.start_answer, self.reader.time)
        change = self.is_right.astype(float) - was_right
        return self.mean_over(change, self.at[CHILD])._replace(limits=(-1.0, 1.0))

    @lazy_property
    def distance_of_claims(self) -> Metric:
        """Total variation between the reader's truth values and the agent's belief, over claims."""
        claims, size = self.results.claims, len(self.results)
        if self.reader.claims is None:
            return mean_of(np.zeros(size), among=False)
        believed = claims.agent[:, self.reader.time]
        gap = total_variation(self.reader.claims, np.stack([believed, 1 - believed], axis=-1))
        return sum_by_case(gap, claims.case, size)

    @lazy_property
    def violations(self) -> dict[str, Metric]:
        """Residuals of the axioms of probability in the reader's truth values (Hase A.5), and their price.

        "and" and "or" take A and B to be independent, as the corpus makes them; the Dutch-book loss asks for
        the laws of probability only, and of all eight statements together.
        """
        if self.reader.claims is None:
            nothing = mean_of(np.zeros(len(self.results)), among=False)
            return dict.fromkeys([*_LAWS, DUTCH_BOOK, SURE_LOSS], nothing)
        c, request = self.choices, rows_of_role(self.results, REQUEST)
        requested = c.options[request] == self.cases["object"][:, None]
        p_request = self.reader.probability[request].sum(-1, where=requested)
        truth_values = claims_by_case(self.results, self.reader.claims)
        a, not_a, a_and_b, b_and_a, a_or_b, b, not_b, b_or_a = truth_values[..., 0].T
        residuals = (
            a - p_request,
            not_a - (1 - a),
            a_and_b - a * b,
            a_or_b - (a + b - a * b),
            a_and_b - b_and_a,
            truth_values.sum(-1).mean(1) - 1,
            not_b - (1 - b),
            b_or_a - (a + b - a * b),
        )
        means = {law: mean_of(np.abs(r)) for law, r in zip(_LAWS, residuals, strict=True)}
        means |= {DUTCH_BOOK: mean_of(sure_loss(truth_values))}
        means |= {SURE_LOSS: mean_of(sure_loss(truth_values, p_request))}
        return {name: mean._replace(limits=(0.0, np.inf)) for name, mean in means.items()}


def law_name(law: str) -> str:
    """The metric of violations of a law."""
    return f"logic.{make_id(law)}"


_LAWS = {
    "TF": "p(\u201cA\u201d is true) against p(A)",
    "not": "p(not A) against 1 - p(A)",
    "and": "p(A and B) against p(A) p(B); A and B are independent",
    "or": "p(A or B) against p(A) + p(B) - p(A) p(B)",
    "commute": "p(A and B) against p(B and A)",
    "sum": "p(true) + p(false) against 1",
    "not B": "p(not B) against 1 - p(B); B is a statement about another subject",
    "B or A": "p(B or A) against p(A) + p(B) - p(A) p(B)",
}
_ERRORS: dict[str, tuple[str, Callable[[Answers], Metric]]] = {
    "request": ("the requested object", lambda a: a.object_error(a.requested, REQUEST)),
    "old truth": ("the true object, which the request may contradict",
                  lambda a: a.object_error(a.cases["truth"][a.choices.case], REQUEST)),
    "new consequence": ("the agent's new answer about the consequence",
                 lambda a: a.object_error(a.choices.agent_answer[:, 1], CHILD)),
    "old consequence": ("the agent's old answer about the consequence",
                 lambda a: a.object_error(a.choices.agent_answer[:, 0], CHILD)),
    "neighbours": ("the agent's old answers about the same relations of other subjects",
           lambda a: a.object_error(a.choices.agent_answer[:, 0], NEIGHBOURS)),
}  # fmt: skip


def _define_at_places(kind: str, says: str, better: Better) -> list[MetricDefinition]:
    """One metric at each of PLACES."""

    def compute_at(place: str) -> Callable[[Answers], Metric]:
        limits = (0.0, np.inf) if kind in ("kl", "js") else DISTANCE
        return lambda a: a.mean_over(a.distances[kind], a.at[place])._replace(limits=limits)

    definitions, shown = [], kind if kind == "right" else kind.upper()
    for place in PLACES:
        shown_in: Place = "file"
        if place in _IN_TABLES and kind in ("right", "tv"):
            shown_in = "compared" if kind == "right" and place == INDEPENDENT else "table"
        if name_at(kind, place) == KEPT:
            shown_in = "headline"
        definitions.append(
            MetricDefinition(
                name_at(kind, place),
                says.format(ABOUT[place]),
                better,
                shown_in,
                follows_sequences=(kind, place) == ("right", RANDOM_OTHERS),
                compute=compute_at(place),
                label="others' facts kept"
                if name_at(kind, place) == KEPT
                else f"{shown}: {_call_place(place)}",
            )
        )
    return definitions


def _define_must(
    names: dict[str, str], role: str, says: str, shown_in: Place = "table", follows_sequences: bool = False
) -> MetricDefinition:
    """Answers of a kind of kin that must change, or that must stay, as `names` says."""

    def compute(a: Answers) -> Metric:
        must = a.must_change if names is MUST_CHANGE else ~a.must_change
        return a.mean_over(a.is_right, a.at[role] & must)

    label = f"{_call_place(role)} {'follows' if names is MUST_CHANGE else 'stays'}"
    label = "what should stay stays" if names[role] == STAYS else label
    return MetricDefinition(names[role], says, "high", shown_in, follows_sequences, compute, label=label)


def _define_for_kin() -> list[MetricDefinition]:
    """Answers that must change and those that must stay, of each kind of kin but s1r2."""
    change = "Where the agent must change its answer: share of answers {} that are the agent's new ones."
    stay = "Where the agent's answer must stay: share of answers {} that are still the agent's."
    return [
        _define_must(names, role, says.format(ABOUT[role]))
        for role in KIN[1:]
        for names, says in ((MUST_CHANGE, change), (MUST_STAY, stay))
    ]


def _define_false_change(place: str) -> MetricDefinition:
    return MetricDefinition(
        name_at("falsely_changed", place),
        f"Share of answers {ABOUT[place]} that changed though the agent's did not.",
        "low",
        compute=lambda a: a.mean_over(a.has_changed, a.at[place] & ~a.must_change),
        needs_edit=True,
        label=f"falsely changed: {_call_place(place)}",
    )


def _define_damage(place: str) -> MetricDefinition:
    return MetricDefinition(
        name_at(DAMAGE, place),
        f"Damage to answers {ABOUT[place]}.",
        "low",
        compute=lambda a: a.damage_at(place),
        needs_edit=True,
        label=f"damage: {_call_place(place)}",
    )


def _define_over_recalibrated(
    name: str, label: str, better: Better, compute: Callable[[Answers], Metric]
) -> MetricDefinition:
    says = f"As {label}, against the unedited model recalibrated on facts that no case uses."
    full = f"{label} over no edit, recalibrated"
    return MetricDefinition(
        f"{name}.over_recalibrated", says, better, compute=compute, needs_edit=True, label=full
    )


def _define_law(law: str) -> MetricDefinition:
    says = f"Mean absolute violation by the model's own truth values: {_LAWS[law]}."
    return MetricDefinition(
        law_name(law), says, "low", compute=lambda a: a.violations[law], of_claims=True, label=f"logic {law}"
    )


_RIGHT = _define_at_places(
    "right", "Share of generated answers {} that name an object which the agent finds most probable.", "high"
)
METRICS: tuple[MetricDefinition, ...] = (
    MetricDefinition(
        SUCCESS, "Share of requests that the edited model states.", "high", "headline", True, lambda a:
        a.mean_over(a.reader.answer == a.requested, a.at[REQUEST]), needs_edit=True, label="edit success",
        alike=(6, 11),
    ),
    _define_must(
        MUST_CHANGE, CHILD,
        "Where the agent must change its answer about the consequence, as the old one is none of its best: "
        "share of answers that are the agent's new ones (propagation).", "headline", follows_sequences=True,
    )._replace(alike=(0, 0)),
    MetricDefinition(
        FOLLOWS_RIGHT,
        "The same, among consequences that the unedited model answered as the agent did. If the corpus never "
        "stated such a fact (stratum S0), the model has inferred it.", "high",
        compute=lambda a: a.mean_over(a.is_right, a.at[CHILD] & a.must_change & a.was_right),
        label="consequence follows, right before",
    ),
    _define_must(
        MUST_STAY, CHILD, "Where the agent's old answer is still among its best: share of answers that stay.",
        "compared",
    ),
    MetricDefinition(
        GAINED, "Share of consequences that the edit put right, less those that it put wrong. No edit has 0; "
        "the row of the Bayesian reader has the most that is possible.", "high", "compared",
        compute=lambda a: a.gain_of_answers, needs_edit=True, label="consequences gained",
    ),
    *_define_for_kin(),
    *define_set_metrics(REQUEST, REPLACED),
    MetricDefinition(
        "selective",
        "F1 of \u201cthe answer changed to the agent's new one\u201d against \u201cthe agent's answer "
        "changed\u201d. A change too many costs as much as a change too few.", "high",
        "compared", compute=lambda a: a.selective_propagation, needs_edit=True, label="selective propagation",
    ),
    MetricDefinition(
        RATIO,
        "Part of the agent's change of belief that the model makes, the edited fact apart: 1 as the agent, "
        "0 none.", "one", "compared", True, lambda a: a.movement.propagation_ratio, needs_edit=True,
        label="propagation ratio",
    ),
    *(right._replace(alike=(6, 6)) for right in _RIGHT if right.id == KEPT),
    MetricDefinition(
        DAMAGE,
        "Distance to the agent's new belief (total variation) that the edit adds to a question, 0 where it "
        "comes nearer. Mean over random facts that no editor is told of (spot checks).",
        "low", "headline", compute=lambda a: a.movement_of_spot_checks.damage, needs_edit=True,
        alike=(6, 6),
    ),
    MetricDefinition(
        SPILL, "Damage where the agent's belief did not change.", "low",
        compute=lambda a: a.movement_of_spot_checks.spill, needs_edit=True,
    ),
    *map(_define_damage, DAMAGE_PLACES),
    MetricDefinition(
        "orthogonal_movement",
        "The part of the model's change of belief at right angles to the agent's, where the agent's changed, "
        "in the unit of the propagation ratio. Becoming the agent takes some, too: see perfect revision.",
        "low", compute=lambda a: a.movement.orthogonal_movement, needs_edit=True, label="orthogonal movement",
    ),
    MetricDefinition(
        "stray_movement",
        "Total variation between the changes of belief of model and agent, where the agent's did not change. "
        "Perfect revision has some, too.",
        "low", compute=lambda a: a.movement.stray_movement, needs_edit=True, label="stray movement",
    ),
    MetricDefinition(
        SKILL_MOVED,
        "Where the agent's belief changed: share of the unedited model's distance to it that the edit "
        "removes; below 0 is harm.", "high", "compared",
        compute=lambda a: a.movement.skill_moved, needs_edit=True, label="coherence gained, moved",
    ),
    MetricDefinition(
        SKILL_STILL, "The same where the agent's belief did not change.", "high", "compared",
        compute=lambda a: a.movement.skill_stayed, needs_edit=True, label="coherence gained, still",
    ),
    MetricDefinition(
        SKILL, "Share of the unedited model's distance to the agent that the edit removes; below 0 is harm.",
        "high", "compared", compute=lambda a: a.movement.skill, needs_edit=True, label="coherence gained",
    ),
    MetricDefinition(
        SKILL_SPOT, "The same over random facts that no editor is told of (spot checks).", "high",
        compute=lambda a: a.movement_of_spot_checks.skill, needs_edit=True,
        label="coherence gained, spot checks",
    ),
    MetricDefinition(
        SKILL_RECALIBRATED, "Coherence gained after each model, edited and not, gets its best temperature, "
        "one a stratum, fitted on other cases. Mere softening or sharpening gains none.",
        "high", "headline", compute=lambda a: a.movement.skill_recalibrated, needs_edit=True,
        label="coherence gained, recalibrated", version=2, alike=(4, 4),
    ),
    _define_over_recalibrated(
        SKILL, "coherence gained", "high", lambda a: a.movement.skill_over_recalibrated),
    _define_over_recalibrated(
        SKILL_MOVED, "coherence gained, moved", "high", lambda a: a.movement.skill_over_recalibrated_moved),
    _define_over_recalibrated(
        SKILL_STILL, "coherence gained, still", "high", lambda a: a.movement.skill_over_recalibrated_stayed),
    _define_over_recalibrated(
        DAMAGE, "damage", "low", lambda a: a.movement_of_spot_checks.damage_over_recalibrated),
    *map(_define_false_change, FALSE_CHANGE_PLACES),
    *(right for right in _RIGHT if right.id != KEPT),
    *_define_at_places(
        "tv", "Total variation between the beliefs of model and agent {}; 0 is equal, 1 is disjoint.",
        "low",
    ),
    *map(_define_law, _LAWS),
    MetricDefinition(
        DUTCH_BOOK,
        "Sure loss of the model, for a unit stake, to somebody who bets at its own truth values.", "low",
        compute=lambda a: a.violations[DUTCH_BOOK], of_claims=True, label="Dutch book loss",
    ),
    MetricDefinition(
        SURE_LOSS, "Sure loss to somebody who bets at its answer to the request, too.", "low",
        compute=lambda a: a.violations[SURE_LOSS], of_claims=True, label="Dutch book loss with the answer",
    ),
    MetricDefinition(
        TRUTH_VALUES,
        "Total variation between the truth values of model and agent, over the request, another statement "
        "and their compounds. Saying one half to all is coherent, but far from the agent.", "low",
        "compared", compute=lambda a: a.distance_of_claims, of_claims=True, label="truth values",
    ),
    *(
        MetricDefinition(
            f"error.{make_id(name)}", f"|p - q| of {says}; q is the agent's.", "low", "file", compute=compute,
            label=f"error of {name}",
        )
        for name, (says, compute) in _ERRORS.items()
    ),
    *_define_at_places("js", "Jensen-Shannon divergence of model and agent {}, in nats.", "low"),
    *_define_at_places("kl", "Divergence of the agent from the model {}, in nats.", "low"),
)  # fmt: skip
"""Every metric, in the order of tables; `testbed.tune` aims at the first and the last headline. A is the
request, B a statement about somebody else."""
