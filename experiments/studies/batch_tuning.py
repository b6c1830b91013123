"""Training on many requests together: fine-tuning in mini-batches, or from scratch with their evidence.

"Fine-tuning Done Right in Model Editing" (Yang et al. 2025) has it that fine-tuning fails at many edits
because each is fitted before the next is read, and that mini-batches over all of them, in one matrix of the
model, hold a hundred thousand. Here a request that a later one replaces is left out: no model can say both.
Training from scratch is the control `retrain`: what the model would be had the corpus said it all.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from corpus.seeds import generator
from experiments.studies.edit_sequences import (
    Examination,
    ModelAnswers,
    Stream,
    make_single_requests,
    split_evenly,
    train_facts,
    train_later,
)
from lm.editors.fitting import request_loss
from lm.editors.interface import CorpusSample, Request, edit_once
from lm.flops import count_flops
from lm.language_model import LanguageModel
from testbed.engine.controls.retrain import Retrain
from testbed.run.world import World


class Training(NamedTuple):
    """What makes a model that states requests.

    Attributes:
        train: from the unedited model and all latest requests to another model.
        flops: arithmetic for a request, given the unedited model and the requests.
    """

    train: Callable[[LanguageModel, Request], LanguageModel]
    flops: Callable[[LanguageModel, Request], float]


@dataclass(frozen=True)
class BatchTuning:
    """What is trained, and how long."""

    rate: float
    """Of Adam."""
    down_only: bool = True
    """Train the down-projection of the first layer; otherwise everything."""
    epochs: int = 30
    """Times that each request is read."""
    batch: int = 64
    """Requests of a step."""

    def trained_part(self, gradient: Any) -> Any:
        """Gradients of what is trained; all others are 0."""
        if not self.down_only:
            return gradient
        none = jax.tree.map(jnp.zeros_like, gradient)
        down = gradient["layers"]["mlp"]["down"]
        none["layers"]["mlp"]["down"] = jax.tree.map(lambda x: x.at[1:].set(0), down)
        return none

    def draw_batches(self, count: int, seed: int) -> Iterator[np.ndarray]:
        """int[B] each: every epoch reads all of `count` requests in a new order."""
        rng = generator(seed, "batches of requests")
        for _ in range(self.epochs):
            yield from split_evenly(rng.permutation(count), self.batch)

    def training(self, seed: int) -> Training:
        """Fine-tuning of the unedited model."""

        def tune(model: LanguageModel, facts: Request) -> LanguageModel:
            batches = self.draw_batches(len(facts.prompt), seed)
            return train_facts(model, facts, batches, self.rate, self.trained_part)

        def count_for_one(model: LanguageModel, facts: Request) -> float:
            one = Request(*(x[:1] for x in facts))
            loss_gradient = jax.grad(lambda params: request_loss(LanguageModel(model.config, params), one))
            return self.epochs * count_flops(loss_gradient, model.params)

        return Training(tune, count_for_one)


def training_from_scratch(editor: Retrain, model: LanguageModel, sample: CorpusSample) -> Training:
    """The model's own training over again, with the requests' evidence in the corpus."""
    state = editor.prepare(model, sample)

    def edit(model: LanguageModel, facts: Request) -> Any:
        return edit_once(editor, model, state, facts, jax.random.key(0))[0]

    def train(model: LanguageModel, facts: Request) -> LanguageModel:
        change = edit(model, facts)["weights"]
        return LanguageModel(model.config, jax.tree.map(jnp.add, model.params, change))

    return Training(train, lambda model, facts: count_flops(edit, model, facts) / len(facts.prompt))


def follow_training(
    training: Training,
    model: LanguageModel,
    world: World,
    stream: Stream,
    weights: np.ndarray,
    marks: Sequence[int],
    seed: int,
    later_steps: int,
    advance: Callable[[int], None] = lambda _: None,
) -> ModelAnswers:
    """A model is trained on the first requests of a stream, anew for each number of them.

    A request counts as answered at once if it is so after the first training that reads it.

    Args:
        weights: float[N], of each request as evidence.
    """
    requests = make_single_requests(world, stream.facts, stream.objects)
    requests = requests._replace(weight=np.asarray(weights, np.float32))
    examination, says, done = Examination(world, stream), np.zeros(len(stream.facts), bool), 0
    trained, seconds, facts = model, 0.0, requests
    for mark in marks:
        latest = stream.latest(mark)
        facts = Request(*(x[latest] for x in requests))
        began = time.perf_counter()
        trained = training.train(model, facts)
        jax.block_until_ready(trained.params)
        seconds = (time.perf_counter() - began) / len(latest)
        change = [
            np.asarray(x, np.float64) - np.asarray(y, np.float64)
            for x, y in zip(jax.tree.leaves(trained.params), jax.tree.leaves(model.params), strict=True)
        ]
        answers = examination.ask(trained, change)
        says[done:mark] = (answers[stream.facts] == stream.objects)[done:mark]
        advance(mark - done)
        done = mark
    later = train_later(trained, None, examination.truths, examination.spared, seed, later_steps)
    return examination.finish(model, later, says, seconds, training.flops(model, facts))
