"""oracle: an editor that is told the gold, the bound of what its capacity can hold.

Adapters with the rank, the matrices and the steps of the strongest editor (`self-bayes`), fitted to what the
rational agent believes after the edit: min over A, B of sum_i KL(p(. | s_i, r_i) || p_W+AB(. | s_i, r_i)).
The pairs (s_i, r_i) are the request's own and what the case asks, but no spot check; each belief is its
likeliest objects, and the rest of it what the model says now. It is not told what follows for sentences about
truth.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from lm.delta import Delta
from lm.editors.interface import CorpusSample, Info, Request, State
from lm.editors.self_bayes.revision import Targets, count_tokens, fit_goals, make_goal
from lm.language_model import LanguageModel
from testbed.engine.controls import OracleConfig
from testbed.engine.methods import Belief, Method
from testbed.run.agents import agent_named

if TYPE_CHECKING:
    from bayes.interface import Agent, EditRequest
    from testbed.protocol import Case
    from testbed.run.world import World
    from testbed.settings import EditSettings


@dataclass(frozen=True)
class Oracle:
    """Adapters fitted to beliefs, each told as `named` facts of one prompt with their probabilities."""

    config: OracleConfig

    @property
    def most_steps(self) -> int:
        """Turns that the loop of an edit takes at most."""
        return self.config.fit.steps

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> State:
        """Nothing to prepare."""
        return {}

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """An adapter with which the model believes what it was told."""
        targets = beliefs_of(request, self.config.named)
        return fit_goals(
            model, [(make_goal(model, targets), 0)], self.config.fit, key, count_tokens(targets.prompts)
        )


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
    """The method; its agent reads the corpus when the first case is told."""

    @cache
    def agent() -> "Agent":
        return agent_named(settings.agent, world, settings.paper_agent)

    return Method(Oracle(config), beliefs_implied(agent, config.named))


def beliefs_implied(agent: "Callable[[], Agent]", most_objects: int) -> "Callable[[Case], list[Belief]]":
    """What the rational agent believes after an edit, `named` facts for each pair, the request first."""

    @cache
    def implied_beliefs(request: "EditRequest", questions: tuple[tuple[int, int], ...]) -> list[Belief]:
        after = agent().with_edit(request)
        beliefs: list[Belief] = []
        for s, r in dict.fromkeys([request[:2], *questions]):
            itself = (s, r) == request[:2]
            # The request speaks of its fact alone, as in what cases ask.
            belief = after.predict(s, r, "direct" if itself else "best")
            # Not `top`, which leaves out objects that are named nowhere and may be likelier than named ones.
            likely = belief.support[
                np.argsort(-belief.dense_probabilities(), kind="stable")[:most_objects]
            ].tolist()
            objects = list(dict.fromkeys([request.object, *likely] if itself else likely))[:most_objects]
            p = belief.of(np.array(objects)).tolist()
            some = [Belief((s, r, o), q) for o, q in zip(objects, p, strict=True)]
            beliefs += [*some, *[Belief(some[0].fact, 0.0)] * (most_objects - len(some))]
        return beliefs

    def case_beliefs(case: "Case") -> list[Belief]:
        return implied_beliefs(case.request, tuple((c.subject, c.relation) for c in case.choices))

    return case_beliefs
