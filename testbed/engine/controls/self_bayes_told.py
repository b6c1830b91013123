"""self-bayes-told: `self-bayes` that is told which relation depends on which, and finds out the rest itself.

Beside it one sees how much of what `self-bayes` gets wrong comes from its search for dependences.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import jax

from lm.delta import Delta
from lm.editors.interface import CorpusSample, Editor, Info, Request
from lm.editors.self_bayes import SelfBayesConfig
from lm.editors.self_bayes.method import SelfBayes
from lm.editors.self_bayes.reasoning import Mind
from lm.language_model import LanguageModel
from testbed.engine.methods import Method, the_request
from testbed.run.settings import NO_RESULT

if TYPE_CHECKING:
    from testbed.run.world import World
    from testbed.settings import EditSettings


@dataclass(frozen=True)
class InformedSelfBayes(Editor):
    """`self-bayes` with the parents of the world's relations."""

    config: SelfBayesConfig
    # What the world says, to which results belong anyway; so that worlds are pooled as one editor's.
    parents: tuple[int, ...] = field(metadata=NO_RESULT)

    @property
    def editor(self) -> SelfBayes:
        """The editor that knows the parents."""
        dependence = replace(self.config.dependence, given=self.parents)
        return SelfBayes(replace(self.config, dependence=dependence))

    @property
    def most_steps(self) -> int:
        """Turns that the loop of an edit takes at most."""
        return self.editor.most_steps

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> Mind:
        """As `self-bayes`, without the search."""
        return self.editor.prepare(model, corpus_sample)

    def edit(self, model: LanguageModel, state: Mind, request: Request, key: jax.Array) -> tuple[Delta, Info]:
        """As `self-bayes`."""
        return self.editor.edit(model, state, request, key)


def self_bayes_told(config: SelfBayesConfig, settings: "EditSettings", world: "World") -> Method:
    """Parents are those of the world's graph."""
    return Method(InformedSelfBayes(config, tuple(world.graph.upstream.tolist())), the_request)
