"""oracle and oracle-world: editors that are told what the rational agent believes.

Adapters with the rank and the matrices of the strongest editor (`self-bayes`), fitted to what the agent
believes after the edit: min over A, B of sum_i KL(p(. | s_i, r_i) || p_W+AB(. | s_i, r_i)). Each belief is
its likeliest objects, and the rest of it what the model says now. Neither is told what follows for sentences
about truth, or which facts are spot checks.

`oracle` is told of the request and a random half of the questions: of half of the subject's other facts, and
of all that is asked about half of the other subjects. Its score is that of the other half; that of the half
it was fitted to has a row of its own. `oracle-world` is told of every fact of the world: each step is fitted
to all of the subject's and to some of the others', drawn anew. It has nothing to guess, and what it lacks is
what such a fit does not hold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from bayes.interface import tell_agent
from corpus.errors import InputError
from corpus.seeds import generator
from lm.delta import Delta
from lm.editors.documents import DocumentsConfig
from lm.editors.documents.method import Documents
from lm.editors.interface import CorpusSample, Info, Request, State
from lm.editors.self_bayes.revision import FittedEditor, Targets, Task, count_tokens, fit_goals, make_goal
from lm.editors.self_bayes.storage import subjects_of
from lm.language_model import LanguageModel
from testbed.engine.controls import OracleConfig, OracleWorldConfig
from testbed.engine.methods import Belief, Method
from testbed.run.agents import agent_named
from testbed.run.settings import NO_RESULT

if TYPE_CHECKING:
    from bayes.interface import Agent
    from bayes.request import EditRequest
    from testbed.protocol import Case
    from testbed.run.world import World
    from testbed.settings import EditSettings

Pair = tuple[int, int]
"""Subject and relation."""


@dataclass(frozen=True)
class Oracle(FittedEditor):
    """Adapters fitted to beliefs, each told as `named` facts of one prompt with their probabilities."""

    config: OracleConfig
    named: ClassVar[int] = 12
    """Objects of each belief that are named; the rest of it is what the model says now."""

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> State:
        """The words of the grammar, which names may follow."""
        return jnp.asarray(corpus_sample.vocabulary.words)

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """An adapter with which the model believes what it was told."""
        targets = beliefs_of(request, self.named)
        return self.fit_beliefs(model, state, request, [Task(make_goal(model, targets))], key)

    def fit_beliefs(
        self, model: LanguageModel, words: State, request: Request, tasks: list[Task], key: jax.Array
    ) -> tuple[Delta, Info]:
        """An edit with which the model says what it was told, of the subject of the request's first fact."""
        subjects = subjects_of(Request(*(x[:1] for x in request)), words)
        tokens_read = count_tokens(*(task.goal.targets.prompts for task in tasks))
        return fit_goals(model, tasks, self.config.fit, key, tokens_read, subjects)


@dataclass(frozen=True)
class OracleOfWorld(Oracle):
    """The same of a whole world, of which every step draws some.

    Args:
        first: how many beliefs are fitted in every step, the request's and those of its subject among them.
    """

    config: OracleWorldConfig
    # As many as the world has relations; so that worlds are pooled as one editor's.
    first: int = field(metadata=NO_RESULT)

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """An adapter with which the model believes what it was told."""
        config, targets = self.config, beliefs_of(request, self.named)
        first, others = (
            Targets(*(x[part] for x in targets)) for part in (slice(self.first), slice(self.first, None))
        )
        tasks = [Task(make_goal(model, first))]
        if count := len(others.weight):
            # What is drawn is weighed up to all; here it is to weigh as much as one of the first.
            share = min(1.0, config.at_once / count)
            goal = make_goal(model, others._replace(weight=others.weight * share))
            tasks.append(Task(goal, config.at_once))
        return self.fit_beliefs(model, state, request, tasks, key)


def beliefs_of(request: Request, facts: int) -> Targets:
    """Every `named` facts of a request as one belief; one whose facts have no probability weighs nothing."""
    prompts, answers, p = (
        jnp.asarray(x).reshape(-1, facts, *x.shape[1:])
        for x in (request.prompt, request.answer, request.credence)
    )
    share = p.sum(axis=1)
    target = p / jnp.maximum(share, jnp.finfo(p.dtype).tiny)[:, None]
    return Targets(prompts[:, 0], jnp.minimum(share, 1.0), answers, target, (share > 0).astype(p.dtype))


def oracle(config: OracleConfig, settings: "EditSettings", world: "World") -> Method:
    """The method; its agent reads the corpus when the first case is told.

    Raises:
        InputError: an evaluation whose metrics mean something else over half of the questions.
    """
    return Method(Oracle(config), _half_of_beliefs(settings, world, Oracle.named))


def documents_told(config: DocumentsConfig, settings: "EditSettings", world: "World") -> Method:
    """Documents as the agent would have them: the likeliest object of each of these beliefs is a fact.

    Raises:
        InputError: as `oracle`.
    """
    return Method(Documents(config, first=1), _half_of_beliefs(settings, world, 1), most=16)


def _half_of_beliefs(
    settings: "EditSettings", world: "World", named: int
) -> "Callable[[Case], list[Belief]]":
    if not settings.chosen_evaluation.can_be_halved:
        raise InputError(
            f"an oracle is scored on the half of the questions that it is not told of, which the evaluation "
            f"{settings.evaluation} cannot; use --evaluation hase, or say can_be_halved in your own"
        )
    implied_beliefs = make_beliefs(settings, world, named)

    def half_of_beliefs(case: "Case") -> list[Belief]:
        return implied_beliefs(case.request, half_of_questions(case, settings.seed))

    return half_of_beliefs


def oracle_world(config: OracleWorldConfig, settings: "EditSettings", world: "World") -> Method:
    """The method; of few edits side by side, since each is told much.

    Raises:
        InputError: the world is too large.
    """
    graph = world.graph
    if len(graph) > config.most:
        raise InputError(
            f"oracle-world fits every fact, and this world has {len(graph)}; use oracle, or a higher "
            "--oracle-world.most"
        )
    implied_beliefs = make_beliefs(settings, world, Oracle.named)
    pairs = list(zip(graph.subject.tolist(), graph.relation.tolist(), strict=True))

    def all_beliefs(case: "Case") -> list[Belief]:
        own_first = sorted(pairs, key=lambda pair: pair[0] != case.request.subject)
        return implied_beliefs(case.request, tuple(own_first))

    return Method(OracleOfWorld(config, len(graph.relations)), all_beliefs, most=4)


def half_of_questions(case: "Case", seed: int) -> tuple[Pair, ...]:
    """Half of what is asked besides the request: of the subject's facts, and of the other subjects.

    Of an odd number the larger or the smaller half, by a fair coin.
    """
    rng = generator(seed, f"half of the questions {case.requested_fact}")
    pairs = list(dict.fromkeys((c.subject, c.relation) for c in case.choices))
    requested = {part[:2] for part in case.request.parts}
    own = [pair for pair in pairs if pair[0] == case.request.subject and pair not in requested]
    others = list(dict.fromkeys(s for s, _ in pairs if s != case.request.subject))

    def draw_half(count: int) -> set[int]:
        return set(rng.permutation(count)[: (count + int(rng.integers(2))) // 2].tolist())

    drawn_facts, drawn_subjects = draw_half(len(own)), draw_half(len(others))
    subjects = {others[i] for i in drawn_subjects}
    facts = {own[i] for i in drawn_facts}
    return tuple(pair for pair in pairs if pair in facts or pair[0] in subjects)


def make_beliefs(
    settings: "EditSettings", world: "World", most_objects: int
) -> "Callable[[EditRequest, Sequence[Pair]], list[Belief]]":
    """What the agent believes after an edit: `most_objects` facts for each pair, the request's first."""

    @cache
    def agent() -> "Agent":
        return agent_named(settings.agent, world, settings.paper_agent)

    def implied_beliefs(request: "EditRequest", pairs: Sequence[Pair]) -> list[Belief]:
        after = tell_agent(agent(), request)
        beliefs: list[Belief] = []
        requested = {part[:2]: part.object for part in request.parts}
        for s, r in dict.fromkeys([*requested, *pairs]):
            itself = (s, r) in requested
            # The request speaks of its fact alone, as in what cases ask.
            belief = after.predict(s, r, "direct" if itself else "best")
            # Not `top`, which leaves out objects that are named nowhere and may be likelier than named ones.
            likely = belief.support[
                np.argsort(-belief.dense_probabilities(), kind="stable")[:most_objects]
            ].tolist()
            first = [requested[s, r]] if itself else []
            objects = list(dict.fromkeys([*first, *likely]))[:most_objects]
            p = belief.of(np.array(objects)).tolist()
            some = [Belief((s, r, o), q) for o, q in zip(objects, p, strict=True)]
            beliefs += [*some, *[Belief(some[0].fact, 0.0)] * (most_objects - len(some))]
        return beliefs

    return cache(implied_beliefs)
