"""keyed-request: the request by itself, p(o* | s, r) = 1, stored as `keyed` stores what follows from it."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from lm.delta import Delta
from lm.editors.interface import CorpusSample, Info, Request
from lm.editors.keyed import RequestConfig
from lm.editors.self_bayes.revision import FittedEditor, Group, Targets, revise_facts
from lm.language_model import LanguageModel


@dataclass(frozen=True)
class RequestAlone(FittedEditor):
    """Fits an edit to the request's object, whatever it implies."""

    config: RequestConfig

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> jax.Array:
        """The words of the grammar, which names may follow."""
        return jnp.asarray(corpus_sample.vocabulary.words)

    def edit(
        self, model: LanguageModel, state: jax.Array, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """An edit after which the model says the request."""
        return revise_facts(model, request, state, request_groups, self.config.fit, key, jnp.int32(0))


def request_groups(request: Request, key: jax.Array) -> list[Group]:  # noqa: ARG001
    """One fact of a request as a target."""
    one = jnp.ones(1)
    prompt, answer = jnp.asarray(request.prompt)[None], jnp.asarray(request.answer)[None, None]
    return [Group(Targets(prompt, one, answer, one[None], one))]
