"""Plain fine-tuning on many requests together, in mini-batches, epoch after epoch.

"Fine-tuning Done Right in Model Editing" (Yang et al. 2025) has it that fine-tuning fails at many edits
because each is fitted before the next is read, and that mini-batches over all of them, in one matrix of the
model, hold a hundred thousand. Here a request that a later one replaces is left out: no model can say both.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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
from lm.editors.interface import Request
from lm.flops import count_flops
from lm.language_model import LanguageModel
from testbed.run.world import World


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


def follow_tuning(
    config: BatchTuning,
    model: LanguageModel,
    world: World,
    stream: Stream,
    marks: Sequence[int],
    seed: int,
    later_steps: int,
    advance: Callable[[int], None] = lambda _: None,
) -> ModelAnswers:
    """The unedited model is tuned on the first requests of a stream, anew for each number of them.

    A request counts as answered at once if it is so after the first tuning that reads it.
    """
    requests = make_single_requests(world, stream.facts, stream.objects)
    examination, says, done = Examination(world, stream), np.zeros(len(stream.facts), bool), 0
    tuned, seconds = model, 0.0
    for mark in marks:
        latest = stream.latest(mark)
        facts = Request(*(x[latest] for x in requests))
        began = time.perf_counter()
        batches = config.draw_batches(len(latest), seed)
        tuned = train_facts(model, facts, batches, config.rate, config.trained_part)
        jax.block_until_ready(tuned.params)
        seconds = (time.perf_counter() - began) / len(latest)
        change = [
            np.asarray(x, np.float64) - np.asarray(y, np.float64)
            for x, y in zip(jax.tree.leaves(tuned.params), jax.tree.leaves(model.params), strict=True)
        ]
        answers = examination.ask(tuned, change)
        says[done:mark] = (answers[stream.facts] == stream.objects)[done:mark]
        advance(mark - done)
        done = mark
    truths = examination.truths
    one = Request(*(x[:1] for x in truths))
    flops = config.epochs * count_flops(
        jax.grad(lambda params: request_loss(LanguageModel(model.config, params), one)), model.params
    )
    trained = train_later(tuned, None, truths, examination.spared, seed, later_steps)
    return examination.finish(model, trained, says, seconds, flops)
