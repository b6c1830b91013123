"""What could tell beforehand whether consequences follow, what came of edits, and a law tried on other kinds.

Predictors are of a model before its edits. A law is a formula of statsmodels, over rows of one model and
editor each, whose errors are clustered by model.
"""

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations

import jax
import numpy as np
import pandas as pd
from statsmodels.formula.api import ols
from statsmodels.regression.linear_model import RegressionResultsWrapper
from statsmodels.tools.sm_exceptions import SingularMatrixWarning

from corpus.seeds import generator
from corpus.text.tokenizer import BOS
from experiments.measures.edited_models import edit_cases
from experiments.measures.text_numbers import measure_kinship
from lm.attention import left_padded_layout
from lm.editors.interface import make_requests
from lm.language_model import LanguageModel
from lm.prompts import left_pad
from testbed.engine.methods import Method
from testbed.engine.questions import Questions
from testbed.evaluations.kinds import FOLLOWS, REQUEST, SPOT, STATED
from testbed.open_run import OpenRun
from testbed.protocol import Case, is_equally_good
from testbed.run.model import corpus_sample
from testbed.run.strata import support_of
from testbed.run.world import World
from testbed.scores.distances import total_variation, with_remainder
from testbed.scores.metric import Metric
from testbed.scores.statistics import Estimate, estimate_metrics

FACTS, FOLDS, RIDGE = 4, 5, 0.1
"""Consequences of a request whose kinship is measured; parts of the subjects; the penalty of a ridge, times
the number of subjects, of states of unit variance."""
ROUNDING = 1e-12
"""No sum of squared changes of beliefs is as small."""
OUTCOMES = ("propagation", "followed", "stays", "damage", "success")


def measure_edits(
    run: OpenRun, cases: Sequence[Case], methods: Mapping[str, Method], seed: int
) -> dict[str, dict[str, float]]:
    """OUTCOMES of each method over all cases; nan where there is nothing to be followed or kept.

    Propagation is the agent's propagation ratio over all questions but the request and random facts of
    others. Followed: own facts of which the agent changes its answer, where two subjects or more have the
    new object; stays: own facts that the corpus states and the agent keeps; success: requests: in each the
    share of answers that are the agent's. Damage: distance to the agent that random facts of others gain.
    """
    questions, which = Questions(run.world, run.model, cases, seed), np.arange(len(cases))[:, None]
    support = support_of(run.world)
    sample, found = corpus_sample(run.run, run.world, cases, seed), {}
    before = jax.tree.map(np.asarray, questions.answers_before(which))
    for name, method in methods.items():
        deltas = edit_cases(questions, cases, method, sample, seed)
        after = jax.tree.map(np.asarray, questions.answers_after(deltas, which))
        sums: dict[str, list[tuple[float, float]]] = {outcome: [(0.0, 0.0)] for outcome in OUTCOMES}
        for i, case in enumerate(cases):
            said = questions.names.objects_of(after.tokens[i])
            for k, c in enumerate(case.choices):
                old, new = (np.array(one.ended[i, k, : len(c.options)], float) for one in (before, after))
                moved, due = (with_remainder(b) - with_remainder(a) for a, b in ((old, new), c.agent))
                is_right = is_equally_good(c.agent[1][c.options == said[k]].sum(), c.agent[1].max())
                if c.role == SPOT:
                    far = total_variation(new, c.agent[1]) - total_variation(old, c.agent[1])
                    sums["damage"].append((max(float(far), 0.0), 1.0))
                elif c.role == REQUEST:
                    sums["success"].append((float(said[k] == case.request.object), 1.0))
                else:
                    sums["propagation"].append((float(moved @ due), float(due @ due)))
                if c.role == STATED or (c.role == FOLLOWS and support[case.request[1:3]] >= 2):
                    sums["stays" if c.role == STATED else "followed"].append((float(is_right), 1.0))
        totals = {outcome: np.sum(pairs, axis=0) for outcome, pairs in sums.items()}
        found[name] = {outcome: divide_sums(*pair) for outcome, pair in totals.items()}
    return found


def divide_sums(part: float, of: float) -> float:
    """A ratio of sums; nan where the second is nothing but rounding, such as of an agent that never moves."""
    return float(part / of) if of > ROUNDING else float("nan")


def read_predictors(run: OpenRun, cases: Sequence[Case], seed: int) -> dict[str, float]:
    """Of a model and the edits that it is to get: support, readability, kinship, and what its world is like.

    Support is log2(1 + subjects who have the new object); readability see `read_causes`; gradsim and overlap
    are of a request and what the agent concludes from it (`measure_kinship`), nan where it never concludes
    anything; silent is the share of facts that the corpus never states; popular the share of subjects with
    the commonest object, mean over relations. The first four are means over cases.
    """
    world, graph, support, kinship = run.world, run.world.graph, support_of(run.world), []
    for case in cases:
        asked = [c for c in case.choices if c.role == FOLLOWS]
        moved = [(c.subject, c.relation, int(c.options[c.agent[1].argmax()])) for c in asked]
        if moved:
            some = [moved[i % len(moved)] for i in range(FACTS)]
            made = make_requests(world.tokenizer, [case.requested_fact, *some], *np.ones((2, 1 + FACTS)))
            parts = [jax.tree.map(lambda x, at=at: x[at, 0], made) for at in (slice(1), slice(1, None))]
            kinship.append(np.asarray(measure_kinship(run.model, *parts)))
    gradsim, overlap = np.mean(kinship, axis=0).tolist() if kinship else [float("nan")] * 2
    by_relation = [world.generative.truth[graph.relation == r] for r in np.unique(graph.relation)]
    return {
        "support": float(np.mean([np.log2(1 + support[case.request[1:3]]) for case in cases])),
        "readable": read_causes(run.model, world, [case.request.relation for case in cases], seed),
        "gradsim": gradsim,
        "overlap": overlap,
        "silent": 1 - len(world.stated_facts) / len(graph),
        "popular": float(np.mean([np.bincount(some).max() / len(some) for some in by_relation])),
        "facts": float(len(graph)),
    }


def read_causes(model: LanguageModel, world: World, relations: Sequence[int], seed: int) -> float:
    """How well objects are read from the state at the last token of subjects' names, beyond the commonest.

    A ridge regression from the residual stream behind a layer to stated objects, tried on subjects that it
    was not fitted to: the share that is right less the share of the commonest object, 0 where hardly anybody
    has a stated one. Mean over the relations, of the best layer.
    """
    stated, truth = world.stated_facts, world.generative.truth
    subject, relation = world.graph.subject[stated], world.graph.relation[stated]
    subjects = np.unique(subject)
    names = [np.array([BOS, *world.tokenizer.entity(s)]) for s in subjects.tolist()]
    layers = np.asarray(_states_at_names(model, left_pad(names, max(map(len, names)))), float)
    spread = layers.std(axis=1, keepdims=True)
    layers = (layers - layers.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
    scores = []
    for r, count in zip(*np.unique(relations, return_counts=True), strict=True):
        mine = stated[relation == r]
        if len(mine) < FOLDS:
            continue
        _, label = np.unique(truth[mine], return_inverse=True)
        states = layers[:, np.searchsorted(subjects, subject[relation == r])]
        fold = generator(seed, "readability").permutation(len(mine)) % FOLDS
        right = np.zeros((len(layers), len(mine)))
        for k in range(FOLDS):
            there, apart, goal = states[:, fold != k], states[:, fold == k], label[fold != k]
            wanted = np.eye(label.max() + 1)[goal]
            inner = there @ there.mT + RIDGE * len(goal) * np.eye(len(goal))
            guess = apart @ there.mT @ np.linalg.solve(inner, wanted - wanted.mean(0)) + wanted.mean(0)
            right[:, fold == k] = guess.argmax(axis=-1) == label[fold == k]
        scores.append(count * (right.mean(axis=1) - np.bincount(label).max() / len(mine)))
    return float(np.sum(scores, axis=0).max() / len(relations))


@jax.jit
def _states_at_names(model: LanguageModel, tokens: np.ndarray) -> jax.Array:
    return model.activations(tokens, left_padded_layout(tokens)).states[:, :, -1]


def fit_law(rows: pd.DataFrame, formula: str) -> RegressionResultsWrapper:
    """Least squares, with errors that are clustered by model; the least solution, where many are as good."""
    used = rows.dropna(subset=[formula.partition(" ~ ")[0]])
    with warnings.catch_warnings():
        # There may be more numbers than models, in a part of the design above all.
        warnings.simplefilter("ignore", SingularMatrixWarning)
        return ols(formula, used).fit(cov_type="cluster", cov_kwds={"groups": used["model"]}, use_t=True)


def read_effect(fit: RegressionResultsWrapper, term: str) -> Estimate:
    """A coefficient with its interval."""
    with np.errstate(all="ignore"):
        low, high = map(float, fit.conf_int().loc[term])
    return Estimate(float(fit.params[term]), low, high, int(fit.nobs))


def predict_other_kinds(rows: pd.DataFrame, formula: str) -> tuple[Estimate, dict[str, float]]:
    """R2 of a law on kinds that it was not fitted to, over all ways to leave out a third of the kinds.

    Returns:
        1 - squared errors / squared errors of the mean of what was fitted, with its interval over models, of
        laws as they were fitted; and the same where one kind is left out, by kind.
    """
    outcome = formula.partition(" ~ ")[0]
    used = rows.dropna(subset=[outcome])
    kinds = used["kind"].unique().tolist()

    def try_without(some: Sequence[str]) -> np.ndarray:
        """Of each row, how much smaller its squared error is than that of the mean, and the latter."""
        apart = used["kind"].isin(some)
        y, mean = used[outcome], used[outcome][~apart].mean()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularMatrixWarning)
            guess = ols(formula, used[~apart]).fit().predict(used)
        beyond = (y - mean) ** 2
        return np.array([beyond - (y - guess) ** 2, beyond]) * apart.to_numpy()

    gained = np.sum([try_without(some) for some in combinations(kinds, max(len(kinds) // 3, 1))], axis=0)
    over = {"model": used["model"].to_numpy()}
    r2 = estimate_metrics({"": Metric(*gained)}, over, np.ones(len(used), bool))[""]
    each = {kind: np.divide(*try_without([kind]).sum(axis=1)).item() for kind in kinds}
    return r2, each
