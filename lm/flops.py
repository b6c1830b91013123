"""How much arithmetic a step takes, and how much the device could do in that time."""

import math
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters.partial_eval import dce_jaxpr

from lm.config import ModelConfig

LARGEST = 8192
LONG_ENOUGH = 0.05


def flops_per_token(model: ModelConfig, vocabulary: int, row_length: int) -> float:
    """Multiplications and additions of one training step for each token of a row.

    Forward and twice as much backward: 6 for every weight in a matrix product (the embedding is a
    lookup), 12 T N H for attention in every layer, of which a causal model needs half.
    """
    weights = model.layers * model.layer_parameters + vocabulary * model.hidden
    return 6.0 * weights + 12.0 * model.layers * row_length * model.heads * model.head_width


def count_flops(function: Callable[..., Any], *args: Any, turns: int = 1) -> float:
    """Multiplications and additions of the matrix products in a function, counted in its program.

    Loops count once for every turn, a loop of unknown length for `turns` of them, and of alternatives the
    most expensive one counts. Arithmetic outside matrix products is left out, as is usual, and so is
    what the result does not depend on.
    """
    program = jax.make_jaxpr(function)(*args).jaxpr
    return _program_flops(dce_jaxpr(program, [True] * len(program.outvars))[0], turns)


def _program_flops(program: Any, turns: int) -> float:
    total = 0.0
    for step in program.eqns:
        if step.primitive.name == "dot_general":
            (contracted, _), _ = step.params["dimension_numbers"]
            a, out = step.invars[0].aval.shape, step.outvars[0].aval.shape
            total += 2.0 * math.prod(out) * math.prod(a[i] for i in contracted)
            continue
        inner = [_program_flops(part, turns) for part in _inner_programs(step.params.values())]
        if step.primitive.name == "cond":
            total += max(inner)
        elif step.primitive.name == "scan":
            total += step.params["length"] * sum(inner)
        elif step.primitive.name == "while":
            total += turns * sum(inner)
        else:
            total += sum(inner)
    return total


def _inner_programs(values: Any) -> list[Any]:
    """The programs among the parameters of a step."""
    programs = []
    for value in values:
        if isinstance(value, list | tuple):
            programs += _inner_programs(value)
        elif hasattr(value, "eqns"):
            programs.append(value)
        elif hasattr(value, "jaxpr"):
            programs.append(value.jaxpr)
    return programs


@cache
def attainable_flops(model: ModelConfig) -> float:
    """Floating-point operations a second of one large matrix product in the model's precision, one device.

    What the device does reach, not what its maker promises. Takes a fraction of a second, once a process.
    """
    size, dtype = 1024, jnp.dtype(model.precision)

    @jax.jit
    def product(a: jax.Array) -> jax.Array:
        return jnp.matmul(a, a, preferred_element_type=jnp.float32)

    while True:
        a = jnp.ones((size, size), dtype)
        product(a).block_until_ready()
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            product(a).block_until_ready()
            seconds.append(time.perf_counter() - began)
        if min(seconds) > LONG_ENOUGH or size >= LARGEST:
            return 2.0 * size**3 / min(seconds)
        size *= 2
