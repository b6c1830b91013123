"""Train the reviser that `keyed` may reason with: from worlds of a broad prior, in a quarter of an hour.

Command:
    python -m experiments.train_reviser

Tables are drawn anew for every step (`experiments.measures.drawn_tables`); the loss is -log p of what is
hidden. Every few hundred steps the loss over tables that are not trained on is printed, and the state is
kept, so that a killed command goes on from there. The weights and their checksum, which
lm/editors/self_bayes/reviser.py names, are printed at the end.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from corpus.files import hash_file, staged_file
from experiments.command import launch_module
from experiments.measures.drawn_tables import KINDS, QUERIES, Table, draw_table
from lm.attention import Array
from lm.editors.entry import require_positive
from lm.editors.self_bayes.reviser import Weights, conclude, initialise_weights, read_table
from testbed.console import say

HELD_OUT, OF_HELD_OUT = 64, 1_000_000
"""Tables that are not trained on, and the seed of the first."""


@dataclass(frozen=True)
class Settings:
    """How long, and on what."""

    into: Path = Path("reviser.npz")
    """File of the weights; what it takes to go on stands beside it."""
    steps: int = 6000
    """Optimiser steps."""
    tables: int = 8
    """Tables of a step."""
    learning_rate: float = 3e-3
    """At its greatest, after a hundred steps or half of them; it falls to 0 by a cosine."""
    kinds: tuple[str, ...] = KINDS
    """Kinds of relations that worlds have; leave some out to see what carries over."""
    every: int = 250
    """Steps between two savings."""
    seed: int = 0
    """Root seed."""

    def __post_init__(self) -> None:
        require_positive({"learning_rate": self.learning_rate}, {"tables": self.tables, "every": self.every})
        if self.steps < 2:
            raise ValueError(f"steps must be at least 2; it is {self.steps}")
        if unknown := set(self.kinds) - set(KINDS):
            raise ValueError(f"there are no kinds {sorted(unknown)}; choose from {', '.join(KINDS)}")
        if not {"root", "type"} & set(self.kinds):
            raise ValueError("kinds must have root or type, since something depends on nothing else")


def run_study(settings: Settings) -> None:
    """Train, or go on, and say what came of it."""
    optimiser = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adam(
            optax.warmup_cosine_decay_schedule(
                0.0, settings.learning_rate, min(100, settings.steps // 2), settings.steps
            )
        ),
    )
    weights = initialise_weights(jax.random.key(settings.seed))
    state, first = (weights, optimiser.init(weights)), 0
    aside = settings.into.with_suffix(".state.npz")
    if aside.exists():
        state, first = read_state(aside, state)

    @jax.jit
    def step(state: tuple, tables: Table) -> tuple:
        weights, moments = state
        gradient = jax.grad(mean_loss)(weights, tables)
        updates, moments = optimiser.update(gradient, moments)
        return optax.apply_updates(weights, updates), moments

    held_out = stack([draw_from(OF_HELD_OUT + i, settings.kinds) for i in range(HELD_OUT)])
    loss_of = jax.jit(mean_loss)
    say(f"{sum(x.size for x in weights.values()):,} weights")
    for i in range(first, settings.steps):
        seeds = range(i * settings.tables, (i + 1) * settings.tables)
        state = step(state, stack([draw_from((settings.seed, seed), settings.kinds) for seed in seeds]))
        if (i + 1) % settings.every == 0 or i + 1 == settings.steps:
            say(f"{i + 1:,} of {settings.steps:,} steps: {loss_of(state[0], held_out):.4f} nats a question")
            write_arrays(aside, [*jax.tree.leaves(state), np.asarray(i + 1)])
    arrays: dict[str, Any] = dict(state[0])
    with staged_file(settings.into) as path, path.open("wb") as file:
        np.savez_compressed(file, **arrays)
    say(f"{settings.into}: {settings.into.stat().st_size:,} bytes, SHA-256 {hash_file(settings.into)}")


def mean_loss(weights: Weights, tables: Table) -> jax.Array:
    """Nats a question, over tables with a leading axis."""

    def loss_of(table: Table) -> jax.Array:
        reading = read_table(weights, table.facts, jnp.arange(len(table.facts)))
        log_p = conclude(weights, reading, *table[:-1])
        return -log_p[jnp.arange(QUERIES), table.answer].mean()

    return jax.vmap(loss_of)(tables).mean()


def draw_from(seed: int | tuple[int, int], kinds: tuple[str, ...]) -> Table:
    """The table of a seed."""
    return draw_table(np.random.default_rng(seed), kinds)


def stack(tables: list[Table]) -> Table:
    """Tables with a leading axis."""
    return Table(*map(np.stack, zip(*tables, strict=True)))


def write_arrays(path: Path, arrays: list[Array]) -> None:
    """Write arrays in their order, whole or not at all."""
    with staged_file(path) as aside, aside.open("wb") as file:
        np.savez(file, *map(np.asarray, arrays))


def read_state(path: Path, like: tuple) -> tuple[tuple, int]:
    """Weights and moments as they were kept, and the number of steps done."""
    with np.load(path, allow_pickle=False) as file:
        *arrays, done = (file[name] for name in file.files)
    return jax.tree.unflatten(jax.tree.structure(like), arrays), int(done)


if __name__ == "__main__":
    launch_module()
