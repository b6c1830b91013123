"""Facts that no case asks about, asked of the unedited model and of the agent before any edit.

Spot checks do not count as asked: of a small world they would leave none.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from bayes.interface import Agent
from bayes.request import EditRequest
from corpus.seeds import generator
from lm.language_model import LanguageModel
from testbed.engine.questions import Questions, option_log_probabilities
from testbed.protocol import Case, Choice, hide_spot_checks
from testbed.run.strata import StatementIndex, strata_of
from testbed.run.world import World

FACTS = 256
"""Most facts of a stratum."""
TOGETHER = 16
"""Facts that one pass of the model reads."""
OPTIONS = 24


class UnaskedFacts(NamedTuple):
    """N facts that nobody asks about, with C options each.

    Attributes:
        stated: int64[N], how many statements are about each.
        model, agent: float64[N, C], probabilities of the options; 0 as padding.
    """

    stated: np.ndarray
    model: np.ndarray
    agent: np.ndarray


def ask_unasked_facts(
    world: World, model: LanguageModel, agent: Agent, cases: Sequence[Case], seed: int
) -> UnaskedFacts:
    """A random draw of the facts that no case asks for, requests or tells, at most FACTS of each stratum."""
    graph, statements = world.graph, StatementIndex(world.graph, world.sentences)
    facts = np.setdiff1d(np.arange(len(graph)), _facts_of_cases(world, cases))
    stated = np.array([len(statements.objects_of(int(fact))) for fact in facts], int)
    rng, strata = generator(seed, "unasked facts"), strata_of(stated)
    drawn = [rng.permutation(np.flatnonzero(strata == name))[:FACTS] for name in np.unique(strata)]
    rows = np.sort(np.concatenate([*drawn, np.zeros(0, int)]))
    facts, stated = facts[rows], stated[rows]
    if not len(facts):
        return UnaskedFacts(stated, np.zeros((0, 1)), np.zeros((0, 1)))
    pairs = [(int(graph.subject[fact]), int(graph.relation[fact])) for fact in facts]
    beliefs = np.concatenate(
        [agent.distributions(*np.array(pairs[i : i + FACTS]).T) for i in range(0, len(pairs), FACTS)]
    )
    choices = [
        _make_choice(graph.objects, pair, belief, statements.objects_of(int(fact)))
        for pair, belief, fact in zip(pairs, beliefs, facts, strict=True)
    ]
    probabilities = _ask_model(world, model, choices)
    wide = max(len(choice.options) for choice in choices)
    agent_beliefs = np.zeros((len(choices), wide))
    for row, choice in enumerate(choices):
        agent_beliefs[row, : len(choice.options)] = choice.agent[0]
    return UnaskedFacts(stated, probabilities[:, :wide], agent_beliefs)


def _facts_of_cases(world: World, cases: Sequence[Case]) -> np.ndarray:
    pairs = {part[:2] for case in cases for part in case.request.parts}
    pairs |= {
        (choice.subject, choice.relation) for case in cases for choice in hide_spot_checks(case).choices
    }
    pairs |= {control.fact[:2] for case in cases for control in case.controls}
    pairs |= {
        (atom.subject, atom.relation)
        for case in cases
        for claim in case.claims
        for atom in (claim.sentence.a, claim.sentence.b)
        if atom is not None
    }
    subjects, relations = np.array(sorted(pairs), int).reshape(-1, 2).T
    return world.graph.find(subjects, relations)


def _make_choice(
    objects: np.ndarray, pair: tuple[int, int], belief: np.ndarray, stated: np.ndarray
) -> Choice:
    """The objects that were stated, and the likeliest to the agent."""
    likeliest = objects[np.argsort(-belief, kind="stable")[:OPTIONS]].tolist()
    options = np.array(sorted([*dict.fromkeys([*np.unique(stated).tolist(), *likeliest])][:OPTIONS]))
    believed = belief[np.searchsorted(objects, options)][None]
    answer = np.array([likeliest[0]])
    return Choice("unasked", *pair, options, believed, answer, np.zeros_like(believed), len(stated))


def _ask_model(world: World, model: LanguageModel, choices: Sequence[Choice]) -> np.ndarray:
    """float64[N, options], as `ModelAnswers.ended`."""
    cases = [
        Case(EditRequest(*some[0][1:3], int(some[0].answer[0])), 1.0, int(some[0].answer[0]), {}, some)
        for some in (tuple(choices[i : i + TOGETHER]) for i in range(0, len(choices), TOGETHER))
    ]
    questions = Questions(world, model, cases)
    ask = jax.jit(option_log_probabilities)
    answers = [np.exp(np.asarray(ask(model, questions.probes_of(np.array([i]))))) for i in range(len(cases))]
    return np.concatenate(answers).reshape(-1, answers[0].shape[-1])[: len(choices)].astype(float)
